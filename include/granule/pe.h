/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers and sections of PE images (Microsoft PE/COFF): enough to tell what a file is made for, whether it
 * is complete, and where a unified kernel image keeps its parts. */
#ifndef GRANULE_PE_H
#define GRANULE_PE_H

#include <granule/span.h>

enum pe_machine {
	PE_MACHINE_X86 = 0x14c,
	PE_MACHINE_ARM = 0x1c2,
	PE_MACHINE_RISCV64 = 0x5064,
	PE_MACHINE_LOONGARCH64 = 0x6264,
	PE_MACHINE_X64 = 0x8664,
	PE_MACHINE_AA64 = 0xaa64,
};

#define PE_SUBSYSTEM_EFI_APPLICATION 10

/* Section flags */
#define PE_SECTION_EXECUTE 0x20000000u
#define PE_SECTION_WRITE 0x80000000u
/* DllCharacteristics: works when data is not executable and code not writable */
#define PE_NX_COMPATIBLE 0x0100u

struct pe {
	uint16_t machine;
	uint16_t subsystem;
	uint16_t major_image_version; /* kernel: >= 1 means that it takes the initrd from LoadFile2 */
	uint16_t dll_characteristics;
	uint32_t section_alignment;
	uint32_t image_size; /* bytes when loaded */
	uint32_t n_sections;
	uint32_t n_directories;      /* data directories that the headers have room for */
	uint64_t directories_offset; /* of the first, in the file */
	uint64_t sections_offset;    /* of the section table, in the file */
	uint64_t header_end;         /* first byte after the section table */
	bool pe32_plus;
};

struct pe_section {
	char name[9]; /* NUL-terminated */
	uint32_t virtual_size, virtual_address, raw_size, raw_offset, flags;
};

/* Bytes from the start of a file that pe_parse() needs for any image that exists in practice. */
#define PE_HEAD_SIZE 4096

/* Reads the headers from the first `size` bytes of a file. Returns 0; ERROR_MAGIC when it is no PE file;
 * ERROR_TRUNCATED when headers go on after `size`; ERROR_RANGE when they contradict themselves.
 * On error *ret_offset is the file offset of the field at fault; for ERROR_TRUNCATED the bytes that are
 * needed. */
int pe_parse(const void *head, size_t size, struct pe *ret, size_t *ret_offset);

/* The i-th section (from 0) of an image that pe_parse() accepted, from the same bytes. */
void pe_section_at(const void *head, const struct pe *pe, uint32_t i, struct pe_section *ret);

/* Checks that a file of `file_size` bytes holds every section, and that the tables which firmware walks
 * through (base relocations, debug) lie within the loaded image. ERROR_TRUNCATED: *ret_needed is the size
 * that the file should have at least; ERROR_RANGE: *ret_needed is the offset of the data directories. */
int pe_check_complete(const void *head, const struct pe *pe, uint64_t file_size, uint64_t *ret_needed);

/* UEFI short name of a machine as in the BLS key `architecture` ("aa64", "x64"...); NULL for others. */
const char *pe_machine_efi_name(uint16_t machine);

/* Kernel's name of it: "arm64", "x86_64"...; "unknown" for others. */
const char *pe_machine_name(uint16_t machine);

#endif
