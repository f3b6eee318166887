/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/grub_command.h>

enum next_entry_part {
	NEXT_ASKED = 1 << 0,
	NEXT_CLEARED = 1 << 1,
	NEXT_SAVED = 1 << 2,
	NEXT_ALL = NEXT_ASKED | NEXT_CLEARED | NEXT_SAVED,
};

/* Where a command is of interest. */
enum place {
	PLACE_MENU = 1 << 0, /* at the top level or in a submenu */
	PLACE_TOP = 1 << 1,
	PLACE_ENTRY = 1 << 2,
};

static const struct {
	struct span name;
	enum grub_command_kind kind;
	unsigned places;
} commands[] = {
	{ { "menuentry", 9 }, GRUB_COMMAND_MENUENTRY, PLACE_MENU },
	{ { "submenu", 7 }, GRUB_COMMAND_SUBMENU, PLACE_MENU },
	{ { "linux", 5 }, GRUB_COMMAND_LINUX, PLACE_ENTRY },
	{ { "linuxefi", 8 }, GRUB_COMMAND_LINUX, PLACE_ENTRY },
	{ { "linux16", 7 }, GRUB_COMMAND_LINUX, PLACE_ENTRY },
	{ { "initrd", 6 }, GRUB_COMMAND_INITRD, PLACE_ENTRY },
	{ { "initrdefi", 9 }, GRUB_COMMAND_INITRD, PLACE_ENTRY },
	{ { "initrd16", 8 }, GRUB_COMMAND_INITRD, PLACE_ENTRY },
	{ { "devicetree", 10 }, GRUB_COMMAND_DEVICETREE, PLACE_ENTRY },
	{ { "chainloader", 11 }, GRUB_COMMAND_CHAINLOADER, PLACE_ENTRY },
	{ { "search", 6 }, GRUB_COMMAND_SEARCH, PLACE_ENTRY | PLACE_TOP },
	{ { "search.fs_uuid", 14 }, GRUB_COMMAND_SEARCH_UUID, PLACE_ENTRY | PLACE_TOP },
	{ { "set", 3 }, GRUB_COMMAND_SET, PLACE_TOP },
	{ { "save_env", 8 }, GRUB_COMMAND_SAVE_ENV, PLACE_TOP },
	{ { "source", 6 }, GRUB_COMMAND_SOURCE, PLACE_TOP },
	{ { ".", 1 }, GRUB_COMMAND_SOURCE, PLACE_TOP },
	{ { "configfile", 10 }, GRUB_COMMAND_SOURCE, PLACE_TOP },
	{ { "blscfg", 6 }, GRUB_COMMAND_BLSCFG, PLACE_TOP },
};

static unsigned place_of(const struct grub_cfg *cfg)
{
	if (cfg->hidden)
		return 0;
	if (cfg->entry)
		return PLACE_ENTRY;
	return cfg->depth ? PLACE_MENU : PLACE_MENU | PLACE_TOP;
}

/* ---- what is set at the top level ---- */

static void note_next_entry(struct grub_cfg *cfg, enum next_entry_part part)
{
	if (cfg->facts.granule_version.n)
		return;
	cfg->next_entry |= part;
	cfg->facts.next_entry = cfg->next_entry == NEXT_ALL;
}

/* Whether a `default` that is set here is the one without a next_entry. */
static bool is_usual_branch(const struct grub_cfg *cfg)
{
	if (cfg->facts.granule_version.n)
		return !cfg->n_frames;
	for (unsigned i = 0; i < cfg->n_frames; i++) {
		const struct grub_frame *f = &cfg->frames[i];
		if (f->kind != GRUB_FRAME_IF || f->branch != GRUB_BRANCH_ELSE ||
		    !(f->asked & GRUB_VARIABLE_NEXT_ENTRY))
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
	if (span_equal(name, SPAN("next_entry")) && !value.n)
		note_next_entry(cfg, NEXT_CLEARED);
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
	unsigned counting = GRUB_VARIABLE_BOOT_COUNTER | GRUB_VARIABLE_BOOT_SUCCESS;
	struct grub_frame *f = cfg->n_frames ? &cfg->frames[cfg->n_frames - 1] : NULL;

	if (!w->asks || !f || f->kind != GRUB_FRAME_IF || f->branch != GRUB_BRANCH_CONDITION ||
	    !(place_of(cfg) & PLACE_TOP))
		return;
	f->asks |= w->asks;
	cfg->asked |= w->asks;
	cfg->facts.fallback_counting = (cfg->asked & counting) == counting;
	if (w->asks & GRUB_VARIABLE_NEXT_ENTRY)
		note_next_entry(cfg, NEXT_ASKED);
}

/* ---- words of commands ---- */

/* "--NAME=VALUE" */
static bool has_value(struct span word, struct span option, struct span *ret)
{
	if (!span_starts(word, option) || word.n == option.n || word.p[option.n] != '=')
		return false;
	*ret = span_cut(word, option.n + 1, word.n);
	return true;
}

/* An option of menuentry, with its value in the same word or in the next. */
static bool take_value_option(struct grub_command *c, struct span word, struct span option, struct span *ret)
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

static bool take_menuentry_word(struct grub_command *c, const struct grub_word *w)
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
static bool take_search_word(struct grub_command *c, const struct grub_word *w)
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

static bool take_save_env_word(struct grub_cfg *cfg, struct grub_command *c, const struct grub_word *w)
{
	struct span word = w->value;

	if (span_equal(word, SPAN("-f")) || span_equal(word, SPAN("--file"))) {
		c->file = true;
		c->value_of = &c->ignored;
	} else if (has_value(word, SPAN("--file"), &c->ignored)) {
		c->file = true;
	} else if (!c->file && span_equal(word, SPAN("next_entry"))) {
		note_next_entry(cfg, NEXT_SAVED);
	}
	return false;
}

static bool take_source_word(struct grub_cfg *cfg, struct grub_command *c, const struct grub_word *w)
{
	struct grub_cfg_facts *facts = &cfg->facts;

	if (c->n++ || facts->n_sourced == sizeof(facts->sourced) / sizeof(facts->sourced[0]))
		return false;
	facts->sourced[facts->n_sourced++] = w->value;
	return true;
}

/* A word of a command that loads: its file, and words that go with it. */
static int take_loader_word(struct grub_cfg *cfg, struct grub_command *c, const struct grub_word *w,
			    bool *ret_keep)
{
	bool list = c->kind == GRUB_COMMAND_INITRD || c->n;

	*ret_keep = true;
	if (c->kind == GRUB_COMMAND_CHAINLOADER && !c->n && is_option(w->value)) {
		*ret_keep = false;
		return 0;
	}
	c->variable |= w->variable;
	c->n++;
	if (c->kind == GRUB_COMMAND_DEVICETREE && c->n > 1) {
		*ret_keep = false;
		return 0;
	}
	if (list)
		return grub_lex_join(&cfg->lexer, w, c->kind != GRUB_COMMAND_INITRD, &c->list);
	c->first = w->value;
	return 0;
}

/* Returns whether something of the word is kept. */
static bool take_word(struct grub_cfg *cfg, struct grub_command *c, const struct grub_word *w)
{
	switch (c->kind) {
	case GRUB_COMMAND_MENUENTRY:
	case GRUB_COMMAND_SUBMENU:
		return take_menuentry_word(c, w);
	case GRUB_COMMAND_SEARCH:
	case GRUB_COMMAND_SEARCH_UUID:
		return take_search_word(c, w);
	case GRUB_COMMAND_SET:
		return !c->n++ && take_assignment(cfg, w);
	case GRUB_COMMAND_SAVE_ENV:
		return take_save_env_word(cfg, c, w);
	case GRUB_COMMAND_SOURCE:
		return take_source_word(cfg, c, w);
	default:
		return false;
	}
}

static enum grub_command_kind find(const struct grub_cfg *cfg, struct span name)
{
	unsigned place = place_of(cfg);

	if (place)
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (commands[i].places & place && span_equal(commands[i].name, name))
				return commands[i].kind;
	return GRUB_COMMAND_OTHER;
}

/* Where memory ended before a word that was just read: plain ones lie in the text. */
static size_t used_before(const struct grub_cfg *cfg, const struct grub_word *w)
{
	return cfg->lexer.used - (w->stored ? w->value.n : 0);
}

struct grub_command grub_command_begin(struct grub_cfg *cfg, const struct grub_word *name)
{
	struct grub_command c = { .kind = find(cfg, name->value) };
	size_t mark = used_before(cfg, name);

	note_condition(cfg, name);
	if (c.kind != GRUB_COMMAND_OTHER || !(place_of(cfg) & PLACE_TOP) || !take_assignment(cfg, name))
		cfg->lexer.used = mark;
	return c;
}

int grub_command_word(struct grub_cfg *cfg, struct grub_command *c, const struct grub_word *w)
{
	size_t mark = used_before(cfg, w);
	bool keep = false;
	int error = 0;

	note_condition(cfg, w);
	/* An option is never taken for the value of another. */
	if (c->value_of && !(w->value.n && w->value.p[0] == '-')) {
		*c->value_of = w->value;
		keep = c->value_of != &c->ignored;
		c->value_of = NULL;
	} else {
		c->value_of = NULL;
		if (c->kind >= GRUB_COMMAND_LINUX && c->kind <= GRUB_COMMAND_CHAINLOADER)
			error = take_loader_word(cfg, c, w, &keep);
		else
			keep = take_word(cfg, c, w);
	}
	if (!keep)
		cfg->lexer.used = mark;
	return error;
}

static void end_search(struct grub_cfg *cfg, const struct grub_command *c)
{
	/* "--set" takes the word behind it, so that nothing may be left to search for; once it did not. */
	struct span uuid = c->n ? c->first : c->set;

	if (!c->by_uuid && c->kind != GRUB_COMMAND_SEARCH_UUID)
		return;
	if (cfg->entry)
		cfg->item.fs_uuid = uuid;
	else
		cfg->facts.prefix_uuid = uuid;
}

void grub_command_end(struct grub_cfg *cfg, const struct grub_command *c)
{
	struct grub_item *item = &cfg->item;

	switch (c->kind) {
	case GRUB_COMMAND_LINUX:
		item->linux = c->first;
		item->options = c->list;
		break;
	case GRUB_COMMAND_INITRD:
		item->initrd = c->list;
		break;
	case GRUB_COMMAND_DEVICETREE:
		item->devicetree = c->first;
		break;
	case GRUB_COMMAND_CHAINLOADER:
		item->chainloader = c->first;
		if (!item->linux.n)
			item->options = c->list;
		return;
	case GRUB_COMMAND_SEARCH:
	case GRUB_COMMAND_SEARCH_UUID:
		end_search(cfg, c);
		return;
	case GRUB_COMMAND_BLSCFG:
		cfg->facts.blscfg = true;
		return;
	default:
		return;
	}
	item->variables |= c->variable;
}
