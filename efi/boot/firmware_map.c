/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/memory_map.h>

#include "boot.h"

/* Descriptors that may come into being between asking for the size and reading. */
#define SPARE 16u

BOOLEAN firmware_map_check(UINTN *ret_conflicts, UINT64 *ret_first)
{
	UINTN size = 0, key, step = 0, n;
	UINT32 version;

	if (BS->GetMemoryMap(&size, NULL, &key, &step, &version) != EFI_BUFFER_TOO_SMALL ||
	    step < sizeof(EFI_MEMORY_DESCRIPTOR))
		return FALSE;
	size += SPARE * step;
	UINT8 *map = efi_alloc(size);
	BOOLEAN good =
		!EFI_ERROR(BS->GetMemoryMap(&size, (EFI_MEMORY_DESCRIPTOR *)map, &key, &step, &version));
	if (good) {
		n = size / step;
		struct memory_region *regions = efi_new(struct memory_region, n);
		for (UINTN i = 0; i < n; i++) {
			const EFI_MEMORY_DESCRIPTOR *d = (const EFI_MEMORY_DESCRIPTOR *)(map + i * step);
			regions[i] =
				(struct memory_region){ d->Type, d->PhysicalStart,
							d->NumberOfPages << EFI_PAGE_SHIFT, d->Attribute };
		}
		*ret_conflicts = memory_map_conflicts(regions, n, ret_first);
		efi_free(regions);
	}
	efi_free(map);
	return good;
}
