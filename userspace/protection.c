/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot_facts.h"
#include "protection.h"
#include "trial_entry.h"
#include "system.h"

void protection_read(const struct options *o, const struct entry_set *set, struct protection *ret)
{
	struct state state;

	*ret = (struct protection){
		.selected = boot_facts_entry(o, set),
		.release = system_release(o),
	};
	state_open(o, &state);
	verified_read(&state, &ret->verified);
	ret->has_trial = trial_read(&state, &ret->trial) == 0;
	state_close(&state);
}

void protection_free(struct protection *p)
{
	free(p->selected);
	free(p->release);
	verified_free(&p->verified);
	trial_free(&p->trial);
	*p = (struct protection){ 0 };
}

/* Whether an id is the entry's, also one with a counter, as systemd-boot has them up to version 257. */
static bool is(const struct entry *e, const char *id)
{
	/* In a title of GRUB's a sign of a pattern is a letter. */
	return id && (span_equal_nocase(e->id, span_of(id)) || entry_matches(e, span_of(id)));
}

bool protection_runs(const struct protection *p, const struct entry *e)
{
	if (!p->selected)
		return p->release && entry_has_release(e, p->release);
	if (is(e, p->selected))
		return true;
	_cleanup_free_ char *target = trial_entry_target(p->selected);
	return is(e, target);
}

bool protection_trial_pending(const struct protection *p)
{
	return p->has_trial && p->trial.stage != TRIAL_FAILED;
}

const char *protection_reason(const struct protection *p, const struct entry *e)
{
	if (protection_runs(p, e))
		return "is the running system's";
	if (verified_has(&p->verified, e->id))
		return "was verified, it is a way back";
	if (protection_trial_pending(p) && (is(e, p->trial.target) || is(e, p->trial.entry)))
		return "is being tried";
	return NULL;
}
