/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the boot manager said about the boot that is running: GranuleBoot and the Boot Loader Interface, or
 * where it knows neither, words on the command line of the kernel that it started. */
#ifndef GRANULE_BOOT_FACTS_H
#define GRANULE_BOOT_FACTS_H

#include <granule/boot_record.h>

#include "entry_set.h"

struct boot_facts {
	bool has_entry;       /* the record names the entry that was started */
	char *record;         /* GranuleBoot, or the like made of words; NULL if neither is there */
	bool from_words;      /* record and entry are of the command line */
	char *trial;          /* of the words: the trial that this boot was armed for; NULL */
	char *loader;         /* LoaderInfo */
	char *entry;          /* that was booted, see boot_facts_entry() */
	char *explain;        /* why, a sentence part; NULL if not known */
	enum page_size asked; /* page size that the entry was expected to have */
	enum image_kind kind;
	enum page_size
		policy;   /* that is stored for a loader that tells nothing of it; unknown if not known */
	char *by_default; /* pattern of the entry that is stored as default for such a loader, where it is not
			   * what the policy stands for; NULL */
	char *memory_map; /* what in firmware's memory map does not suit 64K kernels; NULL if nothing is known
			   */
	struct strings failures; /* "ID: TEXT": entries that could not be started in that boot */
	struct strings left_out; /* "ID: TEXT": parts that the entry was started without */
};

/* Reads what the loader said. Of GRUB nothing may be known until boot_facts_complete() is called. */
void boot_facts_read(const struct options *o, struct boot_facts *ret);

/* Finds what GRUB booted among its entries, by the command line of the kernel; an entry that the command line
 * names, and that has another kernel than the one that runs, is none: a command line that was taken over. */
void boot_facts_complete(const struct options *o, const struct entry_set *set, struct boot_facts *facts);

/* Id of the entry that was booted, without a boot counter; NULL if it is not known. `set` may be NULL. To be
 * freed. */
char *boot_facts_entry(const struct options *o, const struct entry_set *set);
void boot_facts_free(struct boot_facts *facts);

#endif
