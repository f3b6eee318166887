/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ordinary parameters of a command line. */
#include "unit.h"

#include <granule/cmdline.h>
#include <granule/error.h>

/* All words as "[text|name|value]", without "|value" for a bare name. */
static const char *words_of(struct span line)
{
	static char buffer[1000];
	struct text t = text_in(buffer, sizeof(buffer));
	struct cmdline_word w;
	size_t pos = 0;

	while (cmdline_next(line, &pos, &w)) {
		offset_in(line, w.text);
		text_add(&t, SPAN("["));
		text_add(&t, w.text);
		text_add(&t, SPAN("|"));
		text_add(&t, w.name);
		if (w.has_value) {
			text_add(&t, SPAN("|"));
			text_add(&t, w.value);
		} else {
			assert_int_equal(w.value.n, 0);
		}
		text_add(&t, SPAN("]"));
	}
	assert_int_equal(pos, line.n);
	return buffer;
}

static void words_of_a_line(void **state)
{
	static const struct {
		const char *line, *want;
	} vectors[] = {
		{ "", "" },
		{ "  \t ", "" },
		{ "a", "[a|a]" },
		{ " a  b\tc\n", "[a|a][b|b][c|c]" },
		{ "a=1", "[a=1|a|1]" },
		{ "a=", "[a=|a|]" },
		{ "a=b=c", "[a=b=c|a|b=c]" },
		{ "a=\"b c\" d", "[a=\"b c\"|a|b c][d|d]" },
		{ "\"a=b c\" d", "[\"a=b c\"|a|b c][d|d]" },
		{ "\"a b\" c", "[\"a b\"|a b][c|c]" },
		{ "a=b\" \"c", "[a=b\" \"c|a|b\" \"c]" },
		{ "a\" \"b=c", "[a\" \"b=c|a\" \"b|c]" },
		{ "a=\"b c", "[a=\"b c|a|b c]" },
		{ "a=\"\" b", "[a=\"\"|a|][b|b]" },
		{ "a=\"", "[a=\"|a|]" },
		{ "\"", "[\"|]" },
		{ "\"a=b", "[\"a=b|a|b]" },
		{ "\"a=", "[\"a=|a|]" },
		{ "a\rb", "[a|a][b|b]" },
		{ "a=\"b=c\"", "[a=\"b=c\"|a|b=c]" },
		{ "a -- b", "[a|a][--|--][b|b]" },
		{ "a='b c'", "[a='b|a|'b][c'|c']" },
		{ "a=1\vb=2\fc", "[a=1|a|1][b=2|b|2][c|c]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span line = exact(vectors[i].line);
		const char *got = words_of(line);

		check(!strcmp(got, vectors[i].want), "\"%s\": %s", vectors[i].line, got);
		release(line);
	}
}

/* next_arg() looks for '=' from the second character on. */
static void a_word_that_begins_with_an_equals_sign_is_all_name(void **state)
{
	(void)state;
	assert_string_equal(words_of(SPAN("=a")), "[=a|=a]");
	assert_string_equal(words_of(SPAN("=a=b")), "[=a=b|=a|b]");
}

static void the_last_value_counts(void **state)
{
	static const struct {
		const char *line, *name, *want; /* NULL: not there */
	} vectors[] = {
		{ "a=1 b=2 a=3", "a", "3" },
		{ "a=1 b=2", "b", "2" },
		{ "a=1 a", "a", "" },
		{ "a", "a", "" },
		{ "a=1", "A", NULL },
		{ "a=1", "b", NULL },
		{ "", "a", NULL },
		{ "ab=1 xa=2", "a", NULL },
		{ "ax=1", "ab", NULL },
		{ "foo.a=1 a.foo=2", "a", NULL },
		{ "foo=\"a=1 a=2\"", "a", NULL },
		{ "foo=\"x a=1\"", "foo", "x a=1" },
		{ "log-buf=1", "log_buf", "1" },
		{ "log_buf=1", "log-buf", "1" },
		{ "a=1 -- a=2", "a", "1" },
		{ "-- a=2", "a", NULL },
		{ "--x=1 a=2", "a", "2" },
		{ "b=\"--\" a=2", "a", "2" },
		{ "foo.arm64.pagesize=4k", "arm64.pagesize", NULL },
		{ "arm64.pagesizes=4k", "arm64.pagesize", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span line = exact(vectors[i].line), value = SPAN("untouched");
		bool found = cmdline_get(line, span_of(vectors[i].name), &value);

		check(found == (vectors[i].want != NULL), "\"%s\": %s", vectors[i].line, vectors[i].name);
		assert_span_equal(value, vectors[i].want ? vectors[i].want : "untouched");
		release(line);
	}
}

static void setting_a_parameter(void **state)
{
	static const struct {
		const char *line, *name, *value, *want; /* value NULL: the bare name */
	} vectors[] = {
		{ "", "a", "1", "a=1" },
		{ "x y", "a", "1", "x y a=1" },
		{ "x a=0 y", "a", "1", "x a=1 y" },
		{ "a=0 x a=2 a", "a", "1", "a=1 x" },
		{ "x", "a", "", "x a=" },
		{ "x", "a", NULL, "x a" },
		{ "a=1 x", "a", NULL, "a x" },
		{ "x", "a", "b c", "x a=\"b c\"" },
		{ "x", "a", " b", "x a=\" b\"" },
		{ "x", "a", "b\tc", "x a=\"b\tc\"" },
		{ "a=\"b c\" x", "a", "d", "a=d x" },
		{ "x -- y", "a", "1", "x a=1 -- y" },
		{ "x -- a=0", "a", "1", "x a=1 -- a=0" },
		{ "a=0 -- a=0", "a", "1", "a=1 -- a=0" },
		{ "-- y -- z", "a", "1", "a=1 -- y -- z" },
		{ "log-level=1", "log_level", "2", "log_level=2" },
		{ "foo=\"a=0 b\"", "a", "1", "foo=\"a=0 b\" a=1" },
		{ "foo.a=0 a.b=0 ab=0", "a", "1", "foo.a=0 a.b=0 ab=0 a=1" },
		{ "foo.arm64.pagesize=4k", "arm64.pagesize", "64k",
		  "foo.arm64.pagesize=4k arm64.pagesize=64k" },
		{ "\"a=0 1\" x", "a", "1", "a=1 x" },
		{ "panic=1", "panic", "10", "panic=10" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span line = exact(vectors[i].line), value;
		char buffer[200];
		struct text t = text_in(buffer, sizeof(buffer));

		assert_int_equal(cmdline_set(line, span_of(vectors[i].name), span_of(vectors[i].value), &t),
				 0);
		check(!strcmp(buffer, vectors[i].want), "\"%s\": \"%s\"", vectors[i].line, buffer);
		assert_true(cmdline_get(text_span(&t), span_of(vectors[i].name), &value));
		assert_span_equal(value, vectors[i].value ? vectors[i].value : "");
		release(line);
	}
}

static void removing_a_parameter(void **state)
{
	static const struct {
		const char *line, *name, *want;
	} vectors[] = {
		{ "", "a", "" },
		{ "a", "a", "" },
		{ "x a=1 y", "a", "x y" },
		{ "a=1 x a y a=\"2 3\"", "a", "x y" },
		{ "ab=1 foo.a=2 foo=\"a b\"", "a", "ab=1 foo.a=2 foo=\"a b\"" },
		{ "a=1 -- a=2", "a", "-- a=2" },
		{ "x-y=1 x_y", "x_y", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span line = exact(vectors[i].line);
		char buffer[200];
		struct text t = text_in(buffer, sizeof(buffer));

		assert_int_equal(cmdline_remove(line, span_of(vectors[i].name), &t), 0);
		check(!strcmp(buffer, vectors[i].want), "\"%s\": \"%s\"", vectors[i].line, buffer);
		release(line);
	}
}

static void values_that_cannot_be_written_are_refused(void **state)
{
	static const char *const values[] = { "a\"b", "\"", "a\nb", "a\rb", "\n" };
	char buffer[100];

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		struct text t = text_in(buffer, sizeof(buffer));

		assert_int_equal(cmdline_set(SPAN("x"), SPAN("a"), span_of(values[i]), &t), ERROR_SYNTAX);
	}
}

static void a_buffer_that_is_too_small_is_an_error(void **state)
{
	static const char set[] = "x=1 a=\"b c\"", removed[] = "x=1";

	(void)state;
	for (size_t size = 0; size <= sizeof(set); size++) {
		char *buffer = malloc(size);
		struct text t = text_in(buffer, size);

		assert_int_equal(cmdline_set(SPAN("x=1"), SPAN("a"), SPAN("b c"), &t),
				 size < sizeof(set) ? ERROR_SPACE : 0);
		t = text_in(buffer, size);
		assert_int_equal(cmdline_remove(SPAN("x=1 a"), SPAN("a"), &t),
				 size < sizeof(removed) ? ERROR_SPACE : 0);
		free(buffer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_a_line),
		cmocka_unit_test(a_word_that_begins_with_an_equals_sign_is_all_name),
		cmocka_unit_test(the_last_value_counts),
		cmocka_unit_test(setting_a_parameter),
		cmocka_unit_test(removing_a_parameter),
		cmocka_unit_test(values_that_cannot_be_written_are_refused),
		cmocka_unit_test(a_buffer_that_is_too_small_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
