/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_source.h"

static const char *read_source(void *context, uint64_t offset, void *buffer, size_t size, size_t *ret_n)
{
	UINTN n = 0;
	EFI_STATUS status = efi_read_at(context, offset, buffer, size, &n);

	*ret_n = n;
	return EFI_ERROR(status) ? efi_status_text(status) : NULL;
}

struct file_source efi_source(EFI_FILE_HANDLE file, UINT64 size)
{
	return (struct file_source){ read_source, file, size };
}
