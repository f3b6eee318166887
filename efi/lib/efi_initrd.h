/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands initrds to the kernel through the LoadFile2 protocol on the vendor media device path that Linux looks
 * for. */
#ifndef GRANULE_EFI_INITRD_H
#define GRANULE_EFI_INITRD_H

#include "efi_util.h"

struct efi_initrd; /* opaque */

/* Reads the files into memory, one after the other, each but the last padded with zeros to 4 bytes, and
 * offers them. Empty files are skipped; if all are, it is EFI_END_OF_FILE. Everything is
 * read here, so that a file that is missing or unreadable is found while another entry can still be booted;
 * *ret_failed is then its index. What was read is measured (efi_measure.h). EFI_ALREADY_STARTED if somebody
 * else offers an initrd. */
EFI_STATUS efi_initrd_offer(EFI_FILE_HANDLE root, const struct span *paths, unsigned n,
			    struct efi_initrd **ret, unsigned *ret_failed);

/* Takes the offer back and frees the memory; NULL is allowed. */
void efi_initrd_withdraw(struct efi_initrd *initrd);

#endif
