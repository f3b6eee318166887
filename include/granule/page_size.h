/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vocabulary of page sizes: three sizes, their words, and sets of them (what a CPU offers). */
#ifndef GRANULE_PAGE_SIZE_H
#define GRANULE_PAGE_SIZE_H

#include <granule/span.h>

/* Values are those of the arm64 Image header, flags bits 1-2 (Documentation/arm64/booting). */
enum page_size {
	PAGE_SIZE_UNKNOWN = 0,
	PAGE_SIZE_4K = 1,
	PAGE_SIZE_16K = 2,
	PAGE_SIZE_64K = 3,
};

/* A set of page sizes, one bit each. 0 means that the set is not known. */
typedef uint8_t page_size_set;

#define PAGE_SIZE_SET_UNKNOWN ((page_size_set)0)
#define PAGE_SIZE_SET_ALL ((page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_16K | 1u << PAGE_SIZE_64K))

static inline bool page_size_in(enum page_size size, page_size_set set)
{
	return set & (1u << size);
}

/* Size in bytes: 4096, 16384, 65536; 0 for unknown. */
uint32_t page_size_bytes(enum page_size size);

/* Inverse of page_size_bytes(); PAGE_SIZE_UNKNOWN for any other number. */
enum page_size page_size_from_bytes(uint64_t bytes);

/* The word of every interface: "4k", "16k", "64k", "unknown". */
const char *page_size_word(enum page_size size);

/* The word of prose and menus: "4K", "16K", "64K", "?". */
const char *page_size_title(enum page_size size);

/* Reads exactly "4k", "16k" or "64k", as the kernel does; PAGE_SIZE_UNKNOWN for anything else. */
enum page_size page_size_parse(struct span word);

/* As page_size_parse(), for words that people type: upper case and "64kb" are understood as well. */
enum page_size page_size_parse_typed(struct span word);

/* Largest member of a set; PAGE_SIZE_UNKNOWN for an unknown set. */
enum page_size page_size_largest(page_size_set set);

/* Reads and writes a set as words separated by one blank ("4k 64k"), the content of GranuleCpu.
 * Unknown words are skipped; no known word gives PAGE_SIZE_SET_UNKNOWN. */
page_size_set page_size_set_parse(struct span words);
void page_size_set_format(page_size_set set, struct text *ret);

/* Granules of the CPU from the value of ID_AA64MMFR0_EL1 (Arm ARM, D19.2.64): TGran4 [31:28] 0xF absent,
 * TGran64 [27:24] 0xF absent, TGran16 [23:20] 0 absent. */
page_size_set page_size_set_from_mmfr0(uint64_t mmfr0);

#endif
