/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and contents of the EFI variables shared by loader and command. */
#ifndef GRANULE_VARIABLES_H
#define GRANULE_VARIABLES_H

/* Boot Loader Interface, 4a67b082-0a4c-41cf-b6c7-440b29bb8c4f. */
#define LOADER_GUID_TEXT "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
#define LOADER_GUID_INIT                                               \
	{                                                              \
		0x4a67b082, 0x0a4c, 0x41cf,                            \
		{                                                      \
			0xb6, 0xc7, 0x44, 0x0b, 0x29, 0xbb, 0x8c, 0x4f \
		}                                                      \
	}

/* Our own. GranulePolicy (non-volatile): "4k", "16k" or "64k". GranuleCpu (volatile): page sizes of the CPU,
 * parted by blanks. GranuleBoot (volatile): boot_record.h. All UTF-16LE with a final NUL. */
#define GRANULE_GUID_TEXT "7f1c9a52-6b3e-4d0f-9a64-c41600044b64"
#define GRANULE_GUID_INIT                                              \
	{                                                              \
		0x7f1c9a52, 0x6b3e, 0x4d0f,                            \
		{                                                      \
			0x9a, 0x64, 0xc4, 0x16, 0x00, 0x04, 0x4b, 0x64 \
		}                                                      \
	}

/* LoaderFeatures */
enum loader_feature {
	FEATURE_CONFIG_TIMEOUT = 1 << 0,
	FEATURE_CONFIG_TIMEOUT_ONE_SHOT = 1 << 1,
	FEATURE_ENTRY_DEFAULT = 1 << 2,
	FEATURE_ENTRY_ONESHOT = 1 << 3,
	FEATURE_BOOT_COUNTING = 1 << 4,
	FEATURE_XBOOTLDR = 1 << 5,
	FEATURE_RANDOM_SEED = 1 << 6,
	FEATURE_SORT_KEY = 1 << 8,
	FEATURE_SAVED_ENTRY = 1 << 9,
	FEATURE_DEVICETREE = 1 << 10,
	FEATURE_RETAIN_SHIM = 1 << 12,
	FEATURE_MENU_DISABLED = 1 << 13,
	FEATURE_MULTI_PROFILE_UKI = 1 << 14,
	FEATURE_TYPE1_UKI = 1 << 16,
	FEATURE_TPM2_ACTIVE_BANKS = 1 << 18,
	FEATURE_PREFERRED = 1 << 19,
	FEATURE_DEVICETREE_OVERLAY = 1 << 22,
};

#define GRANULE_BOOT_NAME "granule-boot"

#endif
