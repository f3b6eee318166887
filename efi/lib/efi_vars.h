/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EFI variables: texts, in UTF-16 with a final NUL for firmware, UTF-8 for us. */
#ifndef GRANULE_EFI_VARS_H
#define GRANULE_EFI_VARS_H

#include "efi_util.h"

extern EFI_GUID efi_loader_guid;  /* Boot Loader Interface */
extern EFI_GUID efi_granule_guid; /* our own */

/* Content of a text variable; an empty span (p NULL) if it is not there or cannot be read. */
struct span efi_var_get(EFI_GUID *guid, const CHAR16 *name);

/* Content of any variable, to be freed; NULL if it is not there or cannot be read. */
void *efi_var_get_bytes(EFI_GUID *guid, const CHAR16 *name, UINTN *ret_size);

/* Writes a volatile variable that the running system can read. Failures are silent: nothing depends on it.
 * False if it could not be written. */
BOOLEAN efi_var_publish(EFI_GUID *guid, const CHAR16 *name, struct span value);
BOOLEAN efi_var_publish_bytes(EFI_GUID *guid, const CHAR16 *name, const void *data, UINTN size);
void efi_var_publish_number(EFI_GUID *guid, const CHAR16 *name, UINT64 value);

/* Writes a text variable that survives a reset; nothing when it holds that text already. */
EFI_STATUS efi_var_store(EFI_GUID *guid, const CHAR16 *name, struct span value);

/* Deletes a variable and makes sure that it is gone. False if it is still there. */
BOOLEAN efi_var_delete(EFI_GUID *guid, const CHAR16 *name);

#endif
