/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/utf8.h>

uint32_t utf8_decode(struct span s, size_t *pos)
{
	unsigned char c = (unsigned char)s.p[(*pos)++];
	unsigned more = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xc2 && c < 0xe0 ? 1 : 0;
	uint32_t v = more == 3 ? c & 7u : more == 2 ? c & 15u : c & 31u;

	if (c < 0x80)
		return c;
	if (!more || s.n - *pos < more)
		return UTF8_REPLACEMENT;
	for (unsigned k = 0; k < more; k++) {
		unsigned char next = (unsigned char)s.p[*pos + k];
		if ((next & 0xc0) != 0x80)
			return UTF8_REPLACEMENT;
		v = v << 6 | (next & 0x3f);
	}
	bool too_long = (more == 2 && v < 0x800) || (more == 3 && v < 0x10000);
	if (too_long || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return UTF8_REPLACEMENT;
	*pos += more;
	return v;
}

void utf8_add(struct text *t, uint32_t c)
{
	char b[3];
	size_t n = 0;

	if (c >= 0xd800 && c < 0xe000)
		c = UTF8_REPLACEMENT;
	if (c < 0x80) {
		b[n++] = (char)c;
	} else {
		if (c < 0x800) {
			b[n++] = (char)(0xc0 | c >> 6);
		} else {
			b[n++] = (char)(0xe0 | c >> 12);
			b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		}
		b[n++] = (char)(0x80 | (c & 0x3f));
	}
	text_add(t, (struct span){ b, n });
}

/* Latin, Greek, Cyrillic and their neighbours; wide characters begin at 0x1100 (Unicode, annex 11). */
static bool takes_one_column(uint32_t c)
{
	return (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c < 0x300) || (c >= 0x370 && c < 0x483) ||
	       (c >= 0x48a && c < 0x590);
}

size_t utf8_add_columns(struct text *t, struct span s, size_t columns)
{
	size_t used = 0, pos = 0, whole = 0;

	for (size_t i = 0; i < s.n && whole <= columns; whole++)
		utf8_decode(s, &i);
	bool cut = whole > columns;
	size_t dots = !cut ? 0 : columns < 3 ? columns : 3;
	while (pos < s.n && used < columns - dots) {
		uint32_t c = utf8_decode(s, &pos);
		utf8_add(t, takes_one_column(c) ? c : '?');
		used++;
	}
	text_add(t, span_cut(SPAN("..."), 0, dots));
	return used + dots;
}
