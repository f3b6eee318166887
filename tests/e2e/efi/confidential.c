/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays the firmware of a confidential virtual machine (UEFI 38.4): prints what is measured, fails at one
 * register, and starts next.efi beside it. */
#include "program.h"

#define FAILING_PCR 5

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID cc_guid = { 0x96751a3d, 0x72f4, 0x41a6, { 0xa7, 0x94, 0xed, 0x5d, 0x0e, 0x67, 0xae, 0x6b } };

static void print_hex(const UINT8 *bytes, UINTN n)
{
	for (UINTN i = 0; i < n; i++)
		program_print((struct span){
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
	program_print(SPAN("@@EVENT "));
	print_hex(event, read_le32(event));
	program_print(SPAN(" "));
	print_hex((const UINT8 *)(UINTN)data, size);
	program_print(SPAN(" @@\r\n"));
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
	InitializeLib(image, table);
	confidential.get_capability = unsupported;
	confidential.get_event_log = unsupported;
	confidential.hash_log_extend = hash_log_extend;
	confidential.map_pcr = map_pcr;
	return program_start_next(image, &cc_guid, &confidential, SPAN("confidential: next.efi"));
}
