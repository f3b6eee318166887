/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays the firmware of a confidential virtual machine (UEFI 38.4): prints what is measured, fails at one
 * register, and starts next.efi beside it. */
#include "efi_device_path.h"
#include "efi_util.h"

#define FAILING_PCR 5

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID cc_guid = { 0x96751a3d, 0x72f4, 0x41a6, { 0xa7, 0x94, 0xed, 0x5d, 0x0e, 0x67, 0xae, 0x6b } };

static void print(struct span s)
{
	CHAR16 *wide = efi_to_utf16(s, NULL);

	ST->ConOut->OutputString(ST->ConOut, wide);
	efi_free(wide);
}

static void print_hex(const UINT8 *bytes, UINTN n)
{
	for (UINTN i = 0; i < n; i++)
		print((struct span){
			(char[]){ "0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15] },
			2 });
}

/* No register has the number of its PCR here, so that a mistake shows. */
static EFI_STATUS EFIAPI map_pcr(VOID *self, UINT32 pcr, UINT32 *ret_index)
{
	(void)self;
	*ret_index = pcr + 100;
	return pcr == FAILING_PCR ? EFI_DEVICE_ERROR : EFI_SUCCESS;
}

static EFI_STATUS EFIAPI hash_log_extend(VOID *self, UINT64 flags, EFI_PHYSICAL_ADDRESS data, UINT64 size,
					 const UINT8 *event)
{
	(void)self, (void)flags;
	print(SPAN("@@EVENT "));
	print_hex(event, read_le32(event));
	print(SPAN(" "));
	print_hex((const UINT8 *)(UINTN)data, size);
	print(SPAN(" @@\r\n"));
	return EFI_SUCCESS;
}

/* Firmware itself asks before it measures what it loads, and is to leave us alone. */
static EFI_STATUS EFIAPI unsupported(VOID)
{
	return EFI_UNSUPPORTED;
}

static struct {
	EFI_STATUS(EFIAPI *get_capability)(VOID);
	EFI_STATUS(EFIAPI *get_event_log)(VOID);
	EFI_STATUS(EFIAPI *hash_log_extend)
	(VOID *self, UINT64 flags, EFI_PHYSICAL_ADDRESS data, UINT64 size, const UINT8 *event);
	EFI_STATUS(EFIAPI *map_pcr)(VOID *self, UINT32 pcr, UINT32 *ret_index);
} confidential;

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	EFI_LOADED_IMAGE *loaded;
	EFI_HANDLE own = NULL, next = NULL;

	InitializeLib(image, table);
	confidential.get_capability = unsupported;
	confidential.get_event_log = unsupported;
	confidential.hash_log_extend = hash_log_extend;
	confidential.map_pcr = map_pcr;
	EFI_STATUS status = BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded);
	if (!EFI_ERROR(status))
		status = BS->InstallProtocolInterface(&own, &cc_guid, EFI_NATIVE_INTERFACE, &confidential);
	if (!EFI_ERROR(status))
		status = BS->LoadImage(
			FALSE, image,
			efi_device_path_of_file(loaded->DeviceHandle, SPAN("/EFI/BOOT/next.efi")), NULL, 0,
			&next);
	if (!EFI_ERROR(status))
		status = BS->StartImage(next, NULL, NULL);
	efi_message(SPAN("confidential: next.efi"), span_of(efi_status_text(status)));
	return status;
}
