/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the Boot Loader Specification, type 1. */
#include "unit.h"

#include <granule/bls.h>
#include <granule/error.h>

static char options[2000];

static int parse(const char *text, struct bls_entry *e, size_t *ret_offset)
{
	return bls_parse(span_of(text), options, sizeof(options), e, ret_offset);
}

/* Parses what must be good. */
static void parse_good(const char *text, struct bls_entry *e)
{
	size_t offset;
	int error = parse(text, e, &offset);

	check(error == 0, "\"%s\": error %d at %zu", text, error, offset);
}

static void a_whole_entry(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("# made by hand\n"
		   "title Fedora Linux 41\n"
		   "version 6.12.0-64k\n"
		   "machine-id 0123456789abcdef0123456789abcdef\n"
		   "sort-key fedora-64k\n"
		   "architecture aa64\n"
		   "linux /fedora/6.12/linux\n"
		   "initrd /fedora/6.12/initrd\n"
		   "devicetree /dtb/board.dtb\n"
		   "devicetree-overlay /dtb/a.dtbo\n"
		   "extra /addons/x.addon.efi\n"
		   "options root=/dev/vda2 quiet\n"
		   "granule-image 64k\n",
		   &e);
	assert_span_equal(e.title, "Fedora Linux 41");
	assert_span_equal(e.version, "6.12.0-64k");
	assert_span_equal(e.machine_id, "0123456789abcdef0123456789abcdef");
	assert_span_equal(e.sort_key, "fedora-64k");
	assert_span_equal(e.architecture, "aa64");
	assert_int_equal(e.start, BLS_START_LINUX);
	assert_span_equal(e.path, "/fedora/6.12/linux");
	assert_int_equal(e.n_initrd, 1);
	assert_span_equal(e.initrd[0], "/fedora/6.12/initrd");
	assert_span_equal(e.devicetree, "/dtb/board.dtb");
	assert_int_equal(e.n_overlay, 1);
	assert_span_equal(e.overlay[0], "/dtb/a.dtbo");
	assert_int_equal(e.n_extra, 1);
	assert_span_equal(e.extra[0], "/addons/x.addon.efi");
	assert_span_equal(e.options, "root=/dev/vda2 quiet");
	assert_true(e.from_granule);
	assert_int_equal(e.image_page_size, PAGE_SIZE_64K);
	assert_false(e.image_selectable);
	assert_int_equal(e.profile, 0);
}

static void what_is_not_said_is_empty(void **state)
{
	struct bls_entry e;

	(void)state;
	memset(&e, 0x5a, sizeof(e));
	parse_good("linux /k", &e);
	assert_int_equal(e.title.n + e.version.n + e.machine_id.n + e.sort_key.n + e.architecture.n, 0);
	assert_int_equal(e.devicetree.n + e.options.n, 0);
	assert_int_equal(e.n_initrd + e.n_extra + e.n_overlay + e.profile, 0);
	assert_int_equal(e.image_page_size, PAGE_SIZE_UNKNOWN);
	assert_false(e.image_selectable);
	assert_false(e.from_granule);
}

static void line_ends_blanks_comments_and_quotes(void **state)
{
	static const char *const texts[] = {
		"linux /k\noptions a b\n",
		"linux /k\roptions a b\r",
		"linux /k\r\noptions a b\r\n",
		"linux /k\n\n\noptions a b",
		"\tlinux\t /k \t\n  options   a b  \n",
		"#x\nlinux /k\n  # y\noptions a b",
		"linux \"/k\"\noptions \"a b\"\n",
		"linux /k\noptions\noptions a b\noptions \n",
		"options a b\nlinux /k",
	};
	struct bls_entry e;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		parse_good(texts[i], &e);
		assert_span_equal(e.path, "/k");
		assert_span_equal(e.options, "a b");
	}
}

static void a_hash_after_the_first_character_is_data(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("linux /k\ntitle C # 1\noptions a #b", &e);
	assert_span_equal(e.title, "C # 1");
	assert_span_equal(e.options, "a #b");
}

static void only_one_pair_of_double_quotes_is_removed(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("linux /k\ntitle 'single'\nversion \"\"x\"\"\nsort-key \"open\noptions a=\"b c\"", &e);
	assert_span_equal(e.title, "'single'");
	assert_span_equal(e.version, "\"x\"");
	assert_span_equal(e.sort_key, "\"open");
	assert_span_equal(e.options, "a=\"b c\"");
}

static void the_last_of_repeated_keys_counts(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("linux /k1\ntitle t1\nversion v1\nmachine-id m1\nsort-key s1\narchitecture "
		   "x64\ndevicetree d1\n"
		   "profile 1\ngranule-image 4k\n"
		   "linux /k2\ntitle t2\nversion v2\nmachine-id m2\nsort-key s2\narchitecture "
		   "AA64\ndevicetree d2\n"
		   "profile 2\ngranule-image selectable\n"
		   "title\nversion  \n",
		   &e);
	assert_span_equal(e.path, "/k2");
	assert_span_equal(e.title, "t2");
	assert_span_equal(e.version, "v2");
	assert_span_equal(e.machine_id, "m2");
	assert_span_equal(e.sort_key, "s2");
	assert_span_equal(e.architecture, "AA64");
	assert_span_equal(e.devicetree, "d2");
	assert_int_equal(e.profile, 2);
	assert_true(e.image_selectable);
	assert_int_equal(e.image_page_size, PAGE_SIZE_UNKNOWN);
	parse_good("linux /k\ngranule-image selectable\ngranule-image 16k", &e);
	assert_false(e.image_selectable);
	assert_int_equal(e.image_page_size, PAGE_SIZE_16K);
}

static void options_are_joined_by_one_blank(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("options a\nlinux /k\noptions  b  c \noptions\noptions \"d\"\n", &e);
	assert_span_equal(e.options, "a b  c d");
	assert_ptr_equal(e.options.p, options);
}

static void lists_keep_their_order(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good(
		"linux /k\ninitrd /1\nextra /e1\ndevicetree-overlay /o1\ninitrd /2\nextra /e2\ninitrd /3 4\n"
		"devicetree-overlay /o2 \t/o3",
		&e);
	assert_int_equal(e.n_initrd, 3);
	assert_span_equal(e.initrd[0], "/1");
	assert_span_equal(e.initrd[1], "/2");
	/* The whole value is one path. */
	assert_span_equal(e.initrd[2], "/3 4");
	assert_int_equal(e.n_extra, 2);
	assert_span_equal(e.extra[1], "/e2");
	assert_int_equal(e.n_overlay, 3);
	assert_span_equal(e.overlay[0], "/o1");
	assert_span_equal(e.overlay[1], "/o2");
	assert_span_equal(e.overlay[2], "/o3");
}

static void unknown_keys_are_skipped(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("linux /k\ngrub_users $grub_users\ngrub_class fedora\nid x\nTitle upper\nLINUX "
		   "/other\nlinux-x /y\n"
		   "option a\noptionsx b\nfoo ../..\n",
		   &e);
	assert_span_equal(e.path, "/k");
	assert_int_equal(e.title.n, 0);
	assert_int_equal(e.options.n, 0);
}

static void kinds_of_start(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("efi /shellaa64.efi", &e);
	assert_int_equal(e.start, BLS_START_EFI);
	assert_span_equal(e.path, "/shellaa64.efi");
	parse_good("uki /EFI/Linux/a.efi\nprofile 4294967295", &e);
	assert_int_equal(e.start, BLS_START_UKI);
	assert_int_equal(e.profile, UINT32_MAX);
}

static void the_image_line_of_register(void **state)
{
	static const struct {
		const char *value;
		enum page_size size;
		bool selectable;
	} vectors[] = {
		{ "4k", PAGE_SIZE_4K, false },
		{ "16k", PAGE_SIZE_16K, false },
		{ "64k", PAGE_SIZE_64K, false },
		{ "selectable", PAGE_SIZE_UNKNOWN, true },
		{ "64K", PAGE_SIZE_UNKNOWN, false },
		{ "selectable ", PAGE_SIZE_UNKNOWN, true },
		{ "Selectable", PAGE_SIZE_UNKNOWN, false },
		{ "unknown", PAGE_SIZE_UNKNOWN, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct bls_entry e;
		char text[100] = "linux /k\ngranule-image ";

		parse_good(strcat(text, vectors[i].value), &e);
		assert_true(e.from_granule);
		assert_int_equal(e.image_page_size, vectors[i].size);
		assert_int_equal(e.image_selectable, vectors[i].selectable);
	}
}

static void the_line_of_a_trial(void **state)
{
	struct bls_entry e;

	(void)state;
	parse_good("linux /k\ngranule-trial yes\n", &e);
	assert_true(e.trial);
	assert_false(e.from_granule);
	parse_good("linux /k\ngranule-image 4k\n", &e);
	assert_false(e.trial);
	parse_good("linux /k\ngranule-trial no\n", &e);
	assert_false(e.trial);
	parse_good("linux /k\ngranule-trial yes\ngranule-trial Yes\n", &e);
	assert_false(e.trial);
}

static void errors_and_where_they_are(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *at; /* text from the byte at fault on */
	} vectors[] = {
		{ "", ERROR_NO_KERNEL, NULL },
		{ "title a\noptions b\n", ERROR_NO_KERNEL, NULL },
		{ "title a\nlinux\n", ERROR_NO_KERNEL, NULL },
		{ "title a\nlinux \"\"\n", ERROR_NO_KERNEL, NULL },
		{ "#linux /k\n", ERROR_NO_KERNEL, NULL },
		{ "linux /k\nefi /e\n", ERROR_TWO_KERNELS, "efi /e\n" },
		{ "efi /e\ntitle x\n linux /k", ERROR_TWO_KERNELS, "linux /k" },
		{ "linux /k\nuki /u", ERROR_TWO_KERNELS, "uki /u" },
		{ "uki /u\nefi /u", ERROR_TWO_KERNELS, "efi /u" },
		{ "linux /../k", ERROR_SYNTAX, "linux /../k" },
		{ "linux ..", ERROR_SYNTAX, "linux .." },
		{ "linux /a/..", ERROR_SYNTAX, "linux /a/.." },
		{ "linux ../k", ERROR_SYNTAX, "linux ../k" },
		{ "efi \\a\\..\\k", ERROR_SYNTAX, "efi \\a\\..\\k" },
		{ "linux /k\ninitrd /a/../i", ERROR_SYNTAX, "initrd /a/../i" },
		{ "linux /k\n\textra /..", ERROR_SYNTAX, "extra /.." },
		{ "linux /k\ndevicetree ../d", ERROR_SYNTAX, "devicetree ../d" },
		{ "linux /k\ndevicetree-overlay ../d", ERROR_SYNTAX, "devicetree-overlay ../d" },
		{ "uki /k\nprofile x", ERROR_SYNTAX, "profile x" },
		{ "uki /k\nprofile -1", ERROR_SYNTAX, "profile -1" },
		{ "uki /k\nprofile 4294967296", ERROR_SYNTAX, "profile 4294967296" },
		{ "uki /k\nprofile 1 2", ERROR_SYNTAX, "profile 1 2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		const char *text = vectors[i].text;
		struct bls_entry e;
		size_t offset = 99;
		int error = parse(text, &e, &offset);

		check(error == vectors[i].error, "\"%s\": %d", text, error);
		if (vectors[i].at)
			check(!strcmp(text + offset, vectors[i].at), "\"%s\": at %zu", text, offset);
		else
			assert_int_equal(offset, 0);
	}
}

static void dots_within_a_name_are_fine(void **state)
{
	static const char *const paths[] = { "/a..b/k", "/...", "/..k", "/k..", "/./k", "k", "/a//b" };

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		struct bls_entry e;
		char text[100] = "linux ";

		parse_good(strcat(text, paths[i]), &e);
		assert_span_equal(e.path, paths[i]);
	}
}

static void a_uki_url_beside_a_kernel_makes_two(void **state)
{
	struct bls_entry e;
	size_t offset;

	(void)state;
	assert_int_equal(parse("linux /k\nuki-url http://x/y.efi\n", &e, &offset), ERROR_TWO_KERNELS);
}

static void a_nul_byte_is_an_error_where_it_stands(void **state)
{
	struct bls_entry e;
	size_t offset;

	(void)state;
	assert_int_equal(bls_parse(SPAN("linux /k\n#\0\n"), options, sizeof(options), &e, &offset),
			 ERROR_SYNTAX);
	assert_int_equal(offset, 10);
	assert_int_equal(bls_parse(SPAN("\0linux /k"), options, sizeof(options), &e, &offset), ERROR_SYNTAX);
	assert_int_equal(offset, 0);
}

static void lists_have_a_limit(void **state)
{
	static const struct {
		const char *line;
		unsigned max;
	} vectors[] = {
		{ "initrd /i\n", BLS_MAX_INITRD },
		{ "extra /i\n", BLS_MAX_EXTRA },
		{ "devicetree-overlay /i\n", BLS_MAX_OVERLAY },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char text[1000] = "linux /k\n";
		struct bls_entry e;
		size_t offset, n;

		for (unsigned k = 0; k < vectors[i].max; k++)
			strcat(text, vectors[i].line);
		parse_good(text, &e);
		assert_int_equal(e.n_initrd + e.n_extra + e.n_overlay, vectors[i].max);
		n = strlen(text);
		strcat(text, vectors[i].line);
		assert_int_equal(parse(text, &e, &offset), ERROR_TOO_MANY);
		assert_int_equal(offset, n);
	}
}

static void the_options_buffer_may_be_too_small(void **state)
{
	static const char text[] = "linux /k\noptions abc\noptions de\n"; /* "abc de" */
	struct bls_entry e;
	size_t offset;

	(void)state;
	for (size_t size = 0; size < 10; size++) {
		char *buffer = malloc(size);
		int error = bls_parse(span_of(text), buffer, size, &e, &offset);

		check(error == (size < sizeof("abc de") ? ERROR_SPACE : 0), "%zu bytes: %d", size, error);
		if (error)
			assert_int_equal(offset, size < sizeof("abc") ? 9 : 21);
		free(buffer);
	}
	assert_int_equal(bls_parse(SPAN("linux /k"), NULL, 0, &e, &offset), 0);
	assert_int_equal(e.options.n, 0);
}

static void a_buffer_of_the_texts_size_always_suffices(void **state)
{
	static const char *const texts[] = { "linux k\noptions a", "options a\noptions b\noptions c\nlinux k",
					     "linux k" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct span text = exact(texts[i]);
		char *buffer = malloc(text.n + 1);
		struct bls_entry e;
		size_t offset;

		assert_int_equal(bls_parse(text, buffer, text.n + 1, &e, &offset), 0);
		free(buffer);
		release(text);
	}
}

static void names_of_entry_files(void **state)
{
	char longest[300], too_long[300];
	const struct {
		const char *name;
		bool valid, is_entry;
	} vectors[] = {
		{ "a.conf", true, true },
		{ "A.CONF", true, true },
		{ "fedora-6.12_x+64k.conf", true, true },
		{ "a+3-1.conf", true, true },
		{ "a.b.conf", true, true },
		{ "a..conf", true, true },
		{ "09.conf", true, true },
		{ "azAZ09+-_.conf", true, true },
		{ "autox.conf", true, true },
		{ "auto.conf", true, true },
		{ "xauto-a.conf", true, true },
		{ "auto-x.conf", false, false },
		{ "AUTO-x.conf", false, false },
		{ "auto-.conf", false, false },
		{ ".a.conf", false, false },
		{ ".conf", false, false },
		{ "conf", false, false },
		{ "", false, false },
		{ "a", false, false },
		{ "a.conf ", false, false },
		{ "a.conf.bak", false, false },
		{ "a.efi", false, false },
		{ "aconf", false, false },
		{ "a b.conf", false, true },
		{ "a/b.conf", false, false },
		{ "a\\b.conf", false, false },
		{ "a@1.conf", false, true },
		{ "\xc3\xa4.conf", false, true },
		{ "a~.conf", false, true },
		{ "a#.conf", false, true },
		{ "a:.conf", false, true },
		{ "a`.conf", false, true },
		{ "a{.conf", false, true },
		{ "a[.conf", false, true },
		{ "@a.conf", false, true },
		{ " .conf", false, true },
		{ longest, true, true },
		{ too_long, false, true },
	};

	(void)state;
	memset(longest, 'a', sizeof(longest));
	memset(too_long, 'a', sizeof(too_long));
	strcpy(longest + 250, ".conf");
	strcpy(too_long + 251, ".conf");
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span name = exact(vectors[i].name);

		check(bls_file_name_valid(name) == vectors[i].valid, "\"%s\"", vectors[i].name);
		check(bls_file_name_is_entry(name) == vectors[i].is_entry, "\"%s\"", vectors[i].name);
		release(name);
	}
	assert_false(bls_file_name_valid(SPAN("a\0b.conf")));
	assert_false(bls_file_name_is_entry(SPAN("a\0b.conf")));
	assert_false(bls_file_name_is_entry(SPAN("a\x1b.conf")));
	assert_false(bls_file_name_is_entry(SPAN_NONE));
	assert_false(bls_file_name_valid(SPAN_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_entry),
		cmocka_unit_test(what_is_not_said_is_empty),
		cmocka_unit_test(line_ends_blanks_comments_and_quotes),
		cmocka_unit_test(a_hash_after_the_first_character_is_data),
		cmocka_unit_test(only_one_pair_of_double_quotes_is_removed),
		cmocka_unit_test(the_last_of_repeated_keys_counts),
		cmocka_unit_test(options_are_joined_by_one_blank),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(unknown_keys_are_skipped),
		cmocka_unit_test(kinds_of_start),
		cmocka_unit_test(the_image_line_of_register),
		cmocka_unit_test(the_line_of_a_trial),
		cmocka_unit_test(errors_and_where_they_are),
		cmocka_unit_test(dots_within_a_name_are_fine),
		cmocka_unit_test(a_uki_url_beside_a_kernel_makes_two),
		cmocka_unit_test(a_nul_byte_is_an_error_where_it_stands),
		cmocka_unit_test(lists_have_a_limit),
		cmocka_unit_test(the_options_buffer_may_be_too_small),
		cmocka_unit_test(a_buffer_of_the_texts_size_always_suffices),
		cmocka_unit_test(names_of_entry_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
