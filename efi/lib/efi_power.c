/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_power.h"

#define OS_INDICATIONS_BOOT_TO_FW_UI 1u

static EFI_GUID global_guid = EFI_GLOBAL_VARIABLE;

/* 0 if the variable is not there. */
static UINT64 get_indications(const CHAR16 *name)
{
	UINT64 value = 0;
	UINTN size = sizeof(value);

	return EFI_ERROR(RT->GetVariable((CHAR16 *)name, &global_guid, NULL, &size, &value)) ? 0 : value;
}

void efi_reboot(void)
{
	RT->ResetSystem(EfiResetCold, EFI_SUCCESS, 0, NULL);
}

void efi_power_off(void)
{
	RT->ResetSystem(EfiResetShutdown, EFI_SUCCESS, 0, NULL);
}

EFI_STATUS efi_reboot_to_firmware(void)
{
	UINT64 wanted = get_indications(L"OsIndications") | OS_INDICATIONS_BOOT_TO_FW_UI;

	if (!efi_firmware_setup_supported())
		return EFI_UNSUPPORTED;
	EFI_STATUS status = RT->SetVariable(L"OsIndications", &global_guid,
					    EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS |
						    EFI_VARIABLE_RUNTIME_ACCESS,
					    sizeof(wanted), &wanted);
	if (!EFI_ERROR(status))
		efi_reboot();
	return status;
}

BOOLEAN efi_firmware_setup_supported(void)
{
	return get_indications(L"OsIndicationsSupported") & OS_INDICATIONS_BOOT_TO_FW_UI;
}
