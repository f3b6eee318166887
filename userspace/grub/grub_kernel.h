/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel files that GRUB's entries name: where they are, and what they are; each is looked at once. */
#ifndef GRANULE_GRUB_KERNEL_H
#define GRANULE_GRUB_KERNEL_H

#include "../entry_set.h"

struct grub_kernels;

/* `folder` is what paths are below, `machine` and `set` as entry_read_all() has them. */
struct grub_kernels *grub_kernels_new(const struct options *o, const char *folder, uint16_t machine,
				      struct entry_set *set);
void grub_kernels_free(struct grub_kernels *k);

/* Of the file system that grub.cfg lies on, when it is known: what is not found and looked for on another one
 * is not broken. */
void grub_kernels_own_uuid(struct grub_kernels *k, struct span uuid);

/* Completes an entry by its kernel: bls.path (as it is found below the folder, symlinks resolved), version,
 * kind, page size, problem. A path that lies on another file system leaves the size unknown, with a note.
 *
 * path       as GRUB has it, "(hd0,gpt2)/boot/vmlinuz-6.1" too
 * fs_uuid    of the file system that the entry looks for; empty if it is GRUB's own */
void grub_kernels_look(struct grub_kernels *k, struct loaded_entry *e, struct span path, struct span fs_uuid);

/* Checks files that are handed to the kernel. */
void grub_kernels_look_at_initrds(struct grub_kernels *k, struct loaded_entry *e);

/* To be called when all entries are read: of those that start one kernel with one page size all but one
 * become twins. That one is no recovery entry if there is another, and this system's own, and else the first.
 */
void grub_kernels_find_twins(struct grub_kernels *k);

/* Path without the device in front of it. */
struct span grub_path_without_device(struct span path);

#endif
