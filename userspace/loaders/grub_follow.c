/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB that is given one entry as its default, which is set anew whenever entries change: where grub.cfg has
 * no lines of granule, and where entries come and go without update-grub (loader/entries). The policy is kept
 * in granule's block if there is one, else in GranulePolicy. */
#include <errno.h>
#include <string.h>

#include <granule/env_wishes.h>

#include "../grub/rpm_default.h"
#include "../wishes.h"
#include "grub_stored.h"

/* Whether the policy can be kept; NULL removes it. */
static int check_policy(const struct change *c, const char *word)
{
	const char *current = wish_stored(&c->set, "GranulePolicy");

	if (grub_has_block(c->set.grub) || c->variables ||
	    (word ? current && strcmp(current, word) == 0 : !current))
		return 0;
	complain("the policy would be kept in a variable, which cannot be written: %s; install "
		 "/etc/grub.d/09_granule and run '%s', or set an entry by its id",
		 c->why_not, c->set.grub->mkconfig);
	return -EROFS;
}

/* Policy and default, in one write where one block holds both. The variable comes first: alone it changes
 * nothing. */
static int store(struct change *c, const char *word, const struct entry *e)
{
	bool block = grub_has_block(c->set.grub);
	_cleanup_free_ char *id = e ? grub_stored_id(c, loaded(e)->id) : NULL;
	struct grub_changes changes = { 0 };
	char memory[2];
	int r = id ? grub_stored_check_id(c, id) : 0;

	if (r == 0 && !block && word)
		r = wish_variable(&c->actions, &c->set, "GranulePolicy", word);
	if (block)
		grub_changes_add(&changes, ENV_POLICY, word);
	grub_changes_add(&changes, ENV_DEFAULT, id);
	grub_changes_add(&changes, ENV_ONESHOT, NULL);
	if (block)
		grub_changes_add(&changes, GRUB_ENV_OPTIONS, NULL);
	grub_changes_add_tries(c, &changes, word ? e : NULL, memory);
	if (r == 0)
		r = grub_stored_write(c, grub_wishes(c->set.grub), &changes);
	if (r == 0 && !word && c->variables)
		r = wish_variable(&c->actions, &c->set, "GranulePolicy", NULL);
	return r < 0 ? r : grub_stored_clear_owner(c);
}

/* Packages of Red Hat's family move saved_entry, which granule's block is safe from. */
static int warn_of_updates(const struct change *c, enum page_size size, const struct entry *e)
{
	_cleanup_free_ char *conflict =
		grub_has_block(c->set.grub) ? NULL : rpm_default_conflict(c->o, size, e);

	if (conflict)
		complain("%s", conflict);
	return 0;
}

int grub_follow_set_policy(struct change *c, enum page_size size)
{
	const char *word = page_size_word(size);
	int r = grub_stored_check_default(c);

	if (r == 0)
		r = check_policy(c, word);
	const struct entry *e = loader_policy_entry(c, size);
	if (r == 0)
		r = store(c, word, e);
	return r < 0 ? r : warn_of_updates(c, size, e);
}

/* A policy would be followed at the next change of an entry: it goes. */
int grub_follow_set_default(struct change *c, const struct entry *e)
{
	int r = grub_stored_check_default(c);

	if (r == 0)
		r = check_policy(c, NULL);
	if (r == 0)
		r = store(c, NULL, e);
	return r < 0 ? r : warn_of_updates(c, PAGE_SIZE_UNKNOWN, e);
}

int grub_follow_set_none(struct change *c)
{
	struct grub_block *block = grub_wishes(c->set.grub);
	int r = check_policy(c, NULL);

	if (r < 0)
		return r;
	/* Nothing is removed from what is not there, or cannot be read. */
	if (!block->exists || block->problem)
		return c->variables ? wish_variable(&c->actions, &c->set, "GranulePolicy", NULL) : 0;
	return store(c, NULL, NULL);
}

/* The default is ours to move while it names an entry of that page size, or nothing that is there. */
static bool default_is_ours(const struct change *c)
{
	struct span now = choose_asked(&c->set.input, RULE_DEFAULT);

	for (size_t i = 0; now.n && i < c->set.n; i++)
		if (entry_matches(c->set.entries[i], now) && c->set.entries[i]->page_size != c->set.policy)
			return false;
	return true;
}

int grub_follow_policy(struct change *c, const struct entry *e)
{
	struct grub_changes changes = { 0 };
	char memory[2];

	if (!default_is_ours(c)) {
		struct span now = choose_asked(&c->set.input, RULE_DEFAULT);
		complain("the policy %s is not followed: the default is %.*s ('granule set %s' changes that)",
			 page_size_word(c->set.policy), (int)now.n, now.p, page_size_word(c->set.policy));
		return 0;
	}
	int r = grub_stored_check_default(c);
	if (r < 0)
		return r;
	_cleanup_free_ char *id = grub_stored_id(c, loaded(e)->id);
	grub_changes_add(&changes, ENV_DEFAULT, id);
	grub_changes_add_tries(c, &changes, e, memory);
	return grub_stored_write(c, grub_wishes(c->set.grub), &changes);
}
