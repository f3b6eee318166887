/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PE headers. Input: the first bytes of a file. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/pe.h>

static int parse_prefix(struct fuzz *f, struct span file, size_t n, struct pe *ret)
{
	size_t offset = SIZE_MAX;
	struct span prefix = fuzz_copy(f, file.p, n);
	int error = pe_parse(prefix.p, n, ret, &offset);

	/* Of a file that is too short, the size that it should have at least. */
	if (error == ERROR_TRUNCATED)
		CHECK(offset > n);
	else if (error)
		CHECK(offset < n || (offset == 0 && n == 0));
	return error;
}

static void check_sections(struct span file, const struct pe *pe)
{
	uint64_t needed = 0, same, most = pe->header_end;

	for (uint32_t i = 0; i < pe->n_sections; i++) {
		const char *raw = file.p + pe->sections_offset + 40 * (size_t)i;
		struct pe_section s;

		memset(&s, 0xff, sizeof(s));
		pe_section_at(file.p, pe, i, &s);
		CHECK(!s.name[8] && !memcmp(s.name, raw, 8));
		CHECK(s.virtual_size == fuzz_number(raw + 8, 4) && s.raw_size == fuzz_number(raw + 16, 4));
		CHECK(s.raw_offset == fuzz_number(raw + 20, 4) && s.flags == fuzz_number(raw + 36, 4));
		if (s.raw_size && (uint64_t)s.raw_offset + s.raw_size > most)
			most = (uint64_t)s.raw_offset + s.raw_size;
	}

	int error = pe_check_complete(file.p, pe, UINT64_MAX, &needed);
	CHECK(error == 0 || error == ERROR_RANGE);
	if (error) {
		/* A table of the loaded image that lies outside it. */
		CHECK(needed == pe->directories_offset &&
		      needed + 8 * (uint64_t)pe->n_directories <= pe->sections_offset);
		return;
	}
	CHECK(needed == most);
	/* The size that is asked for is enough, and one byte less is not. */
	CHECK(pe_check_complete(file.p, pe, needed, &same) == 0 && same == needed);
	CHECK(pe_check_complete(file.p, pe, needed - 1, &same) == ERROR_TRUNCATED && same == needed);
}

static void check_fields(struct span file, const struct pe *pe)
{
	uint64_t at = fuzz_number(file.p + 0x3c, 4), optional_size = fuzz_number(file.p + at + 20, 2);
	uint64_t magic = fuzz_number(file.p + at + 24, 2);

	CHECK(!memcmp(file.p, "MZ", 2) && !memcmp(file.p + at, "PE\0", 4));
	CHECK(optional_size >= 72 && magic == (pe->pe32_plus ? 0x20b : 0x10b));
	CHECK(pe->machine == fuzz_number(file.p + at + 4, 2) &&
	      pe->n_sections == fuzz_number(file.p + at + 6, 2));
	CHECK(pe->subsystem == fuzz_number(file.p + at + 24 + 68, 2));
	CHECK(pe->sections_offset == at + 24 + optional_size);
	CHECK(pe->header_end == pe->sections_offset + 40 * (uint64_t)pe->n_sections);
	CHECK(pe_machine_name(pe->machine));
	CHECK(!pe_machine_efi_name(pe->machine) == !strcmp(pe_machine_name(pe->machine), "unknown"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span file = fuzz_rest(&f);
	struct pe pe, shorter;
	int error = parse_prefix(&f, file, file.n, &pe);

	CHECK(error == 0 || error == ERROR_MAGIC || error == ERROR_TRUNCATED || error == ERROR_RANGE);
	if (error == 0) {
		CHECK(pe.header_end <= file.n);
		check_fields(file, &pe);
		check_sections(file, &pe);
		/* Headers that just fit are accepted, and nothing beyond them is read. */
		CHECK(parse_prefix(&f, file, (size_t)pe.header_end, &shorter) == 0);
		CHECK(shorter.header_end == pe.header_end);
		CHECK(parse_prefix(&f, file, (size_t)pe.header_end - 1, &shorter) == ERROR_TRUNCATED);
	}
	/* No prefix of a file that is no PE file, or of a contradicting one, is good. */
	int cut = parse_prefix(&f, file, file.n / 2, &shorter);
	CHECK(cut || !error || error == ERROR_TRUNCATED);

	fuzz_end(&f);
	return 0;
}
