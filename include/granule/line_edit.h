/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of text that a person edits, and the part of it that a narrow screen shows. */
#ifndef GRANULE_LINE_EDIT_H
#define GRANULE_LINE_EDIT_H

#include <granule/menu_key.h>

/* Offsets are in bytes and always at the start of a character. */
struct line_edit {
	struct text line; /* in the caller's buffer */
	size_t cursor;
	size_t first; /* of the part that is shown */
};

/* Starts with a copy of `text` in a buffer of `size` bytes, the cursor behind it. What does not fit is cut.
 */
void line_edit_start(struct line_edit *edit, char *buffer, size_t size, struct span text);

/* Does what a key asks for: characters are put in at the cursor; the cursor and function keys, Backspace and
 * Delete, and of Ctrl with a letter A, E, B, F (move), D, H (delete a character), K, U (delete to the end, to
 * the start), W (delete a word backwards). Delete behind the last character deletes that one, since some
 * firmware takes a terminal's Backspace for it. False for a key that is none of these. */
bool line_edit_key(struct line_edit *edit, uint32_t key);

/* Whether a key leaves the line as it was: Escape, Ctrl-G, Ctrl-C. */
bool line_edit_is_abort(uint32_t key);

/* Writes the part of the line around the cursor, `columns` (at least 8) wide at most: '<' and '>' at its ends
 * tell that there is more, '?' stands for what a console cannot show. *ret_column is where the cursor is. */
void line_edit_show(struct line_edit *edit, size_t columns, struct text *ret, size_t *ret_column);

#endif
