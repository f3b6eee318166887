/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/env_wishes.h>

#include "../records.h"
#include "grub_stored.h"

/* Of which entry the tries are; GRUB does not know it, and leaves it alone. */
#define ENV_TRIES_OF SPAN("granule_tries_of")

#define GENERATOR "/etc/grub.d/09_granule"

void grub_changes_add(struct grub_changes *changes, struct span name, const char *value)
{
	changes->items[changes->n++] = (struct grub_setting){ name, value };
}

void grub_changes_add_rivals(struct grub_changes *changes)
{
	grub_changes_add(changes, ENV_ONESHOT, NULL);
	grub_changes_add(changes, GRUB_ENV_OPTIONS, NULL);
}

int grub_stored_write(struct change *c, struct grub_block *block, const struct grub_changes *changes)
{
	char *old[GRUB_STORED_MAX];

	for (size_t i = 0; i < changes->n; i++)
		old[i] = grub_block_get(block, changes->items[i].name);
	int r = grub_block_change(c->o, block, changes->items, changes->n, NULL);
	for (size_t i = 0; i < changes->n; i++) {
		const char *value = changes->items[i].value;
		struct span name = changes->items[i].name;

		if (r == 0 && value && !(old[i] && strcmp(old[i], value) == 0))
			action(&c->actions, "set %.*s to %s in %s", (int)name.n, name.p, value, block->path);
		else if (r == 0 && !value && old[i])
			action(&c->actions, "removed %.*s from %s (was %s)", (int)name.n, name.p, block->path,
			       old[i]);
		free(old[i]);
	}
	if (r == 0)
		entry_set_input(&c->set);
	return r;
}

/* ---- the one-shot ---- */

/* Phrases of loader.h live until the next call. */
static const char *phrase(char *taken)
{
	static char *last;

	free(last);
	last = taken;
	return last;
}

static const char *block_obstacle(const struct grub_block *block)
{
	if (block->obstacle)
		return phrase(xprintf("%s, so it could not clear it", block->obstacle));
	if (block->exists && block->problem)
		return phrase(xprintf("%s: %s", block->path, block->problem));
	return NULL;
}

const char *grub_stored_obstacle(const struct change *c)
{
	const struct grub *grub = c->set.grub;

	if (grub_has_block(grub))
		return block_obstacle(&grub->own);
	if (!grub->facts.next_entry)
		return phrase(xprintf("%s does not ask for next_entry; install " GENERATOR " and run '%s'",
				      grub->cfg_path, grub->mkconfig));
	if (grub->env.kind == GRUB_BLOCK_NONE || !grub->env.exists)
		return phrase(xprintf("there is no grubenv, in which GRUB would clear it; make it with "
				      "'%s-editenv %s%screate'",
				      grub->tools, grub->env.path ? grub->env.path : "",
				      grub->env.path ? " " : ""));
	return block_obstacle(&grub->env);
}

/* A block that GRUB cannot write keeps its one-shot, and without granule's lines that is obeyed for ever. */
static int refuse_for_ever(const struct change *c)
{
	const struct grub *grub = c->set.grub;

	if (grub_has_block(grub) || !grub->env.obstacle)
		return 0;
	complain("a one-shot in %s would be obeyed at each boot: %s; install " GENERATOR " and run '%s'",
		 grub->env.path, grub->env.obstacle, grub->mkconfig);
	return -ENOTSUP;
}

int grub_stored_clear_owner(struct change *c)
{
	struct grub *grub = c->set.grub;
	struct grub_changes changes = { 0 };

	if (!grub_has_block(grub) || !grub->facts.next_entry || !grub->env.exists || grub->env.problem)
		return 0;
	grub_changes_add(&changes, ENV_ONESHOT, NULL);
	return grub_stored_write(c, &grub->env, &changes);
}

char *grub_stored_id(const struct change *c, const char *id)
{
	return grub_has_block(c->set.grub) ? xstrdup(id) : grub_path_of_id(&c->set, id);
}

/* GNU GRUB has blscfg in a module of this name; that of Red Hat's GRUB is called blscfg. */
static bool is_blsuki(const struct grub *grub)
{
	_cleanup_free_ char *module = path_join(grub->folder, "arm64-efi/blsuki.mod");

	return grub->bls && ((grub->cfg_text && strstr(grub->cfg_text, "blsuki")) || path_exists(module));
}

int grub_stored_check_id(const struct change *c, const char *stored)
{
	if (!char_is_digit(*stored) || !is_blsuki(c->set.grub))
		return 0;
	complain("%s: begins with a digit, and this GRUB takes what does for a number of an entry: write a "
		 "word "
		 "that begins with a letter to /etc/kernel/entry-token, and have the entries made anew",
		 stored);
	return -ENOTSUP;
}

int grub_stored_arm(struct change *c, const char *id)
{
	_cleanup_free_ char *stored = grub_stored_id(c, id);
	struct grub_changes changes = { 0 };
	int r = refuse_for_ever(c);

	if (r == 0)
		r = grub_stored_check_id(c, stored);

	if (r < 0)
		return r;
	grub_changes_add(&changes, ENV_ONESHOT, stored);
	if (grub_has_block(c->set.grub))
		grub_changes_add(&changes, GRUB_ENV_OPTIONS, NULL);
	r = grub_stored_write(c, grub_wishes(c->set.grub), &changes);
	return r < 0 ? r : grub_stored_clear_owner(c);
}

int grub_stored_disarm(struct change *c)
{
	struct grub_block *block = grub_wishes(c->set.grub);
	struct grub_changes changes = { 0 };

	if (block->exists && !block->problem) {
		grub_changes_add(&changes, ENV_ONESHOT, NULL);
		if (grub_has_block(c->set.grub))
			grub_changes_add(&changes, GRUB_ENV_OPTIONS, NULL);
		int r = grub_stored_write(c, block, &changes);
		if (r < 0)
			return r;
	}
	return grub_stored_clear_owner(c);
}

/* ---- the default ---- */

int grub_stored_check_default(const struct change *c)
{
	const struct grub *grub = c->set.grub;
	const struct grub_default *def = &grub->def;

	if (grub_has_block(grub) || grub->facts.saved_entry)
		return 0;
	if (def->value && strcmp(def->value, "saved") == 0)
		complain("%s was made before GRUB_DEFAULT=saved was written into %s; run '%s'",
			 grub->cfg_path, def->file, grub->mkconfig);
	else
		complain("%s goes by GRUB_DEFAULT=%s of %s; write GRUB_DEFAULT=saved there, or "
			 "install " GENERATOR ", and run '%s'",
			 grub->cfg_path,
			 def->value                   ? def->value
			 : grub->facts.default_word.n ? "..."
						      : "0",
			 def->file ? def->file : "/etc/default/grub", grub->mkconfig);
	return -ENOTSUP;
}

/* ---- tries and verification ---- */

static bool is_verified(const struct change *c, const struct entry *e)
{
	_cleanup_free_ char *good = grub_block_get(&c->set.grub->own, GRUB_ENV_GOOD);
	struct verified verified;
	struct state state;

	if (good && span_equal(e->id, span_of(good)))
		return true;
	state_open(c->o, &state);
	bool known = verified_read(&state, &verified) == 0 && verified_has(&verified, e->id);
	verified_free(&verified);
	state_close(&state);
	return known;
}

void grub_changes_add_tries(const struct change *c, struct grub_changes *changes, const struct entry *e,
			    char *memory)
{
	const struct grub_block *own = &c->set.grub->own;
	_cleanup_free_ char *path = path_join(c->o->root, "etc/kernel/tries"), *tries = read_line(path);
	_cleanup_free_ char *counted = grub_block_get(own, GRUB_ENV_TRIES);
	_cleanup_free_ char *counted_of = grub_block_get(own, ENV_TRIES_OF);

	if (!grub_has_block(c->set.grub))
		return;
	bool wanted = e && !own->obstacle && tries && *tries >= '1' && *tries <= '9' && !tries[1] &&
		      !is_verified(c, e);
	if (!wanted) {
		grub_changes_add(changes, GRUB_ENV_TRIES, NULL);
		grub_changes_add(changes, ENV_TRIES_OF, NULL);
	} else if (!counted || !counted_of || !span_equal(e->id, span_of(counted_of))) {
		memory[0] = *tries;
		memory[1] = 0;
		grub_changes_add(changes, GRUB_ENV_TRIES, memory);
		grub_changes_add(changes, ENV_TRIES_OF, loaded(e)->id);
	}
}

/* Fedora counts boots down until somebody says that one was a success. */
static int end_fallback_counting(struct change *c)
{
	struct grub *grub = c->set.grub;
	_cleanup_free_ char *counter = grub_block_get(&grub->env, SPAN("boot_counter"));
	struct grub_changes changes = { 0 };

	if (!grub->facts.fallback_counting || !counter)
		return 0;
	grub_changes_add(&changes, SPAN("boot_success"), "1");
	return grub_stored_write(c, &grub->env, &changes);
}

int grub_stored_verified(struct change *c, const char *id)
{
	struct grub_changes changes = { 0 };
	int r = 0;

	if (grub_has_block(c->set.grub)) {
		grub_changes_add(&changes, GRUB_ENV_GOOD, id);
		grub_changes_add(&changes, GRUB_ENV_TRIES, NULL);
		grub_changes_add(&changes, ENV_TRIES_OF, NULL);
		r = grub_stored_write(c, &c->set.grub->own, &changes);
	}
	return r < 0 ? r : end_fallback_counting(c);
}
