/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build tool: marks a PE image that objcopy made as working with non-executable data, and refuses one for
 * which that would not be true or that firmware would not load. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <granule/error.h>
#include <granule/pe.h>

#define PAGE 4096u
/* Of DllCharacteristics behind the start of the optional header. */
#define DLL_CHARACTERISTICS_OFFSET 70

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return 1;
}

static int check_sections(const char *path, const unsigned char *image, const struct pe *pe)
{
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(image, pe, i, &s);
		if (s.virtual_address % PAGE)
			return complain(path, "a section does not start on a page");
		if ((s.flags & PE_SECTION_WRITE) && (s.flags & PE_SECTION_EXECUTE))
			return complain(path, "a section is both writable and executable");
	}
	return 0;
}

static unsigned char *read_all(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "rb");
	unsigned char *image = NULL;
	long size;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
		image = malloc((size_t)size);
		if (image && fread(image, 1, (size_t)size, f) != (size_t)size) {
			free(image);
			image = NULL;
		}
		*ret_size = (size_t)size;
	}
	fclose(f);
	return image;
}

int main(int argc, char **argv)
{
	struct pe pe;
	size_t size = 0, offset;
	uint64_t needed;
	int bad = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: pe-finish FILE.efi\n");
		return 2;
	}
	unsigned char *image = read_all(argv[1], &size);
	if (!image)
		return complain(argv[1], "cannot be read");

	if (pe_parse(image, size, &pe, &offset) || pe_check_complete(image, &pe, size, &needed))
		complain(argv[1], "is no complete PE image");
	else if (!pe.pe32_plus || pe.subsystem != PE_SUBSYSTEM_EFI_APPLICATION)
		complain(argv[1], "is no PE32+ EFI application");
	else if (pe.section_alignment % PAGE)
		complain(argv[1], "section alignment is less than a page");
	else
		bad = check_sections(argv[1], image, &pe);

	if (!bad) {
		unsigned char *field = image + read_le32(image + 0x3c) + 24 + DLL_CHARACTERISTICS_OFFSET;
		FILE *f = fopen(argv[1], "r+b");

		field[0] |= PE_NX_COMPATIBLE & 0xff;
		field[1] |= PE_NX_COMPATIBLE >> 8;
		if (!f || fseek(f, field - image, SEEK_SET) || fwrite(field, 1, 2, f) != 2)
			bad = complain(argv[1], "cannot be written");
		if (f && fclose(f))
			bad = complain(argv[1], "cannot be written");
	}
	free(image);
	return bad;
}
