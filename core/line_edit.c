/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/line_edit.h>
#include <granule/utf8.h>

static size_t next(const struct line_edit *e, size_t at)
{
	if (at < e->line.n)
		utf8_decode(text_span(&e->line), &at);
	return at;
}

/* Where the character before begins. Lines are short: reading from the start spares a second rule for what is
 * no UTF-8. */
static size_t previous(const struct line_edit *e, size_t at)
{
	size_t before = 0;

	for (size_t i = 0; i < at; i = next(e, i))
		before = i;
	return before;
}

static size_t count(const struct line_edit *e, size_t from, size_t to)
{
	size_t n = 0;

	for (; from < to; from = next(e, from))
		n++;
	return n;
}

static void cut(struct line_edit *e, size_t from, size_t to)
{
	for (size_t i = to; i <= e->line.n; i++) /* with the NUL */
		e->line.p[from + (i - to)] = e->line.p[i];
	e->line.n -= to - from;
	e->cursor = from;
}

static void insert(struct line_edit *e, uint32_t key)
{
	char bytes[4];
	struct text c = text_in(bytes, sizeof(bytes));
	struct text *line = &e->line;

	utf8_add(&c, key);
	if (line->size - line->n <= c.n)
		return;
	for (size_t i = line->n + 1; i-- > e->cursor;)
		line->p[i + c.n] = line->p[i];
	for (size_t i = 0; i < c.n; i++)
		line->p[e->cursor + i] = bytes[i];
	line->n += c.n;
	e->cursor += c.n;
}

/* Start of the word before the cursor. */
static size_t word_start(const struct line_edit *e)
{
	size_t at = e->cursor;

	while (at && char_is_blank(e->line.p[at - 1]))
		at--;
	while (at && !char_is_blank(e->line.p[at - 1]))
		at--;
	return at;
}

void line_edit_start(struct line_edit *e, char *buffer, size_t size, struct span text)
{
	size_t n = 0;

	for (size_t end = 0; end < text.n;) {
		utf8_decode(text, &end);
		if (end >= size)
			break;
		n = end;
	}
	*e = (struct line_edit){ .line = text_in(buffer, size) };
	text_add(&e->line, span_cut(text, 0, n));
	e->cursor = e->line.n;
}

bool line_edit_key(struct line_edit *e, uint32_t key)
{
	size_t end = e->line.n;

	switch (key) {
	case KEY_LEFT:
	case KEY_CTRL('B'):
		e->cursor = previous(e, e->cursor);
		return true;
	case KEY_RIGHT:
	case KEY_CTRL('F'):
		e->cursor = next(e, e->cursor);
		return true;
	case KEY_HOME:
	case KEY_CTRL('A'):
		e->cursor = 0;
		return true;
	case KEY_END:
	case KEY_CTRL('E'):
		e->cursor = end;
		return true;
	case KEY_DELETE:
	case KEY_CTRL('D'):
		if (e->cursor < end) {
			cut(e, e->cursor, next(e, e->cursor));
			return true;
		}
		/* fall through */
	case KEY_BACKSPACE:
		cut(e, previous(e, e->cursor), e->cursor);
		return true;
	case KEY_CTRL('K'):
		cut(e, e->cursor, end);
		return true;
	case KEY_CTRL('U'):
		cut(e, 0, e->cursor);
		return true;
	case KEY_CTRL('W'):
		cut(e, word_start(e), e->cursor);
		return true;
	default:
		if (key < ' ' || key > 0xffff)
			return false;
		insert(e, key);
		return true;
	}
}

bool line_edit_is_abort(uint32_t key)
{
	return key == KEY_ESCAPE || key == KEY_CTRL('G') || key == KEY_CTRL('C');
}

void line_edit_show(struct line_edit *e, size_t columns, struct text *ret, size_t *ret_column)
{
	/* In big steps, so that a slow line does not repaint at each key. */
	size_t step = columns / 3;

	if (count(e, 0, e->line.n) < columns)
		e->first = 0;
	else if (e->first >= e->cursor || count(e, e->first, e->cursor) > columns - 2) {
		e->first = e->cursor;
		for (size_t i = 0; i < columns - step && e->first; i++)
			e->first = previous(e, e->first);
	}

	size_t at = e->first, used = 0;
	*ret_column = 0;
	for (; used < columns; used++) {
		size_t end = next(e, at);
		struct span shown = span_cut(text_span(&e->line), at, end);

		if (at <= e->cursor)
			*ret_column = used;
		if (at == e->line.n)
			break;
		if (!used && e->first)
			text_add(ret, SPAN("<"));
		else if (used == columns - 1 && end < e->line.n)
			text_add(ret, SPAN(">"));
		else
			utf8_add_columns(ret, shown, 1);
		at = end;
	}
}
