/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wishes where loaders with the Boot Loader Interface look for them: in a variable or, where these cannot be
 * written, as a line of loader.conf. For the files of this folder; see loader.h on what writing functions do.
 *
 * Order of writes: the new wish first, then what would win over it is cleared. If power fails in between, the
 * old wish still wins, and the machine boots as before. */
#ifndef GRANULE_LOADERS_STORED_H
#define GRANULE_LOADERS_STORED_H

#include "loader.h"

/* Whether a variable can be made to hold `wanted`, or (NULL) nothing; one that cannot be changed would win
 * over loader.conf. Asked of all that a change is about before the first is made. Returns 0 or -errno after
 * one printed line. */
int stored_check(const struct change *c, const char *variable, const char *wanted);

/* What has to be changed in a file must be possible before any variable is touched: loader.conf, or the
 * environment block. */
int stored_check_file(const struct change *c, const char *path);

/* Stores a wish: `variable` of wishes.h, or the line `key`. */
int stored_set(struct change *c, const char *variable, const char *key, const char *value);

/* Clears a wish in both places, since either would win. A variable that cannot be cleared is an error.
 * key NULL: loader.conf does not hold such a wish, or is to be left alone. */
int stored_clear(struct change *c, const char *variable, const char *key);

/* Why the loader would not obey a one-shot, by what it says of itself: a phrase, or NULL. */
const char *stored_oneshot_obstacle(const struct change *c);

/* One-shots of loaders that look for them in the variable alone: members of struct loader. */
const char *stored_variable_obstacle(const struct change *c);
int stored_arm_variable(struct change *c, const char *id);
int stored_disarm_variable(struct change *c);

/* The key, or NULL after one printed line if it stands in loader.conf: that is shared, and what it says to a
 * loader that goes by it now is not ours to remove on the way. */
const char *stored_others_key(const struct change *c, const char *key, struct span pattern);

#endif
