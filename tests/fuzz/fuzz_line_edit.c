/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line editor. Input: SIZE|KEYS|LINE; the size of the buffer is the length of SIZE, and each byte of KEYS
 * a key. */
#include "fuzz.h"
#include <granule/line_edit.h>
#include <granule/utf8.h>

static uint32_t key_of(unsigned char byte)
{
	static const uint32_t keys[] = { KEY_LEFT,   KEY_RIGHT, KEY_HOME,   KEY_END,
					 KEY_DELETE, KEY_UP,    KEY_ESCAPE, 0xfffd };

	return byte >= 0x80 && byte < 0x80 + sizeof(keys) / sizeof(keys[0]) ? keys[byte - 0x80] : byte;
}

/* What is shown fits, and the cursor is in it. */
static void check_shown(struct fuzz *f, struct line_edit *e, size_t columns)
{
	struct text shown = fuzz_text(f, UTF8_COLUMNS_SIZE(columns));
	size_t column = SIZE_MAX, used = 0;

	line_edit_show(e, columns, &shown, &column);
	fuzz_check_text(&shown);
	CHECK(!shown.full);
	for (size_t i = 0; i < shown.n; used++)
		CHECK(utf8_decode(text_span(&shown), &i) >= ' ');
	CHECK(e->first <= e->cursor && used <= columns && column <= used && column < columns);
	free(f->blocks[--f->n_blocks]);
}

static void check_line(const struct line_edit *e)
{
	fuzz_check_text(&e->line);
	CHECK(!e->line.full && e->cursor <= e->line.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span room = fuzz_field(&f), keys = fuzz_field(&f), line = fuzz_rest(&f);
	size_t buffer_size = room.n + 1;
	char *buffer = fuzz_alloc(&f, buffer_size);
	struct line_edit e;

	line_edit_start(&e, buffer, buffer_size, line);
	check_line(&e);
	CHECK(span_starts(line, text_span(&e.line)) && e.cursor == e.line.n);
	for (size_t i = 0; i < keys.n; i++) {
		size_t before = e.line.n;
		uint32_t key = key_of((unsigned char)keys.p[i]);
		bool used = line_edit_key(&e, key);

		check_line(&e);
		CHECK(used || e.line.n == before);
		check_shown(&f, &e, 8 + i % 73);
		/* What was typed can be taken back. */
		if (key >= ' ' && key <= 0xffff && e.line.n > before) {
			struct line_edit copy = e;
			copy.line.p = fuzz_alloc(&f, buffer_size);
			memcpy(copy.line.p, e.line.p, e.line.n + 1);
			line_edit_key(&copy, KEY_BACKSPACE);
			check_line(&copy);
			free(f.blocks[--f.n_blocks]);
		}
	}
	fuzz_end(&f);
	return 0;
}
