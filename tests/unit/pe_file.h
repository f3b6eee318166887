/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds small PE files for the unit tests. */
#ifndef GRANULE_TESTS_PE_FILE_H
#define GRANULE_TESTS_PE_FILE_H

#include "unit.h"

#include <granule/pe.h>

struct pe_file {
	unsigned char bytes[PE_HEAD_SIZE];
	size_t n;                  /* of the headers */
	size_t optional, sections; /* where these begin */
};

/* Headers of an EFI program whose PE header is at `at`, with empty sections. 112 bytes of optional header
 * have no data directories, 240 have 16. */
static inline void pe_file_init_sized(struct pe_file *f, uint32_t at, uint16_t machine, uint16_t n_sections,
				      uint16_t optional_size)
{
	enum { coff_size = 24 };

	*f = (struct pe_file){ .optional = at + coff_size, .sections = at + coff_size + optional_size };
	f->n = f->sections + 40u * n_sections;
	assert_true(f->n <= sizeof(f->bytes));
	memcpy(f->bytes, "MZ", 2);
	write_le32(f->bytes + 0x3c, at);
	memcpy(f->bytes + at, "PE\0", 4);
	write_le16(f->bytes + at + 4, machine);
	write_le16(f->bytes + at + 6, n_sections);
	write_le16(f->bytes + at + 20, optional_size);
	write_le16(f->bytes + f->optional, 0x20b);
	write_le32(f->bytes + f->optional + 32, 0x10000); /* SectionAlignment */
	write_le16(f->bytes + f->optional + 44, 3);       /* MajorImageVersion */
	write_le16(f->bytes + f->optional + 68, PE_SUBSYSTEM_EFI_APPLICATION);
	write_le16(f->bytes + f->optional + 70, PE_NX_COMPATIBLE);
}

static inline void pe_file_init(struct pe_file *f, uint32_t at, uint16_t machine, uint16_t n_sections)
{
	pe_file_init_sized(f, at, machine, n_sections, 112);
}

static inline void pe_file_section(struct pe_file *f, uint32_t i, const struct pe_section *s)
{
	unsigned char *at = f->bytes + f->sections + 40 * i;

	for (size_t k = 0; k < 8; k++)
		at[k] = (unsigned char)s->name[k];
	write_le32(at + 8, s->virtual_size);
	write_le32(at + 12, s->virtual_address);
	write_le32(at + 16, s->raw_size);
	write_le32(at + 20, s->raw_offset);
	write_le32(at + 36, s->flags);
}

#endif
