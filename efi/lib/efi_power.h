/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reset, power off, and the way into firmware's own menus. */
#ifndef GRANULE_EFI_POWER_H
#define GRANULE_EFI_POWER_H

#include "efi_util.h"

/* These come back only if firmware did not do it. */
void efi_reboot(void);
void efi_power_off(void);

/* Asks for firmware's menus at the next start (OsIndications, UEFI 8.5.4) and resets. The error that kept it
 * from being asked for; then nothing is reset. */
EFI_STATUS efi_reboot_to_firmware(void);

/* Whether firmware says that it can do that. */
BOOLEAN efi_firmware_setup_supported(void);

#endif
