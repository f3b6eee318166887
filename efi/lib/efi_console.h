/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys, and a screen that remembers what it shows so that a slow line carries only what changed. */
#ifndef GRANULE_EFI_CONSOLE_H
#define GRANULE_EFI_CONSOLE_H

#include <granule/menu_key.h>

#include "efi_util.h"

/* ---- keys ---- */

/* No way to read keys, or none any more. */
#define KEY_LOST 0x20001u

/* Whether there is somewhere to show a menu and somewhere to read its keys from. */
BOOLEAN console_present(void);

/* Waits for a key (menu_key.h), at most `ms` milliseconds; 0 only looks, CONSOLE_FOREVER has no end.
 * KEY_NONE when the time is over, KEY_LOST when firmware cannot read keys. */
#define CONSOLE_FOREVER UINT32_MAX
uint32_t console_key(UINT32 ms);

/* Whether a key was pressed while firmware and loader started; takes it and what was typed with it. Costs no
 * time when there was none. */
BOOLEAN console_early_key(void);

/* ---- screen ---- */

struct screen {
	UINTN columns, rows; /* without the last column, where some terminals wrap or scroll */
	CHAR16 *shown;       /* rows * columns characters, with a bit for reverse video */
	CHAR16 *line;        /* a row on its way out */
	char *text;          /* the same, before */
	UINTN attribute;     /* that firmware uses now */
	UINTN found;         /* at the start, and left behind */
};

/* Sets a text mode, and the next one that works after the present one, in a circle. */
BOOLEAN console_set_mode(UINTN mode);
void console_next_mode(void);

/* Takes over the console and clears it. Without a person's word that the size of its text mode is `trusted`,
 * it is taken for a terminal of 80 columns and 24 rows. */
void screen_open(struct screen *s, BOOLEAN trusted);
void screen_clear(struct screen *s);
/* Clears it and gives it back. */
void screen_close(struct screen *s);

/* Makes a row show this text, which is cut to fit; sends nothing if it does already. */
void screen_row(struct screen *s, UINTN row, struct span text, BOOLEAN reverse);

/* Where the cursor stays after that: where the eye, or a braille line, should be. */
void screen_cursor(struct screen *s, UINTN column, UINTN row, BOOLEAN visible);

#endif
