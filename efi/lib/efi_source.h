/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of firmware's as core/ reads it. */
#ifndef GRANULE_EFI_SOURCE_H
#define GRANULE_EFI_SOURCE_H

#include <granule/file_source.h>

#include "efi_files.h"

/* `file` stays the caller's and has to stay open. */
struct file_source efi_source(EFI_FILE_HANDLE file, UINT64 size);

#endif
