/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule-boot: everything in variables or loader.conf, the one-shot in the environment block as well. It
 * finds the entry of a policy itself. */
#include <errno.h>
#include <string.h>

#include "env_file.h"
#include "registry.h"
#include "stored.h"
#include "wishes.h"

static const char *oneshot_obstacle(const struct change *c)
{
	static char text[300];
	const char *why = stored_oneshot_obstacle(c);

	if (why || c->variables || env_file_usable(&c->set, &why))
		return why;
	snprintf(text, sizeof(text), "%s; and %s", c->why_not, why);
	return text;
}

/* Where firmware takes no variable (its store is full, say), the block does. What is in the variable would
 * win over it. */
static int arm_in_block(struct change *c, const char *id)
{
	int r = wish_env_oneshot(&c->actions, &c->set, &c->places, id);

	return r < 0 ? r : stored_clear(c, "LoaderEntryOneShot", NULL);
}

static int arm(struct change *c, const char *id)
{
	const char *why;
	bool usable = env_file_usable(&c->set, &why);

	if (c->variables) {
		int r = wish_variable(&c->actions, &c->set, "LoaderEntryOneShot", id);
		return r < 0 && usable ? arm_in_block(c, id) : r;
	}
	if (usable) {
		/* A variable that stays would win. */
		const char *stays = wish_stored(&c->set, "LoaderEntryOneShot");
		if (stays && strcmp(stays, id) == 0)
			return 0;
		int r = stored_check(c, "LoaderEntryOneShot", id);
		return r < 0 ? r : arm_in_block(c, id);
	}
	complain("a one-shot cannot be armed: %s; and %s", c->why_not, why);
	return -EROFS;
}

static int disarm(struct change *c)
{
	/* What cannot be cleared in one place does not keep the other from being cleared. */
	int r = stored_clear(c, "LoaderEntryOneShot", NULL);
	int in_block = wish_env_clear(&c->actions, &c->set, &c->places, 1u << RULE_ONESHOT);

	return r < 0 ? r : in_block;
}

/* What has to be cleared must be possible before anything is touched. */
static int check_rivals(const struct change *c, bool default_too)
{
	int r = default_too ? stored_check(c, "LoaderEntryDefault", NULL) : 0;

	if (r == 0)
		r = stored_check(c, "LoaderEntryPreferred", NULL);
	if (r == 0)
		r = stored_check(c, "LoaderEntryOneShot", NULL);
	if (r < 0)
		return r;
	if (c->set.conf.preferred_pattern.n || (default_too && c->set.conf.default_pattern.n))
		return stored_check_file(c, "loader/loader.conf");
	if (c->set.input.from_env & (1u << RULE_ONESHOT | 1u << RULE_DEFAULT))
		return stored_check_file(c, ENV_PATH.p);
	return 0;
}

/* Clears what wins over a default, and with `default_too` what wins over a policy. */
static int clear_rivals(struct change *c, bool default_too)
{
	int r = default_too ? stored_clear(c, "LoaderEntryDefault", "default") : 0;

	if (r == 0)
		r = stored_clear(c, "LoaderEntryPreferred", "preferred");
	if (r == 0)
		r = stored_clear(c, "LoaderEntryOneShot", NULL);
	/* A policy or default of the block would win over one in loader.conf. */
	if (r == 0)
		r = wish_env_clear(&c->actions, &c->set, &c->places,
				   1u << RULE_ONESHOT | 1u << RULE_DEFAULT |
					   (default_too ? 1u << RULE_POLICY : 0));
	return r;
}

static int set_policy(struct change *c, enum page_size size)
{
	const char *word = page_size_word(size);
	int r = stored_check(c, "GranulePolicy", word);

	if (r == 0)
		r = check_rivals(c, true);
	if (r == 0)
		r = stored_set(c, "GranulePolicy", "page-size", word);
	if (r == 0)
		r = clear_rivals(c, true);
	/* Loaders that only know sort keys follow as well. The policy does not depend on it. */
	if (r == 0 && registry_sort(&c->actions, &c->set, size) < 0)
		complain("the order of entries in other loaders stays as it was");
	return r;
}

static int set_default(struct change *c, const struct entry *e)
{
	const char *id = loaded(e)->id;
	int r = stored_check(c, "LoaderEntryDefault", id);

	if (r == 0)
		r = check_rivals(c, false);
	if (r == 0)
		r = stored_set(c, "LoaderEntryDefault", "default", id);
	if (r == 0)
		r = clear_rivals(c, false);
	return r;
}

static int set_none(struct change *c)
{
	int r = stored_check(c, "GranulePolicy", NULL);

	if (r == 0)
		r = check_rivals(c, true);
	if (r == 0)
		r = stored_clear(c, "GranulePolicy", "page-size");
	return r < 0 ? r : clear_rivals(c, true);
}

const struct loader loader_granule_boot = {
	.name = GRANULE_BOOT_NAME,
	.policies = true,
	.env_block = true,
	.oneshot_obstacle = oneshot_obstacle,
	.arm = arm,
	.disarm = disarm,
	.set_policy = set_policy,
	.set_default = set_default,
	.set_none = set_none,
};
