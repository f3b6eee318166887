/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule-boot: state of one run of the boot manager, and its parts. */
#ifndef GRANULE_BOOT_H
#define GRANULE_BOOT_H

#include <granule/boot_record.h>
#include <granule/choose.h>
#include <granule/loader_conf.h>

#include "efi_util.h"

struct failure {
	struct span id, text;
	bool left_out; /* only a part of the entry, which started without it */
};

struct efi_device_tree;

struct boot {
	EFI_HANDLE image;
	EFI_LOADED_IMAGE *loaded;
	EFI_FILE_HANDLE root; /* of the partition that the program was started from */
	struct span own_path; /* of the program on it, with backslashes; empty if not known */
	page_size_set cpu;
	struct loader_conf conf;
	struct entry **entries; /* in menu order */
	size_t n_entries, room;
	struct failure *failures; /* entries that cannot be started, in the order they were found out */
	size_t n_failures;
	struct choose_input input;
};

/* ---- entries.c ---- */

/* Reads loader/entries, looks at each kernel's head, sorts into menu order. Whatever is wrong with a file is
 * said in one line; it never stops the others. */
void entries_load(struct boot *b);

/* ---- start.c ---- */

/* Marks an entry as not startable in this boot, with a line on the console, remembered for the boot record.
 */
void entry_fail(struct boot *b, struct entry *entry, struct span why);
/* The same for a part of an entry that can do without it, such as an overlay. */
void entry_left_out(struct boot *b, const struct entry *entry, struct span what);

/* Loads and starts an entry. Comes back only if that failed; the entry is then marked. `result` is why it was
 * chosen, for the boot record. */
void entry_start(struct boot *b, struct entry *entry, const struct choose_result *result);

/* ---- tree.c ---- */

/* Gives the kernel its device tree, with our record in it; *ret (to be withdrawn) is NULL where there is
 * none. On failure the entry is marked. */
bool tree_install(struct boot *b, struct entry *entry, const struct choose_result *result,
		  struct efi_device_tree **ret);

/* ---- publish.c ---- */

/* Variables that do not depend on the choice. */
void publish_loader(struct boot *b, UINT64 time_init_us);
void publish_entries(const struct boot *b);
/* The boot record as text, in new memory; `entry` is NULL when none could be started. */
struct span boot_record_text(const struct boot *b, const struct entry *entry,
			     const struct choose_result *result);
/* Variables about the entry that is about to start. */
void publish_selected(const struct boot *b, const struct entry *entry, const struct choose_result *result);
/* No entry runs: takes back what publish_selected() said. With a result, what came of the wishes stays on
 * record for a system that firmware starts in some other way. */
void publish_none(const struct boot *b, const struct choose_result *result);

/* ---- menu.c ---- */

/* Shows the list and waits if loader.conf asks for it or a key was pressed. Returns the index that a person
 * picked, or SIZE_MAX to go on with `chosen`. */
size_t menu_run(struct boot *b, const struct choose_result *chosen);

#endif
