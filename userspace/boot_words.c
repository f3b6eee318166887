/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include <granule/cmdline.h>

#include "boot_words.h"
#include "grub/grub.h"

/* GRUB puts a backslash before quotes and backslashes of a word. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (from[0] == '\\' && from[1] && strchr("\\'\"", from[1]))
			from++;
		*to++ = *from;
	}
	*to = 0;
}

/* Last value of a word, to be freed; NULL. */
static char *word(const char *cmdline, const char *name)
{
	struct span value;

	if (!cmdline_get(span_of(cmdline), span_of(name), &value) || !value.n)
		return NULL;
	char *text = xstrndup(value);
	unescape(text);
	return text;
}

/* The page size at the end of an id of ours, or the word that is one. */
static struct span size_word(const char *id)
{
	const char *dash = strrchr(id, '-');
	struct span word = span_of(dash ? dash + 1 : id);

	return page_size_parse(word) == PAGE_SIZE_UNKNOWN ? SPAN_NONE : word;
}

/* Ids of ours stand without the menus around them. */
static const char *plain(const char *id)
{
	const char *menu = strrchr(id, '>');

	return menu && strncmp(menu + 1, "granule-", 8) == 0 ? menu + 1 : id;
}

struct words {
	char *entry, *chosen;  /* ids; NULL */
	struct strings failed; /* ids, in the order in which they were tried */
	enum page_size size;
	enum choose_rule rule; /* that chose; N_RULES if none is told */
};

/* One for each that could not be loaded. */
static void read_failures(const char *cmdline, struct strings *ret)
{
	struct cmdline_word found;
	size_t pos = 0;

	while (cmdline_next(span_of(cmdline), &pos, &found) && !span_equal(found.text, SPAN("--")))
		if (span_equal(found.name, SPAN(GRUB_WORD_FAILED)) && found.value.n) {
			_cleanup_free_ char *id = xstrndup(found.value);
			unescape(id);
			strings_add(ret, xstrdup(plain(id)));
		}
}

static void read_words(const char *cmdline, struct words *w)
{
	*w = (struct words){
		.entry = word(cmdline, GRUB_WORD_ENTRY),
		.chosen = word(cmdline, GRUB_WORD_CHOSEN),
		.rule = N_RULES,
	};
	read_failures(cmdline, &w->failed);
	char *comma = w->entry ? strrchr(w->entry, ',') : NULL;
	char *colon = w->chosen ? strchr(w->chosen, ':') : NULL;

	if (comma) {
		w->size = page_size_parse(span_of(comma + 1));
		*comma = 0;
	}
	if (!colon)
		return;
	*colon = 0;
	if (strcmp(w->chosen, "good") == 0)
		w->rule = RULE_LAST_RESORT;
	else if (!choose_rule_parse(span_of(w->chosen), &w->rule))
		w->rule = N_RULES;
	memmove(w->chosen, colon + 1, strlen(colon + 1) + 1);
}

static void add(struct text *t, const char *key, const char *rule, struct span value)
{
	_cleanup_free_ char *whole = xprintf("%s%s", key, rule);

	boot_record_add(t, span_of(whole), value);
}

static void add_rule(struct text *t, enum choose_rule rule, struct span asked, enum choose_outcome outcome)
{
	add(t, "asked.", choose_rule_name(rule), asked);
	add(t, "outcome.", choose_rule_name(rule), span_of(choose_outcome_name(outcome)));
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(plain(a), plain(b)) == 0;
}

/* What was started is what was chosen; a policy may be told by its page size alone. */
static bool is_chosen(const struct words *w)
{
	return is_same(w->chosen, w->entry) ||
	       (w->rule == RULE_POLICY && page_size_parse(span_of(w->chosen)) != PAGE_SIZE_UNKNOWN &&
		page_size_parse(span_of(w->chosen)) == w->size);
}

static void add_choice(struct text *t, const struct words *w)
{
	bool as_chosen = w->rule != N_RULES && is_chosen(w);
	enum choose_rule reason = as_chosen ? w->rule : RULE_MENU;
	const char *failed = w->failed.n ? w->failed.items[w->failed.n - 1] : NULL;
	_cleanup_free_ char *explain = xprintf("%s%s%s",
					       reason == RULE_LAST_RESORT ? "the entry that was verified last"
									  : choose_rule_title(reason),
					       failed ? "; GRUB could not load " : "", failed ? failed : "");

	if (w->rule == N_RULES)
		return;
	add(t, "reason", "", span_of(choose_rule_name(reason)));
	add(t, "explain", "", span_of(explain));
	/* The one-shot is the only choice before a default, and a default the last one before what is good.
	 */
	if (failed && (w->rule == RULE_DEFAULT || w->rule == RULE_POLICY || w->failed.n > 1))
		add_rule(t, RULE_ONESHOT, span_of(w->failed.items[0]), OUTCOME_UNUSABLE);
	if (failed && w->rule == RULE_LAST_RESORT)
		add_rule(t, RULE_DEFAULT, span_of(failed), OUTCOME_UNUSABLE);
	if (w->rule == RULE_POLICY)
		add_rule(t, w->rule, size_word(w->chosen), OUTCOME_CHOSEN);
	else if (w->rule < RULE_POLICY)
		add_rule(t, w->rule, span_of(plain(w->chosen)), OUTCOME_CHOSEN);
}

char *boot_words_record(const char *cmdline)
{
	struct words w;
	char *record = NULL;

	if (!cmdline)
		return NULL;
	read_words(cmdline, &w);
	if (w.entry && *w.entry) {
		record = xalloc(BOOT_RECORD_MAX);
		struct text t = text_in(record, BOOT_RECORD_MAX);

		add(&t, "entry", "", span_of(plain(w.entry)));
		add(&t, "page-size", "", span_of(page_size_word(w.size)));
		add_choice(&t, &w);
		for (size_t i = 0; i < w.failed.n; i++) {
			_cleanup_free_ char *line = xprintf("%s: GRUB could not load it", w.failed.items[i]);
			add(&t, "failed", "", span_of(line));
		}
	}
	free(w.entry);
	free(w.chosen);
	strings_free(&w.failed);
	return record;
}

char *boot_words_entry(const char *cmdline)
{
	_cleanup_free_ char *record = boot_words_record(cmdline);
	struct span value;

	return record && boot_record_get(span_of(record), SPAN("entry"), &value) ? xstrndup(value) : NULL;
}

char *boot_words_remove(const char *cmdline, struct strings *ret_gone)
{
	static const char *const names[] = { "BOOT_IMAGE",     "initrd",         GRUB_WORD_ENTRY,
					     GRUB_WORD_CHOSEN, GRUB_WORD_FAILED, GRUB_WORD_TRIAL };
	char *line = xstrdup(cmdline);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t size = strlen(line) + 1;
		char *shorter = xalloc(size);
		struct text t = text_in(shorter, size);
		struct span value;

		if (!cmdline_get(span_of(line), span_of(names[i]), &value) ||
		    cmdline_remove(span_of(line), span_of(names[i]), &t) < 0) {
			free(shorter);
			continue;
		}
		if (ret_gone)
			strings_add(ret_gone, xprintf("%s=%.*s", names[i], (int)value.n, value.p));
		free(line);
		line = shorter;
	}
	return line;
}
