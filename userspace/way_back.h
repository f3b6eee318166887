/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must be true before a trial may be armed on a machine that nobody can walk up to: whatever the trial
 * does, some later boot reaches an entry that is known to be good, and finds the record of the trial there.
 */
#ifndef GRANULE_WAY_BACK_H
#define GRANULE_WAY_BACK_H

#include "change.h"
#include "records.h"

struct finding {
	bool blocks;    /* a trial is refused; otherwise it is only said */
	bool forceable; /* unless --force is given */
	char *id;       /* stable word, listed in granule(1) */
	char *text;     /* what is wrong, and what to do about it: one line */
};

struct findings {
	struct finding *items;
	size_t n;
};

/* Looks at the default, the loader, firmware, and what restarts a machine that hangs. `target` is what is to
 * be tried; `own_entry`: it gets an entry of its own, or words of the loader's, with panic= among them. Facts
 * of the system are those below --root. Fills *ret; nothing found is an empty list. */
void way_back_check(const struct change *c, const struct verified *v, const struct settings *s,
		    const struct entry *target, bool own_entry, struct findings *ret);

/* Whether some finding refuses the trial, with or without --force. */
bool findings_refuse(const struct findings *f, bool force);

/* One line each on standard error. With `force`, those that it overrules say so. */
void findings_print(const struct findings *f, bool force);

/* [{"id", "blocks", "forceable", "text"}], as a new array. */
json_object *findings_json(const struct findings *f);

void findings_free(struct findings *f);

#endif
