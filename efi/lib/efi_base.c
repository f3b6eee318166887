/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gnu-efi's headers declare and we use, without its library: that comes in large pieces, with device
 * paths of every kind, names of protocols and printf, and would be a third of the program. */
#include "efi_util.h"

EFI_SYSTEM_TABLE *ST;
EFI_BOOT_SERVICES *BS;
EFI_RUNTIME_SERVICES *RT;
EFI_HANDLE LibImageHandle;

EFI_GUID gEfiDevicePathProtocolGuid = EFI_DEVICE_PATH_PROTOCOL_GUID;
EFI_GUID gEfiSimpleFileSystemProtocolGuid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;

VOID InitializeLib(EFI_HANDLE image, EFI_SYSTEM_TABLE *system_table)
{
	LibImageHandle = image;
	ST = system_table;
	BS = ST->BootServices;
	RT = ST->RuntimeServices;
}

/* 0 if they are equal. */
INTN CompareGuid(EFI_GUID *a, EFI_GUID *b)
{
	const char *x = (const char *)a, *y = (const char *)b;

	return !span_equal((struct span){ x, sizeof(*a) }, (struct span){ y, sizeof(*b) });
}

EFI_FILE_HANDLE LibOpenRoot(EFI_HANDLE device)
{
	EFI_FILE_IO_INTERFACE *volume;
	EFI_FILE_HANDLE root;

	if (EFI_ERROR(BS->HandleProtocol(device, &gEfiSimpleFileSystemProtocolGuid, (VOID **)&volume)) ||
	    EFI_ERROR(volume->OpenVolume(volume, &root)))
		return NULL;
	return root;
}
