/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd-boot: variables of the Boot Loader Interface. Of page sizes it knows nothing: a policy is kept in
 * GranulePolicy for us, and holds by way of LoaderEntryDefault and the sort keys. */
#include <errno.h>

#include "registry.h"
#include "stored.h"
#include "wishes.h"

/* Up to version 257 systemd-boot takes the boot counter for a part of the id, later ones do not. A pattern
 * fits both, unless it fits another entry as well. */
static char *name_for(const struct change *c, const struct entry *e)
{
	struct span name = e->counter.name, suffix = e->counter.suffix;

	if (!e->counter.present)
		return xstrndup(e->id);
	char *pattern = xprintf("%.*s*%.*s", (int)name.n, name.p, (int)suffix.n, suffix.p);
	for (size_t i = 0; i < c->set.n; i++) {
		const struct entry *other = c->set.entries[i];

		/* One of a trial has no tries left, and comes last. */
		if (other == e || other->bls.trial || !entry_matches(other, span_of(pattern)))
			continue;
		free(pattern);
		return xstrndup(e->id);
	}
	return pattern;
}

static char *name_of_id(const struct change *c, const char *id)
{
	const struct entry *e = entry_set_by_id(&c->set, id);

	return e ? name_for(c, e) : xstrdup(id);
}

static int arm(struct change *c, const char *id)
{
	_cleanup_free_ char *name = name_of_id(c, id);

	return stored_arm_variable(c, name);
}

/* What has to be cleared must be possible before anything is touched. */
static int check_rivals(const struct change *c)
{
	int r = stored_check(c, "LoaderEntryPreferred", NULL);

	if (r == 0)
		r = stored_check(c, "LoaderEntryOneShot", NULL);
	if (r < 0)
		return r;
	return c->set.conf.preferred_pattern.n ? stored_check_file(c, "loader/loader.conf") : 0;
}

/* What wins over a default. The line `default` of loader.conf does not, and comes into its own again when the
 * variable is cleared. */
static int clear_rivals(struct change *c)
{
	int r = stored_clear(c, "LoaderEntryPreferred", "preferred");

	return r < 0 ? r : stored_disarm_variable(c);
}

static int check_default(const struct change *c, const struct entry *e)
{
	_cleanup_free_ char *name = name_for(c, e);

	return stored_check(c, "LoaderEntryDefault", name);
}

static int store_default(struct change *c, const struct entry *e)
{
	_cleanup_free_ char *name = name_for(c, e);

	return stored_set(c, "LoaderEntryDefault", "default", name);
}

static int set_policy(struct change *c, enum page_size size)
{
	const char *word = page_size_word(size);
	const struct entry *e = loader_policy_entry(c, size);
	int r = stored_check(c, "GranulePolicy", word);

	if (r == 0 && e)
		r = check_default(c, e);
	if (r == 0)
		r = check_rivals(c);
	if (r == 0)
		r = stored_set(c, "GranulePolicy", "page-size", word);
	if (r == 0 && e)
		r = store_default(c, e);
	if (r == 0 && e)
		r = clear_rivals(c);
	/* What boots when the default is gone one day. */
	if (r == 0 && registry_sort(&c->actions, &c->set, size) < 0)
		complain("the order of entries stays as it was");
	return r;
}

/* A policy would be followed at the next change of an entry: it goes. */
static int set_default(struct change *c, const struct entry *e)
{
	int r = check_default(c, e);

	if (r == 0)
		r = stored_check(c, "GranulePolicy", NULL);
	if (r == 0)
		r = check_rivals(c);
	if (r == 0)
		r = store_default(c, e);
	if (r == 0)
		r = stored_clear(c, "GranulePolicy", "page-size");
	return r < 0 ? r : clear_rivals(c);
}

static int set_none(struct change *c)
{
	struct span by_default = c->set.conf.default_pattern, preferred = c->set.conf.preferred_pattern;
	int r = stored_check(c, "GranulePolicy", NULL);

	if (r == 0)
		r = stored_check(c, "LoaderEntryDefault", NULL);
	if (r == 0)
		r = check_rivals(c);
	if (r == 0)
		r = stored_clear(c, "GranulePolicy", "page-size");
	/* Where variables cannot be written the line is where the wish is. */
	if (r == 0)
		r = stored_clear(c, "LoaderEntryDefault",
				 c->variables ? stored_others_key(c, "default", by_default) : "default");
	if (r == 0)
		r = stored_clear(c, "LoaderEntryPreferred", stored_others_key(c, "preferred", preferred));
	return r < 0 ? r : stored_disarm_variable(c);
}

/* The default is ours to move while it names an entry of that page size, or nothing that is there: somebody
 * else's default is the owner's word. */
static bool default_is_ours(const struct change *c, enum page_size size)
{
	struct span now = choose_asked(&c->set.input, RULE_DEFAULT);

	if (!now.n && !c->variables)
		now = choose_asked(&c->set.input, RULE_DEFAULT_CONFIG);
	for (size_t i = 0; now.n && i < c->set.n; i++)
		if (entry_matches(c->set.entries[i], now) && c->set.entries[i]->page_size != size)
			return false;
	return true;
}

static int follow_policy(struct change *c, const struct entry *e)
{
	if (!default_is_ours(c, c->set.policy)) {
		struct span now = choose_asked(&c->set.input, RULE_DEFAULT);
		complain("the policy %s is not followed: the default is %.*s ('granule set %s' changes that)",
			 page_size_word(c->set.policy), (int)now.n, now.p, page_size_word(c->set.policy));
		return 0;
	}
	int r = check_default(c, e);
	return r < 0 ? r : store_default(c, e);
}

const struct loader loader_systemd_boot = {
	.name = "systemd-boot",
	.oneshot_obstacle = stored_variable_obstacle,
	.arm = arm,
	.disarm = stored_disarm_variable,
	.set_policy = set_policy,
	.set_default = set_default,
	.set_none = set_none,
	.follow_policy = follow_policy,
};
