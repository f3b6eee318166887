/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/grub_command.h>

void grub_cfg_open(struct span text, char *memory, size_t size, struct grub_cfg *ret)
{
	*ret = (struct grub_cfg){ .lexer = { .text = text, .memory = memory, .size = size } };
}

/* The place of the first error is the one that is told. Of those that end the reading there is but one. */
static bool fail(struct grub_cfg *cfg, int error, size_t pos)
{
	cfg->failed = true;
	if (error != ERROR_SYNTAX)
		cfg->ended = true;
	if (!cfg->error || error != ERROR_SYNTAX) {
		cfg->error = error;
		cfg->error_pos = pos;
	}
	return false;
}

static bool fail_lexing(struct grub_cfg *cfg)
{
	return fail(cfg, cfg->lexer.error, cfg->lexer.error_pos);
}

static struct grub_frame *top_frame(struct grub_cfg *cfg)
{
	return cfg->n_frames ? &cfg->frames[cfg->n_frames - 1] : NULL;
}

static bool push(struct grub_cfg *cfg, enum grub_frame_kind kind, size_t offset)
{
	if (cfg->n_frames == GRUB_CFG_MAX_NESTING ||
	    (kind == GRUB_FRAME_SUBMENU && cfg->depth == GRUB_CFG_MAX_DEPTH))
		return fail(cfg, ERROR_TOO_MANY, offset);
	cfg->frames[cfg->n_frames++] = (struct grub_frame){ .kind = kind, .offset = offset };
	cfg->conditions += kind == GRUB_FRAME_IF || kind == GRUB_FRAME_LOOP;
	cfg->entry += kind == GRUB_FRAME_ENTRY;
	cfg->hidden += kind == GRUB_FRAME_FUNCTION || kind == GRUB_FRAME_OTHER;
	if (kind == GRUB_FRAME_SUBMENU)
		cfg->index[++cfg->depth] = 0;
	cfg->gap = GRUB_GAP_START;
	return true;
}

static void pop(struct grub_cfg *cfg)
{
	enum grub_frame_kind kind = cfg->frames[--cfg->n_frames].kind;

	cfg->conditions -= kind == GRUB_FRAME_IF || kind == GRUB_FRAME_LOOP;
	cfg->entry -= kind == GRUB_FRAME_ENTRY;
	cfg->hidden -= kind == GRUB_FRAME_FUNCTION || kind == GRUB_FRAME_OTHER;
	cfg->depth -= kind == GRUB_FRAME_SUBMENU;
	/* Only what is complete counts: GRUB drops the rest. */
	if (kind == GRUB_FRAME_ENTRY || kind == GRUB_FRAME_SUBMENU)
		cfg->index[cfg->depth]++;
	cfg->gap = GRUB_GAP_COMMAND;
}

/* Behind a syntax error. */
static void recover(struct grub_cfg *cfg)
{
	struct grub_lexer *lexer = &cfg->lexer;

	cfg->failed = false;
	cfg->n_frames = cfg->depth = cfg->entry = cfg->hidden = cfg->conditions = 0;
	cfg->gap = GRUB_GAP_START;
	while (lexer->pos < lexer->text.n && lexer->text.p[lexer->pos] != '\n')
		lexer->pos++;
}

/* ---- commands and blocks ---- */

static bool is_one_of(struct span word, const struct span *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_equal(word, list[i]))
			return true;
	return false;
}

/* "[[" and "]]" are keywords without a use, and are refused everywhere. */
static bool is_refused(const struct grub_word *w)
{
	static const struct span words[] = { { "[[", 2 }, { "]]", 2 } };

	return w->bare && is_one_of(w->value, words, 2);
}

static bool is_keyword(const struct grub_word *w)
{
	static const struct span words[] = {
		{ "if", 2 },   { "then", 4 }, { "elif", 4 },  { "else", 4 },   { "fi", 2 },
		{ "for", 3 },  { "in", 2 },   { "while", 5 }, { "until", 5 },  { "do", 2 },
		{ "done", 4 }, { "case", 4 }, { "esac", 4 },  { "select", 6 }, { "function", 8 },
	};

	return w->bare && w->value.n <= 8 && is_one_of(w->value, words, sizeof(words) / sizeof(words[0]));
}

/* A block begins behind the words of a command. Returns whether it is that of a submenu, which is told of at
 * once. */
static bool begin_block(struct grub_cfg *cfg, const struct grub_command *c, size_t offset,
			struct grub_item *ret)
{
	bool submenu = c->kind == GRUB_COMMAND_SUBMENU;

	if (!submenu && c->kind != GRUB_COMMAND_MENUENTRY) {
		push(cfg, GRUB_FRAME_OTHER, offset);
		return false;
	}
	cfg->item = (struct grub_item){ .submenu = submenu,
					.depth = cfg->depth,
					.index = cfg->index[cfg->depth],
					.title = c->title,
					.id = c->id,
					.conditional = cfg->conditions > 0,
					.offset = offset };
	if (c->users.n)
		cfg->item.users = c->users;
	else if (c->unrestricted)
		cfg->item.users = SPAN("-");
	if (!push(cfg, submenu ? GRUB_FRAME_SUBMENU : GRUB_FRAME_ENTRY, offset) || !submenu)
		return false;
	*ret = cfg->item;
	return true;
}

/* Returns whether *ret was filled. */
static bool end_block(struct grub_cfg *cfg, size_t pos, struct grub_item *ret)
{
	struct grub_frame *f = top_frame(cfg);

	/* It holds one command at least; the last one of a function has its line end. */
	if (!f || f->kind == GRUB_FRAME_IF || f->kind == GRUB_FRAME_LOOP || cfg->gap == GRUB_GAP_START ||
	    (f->kind == GRUB_FRAME_FUNCTION && cfg->gap != GRUB_GAP_SEPARATOR))
		return fail(cfg, ERROR_SYNTAX, pos);
	pop(cfg);
	if (f->kind != GRUB_FRAME_ENTRY)
		return false;
	*ret = cfg->item;
	return true;
}

/* Reads a command to its end. Returns whether *ret was filled; an error is in cfg. */
static bool read_command(struct grub_cfg *cfg, const struct grub_word *first, struct grub_item *ret)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_command c = { 0 };
	struct grub_word w = *first;
	bool begun = false;

	for (;;) {
		int error = 0;

		if (is_refused(&w))
			return fail(cfg, ERROR_SYNTAX, w.offset);
		if (begun && !w.nothing)
			error = grub_command_word(cfg, &c, &w);
		else if (!w.nothing)
			c = grub_command_begin(cfg, &w);
		if (error)
			return fail(cfg, error, w.offset);
		begun |= !w.nothing;

		size_t pos = lexer->pos;
		switch (grub_lex(lexer, &w)) {
		case GRUB_TOKEN_WORD:
			continue;
		case GRUB_TOKEN_OPEN:
			return begin_block(cfg, &c, first->offset, ret);
		case GRUB_TOKEN_ERROR:
			return fail_lexing(cfg);
		default:
			lexer->pos = pos;
			cfg->gap = GRUB_GAP_COMMAND;
			grub_command_end(cfg, &c);
			return false;
		}
	}
}

/* ---- keywords ---- */

/* A plain word that can be the name of a variable or function. */
static bool take_name(struct grub_cfg *cfg)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_word w;
	size_t pos = lexer->pos;
	enum grub_token token = grub_lex(lexer, &w);

	if (token == GRUB_TOKEN_ERROR)
		return fail_lexing(cfg);
	if (token != GRUB_TOKEN_WORD) {
		/* The line after it is not lost with it. */
		lexer->pos = pos;
		return fail(cfg, ERROR_SYNTAX, pos);
	}
	bool good = w.bare && !is_keyword(&w) && !char_is_digit(w.value.p[0]);
	for (size_t i = 0; good && i < w.value.n; i++)
		good = char_is_alpha(w.value.p[i]) || char_is_digit(w.value.p[i]) || w.value.p[i] == '_';
	return good || fail(cfg, ERROR_SYNTAX, w.offset);
}

/* `function NAME {`, the brace maybe on a line of its own. */
static bool begin_function(struct grub_cfg *cfg, size_t offset)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_word w;
	enum grub_token token;

	if (cfg->n_frames)
		return fail(cfg, ERROR_SYNTAX, offset);
	if (!take_name(cfg))
		return false;
	do
		token = grub_lex(lexer, &w);
	while (token == GRUB_TOKEN_LINE_END);
	if (token == GRUB_TOKEN_ERROR)
		return fail_lexing(cfg);
	if (token != GRUB_TOKEN_OPEN)
		return fail(cfg, ERROR_SYNTAX, offset);
	return push(cfg, GRUB_FRAME_FUNCTION, offset);
}

/* `for NAME in WORD...`, up to its end. */
static bool begin_for(struct grub_cfg *cfg, size_t offset)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_word w;
	enum grub_token token = GRUB_TOKEN_END;
	bool first = true;

	if (!push(cfg, GRUB_FRAME_LOOP, offset) || !take_name(cfg))
		return false;
	for (size_t mark = lexer->used;; first = false, lexer->used = mark) {
		size_t pos = lexer->pos;

		token = grub_lex(lexer, &w);
		if (token == GRUB_TOKEN_ERROR)
			return fail_lexing(cfg);
		if (first && !(token == GRUB_TOKEN_WORD && w.bare && span_equal(w.value, SPAN("in")))) {
			lexer->pos = pos;
			return fail(cfg, ERROR_SYNTAX, offset);
		}
		if (token == GRUB_TOKEN_WORD && is_refused(&w))
			return fail(cfg, ERROR_SYNTAX, w.offset);
		if (token == GRUB_TOKEN_WORD)
			continue;
		if (token == GRUB_TOKEN_OPEN)
			return fail(cfg, ERROR_SYNTAX, lexer->pos - 1);
		lexer->pos = pos;
		cfg->gap = GRUB_GAP_COMMAND;
		return true;
	}
}

static bool has_branch(const struct grub_frame *f, enum grub_frame_kind kind, enum grub_branch branch)
{
	return f && f->kind == kind && f->branch == branch;
}

/* The next part of an `if` or loop, which must be the innermost thing that is open. */
static bool change_branch(struct grub_cfg *cfg, const struct grub_word *w, enum grub_frame_kind kind,
			  enum grub_branch from, enum grub_branch to)
{
	struct grub_frame *f = top_frame(cfg);

	if (!has_branch(f, kind, from) || cfg->gap != GRUB_GAP_SEPARATOR)
		return fail(cfg, ERROR_SYNTAX, w->offset);
	f->asked |= f->asks;
	f->asks = 0;
	f->branch = to;
	cfg->gap = GRUB_GAP_START;
	return true;
}

static bool end_branch(struct grub_cfg *cfg, const struct grub_word *w, enum grub_frame_kind kind)
{
	struct grub_frame *f = top_frame(cfg);

	if (!f || f->kind != kind || f->branch == GRUB_BRANCH_CONDITION || cfg->gap != GRUB_GAP_SEPARATOR)
		return fail(cfg, ERROR_SYNTAX, w->offset);
	pop(cfg);
	return true;
}

/* A keyword where a command would begin, or might end. */
static bool take_keyword(struct grub_cfg *cfg, const struct grub_word *w)
{
	struct span s = w->value;

	if (span_equal(s, SPAN("then")))
		return change_branch(cfg, w, GRUB_FRAME_IF, GRUB_BRANCH_CONDITION, GRUB_BRANCH_THEN);
	if (span_equal(s, SPAN("elif")))
		return change_branch(cfg, w, GRUB_FRAME_IF, GRUB_BRANCH_THEN, GRUB_BRANCH_CONDITION);
	if (span_equal(s, SPAN("else")))
		return change_branch(cfg, w, GRUB_FRAME_IF, GRUB_BRANCH_THEN, GRUB_BRANCH_ELSE);
	if (span_equal(s, SPAN("fi")))
		return end_branch(cfg, w, GRUB_FRAME_IF);
	if (span_equal(s, SPAN("do")))
		return change_branch(cfg, w, GRUB_FRAME_LOOP, GRUB_BRANCH_CONDITION, GRUB_BRANCH_THEN);
	if (span_equal(s, SPAN("done")))
		return end_branch(cfg, w, GRUB_FRAME_LOOP);
	if (cfg->gap == GRUB_GAP_COMMAND)
		return fail(cfg, ERROR_SYNTAX, w->offset);
	if (span_equal(s, SPAN("if")))
		return push(cfg, GRUB_FRAME_IF, w->offset);
	if (span_equal(s, SPAN("while")) || span_equal(s, SPAN("until")))
		return push(cfg, GRUB_FRAME_LOOP, w->offset);
	if (span_equal(s, SPAN("for")))
		return begin_for(cfg, w->offset);
	if (span_equal(s, SPAN("function")))
		return begin_function(cfg, w->offset);
	return fail(cfg, ERROR_SYNTAX, w->offset);
}

/* ---- the whole ---- */

static bool take_first_word(struct grub_cfg *cfg, const struct grub_word *w, struct grub_item *ret)
{
	if (is_keyword(w)) {
		take_keyword(cfg, w);
		return false;
	}
	if (cfg->gap == GRUB_GAP_COMMAND)
		return fail(cfg, ERROR_SYNTAX, w->offset);
	return read_command(cfg, w, ret);
}

/* Returns whether *ret was filled. */
static bool take_token(struct grub_cfg *cfg, struct grub_item *ret)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_word w;

	switch (grub_lex(lexer, &w)) {
	case GRUB_TOKEN_END:
		cfg->ended = true;
		return cfg->n_frames ? fail(cfg, ERROR_SYNTAX, top_frame(cfg)->offset) : false;
	case GRUB_TOKEN_LINE_END:
		if (cfg->gap == GRUB_GAP_COMMAND)
			cfg->gap = GRUB_GAP_SEPARATOR;
		return false;
	case GRUB_TOKEN_SEMICOLON:
		if (cfg->gap != GRUB_GAP_COMMAND)
			return fail(cfg, ERROR_SYNTAX, lexer->pos - 1);
		cfg->gap = GRUB_GAP_SEPARATOR;
		return false;
	case GRUB_TOKEN_OPEN:
		return fail(cfg, ERROR_SYNTAX, lexer->pos - 1);
	case GRUB_TOKEN_CLOSE:
		return end_block(cfg, lexer->pos - 1, ret);
	case GRUB_TOKEN_WORD:
		return take_first_word(cfg, &w, ret);
	default:
		return fail_lexing(cfg);
	}
}

bool grub_cfg_next(struct grub_cfg *cfg, struct grub_item *ret, int *ret_error)
{
	bool found = false;

	while (!found && !cfg->ended) {
		found = take_token(cfg, ret);
		if (cfg->failed)
			recover(cfg);
	}
	cfg->pos = cfg->ended && cfg->error ? cfg->error_pos : cfg->lexer.pos;
	*ret_error = cfg->ended ? cfg->error : 0;
	return found;
}
