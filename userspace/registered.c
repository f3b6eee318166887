/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "grub/grub.h"
#include "loaders/loader.h"
#include "registered.h"

const char *registered_by(const struct entry_set *set)
{
	const struct loader *loader = loader_of(set);

	return loader->registered_by ? loader->registered_by(set) : NULL;
}

static const char *remedy(const struct grub *grub)
{
	return grub->mkconfig ? grub->mkconfig : "update-grub";
}

/* Whether the owner uses granule at all: a package's hook says nothing to others. */
static bool in_use(const struct change *c)
{
	const struct grub *grub = c->set.grub;

	return grub && (grub->facts.granule_version.n || c->set.policy != PAGE_SIZE_UNKNOWN);
}

/* What else there is to say of a policy its loader does, when it is followed. */
static void check_policy(const struct change *c)
{
	enum page_size policy = c->set.policy;

	if (policy != PAGE_SIZE_UNKNOWN && !loader_policy_entry(c, policy))
		complain("the policy %s stands for no entry now: no kernel with %s pages can boot",
			 page_size_word(policy), page_size_title(policy));
}

/* The file of a kernel is named after its release. */
static bool is_of_release(const struct entry *e, const char *release)
{
	struct span path = e->bls.path;
	size_t n = strlen(release);

	return entry_has_release(e, release) ||
	       (path.n > n && path.p[path.n - n - 1] == '-' &&
		span_equal(span_cut(path, path.n - n, path.n), span_of(release)));
}

static void check_release(const struct change *c, const char *release)
{
	const struct grub *grub = c->set.grub;

	for (size_t i = 0; i < c->set.n; i++)
		if (is_of_release(c->set.entries[i], release))
			return;
	if (grub->bls)
		complain("%s: no entry in %s starts it: 'kernel-install add' makes one", release,
			 grub->bls_entries ? grub->bls_entries : "loader/entries");
	else
		complain("%s: no entry of %s starts it: run '%s'", release, grub->cfg_path, remedy(grub));
}

int registered_follow(struct change *c, const char *release)
{
	int r = loader_follow_policy(c);

	if (in_use(c)) {
		check_policy(c);
		if (release)
			check_release(c, release);
	}
	return r;
}

/* ---- a kernel that is gone ---- */

/* Whether nothing that is left can be meant. */
static bool is_gone(const struct entry_set *set, struct span pattern)
{
	for (size_t i = 0; i < set->n; i++)
		if (entry_matches(set->entries[i], pattern) && !set->entries[i]->unusable)
			return false;
	return true;
}

static bool id_is_gone(const struct entry_set *set, const char *id)
{
	const struct entry *e = entry_set_by_id(set, id);

	return !e || e->unusable;
}

/* A one-shot of what is not there would only make the next boot go past it. */
static int forget_oneshot(struct change *c, struct waiting *w, const char *release)
{
	struct span oneshot = choose_asked(&c->set.input, RULE_ONESHOT);
	const struct trial *t = &w->trial;

	if (t->entry && t->stage == TRIAL_ARMED && id_is_gone(&c->set, t->target)) {
		_cleanup_free_ char *reason = xprintf("its kernel %s was removed", release);
		return trial_cancel(&w->state, c, &w->trial, reason);
	}
	return oneshot.n && is_gone(&c->set, oneshot) ? loader_of(&c->set)->disarm(c) : 0;
}

static void say_gone(const struct change *c)
{
	struct span by_default = choose_asked(&c->set.input, RULE_DEFAULT);
	struct next_boot next;

	if (!by_default.n || !is_gone(&c->set, by_default))
		return;
	default_boot(&c->set, &next);
	complain("%.*s, which was the default, is gone with its kernel: %s boots now ('granule set' names "
		 "another one)",
		 (int)by_default.n, by_default.p, next.entry ? loaded(next.entry)->id : "nothing");
}

int registered_forget(struct change *c, struct waiting *w, const char *release)
{
	int r = forget_oneshot(c, w, release);
	int followed = loader_follow_policy(c);

	if (in_use(c)) {
		check_policy(c);
		say_gone(c);
	}
	return r < 0 ? r : followed;
}
