/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "identity.h"
#include "loader.h"

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

const struct entry *loader_policy_entry(const struct change *c, enum page_size size)
{
	_cleanup_free_ const struct entry **own = xalloc(c->set.n * sizeof(struct entry *));
	struct choose_input input = c->set.input;
	enum choose_outcome why;
	struct identity identity;

	identity_read(c->o, &identity);
	input.entries = own;
	input.n_entries = 0;
	for (size_t i = 0; i < c->set.n; i++)
		if (identity_owns(&identity, c->set.entries[i]))
			own[input.n_entries++] = c->set.entries[i];
	identity_free(&identity);
	size_t found = choose_newest(&input, size, NULL, &why);

	return found == SIZE_MAX ? NULL : own[found];
}

int loader_follow_policy(struct change *c)
{
	const struct loader *loader = loader_of(&c->set);

	if (!loader->follow_policy || c->set.policy == PAGE_SIZE_UNKNOWN)
		return 0;
	return loader->follow_policy(c);
}
