/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/pe.h>

#define DOS_PE_OFFSET 0x3c
#define COFF_SIZE 24 /* "PE\0\0" and the COFF header */
#define OPTIONAL_MAGIC_PE32 0x10b
#define OPTIONAL_MAGIC_PE32_PLUS 0x20b
#define OPTIONAL_NEEDED 72 /* up to and with DllCharacteristics */
#define SECTION_SIZE 40
/* PE32+: number of data directories, and the directories that firmware walks through */
#define DIRECTORY_COUNT_OFFSET 108
#define DIRECTORIES_OFFSET 112
#define DIRECTORY_RELOCATIONS 5
#define DIRECTORY_DEBUG 6

static const struct {
	uint16_t machine;
	const char *efi_name;
	const char *name;
} machines[] = {
	{ PE_MACHINE_AA64, "aa64", "arm64" },
	{ PE_MACHINE_X64, "x64", "x86_64" },
	{ PE_MACHINE_X86, "ia32", "i386" },
	{ PE_MACHINE_ARM, "arm", "arm" },
	{ PE_MACHINE_RISCV64, "riscv64", "riscv64" },
	{ PE_MACHINE_LOONGARCH64, "loongarch64", "loongarch64" },
};

static int fail(int error, size_t offset, size_t *ret_offset)
{
	*ret_offset = offset;
	return error;
}

int pe_parse(const void *head, size_t size, struct pe *ret, size_t *ret_offset)
{
	const unsigned char *b = head;

	if (size < 2 || b[0] != 'M' || b[1] != 'Z')
		return fail(ERROR_MAGIC, 0, ret_offset);
	if (size < DOS_PE_OFFSET + 4)
		return fail(ERROR_TRUNCATED, DOS_PE_OFFSET + 4, ret_offset);

	uint64_t at = read_le32(b + DOS_PE_OFFSET);
	if (at < DOS_PE_OFFSET + 4)
		return fail(ERROR_RANGE, DOS_PE_OFFSET, ret_offset);
	if (at + COFF_SIZE > size)
		return fail(ERROR_TRUNCATED, (size_t)at + COFF_SIZE, ret_offset);
	const unsigned char *coff = b + at;
	if (coff[0] != 'P' || coff[1] != 'E' || coff[2] || coff[3])
		return fail(ERROR_MAGIC, (size_t)at, ret_offset);

	uint64_t optional_at = at + COFF_SIZE;
	uint16_t optional_size = read_le16(coff + 20);
	if (optional_size < OPTIONAL_NEEDED)
		return fail(ERROR_RANGE, (size_t)at + 20, ret_offset);
	if (optional_at + optional_size > size)
		return fail(ERROR_TRUNCATED, (size_t)optional_at + optional_size, ret_offset);

	const unsigned char *optional = b + optional_at;
	uint16_t magic = read_le16(optional);
	if (magic != OPTIONAL_MAGIC_PE32 && magic != OPTIONAL_MAGIC_PE32_PLUS)
		return fail(ERROR_MAGIC, (size_t)optional_at, ret_offset);

	*ret = (struct pe){
		.machine = read_le16(coff + 4),
		.n_sections = read_le16(coff + 6),
		.section_alignment = read_le32(optional + 32),
		.major_image_version = read_le16(optional + 44),
		.subsystem = read_le16(optional + 68),
		.dll_characteristics = read_le16(optional + 70),
		.sections_offset = optional_at + optional_size,
		.pe32_plus = magic == OPTIONAL_MAGIC_PE32_PLUS,
	};
	ret->image_size = read_le32(optional + 56);
	if (ret->pe32_plus && optional_size >= DIRECTORIES_OFFSET)
		ret->n_directories = (uint32_t)(optional_size - DIRECTORIES_OFFSET) / 8;
	if (ret->n_directories > 0 && read_le32(optional + DIRECTORY_COUNT_OFFSET) < ret->n_directories)
		ret->n_directories = read_le32(optional + DIRECTORY_COUNT_OFFSET);
	ret->directories_offset = optional_at + DIRECTORIES_OFFSET;
	ret->header_end = ret->sections_offset + (uint64_t)ret->n_sections * SECTION_SIZE;
	if (ret->header_end > size)
		return fail(ERROR_TRUNCATED, (size_t)ret->header_end, ret_offset);
	return 0;
}

void pe_section_at(const void *head, const struct pe *pe, uint32_t i, struct pe_section *ret)
{
	const unsigned char *s = (const unsigned char *)head + pe->sections_offset + (size_t)i * SECTION_SIZE;

	for (size_t k = 0; k < 8; k++)
		ret->name[k] = (char)s[k];
	ret->name[8] = 0;
	ret->virtual_size = read_le32(s + 8);
	ret->virtual_address = read_le32(s + 12);
	ret->raw_size = read_le32(s + 16);
	ret->raw_offset = read_le32(s + 20);
	ret->flags = read_le32(s + 36);
}

/* Firmware reads these tables in the loaded image and trusts their sizes. */
static bool directory_valid(const unsigned char *head, const struct pe *pe, uint32_t i)
{
	if (i >= pe->n_directories)
		return true;
	const unsigned char *directory = head + pe->directories_offset + (size_t)i * 8;
	uint64_t size = read_le32(directory + 4);
	return size == 0 || read_le32(directory) + size <= pe->image_size;
}

int pe_check_complete(const void *head, const struct pe *pe, uint64_t file_size, uint64_t *ret_needed)
{
	uint64_t needed = pe->header_end;

	if (!directory_valid(head, pe, DIRECTORY_RELOCATIONS) ||
	    !directory_valid(head, pe, DIRECTORY_DEBUG)) {
		*ret_needed = pe->directories_offset;
		return ERROR_RANGE;
	}
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(head, pe, i, &s);
		uint64_t end = (uint64_t)s.raw_offset + s.raw_size;
		if (s.raw_size && end > needed)
			needed = end;
	}
	*ret_needed = needed;
	return needed > file_size ? ERROR_TRUNCATED : 0;
}

const char *pe_machine_efi_name(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return machines[i].efi_name;
	return NULL;
}

const char *pe_machine_name(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	return "unknown";
}
