/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "identity.h"
#include "loader.h"
#include "protection.h"

const struct loader *loader_by_info(const char *info)
{
	static const struct loader *const known[] = { &loader_granule_boot, &loader_systemd_boot };

	if (!info)
		return &loader_granule_boot;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(info, known[i]->name, strlen(known[i]->name)) == 0)
			return known[i];
	return &loader_other;
}

const struct loader *loader_of(const struct entry_set *set)
{
	return set->backend;
}

/* `avoid`, which may be NULL, is not taken. */
static const struct entry *policy_entry(const struct change *c, enum page_size size,
					const struct entry *avoid)
{
	_cleanup_free_ const struct entry **own = xalloc(c->set.n * sizeof(struct entry *));
	bool counts = loader_of(&c->set)->policies;
	struct choose_input input = c->set.input;
	enum choose_outcome why;
	struct identity identity;

	identity_read(c->o, &identity);
	input.entries = own;
	input.n_entries = 0;
	for (size_t i = 0; i < c->set.n; i++) {
		const struct entry *e = c->set.entries[i];
		if (e != avoid && identity_owns(&identity, e) && (counts || !e->counter.present))
			own[input.n_entries++] = e;
	}
	identity_free(&identity);
	size_t found = choose_newest(&input, size, NULL, &why);

	return found == SIZE_MAX ? NULL : own[found];
}

const struct entry *loader_policy_entry(const struct change *c, enum page_size size)
{
	return policy_entry(c, size, NULL);
}

int loader_follow_policy(struct change *c)
{
	const struct loader *loader = loader_of(&c->set);
	struct span by_default = choose_asked(&c->set.input, RULE_DEFAULT);
	const struct entry *failed = NULL, *e;
	struct protection protection;
	int r = 0;

	if (!loader->follow_policy || c->set.policy == PAGE_SIZE_UNKNOWN)
		return 0;
	protection_read(c->o, &c->set, &protection);
	if (protection_trial_pending(&protection)) {
		complain("a trial is under way: the default stays as it is until then");
	} else {
		/* What failed a trial is made the default by a person, or not at all. */
		if (protection.has_trial)
			failed = entry_set_by_id(&c->set, protection.trial.target);
		if (failed && entry_matches(failed, by_default))
			failed = NULL;
		e = policy_entry(c, c->set.policy, failed);
		r = e ? loader->follow_policy(c, e) : 0;
	}
	protection_free(&protection);
	return r;
}
