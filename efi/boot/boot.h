/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule-boot: state of one run of the boot manager, and its parts. */
#ifndef GRANULE_BOOT_H
#define GRANULE_BOOT_H

#include <granule/boot_record.h>
#include <granule/choose.h>
#include <granule/loader_conf.h>

#include "efi_util.h"

struct volume {
	EFI_HANDLE device;
	EFI_FILE_HANDLE root; /* NULL: there is no such volume */
};

struct failure {
	struct span id, text;
	bool left_out; /* only a part of the entry, which started without it */
};

struct efi_device_tree;
struct looks; /* look.c: what was found out about files */

struct boot {
	EFI_HANDLE image;
	EFI_LOADED_IMAGE *loaded;
	struct volume volumes[N_VOLUMES];
	struct span own_path; /* of the program on its volume, with backslashes; empty if not known */
	page_size_set cpu;
	struct loader_conf conf;
	struct entry **entries; /* in menu order */
	size_t n_entries, room;
	struct looks *looks;
	struct failure *failures; /* entries that cannot be started, in the order they were found out */
	size_t n_failures;
	struct choose_input input;
	bool menu_key; /* a key asked for the hidden menu */
	bool menu_shown;
};

/* The volume that an entry and its files are on. */
static inline EFI_FILE_HANDLE entry_root(const struct boot *b, const struct entry *e)
{
	return b->volumes[e->volume].root;
}

/* ---- volumes.c ---- */

/* Opens our own volume, which has to be there, and the extended boot loader partition, if there is one. */
EFI_STATUS volumes_open(struct boot *b);

/* ---- wishes.c ---- */

/* Reads loader.conf, and what variables ask for. The one-shot is deleted before anything is done with it. */
void wishes_read(struct boot *b);

/* ---- env.c ---- */

/* Adds the wishes of the environment block to those of variables and loader.conf, and clears its one-shot. */
void env_read(struct boot *b);

/* ---- entries.c ---- */

/* Reads the entries of all volumes, looks at their files, sorts into menu order, adds what the loader makes
 * itself. Whatever is wrong with a file is said in one line; it never stops the others. */
void entries_load(struct boot *b);

/* Adds an entry; its memory is the caller's for good. */
void entries_add(struct boot *b, struct entry *entry);

/* Marks an entry as not startable in this boot, with a line on the console, remembered for the boot record.
 */
void entry_fail(struct boot *b, struct entry *entry, struct span why);
/* The same for a part of an entry that can do without it, such as an overlay. */
void entry_left_out(struct boot *b, const struct entry *entry, struct span what);
/* Marks it with "OBJECT: PHRASE". */
void entry_fail_object(struct boot *b, struct entry *entry, struct span object, const char *phrase);

/* ---- auto.c ---- */

/* Adds entries of the loader's own: EFI shell, default program, firmware setup, power off, reboot. */
void auto_entries_add(struct boot *b);

/* ---- look.c ---- */

/* Whether the entry's files are there and can be started; marks it if not, else sets its page size. */
void look_at_entry(struct boot *b, struct entry *entry);

/* ---- count.c ---- */

/* Counts a boot of the entry down in its file name, and tells the system where the counter is. A failure is
 * said and changes nothing. */
void count_boot(struct boot *b, struct entry *entry);

/* ---- start.c ---- */

/* Loads and starts an entry. Comes back with TRUE if that failed, the entry is then marked; with FALSE if a
 * key asked for the hidden menu while it was loaded. `result` is why it was chosen, for the boot record. */
BOOLEAN entry_start(struct boot *b, struct entry *entry, const struct choose_result *result);

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
/* Variables about the entry that is about to start, and its record. */
void publish_selected(const struct entry *entry, struct span record);
/* No entry runs: takes back what publish_selected() said. With a result, what came of the wishes stays on
 * record for a system that firmware starts in some other way. */
void publish_none(const struct boot *b, const struct choose_result *result);

/* ---- firmware_map.c ---- */

/* memory_map_conflicts() of firmware's memory map. False if that cannot be had. */
BOOLEAN firmware_map_check(UINTN *ret_conflicts, UINT64 *ret_first);

/* ---- menu.c ---- */

#define MENU_QUIT (SIZE_MAX - 1)

/* Shows the menu if the settings ask for it or a key was pressed. Returns the index that a person picked,
 * MENU_QUIT to go back to firmware, or SIZE_MAX to go on with `chosen`, which is decided anew when a person
 * changed the default. Options of entries may be others then. */
size_t menu_run(struct boot *b, struct choose_result *chosen);

/* Whether a key asks for the hidden menu, which was not shown yet. */
BOOLEAN menu_is_asked_for(struct boot *b);

#endif
