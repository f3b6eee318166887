/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether firmware's memory map suits kernels with 64K pages. A 64K kernel cannot map less than 64 KiB, so
 * UEFI asks (2.10, 2.3.6.1) that memory which firmware keeps at run time shares no unit of 64 KiB with memory
 * of other attributes. Where it does, such a kernel maps with loose permissions, or wrongly. */
#ifndef GRANULE_MEMORY_MAP_H
#define GRANULE_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct memory_region {
	uint32_t type;        /* EFI_MEMORY_TYPE */
	uint64_t start, size; /* bytes */
	uint64_t attributes;  /* EFI_MEMORY_* */
};

/* Counts the regions of the types Reserved, RuntimeServicesCode, RuntimeServicesData and ACPIMemoryNVS that
 * share a unit of 64 KiB with a region of other attributes, in any order of regions. *ret_first is the
 * address of the lowest such unit. */
size_t memory_map_conflicts(const struct memory_region *regions, size_t n, uint64_t *ret_first);

#endif
