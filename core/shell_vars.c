/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/shell_vars.h>

struct reader {
	struct span text;
	size_t pos;
	struct shell_var *vars;
	size_t n_vars;
	struct text *out; /* the value at hand; NULL: of a variable that is not asked for */
};

static bool at_end(const struct reader *r)
{
	return r->pos == r->text.n;
}

/* The character at hand; NUL at the end, and for a NUL, which no file of text holds. */
static char peek(const struct reader *r)
{
	return at_end(r) ? 0 : r->text.p[r->pos];
}

static void skip_blanks(struct reader *r)
{
	while (char_is_blank(peek(r)))
		r->pos++;
}

static bool is_name_char(char c)
{
	return char_is_alpha(c) || char_is_digit(c) || c == '_';
}

/* Empty if there is none. */
static struct span take_name(struct reader *r)
{
	size_t start = r->pos;

	if (!char_is_digit(peek(r)))
		while (is_name_char(peek(r)))
			r->pos++;
	return span_cut(r->text, start, r->pos);
}

static struct shell_var *find(const struct reader *r, struct span name)
{
	for (size_t i = 0; i < r->n_vars; i++)
		if (span_equal(r->vars[i].name, name))
			return &r->vars[i];
	return NULL;
}

static int put(struct reader *r, struct span s)
{
	if (!r->out)
		return 0;
	text_add(r->out, s);
	return r->out->full ? ERROR_SPACE : 0;
}

static int put_char(struct reader *r)
{
	struct span c = span_cut(r->text, r->pos, r->pos + 1);

	if (!peek(r))
		return ERROR_SYNTAX;
	if (r->out && (unsigned char)peek(r) < ' ' && peek(r) != '\t')
		return ERROR_SYNTAX;
	r->pos++;
	return put(r, c);
}

/* Up to the character that closes what a command stands in, on the same line. What is in it is not looked
 * at, but for quotes and for what stands in brackets of its own. */
static int skip_command(struct reader *r, char close)
{
	size_t depth = 0;
	char quote = 0;

	for (; peek(r) && peek(r) != '\n'; r->pos++) {
		char c = peek(r);

		if (c == '\\' && quote != '\'') {
			r->pos++;
			if (!peek(r) || peek(r) == '\n')
				return ERROR_SYNTAX;
		} else if (close == '`' ? c == close : !quote && !depth && c == close) {
			r->pos++;
			return quote ? ERROR_SYNTAX : 0;
		} else if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '(' || c == '{') {
			depth++;
		} else if ((c == ')' || c == '}') && depth) {
			depth--;
		}
	}
	return ERROR_SYNTAX;
}

/* Behind a '$'. */
static int take_expansion(struct reader *r)
{
	bool braces = peek(r) == '{';
	size_t start = r->pos;

	r->pos += braces;
	struct span name = take_name(r);
	bool plain = name.n && (!braces || peek(r) == '}');
	const struct shell_var *var = plain ? find(r, name) : NULL;

	if (plain) {
		r->pos += braces;
		if (!r->out)
			return 0;
		return var ? put(r, text_span(&var->value)) : ERROR_SYNTAX;
	}
	/* Of a value that is not asked for only the end has to be found. */
	r->pos = start;
	if (r->out || (peek(r) != '(' && peek(r) != '{'))
		return ERROR_SYNTAX;
	r->pos++;
	return skip_command(r, braces ? '}' : ')');
}

static int take_backquote(struct reader *r)
{
	if (r->out)
		return ERROR_SYNTAX;
	r->pos++;
	return skip_command(r, '`');
}

static int take_single_quoted(struct reader *r)
{
	int error = 0;

	for (r->pos++; !error && peek(r) != '\'';)
		error = put_char(r);
	r->pos += !error;
	return error;
}

static int take_double_quoted(struct reader *r)
{
	int error = 0;

	for (r->pos++; !error && peek(r) != '"';) {
		if (peek(r) == '$') {
			r->pos++;
			error = take_expansion(r);
		} else if (peek(r) == '`') {
			error = take_backquote(r);
		} else if (peek(r) == '\\') {
			char c = r->pos + 1 < r->text.n ? r->text.p[r->pos + 1] : 0;

			/* Otherwise it stands for itself. */
			if (c == '$' || c == '`' || c == '"' || c == '\\')
				r->pos++;
			if (c == '\n')
				r->pos += 2;
			else
				error = put_char(r);
		} else {
			error = put_char(r);
		}
	}
	r->pos += !error;
	return error;
}

/* Where a value ends without quotes. */
static bool ends_value(char c)
{
	return !c || char_is_blank(c) || c == '\n' || c == '\r';
}

/* Signs that end a command, redirect it, or are expanded. */
static bool is_operator(char c)
{
	return c == ';' || c == '&' || c == '|' || c == '<' || c == '>' || c == '(' || c == ')' || c == '~';
}

static int take_value(struct reader *r)
{
	int error = 0;

	while (!error && !ends_value(peek(r))) {
		char c = peek(r);

		if (c == '\'') {
			error = take_single_quoted(r);
		} else if (c == '"') {
			error = take_double_quoted(r);
		} else if (c == '$') {
			r->pos++;
			error = take_expansion(r);
		} else if (c == '`') {
			error = take_backquote(r);
		} else if (c == '\\') {
			r->pos++;
			if (peek(r) == '\n')
				r->pos++;
			else
				error = put_char(r);
		} else if (is_operator(c)) {
			error = ERROR_SYNTAX;
		} else {
			error = put_char(r);
		}
	}
	return error;
}

/* Nothing but a comment may follow on the line. */
static int take_line_end(struct reader *r)
{
	bool blank = char_is_blank(peek(r));

	skip_blanks(r);
	if (blank && peek(r) == '#')
		while (peek(r) && peek(r) != '\n')
			r->pos++;
	if (peek(r) == '\r')
		r->pos++;
	if (at_end(r))
		return 0;
	if (peek(r) != '\n')
		return ERROR_SYNTAX;
	r->pos++;
	return 0;
}

static int take_assignment(struct reader *r, struct span name, struct text *scratch)
{
	struct shell_var *var = find(r, name);
	bool append = peek(r) == '+';

	r->pos += append;
	if (peek(r) != '=')
		return ERROR_SYNTAX;
	r->pos++;
	*scratch = text_in(scratch->p, scratch->size);
	r->out = var ? scratch : NULL;
	int error = take_value(r);
	r->out = NULL;
	if (error || !var)
		return error;
	if (!append)
		var->value = text_in(var->value.p, var->value.size);
	text_add(&var->value, text_span(scratch));
	var->set = true;
	return var->value.full ? ERROR_SPACE : 0;
}

static int take_line(struct reader *r, struct text *scratch)
{
	skip_blanks(r);
	if (peek(r) == '#') {
		while (peek(r) && peek(r) != '\n')
			r->pos++;
		return take_line_end(r);
	}
	if (at_end(r) || peek(r) == '\n' || peek(r) == '\r')
		return take_line_end(r);
	struct span name = take_name(r);
	if (span_equal(name, SPAN("export")) && char_is_blank(peek(r))) {
		skip_blanks(r);
		name = take_name(r);
		/* Of a variable that has its value already. */
		if (name.n && ends_value(peek(r)))
			return take_line_end(r);
	}
	if (!name.n)
		return ERROR_SYNTAX;
	int error = take_assignment(r, name, scratch);
	return error ? error : take_line_end(r);
}

int shell_vars_read(struct span text, struct shell_var *vars, size_t n, struct text *scratch,
		    size_t *ret_offset)
{
	struct reader r = { .text = text, .vars = vars, .n_vars = n };
	int error = 0;

	while (!error && !at_end(&r)) {
		*ret_offset = r.pos;
		error = take_line(&r, scratch);
	}
	return error;
}
