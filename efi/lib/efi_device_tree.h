/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device tree that the kernel gets: firmware's or a file's, with overlays and our record in /chosen.
 * Firmware's own tree is never changed in place. Functions that can fail return NULL or what is wrong. */
#ifndef GRANULE_EFI_DEVICE_TREE_H
#define GRANULE_EFI_DEVICE_TREE_H

#include "efi_util.h"

struct efi_device_tree;

/* What an entry asks for, and where it is told what it does not get. */
struct device_tree_wish {
	EFI_FILE_HANDLE root;
	struct span base; /* path; empty for firmware's own tree */
	const struct span *overlays;
	unsigned n_overlays;
	/* False under Secure Boot: trees carry no signature, and can lead drivers to any memory. */
	bool files_allowed;
	void (*left_out)(struct span path, const char *why, void *context);
	void *context;
};

#if defined(__aarch64__)

/* Makes the tree. `left_out` is called for each overlay that is missing, damaged, or does not apply; the tree
 * is then as if it had not been named. Files that are not allowed are left out too. Fails only if a base from
 * a file cannot be had. *ret is NULL when there is no tree to start from. */
const char *efi_device_tree_make(const struct device_tree_wish *wish, struct efi_device_tree **ret);

/* Records in /chosen (device_tree_record()), lets firmware complete a tree from a file
 * (EFI_DT_FIXUP_PROTOCOL, where there is one), and installs the tree as configuration table. NULL is no tree.
 * Fails only for a tree from a file: instead of a copy of firmware's own the kernel can have the original. */
const char *efi_device_tree_install(struct efi_device_tree *tree, struct span record, struct span cpu);

/* Puts back what firmware had, if need be, and frees the tree; NULL is allowed. */
void efi_device_tree_withdraw(struct efi_device_tree *tree);

#else /* no device trees on x64 */

static inline const char *efi_device_tree_make(const struct device_tree_wish *wish,
					       struct efi_device_tree **ret)
{
	(void)wish;
	*ret = NULL;
	return NULL;
}

static inline const char *efi_device_tree_install(struct efi_device_tree *tree, struct span record,
						  struct span cpu)
{
	(void)tree, (void)record, (void)cpu;
	return NULL;
}

static inline void efi_device_tree_withdraw(struct efi_device_tree *tree)
{
	(void)tree;
}

#endif

#endif
