/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8, one character at a time. */
#ifndef GRANULE_UTF8_H
#define GRANULE_UTF8_H

#include <granule/span.h>

#define UTF8_REPLACEMENT 0xfffdu

/* Decodes the character at s.p[*pos], which must lie in the span, and moves on. What is no UTF-8 (RFC 3629)
 * is UTF8_REPLACEMENT and one byte. */
uint32_t utf8_decode(struct span s, size_t *pos);

/* Appends a character of at most 16 bits. Surrogates become UTF8_REPLACEMENT. */
void utf8_add(struct text *t, uint32_t character);

/* Bytes that hold this many columns of utf8_add_columns(), with a NUL. */
#define UTF8_COLUMNS_SIZE(columns) ((columns)*3 + 1)

/* Appends what a console with one column for each character can show of the span: at most `columns`
 * characters, a '?' in place of those that are controls, combine with others, or may be wider. What does not
 * fit is cut, and "..." at the end tells. Returns the number of columns. */
size_t utf8_add_columns(struct text *t, struct span s, size_t columns);

#endif
