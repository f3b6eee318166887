/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CPU and this build can run. */
#ifndef GRANULE_EFI_CPU_H
#define GRANULE_EFI_CPU_H

#include <granule/page_size.h>
#include <granule/pe.h>

#if defined(__aarch64__)
#define EFI_NATIVE_MACHINE PE_MACHINE_AA64
#elif defined(__x86_64__)
#define EFI_NATIVE_MACHINE PE_MACHINE_X64
#else
#error "granule-boot is built for aarch64 and x86_64"
#endif

/* Page sizes of the CPU. Firmware runs at EL1 or EL2, where the ID registers can be read; Linux hides these
 * fields from user space. */
static inline page_size_set efi_cpu_page_sizes(void)
{
#if defined(__aarch64__)
	uint64_t mmfr0;

	__asm__("mrs %0, id_aa64mmfr0_el1" : "=r"(mmfr0));
	return page_size_set_from_mmfr0(mmfr0);
#else
	return 1u << PAGE_SIZE_4K;
#endif
}

#endif
