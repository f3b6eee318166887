/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes entries that register wrote, and then the files that only they named. */
#include <errno.h>
#include <string.h>

#include "registry.h"
#include "safe_file.h"
#include "system.h"
#include "env_file.h"
#include "wishes.h"

static bool named_by(const struct entry *e, const char *word)
{
	return entry_matches(e, span_of(word)) || entry_has_release(e, word);
}

static bool is_chosen(const struct options *o, const struct entry *e)
{
	if (o->all)
		return true;
	for (int i = 0; i < o->n_arguments; i++)
		if (named_by(e, o->arguments[i]))
			return true;
	return false;
}

/* The entry that this system came from, or could have: it must stay bootable. */
static bool is_running(const struct entry *e, const char *selected, const char *release)
{
	return (selected && span_equal_nocase(e->id, span_of(selected))) ||
	       (!selected && release && entry_has_release(e, release));
}

static int check_arguments(const struct options *o, const struct entry_set *set)
{
	int r = 0;

	for (int i = 0; i < o->n_arguments; i++) {
		bool found = false;
		for (size_t k = 0; k < set->n; k++)
			found = found || named_by(set->entries[k], o->arguments[i]);
		if (!found) {
			complain("%s: no such entry or release", o->arguments[i]);
			entry_set_print_candidates(set, NULL, NULL);
			r = -ENOENT;
		}
	}
	return r;
}

static int remove_entry(struct actions *a, const struct entry *e)
{
	const char *path = loaded(e)->source;
	int r = a->options->dry_run ? 0 : safe_file_remove(path);

	if (r < 0)
		complain("%s: cannot be removed: %s", path, strerror(-r));
	else
		action(a, a->options->dry_run ? "removed %s and the files that only it names" : "removed %s",
		       path);
	return r;
}

/* Why an entry must stay unless --force is given; NULL if it may go. */
static const char *reason_to_keep(const struct options *o, const struct entry *e,
				  const struct entry *by_default, const char *selected, const char *release)
{
	if (o->force)
		return NULL;
	if (is_running(e, selected, release))
		return "is the running system's";
	/* With --all the owner leaves granule: nothing of ours will be the default. */
	return e == by_default && !o->all ? "is what boots by default" : NULL;
}

/* *ret_armed: a one-shot named one of those that were removed. */
static void remove_chosen(const struct options *o, const struct entry_set *set, struct actions *a,
			  bool *ret_armed)
{
	struct span oneshot = choose_asked(&set->input, RULE_ONESHOT);
	_cleanup_free_ char *selected = variable_get(VENDOR_LOADER, "LoaderEntrySelected");
	_cleanup_free_ char *release = system_release(o);
	struct next_boot by_default;

	*ret_armed = false;
	default_boot(set, &by_default);
	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];

		if (!is_chosen(o, e))
			continue;
		if (!e->bls.from_granule) {
			if (!o->all) {
				complain("%s: was not written by granule, left alone", loaded(e)->id);
				a->failed = true;
			}
			continue;
		}
		const char *keep = reason_to_keep(o, e, by_default.entry, selected, release);
		if (keep) {
			complain("%s: %s, left alone (--force removes it)", loaded(e)->id, keep);
			a->failed = a->failed || !o->all;
			continue;
		}
		if (remove_entry(a, e) < 0)
			a->failed = true;
		else if (entry_matches(e, oneshot))
			*ret_armed = true;
	}
}

/* After a removal. A one-shot that names nothing any more would only make the next boot fall back. */
static void clear_oneshot(struct actions *a, struct entry_set *set, const struct places *places)
{
	for (size_t i = 0; i < set->n && !a->options->dry_run; i++)
		if (entry_matches(set->entries[i], choose_asked(&set->input, RULE_ONESHOT)))
			return;
	int r = set->oneshot ? wish_variable(a, set, "LoaderEntryOneShot", NULL) : 0;

	if (r == 0)
		r = wish_env_clear(a, set, places, 1u << RULE_ONESHOT);
	a->failed = a->failed || r < 0;
}

int cmd_unregister(const struct options *o)
{
	struct actions actions = { .options = o };
	struct places places;
	struct entry_set set, after;
	int exit_code = EXIT_FAILED;
	bool armed;

	if (!o->n_arguments && !o->all) {
		complain("unregister: name an entry or a release, or give --all");
		return EXIT_USAGE;
	}
	if (places_find(o, &places) < 0)
		return EXIT_FAILED;
	if (places_lock(&places) < 0 || entry_set_load(o, &places, &set) < 0)
		goto out_places;
	if (check_arguments(o, &set) < 0)
		goto out;
	remove_chosen(o, &set, &actions, &armed);
	if (entry_set_load(o, &places, &after) < 0)
		goto out;
	if (armed)
		clear_oneshot(&actions, &after, &places);
	for (size_t i = 0; i < set.n && !o->dry_run; i++) {
		const struct entry *e = set.entries[i];
		if (e->bls.from_granule)
			registry_collect(&actions, places_folder(&places, e->volume), e->bls.path);
	}
	exit_code = actions_finish(&actions, o->dry_run ? NULL : &after);
	entry_set_free(&after);
out:
	strings_free(&actions.done);
	entry_set_free(&set);
out_places:
	places_free(&places);
	return exit_code;
}
