/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enrols the certificate in /mok.der as the key of the machine's owner (shim's MokList), which only programs
 * of the firmware can write, and starts shim.efi beside it. */
#include "efi_device_path.h"
#include "efi_files.h"

#define CERTIFICATE_MAX (16u << 10)

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID shim_lock_guid = {
	0x605dab50, 0xe046, 0x4300, { 0xab, 0xb6, 0x3d, 0xd8, 0x10, 0xdd, 0x8b, 0x23 }
};

/* EFI_SIGNATURE_LIST with one EFI_SIGNATURE_DATA (UEFI 32.4.1) */
struct list {
	EFI_GUID type;
	UINT32 list_size, header_size, item_size;
	EFI_GUID owner;
	UINT8 certificate[];
} __attribute__((packed));

static EFI_STATUS enroll(struct span certificate)
{
	UINTN size = sizeof(struct list) + certificate.n;
	struct list *list = efi_alloc(size);

	*list = (struct list){
		.type = { 0xa5c059a1, 0x94e4, 0x4aa7, { 0x87, 0xb5, 0xab, 0x15, 0x5c, 0x2b, 0xf0, 0x72 } },
		.list_size = (UINT32)size,
		.item_size = (UINT32)(sizeof(EFI_GUID) + certificate.n),
		.owner = shim_lock_guid,
	};
	BS->CopyMem(list->certificate, (VOID *)certificate.p, certificate.n);
	return RT->SetVariable(L"MokList", &shim_lock_guid,
			       EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS, size, list);
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	struct span certificate = SPAN_NONE;
	EFI_LOADED_IMAGE *loaded;
	EFI_HANDLE shim = NULL;

	InitializeLib(image, table);
	EFI_STATUS status = BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded);
	if (!EFI_ERROR(status))
		status = efi_read_text(LibOpenRoot(loaded->DeviceHandle), SPAN("/mok.der"), CERTIFICATE_MAX,
				       &certificate);
	if (!EFI_ERROR(status))
		status = enroll(certificate);
	efi_message(SPAN("enroll"), span_of(efi_status_text(status)));
	status = BS->LoadImage(FALSE, image,
			       efi_device_path_of_file(loaded->DeviceHandle, SPAN("/EFI/BOOT/shim.efi")),
			       NULL, 0, &shim);
	if (!EFI_ERROR(status))
		status = BS->StartImage(shim, NULL, NULL);
	efi_message(SPAN("enroll: shim.efi"), span_of(efi_status_text(status)));
	return status;
}
