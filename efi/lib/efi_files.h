/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files on firmware's volumes. */
#ifndef GRANULE_EFI_FILES_H
#define GRANULE_EFI_FILES_H

#include "efi_util.h"

/* Opens a file or folder below root; NULL with *ret_status set when that fails. To be closed with
 * efi_close(). */
EFI_FILE_HANDLE efi_open(EFI_FILE_HANDLE root, struct span path, EFI_STATUS *ret_status);
/* The same for a name in an open folder. */
EFI_FILE_HANDLE efi_open_in(EFI_FILE_HANDLE folder, struct span name, EFI_STATUS *ret_status);
void efi_close(EFI_FILE_HANDLE file);

/* Size of an open file in bytes; EFI_INVALID_PARAMETER for a folder. */
EFI_STATUS efi_file_size(EFI_FILE_HANDLE file, UINT64 *ret);

/* Reads up to `size` bytes at an offset, in as many calls as it takes; *ret_read is less only at the file's
 * end. */
EFI_STATUS efi_read_at(EFI_FILE_HANDLE file, UINT64 offset, void *buffer, UINTN size, UINTN *ret_read);

/* Reads a whole small file into new memory. EFI_BAD_BUFFER_SIZE if it is larger than `max`. */
EFI_STATUS efi_read_text(EFI_FILE_HANDLE root, struct span path, UINTN max, struct span *ret);

/* Calls `each` with every regular file of a folder: the open folder (for names relative to it), the name
 * (kept), and the size in bytes. On an error, also EFI_VOLUME_CORRUPTED for a folder that never ends, it is
 * called for the files before. */
EFI_STATUS efi_list(EFI_FILE_HANDLE root, struct span path,
		    void (*each)(EFI_FILE_HANDLE folder, struct span name, UINT64 size, void *context),
		    void *context);

/* Reads `size` bytes of a file of a folder into memory that is kept: what efi_list() told, so that nothing
 * has to be asked twice. It may turn out shorter. */
EFI_STATUS efi_read_listed(EFI_FILE_HANDLE folder, struct span name, UINT64 size, struct span *ret);

/* Gives a file another name in the same folder, and makes sure that it is on disk. Where firmware refuses to
 * rename, as U-Boot does, a small file is written anew instead. EFI_ACCESS_DENIED also if the name is taken.
 */
EFI_STATUS efi_rename(EFI_FILE_HANDLE root, struct span path, struct span new_name);

#endif
