/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entries are this system's: several may share an EFI system partition. */
#ifndef GRANULE_IDENTITY_H
#define GRANULE_IDENTITY_H

#include "entry_set.h"

struct identity {
	char *token; /* entry token, as kernel-install has it: /etc/kernel/entry-token, machine-id, or ID of
			os-release; NULL if there is none of these */
	char *machine_id; /* NULL if there is none yet */
	char *os_id;      /* IMAGE_ID or ID of os-release; NULL */
};

void identity_read(const struct options *o, struct identity *ret);
void identity_free(struct identity *identity);

/* Whether an entry belongs to this system, as far as it says: its machine-id decides; then the token that its
 * name begins with; for unified images the system they were made of. What says nothing of a system at all
 * (such as an entry written by hand) belongs to every one. */
bool identity_owns(const struct identity *identity, const struct entry *e);

#endif
