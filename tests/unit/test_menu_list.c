/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"
#include <granule/menu_key.h>
#include <granule/menu_list.h>
#include <granule/utf8.h>

#define CPU_4K_64K (1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K)

/* ---- the list ---- */

static void the_window_follows_the_selected_entry(void **state)
{
	struct menu_list l = { .n = 100, .rows = 10 };
	(void)state;

	menu_list_select(&l, 9);
	assert_int_equal(l.first, 0);
	menu_list_select(&l, 10);
	assert_int_equal(l.first, 5);
	menu_list_select(&l, 5);
	assert_int_equal(l.first, 5);
	menu_list_select(&l, 4);
	assert_int_equal(l.first, 0);
	menu_list_select(&l, 99);
	assert_int_equal(l.first, 90);
	menu_list_select(&l, 1000);
	assert_int_equal(l.selected, 99);
	menu_list_select(&l, 0);
	assert_int_equal(l.first, 0);
}

static void the_selected_entry_is_always_in_a_full_window(void **state)
{
	uint32_t seed = 7;
	(void)state;

	for (size_t n = 1; n < 30; n++) {
		for (size_t rows = 1; rows < 20; rows++) {
			struct menu_list l = { .n = n, .rows = rows };
			for (unsigned i = 0; i < 50; i++) {
				menu_list_select(&l, random_below(&seed, (uint32_t)n + 3));
				assert_true(l.selected < n && l.selected >= l.first &&
					    l.selected < l.first + rows);
				assert_true(l.first == 0 || l.first + rows <= n);
			}
		}
	}
}

static void keys_move_in_the_list(void **state)
{
	static const struct {
		uint32_t key;
		size_t from, to;
	} vectors[] = {
		{ KEY_DOWN, 0, 1 },
		{ 'j', 3, 4 },
		{ KEY_DOWN, 19, 19 },
		{ KEY_UP, 1, 0 },
		{ 'k', 0, 0 },
		{ KEY_HOME, 7, 0 },
		{ KEY_END, 7, 19 },
		{ KEY_PAGE_DOWN, 1, 11 },
		{ KEY_PAGE_UP, 12, 2 },
		{ '1', 5, 0 },
		{ KEY_PAGE_DOWN, 15, 19 },
		{ KEY_PAGE_UP, 3, 0 },
		{ '9', 0, 8 },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct menu_list l = { .n = 20, .rows = 10, .selected = vectors[i].from };
		assert_true(menu_list_key(&l, vectors[i].key));
		check(l.selected == vectors[i].to, "vector %zu: %zu", i, l.selected);
	}
	struct menu_list few = { .n = 2, .rows = 10 };
	assert_true(menu_list_key(&few, '3'));
	assert_int_equal(few.selected, 0);
	assert_false(menu_list_key(&few, '0'));
	assert_false(menu_list_key(&few, 'e'));
}

static void letters_find_the_next_entry_of_a_kind(void **state)
{
	struct entry a = { .id = SPAN("a.conf") }, b = { .id = SPAN("auto-efi-shell") },
		     c = { .id = SPAN("c.conf") };
	const struct entry *entries[] = { &a, &b, &c };
	(void)state;

	assert_int_equal(menu_find_prefix(entries, 3, 0, SPAN("auto-"), true), 2);
	assert_int_equal(menu_find_prefix(entries, 3, 2, SPAN("auto-"), true), 0);
	assert_int_equal(menu_find_prefix(entries, 3, 0, SPAN("auto-efi-shell"), false), 1);
	assert_int_equal(menu_find_prefix(entries, 3, 1, SPAN("auto-efi-shell"), false), 1);
	assert_int_equal(menu_find_prefix(entries, 3, 0, SPAN("auto-windows"), false), SIZE_MAX);
}

/* ---- one entry ---- */

static struct entry entry(const char *title, const char *id, enum page_size size)
{
	return (struct entry){ .id = span_of(id), .bls.title = span_of(title), .page_size = size };
}

static void states_are_told_in_words(void **state)
{
	struct entry e = entry("T", "t.conf", PAGE_SIZE_16K);
	char buffer[100];
	struct text t;
	(void)state;

	struct {
		bool unusable;
		page_size_set cpu;
		bool counter;
		uint32_t left;
		const char *why, *words;
	} vectors[] = {
		{ false, PAGE_SIZE_SET_ALL, false, 0, "", "" },
		{ false, PAGE_SIZE_SET_UNKNOWN, false, 0, "", "" },
		{ false, PAGE_SIZE_SET_ALL, true, 2, "", "2 tries left" },
		{ false, PAGE_SIZE_SET_ALL, true, 1, "", "1 try left" },
		{ false, PAGE_SIZE_SET_ALL, true, 0, "", "bad: no tries left" },
		{ false, CPU_4K_64K, true, 2, "", "not supported by this CPU" },
		{ true, CPU_4K_64K, true, 2, "/k: not found", "cannot be started: not found: /k" },
		{ true, CPU_4K_64K, false, 2, "refused: by a", "cannot be started: refused: by a" },
		{ true, CPU_4K_64K, false, 2, "/k", "cannot be started: /k" },
		{ true, CPU_4K_64K, false, 2, "", "cannot be started" },
	};
	for (size_t i = 0; i < COUNT(vectors); i++) {
		e.unusable = vectors[i].unusable;
		e.counter = (struct boot_counter){ .present = vectors[i].counter, .left = vectors[i].left };
		t = text_in(buffer, sizeof(buffer));
		menu_state_format(&e, vectors[i].cpu, span_of(vectors[i].why), &t);
		check(span_is(text_span(&t), vectors[i].words), "vector %zu: \"%s\"", i, buffer);
	}
}

static const char *row(const struct entry *e, struct menu_row r, size_t columns)
{
	static char buffer[UTF8_COLUMNS_SIZE(100)];
	struct text t = text_in(buffer, UTF8_COLUMNS_SIZE(columns));

	r.cpu = PAGE_SIZE_SET_ALL;
	menu_row_format(e, &r, columns, &t);
	assert_false(t.full);
	return buffer;
}

static void rows_have_marks_size_title_and_state(void **state)
{
	struct entry e = entry("Debian 12", "debian.conf", PAGE_SIZE_64K), bare = entry("", "bare.conf", 0);
	struct entry own = entry("Reboot", "auto-reboot", 0);
	(void)state;

	own.type = ENTRY_AUTO;
	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 79), "   1  64K  Debian 12");
	assert_string_equal(row(&e, (struct menu_row){ .number = 9, .selected = true }, 79),
			    ">  9  64K  Debian 12");
	assert_string_equal(row(&e, (struct menu_row){ .number = 10, .chosen = true }, 79),
			    " *    64K  Debian 12");
	assert_string_equal(row(&e, (struct menu_row){ .number = 2, .apart = SPAN("6.1-1") }, 79),
			    "   2  64K  Debian 12 (6.1-1)");
	assert_string_equal(row(&bare, (struct menu_row){ .number = 2, .apart = SPAN("6.1-1") }, 79),
			    "   2  ?    bare.conf");
	assert_string_equal(row(&own, (struct menu_row){ .number = 3 }, 79), "   3       Reboot");
	e.counter = (struct boot_counter){ .present = true, .left = 3 };
	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 79),
			    "   1  64K  Debian 12 (3 tries left)");
}

static void a_long_title_leaves_room_for_the_state_and_a_long_state_for_the_title(void **state)
{
	struct entry e =
		entry("A title that is a good deal longer than any screen is wide", "t.conf", PAGE_SIZE_4K);
	(void)state;

	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 40),
			    "   1  4K   A title that is a good dea...");
	e.counter = (struct boot_counter){ .present = true };
	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 60),
			    "   1  4K   A title that is a good de... (bad: no tries left)");
	e.unusable = true;
	assert_string_equal(
		row(&e, (struct menu_row){ .number = 1, .why_unusable = SPAN("/linux: not found") }, 60),
		"   1  4K   A title that is a... (cannot be started: not ...)");

	/* Longer than any buffer for it. */
	char *why = malloc(5000);
	memset(why, 'w', 5000);
	assert_string_equal(row(&e, (struct menu_row){ .number = 1, .why_unusable = { why, 5000 } }, 60),
			    "   1  4K   A title that is a good dea... (cannot be started)");
	free(why);
	char *title = malloc(5000);
	memset(title, 't', 5000);
	e = (struct entry){ .bls.title = { title, 5000 }, .id = SPAN("t.conf") };
	assert_string_equal(row(&e, (struct menu_row){ .number = 1, .apart = SPAN("t.conf") }, 40),
			    "   1  ?    ttttttttttttttttt... (t.conf)");
	free(title);
}

static void a_title_of_wide_characters_fits(void **state)
{
	struct entry e = entry("\xe4\xb8\xad\xe5\x9b\xbd\xc3\xa9\x1b[2J", "t.conf", PAGE_SIZE_4K);
	(void)state;

	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 79), "   1  4K   ??\xc3\xa9?[2J");
}

static void equal_titles_are_told_apart_by_version_or_id(void **state)
{
	static const struct {
		const char *title, *id, *version, *apart;
	} vectors[] = {
		{ "Linux", "a.conf", "6.1", "6.1" },
		{ "linux", "b.conf", "6.1", "" },
		{ "Linux", "c.conf", "6.12", "6.12" },
		{ "Linux", "d.conf", "6.19", "d.conf" },
		{ "Linux", "e.conf", "6.19", "e.conf" },
		{ "Linux", "f.conf", "", "f.conf" },
		{ "", "g.conf", "6.1", "" },
		{ "", "h.conf", "6.2", "" },
	};
	struct entry e[COUNT(vectors)];
	const struct entry *entries[COUNT(vectors)];
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		e[i] = entry(vectors[i].title, vectors[i].id, 0);
		e[i].bls.version = span_of(vectors[i].version);
		entries[i] = &e[i];
	}
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span apart = menu_tells_apart(entries, COUNT(vectors), i);
		check(span_is(apart, vectors[i].apart), "vector %zu: \"%.*s\"", i, (int)apart.n, apart.p);
	}
}

#define MACHINE_ID "0123456789abcdef0123456789abcdef"

static void ids_are_cut_at_their_beginning(void **state)
{
	struct span id = SPAN(MACHINE_ID "-6.1.0-20-arm64-64k.conf");
	struct entry e = entry("Debian GNU/Linux 12 (bookworm)", id.p, PAGE_SIZE_64K);
	struct menu_row r = { .number = 1, .apart = id };
	(void)state;

	assert_string_equal(row(&e, r, 79), "   1  64K  Debian GNU/Linux 12 (bookworm) "
					    "(...89abcdef-6.1.0-20-arm64-64k.conf)");
	assert_string_equal(row(&e, r, 40), "   1  64K  Debian GNU/... (...-64k.conf)");
	e.counter.present = true;
	assert_string_equal(row(&e, r, 79), "   1  64K  Debian GNU/Linux 12 ... (...-20-arm64-64k.conf) "
					    "(bad: no tries left)");
	e.unusable = true;
	assert_string_equal(row(&e, r, 40), "   1  64K  Debi... (...f) (cannot be...)");
	e = entry("", id.p, PAGE_SIZE_64K);
	assert_string_equal(row(&e, (struct menu_row){ .number = 1 }, 40),
			    "   1  64K  ...ef-6.1.0-20-arm64-64k.conf");
}

static void a_reason_has_the_columns_that_a_short_title_leaves(void **state)
{
	struct entry e = entry("Old", "old.conf", PAGE_SIZE_4K);
	(void)state;

	e.unusable = true;
	assert_string_equal(
		row(&e,
		    (struct menu_row){ .number = 1, .why_unusable = SPAN("/debian/k.gz: file is truncated") },
		    60),
		"   1  4K   Old (cannot be started: file is truncated: /d...)");
}

static void facts_name_what_is_known(void **state)
{
	char buffer[2000];
	struct text t = text_in(buffer, sizeof(buffer));
	struct entry e = entry("Debian", "debian.conf", PAGE_SIZE_64K);
	(void)state;

	e.kind = IMAGE_SELECTABLE;
	e.file_name = SPAN("debian+2-1.conf");
	e.counter = (struct boot_counter){ .present = true, .left = 2 };
	e.bls.version = SPAN("6.12");
	e.bls.start = BLS_START_LINUX;
	e.bls.path = SPAN("/linux");
	e.bls.initrd[0] = SPAN("/one");
	e.bls.initrd[1] = SPAN("/two");
	e.bls.n_initrd = 2;
	e.bls.options = SPAN("arm64.pagesize=64k quiet");
	menu_facts_format(&e, PAGE_SIZE_SET_ALL, SPAN_NONE, &t);
	assert_string_equal(buffer, "title         Debian\n"
				    "id            debian.conf\n"
				    "state         2 tries left\n"
				    "page size     64K, asked for in the options\n"
				    "type          type1\n"
				    "file          debian+2-1.conf\n"
				    "partition     EFI system partition\n"
				    "version       6.12\n"
				    "linux         /linux\n"
				    "initrd        /one\n"
				    "initrd        /two\n"
				    "options       arm64.pagesize=64k quiet\n");

	t = text_in(buffer, sizeof(buffer));
	e.volume = VOLUME_XBOOTLDR;
	e.edited = true;
	e.unusable = true;
	e.bls.options = SPAN("quiet");
	menu_facts_format(&e, PAGE_SIZE_SET_ALL, SPAN("/linux: not found"), &t);
	assert_non_null(
		strstr(buffer, "\npage size     64K, the largest of this CPU: the options ask for none\n"));
	assert_non_null(strstr(buffer, "\nstate         cannot be started: not found: /linux\n"));
	assert_non_null(strstr(buffer, "\npartition     extended boot loader partition\n"));
	assert_non_null(strstr(buffer, "\noptions (new) quiet\n"));
}

static void values_that_go_on_stand_below_each_other(void **state)
{
	struct span text = SPAN("options       root=/dev/vda1 ro quiet splash\nid a");
	static const char *const rows[] = { "options       root=/dev/vda1 ro ", "              quiet splash",
					    "id a" };
	size_t pos = 0;
	(void)state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char buffer[UTF8_COLUMNS_SIZE(34)];
		struct text t = text_in(buffer, sizeof(buffer));
		menu_wrap_indented(text, &pos, 34, &t);
		assert_string_equal(buffer, rows[i]);
	}
	assert_int_equal(pos, text.n);
}

static void long_lines_are_wrapped_at_blanks(void **state)
{
	static const struct {
		const char *text;
		const char *rows[5];
	} vectors[] = {
		{ "one\ntwo", { "one", "two" } },
		{ "one\n\ntwo\n", { "one", "", "two" } },
		{ "0123456789", { "0123456789" } },
		{ "0123456789ab", { "0123456789", "ab" } },
		{ "012345 789ab", { "012345 ", "789ab" } },
		{ "01 3456789ab", { "01 3456789", "ab" } },
		{ "012345678 ab", { "012345678 ", "ab" } },
		{ "0123456789\nx", { "0123456789", "x" } },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
		  { "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9" } },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span text = exact(vectors[i].text);
		size_t pos = 0;
		for (size_t k = 0; vectors[i].rows[k]; k++) {
			struct span got = menu_wrap(text, &pos, 10);
			check(span_is(got, vectors[i].rows[k]), "vector %zu row %zu: \"%.*s\"", i, k,
			      (int)got.n, got.p);
		}
		check(pos == text.n, "vector %zu ends at %zu", i, pos);
		assert_int_equal(menu_wrap(text, &pos, 10).n, 0);
		release(text);
	}
}

/* ---- settings ---- */

static void page_sizes_go_in_a_circle_of_those_that_the_cpu_has(void **state)
{
	static const enum page_size vectors[][3] = {
		{ PAGE_SIZE_SET_ALL, PAGE_SIZE_4K, PAGE_SIZE_16K },
		{ PAGE_SIZE_SET_ALL, PAGE_SIZE_16K, PAGE_SIZE_64K },
		{ PAGE_SIZE_SET_ALL, PAGE_SIZE_64K, PAGE_SIZE_4K },
		{ CPU_4K_64K, PAGE_SIZE_4K, PAGE_SIZE_64K },
		{ CPU_4K_64K, PAGE_SIZE_16K, PAGE_SIZE_64K },
		{ CPU_4K_64K, PAGE_SIZE_64K, PAGE_SIZE_4K },
		{ CPU_4K_64K, PAGE_SIZE_UNKNOWN, PAGE_SIZE_4K },
		{ 1u << PAGE_SIZE_64K, PAGE_SIZE_64K, PAGE_SIZE_64K },
		{ PAGE_SIZE_SET_UNKNOWN, PAGE_SIZE_4K, PAGE_SIZE_UNKNOWN },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++)
		check(menu_next_page_size(vectors[i][1], (page_size_set)vectors[i][0]) == vectors[i][2],
		      "vector %zu", i);
}

static void the_timeout_goes_up_and_down_a_ladder(void **state)
{
	static const char *const ladder[] = { "", "4294967295", "0", "1", "2", "3" };
	static const char *const words[] = { "as loader.conf says.", "shown until somebody chooses.",
					     "hidden until a key is pressed.", "shown for 1 s." };
	struct menu_timeout t = { 0 };
	char buffer[100];
	struct text text;
	(void)state;

	for (size_t i = 0; i < COUNT(ladder); i++, menu_timeout_step(&t, true)) {
		text = text_in(buffer, sizeof(buffer));
		menu_timeout_value(&t, &text);
		assert_string_equal(buffer, ladder[i]);
		text = text_in(buffer, sizeof(buffer));
		menu_timeout_explain(&t, &text);
		if (i < COUNT(words))
			assert_non_null(strstr(buffer, words[i]));
	}
	for (size_t i = COUNT(ladder); i-- > 0;) {
		menu_timeout_step(&t, false);
		text = text_in(buffer, sizeof(buffer));
		menu_timeout_value(&t, &text);
		assert_string_equal(buffer, ladder[i]);
	}
	menu_timeout_step(&t, false);
	assert_false(t.set);
}

static void the_largest_timeout_does_not_become_menu_force(void **state)
{
	struct menu_timeout t = { true, MENU_TIMEOUT, UINT32_MAX - 2 };
	(void)state;

	for (int i = 0; i < 3; i++)
		menu_timeout_step(&t, true);
	assert_int_equal(t.seconds, UINT32_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_follows_the_selected_entry),
		cmocka_unit_test(the_selected_entry_is_always_in_a_full_window),
		cmocka_unit_test(keys_move_in_the_list),
		cmocka_unit_test(letters_find_the_next_entry_of_a_kind),
		cmocka_unit_test(states_are_told_in_words),
		cmocka_unit_test(rows_have_marks_size_title_and_state),
		cmocka_unit_test(a_long_title_leaves_room_for_the_state_and_a_long_state_for_the_title),
		cmocka_unit_test(a_title_of_wide_characters_fits),
		cmocka_unit_test(equal_titles_are_told_apart_by_version_or_id),
		cmocka_unit_test(ids_are_cut_at_their_beginning),
		cmocka_unit_test(a_reason_has_the_columns_that_a_short_title_leaves),
		cmocka_unit_test(facts_name_what_is_known),
		cmocka_unit_test(values_that_go_on_stand_below_each_other),
		cmocka_unit_test(long_lines_are_wrapped_at_blanks),
		cmocka_unit_test(page_sizes_go_in_a_circle_of_those_that_the_cpu_has),
		cmocka_unit_test(the_timeout_goes_up_and_down_a_ladder),
		cmocka_unit_test(the_largest_timeout_does_not_become_menu_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
