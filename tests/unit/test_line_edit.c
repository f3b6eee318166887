/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"
#include <granule/line_edit.h>

#define LEFT "\x11" /* stands for a key in the scripts below */
#define RIGHT "\x12"
#define HOME "\x13"
#define END "\x14"
#define DELETE "\x16"

static uint32_t key_of(char c)
{
	switch (c) {
	case '\x11': /* LEFT */
		return KEY_LEFT;
	case '\x12': /* RIGHT */
		return KEY_RIGHT;
	case '\x13': /* HOME */
		return KEY_HOME;
	case '\x14': /* END */
		return KEY_END;
	case '\x16': /* DELETE */
		return KEY_DELETE;
	default:
		return (unsigned char)c;
	}
}

static void type(struct line_edit *e, const char *keys)
{
	for (; *keys; keys++)
		line_edit_key(e, key_of(*keys));
}

static void keys_edit_the_line(void **state)
{
	static const struct {
		const char *line, *keys, *result;
		size_t cursor;
	} vectors[] = {
		{ "quiet", " single", "quiet single", 12 },
		{ "quiet", HOME "x ", "x quiet", 2 },
		{ "quiet", "\x01x" END "y", "xquiety", 7 },
		{ "quiet", "\x01\x05z", "quietz", 6 },
		{ "quiet", LEFT LEFT "-", "qui-et", 4 },
		{ "quiet", "\x02\x02\x06-", "quie-t", 5 },
		{ "quiet", HOME LEFT RIGHT DELETE, "qiet", 1 },
		{ "quiet", HOME "\x04", "uiet", 0 },
		{ "quiet", "\b\b", "qui", 3 },
		{ "quiet", LEFT "\b", "quit", 3 },
		{ "quiet", HOME "\b", "quiet", 0 },
		{ "quiet", DELETE, "quie", 4 },
		{ "", DELETE "\b\x0b\x15\x17", "", 0 },
		{ "a b c", LEFT LEFT "\x0b", "a b", 3 },
		{ "a b c", LEFT LEFT "\x15", " c", 0 },
		{ "root=/dev/vda ro  ", "\x17", "root=/dev/vda ", 14 },
		{ "root=/dev/vda ro", "\x17\x17\x17", "", 0 },
		{ "ab cd", LEFT "\x17", "ab d", 3 },
		{ "caf\xc3\xa9", LEFT "-", "caf-\xc3\xa9", 4 },
		{ "caf\xc3\xa9", "\b", "caf", 3 },
		{ "\xc3\xa9t", HOME DELETE, "t", 0 },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		char *buffer = malloc(64);
		struct line_edit e;
		line_edit_start(&e, buffer, 64, span_of(vectors[i].line));
		type(&e, vectors[i].keys);
		check(span_is(text_span(&e.line), vectors[i].result) && e.cursor == vectors[i].cursor,
		      "vector %zu: \"%s\", cursor %zu", i, buffer, e.cursor);
		free(buffer);
	}
}

static void keys_of_others_are_left_to_them(void **state)
{
	static const uint32_t keys[] = { KEY_ENTER, KEY_ESCAPE,  KEY_UP,        KEY_F1,
					 KEY_NONE,  KEY_IGNORED, KEY_PAGE_DOWN, KEY_CTRL('L') };
	char buffer[8];
	struct line_edit e;
	(void)state;

	line_edit_start(&e, buffer, sizeof(buffer), SPAN("abc"));
	for (size_t i = 0; i < COUNT(keys); i++)
		assert_false(line_edit_key(&e, keys[i]));
	assert_span_equal(text_span(&e.line), "abc");
	assert_true(line_edit_key(&e, 'd'));
}

static void escape_and_its_control_keys_abort(void **state)
{
	(void)state;

	assert_true(line_edit_is_abort(KEY_ESCAPE));
	assert_true(line_edit_is_abort(KEY_CTRL('G')));
	assert_true(line_edit_is_abort(KEY_CTRL('C')));
	assert_false(line_edit_is_abort(KEY_ENTER));
	assert_false(line_edit_is_abort('g'));
}

static void a_full_buffer_takes_no_more(void **state)
{
	char *buffer = malloc(6);
	struct line_edit e;
	(void)state;

	line_edit_start(&e, buffer, 6, SPAN("abcd"));
	type(&e, "efg");
	assert_span_equal(text_span(&e.line), "abcde");
	type(&e, "\bx");
	assert_span_equal(text_span(&e.line), "abcdx");
	line_edit_key(&e, KEY_BACKSPACE);
	line_edit_key(&e, 0xe9); /* two bytes, room for one */
	assert_span_equal(text_span(&e.line), "abcd");
	free(buffer);
}

static void a_line_that_is_too_long_is_cut_between_characters(void **state)
{
	char buffer[4];
	struct line_edit e;
	(void)state;

	line_edit_start(&e, buffer, sizeof(buffer), SPAN("abc\xc3\xa9"));
	assert_span_equal(text_span(&e.line), "abc");
	line_edit_start(&e, buffer, sizeof(buffer), SPAN("ab\xc3\xa9"));
	assert_span_equal(text_span(&e.line), "ab");
}

/* What is shown, with the cursor put in as '|'. */
static const char *shown(struct line_edit *e, size_t columns)
{
	static char with_cursor[40];
	char buffer[40];
	struct text t = text_in(buffer, sizeof(buffer));
	size_t column, n = 0;

	line_edit_show(e, columns, &t, &column);
	for (size_t i = 0; i <= t.n; i++) {
		if (i == column)
			with_cursor[n++] = '|';
		with_cursor[n++] = buffer[i];
	}
	return with_cursor;
}

static void a_window_around_the_cursor_is_shown(void **state)
{
	char buffer[40];
	struct line_edit e;
	(void)state;

	line_edit_start(&e, buffer, sizeof(buffer), SPAN("0123456789abcdefghij"));
	assert_string_equal(shown(&e, 10), "<efghij|");
	type(&e, LEFT);
	assert_string_equal(shown(&e, 10), "<efghi|j");
	type(&e, LEFT LEFT LEFT LEFT LEFT);
	assert_string_equal(shown(&e, 10), "<|efghij");
	type(&e, LEFT);
	assert_string_equal(shown(&e, 10), "<789abc|de>");
	type(&e, HOME);
	assert_string_equal(shown(&e, 10), "|012345678>");
	type(&e, RIGHT RIGHT RIGHT RIGHT RIGHT RIGHT RIGHT RIGHT);
	assert_string_equal(shown(&e, 10), "01234567|8>");
	type(&e, RIGHT);
	assert_string_equal(shown(&e, 10), "<345678|9a>");
	type(&e, "\x0b");
	assert_string_equal(shown(&e, 10), "012345678|");
	type(&e, "X");
	assert_string_equal(shown(&e, 10), "<45678X|");
}

static void what_a_console_cannot_show_is_a_question_mark(void **state)
{
	char buffer[40];
	struct line_edit e;
	(void)state;

	line_edit_start(&e, buffer, sizeof(buffer), SPAN("a\tb\xff\xe4\xb8\xad"));
	assert_string_equal(shown(&e, 10), "a?b??|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_edit_the_line),
		cmocka_unit_test(keys_of_others_are_left_to_them),
		cmocka_unit_test(escape_and_its_control_keys_abort),
		cmocka_unit_test(a_full_buffer_takes_no_more),
		cmocka_unit_test(a_line_that_is_too_long_is_cut_between_characters),
		cmocka_unit_test(a_window_around_the_cursor_is_shown),
		cmocka_unit_test(what_a_console_cannot_show_is_a_question_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
