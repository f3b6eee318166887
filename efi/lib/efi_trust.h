/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secure Boot: its state, and loading of programs so that firmware or shim checks them. Who checks what is
 * told in docs/trust-model.md. */
#ifndef GRANULE_EFI_TRUST_H
#define GRANULE_EFI_TRUST_H

#include "efi_util.h"

/* Whether firmware enforces signatures (UEFI 3.3: SecureBoot is 1 and SetupMode is 0). Read once. */
BOOLEAN efi_secure_boot(void);

/* Loads a program by its path on the file system of `device`. shim 16 and newer has put itself into
 * LoadImage() already; with an older one, and Secure Boot on, the file goes through its lock protocol first.
 * What fails the check is EFI_SECURITY_VIOLATION, whichever of firmware's two words for it came back. */
EFI_STATUS efi_load_image(EFI_HANDLE parent, EFI_HANDLE device, struct span path, EFI_HANDLE *ret);

#endif
