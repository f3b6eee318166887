/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files on the partition that the program was started from. Read only: nothing here writes to a disk. */
#ifndef GRANULE_EFI_FILES_H
#define GRANULE_EFI_FILES_H

#include "efi_util.h"

/* Opens a file or folder below root; NULL with *ret_status set when that fails. To be closed with
 * efi_close(). */
EFI_FILE_HANDLE efi_open(EFI_FILE_HANDLE root, struct span path, EFI_STATUS *ret_status);
void efi_close(EFI_FILE_HANDLE file);

/* Size of an open file in bytes; EFI_INVALID_PARAMETER for a folder. */
EFI_STATUS efi_file_size(EFI_FILE_HANDLE file, UINT64 *ret);

/* Reads up to `size` bytes at an offset, in as many calls as it takes; *ret_read is less only at the file's
 * end. */
EFI_STATUS efi_read_at(EFI_FILE_HANDLE file, UINT64 offset, void *buffer, UINTN size, UINTN *ret_read);

/* Reads a whole small file into new memory. EFI_BAD_BUFFER_SIZE if it is larger than `max`. */
EFI_STATUS efi_read_text(EFI_FILE_HANDLE root, struct span path, UINTN max, struct span *ret);

/* Calls `each` with the name of every regular file of a folder. On an error, also EFI_VOLUME_CORRUPTED for a
 * folder that never ends, it is called for the names before. */
EFI_STATUS efi_list(EFI_FILE_HANDLE root, struct span path, void (*each)(struct span name, void *context),
		    void *context);

#endif
