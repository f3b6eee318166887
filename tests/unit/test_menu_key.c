/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"
#include <granule/menu_key.h>

/* What a text behind an Escape means, and how much of it is used up. */
static uint32_t feed(const char *text, size_t *ret_used)
{
	struct key_sequence s = { 0 };
	uint32_t key = KEY_NONE;
	size_t i = 0;

	while (text[i] && key == KEY_NONE)
		key = key_sequence_feed(&s, menu_key((unsigned char)text[i++], 0));
	*ret_used = i;
	return key;
}

static void firmwares_keys_are_characters_or_scan_codes(void **state)
{
	(void)state;

	assert_int_equal(menu_key('e', 0), 'e');
	assert_int_equal(menu_key(0, 0x01), KEY_UP);
	assert_int_equal(menu_key(0, 0x17), KEY_ESCAPE);
	assert_int_equal(menu_key(0x1b, 0), KEY_ESCAPE);
	assert_int_equal(menu_key('\n', 0), KEY_ENTER);
	assert_int_equal(menu_key(0x7f, 0), KEY_BACKSPACE);
	assert_int_equal(menu_key(0, 0), KEY_IGNORED);
}

static void sequences_of_terminals_are_keys(void **state)
{
	static const struct {
		const char *text;
		uint32_t key;
	} vectors[] = {
		{ "[A", KEY_UP },         { "[B", KEY_DOWN },       { "[C", KEY_RIGHT },
		{ "[D", KEY_LEFT },       { "OA", KEY_UP },         { "OB", KEY_DOWN },
		{ "[H", KEY_HOME },       { "[F", KEY_END },        { "OH", KEY_HOME },
		{ "OF", KEY_END },        { "[1~", KEY_HOME },      { "[4~", KEY_END },
		{ "[7~", KEY_HOME },      { "[8~", KEY_END },       { "[3~", KEY_DELETE },
		{ "[5~", KEY_PAGE_UP },   { "OP", KEY_F1 },         { "[6~", KEY_PAGE_DOWN },
		{ "OQ", KEY_F2 },         { "[11~", KEY_F1 },       { "[12~", KEY_F2 },
		{ "[21~", KEY_F10 },      { "[200~", KEY_IGNORED }, { "[1;5A", KEY_IGNORED },
		{ "[?25h", KEY_IGNORED }, { "[2~", KEY_IGNORED },   { "[4294967297~", KEY_IGNORED },
		{ "[Z", KEY_IGNORED },    { "x", KEY_IGNORED },     { "\x1b", KEY_ESCAPE },
		{ "[\x1b", KEY_ESCAPE },
	};
	(void)state;

	for (size_t i = 0; i < COUNT(vectors); i++) {
		size_t used;
		uint32_t key = feed(vectors[i].text, &used);
		check(key == vectors[i].key && used == strlen(vectors[i].text), "Escape %s: %x after %zu",
		      vectors[i].text, key, used);
	}
}

static void letters_that_mean_something_never_come_out_of_a_sequence(void **state)
{
	(void)state;

	/* B would reboot, O power off, D change the default. */
	for (char c = ' '; c < 127; c++) {
		const char texts[2][3] = { { '[', c, 0 }, { 'O', c, 0 } };
		for (size_t i = 0; i < 2; i++) {
			size_t used;
			uint32_t key = feed(texts[i], &used);
			check(key == KEY_NONE || key > 0xffff, "Escape %s: %x", texts[i], key);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firmwares_keys_are_characters_or_scan_codes),
		cmocka_unit_test(sequences_of_terminals_are_keys),
		cmocka_unit_test(letters_that_mean_something_never_come_out_of_a_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
