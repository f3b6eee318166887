/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the boot manager on a machine without a console, or with one whose keys cannot be read. The folder
 * that the boot manager lies in says which. As an entry of that boot manager, with options, it says that it
 * was started. */
#include "efi_device_path.h"
#include "efi_util.h"

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID text_out_guid = EFI_SIMPLE_TEXT_OUTPUT_PROTOCOL_GUID;

static EFI_STATUS EFIAPI read_nothing(SIMPLE_INPUT_INTERFACE *self, EFI_INPUT_KEY *key)
{
	(void)self;
	(void)key;
	return EFI_DEVICE_ERROR;
}

/* NULL if it is not there. */
static EFI_HANDLE load(EFI_HANDLE image, EFI_HANDLE device, struct span path)
{
	EFI_HANDLE loaded = NULL;
	EFI_STATUS status =
		BS->LoadImage(FALSE, image, efi_device_path_of_file(device, path), NULL, 0, &loaded);

	return EFI_ERROR(status) ? NULL : loaded;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	static SIMPLE_INPUT_INTERFACE broken;
	SIMPLE_TEXT_OUTPUT_INTERFACE *out;
	EFI_LOADED_IMAGE *self;
	EFI_HANDLE next;

	InitializeLib(image, table);
	if (EFI_ERROR(BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&self)))
		return EFI_UNSUPPORTED;
	if (self->LoadOptionsSize) {
		if (!EFI_ERROR(BS->LocateProtocol(&text_out_guid, NULL, (VOID **)&out)))
			out->OutputString(out, L"\r\n@@STARTED@@\r\n");
		return EFI_SUCCESS;
	}
	if ((next = load(image, self->DeviceHandle, SPAN("/none/granule.efi")))) {
		ST->ConIn = NULL;
		ST->ConOut = NULL;
	} else if ((next = load(image, self->DeviceHandle, SPAN("/no-input/granule.efi")))) {
		ST->ConIn = NULL;
	} else if ((next = load(image, self->DeviceHandle, SPAN("/no-output/granule.efi")))) {
		ST->ConOut = NULL;
	} else if ((next = load(image, self->DeviceHandle, SPAN("/broken/granule.efi")))) {
		broken = *ST->ConIn;
		broken.ReadKeyStroke = read_nothing;
		ST->ConIn = &broken;
	}
	return next ? BS->StartImage(next, NULL, NULL) : EFI_NOT_FOUND;
}
