/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/error.h>
#include <granule/keyval.h>

#include "entry_read.h"
#include "grub/grub.h"
#include "identity.h"
#include "loaders/loader.h"
#include "safe_file.h"
#include "settle.h"
#include "trial_entry.h"

#define ENTRIES "loader/entries"
#define SUFFIX "-trial"
/* GRUB sorts by the package name in front of version and release, as rpm does: capitals are the oldest. */
#define GRUB_PREFIX "A-trial-"

bool trial_entry_possible(const struct entry *target)
{
	return target->type == ENTRY_TYPE1;
}

/* Only an entry that tells its id on the command line takes words. */
bool trial_words_possible(const struct change *c, const struct entry *target)
{
	struct span value;

	return target->type == ENTRY_MENU && loader_of(&c->set)->arm_with &&
	       c->set.grub->own.kind != GRUB_BLOCK_NONE &&
	       cmdline_get(target->bls.options, SPAN(GRUB_WORD_ENTRY), &value);
}

static bool has_grub_name(const char *id)
{
	return strncmp(id, GRUB_PREFIX, strlen(GRUB_PREFIX)) == 0 && id[strlen(GRUB_PREFIX)];
}

bool trial_entry_has_id(const char *id)
{
	return id && (has_grub_name(id) || span_ends_nocase(span_of(id), SPAN(SUFFIX ".conf")));
}

char *trial_entry_target(const char *id)
{
	size_t end = strlen(SUFFIX ".conf");

	if (!trial_entry_has_id(id))
		return NULL;
	if (has_grub_name(id))
		return xstrdup(id + strlen(GRUB_PREFIX));
	return xprintf("%.*s.conf", (int)(strlen(id) - end), id);
}

/* Words behind "--" are init's. */
static size_t end_of_kernel_words(struct span line)
{
	struct cmdline_word word;
	size_t pos = 0;

	while (cmdline_next(line, &pos, &word))
		if (span_equal(word.text, SPAN("--")))
			return (size_t)(word.text.p - line.p);
	return line.n;
}

static char *with_words(struct span line, const char *words)
{
	size_t end = end_of_kernel_words(line);
	const char *gap = end && line.p[end - 1] != ' ' ? " " : "";

	if (!*words)
		return xstrndup(line);
	return xprintf("%.*s%s%s%s%.*s", (int)end, line.p, gap, words, end < line.n ? " " : "",
		       (int)(line.n - end), line.p + end);
}

static bool reboots_on_panic(struct span line)
{
	struct span value;

	if (!cmdline_get(line, SPAN("panic"), &value))
		return false;
	_cleanup_free_ char *text = xstrndup(value);
	return strtol(text, NULL, 0) != 0;
}

static void complain_long(const struct entry *target, const char *words, int error)
{
	complain("%.*s: %s cannot be added to its command line: %s", (int)target->id.n, target->id.p, words,
		 error_text(error));
}

/* Sets a word of a line, which it takes; NULL after one printed line. */
static char *set_word(const struct entry *target, char *taken, const char *name, const char *value)
{
	size_t size = strlen(taken) + strlen(name) + strlen(value) + 8;
	char *line = xalloc(size);
	struct text t = text_in(line, size);
	int error = cmdline_set(span_of(taken), span_of(name), span_of(value), &t);

	free(taken);
	if (!error && t.n > CMDLINE_MAX)
		error = ERROR_SPACE;
	if (!error)
		return line;
	_cleanup_free_ char *word = xprintf("%s=%s", name, value);
	complain_long(target, word, error);
	free(line);
	return NULL;
}

/* Command line of the trial's entry `id`; NULL after one printed line. */
static char *trial_options(const struct settings *s, const struct entry *target, const char *id)
{
	_cleanup_free_ char *seconds = xprintf("%u", s->panic_s);
	char *line = with_words(target->bls.options, s->trial_options);

	if (!reboots_on_panic(span_of(line)))
		line = set_word(target, line, "panic", seconds);
	/* GRUB does not say what it booted. */
	if (line && target->volume == VOLUME_SYSTEM) {
		_cleanup_free_ char *value = xprintf("%s,%s", id, page_size_word(target->page_size));
		line = set_word(target, line, GRUB_WORD_ENTRY, value);
	}
	if (!line || strlen(line) <= CMDLINE_MAX)
		return line;
	complain_long(target, s->trial_options, ERROR_SPACE);
	free(line);
	return NULL;
}

/* ---- words in place of an entry ---- */

#define MARK_LENGTH 8

static char *mark_word(const struct trial *t)
{
	const char *id = t->boot_id ? t->boot_id : "0";

	return xprintf(GRUB_WORD_TRIAL "=%.*s", MARK_LENGTH, id);
}

struct span trial_words_mark(const struct trial *t)
{
	struct span mark;

	return t->words && cmdline_get(span_of(t->words), SPAN(GRUB_WORD_TRIAL), &mark) ? mark : SPAN_NONE;
}

void trial_words_renew(struct trial *t)
{
	if (!t->words)
		return;
	_cleanup_free_ char *old = t->words, *mark = mark_word(t);
	size_t size = strlen(old) + strlen(mark) + 2;
	struct span value = { mark + strlen(GRUB_WORD_TRIAL "="),
			      strlen(mark) - strlen(GRUB_WORD_TRIAL "=") };
	char *words = xalloc(size);
	struct text text = text_in(words, size);

	cmdline_set(span_of(old), SPAN(GRUB_WORD_TRIAL), value, &text);
	t->words = words;
}

/* GRUB hands over each word as it is, and knows no quotes in them. Returns 0 or -errno after one printed
 * line. */
static int plan_words(const struct settings *s, const struct entry *target, struct trial *t)
{
	_cleanup_free_ char *line = with_words(target->bls.options, s->trial_options), *mark = mark_word(t);
	_cleanup_free_ char *panic =
		reboots_on_panic(span_of(line)) ? xstrdup("") : xprintf("panic=%u ", s->panic_s);
	const char *own = s->trial_options;

	if (strpbrk(own, "\"'\\$*?[")) {
		complain("trial-options of granule.conf: GRUB cannot hand over quotes, backslashes, '$' and "
			 "signs of patterns: leave them out");
		return -EINVAL;
	}
	t->entry = xstrndup(target->id);
	t->words = xprintf("%s%s%s%s", own, *own ? " " : "", panic, mark);
	/* GRUB adds which rule has chosen which entry. */
	if (target->bls.options.n + strlen(t->words) + target->id.n + strlen(GRUB_WORD_CHOSEN "=oneshot:") +
		    2 <=
	    CMDLINE_MAX)
		return 0;
	complain_long(target, t->words, ERROR_SPACE);
	return -EINVAL;
}

/* ---- an entry of its own ---- */

/* The text of the target with another title and command line; all other lines stay, whoever knows them. */
static char *entry_text(const struct entry *target, const char *options, const struct identity *own)
{
	struct span old = span_of(loaded(target)->text);
	size_t size = old.n + strlen(options) + target->id.n + 256;
	char *text = xalloc(size);
	struct text t = text_in(text, size);
	struct span title = target->bls.title;
	struct keyval line;
	size_t pos = 0;

	while (keyval_next(old, &pos, &line)) {
		if (span_equal(line.key, SPAN("options")) || span_equal(line.key, SPAN("title")) ||
		    span_equal(line.key, SPAN(BLS_KEY_TRIAL)))
			continue;
		text_add(&t, span_cut(old, line.line_start, line.line_end));
		text_add(&t, SPAN("\n"));
	}
	text_add(&t, SPAN("title "));
	text_add(&t, title.n ? title : target->id);
	text_add(&t, SPAN(" (trial)\n" BLS_KEY_TRIAL " yes\noptions "));
	text_add(&t, span_of(options));
	text_add(&t, SPAN("\n"));
	/* Whose it is, where several systems share the partition. */
	if (!target->bls.machine_id.n && own->machine_id && identity_owns(own, target)) {
		text_add(&t, SPAN("machine-id "));
		text_add(&t, span_of(own->machine_id));
		text_add(&t, SPAN("\n"));
	}
	text[t.n] = 0;
	return text;
}

/* "NAME-trial" for the target "NAME.conf". */
static char *trial_name(const struct entry *target)
{
	struct span name = target->counter.name;

	return xprintf("%.*s" SUFFIX, (int)name.n, name.p);
}

/* "NAME-trial+0.conf", or for GRUB one that sorts last; the id is made of it. */
static char *file_name(const struct entry *target, char **ret_id)
{
	if (target->volume == VOLUME_SYSTEM) {
		*ret_id = xprintf(GRUB_PREFIX "%.*s", (int)target->id.n, target->id.p);
		return xprintf("%s.conf", *ret_id);
	}
	_cleanup_free_ char *name = trial_name(target);
	*ret_id = xprintf("%s.conf", name);
	for (char *p = *ret_id; *p; p++)
		*p = char_lower(*p);
	return xprintf("%s+0.conf", name);
}

static int plan_file(const struct change *c, const struct settings *s, const struct entry *target,
		     struct trial *t, char **ret_text)
{
	_cleanup_free_ char *id = NULL, *file = file_name(target, &id);
	_cleanup_free_ char *options = trial_options(s, target, id);
	struct identity own;

	if (!options)
		return -EINVAL;
	if (!bls_file_name_valid(span_of(file))) {
		complain("%s: not a name for an entry (ASCII letters, digits and +-_. only, at most 255)",
			 file);
		return -EINVAL;
	}
	t->entry = id;
	t->file = file;
	t->volume = target->volume;
	id = file = NULL;
	identity_read(c->o, &own);
	*ret_text = entry_text(target, options, &own);
	identity_free(&own);
	return 0;
}

int trial_entry_plan(const struct change *c, const struct settings *s, const struct entry *target,
		     struct trial *t, char **ret_text)
{
	*ret_text = NULL;
	if (trial_entry_possible(target))
		return plan_file(c, s, target, t, ret_text);
	if (trial_words_possible(c, target))
		return plan_words(s, target, t);
	t->entry = xstrndup(target->id);
	return 0;
}

static char *entries_folder(const struct change *c, const struct trial *t)
{
	const char *partition = places_folder(&c->places, t->volume);

	if (t->volume == VOLUME_SYSTEM)
		return c->set.grub && c->set.grub->bls_entries ? xstrdup(c->set.grub->bls_entries) : NULL;
	return partition ? path_join(partition, ENTRIES) : NULL;
}

/* A boot of it may have been counted: "+0" is "+0-1" then. */
static bool is_file_of(const struct trial *t, const char *file_name)
{
	struct boot_counter counter;
	char id[NAME_MAX + 1];
	struct text text = text_in(id, sizeof(id));

	/* GRUB knows no counters, and tells capitals apart. */
	if (t->volume == VOLUME_SYSTEM)
		return strcmp(file_name, t->file) == 0;
	if (!boot_counter_parse(span_of(file_name), &counter))
		return false;
	boot_counter_id(&counter, &text);
	return span_equal(text_span(&text), span_of(t->entry));
}

/* Somebody's own entry may have such a name. */
static bool says_trial(const char *path)
{
	_cleanup_free_ char *text = NULL;
	struct keyval line;
	size_t size, pos = 0;

	if (read_file(path, ENTRY_FILE_MAX, &text, &size) < 0)
		return false;
	while (keyval_next((struct span){ text, size }, &pos, &line))
		if (span_equal(line.key, SPAN(BLS_KEY_TRIAL)))
			return true;
	return false;
}

/* Calls `each` with the path of every file of the trial. */
static int for_each_file(const struct change *c, const struct trial *t,
			 int (*each)(void *context, const char *path), void *context)
{
	_cleanup_free_ char *folder = t->file ? entries_folder(c, t) : NULL;
	_cleanup_dir_ DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *d;
	int result = 0;

	while (dir && (d = readdir(dir))) {
		if (!is_file_of(t, d->d_name))
			continue;
		_cleanup_free_ char *path = path_join(folder, d->d_name);
		if (!says_trial(path))
			continue;
		int r = each(context, path);
		if (r < 0)
			result = r;
	}
	return result;
}

int trial_entry_write(struct change *c, const struct trial *t, const char *text)
{
	_cleanup_free_ char *folder = entries_folder(c, t), *there = NULL;
	_cleanup_free_ char *path = path_join(folder, t->file);
	size_t size;

	if (read_file(path, 0, &there, &size) == 0 && strcmp(there, text) == 0)
		return 0;
	int r = c->o->dry_run ? 0 : safe_file_write(path, text, strlen(text));
	if (r < 0) {
		complain("%s: cannot be written: %s", path, strerror(-r));
		return r;
	}
	if (!c->o->dry_run)
		settle(path);
	action(&c->actions, "wrote %s", path);
	return 0;
}

static int remove_one(void *context, const char *path)
{
	struct change *c = context;
	int r = c->o->dry_run ? 0 : safe_file_remove(path);

	if (r < 0)
		complain("%s: cannot be removed: %s", path, strerror(-r));
	else
		action(&c->actions, "removed %s", path);
	return r;
}

int trial_entry_remove(struct change *c, const struct trial *t)
{
	return for_each_file(c, t, remove_one, c);
}

int trial_entry_remove_stray(struct change *c, const struct entry *e)
{
	const char *path = loaded(e)->source;

	/* It may be gone already, as a part of the trial that was cleared. */
	return path_exists(path) ? remove_one(c, path) : 0;
}

static int count_one(void *context, const char *path)
{
	(void)path;
	++*(unsigned *)context;
	return 0;
}

bool trial_entry_exists(const struct change *c, const struct trial *t)
{
	unsigned n = 0;

	for_each_file(c, t, count_one, &n);
	return n > 0;
}

void trial_entry_preview(struct change *c, const struct entry *target, const struct trial *t)
{
	struct entry_set *set = &c->set;
	struct loaded_entry *l = xalloc(sizeof(*l));

	if (entry_set_by_id(set, t->entry)) {
		free(l);
		return;
	}
	/* What it points into stays the target's. */
	l->entry = *target;
	l->id = xstrdup(t->entry);
	l->file_name = xstrdup(t->file);
	l->entry.id = span_of(l->id);
	l->entry.file_name = span_of(l->file_name);
	boot_counter_parse(l->entry.file_name, &l->entry.counter);
	l->entry.bls.trial = true;
	set->entries = xgrow(set->entries, set->n, sizeof(*set->entries));
	set->entries[set->n++] = &l->entry;
	entry_set_input(set);
}
