/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `granule verify --boot` does once in every boot: finds out what kind of boot this is, judges it,
 * records that, and does what follows: a trial that passed becomes the default, one that failed leads back to
 * it. */
#ifndef GRANULE_BOOT_JUDGE_H
#define GRANULE_BOOT_JUDGE_H

#include "options.h"

/* Returns an exit code. */
int boot_judge(const struct options *o);

/* Ends the trial that runs, if it has no verdict yet, as failed. Returns an exit code, or -errno after one
 * printed line if nothing can be read or recorded. */
int boot_fail_trial(const struct options *o, const char *reason);

/* Waits until the deadline of the trial that runs, and ends it when it has no verdict by then. Returns an
 * exit code, at once if this boot is no trial or has its verdict. */
int boot_watch_deadline(const struct options *o);

/* The reason of a trial's failure when this many seconds are over, to be freed. */
char *boot_deadline_reason(unsigned after_s);

#endif
