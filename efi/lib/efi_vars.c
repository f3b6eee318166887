/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/variables.h>

#include "efi_vars.h"

EFI_GUID efi_loader_guid = LOADER_GUID_INIT;
EFI_GUID efi_granule_guid = GRANULE_GUID_INIT;

#define VOLATILE_FOR_OS (EFI_VARIABLE_BOOTSERVICE_ACCESS | EFI_VARIABLE_RUNTIME_ACCESS)

void *efi_var_get_bytes(EFI_GUID *guid, const CHAR16 *name, UINTN *ret_size)
{
	UINTN size = 0;
	EFI_STATUS status = RT->GetVariable((CHAR16 *)name, guid, NULL, &size, NULL);

	if (status != EFI_BUFFER_TOO_SMALL)
		return NULL;
	void *data = efi_alloc(size);
	if (EFI_ERROR(RT->GetVariable((CHAR16 *)name, guid, NULL, &size, data))) {
		efi_free(data);
		return NULL;
	}
	*ret_size = size;
	return data;
}

struct span efi_var_get(EFI_GUID *guid, const CHAR16 *name)
{
	UINTN size = 0;
	CHAR16 *data = efi_var_get_bytes(guid, name, &size);
	struct span value = data ? efi_to_utf8(data, size / sizeof(CHAR16)) : SPAN_NONE;

	efi_free(data);
	return value;
}

BOOLEAN efi_var_publish_bytes(EFI_GUID *guid, const CHAR16 *name, const void *data, UINTN size)
{
	EFI_STATUS status = RT->SetVariable((CHAR16 *)name, guid, VOLATILE_FOR_OS, size, (VOID *)data);

	/* One that outlives a reset, whoever made it so, would tell of another boot. */
	if (status == EFI_INVALID_PARAMETER && efi_var_delete(guid, name))
		status = RT->SetVariable((CHAR16 *)name, guid, VOLATILE_FOR_OS, size, (VOID *)data);
	return !EFI_ERROR(status);
}

BOOLEAN efi_var_publish(EFI_GUID *guid, const CHAR16 *name, struct span value)
{
	UINTN bytes;
	CHAR16 *data = efi_to_utf16(value, &bytes);

	BOOLEAN written = efi_var_publish_bytes(guid, name, data, bytes);
	efi_free(data);
	return written;
}

void efi_var_publish_number(EFI_GUID *guid, const CHAR16 *name, UINT64 value)
{
	char digits[24];
	struct text t = text_in(digits, sizeof(digits));

	text_add_number(&t, value, 1);
	efi_var_publish(guid, name, text_span(&t));
}

EFI_STATUS efi_var_store(EFI_GUID *guid, const CHAR16 *name, struct span value)
{
	struct span old = efi_var_get(guid, name);
	EFI_STATUS status = EFI_SUCCESS;
	UINTN bytes;

	if (!old.p || !span_equal(old, value)) {
		CHAR16 *data = efi_to_utf16(value, &bytes);
		status = RT->SetVariable((CHAR16 *)name, guid, VOLATILE_FOR_OS | EFI_VARIABLE_NON_VOLATILE,
					 bytes, data);
		efi_free(data);
	}
	efi_free((void *)old.p);
	return status;
}

BOOLEAN efi_var_delete(EFI_GUID *guid, const CHAR16 *name)
{
	UINTN size = 0;

	/* Deleting what is not there costs as much as a write. */
	if (RT->GetVariable((CHAR16 *)name, guid, NULL, &size, NULL) == EFI_NOT_FOUND)
		return TRUE;
	RT->SetVariable((CHAR16 *)name, guid, 0, 0, NULL);
	size = 0;
	return RT->GetVariable((CHAR16 *)name, guid, NULL, &size, NULL) == EFI_NOT_FOUND;
}
