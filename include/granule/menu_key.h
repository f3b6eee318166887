/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of the menu and of its line editor. A character is its own value; a key without one is 0x10000 plus
 * its scan code (UEFI 12.1.2, "EFI Scan Codes"). */
#ifndef GRANULE_MENU_KEY_H
#define GRANULE_MENU_KEY_H

#include <granule/span.h>

#define KEY_OF_SCAN(code) (0x10000u + (code))
#define KEY_CTRL(letter) ((letter)&31u)

enum menu_key {
	KEY_NONE = 0,
	KEY_BACKSPACE = '\b',
	KEY_ENTER = '\r',
	KEY_UP = KEY_OF_SCAN(0x01),
	KEY_DOWN = KEY_OF_SCAN(0x02),
	KEY_RIGHT = KEY_OF_SCAN(0x03),
	KEY_LEFT = KEY_OF_SCAN(0x04),
	KEY_HOME = KEY_OF_SCAN(0x05),
	KEY_END = KEY_OF_SCAN(0x06),
	KEY_DELETE = KEY_OF_SCAN(0x08),
	KEY_PAGE_UP = KEY_OF_SCAN(0x09),
	KEY_PAGE_DOWN = KEY_OF_SCAN(0x0a),
	KEY_F1 = KEY_OF_SCAN(0x0b),
	KEY_F2 = KEY_OF_SCAN(0x0c),
	KEY_F10 = KEY_OF_SCAN(0x14),
	KEY_ESCAPE = KEY_OF_SCAN(0x17),
	KEY_IGNORED = 0x20000, /* something was typed that means nothing */
};

/* A key as firmware reports it: a character, or 0 and a scan code. */
uint32_t menu_key(uint16_t character, uint16_t scan_code);

/* The keys of a terminal that come as an escape sequence (ECMA-48, and xterm's), for firmware that does not
 * translate them: without this an arrow key would be Escape, '[' and a letter that means something else.
 * Start with zero after an Escape and feed what follows at once. */
struct key_sequence {
	unsigned state, number;
};

/* Returns KEY_NONE while the sequence goes on, then the key that it means, KEY_IGNORED for another one. */
uint32_t key_sequence_feed(struct key_sequence *sequence, uint32_t key);

#endif
