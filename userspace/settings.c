/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/keyval.h>
#include <granule/settings.h>

#include "settings.h"

#define FILE_MAX (64 << 10)
/* Of one file; the wrong file under the right name should not fill the screen. */
#define PROBLEMS_MAX 10

#define VENDOR_FILE "usr/lib/granule/granule.conf"
#define VENDOR_FOLDER "usr/lib/granule/granule.conf.d"
#define OWNER_FILE "etc/granule.conf"
#define OWNER_FOLDER "etc/granule.conf.d"

bool duration_parse(const char *text, unsigned *ret_s)
{
	uint32_t seconds;

	if (!settings_duration(span_of(text), &seconds))
		return false;
	*ret_s = seconds;
	return true;
}

/* ---- one file ---- */

static void say_problem(const char *path, size_t line, const struct settings_problem *p)
{
	int key_n = (int)(p->key.n < 64 ? p->key.n : 64), value_n = (int)(p->value.n < 64 ? p->value.n : 64);

	switch (p->fault) {
	case SETTINGS_NO_EQUALS:
		complain("%s:%zu: not 'key = value': '%.*s'", path, line, key_n, p->key.p);
		break;
	case SETTINGS_UNKNOWN_KEY:
		if (p->meant)
			complain("%s:%zu: unknown key '%.*s'; is '%s' meant?", path, line, key_n, p->key.p,
				 p->meant);
		else
			complain("%s:%zu: unknown key '%.*s'", path, line, key_n, p->key.p);
		break;
	case SETTINGS_BAD_VALUE:
		complain("%s:%zu: %.*s cannot be '%.*s': it takes %s", path, line, key_n, p->key.p, value_n,
			 p->value.p, p->expected);
		break;
	}
}

static void apply_text(const char *path, struct span text, struct settings_values *values)
{
	struct settings_problem problem;
	size_t pos = 0, n = 0;

	while (settings_next_problem(text, &pos, values, &problem))
		if (n++ < PROBLEMS_MAX)
			say_problem(path, keyval_line_number(text, problem.offset), &problem);
	if (n > PROBLEMS_MAX)
		complain("%s: %zu more lines are not understood", path, n - PROBLEMS_MAX);
}

/* Applies one file. `trial_options` is where its text is kept. */
static void apply_file(const char *path, struct settings_values *values, char **trial_options)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = read_file(path, FILE_MAX, &text, &size);

	if (r < 0) {
		if (r != -ENOENT)
			complain("%s: cannot be read, its settings do not count: %s", path, strerror(-r));
		return;
	}
	apply_text(path, (struct span){ text, size }, values);
	if (values->trial_options.p == *trial_options)
		return;
	char *copy = xstrndup(values->trial_options);
	free(*trial_options);
	*trial_options = copy;
	values->trial_options = span_of(copy);
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of drop-ins in a folder, in their order. */
static void list_drop_ins(const char *folder, struct strings *ret)
{
	_cleanup_dir_ DIR *dir = opendir(folder);

	if (!dir) {
		if (errno != ENOENT)
			complain("%s: cannot be read, its settings do not count: %s", folder,
				 strerror(errno));
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		size_t n = strlen(d->d_name);

		if (d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".conf") == 0)
			strings_add(ret, xstrdup(d->d_name));
	}
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(ret->items[0]), by_name);
}

/* A file of the owner's in the folder `over` stands for the one of the same name here; it may be a link to
 * /dev/null. */
static void apply_folder(const struct options *o, const char *folder, const char *over,
			 struct settings_values *values, char **trial_options)
{
	_cleanup_free_ char *here = path_join(o->root, folder);
	_cleanup_free_ char *there = over ? path_join(o->root, over) : NULL;
	struct strings names = { 0 };

	list_drop_ins(here, &names);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = path_join(here, names.items[i]);
		_cleanup_free_ char *twin = there ? path_join(there, names.items[i]) : NULL;

		if (!twin || !path_exists(twin))
			apply_file(path, values, trial_options);
	}
	strings_free(&names);
}

void settings_read(const struct options *o, struct settings *ret)
{
	_cleanup_free_ char *vendor = path_join(o->root, VENDOR_FILE),
			    *owner = path_join(o->root, OWNER_FILE);
	struct settings_values values;
	char *trial_options = xstrdup("");

	settings_default(&values);
	values.trial_options = span_of(trial_options);
	apply_file(vendor, &values, &trial_options);
	apply_folder(o, VENDOR_FOLDER, OWNER_FOLDER, &values, &trial_options);
	apply_file(owner, &values, &trial_options);
	apply_folder(o, OWNER_FOLDER, NULL, &values, &trial_options);
	*ret = (struct settings){
		.sizes = values.sizes,
		.tries = values.tries,
		.reboot_on_failure = values.reboot_on_failure,
		.panic_s = values.panic_s,
		.verify_timeout_s = values.verify_timeout_s,
		.check_timeout_s = values.check_timeout_s,
		.deadline_s = values.deadline_s,
		.trial_options = trial_options,
	};
}

void settings_free(struct settings *s)
{
	free(s->trial_options);
	s->trial_options = NULL;
}
