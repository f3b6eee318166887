/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries that no command removes on its own: what runs, what was verified, what is being tried. */
#ifndef GRANULE_PROTECTION_H
#define GRANULE_PROTECTION_H

#include "entry_set.h"
#include "records.h"

struct protection {
	char *selected; /* id of the entry that runs; NULL if not known */
	char *release;  /* of the running kernel; NULL for another system */
	struct verified verified;
	struct trial trial; /* empty if there is none */
	bool has_trial;
};

/* Reads the state without a lock. What is damaged is said, and protects nothing. */
void protection_read(const struct options *o, const struct entry_set *set, struct protection *ret);
void protection_free(struct protection *p);

/* Whether an entry is the one that runs, or the one that the running trial entry was copied from; where that
 * is not known, whether it has the running kernel. */
bool protection_runs(const struct protection *p, const struct entry *e);

/* Whether a trial is under way, and what comes of it not settled yet. */
bool protection_trial_pending(const struct protection *p);

/* Why an entry must stay, as a phrase; NULL if it may go. */
const char *protection_reason(const struct protection *p, const struct entry *e);

#endif
