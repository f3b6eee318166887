/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device trees: overlays, and the record in /chosen. Trees are written with libfdt's sequential writer. */
#include "device_tree_file.h"

#include <granule/boot_record.h>
#include <granule/device_tree.h>
#include <granule/error.h>

/* A board with a bus that has a label, and a fan on it. */
static void *board(void)
{
	void *t = begin();

	text(t, "model", "Board");
	node(t, "bus");
	number(t, "phandle", 7);
	node(t, "fan");
	text(t, "status", "disabled");
	leave(t);
	leave(t);
	node(t, "__symbols__");
	text(t, "bus", "/bus");
	text(t, "bad", "bus");
	bytes(t, "open", "/bus", 4);
	leave(t);
	return finish(t);
}

static void fragment(void *t, const char *target_path)
{
	node(t, "fragment@0");
	if (target_path)
		text(t, "target-path", target_path);
	else
		number(t, "target", 0xffffffff);
	node(t, "__overlay__");
}

/* One that speaks to the bus by its label; `place` is where its phandle goes. */
static void *by_label(const char *label, const char *place)
{
	void *t = begin();

	fragment(t, NULL);
	text(t, "speed", "fast");
	leave(t);
	leave(t);
	node(t, "__fixups__");
	text(t, label, place);
	leave(t);
	return finish(t);
}

/* One with a node that refers to another of its own. */
static void *with_local_reference(uint32_t offset, const char *mirrored)
{
	void *t = begin();

	fragment(t, "/bus");
	number(t, "sensor", 1);
	node(t, "thermal");
	number(t, "phandle", 1);
	leave(t);
	leave(t);
	leave(t);
	node(t, "__local_fixups__");
	node(t, "fragment@0");
	node(t, mirrored);
	number(t, "sensor", offset);
	leave(t);
	leave(t);
	leave(t);
	return finish(t);
}

static void *by_path(const char *path)
{
	void *t = begin();

	fragment(t, path);
	text(t, "status", "okay");
	leave(t);
	leave(t);
	return finish(t);
}

/* Applies and frees the overlay; the result is to be freed, NULL if it does not apply. The tree must not have
 * changed by a byte. */
static void *apply(const void *tree, void *overlay, int want)
{
	size_t n = fdt_totalsize(tree), overlay_size = fdt_totalsize(overlay);
	size_t room = device_tree_room(n, overlay_size);
	struct span before = exact_bytes(tree, n);
	void *copy = malloc(room);

	assert_non_null(copy);
	int error = device_tree_apply(tree, overlay, overlay_size, copy, room);
	check(error == want, "error %d instead of %d", error, want);
	assert_memory_equal(tree, before.p, n);
	release(before);
	free(overlay);
	if (!error)
		return copy;
	free(copy);
	return NULL;
}

static void refuses(void *overlay, int want)
{
	void *tree = board();

	assert_null(apply(tree, overlay, want));
	free(tree);
}

static int check_copy(const void *t, size_t n)
{
	struct span copy = exact_bytes(t, n);
	int error = device_tree_check(copy.p, n);

	release(copy);
	return error;
}

/* ---- damaged trees ---- */

static void a_good_tree_passes_also_with_bytes_behind_it(void **state)
{
	char *t = board(), *longer = calloc(1, SIZE);

	(void)state;
	assert_int_equal(device_tree_check(t, fdt_totalsize(t)), 0);
	memcpy(longer, t, fdt_totalsize(t));
	assert_int_equal(device_tree_check(longer, SIZE), 0);
	assert_int_equal(device_tree_size(longer), fdt_totalsize(t));
	free(longer);
	free(t);
}

static void a_tree_that_is_cut_does_not_pass(void **state)
{
	void *t = board();

	(void)state;
	for (size_t n = 0; n < fdt_totalsize(t); n++)
		assert_int_equal(check_copy(t, n), ERROR_TRUNCATED);
	free(t);
}

static void what_is_no_tree_does_not_pass(void **state)
{
	char rubbish[64] = "MZ";
	char *t = board();

	(void)state;
	assert_int_equal(check_copy(rubbish, sizeof(rubbish)), ERROR_MAGIC);
	assert_int_equal(device_tree_size(rubbish), 0);
	fdt_set_version(t, 16);
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_MAGIC);
	fdt_set_version(t, 18);
	fdt_set_last_comp_version(t, 18);
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_MAGIC);
	free(t);
}

static void a_tree_that_is_too_large_for_the_kernel_does_not_pass(void **state)
{
	char *t = calloc(1, DEVICE_TREE_MAX + 4), *small = board();

	(void)state;
	memcpy(t, small, fdt_totalsize(small));
	fdt_set_totalsize(t, DEVICE_TREE_MAX);
	assert_int_equal(device_tree_check(t, DEVICE_TREE_MAX + 4), 0);
	fdt_set_totalsize(t, DEVICE_TREE_MAX + 4);
	assert_int_equal(device_tree_check(t, DEVICE_TREE_MAX + 4), ERROR_SPACE);
	free(small);
	free(t);
}

/* libfdt 1.6.1 would stay at such a property for good: its length leads back to where it begins. */
static void a_property_that_leads_back_to_itself_does_not_pass(void **state)
{
	char *t = board();
	fdt32_t *p = (fdt32_t *)(t + fdt_off_dt_struct(t));

	(void)state;
	assert_int_equal(fdt32_to_cpu(p[2]), FDT_PROP);
	p[3] = cpu_to_fdt32(0xfffffff4);
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	free(t);
}

static void every_tag_is_looked_at(void **state)
{
	static const uint32_t tags[] = { 0, FDT_BEGIN_NODE, FDT_END_NODE, FDT_PROP, FDT_END, 5, 0xffffffff };
	char *t = board();
	size_t n = fdt_size_dt_struct(t) / 4;

	(void)state;
	/* Whatever stands in the place of the closing tags, it is no tree any more. */
	for (size_t i = 0; i < COUNT(tags); i++) {
		struct span copy = exact_bytes(t, fdt_totalsize(t));
		fdt32_t *p = (fdt32_t *)(copy.p + fdt_off_dt_struct(t));

		if (tags[i] != FDT_END) {
			p[n - 1] = cpu_to_fdt32(tags[i]);
			assert_int_equal(device_tree_check(copy.p, copy.n), ERROR_SYNTAX);
			p[n - 1] = cpu_to_fdt32(FDT_END);
		}
		if (tags[i] != FDT_END_NODE) {
			p[n - 2] = cpu_to_fdt32(tags[i]);
			assert_int_equal(device_tree_check(copy.p, copy.n), ERROR_SYNTAX);
		}
		release(copy);
	}
	free(t);
}

static void one_root_without_a_name_is_wanted(void **state)
{
	char *t = board();
	char *root = t + fdt_off_dt_struct(t) + 4;

	(void)state;
	root[0] = 'x';
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	root[0] = 0;
	*(char *)fdt_get_name(t, fdt_path_offset(t, "/bus"), NULL) = 0;
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	free(t);

	t = begin();
	leave(t);
	node(t, "");
	t = finish(t);
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	free(t);
}

/* Whoever reads the tree later may not be able to read words across their boundaries. */
static void blocks_begin_where_words_do(void **state)
{
	char *t = board(), *moved = calloc(1, SIZE);
	size_t n = fdt_totalsize(t);

	(void)state;
	for (size_t by = 1; by <= 8; by++) {
		memcpy(moved, t, sizeof(struct fdt_header));
		memcpy(moved + sizeof(struct fdt_header) + by, t + sizeof(struct fdt_header),
		       n - sizeof(struct fdt_header));
		fdt_set_totalsize(moved, (uint32_t)(n + by));
		fdt_set_off_mem_rsvmap(moved, (uint32_t)(fdt_off_mem_rsvmap(t) + by));
		fdt_set_off_dt_struct(moved, (uint32_t)(fdt_off_dt_struct(t) + by));
		fdt_set_off_dt_strings(moved, (uint32_t)(fdt_off_dt_strings(t) + by));
		assert_int_equal(device_tree_check(moved, n + by), by == 8 ? 0 : ERROR_SYNTAX);
		/* The one alone. */
		fdt_set_off_mem_rsvmap(moved, (uint32_t)fdt_off_mem_rsvmap(t));
		assert_int_equal(device_tree_check(moved, n + by), by % 4 ? ERROR_SYNTAX : 0);
	}
	free(moved);
	free(t);
}

static void the_list_of_reserved_memory_has_an_end(void **state)
{
	char *t = board();

	(void)state;
	fdt_set_off_mem_rsvmap(t, fdt_totalsize(t) & ~7u);
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	free(t);
}

static void names_of_properties_have_a_limit(void **state)
{
	char name[258];

	(void)state;
	memset(name, 'n', sizeof(name));
	for (size_t n = 255; n <= 256; n++) {
		void *t = begin();

		name[n] = 0;
		text(t, name, "");
		name[n] = 'n';
		t = finish(t);
		assert_int_equal(check_copy(t, fdt_totalsize(t)), n == 255 ? 0 : ERROR_SYNTAX);
		free(t);
	}
}

static void *nested(unsigned depth)
{
	void *t = begin();

	for (unsigned i = 1; i < depth; i++)
		node(t, "n");
	for (unsigned i = 1; i < depth; i++)
		leave(t);
	return finish(t);
}

static void nodes_may_be_as_deep_as_in_linux(void **state)
{
	void *deep = nested(DEVICE_TREE_MAX_DEPTH), *deeper = nested(DEVICE_TREE_MAX_DEPTH + 1);

	(void)state;
	assert_int_equal(device_tree_check(deep, fdt_totalsize(deep)), 0);
	assert_int_equal(device_tree_check(deeper, fdt_totalsize(deeper)), ERROR_TOO_MANY);
	free(deep);
	free(deeper);
}

static void names_of_properties_end_in_the_strings(void **state)
{
	char *t = board();
	fdt32_t *p = (fdt32_t *)(t + fdt_off_dt_struct(t));

	(void)state;
	assert_int_equal(fdt32_to_cpu(p[2]), FDT_PROP);
	fdt32_t name = p[4]; /* the last one in the strings */
	p[4] = cpu_to_fdt32(fdt_size_dt_strings(t));
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	p[4] = cpu_to_fdt32(fdt_size_dt_strings(t) - 1); /* an empty name */
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	p[4] = name;
	t[fdt_off_dt_strings(t) + fdt_size_dt_strings(t) - 1] = 'x';
	assert_int_equal(check_copy(t, fdt_totalsize(t)), ERROR_SYNTAX);
	free(t);
}

/* Whatever happens to a tree: what passes can be worked with. */
static void damaged_trees_do_no_harm(void **state)
{
	uint32_t seed = 4711;
	unsigned passed = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char *t = board();
		size_t n = fdt_totalsize(t);

		for (uint32_t k = random_below(&seed, 4); k-- > 0;)
			t[random_below(&seed, (uint32_t)n)] = (char)random_below(&seed, 256);
		if (device_tree_check(t, n) == 0) {
			size_t room = device_tree_room(fdt_totalsize(t), 0);
			void *copy = malloc(room);

			passed++;
			assert_int_equal(device_tree_copy(t, copy, room), 0);
			device_tree_record(copy, SPAN("entry=a.conf\n"), SPAN("4k"));
			assert_int_equal(device_tree_check(copy, room), 0);
			free(copy);
		}
		free(t);
	}
	assert_true(passed > 1000);
}

/* ---- overlays ---- */

static void an_overlay_changes_a_node_by_its_path(void **state)
{
	void *tree = board(), *t = apply(tree, by_path("/bus/fan"), 0);

	(void)state;
	assert_string_equal(property(t, "/bus/fan", "status").p, "okay");
	free(t);
	free(tree);
}

static void an_overlay_finds_a_node_by_its_label(void **state)
{
	void *tree = board(), *t = apply(tree, by_label("bus", "/fragment@0:target:0"), 0);

	(void)state;
	assert_int_equal(property(t, "/bus", "speed").n, 5);
	free(t);
	free(tree);
}

static void references_in_an_overlay_are_renumbered(void **state)
{
	void *tree = board(), *t = apply(tree, with_local_reference(0, "__overlay__"), 0);
	struct span phandle = property(t, "/bus/thermal", "phandle"), sensor = property(t, "/bus", "sensor");

	(void)state;
	assert_int_equal(phandle.n, 4);
	assert_int_equal(phandle.p[3], 8); /* behind the 7 of the board */
	assert_int_equal(sensor.n, 4);
	assert_memory_equal(sensor.p, phandle.p, 4);
	free(t);
	free(tree);
}

static void symbols_of_an_overlay_serve_the_next(void **state)
{
	void *tree = board(), *o = begin();

	(void)state;
	fragment(o, "/bus");
	node(o, "thermal");
	number(o, "phandle", 1);
	leave(o);
	leave(o);
	leave(o);
	node(o, "__symbols__");
	text(o, "thermal", "/fragment@0/__overlay__/thermal");
	leave(o);
	void *first = apply(tree, finish(o), 0);
	void *second = apply(first, by_label("thermal", "/fragment@0:target:0"), 0);

	assert_int_equal(property(second, "/bus/thermal", "speed").n, 5);
	free(second);
	free(first);
	free(tree);
}

static void an_overlay_for_another_board_is_not_applied(void **state)
{
	(void)state;
	refuses(by_path("/bus/heater"), ERROR_NOT_FOUND);
	refuses(by_label("heater", "/fragment@0:target:0"), ERROR_NOT_FOUND);
}

/* The first of two fragments is good: with libfdt alone the tree would be changed by half. */
static void an_overlay_is_applied_whole_or_not_at_all(void **state)
{
	void *o = begin();

	(void)state;
	fragment(o, "/bus/fan");
	text(o, "status", "okay");
	leave(o);
	leave(o);
	node(o, "fragment@1");
	text(o, "target-path", "/nowhere");
	node(o, "__overlay__");
	text(o, "status", "okay");
	leave(o);
	leave(o);
	refuses(finish(o), ERROR_NOT_FOUND);
}

static void damaged_overlays_are_refused(void **state)
{
	char *o = by_path("/bus/fan");

	(void)state;
	fdt_set_magic(o, 1);
	fdt_set_totalsize(o, 120);
	refuses(o, ERROR_MAGIC);
}

/* libfdt adds four to the offset before it compares with the size, and 0xfffffffe + 4 is small again. */
static void local_references_out_of_their_property_are_refused(void **state)
{
	static const uint32_t offsets[] = { 1, 4, 100, 0x7fffffff, 0xfffffffc, 0xfffffffe, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < COUNT(offsets); i++)
		refuses(with_local_reference(offsets[i], "__overlay__"), ERROR_SYNTAX);
	refuses(with_local_reference(0, "elsewhere"), ERROR_SYNTAX);
}

static void places_of_labels_out_of_the_overlay_are_refused(void **state)
{
	static const char *const places[] = {
		"/fragment@0:target:1",
		"/fragment@0:target:4",
		"/fragment@0:target:4294967294",
		"/fragment@0:target:-2",
		"/fragment@0:target:18446744073709551614",
		"/fragment@0:target:",
		"/fragment@0:target",
		"/fragment@0:target:0x0",
		"/fragment@0:other:0",
		"/fragment@0::0",
		"/fragment@1:target:0",
		"fragment@0:target:0",
		":target:0",
		"::",
		"/fragment@0",
		"",
		"/fragment@0:target:0:",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(places); i++)
		refuses(by_label("bus", places[i]), ERROR_SYNTAX);
}

static void labels_that_are_no_paths_are_refused(void **state)
{
	(void)state;
	refuses(by_label("bad", "/fragment@0:target:0"), ERROR_SYNTAX);
	refuses(by_label("open", "/fragment@0:target:0"), ERROR_SYNTAX);
}

/* libfdt would follow an alias that names itself until the stack is full. */
static void targets_by_alias_are_refused(void **state)
{
	void *o = begin();

	(void)state;
	fragment(o, "/");
	node(o, "aliases");
	text(o, "loop", "loop");
	leave(o);
	leave(o);
	leave(o);
	node(o, "fragment@1");
	text(o, "target-path", "loop");
	node(o, "__overlay__");
	leave(o);
	leave(o);
	refuses(finish(o), ERROR_SYNTAX);

	o = begin();
	node(o, "fragment@0");
	bytes(o, "target-path", "/bus", 4);
	node(o, "__overlay__");
	leave(o);
	leave(o);
	refuses(finish(o), ERROR_SYNTAX);
}

static void trees_that_are_too_deep_together_are_refused(void **state)
{
	void *tree = nested(DEVICE_TREE_MAX_DEPTH), *o = begin();
	char path[3 * DEVICE_TREE_MAX_DEPTH] = "";

	(void)state;
	for (unsigned i = 1; i < DEVICE_TREE_MAX_DEPTH; i++)
		strcat(path, "/n");
	fragment(o, path);
	node(o, "n");
	leave(o);
	leave(o);
	leave(o);
	assert_null(apply(tree, finish(o), ERROR_TOO_MANY));
	free(tree);
}

/* A tree or an overlay with one large property. */
static void *large(const char *target_path, int n)
{
	size_t size = (size_t)n + SIZE;
	char *t = malloc(size), *value = calloc(1, (size_t)n);

	assert_true(t && value);
	assert_int_equal(fdt_create(t, (int)size), 0);
	assert_int_equal(fdt_finish_reservemap(t), 0);
	node(t, "");
	if (target_path)
		fragment(t, target_path);
	bytes(t, target_path ? "more" : "much", value, n);
	if (target_path) {
		leave(t);
		leave(t);
	}
	free(value);
	return finish(t);
}

static void trees_that_are_too_large_together_are_refused(void **state)
{
	void *tree = large(NULL, DEVICE_TREE_MAX - SIZE);

	(void)state;
	void *t = apply(tree, large("/", SIZE / 2), 0);
	assert_int_equal(property(t, "/", "more").n, SIZE / 2);
	free(t);
	assert_null(apply(tree, large("/", SIZE), ERROR_SPACE));
	free(tree);
}

static void an_overlay_that_would_take_too_long_is_refused(void **state)
{
	void *tree = large(NULL, 1 << 20);

	(void)state;
	void *t = apply(tree, large("/", 56 << 10), 0);
	assert_non_null(t);
	free(t);
	assert_null(apply(tree, large("/", 64 << 10), ERROR_SPACE));
	free(tree);
}

static void an_overlay_that_does_not_fit_is_refused(void **state)
{
	char *tree = board(), *o = by_path("/bus/fan"), *copy;
	size_t n = fdt_totalsize(tree);

	(void)state;
	copy = malloc(n);
	/* "disabled" gives way to "okay", so this one fits where its tree does. */
	assert_int_equal(device_tree_apply(tree, o, fdt_totalsize(o), copy, n), 0);
	free(o);
	o = by_label("bus", "/fragment@0:target:0");
	assert_int_equal(device_tree_apply(tree, o, fdt_totalsize(o), copy, n), ERROR_SPACE);
	free(o);
	assert_int_equal(device_tree_copy(tree, copy, n - 1), ERROR_SPACE);
	assert_int_equal(device_tree_copy(tree, copy, (size_t)INT32_MAX + 1 + n), ERROR_SPACE);
	free(copy);
	free(tree);
}

/* ---- the record ---- */

#define RECORD "entry=a-64k.conf\npage-size=64k\nreason=policy\nexplain=because\n"

static void *recorded(const void *tree, struct span record, struct span cpu)
{
	size_t room = device_tree_room(fdt_totalsize(tree), 0);
	void *t = malloc(room);

	assert_int_equal(device_tree_copy(tree, t, room), 0);
	assert_int_equal(device_tree_record(t, record, cpu), 0);
	assert_int_equal(device_tree_check(t, room), 0);
	return t;
}

static void chosen_has(const void *t, const char *name, const char *want)
{
	struct span got = property(t, "/chosen", name);

	if (!want) {
		check(!got.p, "%s is there", name);
		return;
	}
	check(got.n == strlen(want) + 1, "%s has %zu bytes", name, got.n);
	assert_string_equal(got.p, want);
}

static void the_record_is_in_chosen_whole_and_in_parts(void **state)
{
	void *tree = board(), *t = recorded(tree, SPAN(RECORD), SPAN("4k 64k"));

	(void)state;
	chosen_has(t, DEVICE_TREE_BOOT, RECORD);
	chosen_has(t, DEVICE_TREE_CPU, "4k 64k");
	chosen_has(t, DEVICE_TREE_ENTRY, "a-64k.conf");
	chosen_has(t, DEVICE_TREE_PAGE_SIZE, "64k");
	chosen_has(t, DEVICE_TREE_REASON, "policy");
	free(t);
	free(tree);
}

/* As in a tree that was dumped from a running system, and is now the `devicetree` of an entry. */
static void a_record_of_an_earlier_boot_is_replaced(void **state)
{
	void *tree = board(), *t = recorded(tree, SPAN(RECORD), SPAN("4k 64k"));
	void *again = recorded(t, SPAN("entry=b.conf\n"), SPAN_NONE);

	(void)state;
	chosen_has(again, DEVICE_TREE_BOOT, "entry=b.conf\n");
	chosen_has(again, DEVICE_TREE_CPU, NULL);
	chosen_has(again, DEVICE_TREE_ENTRY, "b.conf");
	chosen_has(again, DEVICE_TREE_PAGE_SIZE, NULL);
	chosen_has(again, DEVICE_TREE_REASON, NULL);
	free(again);
	free(t);
	free(tree);
}

static void there_is_room_for_the_longest_record(void **state)
{
	static char longest[BOOT_RECORD_MAX];
	void *tree = board();
	struct text record = text_in(longest, sizeof(longest));

	(void)state;
	text_add(&record, SPAN("entry="));
	while (!record.full)
		text_add(&record, SPAN("x"));
	void *t = recorded(tree, text_span(&record), SPAN("4k 16k 64k"));
	assert_int_equal(property(t, "/chosen", DEVICE_TREE_BOOT).n, BOOT_RECORD_MAX);
	free(t);
	free(tree);
}

static void a_record_without_room_leaves_a_good_tree(void **state)
{
	void *tree = board();
	size_t n = fdt_totalsize(tree);

	(void)state;
	for (size_t more = 0; more < 200; more += 4) {
		void *t = malloc(n + more);

		assert_int_equal(device_tree_copy(tree, t, n + more), 0);
		assert_int_equal(device_tree_record(t, SPAN(RECORD), SPAN("4k")), ERROR_SPACE);
		assert_int_equal(device_tree_check(t, n + more), 0);
		free(t);
	}
	free(tree);
}

static void a_packed_tree_has_no_room_left(void **state)
{
	void *tree = board(), *t = recorded(tree, SPAN(RECORD), SPAN("4k"));
	size_t n = device_tree_pack(t);

	(void)state;
	assert_true(n < device_tree_room(fdt_totalsize(tree), 0));
	assert_int_equal(device_tree_size(t), n);
	assert_int_equal(device_tree_check(t, n), 0);
	chosen_has(t, DEVICE_TREE_BOOT, RECORD);
	free(t);
	free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_tree_passes_also_with_bytes_behind_it),
		cmocka_unit_test(a_tree_that_is_cut_does_not_pass),
		cmocka_unit_test(what_is_no_tree_does_not_pass),
		cmocka_unit_test(a_tree_that_is_too_large_for_the_kernel_does_not_pass),
		cmocka_unit_test(a_property_that_leads_back_to_itself_does_not_pass),
		cmocka_unit_test(every_tag_is_looked_at),
		cmocka_unit_test(one_root_without_a_name_is_wanted),
		cmocka_unit_test(blocks_begin_where_words_do),
		cmocka_unit_test(the_list_of_reserved_memory_has_an_end),
		cmocka_unit_test(names_of_properties_have_a_limit),
		cmocka_unit_test(nodes_may_be_as_deep_as_in_linux),
		cmocka_unit_test(names_of_properties_end_in_the_strings),
		cmocka_unit_test(damaged_trees_do_no_harm),
		cmocka_unit_test(an_overlay_changes_a_node_by_its_path),
		cmocka_unit_test(an_overlay_finds_a_node_by_its_label),
		cmocka_unit_test(references_in_an_overlay_are_renumbered),
		cmocka_unit_test(symbols_of_an_overlay_serve_the_next),
		cmocka_unit_test(an_overlay_for_another_board_is_not_applied),
		cmocka_unit_test(an_overlay_is_applied_whole_or_not_at_all),
		cmocka_unit_test(damaged_overlays_are_refused),
		cmocka_unit_test(local_references_out_of_their_property_are_refused),
		cmocka_unit_test(places_of_labels_out_of_the_overlay_are_refused),
		cmocka_unit_test(labels_that_are_no_paths_are_refused),
		cmocka_unit_test(targets_by_alias_are_refused),
		cmocka_unit_test(trees_that_are_too_deep_together_are_refused),
		cmocka_unit_test(trees_that_are_too_large_together_are_refused),
		cmocka_unit_test(an_overlay_that_would_take_too_long_is_refused),
		cmocka_unit_test(an_overlay_that_does_not_fit_is_refused),
		cmocka_unit_test(the_record_is_in_chosen_whole_and_in_parts),
		cmocka_unit_test(a_record_of_an_earlier_boot_is_replaced),
		cmocka_unit_test(there_is_room_for_the_longest_record),
		cmocka_unit_test(a_record_without_room_leaves_a_good_tree),
		cmocka_unit_test(a_packed_tree_has_no_room_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
