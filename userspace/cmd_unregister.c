/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes entries that register wrote, and then the files that only they named. */
#include <errno.h>
#include <string.h>

#include "entry_read.h"
#include "identity.h"
#include "loaders/loader.h"
#include "protection.h"
#include "registered.h"
#include "registry.h"
#include "safe_file.h"

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

struct removal {
	struct change c;
	struct identity identity;
	struct protection protection;
	struct entry **gone; /* taken out of the set, owned */
	size_t n_gone;
};

/* Whether something that is not asked for could boot. */
static bool another_boots(const struct removal *r)
{
	for (size_t i = 0; i < r->c.set.n; i++) {
		const struct entry *e = r->c.set.entries[i];
		if (e->type != ENTRY_AUTO && !e->bls.trial && !entry_obstacle(&r->c.set, e) &&
		    !is_chosen(r->c.o, e))
			return true;
	}
	return false;
}

/* Why an entry must stay unless --force is given; NULL if it may go. */
static const char *reason_to_keep(const struct removal *r, const struct entry *e,
				  const struct entry *by_default)
{
	if (r->c.o->force)
		return NULL;
	const char *reason = protection_reason(&r->protection, e);
	if (reason)
		return reason;
	/* With --all the owner leaves granule: nothing of ours will be the default. A package goes with its
	 * modules: its entry is of use only if nothing else boots. */
	if (e != by_default || r->c.o->all)
		return NULL;
	if (!r->c.o->hook)
		return "is what boots by default";
	return another_boots(r) ? NULL : "is the last that boots";
}

/* Whether an entry that is asked for can go; says why not. */
static bool may_go(struct removal *r, const struct entry *e, const struct entry *by_default)
{
	const char *why = NULL;

	if (!e->bls.from_granule && !e->bls.trial)
		why = "was not written by granule, left alone";
	else if (!identity_owns(&r->identity, e) && (r->c.o->all || !r->c.o->force))
		why = "belongs to another system, left alone";
	if (why && (r->c.o->all || r->c.o->hook))
		return false;
	if (why) {
		complain("%s: %s", loaded(e)->id, why);
		r->c.actions.failed = true;
		return false;
	}
	const char *keep = reason_to_keep(r, e, by_default);
	if (!keep)
		return true;
	complain("%s: %s, left alone (--force removes it)", loaded(e)->id, keep);
	r->c.actions.failed = r->c.actions.failed || !(r->c.o->all || r->c.o->hook);
	return false;
}

/* Takes what goes out of the set, in memory, so that everything from here on is decided without it. */
static void take_out(struct removal *r)
{
	struct entry_set *set = &r->c.set;
	struct next_boot by_default;
	size_t kept = 0;

	default_boot(set, &by_default);
	r->gone = xalloc(set->n * sizeof(struct entry *));
	for (size_t i = 0; i < set->n; i++) {
		struct entry *e = set->entries[i];
		if (is_chosen(r->c.o, e) && may_go(r, e, by_default.entry))
			r->gone[r->n_gone++] = e;
		else
			set->entries[kept++] = e;
	}
	set->n = kept;
	entry_set_input(set);
}

static bool is_gone(const struct removal *r, struct span pattern)
{
	for (size_t i = 0; i < r->n_gone; i++)
		if (entry_matches(r->gone[i], pattern))
			return true;
	return false;
}

/* A one-shot that names nothing any more would only make the next boot fall back. */
static int clear_oneshot(struct removal *r)
{
	struct span oneshot = choose_asked(&r->c.set.input, RULE_ONESHOT);

	for (size_t i = 0; i < r->c.set.n; i++)
		if (entry_matches(r->c.set.entries[i], oneshot))
			return 0;
	return is_gone(r, oneshot) ? loader_of(&r->c.set)->disarm(&r->c) : 0;
}

static void collect(struct removal *r)
{
	for (enum entry_volume v = VOLUME_OWN; v < N_VOLUMES; v++) {
		const char *partition = places_folder(&r->c.places, v);
		struct mentions mentions;

		if (!partition)
			continue;
		mentions_read(partition, &mentions);
		for (size_t i = 0; i < r->n_gone; i++)
			if (r->gone[i]->volume == v)
				registry_collect(&r->c.actions, partition, &mentions, r->gone[i]->bls.path);
		mentions_free(&mentions);
	}
}

/* What is wanted must not hang on what goes: wishes first, then entries, then files. */
static int remove_all(struct removal *r)
{
	int result = loader_follow_policy(&r->c);

	if (result == 0)
		result = clear_oneshot(r);
	/* The last in the menu first: while some are gone, none of another page size leads. */
	for (size_t i = r->n_gone; i-- > 0 && result == 0;)
		result = remove_entry(&r->c.actions, r->gone[i]);
	if (result == 0 && !r->c.o->dry_run)
		collect(r);
	return result;
}

/* Where register writes no entries there are none to be removed. */
static int leave_to_others(struct change *c, struct waiting *waiting)
{
	const struct options *o = c->o;
	int r = 0;

	if (!o->hook) {
		complain("%s; nothing of it is removed here", registered_by(&c->set));
		return change_end(c, o->all ? 0 : -ENOTSUP);
	}
	for (int i = 0; i < o->n_arguments && r == 0; i++)
		r = registered_forget(c, waiting, o->arguments[i]);
	if (r == 0 && !c->actions.done.n) {
		change_free(c);
		return EXIT_DONE;
	}
	change_end(c, r);
	return EXIT_DONE;
}

int cmd_unregister(const struct options *o)
{
	struct removal r = { 0 };
	int result;

	if (!o->n_arguments && !o->all) {
		complain("unregister: name an entry or a release, or give --all");
		return EXIT_USAGE;
	}
	/* Without a record of a trial there is none to be given up. */
	struct waiting waiting = { .state.lock = -1 };
	if (o->hook)
		waiting_open(o, &waiting);
	if (change_start(o, &r.c) < 0) {
		waiting_close(&waiting);
		return o->hook ? EXIT_DONE : EXIT_FAILED;
	}
	if (registered_by(&r.c.set)) {
		int exit_code = leave_to_others(&r.c, &waiting);
		waiting_close(&waiting);
		return exit_code;
	}
	waiting_close(&waiting);
	identity_read(o, &r.identity);
	protection_read(o, &r.c.set, &r.protection);
	result = o->hook ? 0 : check_arguments(o, &r.c.set);
	if (result == 0)
		take_out(&r);
	/* Somebody else's hook may have removed the entries before. */
	if (result == 0 && (r.n_gone || o->hook))
		result = remove_all(&r);
	int exit_code = change_end(&r.c, result);
	for (size_t i = 0; i < r.n_gone; i++)
		entry_free(loaded(r.gone[i]));
	free(r.gone);
	identity_free(&r.identity);
	protection_free(&r.protection);
	return exit_code;
}
