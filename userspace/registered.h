/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that come and go where something else than `register` makes their entries: GRUB's own tools. What
 * is wanted must follow all the same. */
#ifndef GRANULE_REGISTERED_H
#define GRANULE_REGISTERED_H

#include "trial.h"

/* What makes the entries, as a phrase; NULL if `register` does. */
const char *registered_by(const struct entry_set *set);

/* After a kernel came (`release`; NULL: nobody says which): the policy is followed, and one line each tells
 * of what the entries do not show yet. Returns 0 or -errno after one printed line. */
int registered_follow(struct change *c, const char *release);

/* After a kernel was removed: a one-shot or a trial of what is gone is given up, the policy is followed, and
 * one line each tells what else of it was wanted. Returns 0 or -errno after printed lines. */
int registered_forget(struct change *c, struct waiting *w, const char *release);

#endif
