/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heads of kernel files, and the strings of the boot-time parameter. */
#include "unit.h"

#include <granule/arm64_image.h>
#include <granule/error.h>

#include "pe_file.h"

/* Fields of an arm64 Image around what stands there already. */
static void arm64_header(unsigned char *b, uint64_t flags)
{
	write_le64(b + 8, 0x1122334455667788);
	write_le64(b + 16, 0x99aabbccddeeff00);
	write_le64(b + 24, flags);
	memcpy(b + 56, "ARM\x64", 4);
}

/* A kernel with an EFI stub, as arm64 builds it. */
static void arm64_kernel(struct pe_file *f, uint64_t flags)
{
	pe_file_init(f, 0x40, PE_MACHINE_AA64, 1);
	pe_file_section(f, 0, &(struct pe_section){ ".text", 0x1000, 0x1000, 0x1000, 0x1000, 0 });
	arm64_header(f->bytes, flags);
}

static void zboot_header(unsigned char *b, uint32_t offset, uint32_t size, const char *compression)
{
	memset(b + 2, 0, 2);
	memcpy(b + 4, "zimg", 4);
	write_le32(b + 8, offset);
	write_le32(b + 12, size);
	memset(b + 24, 0, 32);
	memcpy(b + 24, compression, strlen(compression));
	write_le32(b + 56, 0x818223cd);
}

static void zboot_kernel(struct pe_file *f, uint32_t offset, uint32_t size, const char *compression)
{
	pe_file_init(f, 0x40, PE_MACHINE_AA64, 1);
	pe_file_section(f, 0, &(struct pe_section){ ".text", 0x1000, 0x1000, 0x1000, 0x1000, 0 });
	zboot_header(f->bytes, offset, size, compression);
}

/* ---- the arm64 header ---- */

static void flags_of_the_header(void **state)
{
	static const struct {
		uint64_t flags;
		enum page_size size;
		bool big_endian, any_base;
	} vectors[] = {
		{ 0x0, PAGE_SIZE_UNKNOWN, false, false },
		{ 0x2, PAGE_SIZE_4K, false, false },
		{ 0x4, PAGE_SIZE_16K, false, false },
		{ 0x6, PAGE_SIZE_64K, false, false },
		{ 0x1, PAGE_SIZE_UNKNOWN, true, false },
		/* As observed: selectable, fixed 64K, fixed 4K. */
		{ 0x8, PAGE_SIZE_UNKNOWN, false, true },
		{ 0xe, PAGE_SIZE_64K, false, true },
		{ 0xa, PAGE_SIZE_4K, false, true },
		{ 0xfffffffffffffff0, PAGE_SIZE_UNKNOWN, false, false },
		{ 0xf, PAGE_SIZE_64K, true, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		unsigned char b[ARM64_IMAGE_HEADER_SIZE] = { 0 };
		struct arm64_image image;

		arm64_header(b, vectors[i].flags);
		assert_int_equal(arm64_image_parse(b, sizeof(b), &image), 0);
		assert_true(image.text_offset == 0x1122334455667788);
		assert_true(image.image_size == 0x99aabbccddeeff00);
		assert_int_equal(image.page_size, vectors[i].size);
		assert_int_equal(image.big_endian, vectors[i].big_endian);
		assert_int_equal(image.any_base, vectors[i].any_base);
	}
}

static void heads_without_an_arm64_header(void **state)
{
	unsigned char b[ARM64_IMAGE_HEADER_SIZE] = { 0 };
	struct arm64_image image;

	(void)state;
	arm64_header(b, 0xa);
	for (size_t n = 0; n < sizeof(b); n++) {
		struct span head = exact_bytes(b, n);

		assert_int_equal(arm64_image_parse(head.p, n, &image), ERROR_TRUNCATED);
		release(head);
	}
	for (size_t i = 56; i < 60; i++) {
		b[i] ^= 0x20;
		assert_int_equal(arm64_image_parse(b, sizeof(b), &image), ERROR_MAGIC);
		b[i] ^= 0x20;
	}
}

/* ---- zboot ---- */

static void a_zboot_header(void **state)
{
	static const char *const names[] = {
		"gzip", "lz4", "lzma", "lzo", "xzkern", "zstd22", "1234567890123456789012345678901"
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		unsigned char b[64] = "MZ";
		struct zboot z;
		size_t offset;

		zboot_header(b, 0x1000, 0x2000, names[i]);
		memset(&z, 0x5a, sizeof(z));
		assert_int_equal(zboot_parse(b, sizeof(b), 0x3000, &z, &offset), 0);
		assert_int_equal(z.payload_offset, 0x1000);
		assert_int_equal(z.payload_size, 0x2000);
		assert_string_equal(z.compression, names[i]);
	}
}

static void damaged_zboot_headers(void **state)
{
	static const struct {
		uint32_t payload, size;
		const char *compression;
		uint64_t file;
		int error;
		size_t at;
	} vectors[] = {
		{ 64, 1, "gzip", 65, 0, 0 },
		{ 63, 1, "gzip", 100, ERROR_RANGE, 8 },
		{ 0, 1, "gzip", 100, ERROR_RANGE, 8 },
		{ 64, 0, "gzip", 100, ERROR_RANGE, 12 },
		{ 64, 2, "gzip", 65, ERROR_TRUNCATED, 66 },
		{ 0xffffffff, 0xffffffff, "gzip", 0xffffffff, ERROR_TRUNCATED, 0x1fffffffe },
		{ 0xffffffff, 0xffffffff, "gzip", UINT64_MAX, 0, 0 },
		{ 64, 1, "", 100, ERROR_SYNTAX, 24 },
		{ 64, 1, "12345678901234567890123456789012", 100, ERROR_SYNTAX, 24 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		unsigned char b[64] = "MZ";
		struct zboot z;
		size_t offset = 7;
		int error;

		zboot_header(b, vectors[i].payload, vectors[i].size, vectors[i].compression);
		error = zboot_parse(b, sizeof(b), vectors[i].file, &z, &offset);
		check(error == vectors[i].error && offset == vectors[i].at, "vector %zu: %d at %zu", i, error,
		      offset);
	}
}

static void what_is_not_zboot(void **state)
{
	static const size_t magics[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	unsigned char b[64] = "MZ";
	struct zboot z;
	size_t offset;

	(void)state;
	zboot_header(b, 64, 1, "gzip");
	for (size_t i = 0; i < COUNT(magics); i++) {
		b[magics[i]] ^= 1;
		assert_int_equal(zboot_parse(b, sizeof(b), 100, &z, &offset), ERROR_MAGIC);
		assert_int_equal(offset, 0);
		b[magics[i]] ^= 1;
	}
	b[58] ^= 1;
	assert_int_equal(zboot_parse(b, sizeof(b), 100, &z, &offset), ERROR_SYNTAX);
	assert_int_equal(offset, 56);
	b[58] ^= 1;
	for (size_t n = 0; n < sizeof(b); n++) {
		struct span head = exact_bytes(b, n);

		assert_int_equal(zboot_parse(head.p, n, 100, &z, &offset),
				 n < 8 ? ERROR_MAGIC : ERROR_TRUNCATED);
		assert_int_equal(offset, n < 8 ? 0 : sizeof(b));
		release(head);
	}
}

/* ---- whole heads ---- */

static int parse(const void *bytes, size_t n, uint64_t file_size, struct image_head *head, size_t *ret_offset)
{
	struct span copy = exact_bytes(bytes, n);
	int error;

	memset(head, 0x5a, sizeof(*head));
	*ret_offset = 99;
	error = image_head_parse(copy.p, n, file_size, head, ret_offset);
	release(copy);
	return error;
}

static void containers_by_their_first_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum image_container container;
	} vectors[] = {
		{ "\x1f\x8b\x08\x00", 4, CONTAINER_GZIP },
		{ "\x28\xb5\x2f\xfd", 4, CONTAINER_ZSTD },
		{ "\xfd"
		  "7zXZ\0",
		  6, CONTAINER_XZ },
		{ "\x04\x22\x4d\x18", 4, CONTAINER_LZ4 },
		{ "\x02\x21\x4c\x18", 4, CONTAINER_LZ4 },
		{ "\x1f\x8b\x00", 3, CONTAINER_UNKNOWN },
		{ "\x28\xb5\x2f", 3, CONTAINER_UNKNOWN },
		{ "\xfd"
		  "7zXZ",
		  5, CONTAINER_UNKNOWN },
		{ "\x7f"
		  "ELF",
		  4, CONTAINER_UNKNOWN },
		{ "", 0, CONTAINER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct image_head head;
		size_t offset;

		assert_int_equal(parse(vectors[i].bytes, vectors[i].n, 1000, &head, &offset), 0);
		check(head.container == vectors[i].container, "vector %zu: %s", i,
		      image_container_name(head.container));
		assert_false(head.has_arm64 || head.has_pe || head.x86_kernel);
	}
}

static void an_arm64_kernel_with_an_efi_stub(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	arm64_kernel(&f, 0xe);
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_RAW);
	assert_true(head.has_arm64 && head.has_pe);
	assert_false(head.x86_kernel);
	assert_int_equal(head.arm64.page_size, PAGE_SIZE_64K);
	assert_int_equal(head.pe.machine, PE_MACHINE_AA64);
}

static void an_arm64_kernel_without_an_efi_stub(void **state)
{
	unsigned char b[200] = "\x01\x02";
	struct image_head head;
	size_t offset;

	(void)state;
	arm64_header(b, 0xa);
	assert_int_equal(parse(b, sizeof(b), 1 << 20, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_RAW);
	assert_true(head.has_arm64);
	assert_false(head.has_pe);
	assert_int_equal(head.arm64.page_size, PAGE_SIZE_4K);
	assert_int_equal(offset, 0);
}

static void an_x86_kernel(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x40, PE_MACHINE_X64, 0);
	memcpy(f.bytes + 0x1fe, "\x55\xaa", 2);
	memcpy(f.bytes + 0x202, "HdrS", 4);
	assert_int_equal(parse(f.bytes, 0x206, 0x206, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_RAW);
	assert_true(head.x86_kernel && head.has_pe);
	assert_false(head.has_arm64);
	f.bytes[0x205] = 's';
	assert_int_equal(parse(f.bytes, 0x206, 0x206, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_UNKNOWN);
	assert_false(head.x86_kernel);
	f.bytes[0x205] = 'S';
	f.bytes[0x1fe] = 0;
	assert_int_equal(parse(f.bytes, 0x206, 0x206, &head, &offset), 0);
	assert_false(head.x86_kernel);
}

static void a_zboot_kernel(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	zboot_kernel(&f, 0x1000, 0x800, "gzip");
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_ZBOOT);
	assert_true(head.has_pe);
	assert_false(head.has_arm64);
	assert_int_equal(head.zboot.payload_offset, 0x1000);
	assert_string_equal(head.zboot.compression, "gzip");
}

static void a_unified_kernel_image(void **state)
{
	(void)state;
	for (int with_magic = 0; with_magic < 2; with_magic++) {
		struct image_head head;
		struct pe_file f;
		size_t offset;

		pe_file_init(&f, 0x80, PE_MACHINE_AA64, 4);
		pe_file_section(&f, 0, &(struct pe_section){ ".linuxx", 0x100, 0, 0x200, 0x600, 0 });
		pe_file_section(&f, 1, &(struct pe_section){ ".cmdline", 0x100, 0, 0x200, 0x800, 0 });
		/* The first profile may have no kernel. */
		pe_file_section(&f, 2, &(struct pe_section){ ".linux", 0, 0, 0, 0, 0 });
		pe_file_section(&f, 3, &(struct pe_section){ ".linux", 0x150, 0, 0x200, 0xa00, 0 });
		/* A multi-page-size image carries the magic of an Image as well. */
		if (with_magic) {
			memcpy(f.bytes + 56, "ARM\x64", 4);
			write_le64(f.bytes + 24, 0x2);
		}
		assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), 0);
		assert_int_equal(head.container, CONTAINER_UKI);
		assert_false(head.has_arm64);
	}
}

static void the_kernel_may_be_the_first_section(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 1);
	pe_file_section(&f, 0, &(struct pe_section){ ".linux", 0x100, 0, 0x200, 0x600, 0 });
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_UKI);
}

static void a_pe_file_that_is_no_kernel(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 1);
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), 0);
	assert_int_equal(head.container, CONTAINER_UNKNOWN);
	assert_true(head.has_pe);
}

static void damaged_kernels(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	/* Cut off: the size that the file should have. */
	arm64_kernel(&f, 0xa);
	assert_int_equal(parse(f.bytes, f.n, 0x1fff, &head, &offset), ERROR_TRUNCATED);
	assert_int_equal(offset, 0x2000);
	assert_int_equal(parse(f.bytes, f.n - 1, f.n - 1, &head, &offset), ERROR_TRUNCATED);

	zboot_kernel(&f, 0x1000, 0x2000, "gzip");
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), ERROR_TRUNCATED);
	assert_int_equal(offset, 0x3000);
	zboot_kernel(&f, 0x10, 0x20, "gzip");
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), ERROR_RANGE);
	assert_int_equal(offset, 8);
	zboot_kernel(&f, 0x1000, 0x20, "");
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), ERROR_SYNTAX);
	assert_int_equal(offset, 24);

	arm64_kernel(&f, 0xa);
	write_le32(f.bytes + 0x3c, 0x10);
	assert_int_equal(parse(f.bytes, f.n, 0x2000, &head, &offset), ERROR_RANGE);
	assert_int_equal(offset, 0x3c);
}

/* image_head_parse() tells the size that a truncated file should have, also when it ends within the headers.
 */
static void a_file_that_ends_within_its_headers_tells_the_size_it_should_have(void **state)
{
	struct image_head head;
	struct pe_file f;
	size_t offset;

	(void)state;
	arm64_kernel(&f, 0xa);
	assert_int_equal(parse(f.bytes, f.n - 1, f.n - 1, &head, &offset), ERROR_TRUNCATED);
	assert_true(offset >= f.n);
}

static void what_keeps_firmware_from_starting_a_file(void **state)
{
	static const struct {
		struct image_head head;
		const char *want; /* part of the phrase; NULL: nothing */
	} vectors[] = {
		{ { .container = CONTAINER_RAW,
		    .has_arm64 = true,
		    .has_pe = true,
		    .pe = { .machine = PE_MACHINE_AA64 } },
		  NULL },
		{ { .container = CONTAINER_ZBOOT, .has_pe = true, .pe = { .machine = PE_MACHINE_AA64 } },
		  NULL },
		{ { .container = CONTAINER_UKI, .has_pe = true, .pe = { .machine = PE_MACHINE_AA64 } },
		  NULL },
		/* Any other EFI program. */
		{ { .container = CONTAINER_UNKNOWN, .has_pe = true, .pe = { .machine = PE_MACHINE_AA64 } },
		  NULL },
		{ { .container = CONTAINER_RAW, .has_pe = true, .pe = { .machine = PE_MACHINE_X64 } },
		  "architecture" },
		{ { .container = CONTAINER_RAW, .has_arm64 = true }, "EFI stub" },
		{ { .container = CONTAINER_UNKNOWN }, "not a kernel" },
		{ { .container = CONTAINER_GZIP }, "compressed" },
		{ { .container = CONTAINER_XZ }, "compressed" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		const char *got = image_objection(&vectors[i].head, PE_MACHINE_AA64);

		if (!vectors[i].want)
			check(!got, "vector %zu: %s", i, got);
		else
			check(got && strstr(got, vectors[i].want), "vector %zu: %s", i,
			      got ? got : "nothing");
	}
}

static void words_of_containers_and_kinds(void **state)
{
	static const char *const containers[] = { "unknown", "raw", "gzip",  "zstd",
						  "xz",      "lz4", "zboot", "uki" };
	static const char *const kinds[] = { "unknown", "fixed", "selectable" };

	(void)state;
	for (size_t i = 0; i < COUNT(containers); i++)
		assert_string_equal(image_container_name((enum image_container)i), containers[i]);
	for (size_t i = 0; i < COUNT(kinds); i++)
		assert_string_equal(image_kind_name((enum image_kind)i), kinds[i]);
}

/* ---- strings of the boot-time parameter ---- */

static bool scan_in_pieces(struct span data, size_t first, size_t second)
{
	struct selectable_scan scan = { 0 };

	for (size_t at = 0, n = first; at < data.n; at += n, n = second) {
		struct span piece;

		if (n > data.n - at)
			n = data.n - at;
		piece = exact_bytes(data.p + at, n);
		selectable_scan_feed(&scan, piece.p, piece.n);
		release(piece);
	}
	return selectable_scan_result(&scan);
}

#define ALL_STRINGS "arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=64k\0"

static void all_three_strings_make_an_image_selectable(void **state)
{
	static const struct {
		struct span data;
		bool want;
	} vectors[] = {
		{ { ALL_STRINGS, sizeof(ALL_STRINGS) - 1 }, true },
		{ { ALL_STRINGS, sizeof(ALL_STRINGS) - 2 }, false }, /* the last one has no end */
		{ { &ALL_STRINGS[1], sizeof(ALL_STRINGS) - 2 }, false },
		{ { &ALL_STRINGS[18], sizeof(ALL_STRINGS) - 19 }, false },
		{ { ALL_STRINGS, 37 }, false },
		{ { "", 0 }, false },
		{ { "arm64.pagesize=64k\0\0arm64.pagesize=4k\0xarm64.pagesize=16k\0", 58 }, true },
		{ { "arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=64kb\0", 57 }, false },
		{ { "arm64.pagesize=4k arm64.pagesize=16k arm64.pagesize=64k ", 56 }, false },
		{ { "arm64.pagesize=4k\0arm64.pagesize=4k\0arm64.pagesize=4k\0", 54 }, false },
		{ { "aarm64.pagesize=4k\0arm64.arm64.pagesize=16k\0arm64.pagesize=arm64.pagesize=64k\0", 79 },
		  true },
		{ { "Arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=64k\0", 56 }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span data = vectors[i].data;

		check(scan_in_pieces(data, data.n, 1) == vectors[i].want, "vector %zu", i);
		/* However it is cut. */
		for (size_t n = 1; n <= data.n; n++)
			check(scan_in_pieces(data, n, n) == vectors[i].want, "vector %zu in pieces of %zu", i,
			      n);
		for (size_t n = 1; n < data.n; n++)
			check(scan_in_pieces(data, n, data.n - n) == vectors[i].want, "vector %zu cut at %zu",
			      i, n);
	}
}

static void strings_are_found_across_every_border(void **state)
{
	static char image[1000];
	static const size_t at[] = { 100, 400, 800 };
	static const char *const strings[] = { "arm64.pagesize=16k", "arm64.pagesize=64k",
					       "arm64.pagesize=4k" };

	(void)state;
	memset(image, 'a', sizeof(image));
	for (size_t i = 0; i < 3; i++)
		strcpy(image + at[i], strings[i]);
	for (size_t first = 1; first < 500; first++) {
		assert_true(scan_in_pieces((struct span){ image, sizeof(image) }, first, sizeof(image)));
		assert_true(scan_in_pieces((struct span){ image, sizeof(image) }, first, 1 + first % 30));
		assert_true(scan_in_pieces((struct span){ image, sizeof(image) }, 1 + first % 30, first));
	}
	/* One byte is wrong: not found, wherever it is cut. */
	image[at[1] + 3] = '_';
	for (size_t first = 1; first < 500; first++)
		assert_false(scan_in_pieces((struct span){ image, sizeof(image) }, first, 1 + first % 30));
}

static void empty_pieces_change_nothing(void **state)
{
	struct selectable_scan scan = { 0 };
	const char *data = ALL_STRINGS;

	(void)state;
	for (size_t i = 0; i < sizeof(ALL_STRINGS) - 1; i++) {
		assert_false(selectable_scan_result(&scan));
		selectable_scan_feed(&scan, data + i, 1);
		selectable_scan_feed(&scan, data, 0);
	}
	assert_true(selectable_scan_result(&scan));
}

static void pieces_that_are_not_adjacent_do_not_join(void **state)
{
	struct selectable_scan scan = { 0 };

	(void)state;
	/* The tail must be that of the last piece only. */
	selectable_scan_feed(&scan, "arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=", 52);
	selectable_scan_feed(&scan, "0123456789012345678901234567890123456789", 40);
	selectable_scan_feed(&scan, "64k\0", 4);
	assert_false(selectable_scan_result(&scan));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_of_the_header),
		cmocka_unit_test(heads_without_an_arm64_header),
		cmocka_unit_test(a_zboot_header),
		cmocka_unit_test(damaged_zboot_headers),
		cmocka_unit_test(what_is_not_zboot),
		cmocka_unit_test(containers_by_their_first_bytes),
		cmocka_unit_test(an_arm64_kernel_with_an_efi_stub),
		cmocka_unit_test(an_arm64_kernel_without_an_efi_stub),
		cmocka_unit_test(an_x86_kernel),
		cmocka_unit_test(a_zboot_kernel),
		cmocka_unit_test(a_unified_kernel_image),
		cmocka_unit_test(the_kernel_may_be_the_first_section),
		cmocka_unit_test(a_pe_file_that_is_no_kernel),
		cmocka_unit_test(damaged_kernels),
		cmocka_unit_test(a_file_that_ends_within_its_headers_tells_the_size_it_should_have),
		cmocka_unit_test(what_keeps_firmware_from_starting_a_file),
		cmocka_unit_test(words_of_containers_and_kinds),
		cmocka_unit_test(all_three_strings_make_an_image_selectable),
		cmocka_unit_test(strings_are_found_across_every_border),
		cmocka_unit_test(empty_pieces_change_nothing),
		cmocka_unit_test(pieces_that_are_not_adjacent_do_not_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
