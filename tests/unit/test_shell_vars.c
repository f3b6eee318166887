/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /etc/default/grub sets, without a shell. The values are what dash and bash make of the same text. */
#include "unit.h"

#include <granule/error.h>
#include <granule/shell_vars.h>

struct values {
	char a[64], b[64], scratch[64];
	struct shell_var vars[2];
	struct text scratch_text;
	size_t offset;
};

static int read_text(const char *text, size_t n, struct values *v)
{
	struct span copy = exact_bytes(text, n);

	*v = (struct values){ 0 };
	v->vars[0] = (struct shell_var){ .name = SPAN("A"), .value = text_in(v->a, sizeof(v->a)) };
	v->vars[1] = (struct shell_var){ .name = SPAN("A_B"), .value = text_in(v->b, sizeof(v->b)) };
	v->scratch_text = text_in(v->scratch, sizeof(v->scratch));
	int error = shell_vars_read(copy, v->vars, 2, &v->scratch_text, &v->offset);
	release(copy);
	return error;
}

static void expect(const char *text, const char *want)
{
	struct values v;
	int error = read_text(text, strlen(text), &v);

	check(!error, "<%s>: %s at %zu", text, error_text(error), v.offset);
	check(strcmp(v.a, want) == 0, "<%s>: \"%s\" instead of \"%s\"", text, v.a, want);
}

static void values_are_what_a_shell_makes_of_them(void **state)
{
	static const struct {
		const char *text, *want;
	} vectors[] = {
		{ "A=v", "v" },
		{ "A=v\n", "v" },
		{ "A=v\r\n", "v" },
		{ "  A=v  # comment\n", "v" },
		{ "A=a#b", "a#b" },
		{ "A=", "" },
		{ "A=\"\"", "" },
		{ "A=\"quiet splash\"", "quiet splash" },
		{ "A='a \"b\" $A `c` \\'", "a \"b\" $A `c` \\" },
		{ "A=\"a 'b' \\\"c\\\" \\$d \\`e\\` \\\\ \\f\"", "a 'b' \"c\" $d `e` \\ \\f" },
		{ "A=a\\ b\\$c", "a b$c" },
		{ "A=a\"b c\"'d e'f", "ab cd ef" },
		{ "A=\"a \\\nb\"", "a b" },
		{ "A=a\\\nb", "ab" },
		{ "A=1\nA=2", "2" },
		{ "A=1\nA+=2\nA+=\" 3\"", "12 3" },
		{ "A+=x", "x" },
		{ "A=1\nA=\"$A 2\"", "1 2" },
		{ "A=1\nA=\"2 ${A}\"", "2 1" },
		{ "A_B=1\nA=$A_B-${A_B}", "1-1" },
		{ "A=\"$A_B\"", "" },
		{ "export A=v", "v" },
		{ "A=v\nexport A", "v" },
		{ "A=v\nexport GRUB_COLOR\n", "v" },
		{ "A=root=UUID=1\t\n", "root=UUID=1" },
		{ "A=\"a;b|c&d<e>(f)~\"", "a;b|c&d<e>(f)~" },
		{ "#A=x\n\n \t\n", "" },
		{ "A=\xc3\xa4", "\xc3\xa4" },
		/* Values of others, as distributions have them. */
		{ "D=`lsb_release -i -s 2> /dev/null || echo Debian`\nA=v", "v" },
		{ "D=`( . /etc/os-release && echo ${NAME} )`\nA=v", "v" },
		{ "D=`( . /etc/os-release; echo ${NAME:-Ubuntu} ) 2>/dev/null || echo Ubuntu`\nA=v", "v" },
		{ "D=\"$(sed 's, release .*$,,g' /etc/system-release)\"\nA=v", "v" },
		{ "D=$(a (b) \")\" ')' \\) c)\nA=v", "v" },
		{ "D=\"${X:-\"}\"}\"\nA=v", "v" },
		{ "D=$OTHER/${OTHER}\nA=v", "v" },
		{ "D='several\nlines A=x'\nA=v", "v" },
		{ "AA=1\nB=2\nA_=3", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		expect(vectors[i].text, vectors[i].want);
}

static void what_takes_a_shell_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t line; /* begins there */
	} vectors[] = {
		{ "A=$(cat x)", 0 },
		{ "A=`cat x`", 0 },
		{ "A=\"a $(cat x)\"", 0 },
		{ "A=\"a `cat x`\"", 0 },
		{ "A=$OTHER", 0 },
		{ "A=\"$OTHER\"", 0 },
		{ "A=${A:-x}", 0 },
		{ "A=${A}}${", 0 },
		{ "A=$", 0 },
		{ "A=\"$\"", 0 },
		{ "A=$'a'", 0 },
		{ "A=$1", 0 },
		{ "A=$((1))", 0 },
		{ "A=1; B=2", 0 },
		{ "A=1 B=2", 0 },
		{ "A=1 command", 0 },
		{ "A=1&", 0 },
		{ "A=a|b", 0 },
		{ "A=~/x", 0 },
		{ "A=(a b)", 0 },
		{ "A[0]=x", 0 },
		{ "A =x", 0 },
		{ "1A=x", 0 },
		{ "=x", 0 },
		{ "A-=x", 0 },
		{ "A=\"a\nb\"", 0 },
		{ "A='a\nb'", 0 },
		{ "A=\"open", 0 },
		{ "A='open", 0 },
		{ "A=a\\", 0 },
		{ "A=\"a\\", 0 },
		{ "A=\x1b", 0 },
		{ "A=1\n. /etc/other\n", 4 },
		{ "A=1\nif true; then\nA=2\nfi\n", 4 },
		{ "A=1\nunset A\n", 4 },
		{ "A=1\nexport A B\n", 4 },
		{ "A=1\nD=`open\n`\n", 4 },
		{ "A=1\nD=$(a\nb)\n", 4 },
		{ "A=1\nD=$(a\n", 4 },
		{ "A=1\nD=`a '`\n", 4 },
		{ "A=1\nD=1; A=2\n", 4 },
		{ "A=1\nD=$(a); A=2\n", 4 },
		{ "A=1\r2", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct values v;
		int error = read_text(vectors[i].text, strlen(vectors[i].text), &v);

		check(error == ERROR_SYNTAX, "<%s>: %d, \"%s\"", vectors[i].text, error, v.a);
		check(v.offset == vectors[i].line, "<%s>: offset %zu", vectors[i].text, v.offset);
	}
	struct values v;
	assert_int_equal(read_text("A=a\0b", 5, &v), ERROR_SYNTAX);
	assert_int_equal(read_text("D=a\0b", 5, &v), ERROR_SYNTAX);
	assert_int_equal(read_text("# a\0b", 5, &v), ERROR_SYNTAX);
}

static void a_value_without_room_is_refused(void **state)
{
	char text[80] = "A=";
	struct values v;

	(void)state;
	memset(text + 2, 'x', 63);
	assert_int_equal(read_text(text, 65, &v), 0);
	assert_int_equal(strlen(v.a), 63);
	text[65] = 'x';
	assert_int_equal(read_text(text, 66, &v), ERROR_SPACE);
	memcpy(text + 40, "\nA+=", 4);
	memset(text + 44, 'x', 26);
	assert_int_equal(read_text(text, 70, &v), ERROR_SPACE);
}

static void several_files_add_up(void **state)
{
	struct values v;
	struct text scratch;

	(void)state;
	assert_int_equal(read_text("A_B=\"quiet\"\n", 12, &v), 0);
	assert_false(v.vars[0].set);
	assert_true(v.vars[1].set);
	scratch = text_in(v.scratch, sizeof(v.scratch));
	assert_int_equal(shell_vars_read(SPAN("A_B=\"$A_B splash\""), v.vars, 2, &scratch, &v.offset), 0);
	assert_string_equal(v.b, "quiet splash");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_what_a_shell_makes_of_them),
		cmocka_unit_test(what_takes_a_shell_is_refused),
		cmocka_unit_test(a_value_without_room_is_refused),
		cmocka_unit_test(several_files_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
