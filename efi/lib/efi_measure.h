/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measured boot: hashes into a TPM 2.0 (TCG EFI Protocol Specification), or into the registers of a
 * confidential virtual machine (UEFI 38.4) where there is no TPM. Without either, everything here does
 * nothing. What fails is said in one line and never stops a boot. docs/trust-model.md tells what is in the
 * events. */
#ifndef GRANULE_EFI_MEASURE_H
#define GRANULE_EFI_MEASURE_H

#include <granule/page_size.h>

#include "efi_util.h"

/* loader.conf as it was read, to PCR 5. */
void efi_measure_conf(struct span text);

/* Which entry was chosen, and its page size, to PCR 12. */
void efi_measure_choice(struct span id, enum page_size page_size);

/* A file handed to the kernel (initrd, device tree), to PCR 12. `kind` is for the event log. */
void efi_measure_file(const char *kind, struct span path, const void *data, UINTN size);

/* Load options, UTF-16 with a final NUL; `bytes` with the NUL. To PCR 12. Nothing when they are empty. */
void efi_measure_options(const CHAR16 *options, UINTN bytes);

/* Active PCR banks as EFI_TCG2_BOOT_HASH_ALG_*; 0 without a TPM 2.0. */
UINT32 efi_measure_banks(void);

/* Publishes LoaderTpm2ActivePcrBanks (Boot Loader Interface). */
void efi_measure_publish(void);

#endif
