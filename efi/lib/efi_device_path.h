/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device paths (UEFI 2.10, chapter 10): walking them, and making one for a file. */
#ifndef GRANULE_EFI_DEVICE_PATH_H
#define GRANULE_EFI_DEVICE_PATH_H

#include "efi_util.h"

/* Bytes before the end node. A node with an impossible length counts as the end. */
UINTN efi_device_path_size(const EFI_DEVICE_PATH *path);

/* Path of a file on a device, in new memory; NULL if the device has no path. */
EFI_DEVICE_PATH *efi_device_path_of_file(EFI_HANDLE device, struct span path);

/* The file nodes of a path joined with backslashes; empty if there are none. */
struct span efi_device_path_file(const EFI_DEVICE_PATH *path);

/* The last hard-drive node if it carries the unique GUID of a GPT partition; NULL. *ret_disk_size (may be
 * NULL) is the size of the path of the disk before it. */
const HARDDRIVE_DEVICE_PATH *efi_device_path_partition(const EFI_DEVICE_PATH *path, UINTN *ret_disk_size);

/* The path of a handle; NULL. Belongs to firmware. */
EFI_DEVICE_PATH *efi_device_path_of(EFI_HANDLE handle);

#endif
