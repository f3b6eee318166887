/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a kernel file, the zboot header, and the search for the strings of selectable kernels.
 * Input: the first bytes of a file. */
#define _GNU_SOURCE /* memmem() */
#include "fuzz.h"
#include <granule/arm64_image.h>
#include <granule/error.h>

/* Longer input is not fed byte by byte: that would take most of the time. */
#define MAX_BYTEWISE 128

static void check_zboot(struct span file, uint64_t file_size)
{
	struct zboot z;
	size_t offset = SIZE_MAX;
	int error = zboot_parse(file.p, file.n, file_size, &z, &offset);

	CHECK(error == 0 || error == ERROR_MAGIC || error == ERROR_RANGE || error == ERROR_SYNTAX ||
	      error == ERROR_TRUNCATED);
	if (error == ERROR_TRUNCATED)
		CHECK(offset > (file.n < 64 ? file.n : file_size));
	else if (error)
		CHECK(offset + 4 <= file.n || offset == 0);
	if (error)
		return;
	CHECK(file.n >= 64);
	CHECK(fuzz_number(file.p + 56, 4) == 0x818223cd || fuzz_number(file.p + 56, 4) == 0);
	CHECK(z.payload_offset == fuzz_number(file.p + 8, 4) &&
	      z.payload_size == fuzz_number(file.p + 12, 4));
	CHECK(z.payload_offset >= 64 && z.payload_size);
	CHECK((uint64_t)z.payload_offset + z.payload_size <= file_size);
	size_t n = strnlen(z.compression, sizeof(z.compression));
	CHECK(n > 0 && n < 32 && !memcmp(z.compression, file.p + 24, n + 1));
}

static void check_head(struct span file, uint64_t file_size)
{
	struct image_head h;
	size_t offset = SIZE_MAX;
	int error = image_head_parse(file.p, file.n, file_size, &h, &offset);

	CHECK(error == 0 || error == ERROR_TRUNCATED || error == ERROR_RANGE || error == ERROR_SYNTAX);
	CHECK(h.container <= CONTAINER_UKI && image_container_name(h.container));
	if (error)
		return;
	CHECK(offset == 0);

	bool compressed = h.container >= CONTAINER_GZIP && h.container <= CONTAINER_LZ4;
	if (compressed || h.container == CONTAINER_ZBOOT || h.container == CONTAINER_UKI)
		CHECK(!h.has_arm64);
	if (compressed)
		CHECK(!h.has_pe && !h.x86_kernel);
	if (h.has_arm64) {
		CHECK(h.container == CONTAINER_RAW && file.n >= 64 && !memcmp(file.p + 56, "ARM\x64", 4));
		CHECK(h.arm64.page_size == (fuzz_number(file.p + 24, 8) >> 1 & 3));
		CHECK(h.arm64.image_size == fuzz_number(file.p + 16, 8));
	}
	if (h.has_pe)
		CHECK(h.pe.header_end <= file.n);
	if (h.container == CONTAINER_ZBOOT)
		CHECK(h.has_pe && (uint64_t)h.zboot.payload_offset + h.zboot.payload_size <= file_size);
	if (h.container == CONTAINER_UKI)
		CHECK(h.has_pe && memmem(file.p, file.n, ".linux", 6));
}

static void check_arm64(struct span file)
{
	struct arm64_image image;
	int error = arm64_image_parse(file.p, file.n, &image);

	if (file.n < ARM64_IMAGE_HEADER_SIZE)
		CHECK(error == ERROR_TRUNCATED);
	else
		CHECK((error == 0) == !memcmp(file.p + 56, "ARM\x64", 4));
}

static bool holds(struct span file, const char *string)
{
	return file.n && memmem(file.p, file.n, string, strlen(string) + 1);
}

/* All at once, in pieces whose sizes the content gives, and byte by byte: all must find what memmem() finds.
 */
static void check_scan(struct fuzz *f, struct span file)
{
	struct selectable_scan whole = { 0 }, pieces = { 0 }, bytes = { 0 };
	page_size_set want = 0;

	want |= (page_size_set)(holds(file, "arm64.pagesize=4k") << PAGE_SIZE_4K);
	want |= (page_size_set)(holds(file, "arm64.pagesize=16k") << PAGE_SIZE_16K);
	want |= (page_size_set)(holds(file, "arm64.pagesize=64k") << PAGE_SIZE_64K);

	selectable_scan_feed(&whole, file.p, file.n);
	CHECK(whole.seen == want);
	CHECK(selectable_scan_result(&whole) == (want == PAGE_SIZE_SET_ALL));

	size_t n_blocks = f->n_blocks;
	for (size_t i = 0, n; i < file.n; i += n) {
		n = (unsigned char)file.p[i] % 48u;
		n = n < file.n - i ? n : file.n - i;
		/* A copy, so that reading beyond a piece shows. */
		struct span piece = fuzz_copy(f, file.p + i, n);
		selectable_scan_feed(&pieces, piece.p, piece.n);
		free(f->blocks[--f->n_blocks]);
		if (n == 0) { /* empty pieces change nothing; go on by one byte */
			n = 1;
			selectable_scan_feed(&pieces, file.p + i, n);
		}
	}
	CHECK(f->n_blocks == n_blocks && pieces.seen == want);

	if (file.n > MAX_BYTEWISE)
		return;
	for (size_t i = 0; i < file.n; i++)
		selectable_scan_feed(&bytes, file.p + i, 1);
	CHECK(bytes.seen == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span file = fuzz_rest(&f), half = fuzz_copy(&f, file.p, file.n / 2);

	check_arm64(file);
	check_zboot(file, file.n);
	check_zboot(file, UINT64_MAX);
	check_zboot(half, file.n);
	check_head(file, file.n);
	check_head(file, UINT64_MAX);
	check_head(half, file.n);
	check_scan(&f, file);

	fuzz_end(&f);
	return 0;
}
