/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule.conf: keys, values, what is passed over, and what is said about it. */
#include "unit.h"

#include <stdio.h>

#include <granule/settings.h>

/* Reads a text without a byte to spare. Returns how many problems there were, the last one in *ret. */
static size_t parse(struct span text, struct settings_values *values, struct settings_problem *ret)
{
	struct settings_problem problem;
	size_t pos = 0, n = 0;

	memset(&problem, 0x5a, sizeof(problem));
	while (settings_next_problem(text, &pos, values, &problem)) {
		n++;
		*ret = problem;
	}
	return n;
}

static struct settings_values parse_good(const char *text)
{
	struct settings_values values;
	struct settings_problem problem;

	settings_default(&values);
	size_t n = parse(span_of(text), &values, &problem);
	check(n == 0, "\"%s\": problem at %zu", text, n ? problem.offset : 0);
	return values;
}

static void an_empty_text_leaves_the_defaults(void **state)
{
	struct settings_values v = parse_good("# nothing\n\n  \t\r\n  # more = 5\n");

	(void)state;
	assert_int_equal(v.sizes, PAGE_SIZE_SET_ALL);
	assert_int_equal(v.tries, 1);
	assert_true(v.reboot_on_failure);
	assert_int_equal(v.panic_s, 10);
	assert_int_equal(v.verify_timeout_s, 300);
	assert_int_equal(v.check_timeout_s, 60);
	assert_int_equal(v.deadline_s, 600);
	assert_int_equal(v.trial_options.n, 0);
}

static void all_keys(void **state)
{
	struct settings_values v = parse_good(
		"page-sizes = 4k, 64K\ntries=3\r\n\treboot-on-failure =no\rpanic = 5s\nverify-timeout = 20m\n"
		"check-timeout= 2m\n deadline = 1h 30m \ntrial-options = \" a=\"b c\" # d\"");

	(void)state;
	assert_int_equal(v.sizes, 1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K);
	assert_int_equal(v.tries, 3);
	assert_false(v.reboot_on_failure);
	assert_int_equal(v.panic_s, 5);
	assert_int_equal(v.verify_timeout_s, 1200);
	assert_int_equal(v.check_timeout_s, 120);
	assert_int_equal(v.deadline_s, 5400);
	assert_span_equal(v.trial_options, " a=\"b c\" # d");
}

static void names_of_keys_are_all_understood(void **state)
{
	size_t i = 0;

	(void)state;
	for (const char *key; (key = settings_key(i)); i++) {
		char line[64];

		snprintf(line, sizeof(line), "%s =", key);
		parse_good(line);
	}
	assert_int_equal(i, 8);
}

static void the_last_value_counts_and_an_empty_one_is_the_default(void **state)
{
	struct settings_values v = parse_good("tries = 3\ntries = 4\npage-sizes = 16k\ndeadline = 0\n"
					      "reboot-on-failure = no\ntrial-options = a\npanic = 3\n");

	(void)state;
	assert_int_equal(v.tries, 4);
	assert_int_equal(v.deadline_s, 0);
	v = parse_good("tries = 3\ntries =\npage-sizes = 16k\npage-sizes = \ndeadline = 0\ndeadline =\n"
		       "reboot-on-failure = no\nreboot-on-failure=\"\"\ntrial-options = a\ntrial-options=\n");
	assert_int_equal(v.tries, 1);
	assert_int_equal(v.sizes, PAGE_SIZE_SET_ALL);
	assert_int_equal(v.deadline_s, 600);
	assert_true(v.reboot_on_failure);
	assert_int_equal(v.trial_options.n, 0);
}

static void a_byte_order_mark_is_passed_over(void **state)
{
	(void)state;
	assert_int_equal(parse_good("\xef\xbb\xbftries = 7\n").tries, 7);
}

static void what_is_not_understood_is_told_and_leaves_the_rest_alone(void **state)
{
	static const struct {
		const char *line;
		enum settings_fault fault;
		const char *key, *value, *meant;
	} vectors[] = {
		{ "tries", SETTINGS_NO_EQUALS, "tries", "", NULL },
		{ "= 5", SETTINGS_NO_EQUALS, "", "", NULL },
		{ "[granule]", SETTINGS_NO_EQUALS, "[granule]", "", NULL },
		{ "colour = blue", SETTINGS_UNKNOWN_KEY, "colour", "blue", NULL },
		{ "page-size = 4k", SETTINGS_UNKNOWN_KEY, "page-size", "4k", "page-sizes" },
		{ "Page_Sizes = 4k", SETTINGS_UNKNOWN_KEY, "Page_Sizes", "4k", "page-sizes" },
		{ "trys = 2", SETTINGS_UNKNOWN_KEY, "trys", "2", NULL },
		{ "tires = 2", SETTINGS_UNKNOWN_KEY, "tires", "2", "tries" },
		{ "trie = 2", SETTINGS_UNKNOWN_KEY, "trie", "2", "tries" },
		{ "verfiy-tiemout = 2", SETTINGS_UNKNOWN_KEY, "verfiy-tiemout", "2", "verify-timeout" },
		{ "verify-time-out = 2", SETTINGS_UNKNOWN_KEY, "verify-time-out", "2", "verify-timeout" },
		{ "deadlines = 2", SETTINGS_UNKNOWN_KEY, "deadlines", "2", "deadline" },
		{ "pan = 2", SETTINGS_UNKNOWN_KEY, "pan", "2", NULL },
		{ "tries 2 = 2", SETTINGS_UNKNOWN_KEY, "tries 2", "2", "tries" },
		{ "tries = 0", SETTINGS_BAD_VALUE, "tries", "0", NULL },
		{ "tries = 100", SETTINGS_BAD_VALUE, "tries", "100", NULL },
		{ "tries = 3 # comment", SETTINGS_BAD_VALUE, "tries", "3 # comment", NULL },
		{ "tries = 5s", SETTINGS_BAD_VALUE, "tries", "5s", NULL },
		{ "page-sizes = 4k 8k", SETTINGS_BAD_VALUE, "page-sizes", "4k 8k", NULL },
		{ "page-sizes = ,", SETTINGS_BAD_VALUE, "page-sizes", ",", NULL },
		{ "reboot-on-failure = maybe", SETTINGS_BAD_VALUE, "reboot-on-failure", "maybe", NULL },
		{ "panic = 0", SETTINGS_BAD_VALUE, "panic", "0", NULL },
		{ "panic = infinity", SETTINGS_BAD_VALUE, "panic", "infinity", NULL },
		{ "panic = 2h", SETTINGS_BAD_VALUE, "panic", "2h", NULL },
		{ "verify-timeout = 0", SETTINGS_BAD_VALUE, "verify-timeout", "0", NULL },
		{ "check-timeout = never", SETTINGS_BAD_VALUE, "check-timeout", "never", NULL },
		{ "deadline = 8d", SETTINGS_BAD_VALUE, "deadline", "8d", NULL },
		{ "trial-options = a panic=0", SETTINGS_BAD_VALUE, "trial-options", "a panic=0", NULL },
		{ "trial-options = arm64.pagesize=4k", SETTINGS_BAD_VALUE, "trial-options",
		  "arm64.pagesize=4k", NULL },
		{ "trial-options = x=\"arm64.pagesize=4k\"", SETTINGS_BAD_VALUE, "trial-options",
		  "x=\"arm64.pagesize=4k\"", NULL },
		{ "trial-options = a -- b", SETTINGS_BAD_VALUE, "trial-options", "a -- b", NULL },
		{ "trial-options = a\"b c", SETTINGS_BAD_VALUE, "trial-options", "a\"b c", NULL },
		{ "trial-options = a\tb", SETTINGS_BAD_VALUE, "trial-options", "a\tb", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct settings_values v, fresh;
		struct settings_problem p = { 0 };
		char text[200];

		settings_default(&v);
		settings_default(&fresh);
		snprintf(text, sizeof(text), "check-timeout = 9\n \t%s\npanic = 7", vectors[i].line);
		struct span exactly = exact(text);
		check(parse(exactly, &v, &p) == 1, "\"%s\"", vectors[i].line);
		check(p.fault == vectors[i].fault, "\"%s\": fault %d", vectors[i].line, (int)p.fault);
		assert_int_equal(p.offset, 20);
		assert_span_equal(p.key, vectors[i].key);
		assert_span_equal(p.value, vectors[i].value);
		assert_int_equal(p.fault == SETTINGS_BAD_VALUE, p.expected != NULL);
		if (vectors[i].meant)
			check(p.meant && !strcmp(p.meant, vectors[i].meant), "\"%s\": %s", vectors[i].line,
			      p.meant ? p.meant : "(none)");
		else
			check(!p.meant, "\"%s\": %s", vectors[i].line, p.meant);
		release(exactly);

		/* Lines around it were read, and nothing else changed. */
		fresh.check_timeout_s = 9;
		fresh.panic_s = 7;
		v.trial_options = fresh.trial_options;
		assert_int_equal(v.sizes, fresh.sizes);
		assert_int_equal(v.tries, fresh.tries);
		assert_int_equal(v.reboot_on_failure, fresh.reboot_on_failure);
		assert_int_equal(v.panic_s, fresh.panic_s);
		assert_int_equal(v.verify_timeout_s, fresh.verify_timeout_s);
		assert_int_equal(v.check_timeout_s, fresh.check_timeout_s);
		assert_int_equal(v.deadline_s, fresh.deadline_s);
	}
}

static void a_bad_value_leaves_the_good_one_before_it(void **state)
{
	struct settings_values v;
	struct settings_problem p;

	(void)state;
	settings_default(&v);
	assert_int_equal(parse(SPAN("tries = 4\ntries = many\npage-sizes = 4k\npage-sizes = 4k x\n"), &v, &p),
			 2);
	assert_int_equal(v.tries, 4);
	assert_int_equal(v.sizes, 1u << PAGE_SIZE_4K);
}

static void options_of_a_trial_have_a_bound(void **state)
{
	char text[700] = "trial-options = ";
	struct settings_values v;
	struct settings_problem p;

	(void)state;
	memset(text + 16, 'x', 512);
	assert_int_equal(parse_good(text).trial_options.n, 512);
	text[16 + 512] = 'x';
	settings_default(&v);
	assert_int_equal(parse(span_of(text), &v, &p), 1);
	assert_int_equal(v.trial_options.n, 0);
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint32_t seconds;
	} vectors[] = {
		{ "0", true, 0 },
		{ "90", true, 90 },
		{ "604800", true, 604800 },
		{ "604801", false, 0 },
		{ "90s", true, 90 },
		{ " 10m\t", true, 600 },
		{ "10 min", true, 600 },
		{ "2h", true, 7200 },
		{ "7d", true, 604800 },
		{ "7d 1s", false, 0 },
		{ "1h30m", true, 5400 },
		{ "1h 30m 5 seconds", true, 5405 },
		{ "infinity", true, 0 },
		{ "", false, 0 },
		{ " ", false, 0 },
		{ "s", false, 0 },
		{ "1h 30", false, 0 },
		{ "10M", false, 0 },
		{ "10ms", false, 0 },
		{ "-5", false, 0 },
		{ "1.5h", false, 0 },
		{ "5 5s", false, 0 },
		{ "99999999999999999999s", false, 0 },
		{ "604800d", false, 0 },
		{ "infinity s", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		uint32_t seconds = 77;
		struct span text = exact(vectors[i].text);

		check(settings_duration(text, &seconds) == vectors[i].good, "\"%s\"", vectors[i].text);
		check(seconds == (vectors[i].good ? vectors[i].seconds : 77), "\"%s\": %u", vectors[i].text,
		      seconds);
		release(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_text_leaves_the_defaults),
		cmocka_unit_test(all_keys),
		cmocka_unit_test(names_of_keys_are_all_understood),
		cmocka_unit_test(the_last_value_counts_and_an_empty_one_is_the_default),
		cmocka_unit_test(a_byte_order_mark_is_passed_over),
		cmocka_unit_test(what_is_not_understood_is_told_and_leaves_the_rest_alone),
		cmocka_unit_test(a_bad_value_leaves_the_good_one_before_it),
		cmocka_unit_test(options_of_a_trial_have_a_bound),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
