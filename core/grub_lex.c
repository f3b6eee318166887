/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/grub_lex.h>

enum kind {
	PLAIN,
	/* these end a word */
	BLANK,
	LINE_END,
	SEMICOLON,
	OPEN,
	CLOSE,
	BAD, /* signs that GRUB knows, but has no use for; and NUL */
	/* these go on with it */
	SINGLE,
	DOUBLE,
	BACKSLASH,
	DOLLAR,
	CARRIAGE_RETURN, /* GRUB drops them all when it reads the file */
};

static const unsigned char kinds[256] = {
	[' '] = BLANK,  ['\t'] = BLANK,     ['\n'] = LINE_END, [';'] = SEMICOLON,
	['{'] = OPEN,   ['}'] = CLOSE,      ['|'] = BAD,       ['&'] = BAD,
	['<'] = BAD,    ['>'] = BAD,        [0] = BAD,         ['\''] = SINGLE,
	['"'] = DOUBLE, ['\\'] = BACKSLASH, ['$'] = DOLLAR,    ['\r'] = CARRIAGE_RETURN,
};

static const struct {
	struct span name;
	enum grub_variable bit;
} variables[] = {
	{ { "next_entry", 10 }, GRUB_VARIABLE_NEXT_ENTRY },
	{ { "saved_entry", 11 }, GRUB_VARIABLE_SAVED_ENTRY },
	{ { "boot_counter", 12 }, GRUB_VARIABLE_BOOT_COUNTER },
	{ { "boot_success", 12 }, GRUB_VARIABLE_BOOT_SUCCESS },
	{ { "menuentry_id_option", 19 }, GRUB_VARIABLE_ID_OPTION },
};

static bool at_end(const struct grub_lexer *l)
{
	return l->pos == l->text.n;
}

/* The character at hand; NUL at the end. */
static char peek(const struct grub_lexer *l)
{
	return at_end(l) ? 0 : l->text.p[l->pos];
}

static enum kind kind_of(char c)
{
	return kinds[(unsigned char)c];
}

static bool ends_word(char c)
{
	return kind_of(c) >= BLANK && kind_of(c) <= BAD;
}

static bool fail(struct grub_lexer *l, int error, size_t pos)
{
	l->error = error;
	l->error_pos = pos;
	return false;
}

static bool put(struct grub_lexer *l, size_t from, size_t to)
{
	const char *source = l->text.p;
	char *out = l->memory + l->used;

	if (to - from > l->size - l->used)
		return fail(l, ERROR_SPACE, from);
	for (size_t i = from; i < to; i++)
		*out++ = source[i];
	l->used += to - from;
	return true;
}

static void skip_line(struct grub_lexer *l)
{
	const char *p = l->text.p;
	size_t pos = l->pos, n = l->text.n;

	while (pos < n && p[pos] != '\n')
		pos++;
	l->pos = pos;
}

/* Runs of characters without a meaning are the rule, in quotes as well. */
static void skip_plain(struct grub_lexer *l)
{
	const char *p = l->text.p;
	size_t pos = l->pos, n = l->text.n;

	while (pos < n && kind_of(p[pos]) == PLAIN)
		pos++;
	l->pos = pos;
}

static void skip_returns(struct grub_lexer *l)
{
	while (peek(l) == '\r')
		l->pos++;
}

/* Lines that begin with '#' are dropped before anything else is looked at, also within quotes. */
static void begin_line(struct grub_lexer *l)
{
	for (skip_returns(l); peek(l) == '#'; skip_returns(l)) {
		skip_line(l);
		l->pos += !at_end(l);
	}
}

static bool is_name_start(char c)
{
	return char_is_alpha(c) || c == '_';
}

/* Behind a '$': to the end of the name. False if none follows. */
static bool take_variable(struct grub_lexer *l, struct grub_word *w)
{
	bool braces = peek(l) == '{';

	l->pos += braces;
	size_t start = l->pos;
	char c = peek(l);
	if (is_name_start(c)) {
		while (is_name_start(peek(l)) || char_is_digit(peek(l)))
			l->pos++;
	} else if (char_is_digit(c)) {
		while (char_is_digit(peek(l)))
			l->pos++;
	} else if (c == '?' || c == '#' || c == '*' || c == '@') {
		l->pos++;
	} else {
		return false;
	}
	struct span name = span_cut(l->text, start, l->pos);
	if (braces && peek(l) != '}')
		return false;
	l->pos += braces;
	w->variable = true;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (span_equal(variables[i].name, name))
			w->asks |= variables[i].bit;
	return true;
}

static bool put_variable(struct grub_lexer *l, struct grub_word *w)
{
	size_t start = l->pos++;

	if (!take_variable(l, w))
		return fail(l, ERROR_SYNTAX, start);
	return put(l, start, l->pos);
}

/* One character that stands for itself; false at the end of the text and at a NUL, which no line holds. */
static bool put_char(struct grub_lexer *l, size_t quote)
{
	char c = peek(l);

	if (!c)
		return fail(l, ERROR_SYNTAX, at_end(l) ? quote : l->pos);
	if (c == '\r') {
		skip_returns(l);
		return true;
	}
	if (!put(l, l->pos, l->pos + 1))
		return false;
	l->pos++;
	if (c == '\n')
		begin_line(l);
	return true;
}

static bool put_run(struct grub_lexer *l)
{
	size_t start = l->pos;

	skip_plain(l);
	return put(l, start, l->pos);
}

static bool take_single(struct grub_lexer *l)
{
	size_t quote = l->pos++;

	while (peek(l) != '\'')
		if (!put_run(l) || (peek(l) != '\'' && !put_char(l, quote)))
			return false;
	l->pos++;
	return true;
}

/* Within double quotes; the next character is the backslash. */
static bool take_quoted_backslash(struct grub_lexer *l, size_t quote)
{
	size_t start = l->pos++;

	skip_returns(l);
	char c = peek(l);
	if (c == '\n') {
		l->pos++;
		begin_line(l);
		return true;
	}
	if (c == '$' || c == '"' || c == '\\')
		return put_char(l, quote);
	return put(l, start, start + 1);
}

static bool take_double(struct grub_lexer *l, struct grub_word *w)
{
	/* Text to be translated begins with `$"`; a '$' within it is no error. */
	bool translated = peek(l) == '$';
	size_t quote = l->pos;

	l->pos += 1 + translated;
	while (peek(l) != '"') {
		bool ok;

		if (peek(l) == '\\') {
			ok = take_quoted_backslash(l, quote);
		} else if (peek(l) == '$' && !translated) {
			ok = put_variable(l, w);
		} else {
			w->variable |= peek(l) == '$';
			ok = put_char(l, quote) && put_run(l);
		}
		if (!ok)
			return false;
	}
	l->pos++;
	return true;
}

static bool take_backslash(struct grub_lexer *l, struct grub_word *w)
{
	size_t start = l->pos++;

	skip_returns(l);
	if (peek(l) == '\n') {
		l->pos++;
		begin_line(l);
	} else if (!at_end(l)) {
		w->nothing = false;
		return put_char(l, start);
	}
	/* There must be a line to go on with. */
	return !at_end(l) || fail(l, ERROR_SYNTAX, start);
}

/* Goes on with a word that is not of plain characters alone. */
static bool take_rest(struct grub_lexer *l, struct grub_word *w)
{
	while (!at_end(l)) {
		bool ok;

		switch (kind_of(peek(l))) {
		case PLAIN:
			w->nothing = false;
			ok = put_run(l);
			break;
		case SINGLE:
			w->bare = false;
			w->nothing = false;
			ok = take_single(l);
			break;
		case DOUBLE:
			w->bare = false;
			w->nothing = false;
			ok = take_double(l, w);
			break;
		case DOLLAR:
			w->bare = false;
			w->nothing = false;
			if (l->pos + 1 < l->text.n && l->text.p[l->pos + 1] == '"')
				ok = take_double(l, w);
			else
				ok = put_variable(l, w);
			break;
		case BACKSLASH:
			w->bare = false;
			ok = take_backslash(l, w);
			break;
		case CARRIAGE_RETURN:
			ok = true;
			l->pos++;
			break;
		default:
			return true;
		}
		if (!ok)
			return false;
	}
	return true;
}

static bool take_word(struct grub_lexer *l, struct grub_word *w)
{
	size_t mark = l->used, start = l->pos;

	*w = (struct grub_word){ .offset = start };
	skip_plain(l);
	w->value = span_cut(l->text, start, l->pos);
	w->nothing = !w->value.n;
	skip_returns(l);
	w->bare = true;
	if (w->value.n && (at_end(l) || ends_word(peek(l))))
		return true;
	w->stored = true;
	if (!put(l, start, start + w->value.n) || !take_rest(l, w))
		return false;
	w->value = (struct span){ l->memory + mark, l->used - mark };
	return true;
}

static void skip_blanks(struct grub_lexer *l)
{
	while (char_is_blank(peek(l)) || peek(l) == '\r')
		l->pos++;
	/* Here a word would begin: a '#' within one is data. */
	if (peek(l) == '#')
		skip_line(l);
}

static enum grub_token take_sign(struct grub_lexer *l, enum grub_token token)
{
	l->pos++;
	return token;
}

enum grub_token grub_lex(struct grub_lexer *l, struct grub_word *ret)
{
	skip_blanks(l);
	if (at_end(l))
		return GRUB_TOKEN_END;
	switch (kind_of(peek(l))) {
	case LINE_END:
		return take_sign(l, GRUB_TOKEN_LINE_END);
	case SEMICOLON:
		return take_sign(l, GRUB_TOKEN_SEMICOLON);
	case OPEN:
		return take_sign(l, GRUB_TOKEN_OPEN);
	case CLOSE:
		return take_sign(l, GRUB_TOKEN_CLOSE);
	case BAD:
		fail(l, ERROR_SYNTAX, l->pos);
		return GRUB_TOKEN_ERROR;
	default:
		return take_word(l, ret) ? GRUB_TOKEN_WORD : GRUB_TOKEN_ERROR;
	}
}

static bool is_hex(char c)
{
	return char_is_digit(c) || (char_lower(c) >= 'a' && char_lower(c) <= 'f');
}

/* Whether a backslash is to be written before `c`. `after` are the three characters behind it. */
static bool is_escaped(char c, const char after[3])
{
	if (c == '\'' || c == '"')
		return true;
	/* "\x41" is left alone. */
	return c == '\\' && !(after[0] == 'x' && is_hex(after[1]) && is_hex(after[2]));
}

/* Characters that a word takes beyond its own. */
static size_t count_quoting(struct span s, bool *ret_blank)
{
	char after[3] = { 0 };
	size_t n = 0;

	for (size_t i = s.n; i--;) {
		n += is_escaped(s.p[i], after);
		*ret_blank |= s.p[i] == ' ';
		after[2] = after[1];
		after[1] = after[0];
		after[0] = s.p[i];
	}
	return n + (*ret_blank ? 2 : 0);
}

int grub_lex_join(struct grub_lexer *l, const struct grub_word *word, bool quote, struct span *list)
{
	struct span s = word->value;
	bool blank = false, separate = list->n > 0;
	size_t more = quote ? count_quoting(s, &blank) : 0;
	char after[3] = { 0 };

	/* A word that lies in memory is the last thing there, so that it is moved towards the end. */
	if (s.n && l->used >= s.n && s.p == l->memory + l->used - s.n)
		l->used -= s.n;
	if (s.n + more + separate > l->size - l->used)
		return l->error = ERROR_SPACE;
	if (!list->p)
		*list = (struct span){ l->memory + l->used, 0 };
	char *start = l->memory + l->used;
	size_t to = s.n + more + separate;

	l->used += to;
	list->n += to;
	if (blank)
		start[--to] = '"';
	for (size_t i = s.n; i--;) {
		char c = s.p[i];

		start[--to] = c;
		if (quote && is_escaped(c, after))
			start[--to] = '\\';
		after[2] = after[1];
		after[1] = after[0];
		after[0] = c;
	}
	if (blank)
		start[--to] = '"';
	if (separate)
		start[--to] = ' ';
	return 0;
}
