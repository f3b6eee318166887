/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment block on the EFI system partition: where a one-shot waits when variables cannot be written.
 */
#ifndef GRANULE_ENV_FILE_H
#define GRANULE_ENV_FILE_H

#include <granule/env_wishes.h>

#include "report.h"

/* Reads the block for set->env; a block that is damaged is passed over, with a word. */
void env_file_read(const struct places *places, struct entry_set *set);

/* Whether the loader reads a block, and it can be written; if not *ret_why is a phrase. */
bool env_file_usable(const struct entry_set *set, const char **ret_why);

/* Stores the entry that boots once; the block is made if there is none. As the functions of wishes.h do:
 * notes an action, changes the set, honours --dry-run, and returns 0 or -errno after one printed line. */
int wish_env_oneshot(struct actions *a, struct entry_set *set, const struct places *places, const char *id);

/* Removes wishes from the block, all in one write: those of the rules in `rules` (1 << rule). */
int wish_env_clear(struct actions *a, struct entry_set *set, const struct places *places, unsigned rules);

/* Makes `block` the content of a block's file, of which `old` is the content, or NULL if there is none: where
 * it lies when one sector holds all that differs, so that a power cut leaves the one or the other; else
 * written anew and renamed. `path` is no symlink. Returns 0 or -errno. */
int env_file_write(const char *path, const char *old, const char *block);

#endif
