/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of unified kernel images and the entries made of them. Input: a file name, then a file. */
#include "fuzz.h"
#include "memory_source.h"
#include <granule/error.h>
#include <granule/uki_entry.h>

static const char *const names[UKI_N_SECTIONS] = { ".profile", ".osrel",  ".uname", ".cmdline",
						   ".linux",   ".initrd", ".dtb" };

/* The section of a name between two sections, found the slow way; false if there is none. */
static bool part_between(struct span file, const struct pe *pe, uint32_t from, uint32_t to, const char *name,
			 struct uki_part *ret)
{
	for (uint32_t i = from; i < to; i++) {
		struct pe_section s;

		pe_section_at(file.p, pe, i, &s);
		if (strcmp(s.name, name) != 0)
			continue;
		*ret = (struct uki_part){ s.raw_offset, s.raw_size };
		if (s.virtual_size < s.raw_size)
			ret->size = s.virtual_size;
		return true;
	}
	return false;
}

/* First section of a profile, UINT32_MAX: of the base; n_sections if there is no such profile. */
static uint32_t begin_of(struct span file, const struct pe *pe, uint32_t profile)
{
	uint32_t begun = 0;

	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(file.p, pe, i, &s);
		if (strcmp(s.name, ".profile") == 0 && begun++ == profile)
			return i;
	}
	return pe->n_sections;
}

static void check_profile(struct span file, const struct pe *pe, uint32_t n)
{
	uint32_t base_end = begin_of(file, pe, 0), own = begin_of(file, pe, n),
		 own_end = begin_of(file, pe, n + 1);
	struct uki_profile p;
	int error = uki_find_profile(file.p, pe, n, &p);

	CHECK(error ==
	      (own < pe->n_sections || (n == 0 && base_end == pe->n_sections) ? 0 : ERROR_NOT_FOUND));
	for (size_t i = 0; i < UKI_N_SECTIONS; i++) {
		struct uki_part want = { 0 };

		if (!part_between(file, pe, own, own_end, names[i], &want))
			part_between(file, pe, 0, base_end, names[i], &want);
		CHECK(p.parts[i].size == want.size && p.parts[i].offset == want.offset);
	}
}

static void check_entry(struct fuzz *f, struct memory_source *source, struct span name,
			const struct uki_profile *profile, uint32_t n)
{
	struct file_source file = memory_source(source);
	size_t size = uki_entry_memory(name, profile);
	struct span memory = { fuzz_alloc(f, size), size };
	struct entry e;
	const char *wrong = uki_entry(&file, name, profile, n, (char *)memory.p, &e);

	CHECK(size <= 8 * UKI_TEXT_MAX + 2 * name.n);
	if (wrong)
		return;
	const struct span spans[] = { e.id,           e.bls.path,    e.bls.title, e.bls.version,
				      e.bls.sort_key, e.bls.options, e.release };
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		CHECK(fuzz_inside(memory, spans[i]));
		CHECK(!fuzz_has(spans[i], 0) && !fuzz_has(spans[i], '\n'));
	}
	CHECK(e.type == ENTRY_TYPE2 && e.bls.start == BLS_START_UKI && e.bls.profile == n);
	CHECK(e.bls.title.n && e.id.n && span_equal(e.file_name, name));
	CHECK(span_starts(e.bls.path, SPAN("/EFI/Linux/")) && e.bls.path.n == name.n + 11);
	size_t plain = e.counter.name.n + e.counter.suffix.n;
	CHECK(n ? e.id.n > plain + 1 && e.id.p[plain] == '@' : e.id.n == plain);
	for (size_t i = 0; i < e.id.n; i++)
		CHECK(e.id.p[i] < 'A' || e.id.p[i] > 'Z');
}

/* File systems keep these characters out. */
static bool is_file_name(struct span name)
{
	return uki_file_name_valid(name) && !fuzz_has(name, 0) && !fuzz_has(name, '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span name = fuzz_field(&f), file = fuzz_rest(&f);
	struct memory_source source = { .bytes = file, .size = file.n };
	struct pe pe;
	size_t offset;
	uint32_t n = 99;

	if (pe_parse(file.p, file.n, &pe, &offset) == 0) {
		uint32_t declared = 0;

		for (uint32_t i = 0; i < pe.n_sections; i++) {
			struct pe_section s;

			pe_section_at(file.p, &pe, i, &s);
			declared += strcmp(s.name, ".profile") == 0;
		}
		int error = uki_count_profiles(file.p, &pe, &n);
		CHECK(error == (declared > UKI_MAX_PROFILES ? ERROR_TOO_MANY : 0));
		CHECK(n == (declared > UKI_MAX_PROFILES ? UKI_MAX_PROFILES : declared ? declared : 1));
		check_profile(file, &pe, n - 1);
		check_profile(file, &pe, n);
		check_profile(file, &pe, UINT32_MAX - 1);
		for (uint32_t i = 0; i < n && i < 8; i++) {
			struct uki_profile profile;
			uint64_t needed;

			check_profile(file, &pe, i);
			if (is_file_name(name) && pe_check_complete(file.p, &pe, file.n, &needed) == 0 &&
			    uki_find_profile(file.p, &pe, i, &profile) == 0)
				check_entry(&f, &source, name, &profile, i);
		}
	}

	fuzz_end(&f);
	return 0;
}
