/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/memory_map.h>
#include <stdbool.h>

#define UNIT 0x10000u
/* EFI_MEMORY_TYPE of what stays firmware's own */
#define TYPE_RESERVED 0
#define TYPE_RUNTIME_CODE 5
#define TYPE_RUNTIME_DATA 6
#define TYPE_ACPI_NVS 10
/* EFI_MEMORY_UC, WC, WT, WB, UCE: how memory is cached; WP, RP, XP, RO: what may be done with it */
#define CACHING 0x1fu
#define PERMISSIONS 0x27000u

static bool is_kept(const struct memory_region *r)
{
	return r->type == TYPE_RESERVED || r->type == TYPE_RUNTIME_CODE || r->type == TYPE_RUNTIME_DATA ||
	       r->type == TYPE_ACPI_NVS;
}

/* Permissions say something about run-time memory only. */
static bool same_attributes(const struct memory_region *a, const struct memory_region *b)
{
	uint64_t mask = is_kept(a) && is_kept(b) ? CACHING | PERMISSIONS : CACHING;

	return ((a->attributes ^ b->attributes) & mask) == 0;
}

static bool unit_conflicts(const struct memory_region *regions, size_t n, size_t own, uint64_t unit)
{
	for (size_t i = 0; i < n; i++) {
		const struct memory_region *r = &regions[i];

		if (i == own || !r->size || r->start >= unit + UNIT || r->start + r->size <= unit)
			continue;
		if (!same_attributes(&regions[own], r))
			return true;
	}
	return false;
}

size_t memory_map_conflicts(const struct memory_region *regions, size_t n, uint64_t *ret_first)
{
	size_t found = 0;

	*ret_first = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct memory_region *r = &regions[i];
		uint64_t end = r->start + r->size;
		bool conflict = false;

		/* What wraps around is no region. */
		if (!is_kept(r) || !r->size || end < r->start || end > UINT64_MAX - UNIT)
			continue;
		/* Only the units at its two ends can hold something else, if it does not fill them. */
		const uint64_t edges[] = { r->start, end };
		for (size_t k = 0; k < 2; k++) {
			uint64_t unit = edges[k] & ~(uint64_t)(UNIT - 1);

			if (unit == edges[k] || !unit_conflicts(regions, n, i, unit))
				continue;
			conflict = true;
			if (unit < *ret_first)
				*ret_first = unit;
		}
		found += conflict;
	}
	return found;
}
