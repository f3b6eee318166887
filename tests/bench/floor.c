/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What no boot loader can go below: LoadImage and StartImage of \linux on the partition that this was started
 * from, and the two times that the Boot Loader Interface has. The initrd is read after the second one. */
#include "efi_device_path.h"
#include "efi_initrd.h"
#include "efi_vars.h"

#define OPTIONS L"console=ttyAMA0 quiet"

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	static CHAR16 options[] = OPTIONS;
	EFI_LOADED_IMAGE *self, *loaded;
	EFI_HANDLE kernel;
	struct span initrd = SPAN("/initrd"), failed;
	struct efi_initrd *offer;
	EFI_STATUS status;

	InitializeLib(image, table);
	UINT64 started = efi_now_us();

	status = BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&self);
	if (EFI_ERROR(status))
		return status;
	status = BS->LoadImage(FALSE, image, efi_device_path_of_file(self->DeviceHandle, SPAN("/linux")),
			       NULL, 0, &kernel);
	if (EFI_ERROR(status))
		return status;
	status = BS->HandleProtocol(kernel, &loaded_image_guid, (VOID **)&loaded);
	if (EFI_ERROR(status))
		return status;
	loaded->LoadOptions = options;
	loaded->LoadOptionsSize = sizeof(options);
	UINT64 ready = efi_now_us();

	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeInitUSec", started);
	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeExecUSec", ready);
	const struct initrd_wish wish = { LibOpenRoot(self->DeviceHandle), &initrd, 1, NULL, 0 };
	status = efi_initrd_offer(&wish, &offer, &failed);
	if (EFI_ERROR(status))
		return status;
	return BS->StartImage(kernel, NULL, NULL);
}
