/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests' programs share. */
#ifndef GRANULE_TEST_PROGRAM_H
#define GRANULE_TEST_PROGRAM_H

#include "efi_device_path.h"
#include "efi_util.h"

/* Prints a text on the console as it is. */
static inline void program_print(struct span s)
{
	CHAR16 *wide = efi_to_utf16(s, NULL);

	ST->ConOut->OutputString(ST->ConOut, wide);
	efi_free(wide);
}

/* Offers a protocol, as firmware or shim would, to /EFI/BOOT/next.efi of the partition that `image` came
 * from, which is started. What came of it is said behind `name`. */
static inline EFI_STATUS program_start_next(EFI_HANDLE image, EFI_GUID *guid, VOID *protocol,
					    struct span name)
{
	static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
	EFI_LOADED_IMAGE *loaded;
	EFI_HANDLE own = NULL, next = NULL;

	EFI_STATUS status = BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded);
	if (!EFI_ERROR(status))
		status = BS->InstallProtocolInterface(&own, guid, EFI_NATIVE_INTERFACE, protocol);
	if (!EFI_ERROR(status))
		status = BS->LoadImage(
			FALSE, image,
			efi_device_path_of_file(loaded->DeviceHandle, SPAN("/EFI/BOOT/next.efi")), NULL, 0,
			&next);
	if (!EFI_ERROR(status))
		status = BS->StartImage(next, NULL, NULL);
	efi_message(name, span_of(efi_status_text(status)));
	return status;
}

#endif
