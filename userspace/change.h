/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every command that changes what boots begins and ends with: the partitions, locked, their entries, and
 * whether variables can be written. */
#ifndef GRANULE_CHANGE_H
#define GRANULE_CHANGE_H

#include "report.h"

struct change {
	const struct options *o;
	struct places places;
	struct entry_set set;
	struct actions actions;
	bool variables;      /* can be written */
	const char *why_not; /* a phrase, when they cannot */
};

/* Finds and locks the partitions and reads the entries. Returns 0 or -errno after one printed line, with
 * nothing to be freed. Whoever locks the state as well locks it first. */
int change_start(const struct options *o, struct change *ret);

/* Frees it without a word. */
void change_free(struct change *c);

/* Tells what was done and what the next boot will be, frees everything, and returns the exit code; r < 0 is
 * an error that has been printed. */
int change_end(struct change *c, int r);

#endif
