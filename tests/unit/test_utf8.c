/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"
#include <granule/utf8.h>

static void each_character_is_decoded_and_damage_is_one_byte(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t character;
		size_t length;
	} vectors[] = {
		{ "A", 'A', 1 },
		{ "\x7f", 0x7f, 1 },
		{ "\xc2\x80", 0x80, 2 },
		{ "\xc3\xa9", 0xe9, 2 },
		{ "\xe2\x82\xac", 0x20ac, 3 },
		{ "\xef\xbf\xbd", 0xfffd, 3 },
		{ "\xf0\x9f\x98\x80", 0x1f600, 4 },
		{ "\xf4\x8f\xbf\xbf", 0x10ffff, 4 },
		/* alone, cut short, too long, surrogate, beyond Unicode */
		{ "\x80", UTF8_REPLACEMENT, 1 },
		{ "\xc3", UTF8_REPLACEMENT, 1 },
		{ "\xc3(", UTF8_REPLACEMENT, 1 },
		{ "\xe2\x82", UTF8_REPLACEMENT, 1 },
		{ "\xc0\x80", UTF8_REPLACEMENT, 1 },
		{ "\xe0\x82\xac", UTF8_REPLACEMENT, 1 },
		{ "\xf0\x82\x82\xac", UTF8_REPLACEMENT, 1 },
		{ "\xed\xa0\x80", UTF8_REPLACEMENT, 1 },
		{ "\xf4\x90\x80\x80", UTF8_REPLACEMENT, 1 },
		{ "\xff", UTF8_REPLACEMENT, 1 },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span s = exact(vectors[i].bytes);
		size_t pos = 0;
		uint32_t got = utf8_decode(s, &pos);
		check(got == vectors[i].character && pos == vectors[i].length,
		      "vector %zu: U+%04X, %zu bytes", i, got, pos);
		release(s);
	}
}

static void characters_are_written_as_they_are_read(void **state)
{
	static const uint32_t characters[] = { 1, 'A', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff };
	(void)state;

	for (size_t i = 0; i < COUNT(characters); i++) {
		char buffer[8];
		struct text t = text_in(buffer, sizeof(buffer));
		size_t pos = 0;
		utf8_add(&t, characters[i]);
		assert_int_equal(utf8_decode(text_span(&t), &pos), characters[i]);
		assert_int_equal(pos, t.n);
	}
}

static void a_surrogate_is_not_written(void **state)
{
	char buffer[8];
	struct text t = text_in(buffer, sizeof(buffer));
	(void)state;

	utf8_add(&t, 0xd800);
	assert_span_equal(text_span(&t), "\xef\xbf\xbd");
}

static void columns_hold_what_every_console_shows_and_the_rest_is_marked(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *shown;
		size_t used;
	} vectors[] = {
		{ "Debian 12", 20, "Debian 12", 9 },
		{ "Debian 12", 9, "Debian 12", 9 },
		{ "Debian 12", 8, "Debia...", 8 },
		{ "abcd", 3, "...", 3 },
		{ "abcd", 2, "..", 2 },
		{ "abcd", 0, "", 0 },
		{ "", 5, "", 0 },
		{ "a\tb\x1b[2J\x7f", 20, "a?b?[2J?", 8 },
		{ "Stra\xc3\x9f"
		  "e",
		  6,
		  "Stra\xc3\x9f"
		  "e",
		  6 },
		{ "\xd0\xaf", 5, "\xd0\xaf", 1 },
		/* wide, combining, beyond 16 bits, damaged, a C1 control */
		{ "\xe4\xb8\xad", 5, "?", 1 },
		{ "e\xcc\x81", 5, "e?", 2 },
		{ "\xf0\x9f\x98\x80", 5, "?", 1 },
		{ "\xff\xfe", 5, "??", 2 },
		{ "\xc2\x9b", 5, "?", 1 },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		char buffer[UTF8_COLUMNS_SIZE(20)];
		struct text t = text_in(buffer, UTF8_COLUMNS_SIZE(vectors[i].columns));
		struct span s = exact(vectors[i].text);
		size_t used = utf8_add_columns(&t, s, vectors[i].columns);
		check(span_is(text_span(&t), vectors[i].shown) && used == vectors[i].used && !t.full,
		      "vector %zu: \"%s\", %zu columns", i, buffer, used);
		release(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_character_is_decoded_and_damage_is_one_byte),
		cmocka_unit_test(characters_are_written_as_they_are_read),
		cmocka_unit_test(a_surrogate_is_not_written),
		cmocka_unit_test(columns_hold_what_every_console_shows_and_the_rest_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
