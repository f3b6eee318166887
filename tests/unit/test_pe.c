/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PE headers and sections. */
#include "unit.h"

#include <granule/error.h>
#include <granule/pe.h>

#include "pe_file.h"

static void fields_are_read(void **state)
{
	struct pe_file f;
	struct pe pe;
	size_t offset = 0;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 2);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
	assert_int_equal(pe.machine, PE_MACHINE_AA64);
	assert_int_equal(pe.subsystem, PE_SUBSYSTEM_EFI_APPLICATION);
	assert_int_equal(pe.major_image_version, 3);
	assert_int_equal(pe.dll_characteristics, PE_NX_COMPATIBLE);
	assert_int_equal(pe.section_alignment, 0x10000);
	assert_int_equal(pe.n_sections, 2);
	assert_true(pe.pe32_plus);
	assert_int_equal(pe.sections_offset, f.sections);
	assert_int_equal(pe.header_end, f.sections + 80);
	write_le16(f.bytes + f.optional, 0x10b);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
	assert_false(pe.pe32_plus);
}

static void sections_are_read(void **state)
{
	static const struct pe_section want[] = {
		{ ".text", 0x1234, 0x10000, 0x1400, 0x400, PE_SECTION_EXECUTE },
		{ "12345678", 0x2000, 0x20000, 0x2000, 0x1800, PE_SECTION_WRITE },
	};
	struct pe_file f;
	struct pe pe;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x40, PE_MACHINE_X64, 2);
	for (uint32_t i = 0; i < 2; i++)
		pe_file_section(&f, i, &want[i]);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct pe_section got;

		memset(&got, 0x5a, sizeof(got));
		pe_section_at(f.bytes, &pe, i, &got);
		assert_string_equal(got.name, want[i].name);
		assert_int_equal(got.virtual_size, want[i].virtual_size);
		assert_int_equal(got.virtual_address, want[i].virtual_address);
		assert_int_equal(got.raw_size, want[i].raw_size);
		assert_int_equal(got.raw_offset, want[i].raw_offset);
		assert_int_equal(got.flags, want[i].flags);
	}
}

static void what_is_no_pe_file(void **state)
{
	struct pe_file f;
	struct pe pe;
	size_t offset = 99;

	(void)state;
	assert_int_equal(pe_parse("", 0, &pe, &offset), ERROR_MAGIC);
	assert_int_equal(pe_parse("M", 1, &pe, &offset), ERROR_MAGIC);
	assert_int_equal(pe_parse("MX", 2, &pe, &offset), ERROR_MAGIC);
	assert_int_equal(pe_parse("XZ", 2, &pe, &offset), ERROR_MAGIC);
	assert_int_equal(offset, 0);
	for (size_t i = 0; i < 4; i++) {
		pe_file_init(&f, 0x80, PE_MACHINE_AA64, 0);
		f.bytes[0x80 + i] ^= 1;
		assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_MAGIC);
		assert_int_equal(offset, 0x80);
	}
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 0);
	write_le16(f.bytes + f.optional, 0x107);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_MAGIC);
	assert_int_equal(offset, f.optional);
}

static void headers_that_contradict_themselves(void **state)
{
	struct pe_file f;
	struct pe pe;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x40, PE_MACHINE_AA64, 0);
	write_le32(f.bytes + 0x3c, 0x3f);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_RANGE);
	assert_int_equal(offset, 0x3c);
	write_le32(f.bytes + 0x3c, 0);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_RANGE);

	pe_file_init(&f, 0x40, PE_MACHINE_AA64, 0);
	write_le16(f.bytes + 0x40 + 20, 71);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_RANGE);
	assert_int_equal(offset, 0x40 + 20);
	write_le16(f.bytes + 0x40 + 20, 72);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
}

static void every_shorter_head_is_truncated(void **state)
{
	struct pe_file f;
	struct pe pe;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 3);
	for (size_t n = 2; n <= f.n; n++) {
		struct span head = exact_bytes(f.bytes, n);
		int error = pe_parse(head.p, head.n, &pe, &offset);

		check(error == (n < f.n ? ERROR_TRUNCATED : 0), "%zu bytes: %d", n, error);
		if (error)
			check(offset > n && offset <= f.n, "%zu bytes: %zu are needed", n, offset);
		release(head);
	}
	/* Offsets near 4 GiB must not wrap around. */
	write_le32(f.bytes + 0x3c, UINT32_MAX);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_TRUNCATED);
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 3);
	write_le16(f.bytes + 0x86, UINT16_MAX);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_TRUNCATED);
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 3);
	write_le16(f.bytes + 0x80 + 20, UINT16_MAX);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), ERROR_TRUNCATED);
}

static void a_file_must_hold_all_its_sections(void **state)
{
	struct pe_file f;
	struct pe pe;
	uint64_t needed;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 3);
	pe_file_section(&f, 0, &(struct pe_section){ ".text", 0x100, 0x1000, 0x200, 0x1000, 0 });
	pe_file_section(&f, 1, &(struct pe_section){ ".data", 0x100, 0x2000, 0x200, 0x800, 0 });
	/* Nothing in the file, whatever its offset says. */
	pe_file_section(&f, 2, &(struct pe_section){ ".bss", 0x9000, 0x3000, 0, 0xffff0000, 0 });
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
	assert_int_equal(pe_check_complete(f.bytes, &pe, 0x1200, &needed), 0);
	assert_int_equal(needed, 0x1200);
	assert_int_equal(pe_check_complete(f.bytes, &pe, 0x11ff, &needed), ERROR_TRUNCATED);
	assert_int_equal(needed, 0x1200);
	assert_int_equal(pe_check_complete(f.bytes, &pe, UINT64_MAX, &needed), 0);

	pe_file_section(&f, 1, &(struct pe_section){ ".data", 0, 0, 0xffffffff, 0xffffffff, 0 });
	assert_int_equal(pe_check_complete(f.bytes, &pe, 0xffffffff, &needed), ERROR_TRUNCATED);
	assert_true(needed == 0x1fffffffe);
}

static void the_headers_alone_need_room_too(void **state)
{
	struct pe_file f;
	struct pe pe;
	uint64_t needed;
	size_t offset;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 2);
	assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
	/* No byte after the section table is looked at. */
	struct span head = exact_bytes(f.bytes, f.n);
	assert_int_equal(pe_check_complete(head.p, &pe, f.n, &needed), 0);
	release(head);
	assert_int_equal(pe_check_complete(f.bytes, &pe, f.n - 1, &needed), ERROR_TRUNCATED);
	assert_int_equal(needed, f.n);
}

static void tables_that_firmware_walks_through_lie_within_the_image(void **state)
{
	static const struct {
		uint32_t count, directory, address, size;
		int error;
	} vectors[] = {
		{ 16, 6, 0, 0, 0 },
		{ 16, 6, 0x1000, 0x1000, 0 },
		{ 16, 6, 0x1000, 0x1001, ERROR_RANGE },
		{ 16, 6, 0x1000, 0x80000000, ERROR_RANGE },
		{ 16, 6, 0xfffffff0, 0x20, ERROR_RANGE },
		{ 16, 5, 0x1000, 0x1001, ERROR_RANGE },
		{ 16, 4, 0x1000, 0x80000000, 0 }, /* certificates: a place in the file, not in the image */
		{ 6, 6, 0x1000, 0x80000000, 0 },  /* not one of the directories that count */
		{ 7, 6, 0x1000, 0x80000000, ERROR_RANGE },
		{ 0xffffffff, 6, 0x1000, 0x80000000, ERROR_RANGE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct pe_file f;
		struct pe pe;
		size_t offset;
		uint64_t needed;

		pe_file_init_sized(&f, 0x40, PE_MACHINE_AA64, 0, 240);
		write_le32(f.bytes + f.optional + 56, 0x2000); /* SizeOfImage */
		write_le32(f.bytes + f.optional + 108, vectors[i].count);
		write_le32(f.bytes + f.optional + 112 + 8 * vectors[i].directory, vectors[i].address);
		write_le32(f.bytes + f.optional + 116 + 8 * vectors[i].directory, vectors[i].size);
		assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
		assert_int_equal(pe_check_complete(f.bytes, &pe, f.n, &needed), vectors[i].error);
		if (vectors[i].error)
			assert_int_equal(needed, f.optional + 112);
	}
}

static void names_of_machines(void **state)
{
	static const struct {
		uint16_t machine;
		const char *efi, *kernel;
	} vectors[] = {
		{ 0xaa64, "aa64", "arm64" },      { 0x8664, "x64", "x86_64" },
		{ 0x14c, "ia32", "i386" },        { 0x1c2, "arm", "arm" },
		{ 0x5064, "riscv64", "riscv64" }, { 0x6264, "loongarch64", "loongarch64" },
		{ 0, NULL, "unknown" },           { 0xffff, NULL, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		const char *efi = pe_machine_efi_name(vectors[i].machine);

		assert_string_equal(pe_machine_name(vectors[i].machine), vectors[i].kernel);
		if (vectors[i].efi)
			assert_string_equal(efi, vectors[i].efi);
		else
			assert_null(efi);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read),
		cmocka_unit_test(sections_are_read),
		cmocka_unit_test(what_is_no_pe_file),
		cmocka_unit_test(headers_that_contradict_themselves),
		cmocka_unit_test(every_shorter_head_is_truncated),
		cmocka_unit_test(a_file_must_hold_all_its_sections),
		cmocka_unit_test(the_headers_alone_need_room_too),
		cmocka_unit_test(tables_that_firmware_walks_through_lie_within_the_image),
		cmocka_unit_test(names_of_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
