/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Firmware's memory map in units of 64 KiB. */
#include "unit.h"

#include <granule/memory_map.h>

#define WB 8u
#define UC 1u
#define XP 0x4000u
#define RUNTIME 0x8000000000000000u
enum { RESERVED = 0, CONVENTIONAL = 7, RT_CODE = 5, RT_DATA = 6, NVS = 10 };

static void expect(const struct memory_region *regions, size_t n, size_t conflicts, uint64_t first)
{
	uint64_t at;

	check(memory_map_conflicts(regions, n, &at) == conflicts, "%zu conflicts",
	      memory_map_conflicts(regions, n, &at));
	if (conflicts)
		check(at == first, "first at %#lx", (unsigned long)at);
}

static void aligned_regions_are_fine_whatever_they_are(void **state)
{
	const struct memory_region map[] = {
		{ CONVENTIONAL, 0, 0x40000, WB },
		{ RT_DATA, 0x40000, 0x10000, WB | RUNTIME },
		{ RESERVED, 0x50000, 0x20000, UC },
		{ CONVENTIONAL, 0x70000, 0x1000, WB },
	};

	(void)state;
	expect(map, COUNT(map), 0, 0);
}

static void a_shared_unit_counts_only_with_other_attributes(void **state)
{
	struct memory_region map[] = {
		{ CONVENTIONAL, 0, 0x45000, WB },
		{ RT_DATA, 0x45000, 0xb000, WB | RUNTIME },
	};

	(void)state;
	expect(map, 2, 0, 0);
	map[0].attributes = UC;
	expect(map, 2, 1, 0x40000);
	/* Neither of two regions of ordinary memory is firmware's. */
	map[1].type = CONVENTIONAL;
	expect(map, 2, 0, 0);
}

static void each_type_that_firmware_keeps_is_looked_at(void **state)
{
	static const uint32_t kept[] = { RESERVED, RT_CODE, RT_DATA, NVS };

	(void)state;
	for (size_t i = 0; i < COUNT(kept); i++) {
		const struct memory_region map[] = {
			{ kept[i], 0x20000, 0x8000, WB },
			{ CONVENTIONAL, 0x28000, 0x8000, UC },
		};
		expect(map, 2, 1, 0x20000);
	}
}

static void permissions_matter_between_run_time_regions(void **state)
{
	struct memory_region map[] = {
		{ RT_DATA, 0x1f8000, 0x9000, WB | XP | RUNTIME },
		{ RT_CODE, 0x201000, 0xf000, WB | RUNTIME },
	};

	(void)state;
	/* Both of them share the unit at 2 MiB. */
	expect(map, 2, 2, 0x200000);
	map[1].attributes |= XP;
	expect(map, 2, 0, 0);
	map[1].attributes = WB;
	map[1].type = CONVENTIONAL;
	expect(map, 2, 0, 0);
}

static void the_lowest_unit_is_told_in_any_order(void **state)
{
	const struct memory_region map[] = {
		{ RT_DATA, 0x91000, 0x1000, WB },
		{ CONVENTIONAL, 0x90000, 0x1000, UC },
		{ RT_DATA, 0x31000, 0x2000, WB },
		{ CONVENTIONAL, 0x33000, 0x1000, UC },
	};

	(void)state;
	expect(map, COUNT(map), 2, 0x30000);
}

static void regions_that_cannot_be_are_passed_over(void **state)
{
	const struct memory_region map[] = {
		{ RT_DATA, 0x1000, 0, WB },
		{ RT_DATA, UINT64_MAX - 0xfff, 0x2000, WB },
		{ CONVENTIONAL, 0, 0x10000, UC },
		{ CONVENTIONAL, UINT64_MAX - 0xffff, 0xf000, UC },
	};

	(void)state;
	expect(map, COUNT(map), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned_regions_are_fine_whatever_they_are),
		cmocka_unit_test(a_shared_unit_counts_only_with_other_attributes),
		cmocka_unit_test(each_type_that_firmware_keeps_is_looked_at),
		cmocka_unit_test(permissions_matter_between_run_time_regions),
		cmocka_unit_test(the_lowest_unit_is_told_in_any_order),
		cmocka_unit_test(regions_that_cannot_be_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
