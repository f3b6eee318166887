/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include <granule/env_wishes.h>

#include "../loaders/loader.h"
#include "../report.h"
#include "../root_path.h"
#include "grub_status.h"
#include "rpm_default.h"

static bool is_number(struct span s)
{
	size_t n = 0;

	while (n < s.n && char_is_digit(s.p[n]))
		n++;
	return n && (n == s.n || s.p[n] == '>');
}

/* The default of grub.cfg, saved or literal. */
static char *value_of(const struct grub *grub)
{
	char *saved = grub->facts.saved_entry ? grub_block_get(&grub->env, ENV_DEFAULT) : NULL;

	if (saved && *saved)
		return saved;
	free(saved);
	if (grub->facts.default_word.n)
		return xstrndup(grub->facts.default_word);
	return grub->facts.saved_entry ? NULL : xstrdup("0");
}

/* Whether grub.cfg was made with the GRUB_DEFAULT that is set now. */
static bool is_current(const struct grub *grub)
{
	const char *wanted = grub->def.value;

	if (!wanted)
		return true;
	if (strcmp(wanted, "saved") == 0 || grub->facts.saved_entry)
		return grub->facts.saved_entry && strcmp(wanted, "saved") == 0;
	return span_equal(span_of(wanted), grub->facts.default_word) ||
	       (!grub->facts.default_word.n && strcmp(wanted, "0") == 0) || grub->facts.default_from.n;
}

char *grub_status_default(const struct options *o, const struct entry_set *set)
{
	const struct grub *grub = set->grub;
	_cleanup_free_ char *value = value_of(grub);
	bool saved = grub->facts.saved_entry;
	/* The file tells of grub.cfg only as long as that was made by it. */
	const char *file = is_current(grub) && grub->def.file ? grub->def.file : grub->cfg_path;
	_cleanup_free_ char *where =
		xprintf("%s%s", file == grub->cfg_path ? "" : "GRUB_DEFAULT in ", root_path_shown(o, file));

	if (saved && !value)
		return xprintf("the first entry: saved, but nothing is (%s)", where);
	if (saved)
		return xprintf("%s, saved in %s (%s)", value, root_path_shown(o, grub->env.path), where);
	return xprintf("%s (%s)", value, where);
}

static void note_stale(const struct options *o, const struct grub *grub, struct strings *ret)
{
	if (grub->def.problem)
		strings_add(ret,
			    xprintf("%s; what it means for the default is not known", grub->def.problem));
	else if (!is_current(grub))
		strings_add(ret, xprintf("GRUB_DEFAULT=%s%s%s takes effect after '%s'", grub->def.value,
					 grub->def.file ? " in " : "",
					 grub->def.file ? root_path_shown(o, grub->def.file) : "",
					 grub->mkconfig));
}

static void note_number(const struct grub *grub, struct strings *ret)
{
	_cleanup_free_ char *value = value_of(grub);

	if (value && is_number(span_of(value)))
		strings_add(ret,
			    xprintf("GRUB's default %s is a number: it means another entry when kernels come "
				    "and go",
				    value));
}

static void note_block(const struct options *o, const struct grub_block *block, struct strings *ret)
{
	if (block->kind == GRUB_BLOCK_NONE || !block->path)
		return;
	if (block->problem)
		strings_add(ret, xprintf("%s: %s", root_path_shown(o, block->path), block->problem));
	else if (block->obstacle)
		strings_add(ret, xprintf("GRUB reads %s, but cannot write it: %s",
					 root_path_shown(o, block->path), block->obstacle));
}

/* It was stored before granule's lines were there. */
static void note_variable(const struct entry_set *set, struct strings *ret)
{
	_cleanup_free_ char *stored = grub_block_get(&set->grub->own, ENV_POLICY);
	const char *word = page_size_word(set->policy);

	if (grub_has_block(set->grub) && !stored && set->policy != PAGE_SIZE_UNKNOWN)
		strings_add(ret, xprintf("GRUB does not know of the policy %s yet: 'granule set %s' tells it",
					 word, word));
}

/* The policy's entry is found when grub.cfg is made. */
static void note_policy(const struct options *o, const struct entry_set *set, struct strings *ret)
{
	const struct grub *grub = set->grub;
	enum choose_outcome why;
	size_t newest = set->policy == PAGE_SIZE_UNKNOWN
				? SIZE_MAX
				: choose_newest(&set->input, set->policy, NULL, &why);

	if (newest == SIZE_MAX || grub->bls || !grub_has_block(grub) ||
	    span_equal(set->entries[newest]->id, grub->facts.granule_policy[set->policy]))
		return;
	const char *id = loaded(set->entries[newest])->id;
	strings_add(ret, xprintf("%s is the newest entry with %s pages, but %s starts another for them or "
				 "none: '%s' makes it anew; what failed a trial, or is on trial, boots by "
				 "'granule set %s' only",
				 id, page_size_title(set->policy), root_path_shown(o, grub->cfg_path),
				 grub->mkconfig, id));
}

/* A kernel package that moves the default goes by saved_entry, which granule's lines do not. */
static void note_updates(const struct options *o, const struct entry_set *set, struct strings *ret)
{
	struct next_boot by_default;

	if (grub_has_block(set->grub) || !set->grub->facts.saved_entry)
		return;
	default_boot(set, &by_default);
	char *conflict = rpm_default_conflict(o, set->policy, by_default.entry);
	if (conflict)
		strings_add(ret, conflict);
}

static void note_savedefault(const struct grub *grub, struct strings *ret)
{
	if (grub->def.save_default && grub->facts.saved_entry && !grub_has_block(grub))
		strings_add(ret,
			    xstrdup("GRUB_SAVEDEFAULT is set: what somebody picks in the menu becomes the "
				    "default"));
}

static void note_tries(const struct grub *grub, struct strings *ret)
{
	_cleanup_free_ char *tries = grub_block_get(&grub->own, GRUB_ENV_TRIES);

	if (grub_has_block(grub) && tries)
		strings_add(ret,
			    xprintf("the default may boot %s more times before 'granule verify --boot' finds "
				    "it in order",
				    tries));
}

static void note_counting(const struct grub *grub, struct strings *ret)
{
	_cleanup_free_ char *counter = grub_block_get(&grub->env, SPAN("boot_counter"));
	_cleanup_free_ char *success = grub_block_get(&grub->env, SPAN("boot_success"));

	if (grub->facts.fallback_counting && counter && success && strcmp(success, "0") == 0)
		strings_add(ret,
			    xprintf("boot_counter is %s and boot_success 0 in grubenv: at 0 GRUB boots the "
				    "second entry, whatever is set",
				    counter));
}

void grub_status_notes(const struct options *o, const struct entry_set *set, struct strings *ret)
{
	const struct grub *grub = set->grub;

	note_stale(o, grub, ret);
	note_number(grub, ret);
	if (grub_has_block(grub))
		note_block(o, &grub->own, ret);
	else
		note_block(o, &grub->env, ret);
	note_variable(set, ret);
	note_policy(o, set, ret);
	note_updates(o, set, ret);
	note_savedefault(grub, ret);
	note_tries(grub, ret);
	note_counting(grub, ret);
}

json_object *grub_status_json(const struct options *o, const struct entry_set *set)
{
	const struct grub *grub = set->grub;
	_cleanup_free_ char *value = value_of(grub);
	json_object *root = json_object_new_object();
	const struct grub_block *block = grub_wishes(set->grub);
	struct strings notes = { 0 };

	grub_status_notes(o, set, &notes);
	json_object_object_add(root, "config", json_text(root_path_shown(o, grub->cfg_path)));
	json_object_object_add(root, "lines", json_object_new_boolean(grub_has_lines(grub)));
	json_object_object_add(root, "block",
			       block->path ? json_text(root_path_shown(o, block->path)) : NULL);
	json_object_object_add(root, "default", json_text(value));
	json_object_object_add(root, "default_file",
			       grub->def.file ? json_text(root_path_shown(o, grub->def.file)) : NULL);
	json_object_object_add(root, "notes", json_strings(&notes));
	strings_free(&notes);
	return root;
}
