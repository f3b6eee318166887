/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB whose menu stands in grub.cfg. With granule's lines it goes by granule's block, and update-grub finds
 * the entry of a policy anew. Without them it is given one entry in grubenv, if grub.cfg asks for that, and
 * the policy is kept in GranulePolicy for us. */
#include <errno.h>
#include <string.h>

#include <granule/env_wishes.h>

#include "../protection.h"
#include "../wishes.h"
#include "grub_stored.h"

static const char *registered_by(const struct entry_set *set)
{
	static char *last;

	if (set->grub->bls)
		return "packages of kernels bring their entries with them";
	free(last);
	last = xprintf("'%s' makes entries for new kernels", set->grub->mkconfig);
	return last;
}

/* ---- with granule's lines ---- */

static int arm_with(struct change *c, const char *id, const char *words)
{
	struct grub_changes changes = { 0 };

	grub_changes_add(&changes, ENV_ONESHOT, id);
	grub_changes_add(&changes, GRUB_ENV_OPTIONS, *words ? words : NULL);
	int r = grub_stored_write(c, &c->set.grub->own, &changes);
	return r < 0 ? r : grub_stored_clear_owner(c);
}

/* The entry that grub.cfg has for a policy; NULL. */
static const struct entry *entry_in_cfg(const struct change *c, enum page_size size)
{
	_cleanup_free_ char *id = xstrndup(c->set.grub->facts.granule_policy[size]);

	return entry_set_by_id(&c->set, *id ? id : NULL);
}

static void complain_stale(const struct change *c, enum page_size size, const struct entry *newest)
{
	const struct entry *e = entry_in_cfg(c, size);

	if (newest && e != newest)
		complain("%s has %s for the policy %s, and %s is the newest; run '%s'", c->set.grub->cfg_path,
			 e ? loaded(e)->id : "nothing", page_size_word(size), loaded(newest)->id,
			 c->set.grub->mkconfig);
}

/* The owner's word counts, but 09_granule goes by the verdict. */
static void warn_of_failed_trial(const struct change *c, const struct entry *e)
{
	struct protection protection;

	protection_read(c->o, &c->set, &protection);
	if (e && protection.has_trial && protection.trial.stage == TRIAL_FAILED &&
	    span_equal(e->id, span_of(protection.trial.target)) && !verified_has(&protection.verified, e->id))
		complain("%s failed its trial: until a boot of it is verified, '%s' leaves it out of the "
			 "policy ('granule "
			 "set %s' keeps it)",
			 loaded(e)->id, c->set.grub->mkconfig, loaded(e)->id);
	protection_free(&protection);
}

static int set_policy(struct change *c, enum page_size size)
{
	const struct entry *e = entry_in_cfg(c, size);
	struct grub_changes changes = { 0 };
	char memory[2];

	grub_changes_add(&changes, ENV_POLICY, page_size_word(size));
	grub_changes_add(&changes, ENV_DEFAULT, NULL);
	grub_changes_add_rivals(&changes);
	grub_changes_add_tries(c, &changes, e, memory);
	int r = grub_stored_write(c, &c->set.grub->own, &changes);
	if (r == 0)
		r = grub_stored_clear_owner(c);
	if (r == 0)
		complain_stale(c, size, loader_policy_entry(c, size));
	if (r == 0)
		warn_of_failed_trial(c, e);
	return r;
}

static int set_default(struct change *c, const struct entry *e)
{
	struct grub_changes changes = { 0 };
	char memory[2];

	grub_changes_add(&changes, ENV_DEFAULT, loaded(e)->id);
	grub_changes_add_rivals(&changes);
	grub_changes_add_tries(c, &changes, NULL, memory);
	int r = grub_stored_write(c, &c->set.grub->own, &changes);
	return r < 0 ? r : grub_stored_clear_owner(c);
}

static int set_none(struct change *c)
{
	struct grub_changes changes = { 0 };
	char memory[2];
	int r = 0;

	if (c->set.grub->own.exists) {
		grub_changes_add(&changes, ENV_POLICY, NULL);
		grub_changes_add(&changes, ENV_DEFAULT, NULL);
		grub_changes_add_rivals(&changes);
		grub_changes_add_tries(c, &changes, NULL, memory);
		r = grub_stored_write(c, &c->set.grub->own, &changes);
	}
	if (r == 0 && wish_stored(&c->set, "GranulePolicy") && c->variables)
		r = wish_variable(&c->actions, &c->set, "GranulePolicy", NULL);
	return r < 0 ? r : grub_stored_clear_owner(c);
}

/* update-grub has made grub.cfg anew already. What was stored before granule's lines were there is taken
 * over; a default that moved to an entry nobody has verified is given its tries. */
static int follow_policy(struct change *c, const struct entry *e)
{
	_cleanup_free_ char *stored = grub_block_get(&c->set.grub->own, ENV_POLICY);
	_cleanup_free_ char *by_default = grub_block_get(&c->set.grub->own, ENV_DEFAULT);
	struct grub_changes changes = { 0 };
	char memory[2];

	complain_stale(c, c->set.policy, e);
	if (!stored)
		grub_changes_add(&changes, ENV_POLICY, page_size_word(c->set.policy));
	if (!by_default)
		grub_changes_add_tries(c, &changes, entry_in_cfg(c, c->set.policy), memory);
	return changes.n ? grub_stored_write(c, &c->set.grub->own, &changes) : 0;
}

const struct loader loader_grub = {
	.name = "GRUB",
	.oneshot_obstacle = grub_stored_obstacle,
	.arm = grub_stored_arm,
	.arm_with = arm_with,
	.disarm = grub_stored_disarm,
	.set_policy = set_policy,
	.set_default = set_default,
	.set_none = set_none,
	.follow_policy = follow_policy,
	.verified = grub_stored_verified,
	.registered_by = registered_by,
};

/* ---- without, or with files in loader/entries: RHEL, Fedora, openEuler ---- */

const struct loader loader_grub_given = {
	.name = "GRUB",
	.oneshot_obstacle = grub_stored_obstacle,
	.arm = grub_stored_arm,
	.disarm = grub_stored_disarm,
	.set_policy = grub_follow_set_policy,
	.set_default = grub_follow_set_default,
	.set_none = grub_follow_set_none,
	.follow_policy = grub_follow_policy,
	.verified = grub_stored_verified,
	.registered_by = registered_by,
};
