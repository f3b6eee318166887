/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/error.h>
#include <granule/keyval.h>

#include "entry_read.h"
#include "identity.h"
#include "safe_file.h"
#include "trial_entry.h"

#define ENTRIES "loader/entries"
#define SUFFIX "-trial"

bool trial_entry_possible(const struct entry *target)
{
	return target->type == ENTRY_TYPE1;
}

bool trial_entry_has_id(const char *id)
{
	return id && span_ends_nocase(span_of(id), SPAN(SUFFIX ".conf"));
}

char *trial_entry_target(const char *id)
{
	size_t end = strlen(SUFFIX ".conf");

	if (!trial_entry_has_id(id))
		return NULL;
	return xprintf("%.*s.conf", (int)(strlen(id) - end), id);
}

/* "NAME-trial" for the target "NAME.conf". */
static char *trial_name(const struct entry *target)
{
	struct span name = target->counter.name;

	return xprintf("%.*s" SUFFIX, (int)name.n, name.p);
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

/* Command line of the trial; NULL after one printed line. */
static char *trial_options(const struct settings *s, const struct entry *target)
{
	_cleanup_free_ char *line = with_words(target->bls.options, s->trial_options);
	size_t size = strlen(line) + 32;
	_cleanup_free_ char *seconds = xprintf("%u", s->panic_s);
	char *options = xalloc(size);
	struct text t = text_in(options, size);
	int error = 0;

	if (reboots_on_panic(span_of(line)))
		text_add(&t, span_of(line));
	else
		error = cmdline_set(span_of(line), SPAN("panic"), span_of(seconds), &t);
	if (!error && t.n > CMDLINE_MAX)
		error = ERROR_SPACE;
	if (!error) {
		options[t.n] = 0;
		return options;
	}
	complain("%.*s: panic=%s cannot be added to its command line: %s", (int)target->id.n, target->id.p,
		 seconds, error_text(error));
	free(options);
	return NULL;
}

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

int trial_entry_plan(const struct options *o, const struct settings *s, const struct entry *target,
		     struct trial *t, char **ret_text)
{
	*ret_text = NULL;
	if (!trial_entry_possible(target)) {
		t->entry = xstrndup(target->id);
		return 0;
	}
	_cleanup_free_ char *name = trial_name(target), *options = trial_options(s, target);
	if (!options)
		return -EINVAL;
	char *file = xprintf("%s+0.conf", name);
	if (!bls_file_name_valid(span_of(file))) {
		complain("%s: not a name for an entry (ASCII letters, digits and +-_. only, at most 255)",
			 file);
		free(file);
		return -EINVAL;
	}
	t->entry = xprintf("%s.conf", name);
	for (char *p = t->entry; *p; p++)
		*p = char_lower(*p);
	t->file = file;
	t->volume = target->volume;
	struct identity own;
	identity_read(o, &own);
	*ret_text = entry_text(target, options, &own);
	identity_free(&own);
	return 0;
}

static char *entries_folder(const struct change *c, const struct trial *t)
{
	const char *partition = places_folder(&c->places, t->volume);

	return partition ? path_join(partition, ENTRIES) : NULL;
}

/* A boot of it may have been counted: "+0" is "+0-1" then. */
static bool is_file_of(const struct trial *t, const char *file_name)
{
	struct boot_counter counter;
	char id[NAME_MAX + 1];
	struct text text = text_in(id, sizeof(id));

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
	if (r < 0)
		complain("%s: cannot be written: %s", path, strerror(-r));
	else
		action(&c->actions, "wrote %s", path);
	return r;
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
	set->entries = xrealloc(set->entries, (set->n + 1) * sizeof(*set->entries));
	set->entries[set->n++] = &l->entry;
	entry_set_input(set);
}
