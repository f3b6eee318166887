/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of a trial that several commands take: arming, giving up, and what comes of it.
 *
 * Order of writes. Arming: the record, the entry, the one-shot; so whatever boots is told by a record.
 * Ending: the record of the verdict, the history, the default, the one-shot, the entry; so that what is left
 * undone by a power cut is known, and done by the next run. */
#ifndef GRANULE_TRIAL_H
#define GRANULE_TRIAL_H

#include "change.h"
#include "records.h"
#include "trial_entry.h"

/* Whether a trial waits for its boot, or for what follows from it. */
bool trial_is_pending(const struct trial *t);

/* Whether a one-shot names its entry: by id, or by a pattern where the loader needs one. */
bool trial_is_named(const struct trial *t, struct span pattern);

/* Whether the one-shot of the trial waits where the loader would find it. */
bool trial_is_armed(const struct change *c, const struct trial *t);

/* Arms its one-shot, with its words. Returns 0 or -errno after one printed line. */
int trial_arm(struct change *c, const struct trial *t);

/* Removes its one-shot, if it is that which waits, and its entry. Returns 0 or -errno after printed lines. */
int trial_clear(struct change *c, const struct trial *t);

/* Ends a trial that has no verdict, with a line in the history. */
int trial_cancel(struct state *s, struct change *c, struct trial *t, const char *reason);

/* A trial that waits for its boot, or to be made the default, while something else is stored. */
struct waiting {
	struct state state;
	struct trial trial;
	bool is_armed;
};

/* Locks the state if a trial may wait; before change_start(). Returns 0 or -errno after one printed line. */
int waiting_open(const struct options *o, struct waiting *ret);
/* To be called after change_start(). */
void waiting_look(struct waiting *w, const struct change *c);
/* Gives the trial up if its one-shot was armed and is not any more. `command` is why. With `new_default` a
 * trial that passed is not made the default any more: that would take back what the owner said since. */
int waiting_settle(struct waiting *w, struct change *c, const char *command, bool new_default);
void waiting_close(struct waiting *w);

/* Makes the target the default: as a policy, if a size was asked for and it leads to this entry. `ret_wish`
 * is how. Returns 0 or -errno after one printed line. */
int trial_promote(struct change *c, const struct trial *t, enum choice_wish *ret_wish);

/* Removes the entries of trials of this system that no record tells of, and a one-shot for one: what a power
 * cut, or a record that was lost, left behind. `keep`, which may be NULL, stays. Returns 0 or -errno after
 * printed lines. */
int trial_sweep(struct change *c, const struct trial *keep);

/* "64K pages, test-6.1-64k.conf" */
char *trial_text(const struct trial *t);

/* What is to be said of it now: for a sentence behind "TRIAL: ". `boot_id` and `entry` are those of this
 * boot; each may be NULL. */
const char *trial_stage_text(const struct trial *t, const char *boot_id, const char *entry);

/* How the entry that boots by default came to be it. */
enum choice_wish wish_of_default(const struct entry_set *set);

/* Makes what was chosen once the default again. */
int choice_restore(struct change *c, const struct choice *choice);

#endif
