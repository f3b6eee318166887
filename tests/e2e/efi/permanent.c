/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes variables of the boot manager outlive a reset, with other content, as a tool that restores variables
 * would; then starts next.efi beside it. */
#include <granule/variables.h>

#include "efi_device_path.h"
#include "efi_util.h"
#include "efi_vars.h"

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
	EFI_LOADED_IMAGE *loaded;
	EFI_HANDLE next = NULL;

	InitializeLib(image, table);
	efi_var_store(&efi_loader_guid, L"LoaderEntrySelected", SPAN("other.conf"));
	efi_var_store(&efi_granule_guid, L"GranuleBoot", SPAN("entry=other.conf\n"));
	EFI_STATUS status = BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded);
	if (!EFI_ERROR(status))
		status = BS->LoadImage(
			FALSE, image,
			efi_device_path_of_file(loaded->DeviceHandle, SPAN("/EFI/BOOT/next.efi")), NULL, 0,
			&next);
	return EFI_ERROR(status) ? status : BS->StartImage(next, NULL, NULL);
}
