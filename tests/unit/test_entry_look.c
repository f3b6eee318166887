/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look at the file of an entry: containers of every kind, whole and damaged. */
#include "unit.h"

#include <granule/entry_look.h>
#include <granule/error.h>

#include <zlib.h>

#include "memory_file.h"
#include "pe_file.h"

#define FILE_MAX (2u << 20)
#define STRINGS "arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=64k"

static unsigned char bytes[FILE_MAX];
static char memory[ENTRY_LOOK_MEMORY];
static struct memory_file file;

struct seen {
	struct entry e;
	struct image_head head;
	const char *wrong;
};

static void start(uint64_t size)
{
	memset(bytes, 0, sizeof(bytes));
	file = (struct memory_file){ .bytes = bytes, .size = size, .broken_from = UINT64_MAX };
}

static struct seen look_with(const struct bls_entry *bls, uint16_t machine, page_size_set cpu)
{
	const struct file_source source = memory_file_source(&file);
	struct seen s = { .e.bls = *bls, .e.kind = IMAGE_FIXED, .e.page_size = PAGE_SIZE_16K };

	s.wrong = entry_look(&s.e, &source, machine, cpu, memory, sizeof(memory), &s.head);
	/* What the entry was given stays as it was. */
	assert_ptr_equal(s.e.bls.options.p, bls->options.p);
	assert_int_equal(s.e.bls.options.n, bls->options.n);
	if (s.wrong) {
		assert_int_equal(s.e.kind, IMAGE_UNKNOWN);
		assert_int_equal(s.e.page_size, PAGE_SIZE_UNKNOWN);
	}
	return s;
}

static struct seen look(void)
{
	const struct bls_entry plain = { .start = BLS_START_LINUX };

	return look_with(&plain, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
}

static void expect(const struct seen *s, enum image_kind kind, enum page_size size)
{
	check(!s->wrong, "%s", s->wrong);
	check(s->e.kind == kind, "%s instead of %s", image_kind_name(s->e.kind), image_kind_name(kind));
	check(s->e.page_size == size, "%s instead of %s", page_size_word(s->e.page_size),
	      page_size_word(size));
}

/* An Image header, without those of a PE file. */
static void put_image(unsigned char *at, enum page_size size)
{
	write_le64(at + 24, (uint64_t)size << 1 | 8);
	memcpy(at + 56, "ARM\x64", 4);
}

static void put_pe(uint16_t machine, uint16_t n_sections)
{
	struct pe_file f;

	pe_file_init(&f, 0x80, machine, n_sections);
	memcpy(bytes, f.bytes, f.n);
}

static size_t put_gzip(unsigned char *at, size_t room, const void *data, size_t size)
{
	z_stream s = { 0 };

	assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	s.next_in = (void *)data;
	s.avail_in = (unsigned)size;
	s.next_out = at;
	s.avail_out = (unsigned)room;
	assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
	deflateEnd(&s);
	return room - s.avail_out;
}

/* A zboot image of a kernel of this size; returns its own size. */
static size_t put_zboot(unsigned char *at, enum page_size size, const char *compression)
{
	static unsigned char kernel[100000];

	for (size_t i = 0; i < sizeof(kernel); i++)
		kernel[i] = (unsigned char)(i * i >> 8);
	put_image(kernel, size);
	memcpy(at, "MZ\0\0zimg", 8);
	write_le32(at + 8, 0x1000);
	strcpy((char *)at + 24, compression);
	write_le32(at + 56, 0x818223cd);
	size_t n = put_gzip(at + 0x1000, FILE_MAX / 2, kernel, sizeof(kernel));
	write_le32(at + 12, (uint32_t)n);
	return 0x1000 + n;
}

static void start_zboot(enum page_size size, const char *compression)
{
	start(0);
	put_pe(PE_MACHINE_AA64, 0);
	file.size = put_zboot(bytes, size, compression);
}

/* ---- kernels as they are ---- */

static void a_raw_image_says_its_size(void **state)
{
	(void)state;
	for (enum page_size size = PAGE_SIZE_4K; size <= PAGE_SIZE_64K; size++) {
		start(0x3000);
		put_pe(PE_MACHINE_AA64, 0);
		put_image(bytes, size);
		struct seen s = look();
		expect(&s, IMAGE_FIXED, size);
		assert_int_equal(s.head.container, CONTAINER_RAW);
		assert_int_equal(s.head.arm64.page_size, size);
		assert_false(s.e.initrd_by_name);
		assert_int_equal(file.reads, 1);
	}
}

static void an_old_kernel_takes_initrds_by_name(void **state)
{
	struct pe_file f;

	(void)state;
	start(0x3000);
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 0);
	write_le16(f.bytes + f.optional + 44, 0);
	memcpy(bytes, f.bytes, f.n);
	put_image(bytes, PAGE_SIZE_4K);
	struct seen s = look();
	expect(&s, IMAGE_FIXED, PAGE_SIZE_4K);
	assert_true(s.e.initrd_by_name);
}

static void a_selectable_image_is_found_by_its_strings(void **state)
{
	const struct bls_entry asks = { .start = BLS_START_LINUX,
					.options = SPAN("quiet arm64.pagesize=16k") };
	const struct bls_entry hinted = { .image_selectable = true, .options = SPAN("arm64.pagesize=4k") };
	struct seen s;

	(void)state;
	/* Anywhere in a file of many pieces, across their borders too. */
	static const size_t places[] = { 0x1000, ENTRY_LOOK_MEMORY - 10, ENTRY_LOOK_MEMORY, 0x90000 };
	for (size_t i = 0; i < COUNT(places); i++) {
		start(0xa0000);
		put_pe(PE_MACHINE_AA64, 0);
		put_image(bytes, PAGE_SIZE_UNKNOWN);
		memcpy(bytes + places[i], STRINGS, sizeof(STRINGS));
		s = look();
		expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_64K);
		s = look_with(&asks, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
		expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	}
	s = look_with(&asks, PE_MACHINE_AA64, 1u << PAGE_SIZE_4K);
	expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	/* What register wrote spares reading through it. */
	file.reads = 0;
	s = look_with(&hinted, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_4K);
	assert_int_equal(file.reads, 1);
	/* Without the strings it is a very old kernel. */
	memset(bytes + 0x90000, 0, sizeof(STRINGS));
	s = look();
	expect(&s, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
}

static void an_x64_kernel_has_4k_pages(void **state)
{
	const struct bls_entry plain = { .start = BLS_START_LINUX };

	(void)state;
	start(0x3000);
	put_pe(PE_MACHINE_X64, 0);
	struct seen s = look_with(&plain, PE_MACHINE_X64, 1u << PAGE_SIZE_4K);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_4K);
	s = look();
	assert_string_equal(s.wrong, error_text(ERROR_ARCHITECTURE));
}

/* ---- zboot ---- */

static void a_zboot_image_is_unpacked_as_far_as_its_header(void **state)
{
	(void)state;
	for (enum page_size size = PAGE_SIZE_4K; size <= PAGE_SIZE_64K; size++) {
		start_zboot(size, "gzip");
		struct seen s = look();
		expect(&s, IMAGE_FIXED, size);
		assert_int_equal(s.head.container, CONTAINER_ZBOOT);
		assert_true(s.head.has_arm64);
		assert_int_equal(file.reads, 2);
	}
}

static void a_selectable_kernel_in_zboot_needs_a_hint(void **state)
{
	const struct bls_entry hinted = { .image_selectable = true, .options = SPAN("arm64.pagesize=16k") };
	const struct bls_entry wrong_hint = { .image_page_size = PAGE_SIZE_4K };
	struct seen s;

	(void)state;
	start_zboot(PAGE_SIZE_UNKNOWN, "gzip");
	s = look();
	expect(&s, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
	/* It is not read through: nothing is to be seen in it. */
	assert_int_equal(file.reads, 2);
	s = look_with(&hinted, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	/* A hint that the header contradicts does not count. */
	s = look_with(&wrong_hint, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
	start_zboot(PAGE_SIZE_64K, "gzip");
	s = look_with(&wrong_hint, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_64K);
}

static void other_compressions_need_a_hint(void **state)
{
	const struct bls_entry hinted = { .image_page_size = PAGE_SIZE_64K };

	(void)state;
	start_zboot(PAGE_SIZE_4K, "zstd22");
	struct seen s = look();
	expect(&s, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
	assert_int_equal(file.reads, 1);
	s = look_with(&hinted, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_64K);
}

static void a_damaged_zboot_image_is_refused(void **state)
{
	struct seen s;

	(void)state;
	/* Not gzip, damaged data, a stream that ends early, no kernel in it. */
	for (size_t at = 0; at < 4; at++) {
		start_zboot(PAGE_SIZE_64K, "gzip");
		bytes[0x1000 + at] ^= 0xff;
		s = look();
		if (at == 3)
			assert_non_null(s.wrong); /* reserved flags */
		else
			assert_string_equal(s.wrong, "the compressed kernel in it is damaged");
	}
	start_zboot(PAGE_SIZE_64K, "gzip");
	memset(bytes + 0x100a, 0xff, 100);
	assert_non_null(look().wrong);
	start_zboot(PAGE_SIZE_64K, "gzip");
	write_le32(bytes + 12, 40);
	assert_non_null(look().wrong);
	start_zboot(PAGE_SIZE_64K, "gzip");
	size_t n = put_gzip(bytes + 0x1000, 1000,
			    "not a kernel, but 64 bytes and more of some other kind of data....", 66);
	write_le32(bytes + 12, (uint32_t)n);
	assert_non_null(look().wrong);
	/* The payload is cut off. */
	start_zboot(PAGE_SIZE_64K, "gzip");
	file.size--;
	assert_string_equal(look().wrong, error_text(ERROR_TRUNCATED));
}

/* ---- unified kernel images ---- */

static void put_section(uint32_t i, const char *name, uint32_t offset, uint32_t size)
{
	struct pe_file f = { .sections = 0x80 + 24 + 112 };
	struct pe_section s = { .virtual_size = size, .raw_size = size, .raw_offset = offset };

	strncpy(s.name, name, 8);
	pe_file_section(&f, 0, &s);
	memcpy(bytes + f.sections + 40 * i, f.bytes + f.sections, 40);
}

/* Profiles with kernels of 4K (the base), 4K, 16K and 64K in zboot. */
static void start_uki(void)
{
	start(FILE_MAX);
	put_pe(PE_MACHINE_AA64, 6);
	put_section(0, ".linux", 0x2000, 0x1000);
	put_image(bytes + 0x2000, PAGE_SIZE_4K);
	put_section(1, ".profile", 0x1000, 4);
	put_section(2, ".profile", 0x1100, 4);
	put_section(3, ".linux", 0x4000, 0x1000);
	put_image(bytes + 0x4000, PAGE_SIZE_16K);
	put_section(4, ".profile", 0x1200, 4);
	put_section(5, ".linux", 0x6000, (uint32_t)put_zboot(bytes + 0x6000, PAGE_SIZE_64K, "gzip"));
}

static struct seen look_at_profile(uint32_t n)
{
	const struct bls_entry bls = { .start = BLS_START_UKI, .profile = n };

	return look_with(&bls, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
}

static void each_profile_has_the_size_of_its_kernel(void **state)
{
	(void)state;
	start_uki();
	for (uint32_t n = 0; n < 3; n++) {
		struct seen s = look_at_profile(n);

		expect(&s, IMAGE_FIXED, (enum page_size)(PAGE_SIZE_4K + n));
		assert_int_equal(s.head.container, CONTAINER_UKI);
	}
	assert_string_equal(look_at_profile(3).wrong, "has no profile of the number that is asked for");
	assert_string_equal(look_at_profile(UINT32_MAX).wrong,
			    "has no profile of the number that is asked for");
}

static void a_profile_without_kernel_cannot_be_started(void **state)
{
	(void)state;
	start(0x8000);
	put_pe(PE_MACHINE_AA64, 3);
	put_section(0, ".profile", 0x1000, 4);
	put_section(1, ".profile", 0x1100, 4);
	put_section(2, ".linux", 0x2000, 0x1000);
	put_image(bytes + 0x2000, PAGE_SIZE_16K);
	assert_string_equal(look_at_profile(0).wrong, "the profile that is asked for has no kernel");
	struct seen s = look_at_profile(1);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_16K);
}

static void a_number_of_a_profile_means_nothing_to_other_files(void **state)
{
	(void)state;
	start(0x3000);
	put_pe(PE_MACHINE_AA64, 0);
	put_image(bytes, PAGE_SIZE_64K);
	struct seen s = look_at_profile(7);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_64K);
}

static void a_selectable_kernel_in_an_image_reads_the_images_command_line(void **state)
{
	static const char cmdline[] = "quiet arm64.pagesize=16k\n";
	const struct bls_entry own = { .start = BLS_START_UKI, .options = SPAN("arm64.pagesize=4k") };
	struct seen s;

	(void)state;
	start(0x80000);
	put_pe(PE_MACHINE_AA64, 3);
	put_section(0, ".cmdline", 0x1000, sizeof(cmdline) - 1);
	memcpy(bytes + 0x1000, cmdline, sizeof(cmdline));
	put_section(1, ".linux", 0x2000, 0x40000);
	put_image(bytes + 0x2000, PAGE_SIZE_UNKNOWN);
	memcpy(bytes + 0x2000 + 0x40000 - sizeof(STRINGS), STRINGS, sizeof(STRINGS));
	s = look_at_profile(0);
	expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	s = look_with(&own, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL);
	expect(&s, IMAGE_SELECTABLE, PAGE_SIZE_4K);
	/* Strings behind the kernel, say in a stub, are not the kernel's. */
	memset(bytes + 0x2000 + 0x40000 - sizeof(STRINGS), 0, sizeof(STRINGS));
	memcpy(bytes + 0x50000, STRINGS, sizeof(STRINGS));
	s = look_at_profile(0);
	expect(&s, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
}

static void a_long_section_table_is_read_on(void **state)
{
	enum { sections = 400, table = 0x80 + 24 + 112 };

	(void)state;
	start(0x20000);
	put_pe(PE_MACHINE_AA64, 0);
	write_le16(bytes + 0x80 + 6, sections);
	for (uint32_t i = 0; i < sections - 1; i++)
		put_section(i, ".profile", 0x10000, 4);
	put_section(sections - 1, ".linux", 0x12000, 0x1000);
	put_image(bytes + 0x12000, PAGE_SIZE_16K);
	struct seen s = look_at_profile(sections - 2);
	expect(&s, IMAGE_FIXED, PAGE_SIZE_16K);
	assert_int_equal(file.reads, 3);
	/* One that does not fit into the memory, and one that does not fit into the file. */
	write_le16(bytes + 0x80 + 6, UINT16_MAX);
	file.size = FILE_MAX * 8ull;
	assert_string_equal(look_at_profile(0).wrong, error_text(ERROR_TRUNCATED));
	write_le16(bytes + 0x80 + 6, sections);
	file.size = table + 40 * sections - 1;
	assert_string_equal(look_at_profile(0).wrong, error_text(ERROR_TRUNCATED));
}

/* ---- what cannot be read ---- */

static void what_the_reader_says_is_handed_on(void **state)
{
	(void)state;
	/* The head, the kernel in a profile, the payload of it. */
	static const uint64_t broken[] = { 0, 0x2000, 0x4000, 0x6000, 0x7000 };
	static const uint32_t profiles[] = { 0, 0, 1, 2, 2 };
	for (size_t i = 0; i < COUNT(broken); i++) {
		start_uki();
		file.broken_from = broken[i] + (broken[i] ? 0 : 100);
		assert_string_equal(look_at_profile(profiles[i]).wrong, MEMORY_FILE_ERROR);
	}
	/* A file that is shorter than its folder says is not read again and again. */
	start(0x10000);
	put_pe(PE_MACHINE_AA64, 0);
	enum { table = 0x80 + 24 + 112 };
	write_le16(bytes + 0x80 + 6, 400);
	const struct file_source claims = memory_file_source(&file);
	for (uint64_t size = 200; size < table + 40 * 400; size += 100) {
		struct image_head seen;

		file.size = size;
		file.reads = 0;
		assert_string_equal(image_head_read(&claims, memory, sizeof(memory), &seen),
				    error_text(ERROR_TRUNCATED));
		assert_true(file.reads <= 3);
	}
	/* A file that got shorter in the meantime ends the search for strings. */
	start(0xa0000);
	put_pe(PE_MACHINE_AA64, 0);
	put_image(bytes, PAGE_SIZE_UNKNOWN);
	struct file_source source = memory_file_source(&file);
	struct entry e = { 0 };
	struct image_head head;
	file.size = 0x20000;
	assert_null(
		entry_look(&e, &source, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL, memory, sizeof(memory), &head));
	assert_int_equal(e.kind, IMAGE_UNKNOWN);
	/* And a read error in it is one. */
	file.broken_from = 0x18000;
	assert_string_equal(
		entry_look(&e, &source, PE_MACHINE_AA64, PAGE_SIZE_SET_ALL, memory, sizeof(memory), &head),
		MEMORY_FILE_ERROR);
}

static void what_is_no_kernel_is_told(void **state)
{
	(void)state;
	start(0x3000);
	assert_string_equal(look().wrong, "not a kernel");
	start(0);
	assert_string_equal(look().wrong, "not a kernel");
	start(0x3000);
	memcpy(bytes, "\x1f\x8b\x08", 3);
	assert_string_equal(look().wrong, "compressed in a way that firmware cannot start");
	start(0x3000);
	put_image(bytes, PAGE_SIZE_64K);
	assert_string_equal(look().wrong, "kernel was built without an EFI stub");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_raw_image_says_its_size),
		cmocka_unit_test(an_old_kernel_takes_initrds_by_name),
		cmocka_unit_test(a_selectable_image_is_found_by_its_strings),
		cmocka_unit_test(an_x64_kernel_has_4k_pages),
		cmocka_unit_test(a_zboot_image_is_unpacked_as_far_as_its_header),
		cmocka_unit_test(a_selectable_kernel_in_zboot_needs_a_hint),
		cmocka_unit_test(other_compressions_need_a_hint),
		cmocka_unit_test(a_damaged_zboot_image_is_refused),
		cmocka_unit_test(each_profile_has_the_size_of_its_kernel),
		cmocka_unit_test(a_profile_without_kernel_cannot_be_started),
		cmocka_unit_test(a_number_of_a_profile_means_nothing_to_other_files),
		cmocka_unit_test(a_selectable_kernel_in_an_image_reads_the_images_command_line),
		cmocka_unit_test(a_long_section_table_is_read_on),
		cmocka_unit_test(what_the_reader_says_is_handed_on),
		cmocka_unit_test(what_is_no_kernel_is_told),
	};

	return cmocka_run_group_tests_name("entry_look", tests, NULL, NULL);
}
