/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a shim from before version 16: offers the lock protocol alone, and starts next.efi beside it. It
 * trusts what ends in a mark. */
#include "program.h"

#define MARK "trusted by the machine's owner"

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID shim_lock_guid = {
	0x605dab50, 0xe046, 0x4300, { 0xab, 0xb6, 0x3d, 0xd8, 0x10, 0xdd, 0x8b, 0x23 }
};

/* The compiler's calling convention, as in shim. */
static EFI_STATUS verify(VOID *buffer, UINT32 size)
{
	struct span file = { buffer, size };
	bool trusted = span_ends_nocase(file, SPAN(MARK));

	efi_message(SPAN("lock"), trusted ? SPAN("trusted") : SPAN("not trusted"));
	return trusted ? EFI_SUCCESS : EFI_ACCESS_DENIED;
}

static struct {
	EFI_STATUS (*verify)(VOID *buffer, UINT32 size);
	VOID *others[2];
} lock = { .verify = verify };

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	InitializeLib(image, table);
	return program_start_next(image, &shim_lock_guid, &lock, SPAN("lock: next.efi"));
}
