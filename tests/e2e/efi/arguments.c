/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for an entry, in place of a kernel: prints the arguments that it was started with, and comes
 * back. */
#include "program.h"

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	EFI_LOADED_IMAGE *loaded;

	InitializeLib(image, table);
	if (EFI_ERROR(BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded)))
		return EFI_ABORTED;
	const CHAR16 *options = loaded->LoadOptions;
	program_print(SPAN("\r\n@@ARGUMENTS\r\n"));
	/* The console breaks lines at 80 columns. */
	for (UINTN i = 0; i < loaded->LoadOptionsSize / sizeof(CHAR16) && options[i]; i++) {
		char c = (char)options[i];
		program_print((struct span){ &c, 1 });
		if (i % 64 == 63)
			program_print(SPAN("\r\n"));
	}
	program_print(SPAN("\r\n@@END\r\n"));
	return EFI_UNSUPPORTED;
}
