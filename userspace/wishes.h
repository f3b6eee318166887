/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what the owner wants: variables of the loader, and lines of loader.conf. Each function notes what it
 * did as an action, changes the set in memory alike (so that the next boot can be told, also with --dry-run),
 * and returns 0 or -errno after one printed line. Nothing is written that is there already. */
#ifndef GRANULE_WISHES_H
#define GRANULE_WISHES_H

#include "report.h"
#include "variables.h"

/* A variable that the set knows: GranulePolicy, LoaderEntryOneShot, LoaderEntryPreferred, LoaderEntryDefault.
 * value NULL deletes it. */
int wish_variable(struct actions *a, struct entry_set *set, const char *name, const char *value);

/* What such a variable holds, as far as the set knows; NULL. */
const char *wish_stored(const struct entry_set *set, const char *name);

/* A key of loader.conf: "page-size", "default", "preferred". value NULL removes it. */
int wish_conf(struct actions *a, struct entry_set *set, const struct places *places, const char *key,
	      const char *value);

#endif
