/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another loader with the Boot Loader Interface: one-shots as far as it says that it knows them, defaults, no
 * policies. */
#include <errno.h>

#include "registry.h"
#include "stored.h"

/* What would win over a policy of granule-boot, which is to be installed. */
static int clear_all(struct change *c)
{
	struct span by_default = c->set.conf.default_pattern, preferred = c->set.conf.preferred_pattern;
	int r = stored_clear(c, "LoaderEntryDefault", stored_others_key(c, "default", by_default));

	if (r == 0)
		r = stored_clear(c, "LoaderEntryPreferred", stored_others_key(c, "preferred", preferred));
	return r < 0 ? r : stored_disarm_variable(c);
}

static int set_policy(struct change *c, enum page_size size)
{
	const char *word = page_size_word(size);

	if (!c->o->force) {
		complain("%s does not know page-size policies; run 'granule install --once' and reboot, or "
			 "set an entry by its id",
			 c->set.loader);
		return -ENOTSUP;
	}
	int r = stored_check(c, "GranulePolicy", word);
	if (r == 0)
		r = stored_set(c, "GranulePolicy", "page-size", word);
	if (r == 0)
		r = clear_all(c);
	if (r == 0 && registry_sort(&c->actions, &c->set, size) < 0)
		complain("the order of entries in other loaders stays as it was");
	return r;
}

static int set_default(struct change *c, const struct entry *e)
{
	const char *id = loaded(e)->id;
	int r = stored_check(c, "LoaderEntryDefault", id);

	if (r == 0)
		r = stored_set(c, "LoaderEntryDefault", "default", id);
	if (r == 0)
		r = stored_clear(c, "LoaderEntryPreferred", "preferred");
	return r < 0 ? r : stored_disarm_variable(c);
}

static int set_none(struct change *c)
{
	int r = stored_clear(c, "GranulePolicy", "page-size");

	return r < 0 ? r : clear_all(c);
}

const struct loader loader_other = {
	.name = "another loader",
	.oneshot_obstacle = stored_variable_obstacle,
	.arm = stored_arm_variable,
	.disarm = stored_disarm_variable,
	.set_policy = set_policy,
	.set_default = set_default,
	.set_none = set_none,
};
