/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assignments of os-release: what is one, and what its value is. */
#include "unit.h"

#include <granule/os_release.h>

static void value_of(const char *line, const char *want)
{
	struct span text = exact(line), key, value;
	size_t pos = 0;

	check(os_release_next((char *)text.p, text.n, &pos, &key, &value), "'%s': no assignment", line);
	check(span_is(key, "K"), "'%s': key '%.*s'", line, (int)key.n, key.p);
	check(span_is(value, want), "'%s': '%.*s' instead of '%s'", line, (int)value.n, value.p, want);
	assert_false(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	release(text);
}

static void values_are_unquoted_as_in_a_shell(void **state)
{
	static const struct {
		const char *line, *want;
	} vectors[] = {
		{ "K=v", "v" },
		{ "K=", "" },
		{ "K=\"\"", "" },
		{ "  K=v \t", "v" },
		{ "K= v", "v" },
		{ "K=\"Debian GNU/Linux 13\"", "Debian GNU/Linux 13" },
		{ "K='a \"b\" c'", "a \"b\" c" },
		{ "K=\"it's\"", "it's" },
		{ "K=\"a\\\"b\\\\c\\$d\\`e\"", "a\"b\\c$d`e" },
		/* A backslash before anything else stands for itself in double quotes. */
		{ "K=\"a\\nb\"", "a\\nb" },
		{ "K='a\\\\b'", "a\\\\b" },
		{ "K=a\\ b", "a b" },
		{ "K=a\\", "a\\" },
		{ "K=\"a\"'b'c", "abc" },
		{ "K=a=b", "a=b" },
		{ "K=a#b", "a#b" },
		{ "K=\"a ", "a" },
		{ "K=\" a \" ", " a " },
		{ "K=\\ ", "\\" },
		{ "K=\xc3\xa4", "\xc3\xa4" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		value_of(vectors[i].line, vectors[i].want);
}

static void what_is_no_assignment_is_skipped(void **state)
{
	(void)state;
	value_of("# A=b\n \t#C=d\n\nword\n=v\n\r\nK=v\n", "v");
	value_of("K=v\r\n#x=y\r", "v");
}

static void lines_come_in_order(void **state)
{
	struct span text = exact("A=1\nB='2'\rC=\"3\"\r\nD=4"), key, value;
	static const char *const want[][2] = { { "A", "1" }, { "B", "2" }, { "C", "3" }, { "D", "4" } };
	size_t pos = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_true(os_release_next((char *)text.p, text.n, &pos, &key, &value));
		assert_span_equal(key, want[i][0]);
		assert_span_equal(value, want[i][1]);
	}
	assert_false(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	assert_false(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	release(text);
}

static void a_nul_ends_the_text(void **state)
{
	struct span text = exact_bytes("A=1\0\nB=2", 8), key, value;
	size_t pos = 0;

	(void)state;
	assert_true(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	assert_span_equal(value, "1");
	assert_false(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	assert_false(os_release_next((char *)text.p, text.n, &pos, &key, &value));
	release(text);
}

static void nothing_holds_nothing(void **state)
{
	struct span key, value;
	size_t pos = 0;

	(void)state;
	assert_false(os_release_next(NULL, 0, &pos, &key, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_unquoted_as_in_a_shell),
		cmocka_unit_test(what_is_no_assignment_is_skipped),
		cmocka_unit_test(lines_come_in_order),
		cmocka_unit_test(a_nul_ends_the_text),
		cmocka_unit_test(nothing_holds_nothing),
	};

	return cmocka_run_group_tests_name("os_release", tests, NULL, NULL);
}
