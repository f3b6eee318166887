/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands initrds to the kernel through the LoadFile2 protocol on the vendor media device path that Linux looks
 * for. */
#ifndef GRANULE_EFI_INITRD_H
#define GRANULE_EFI_INITRD_H

#include "efi_util.h"

struct efi_initrd; /* opaque */

/* What the kernel is to get. */
struct initrd_wish {
	EFI_FILE_HANDLE root;
	const struct span *initrds; /* paths */
	unsigned n_initrds;
	const struct span *extras; /* resources that are packed for it (cpio.h) */
	unsigned n_extras;
};

/* Reads the files into memory, one after the other, each but the last padded with zeros to 4 bytes, measures
 * each (efi_measure.h), and offers them. Everything is read here, so that a file that is missing or
 * unreadable is found while another entry can still be booted; *ret_failed is then its path. Empty initrds
 * are skipped; if all are, it is EFI_END_OF_FILE. EFI_ALREADY_STARTED if somebody else offers an initrd. With
 * no files at all *ret is NULL. */
EFI_STATUS efi_initrd_offer(const struct initrd_wish *wish, struct efi_initrd **ret, struct span *ret_failed);

/* Takes the offer back and frees the memory; NULL is allowed. */
void efi_initrd_withdraw(struct efi_initrd *initrd);

#endif
