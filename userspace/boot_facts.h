/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the boot manager said about the boot that is running: GranuleBoot and the Boot Loader Interface. */
#ifndef GRANULE_BOOT_FACTS_H
#define GRANULE_BOOT_FACTS_H

#include <granule/boot_record.h>

#include "options.h"

struct boot_facts {
	bool has_entry;       /* the record names the entry that was started */
	char *record;         /* GranuleBoot; NULL if granule-boot did not start this system */
	char *loader;         /* LoaderInfo */
	char *entry;          /* that was booted, see boot_facts_entry() */
	char *explain;        /* why, a sentence part; NULL if not known */
	enum page_size asked; /* page size that the entry was expected to have */
	enum image_kind kind;
	char *memory_map; /* what in firmware's memory map does not suit 64K kernels; NULL if nothing is known
			   */
	struct strings failures; /* "ID: TEXT": entries that could not be started in that boot */
	struct strings left_out; /* "ID: TEXT": parts that the entry was started without */
};

/* Id of the entry that was booted, without a boot counter; NULL if no loader says. To be freed. */
char *boot_facts_entry(void);

void boot_facts_read(struct boot_facts *ret);
void boot_facts_free(struct boot_facts *facts);

#endif
