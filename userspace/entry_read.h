/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads entries from mounted partitions, as the boot manager reads them: type 1, type 2, and the names of
 * those that it makes itself. */
#ifndef GRANULE_ENTRY_READ_H
#define GRANULE_ENTRY_READ_H

#include "entry_set.h"

#define ENTRY_FILE_MAX (64 << 10) /* as the boot manager reads */

/* Adds all entries of all volumes to the set, in the order in which the boot manager finds them; what is
 * wrong with files goes to set->skipped. `set` has `cpu`, `own_path` and `running_system` already. Returns 0,
 * or -errno after one printed line. */
int entry_read_all(const struct places *places, uint16_t machine, struct entry_set *set);

void entry_free(struct loaded_entry *e);

#endif
