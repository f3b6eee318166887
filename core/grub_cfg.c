/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/grub_cfg.h>

enum frame_kind {
	FRAME_IF,
	FRAME_LOOP,
	FRAME_ENTRY,
	FRAME_SUBMENU,
	FRAME_HIDDEN, /* a function, a block of another command, a menuentry within a menuentry */
};

enum branch {
	BRANCH_CONDITION,
	BRANCH_THEN, /* of a loop: behind `do` */
	BRANCH_ELSE,
};

enum next_entry_part {
	NEXT_ASKED = 1 << 0,
	NEXT_CLEARED = 1 << 1,
	NEXT_SAVED = 1 << 2,
	NEXT_ALL = NEXT_ASKED | NEXT_CLEARED | NEXT_SAVED,
};

enum command_kind {
	COMMAND_OTHER,
	COMMAND_MENUENTRY,
	COMMAND_SUBMENU,
	COMMAND_LINUX,
	COMMAND_INITRD,
	COMMAND_DEVICETREE,
	COMMAND_CHAINLOADER,
	COMMAND_SEARCH,
	COMMAND_SEARCH_UUID,
	COMMAND_SET,
	COMMAND_SAVE_ENV,
	COMMAND_SOURCE,
	COMMAND_BLSCFG,
};

/* Where a command is of interest. */
enum place {
	PLACE_MENU = 1 << 0, /* at the top level or in a submenu */
	PLACE_TOP = 1 << 1,
	PLACE_ENTRY = 1 << 2,
};

static const struct {
	struct span name;
	enum command_kind kind;
	unsigned places;
} commands[] = {
	{ { "menuentry", 9 }, COMMAND_MENUENTRY, PLACE_MENU },
	{ { "submenu", 7 }, COMMAND_SUBMENU, PLACE_MENU },
	{ { "linux", 5 }, COMMAND_LINUX, PLACE_ENTRY },
	{ { "linuxefi", 8 }, COMMAND_LINUX, PLACE_ENTRY },
	{ { "linux16", 7 }, COMMAND_LINUX, PLACE_ENTRY },
	{ { "initrd", 6 }, COMMAND_INITRD, PLACE_ENTRY },
	{ { "initrdefi", 9 }, COMMAND_INITRD, PLACE_ENTRY },
	{ { "initrd16", 8 }, COMMAND_INITRD, PLACE_ENTRY },
	{ { "devicetree", 10 }, COMMAND_DEVICETREE, PLACE_ENTRY },
	{ { "chainloader", 11 }, COMMAND_CHAINLOADER, PLACE_ENTRY },
	{ { "search", 6 }, COMMAND_SEARCH, PLACE_ENTRY | PLACE_TOP },
	{ { "search.fs_uuid", 14 }, COMMAND_SEARCH_UUID, PLACE_ENTRY | PLACE_TOP },
	{ { "set", 3 }, COMMAND_SET, PLACE_TOP },
	{ { "save_env", 8 }, COMMAND_SAVE_ENV, PLACE_TOP },
	{ { "source", 6 }, COMMAND_SOURCE, PLACE_TOP },
	{ { ".", 1 }, COMMAND_SOURCE, PLACE_TOP },
	{ { "configfile", 10 }, COMMAND_SOURCE, PLACE_TOP },
	{ { "blscfg", 6 }, COMMAND_BLSCFG, PLACE_TOP },
};

/* A command whose words are being read. */
struct command {
	enum command_kind kind;
	unsigned n;            /* words that are no options */
	bool plain;            /* behind "--": no more options */
	struct span *value_of; /* what the next word is the value of; that of no interest is `ignored` */
	struct span ignored, id, title, users, first, list, set;
	bool unrestricted, by_uuid, file, variable;
};

static bool fail(struct grub_cfg *cfg, int error, size_t pos)
{
	cfg->error = error;
	cfg->lexer.pos = pos;
	return false;
}

void grub_cfg_open(struct span text, char *memory, size_t size, struct grub_cfg *ret)
{
	*ret = (struct grub_cfg){ .lexer = { .text = text, .memory = memory, .size = size } };
}

static unsigned place_of(const struct grub_cfg *cfg)
{
	if (cfg->hidden)
		return 0;
	if (cfg->entry)
		return PLACE_ENTRY;
	return cfg->depth ? PLACE_MENU : PLACE_MENU | PLACE_TOP;
}

static struct grub_frame *top_frame(struct grub_cfg *cfg)
{
	return cfg->n_frames ? &cfg->frames[cfg->n_frames - 1] : NULL;
}

static bool push(struct grub_cfg *cfg, enum frame_kind kind, size_t offset)
{
	if (cfg->n_frames == GRUB_CFG_MAX_NESTING ||
	    (kind == FRAME_SUBMENU && cfg->depth == GRUB_CFG_MAX_DEPTH))
		return fail(cfg, ERROR_TOO_MANY, offset);
	cfg->frames[cfg->n_frames++] = (struct grub_frame){ .kind = (unsigned char)kind, .offset = offset };
	if (kind == FRAME_IF || kind == FRAME_LOOP)
		cfg->conditions++;
	cfg->entry += kind == FRAME_ENTRY;
	cfg->hidden += kind == FRAME_HIDDEN;
	if (kind == FRAME_SUBMENU)
		cfg->index[++cfg->depth] = 0;
	return true;
}

static enum frame_kind pop(struct grub_cfg *cfg)
{
	enum frame_kind kind = cfg->frames[--cfg->n_frames].kind;

	if (kind == FRAME_IF || kind == FRAME_LOOP)
		cfg->conditions--;
	cfg->entry -= kind == FRAME_ENTRY;
	cfg->hidden -= kind == FRAME_HIDDEN;
	cfg->depth -= kind == FRAME_SUBMENU;
	return kind;
}

/* ---- what is set at the top level
 * ---------------------------------------------------------------------------- */

/* Whether a `default` that is set here is the one without a next_entry. */
static bool is_usual_branch(const struct grub_cfg *cfg)
{
	if (cfg->facts.granule_version.n)
		return !cfg->n_frames;
	for (unsigned i = 0; i < cfg->n_frames; i++) {
		const struct grub_frame *f = &cfg->frames[i];
		if (f->kind != FRAME_IF || f->branch != BRANCH_ELSE || !(f->asked & GRUB_VARIABLE_NEXT_ENTRY))
			return false;
	}
	return true;
}

static void set_default(struct grub_cfg *cfg, struct span value, const struct grub_word *w)
{
	struct grub_cfg_facts *facts = &cfg->facts;

	if (!is_usual_branch(cfg))
		return;
	facts->default_word = w->variable ? SPAN_NONE : value;
	facts->default_from = w->variable ? value : SPAN_NONE;
	facts->saved_entry = w->asks & GRUB_VARIABLE_SAVED_ENTRY;
}

static struct span *granule_fact(struct grub_cfg_facts *facts, struct span name)
{
	struct span word = name, prefix = SPAN("granule_");

	if (!span_starts(name, prefix))
		return NULL;
	word = span_cut(name, prefix.n, name.n);
	if (span_equal(word, SPAN("version")))
		return &facts->granule_version;
	if (span_equal(word, SPAN("env_uuid")))
		return &facts->granule_env_uuid;
	if (span_equal(word, SPAN("env_path")))
		return &facts->granule_env_path;
	enum page_size size = page_size_parse(word);
	return size ? &facts->granule_policy[size] : NULL;
}

/* NAME=VALUE, at the top level. Returns whether the word is to be kept. */
static bool take_assignment(struct grub_cfg *cfg, const struct grub_word *w)
{
	struct span name = w->value, value;
	size_t n = 0;

	while (n < w->value.n && w->value.p[n] != '=')
		n++;
	if (n == w->value.n)
		return false;
	name = span_cut(w->value, 0, n);
	value = span_cut(w->value, n + 1, w->value.n);
	if (span_equal(name, SPAN("default"))) {
		set_default(cfg, value, w);
		return true;
	}
	if (span_equal(name, SPAN("next_entry")) && !value.n && !cfg->facts.granule_version.n)
		cfg->next_entry |= NEXT_CLEARED;
	if (w->variable)
		return false;
	struct span *fact =
		span_equal(name, SPAN("env_block")) ? &cfg->facts.env_block : granule_fact(&cfg->facts, name);
	if (!fact)
		return false;
	*fact = value;
	return true;
}

/* Variables that the condition of an `if` at the top level asks about. */
static void note_condition(struct grub_cfg *cfg, const struct grub_word *w)
{
	struct grub_frame *f = top_frame(cfg);

	if (!w->asks || !f || f->kind != FRAME_IF || f->branch != BRANCH_CONDITION ||
	    !(place_of(cfg) & PLACE_TOP))
		return;
	f->asks |= w->asks;
	cfg->asked |= w->asks;
	if (w->asks & GRUB_VARIABLE_NEXT_ENTRY && !cfg->facts.granule_version.n)
		cfg->next_entry |= NEXT_ASKED;
}

/* ---- words of commands
 * --------------------------------------------------------------------------------------- */

/* "--NAME=VALUE" */
static bool has_value(struct span word, struct span option, struct span *ret)
{
	if (!span_starts(word, option) || word.n == option.n || word.p[option.n] != '=')
		return false;
	*ret = span_cut(word, option.n + 1, word.n);
	return true;
}

/* An option of menuentry, with its value in the same word or in the next. */
static bool take_value_option(struct command *c, struct span word, struct span option, struct span *ret)
{
	if (span_equal(word, option))
		c->value_of = ret;
	else if (!has_value(word, option, ret))
		return false;
	return true;
}

static bool is_id_option(const struct grub_word *w)
{
	return w->asks & GRUB_VARIABLE_ID_OPTION && (span_equal(w->value, SPAN("$menuentry_id_option")) ||
						     span_equal(w->value, SPAN("${menuentry_id_option}")));
}

static bool take_menuentry_word(struct command *c, const struct grub_word *w)
{
	struct span word = w->value;

	if (!c->plain) {
		if (is_id_option(w)) {
			c->value_of = &c->id;
			return true;
		}
		if (take_value_option(c, word, SPAN("--id"), &c->id) ||
		    take_value_option(c, word, SPAN("--users"), &c->users) ||
		    take_value_option(c, word, SPAN("--class"), &c->ignored) ||
		    take_value_option(c, word, SPAN("--hotkey"), &c->ignored) ||
		    take_value_option(c, word, SPAN("--source"), &c->ignored))
			return true;
		if (span_equal(word, SPAN("--unrestricted"))) {
			c->unrestricted = true;
			return false;
		}
		if (span_equal(word, SPAN("--"))) {
			c->plain = true;
			return false;
		}
	}
	/* Further ones are parameters of its body. */
	if (c->n++)
		return false;
	c->title = word;
	return true;
}

static bool is_option(struct span word)
{
	return word.n > 1 && word.p[0] == '-';
}

static bool has_char(struct span s, char c)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == c)
			return true;
	return false;
}

/* Options of search: long ones, with a value in the same word or behind, and short ones, several in a word.
 */
static bool take_search_word(struct command *c, const struct grub_word *w)
{
	struct span word = w->value, hint = SPAN("--hint");

	if (!is_option(word)) {
		if (c->n++)
			return false;
		c->first = word;
		return true;
	}
	if (word.p[1] != '-') {
		char last = word.p[word.n - 1];

		c->by_uuid |= has_char(word, 'u');
		if (last == 'h' || last == 's')
			c->value_of = last == 's' ? &c->set : &c->ignored;
		return false;
	}
	c->by_uuid |= span_equal(word, SPAN("--fs-uuid"));
	if (span_equal(word, SPAN("--set")))
		c->value_of = &c->set;
	else if (span_starts(word, hint) && !has_char(word, '='))
		c->value_of = &c->ignored;
	return false;
}

static bool take_save_env_word(struct grub_cfg *cfg, struct command *c, const struct grub_word *w)
{
	struct span word = w->value;

	if (span_equal(word, SPAN("-f")) || span_equal(word, SPAN("--file"))) {
		c->file = true;
		c->value_of = &c->ignored;
	} else if (has_value(word, SPAN("--file"), &c->ignored)) {
		c->file = true;
	} else if (!c->file && span_equal(word, SPAN("next_entry")) && !cfg->facts.granule_version.n) {
		cfg->next_entry |= NEXT_SAVED;
	}
	return false;
}

static bool take_source_word(struct grub_cfg *cfg, struct command *c, const struct grub_word *w)
{
	struct grub_cfg_facts *facts = &cfg->facts;

	if (c->n++ || facts->n_sourced == sizeof(facts->sourced) / sizeof(facts->sourced[0]))
		return false;
	facts->sourced[facts->n_sourced++] = w->value;
	return true;
}

/* A word of a command that loads: its file, and words that go with it. */
static int take_loader_word(struct grub_cfg *cfg, struct command *c, const struct grub_word *w,
			    bool *ret_keep)
{
	bool list = c->kind == COMMAND_INITRD || c->n;

	*ret_keep = true;
	if (c->kind == COMMAND_CHAINLOADER && !c->n && is_option(w->value)) {
		*ret_keep = false;
		return 0;
	}
	c->variable |= w->variable;
	c->n++;
	if (c->kind == COMMAND_DEVICETREE && c->n > 1) {
		*ret_keep = false;
		return 0;
	}
	if (list)
		return grub_lex_join(&cfg->lexer, w, c->kind != COMMAND_INITRD, &c->list);
	c->first = w->value;
	return 0;
}

static bool take_word(struct grub_cfg *cfg, struct command *c, const struct grub_word *w)
{
	size_t mark = cfg->lexer.used - (w->bare ? 0 : w->value.n);
	bool keep = false;
	int error = 0;

	if (c->value_of && !(w->value.n && w->value.p[0] == '-')) {
		*c->value_of = w->value;
		keep = c->value_of != &c->ignored;
		c->value_of = NULL;
	} else {
		c->value_of = NULL;
		switch (c->kind) {
		case COMMAND_MENUENTRY:
		case COMMAND_SUBMENU:
			keep = take_menuentry_word(c, w);
			break;
		case COMMAND_LINUX:
		case COMMAND_INITRD:
		case COMMAND_DEVICETREE:
		case COMMAND_CHAINLOADER:
			error = take_loader_word(cfg, c, w, &keep);
			break;
		case COMMAND_SEARCH:
		case COMMAND_SEARCH_UUID:
			keep = take_search_word(c, w);
			break;
		case COMMAND_SET:
			keep = !c->n++ && take_assignment(cfg, w);
			break;
		case COMMAND_SAVE_ENV:
			keep = take_save_env_word(cfg, c, w);
			break;
		case COMMAND_SOURCE:
			keep = take_source_word(cfg, c, w);
			break;
		case COMMAND_BLSCFG:
		case COMMAND_OTHER:
			break;
		}
	}
	if (error)
		return fail(cfg, error, w->offset);
	if (!keep)
		cfg->lexer.used = mark;
	return true;
}

/* ---- the end of a command
 * ------------------------------------------------------------------------------------ */

static void finish_search(struct grub_cfg *cfg, struct command *c)
{
	/* "--set" takes the word behind it, so that nothing may be left to search for; once it did not. */
	struct span uuid = c->n ? c->first : c->set;

	if (!c->by_uuid && c->kind != COMMAND_SEARCH_UUID)
		return;
	if (cfg->entry)
		cfg->item.fs_uuid = uuid;
	else
		cfg->facts.prefix_uuid = uuid;
}

static void finish_command(struct grub_cfg *cfg, struct command *c)
{
	struct grub_item *item = &cfg->item;

	switch (c->kind) {
	case COMMAND_LINUX:
		item->linux = c->first;
		item->options = c->list;
		break;
	case COMMAND_INITRD:
		item->initrd = c->list;
		break;
	case COMMAND_DEVICETREE:
		item->devicetree = c->first;
		break;
	case COMMAND_CHAINLOADER:
		item->chainloader = c->first;
		if (!item->linux.n)
			item->options = c->list;
		return;
	case COMMAND_SEARCH:
	case COMMAND_SEARCH_UUID:
		finish_search(cfg, c);
		return;
	case COMMAND_BLSCFG:
		cfg->facts.blscfg = true;
		return;
	default:
		return;
	}
	item->variables |= c->variable;
}

/* A block begins behind the words of a command. Returns whether it is that of a submenu, which is told of at
 * once. */
static bool begin_block(struct grub_cfg *cfg, struct command *c, size_t offset, struct grub_item *ret)
{
	bool submenu = c->kind == COMMAND_SUBMENU;

	if (!submenu && c->kind != COMMAND_MENUENTRY) {
		push(cfg, FRAME_HIDDEN, offset);
		return false;
	}
	cfg->item = (struct grub_item){ .submenu = submenu,
					.depth = cfg->depth,
					.index = cfg->index[cfg->depth]++,
					.title = c->title,
					.id = c->id,
					.conditional = cfg->conditions > 0,
					.offset = offset };
	if (c->users.n)
		cfg->item.users = c->users;
	else if (c->unrestricted)
		cfg->item.users = SPAN("-");
	if (!push(cfg, submenu ? FRAME_SUBMENU : FRAME_ENTRY, offset) || !submenu)
		return false;
	*ret = cfg->item;
	return true;
}

static bool end_block(struct grub_cfg *cfg, size_t pos, struct grub_item *ret)
{
	struct grub_frame *f = top_frame(cfg);

	if (!f || f->kind == FRAME_IF || f->kind == FRAME_LOOP)
		return fail(cfg, ERROR_SYNTAX, pos);
	if (pop(cfg) != FRAME_ENTRY)
		return false;
	*ret = cfg->item;
	return true;
}

/* ---- statements
 * ---------------------------------------------------------------------------------------------- */

static enum command_kind find_command(const struct grub_cfg *cfg, struct span name)
{
	unsigned place = place_of(cfg);

	if (place)
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (commands[i].places & place && span_equal(commands[i].name, name))
				return commands[i].kind;
	return COMMAND_OTHER;
}

/* Reads a command to its end. Returns whether *ret was filled; an error is in cfg. */
static bool read_command(struct grub_cfg *cfg, const struct grub_word *name, struct grub_item *ret)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct command c = { .kind = find_command(cfg, name->value) };
	size_t mark = lexer->used - (name->bare ? 0 : name->value.n);
	struct grub_word w;

	note_condition(cfg, name);
	if (c.kind != COMMAND_OTHER || !(place_of(cfg) & PLACE_TOP) || !take_assignment(cfg, name))
		lexer->used = mark;
	for (;;) {
		size_t pos = lexer->pos;
		enum grub_token token = grub_lex(lexer, &w);

		switch (token) {
		case GRUB_TOKEN_WORD:
			note_condition(cfg, &w);
			if (!take_word(cfg, &c, &w))
				return false;
			continue;
		case GRUB_TOKEN_OPEN:
			return begin_block(cfg, &c, name->offset, ret);
		case GRUB_TOKEN_ERROR:
			return fail(cfg, lexer->error, lexer->pos);
		case GRUB_TOKEN_CLOSE:
			lexer->pos = pos;
			break;
		default:
			break;
		}
		finish_command(cfg, &c);
		return false;
	}
}

static bool skip_word(struct grub_cfg *cfg)
{
	struct grub_word w;
	size_t pos = cfg->lexer.pos;

	switch (grub_lex(&cfg->lexer, &w)) {
	case GRUB_TOKEN_ERROR:
		return fail(cfg, cfg->lexer.error, cfg->lexer.pos);
	case GRUB_TOKEN_WORD:
		return true;
	default:
		return fail(cfg, ERROR_SYNTAX, pos);
	}
}

/* `function NAME {`, the brace maybe on a line of its own. */
static bool begin_function(struct grub_cfg *cfg, size_t offset)
{
	struct grub_lexer *lexer = &cfg->lexer;
	struct grub_word w;
	enum grub_token token;

	if (!skip_word(cfg))
		return false;
	do
		token = grub_lex(lexer, &w);
	while (token == GRUB_TOKEN_LINE_END);
	if (token == GRUB_TOKEN_ERROR)
		return fail(cfg, lexer->error, lexer->pos);
	if (token != GRUB_TOKEN_OPEN)
		return fail(cfg, ERROR_SYNTAX, offset);
	return push(cfg, FRAME_HIDDEN, offset);
}

/* The next part of an `if` or loop, which must be the innermost thing that is open. */
static bool change_branch(struct grub_cfg *cfg, const struct grub_word *w, enum frame_kind kind,
			  unsigned from, enum branch to)
{
	struct grub_frame *f = top_frame(cfg);

	if (!f || f->kind != kind || !(from & 1u << f->branch))
		return fail(cfg, ERROR_SYNTAX, w->offset);
	f->asked |= f->asks;
	f->asks = 0;
	f->branch = (unsigned char)to;
	return true;
}

static bool end_branch(struct grub_cfg *cfg, const struct grub_word *w, enum frame_kind kind)
{
	struct grub_frame *f = top_frame(cfg);

	if (!f || f->kind != kind || f->branch == BRANCH_CONDITION)
		return fail(cfg, ERROR_SYNTAX, w->offset);
	pop(cfg);
	return true;
}

/* A keyword where a command would begin; false if it is none, or on an error, which is in cfg. */
static bool take_keyword(struct grub_cfg *cfg, const struct grub_word *w)
{
	struct span s = w->value;

	if (!w->bare || s.n > 8)
		return false;
	if (span_equal(s, SPAN("if")))
		return push(cfg, FRAME_IF, w->offset);
	if (span_equal(s, SPAN("then")))
		return change_branch(cfg, w, FRAME_IF, 1u << BRANCH_CONDITION, BRANCH_THEN);
	if (span_equal(s, SPAN("elif")))
		return change_branch(cfg, w, FRAME_IF, 1u << BRANCH_THEN, BRANCH_CONDITION);
	if (span_equal(s, SPAN("else")))
		return change_branch(cfg, w, FRAME_IF, 1u << BRANCH_THEN, BRANCH_ELSE);
	if (span_equal(s, SPAN("fi")))
		return end_branch(cfg, w, FRAME_IF);
	if (span_equal(s, SPAN("while")) || span_equal(s, SPAN("until")))
		return push(cfg, FRAME_LOOP, w->offset);
	/* Words between `for` and its `do` are read as a command that does nothing. */
	if (span_equal(s, SPAN("for")))
		return push(cfg, FRAME_LOOP, w->offset) && skip_word(cfg);
	if (span_equal(s, SPAN("do")))
		return change_branch(cfg, w, FRAME_LOOP, 1u << BRANCH_CONDITION, BRANCH_THEN);
	if (span_equal(s, SPAN("done")))
		return end_branch(cfg, w, FRAME_LOOP);
	if (span_equal(s, SPAN("function")))
		return begin_function(cfg, w->offset);
	return false;
}

static void finish(struct grub_cfg *cfg)
{
	unsigned counting = GRUB_VARIABLE_BOOT_COUNTER | GRUB_VARIABLE_BOOT_SUCCESS;

	if (cfg->n_frames) {
		fail(cfg, ERROR_SYNTAX, top_frame(cfg)->offset);
		return;
	}
	cfg->facts.next_entry = cfg->next_entry == NEXT_ALL;
	cfg->facts.fallback_counting = (cfg->asked & counting) == counting;
}

bool grub_cfg_next(struct grub_cfg *cfg, struct grub_item *ret, int *ret_error)
{
	bool found = false, end = false;

	while (!found && !end && !cfg->error) {
		struct grub_word w;
		size_t mark = cfg->lexer.used;

		switch (grub_lex(&cfg->lexer, &w)) {
		case GRUB_TOKEN_END:
			finish(cfg);
			end = true;
			break;
		case GRUB_TOKEN_LINE_END:
			break;
		case GRUB_TOKEN_OPEN:
			fail(cfg, ERROR_SYNTAX, cfg->lexer.pos - 1);
			break;
		case GRUB_TOKEN_CLOSE:
			found = end_block(cfg, cfg->lexer.pos - 1, ret);
			break;
		case GRUB_TOKEN_ERROR:
			fail(cfg, cfg->lexer.error, cfg->lexer.pos);
			break;
		case GRUB_TOKEN_WORD:
			if (take_keyword(cfg, &w))
				cfg->lexer.used = mark;
			else if (!cfg->error)
				found = read_command(cfg, &w, ret);
			break;
		}
	}
	cfg->pos = cfg->lexer.pos;
	*ret_error = cfg->error;
	return found;
}

/* ---- paths of menu entries
 * ----------------------------------------------------------------------------------- */

void grub_path_escape(struct span part, struct text *ret)
{
	for (size_t i = 0; i < part.n; i++) {
		text_add(ret, span_cut(part, i, i + 1));
		if (part.p[i] == '>')
			text_add(ret, SPAN(">"));
	}
}

bool grub_path_next(struct span path, size_t *pos, struct text *ret_part)
{
	*ret_part = text_in(ret_part->p, ret_part->size);
	if (*pos >= path.n)
		return false;
	for (; *pos < path.n; ++*pos) {
		if (path.p[*pos] == '>') {
			++*pos;
			if (*pos == path.n || path.p[*pos] != '>')
				return true;
		}
		text_add(ret_part, span_cut(path, *pos, *pos + 1));
	}
	return true;
}
