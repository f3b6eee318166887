/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/menu_key.h>

enum sequence_state {
	AFTER_ESCAPE,
	IN_NUMBERS, /* after "ESC [": numbers, then a last character */
	LAST_ONE,   /* after "ESC O": one character */
};

uint32_t menu_key(uint16_t character, uint16_t scan_code)
{
	switch (character) {
	case 0:
		return scan_code ? KEY_OF_SCAN(scan_code) : KEY_IGNORED;
	case '\n':
		return KEY_ENTER;
	case 0x1b:
		return KEY_ESCAPE;
	case 0x7f: /* what the key Backspace sends on most terminals */
		return KEY_BACKSPACE;
	default:
		return character;
	}
}

static uint32_t of_letter(uint32_t letter)
{
	switch (letter) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'F':
		return KEY_END;
	case 'H':
		return KEY_HOME;
	case 'P':
		return KEY_F1;
	case 'Q':
		return KEY_F2;
	default:
		return KEY_IGNORED;
	}
}

/* "ESC [ NUMBER ~" */
static uint32_t of_number(unsigned number)
{
	switch (number) {
	case 1:
	case 7:
		return KEY_HOME;
	case 3:
		return KEY_DELETE;
	case 4:
	case 8:
		return KEY_END;
	case 5:
		return KEY_PAGE_UP;
	case 6:
		return KEY_PAGE_DOWN;
	case 11:
		return KEY_F1;
	case 12:
		return KEY_F2;
	case 21:
		return KEY_F10;
	default:
		return KEY_IGNORED;
	}
}

uint32_t key_sequence_feed(struct key_sequence *s, uint32_t key)
{
	if (key == KEY_ESCAPE) /* another one begins, or it is pressed again and again */
		return KEY_ESCAPE;
	if (s->state == AFTER_ESCAPE) {
		s->state = key == '[' ? IN_NUMBERS : LAST_ONE;
		return key == '[' || key == 'O' ? KEY_NONE : KEY_IGNORED;
	}
	if (s->state == IN_NUMBERS) {
		if (key >= '0' && key <= '9') {
			/* No key has more than two digits; what is longer is none of them. */
			s->number = s->number < 100 ? s->number * 10 + (unsigned)(key - '0') : 100;
			return KEY_NONE;
		}
		if (key >= 0x20 && key < 0x40) {
			/* A parameter follows, such as the Shift key: the sequence is another one. */
			s->number = 100;
			return KEY_NONE;
		}
		if (key == '~')
			return of_number(s->number);
		if (s->number)
			return KEY_IGNORED;
	}
	return of_letter(key);
}
