/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <granule/cmdline.h>

#include "grub/grub.h"
#include "history.h"
#include "identity.h"
#include "loaders/loader.h"
#include "system.h"
#include "trial.h"

bool trial_is_pending(const struct trial *t)
{
	/* One that failed is kept as a word about the last trial; one that passed goes when all is done. */
	return t->stage != TRIAL_FAILED;
}

bool trial_is_named(const struct trial *t, struct span pattern)
{
	struct entry e;

	entry_from_id(span_of(t->entry), &e);
	return entry_matches(&e, pattern);
}

/* The mark of the trial whose words wait beside the one-shot of GRUB's, to be freed; NULL. */
static char *waiting_mark(const struct change *c)
{
	_cleanup_free_ char *words = c->set.grub ? grub_block_get(&c->set.grub->own, GRUB_ENV_OPTIONS) : NULL;
	struct span mark;

	return words && cmdline_get(span_of(words), SPAN(GRUB_WORD_TRIAL), &mark) ? xstrndup(mark) : NULL;
}

static bool is_own_mark(const struct trial *t, const char *mark)
{
	return mark && t->words && span_equal(trial_words_mark(t), span_of(mark));
}

bool trial_is_armed(const struct change *c, const struct trial *t)
{
	_cleanup_free_ char *mark = t->words ? waiting_mark(c) : NULL;

	/* Without its words the one-shot is somebody else's, for the same entry. */
	return trial_is_named(t, c->set.input.oneshot) && (!t->words || is_own_mark(t, mark));
}

int trial_arm(struct change *c, const struct trial *t)
{
	const struct loader *loader = loader_of(&c->set);

	return t->words && loader->arm_with ? loader->arm_with(c, t->entry, t->words)
					    : loader->arm(c, t->entry);
}

int trial_clear(struct change *c, const struct trial *t)
{
	int r = trial_is_armed(c, t) ? loader_of(&c->set)->disarm(c) : 0;

	/* In place of an entry that is gone GRUB boots the first of its menu, whatever that is. */
	if (r < 0 && c->set.grub)
		return r;
	int removed = trial_entry_remove(c, t);

	return r < 0 ? r : removed;
}

/* A pattern of the owner's may mean other entries as well. */
static bool oneshot_is_only_for(const struct entry_set *set, const struct entry *e)
{
	struct span oneshot = set->input.oneshot;
	bool others = false;

	for (size_t i = 0; i < set->n && !others; i++)
		others = !set->entries[i]->bls.trial && entry_matches(set->entries[i], oneshot);
	return !others && entry_matches(e, oneshot);
}

int trial_sweep(struct change *c, const struct trial *keep)
{
	struct identity own;
	int result = 0;

	identity_read(c->o, &own);
	for (size_t i = 0; i < c->set.n; i++) {
		const struct entry *e = c->set.entries[i];
		if (e->type != ENTRY_TYPE1 || !e->bls.trial || !identity_owns(&own, e) ||
		    (keep && span_equal_nocase(e->id, span_of(keep->entry))))
			continue;
		int r = oneshot_is_only_for(&c->set, e) ? loader_of(&c->set)->disarm(c) : 0;
		if (r == 0)
			r = trial_entry_remove_stray(c, e);
		if (r < 0)
			result = r;
	}
	identity_free(&own);
	_cleanup_free_ char *mark = waiting_mark(c);
	if (mark && !(keep && is_own_mark(keep, mark))) {
		int r = loader_of(&c->set)->disarm(c);
		result = r < 0 ? r : result;
	}
	return result;
}

char *trial_text(const struct trial *t)
{
	return xprintf("%s pages, %s", page_size_title(t->page_size), t->target);
}

const char *trial_stage_text(const struct trial *t, const char *boot_id, const char *entry)
{
	if (t->stage == TRIAL_FAILED)
		return "failed";
	if (t->stage == TRIAL_PASSED)
		return "passed; 'granule verify --boot' does what follows from that";
	if (boot_id && t->boot_id && strcmp(boot_id, t->boot_id) == 0)
		return "it waits for the next boot";
	return entry && strcasecmp(entry, t->entry) == 0
		       ? "it runs, and has no verdict yet"
		       : "something else was booted; 'granule verify --boot' records that";
}

int trial_cancel(struct state *s, struct change *c, struct trial *t, const char *reason)
{
	struct history_line line = {
		.kind = "trial",
		.entry = t->entry,
		.entry_asked = t->target,
		.release = t->release,
		.page_size_asked = t->page_size,
		.trial = true,
		.verdict = "canceled",
		.reason = reason,
	};
	_cleanup_free_ char *what = trial_text(t);

	action(&c->actions, "gave up the trial of %s", what);
	/* The one-shot goes first: without a record its boot would not be judged. */
	int r = trial_clear(c, t);

	if (r == 0)
		r = history_write(s, &line);
	return r < 0 ? r : trial_remove(s);
}

int waiting_open(const struct options *o, struct waiting *ret)
{
	*ret = (struct waiting){ .state.lock = -1 };
	/* Locked before it is known whether a trial waits: one may be armed right now. */
	int r = state_open_existing(o, &ret->state);

	/* One that cannot be read is no reason to change nothing else. */
	if (r == 0)
		trial_read(&ret->state, &ret->trial);
	return r;
}

void waiting_look(struct waiting *w, const struct change *c)
{
	w->is_armed = w->trial.entry && w->trial.stage == TRIAL_ARMED && trial_is_armed(c, &w->trial);
}

int waiting_settle(struct waiting *w, struct change *c, const char *command, bool new_default)
{
	if (new_default && w->trial.entry && w->trial.stage == TRIAL_PASSED) {
		/* A power cut kept it from becoming the default, and now it is not to be. */
		int r = trial_clear(c, &w->trial);
		return r < 0 ? r : trial_remove(&w->state);
	}
	if (!w->is_armed || trial_is_armed(c, &w->trial))
		return 0;
	_cleanup_free_ char *reason = xprintf("given up: '%s' took its place", command);
	return trial_cancel(&w->state, c, &w->trial, reason);
}

void waiting_close(struct waiting *w)
{
	trial_free(&w->trial);
	state_close(&w->state);
}

enum choice_wish wish_of_default(const struct entry_set *set)
{
	struct next_boot by_default;

	default_boot(set, &by_default);
	switch (by_default.result.rule) {
	case RULE_POLICY:
		return WISH_POLICY;
	case RULE_PREFERRED:
	case RULE_PREFERRED_CONFIG:
	case RULE_DEFAULT:
	case RULE_DEFAULT_CONFIG:
		/* A default that is only the loader's way to keep a policy. */
		return !loader_of(set)->policies && by_default.entry &&
				       set->policy == by_default.entry->page_size
			       ? WISH_POLICY
			       : WISH_DEFAULT;
	default:
		return WISH_NONE;
	}
}

/* Stores a policy if that leads to the entry, else the entry itself. */
static int make_default(struct change *c, const struct entry *e, bool as_policy, enum choice_wish *ret_wish)
{
	const struct loader *loader = loader_of(&c->set);
	struct next_boot by_default;
	enum choose_outcome why;

	*ret_wish = WISH_DEFAULT;
	/* Another loader would refuse it. */
	if (as_policy && (loader->policies || loader->follow_policy)) {
		size_t newest = choose_newest(&c->set.input, e->page_size, NULL, &why);
		/* A loader that knows no policies is given one entry, which has to be this one. */
		bool leads = loader->policies ? newest != SIZE_MAX && c->set.entries[newest] == e
					      : loader_policy_entry(c, e->page_size) == e;

		/* A kernel that came since would boot unseen. */
		if (leads) {
			int r = loader->set_policy(c, e->page_size);
			if (r < 0)
				return r;
			default_boot(&c->set, &by_default);
			*ret_wish = WISH_POLICY;
			if (by_default.entry == e)
				return 0;
		}
	}
	*ret_wish = WISH_DEFAULT;
	return loader->set_default(c, e);
}

int trial_promote(struct change *c, const struct trial *t, enum choice_wish *ret_wish)
{
	const struct entry *e = entry_set_by_id(&c->set, t->target);
	const char *obstacle = e ? entry_obstacle(&c->set, e) : "it is not there any more";

	if (obstacle) {
		complain("%s passed its trial and cannot become the default: %s", t->target, obstacle);
		return -ENOENT;
	}
	return make_default(c, e, t->by_size, ret_wish);
}

int choice_restore(struct change *c, const struct choice *choice)
{
	const struct entry *e = entry_set_by_id(&c->set, choice->entry);
	const char *obstacle = e ? entry_obstacle(&c->set, e) : "it is not there any more";
	enum choice_wish wish;

	if (obstacle) {
		complain("%s: %s", choice->entry, obstacle);
		return -ENOENT;
	}
	/* What came first without a wish may not any more: entries were sorted anew since. */
	return make_default(c, e, choice->wish != WISH_DEFAULT, &wish);
}
