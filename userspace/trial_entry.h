/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entry that a trial boots: a copy of the one that is tried, with a command line that brings the machine
 * back when the kernel panics.
 *
 * Its file has the counter "+0": it has no tries left, so no loader takes it as a default, by a pattern or by
 * its place in the menu. Only a one-shot names it. GRUB knows no counters: there its name sorts last.
 *
 * Entries of /etc/grub.d/09_granule take words from GRUB's environment block, and need no copy: the words are
 * there for the boot of the one-shot alone, and one of them marks it as the trial's. */
#ifndef GRANULE_TRIAL_ENTRY_H
#define GRANULE_TRIAL_ENTRY_H

#include "change.h"
#include "records.h"
#include "settings.h"

/* Whether the trial of an entry gets one of its own. A unified image is tried as it is. */
bool trial_entry_possible(const struct entry *target);

/* Whether the loader adds words to the command line of its boot instead. */
bool trial_words_possible(const struct change *c, const struct entry *target);

/* The value of granule.trial= among the words of a trial; empty if it has none. It is another one each time
 * that a trial is armed. */
struct span trial_words_mark(const struct trial *t);

/* Makes the words anew, with another mark, for a trial that is armed again in the boot t->boot_id. */
void trial_words_renew(struct trial *t);

/* Whether an id is that of such an entry, by its name: where the entry itself cannot be read. NULL is none.
 */
bool trial_entry_has_id(const char *id);

/* Fills t->entry, and t->file and t->volume or t->words, for a trial of `target` that is armed in the boot
 * t->boot_id, and makes the text of the file (to be freed; NULL if there is none). Returns 0 or -errno after
 * one printed line. */
int trial_entry_plan(const struct change *c, const struct settings *s, const struct entry *target,
		     struct trial *t, char **ret_text);

/* Writes it, unless it is there already. Returns 0 or -errno after one printed line. */
int trial_entry_write(struct change *c, const struct trial *t, const char *text);

/* Id of the entry that an id of this kind is a copy of, to be freed: "x.conf" for "x-trial.conf"; NULL. */
char *trial_entry_target(const char *id);

/* Adds to the set in memory what trial_entry_write() would have written, so that the next boot can be told.
 */
void trial_entry_preview(struct change *c, const struct entry *target, const struct trial *t);

/* Removes it under any counter; what is not there is no error, and what is no trial's entry stays. */
int trial_entry_remove(struct change *c, const struct trial *t);

/* Removes one that no record tells of, if it is still there. */
int trial_entry_remove_stray(struct change *c, const struct entry *e);

/* Whether the file is still there, under any counter. */
bool trial_entry_exists(const struct change *c, const struct trial *t);

#endif
