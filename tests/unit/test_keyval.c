/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of "key value". */
#include "unit.h"

#include <granule/keyval.h>

/* All pairs of a text as "key=value;" in one string. */
static const char *pairs_of(struct span text)
{
	static char buffer[1000];
	struct text t = text_in(buffer, sizeof(buffer));
	struct keyval kv;
	size_t pos = 0;

	while (keyval_next(text, &pos, &kv)) {
		assert_true(kv.key.n && kv.value.n);
		assert_int_equal(kv.offset, offset_in(text, kv.key));
		assert_true(kv.line_start <= kv.offset && kv.line_end <= text.n);
		assert_true(kv.line_start == 0 || text.p[kv.line_start - 1] == '\n' ||
			    text.p[kv.line_start - 1] == '\r');
		assert_true(kv.line_end == text.n || text.p[kv.line_end] == '\n' ||
			    text.p[kv.line_end] == '\r');
		text_add(&t, kv.key);
		text_add(&t, SPAN("="));
		text_add(&t, kv.value);
		text_add(&t, SPAN(";"));
	}
	/* The end stays the end. */
	assert_false(keyval_next(text, &pos, &kv));
	return buffer;
}

static void keys_and_values_of_lines(void **state)
{
	static const struct {
		const char *text, *want;
	} vectors[] = {
		{ "", "" },
		{ "title Linux", "title=Linux;" },
		{ "title Linux\n", "title=Linux;" },
		{ "a 1\nb 2\n", "a=1;b=2;" },
		{ "a 1\rb 2\r", "a=1;b=2;" },
		{ "a 1\r\nb 2\r\n", "a=1;b=2;" },
		{ "a 1\n\rb 2", "a=1;b=2;" },
		{ "\n\n\na 1\n\n\nb 2\n\n", "a=1;b=2;" },
		{ "  a   1  \n\tb\t\t2\t\n", "a=1;b=2;" },
		{ "a \t 1\t 2 \n", "a=1\t 2;" },
		{ "# a 1\n  # b 2\n\t#\n#\nc 3", "c=3;" },
		{ "a 1 # no comment\n", "a=1 # no comment;" },
		{ "a# 1\n", "a#=1;" },
		{ "a #1\n", "a=#1;" },
		{ "a\nb \nc\t\t\nd 4", "d=4;" },
		{ "   \n\t\na 1", "a=1;" },
		{ "a \"1\"\n", "a=1;" },
		{ "a \" 1 \"\n", "a= 1 ;" },
		{ "a \"\"\nb 2", "b=2;" },
		{ "a \"\n", "a=\";" },
		{ "a \"1\n", "a=\"1;" },
		{ "a 1\"\n", "a=1\";" },
		{ "a \"\"1\"\"\n", "a=\"1\";" },
		{ "a \"1\" \"2\"\n", "a=1\" \"2;" },
		{ "a '1'\n", "a='1';" },
		{ "\"a\" 1\n", "\"a\"=1;" },
		{ "A 1\n", "A=1;" },
		{ "a=1\n", "" },
		{ "a\v1\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span text = exact(vectors[i].text);
		const char *got = pairs_of(text);

		check(!strcmp(got, vectors[i].want), "\"%s\": \"%s\" instead of \"%s\"", vectors[i].text, got,
		      vectors[i].want);
		release(text);
	}
}

static void places_of_a_line(void **state)
{
	struct span text = SPAN("x 1\r\n  key \"value\" \t\nrest 2");
	struct keyval kv;
	size_t pos = 3;

	(void)state;
	assert_true(keyval_next(text, &pos, &kv));
	assert_int_equal(kv.offset, 7);
	assert_int_equal(kv.line_start, 5);
	assert_int_equal(kv.line_end, 20);
	assert_int_equal(pos, 21);
	assert_span_equal(kv.value, "value");
	assert_int_equal(offset_in(text, kv.value), 12);
	assert_true(keyval_next(text, &pos, &kv));
	assert_int_equal(kv.line_end, text.n);
}

static void the_number_of_a_line(void **state)
{
	struct span text = SPAN("a 1\nb 2\r\nc 3\rd 4\n\ne 5");

	(void)state;
	assert_int_equal(keyval_line_number(text, 0), 1);
	for (size_t i = 0, line = 1; i < text.n; i++) {
		if (text.p[i] >= 'a')
			assert_int_equal(keyval_line_number(text, i), text.p[i] == 'e' ? 6 : line++);
	}
	assert_int_equal(keyval_line_number(text, text.n + 9), 6);
	assert_int_equal(keyval_line_number(SPAN_NONE, 3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_values_of_lines),
		cmocka_unit_test(places_of_a_line),
		cmocka_unit_test(the_number_of_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
