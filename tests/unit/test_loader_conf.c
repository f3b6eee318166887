/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader.conf: reading, and changing one key without touching the rest. */
#include "unit.h"

#include <granule/error.h>
#include <granule/loader_conf.h>

static struct loader_conf parse(const char *text)
{
	struct loader_conf c;

	memset(&c, 0x5a, sizeof(c));
	loader_conf_parse(span_of(text), &c);
	return c;
}

static void an_empty_file_means_a_hidden_menu(void **state)
{
	struct loader_conf c = parse("");

	(void)state;
	assert_int_equal(c.menu, MENU_HIDDEN);
	assert_int_equal(c.default_pattern.n + c.preferred_pattern.n, 0);
	assert_int_equal(c.page_size, PAGE_SIZE_UNKNOWN);
	assert_false(c.has_bad);
}

static void all_our_keys(void **state)
{
	struct loader_conf c =
		parse("# comment\ntimeout 5\ndefault fedora-*\npreferred \"a b.conf\"\npage-size 64k\n"
		      "console-mode max\neditor no\n");

	(void)state;
	assert_int_equal(c.menu, MENU_TIMEOUT);
	assert_int_equal(c.timeout_s, 5);
	assert_span_equal(c.default_pattern, "fedora-*");
	assert_span_equal(c.preferred_pattern, "a b.conf");
	assert_int_equal(c.page_size, PAGE_SIZE_64K);
	assert_false(c.has_bad);
}

static void switches_are_read_and_have_defaults(void **state)
{
	struct loader_conf c = parse("");

	(void)state;
	assert_true(c.editor && c.auto_entries && c.auto_firmware && !c.auto_reboot && !c.auto_poweroff);
	assert_true(c.count_boots && c.random_seed && c.env_block);
	assert_int_equal(c.on_error, ON_ERROR_NEXT);

	c = parse("editor no\nauto-entries 0\nauto-firmware false\nauto-reboot on\nauto-poweroff Y\n"
		  "boot-counting n\nrandom-seed off\nenv-block F\nreboot-on-error auto\n");
	assert_false(c.editor || c.auto_entries || c.auto_firmware || !c.auto_reboot || !c.auto_poweroff);
	assert_false(c.count_boots || c.random_seed || c.env_block);
	assert_int_equal(c.on_error, ON_ERROR_COUNT);
	assert_false(c.has_bad);

	c = parse("reboot-on-error yes\neditor no\neditor maybe\n");
	assert_int_equal(c.on_error, ON_ERROR_REBOOT);
	assert_false(c.editor);
	assert_true(c.has_bad);
	assert_int_equal(c.bad_offset, 30);
	assert_int_equal(parse("reboot-on-error yes\nreboot-on-error no\n").on_error, ON_ERROR_NEXT);
}

static void timeout_variables_win_over_the_file(void **state)
{
	static const struct {
		const char *conf, *variable, *oneshot;
		enum menu_mode menu;
		uint32_t seconds;
	} vectors[] = {
		{ "timeout 5\n", "", "", MENU_TIMEOUT, 5 },
		{ "timeout 5\n", "7", "", MENU_TIMEOUT, 7 },
		{ "timeout 5\n", "0", "", MENU_HIDDEN, 0 },
		{ "timeout 5\n", "menu-disabled", "", MENU_DISABLED, 0 },
		{ "timeout 5\n", "4294967295", "", MENU_FORCE, 0 },
		{ "timeout 5\n", "nonsense", "", MENU_TIMEOUT, 5 },
		{ "timeout menu-disabled\n", "", "3", MENU_TIMEOUT, 3 },
		{ "timeout 5\n", "7", "9", MENU_TIMEOUT, 9 },
		{ "timeout 5\n", "7", "0", MENU_FORCE, 0 },
		{ "timeout 5\n", "7", "menu-force", MENU_FORCE, 0 },
		{ "", "", "menu-hidden", MENU_FORCE, 0 },
		{ "timeout menu-force\n", "", "x", MENU_FORCE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct loader_conf c = parse(vectors[i].conf);

		loader_conf_apply_timeout(&c, span_of(vectors[i].variable), span_of(vectors[i].oneshot));
		check(c.menu == vectors[i].menu, "%zu: menu %d", i, c.menu);
		if (c.menu == MENU_TIMEOUT)
			check(c.timeout_s == vectors[i].seconds, "%zu: %u s", i, c.timeout_s);
	}
}

static void the_last_of_repeated_keys_counts(void **state)
{
	struct loader_conf c =
		parse("timeout 5\ndefault a\npage-size 4k\npreferred p\ntimeout menu-force\ndefault b\n"
		      "page-size 16k\npreferred q\ndefault\n");

	(void)state;
	assert_int_equal(c.menu, MENU_FORCE);
	assert_span_equal(c.default_pattern, "b");
	assert_span_equal(c.preferred_pattern, "q");
	assert_int_equal(c.page_size, PAGE_SIZE_16K);
}

static void a_line_that_is_not_understood_is_skipped_and_told(void **state)
{
	static const struct {
		const char *text, *at; /* NULL: nothing is bad */
		enum menu_mode menu;
		enum page_size size;
	} vectors[] = {
		{ "timeout 3\ntimeout soon\n", "timeout soon\n", MENU_TIMEOUT, PAGE_SIZE_UNKNOWN },
		{ "page-size 4k\n page-size 64K\n", "page-size 64K\n", MENU_HIDDEN, PAGE_SIZE_4K },
		{ "page-size 65536\npage-size 64k\ntimeout x", "page-size 65536\npage-size 64k\ntimeout x",
		  MENU_HIDDEN, PAGE_SIZE_64K },
		{ "page-size unknown\n", "page-size unknown\n", MENU_HIDDEN, PAGE_SIZE_UNKNOWN },
		{ "default *\nzzz yyy\nPAGE-SIZE 4k\n", NULL, MENU_HIDDEN, PAGE_SIZE_UNKNOWN },
		{ "page-size\ntimeout\n", NULL, MENU_HIDDEN, PAGE_SIZE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct loader_conf c = parse(vectors[i].text);

		check(c.has_bad == (vectors[i].at != NULL), "\"%s\"", vectors[i].text);
		if (vectors[i].at)
			assert_string_equal(vectors[i].text + c.bad_offset, vectors[i].at);
		assert_int_equal(c.menu, vectors[i].menu);
		assert_int_equal(c.page_size, vectors[i].size);
	}
}

static void values_of_timeout(void **state)
{
	static const struct {
		const char *value;
		bool good;
		enum menu_mode menu;
		uint32_t seconds;
	} vectors[] = {
		{ "0", true, MENU_HIDDEN, 77 },
		{ "00", true, MENU_HIDDEN, 77 },
		{ "1", true, MENU_TIMEOUT, 1 },
		{ "4294967294", true, MENU_TIMEOUT, 4294967294 },
		{ "4294967295", true, MENU_FORCE, 77 },
		{ "4294967296", false, MENU_DISABLED, 77 },
		{ "menu-force", true, MENU_FORCE, 77 },
		{ "menu-hidden", true, MENU_HIDDEN, 77 },
		{ "menu-disabled", true, MENU_DISABLED, 77 },
		{ "", false, MENU_DISABLED, 77 },
		{ "-1", false, MENU_DISABLED, 77 },
		{ "5s", false, MENU_DISABLED, 77 },
		{ " 5", false, MENU_DISABLED, 77 },
		{ "Menu-force", false, MENU_DISABLED, 77 },
		{ "menu", false, MENU_DISABLED, 77 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		/* What is there before must be replaced, or left alone. */
		enum menu_mode menu = vectors[i].good ? MENU_FORCE : MENU_DISABLED;
		uint32_t seconds = 77;

		check(menu_mode_parse(span_of(vectors[i].value), &menu, &seconds) == vectors[i].good,
		      "\"%s\"", vectors[i].value);
		check(menu == vectors[i].menu && seconds == vectors[i].seconds, "\"%s\": %d, %u",
		      vectors[i].value, (int)menu, seconds);
	}
}

struct edit {
	const char *text, *value, *want;
};

static void check_edits(const struct edit *edits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct span text = exact(edits[i].text);
		char buffer[400];
		struct text t = text_in(buffer, sizeof(buffer));

		assert_int_equal(loader_conf_set(text, SPAN("default"), span_of(edits[i].value), &t), 0);
		check(!strcmp(buffer, edits[i].want), "\"%s\" became \"%s\"", edits[i].text, buffer);
		release(text);
	}
}

static void the_number_of_all_ones_forces_the_menu(void **state)
{
	enum menu_mode menu = MENU_HIDDEN;
	uint32_t seconds = 77;

	(void)state;
	assert_true(menu_mode_parse(SPAN("4294967295"), &menu, &seconds));
	assert_int_equal(menu, MENU_FORCE);
	menu = MENU_HIDDEN;
	assert_true(menu_mode_parse(SPAN("menu-force"), &menu, &seconds));
	assert_int_equal(menu, MENU_FORCE);
}

static void setting_a_key(void **state)
{
	static const struct edit edits[] = {
		{ "", "x", "default x\n" },
		{ "timeout 5\n", "x", "timeout 5\ndefault x\n" },
		{ "timeout 5", "x", "timeout 5\ndefault x\n" },
		{ "# keep\n\ndefault a\ntimeout 5\n# end", "x", "# keep\n\ndefault x\ntimeout 5\n# end" },
		{ "default a", "x", "default x" },
		{ "\t default   a  \nt 1\n", "x", "default x\nt 1\n" },
		{ "default a\nt 1\ndefault b\nu 2\ndefault c\n", "x", "default x\nt 1\nu 2\n" },
		{ "default a\ndefault b", "x", "default x\n" },
		{ "#default a\ndefaults b\n", "x", "#default a\ndefaults b\ndefault x\n" },
		{ "t 1\r\ndefault a\r\nu 2\r\n", "x y", "t 1\r\ndefault x y\r\nu 2\r\n" },
		{ "default \"a\"\n", "x", "default x\n" },
	};

	(void)state;
	check_edits(edits, COUNT(edits));
}

static void removing_a_key(void **state)
{
	static const struct edit edits[] = {
		{ "", "", "" },
		{ "timeout 5", "", "timeout 5" },
		{ "default a\n", "", "" },
		{ "default a", "", "" },
		{ "t 1\ndefault a", "", "t 1\n" },
		{ "# keep\n\ndefault a\n\ntimeout 5\ndefault b\n# end\n", "",
		  "# keep\n\n\ntimeout 5\n# end\n" },
		{ "default a\ndefault b\nt 1", "", "t 1" },
		{ "t 1\rdefault a\ru 2\r", "", "t 1\ru 2\r" },
	};

	(void)state;
	check_edits(edits, COUNT(edits));
}

static void removing_a_line_that_ends_in_cr_lf_leaves_no_empty_one(void **state)
{
	static const struct edit edits[] = {
		{ "t 1\r\ndefault a\r\nu 2\r\n", "", "t 1\r\nu 2\r\n" },
		{ "default a\r\nt 1\r\ndefault b\r\nu 2\r\n", "x", "default x\r\nt 1\r\nu 2\r\n" },
	};

	(void)state;
	check_edits(edits, COUNT(edits));
}

static void what_was_set_is_read(void **state)
{
	static const char *const texts[] = { "", "page-size 4k", "# c\npage-size 4k\r\npage-size 16k",
					     "t 1\n\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		char buffer[200], again[200];
		struct text t = text_in(buffer, sizeof(buffer)), u = text_in(again, sizeof(again));
		struct loader_conf c;

		assert_int_equal(loader_conf_set(span_of(texts[i]), SPAN("page-size"), SPAN("64k"), &t), 0);
		loader_conf_parse(text_span(&t), &c);
		assert_int_equal(c.page_size, PAGE_SIZE_64K);
		/* The same once more changes nothing. */
		assert_int_equal(loader_conf_set(text_span(&t), SPAN("page-size"), SPAN("64k"), &u), 0);
		assert_string_equal(again, buffer);
	}
}

static void a_buffer_that_is_too_small_is_an_error(void **state)
{
	static const char want[] = "t 1\ndefault x\n";

	(void)state;
	for (size_t size = 0; size <= sizeof(want); size++) {
		char *buffer = malloc(size);
		struct text t = text_in(buffer, size);
		int error = loader_conf_set(SPAN("t 1"), SPAN("default"), SPAN("x"), &t);

		check(error == (size < sizeof(want) ? ERROR_SPACE : 0), "%zu bytes: %d", size, error);
		free(buffer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_means_a_hidden_menu),
		cmocka_unit_test(all_our_keys),
		cmocka_unit_test(switches_are_read_and_have_defaults),
		cmocka_unit_test(timeout_variables_win_over_the_file),
		cmocka_unit_test(the_last_of_repeated_keys_counts),
		cmocka_unit_test(a_line_that_is_not_understood_is_skipped_and_told),
		cmocka_unit_test(values_of_timeout),
		cmocka_unit_test(the_number_of_all_ones_forces_the_menu),
		cmocka_unit_test(setting_a_key),
		cmocka_unit_test(removing_a_key),
		cmocka_unit_test(removing_a_line_that_ends_in_cr_lf_leaves_no_empty_one),
		cmocka_unit_test(what_was_set_is_read),
		cmocka_unit_test(a_buffer_that_is_too_small_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
