/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What firmware itself starts next: BootNext and BootOrder, before any loader has a say. */
#ifndef GRANULE_FIRMWARE_NEXT_H
#define GRANULE_FIRMWARE_NEXT_H

#include "places.h"

struct firmware_detour {
	bool once;  /* by BootNext: in the next boot only */
	char *what; /* "Boot0003 (debian)"; NULL if firmware starts the loader that started this system */
};

/* Finds out whether something else than the loader that started this system comes first in the next boot.
 * `own_path` is LoaderImageIdentifier, or NULL. Of BootOrder only options count that are active and name a
 * file on a partition of this machine: others (a network, a drive without a disk) firmware has passed over
 * before, and will again. Nothing is found where there are no variables. */
void firmware_detour_find(const struct options *o, const struct places *places, const char *own_path,
			  struct firmware_detour *ret);
void firmware_detour_free(struct firmware_detour *d);

#endif
