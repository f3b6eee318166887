/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first bytes of a kernel file say: container, architecture, page size.
 * Formats: arm64 Image header (Documentation/arm64/booting), EFI zboot header
 * (drivers/firmware/efi/libstub/zboot-header.S), magic numbers of compressors. */
#ifndef GRANULE_ARM64_IMAGE_H
#define GRANULE_ARM64_IMAGE_H

#include <granule/page_size.h>
#include <granule/pe.h>

enum image_container {
	CONTAINER_UNKNOWN,
	CONTAINER_RAW,
	CONTAINER_GZIP,
	CONTAINER_ZSTD,
	CONTAINER_XZ,
	CONTAINER_LZ4,
	CONTAINER_ZBOOT,
	CONTAINER_UKI,
};

/* Whether the page size is compiled in. */
enum image_kind {
	IMAGE_UNKNOWN,
	IMAGE_FIXED,
	IMAGE_SELECTABLE,
};

#define ARM64_IMAGE_HEADER_SIZE 64

struct arm64_image {
	uint64_t text_offset;
	uint64_t image_size;      /* bytes in memory, with bss; 0 in very old kernels */
	enum page_size page_size; /* unknown: unspecified, selectable or very old */
	bool big_endian;
	bool any_base; /* may be placed at any 2 MiB aligned address */
};

struct zboot {
	uint32_t payload_offset, payload_size; /* bytes, in the file */
	char compression[33];                  /* "gzip", "lz4", "lzma", "lzo", "xzkern", "zstd22" */
};

/* Everything that the head of a kernel file tells. */
struct image_head {
	enum image_container container;
	bool has_arm64;  /* `arm64` is valid; never for compressed containers */
	bool has_pe;     /* `pe` is valid: firmware can start the file */
	bool x86_kernel; /* an x86 kernel with a boot protocol header */
	struct arm64_image arm64;
	struct pe pe;
	struct zboot zboot;
};

/* Reads the 64-byte header of an arm64 Image. ERROR_TRUNCATED if size < 64, ERROR_MAGIC without ARM\x64. */
int arm64_image_parse(const void *head, size_t size, struct arm64_image *ret);

/* Reads a zboot header. `file_size` bounds the payload (pass UINT64_MAX if not known). ERROR_MAGIC when it is
 * not zboot; ERROR_RANGE when the payload overlaps the header or is empty; ERROR_SYNTAX for an unterminated
 * name or a foreign magic, both with *ret_offset the field at fault; ERROR_TRUNCATED when it lies outside the
 * file, with the size that it needs. */
int zboot_parse(const void *head, size_t size, uint64_t file_size, struct zboot *ret, size_t *ret_offset);

/* Tells what a file is from its first `size` bytes (give PE_HEAD_SIZE, or the whole file if shorter) and its
 * size. Returns 0 also for CONTAINER_UNKNOWN; an error for a file that starts like a kernel and is damaged:
 * ERROR_TRUNCATED, ERROR_RANGE, ERROR_SYNTAX, with *ret_offset the offset at fault (for a
 * truncated file the size that it should have). */
int image_head_parse(const void *head, size_t size, uint64_t file_size, struct image_head *ret,
		     size_t *ret_offset);

/* What keeps firmware of this machine type (enum pe_machine) from starting the file, as a phrase; NULL if
 * nothing. */
const char *image_objection(const struct image_head *head, uint16_t machine);

/* "raw", "gzip"...; "unknown". */
const char *image_container_name(enum image_container container);
/* "fixed", "selectable", "unknown". */
const char *image_kind_name(enum image_kind kind);

/* Looks for the strings of the boot-time parameter in an uncompressed image that comes in pieces: a kernel
 * that can select its page size holds "arm64.pagesize=4k", "=16k" and "=64k" once each. Zero it to start. */
struct selectable_scan {
	char tail[24]; /* end of the piece before, where a string may begin */
	size_t n_tail;
	page_size_set seen;
};

void selectable_scan_feed(struct selectable_scan *scan, const void *data, size_t size);
/* True once all three strings were seen. */
bool selectable_scan_result(const struct selectable_scan *scan);

#endif
