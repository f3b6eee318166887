/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where unified kernel images keep the parts of their profiles. */
#include "unit.h"

#include <granule/error.h>
#include <granule/uki.h>

#include "pe_file.h"

/* An image with these sections, one after the other from 0x1000 on, each 0x100 bytes of 0x200. */
static void image(struct pe_file *f, const char *const *names, struct pe *ret)
{
	uint16_t n = 0;
	size_t offset;

	while (names[n])
		n++;
	pe_file_init(f, 0x80, PE_MACHINE_AA64, n);
	for (uint32_t i = 0; i < n; i++) {
		struct pe_section s = { .virtual_size = 0x100,
					.raw_size = 0x200,
					.raw_offset = 0x1000 + 0x200 * i };

		strncpy(s.name, names[i], 8);
		pe_file_section(f, i, &s);
	}
	assert_int_equal(pe_parse(f->bytes, f->n, ret, &offset), 0);
}

/* The index of a part's section; -1 when there is none. */
static int at(const struct uki_profile *p, enum uki_section section)
{
	if (!p->parts[section].size)
		return -1;
	assert_int_equal(p->parts[section].size, 0x100);
	return (int)(p->parts[section].offset - 0x1000) / 0x200;
}

static void without_profiles_all_is_profile_0(void **state)
{
	static const char *const names[] = { ".text",  ".osrel",  ".uname", ".cmdline",
					     ".linux", ".initrd", ".dtb",   NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;
	uint32_t n;

	(void)state;
	image(&f, names, &pe);
	assert_int_equal(uki_count_profiles(f.bytes, &pe, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	assert_int_equal(at(&p, UKI_PROFILE), -1);
	assert_int_equal(at(&p, UKI_OSREL), 1);
	assert_int_equal(at(&p, UKI_UNAME), 2);
	assert_int_equal(at(&p, UKI_CMDLINE), 3);
	assert_int_equal(at(&p, UKI_LINUX), 4);
	assert_int_equal(at(&p, UKI_INITRD), 5);
	assert_int_equal(at(&p, UKI_DTB), 6);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 1, &p), ERROR_NOT_FOUND);
}

static void a_profile_replaces_parts_of_the_base(void **state)
{
	static const char *const names[] = { ".osrel", ".linux",   ".cmdline", ".profile", ".profile",
					     ".linux", ".cmdline", ".profile", ".cmdline", NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;
	uint32_t n;

	(void)state;
	image(&f, names, &pe);
	assert_int_equal(uki_count_profiles(f.bytes, &pe, &n), 0);
	assert_int_equal(n, 3);

	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	assert_int_equal(at(&p, UKI_PROFILE), 3);
	assert_int_equal(at(&p, UKI_OSREL), 0);
	assert_int_equal(at(&p, UKI_LINUX), 1);
	assert_int_equal(at(&p, UKI_CMDLINE), 2);

	assert_int_equal(uki_find_profile(f.bytes, &pe, 1, &p), 0);
	assert_int_equal(at(&p, UKI_PROFILE), 4);
	assert_int_equal(at(&p, UKI_OSREL), 0);
	assert_int_equal(at(&p, UKI_LINUX), 5);
	assert_int_equal(at(&p, UKI_CMDLINE), 6);

	assert_int_equal(uki_find_profile(f.bytes, &pe, 2, &p), 0);
	assert_int_equal(at(&p, UKI_PROFILE), 7);
	assert_int_equal(at(&p, UKI_LINUX), 1);
	assert_int_equal(at(&p, UKI_CMDLINE), 8);

	assert_int_equal(uki_find_profile(f.bytes, &pe, 3, &p), ERROR_NOT_FOUND);
	assert_int_equal(at(&p, UKI_LINUX), 1);
	assert_int_equal(at(&p, UKI_PROFILE), -1);
	assert_int_equal(uki_find_profile(f.bytes, &pe, UINT32_MAX, &p), ERROR_NOT_FOUND);
}

static void an_image_may_begin_with_a_profile(void **state)
{
	static const char *const names[] = { ".profile", ".linux", ".profile", ".osrel", NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;

	(void)state;
	image(&f, names, &pe);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	assert_int_equal(at(&p, UKI_LINUX), 1);
	assert_int_equal(at(&p, UKI_OSREL), -1);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 1, &p), 0);
	assert_int_equal(at(&p, UKI_LINUX), -1);
	assert_int_equal(at(&p, UKI_OSREL), 3);
}

static void of_several_in_one_profile_the_first_counts(void **state)
{
	static const char *const names[] = { ".linux", ".linux", ".profile", ".cmdline", ".cmdline", NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;

	(void)state;
	image(&f, names, &pe);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	assert_int_equal(at(&p, UKI_LINUX), 0);
	assert_int_equal(at(&p, UKI_CMDLINE), 3);
}

static void an_empty_part_takes_away_that_of_the_base(void **state)
{
	static const char *const names[] = { ".cmdline", ".linux", ".profile", ".cmdline", ".cmdline", NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;

	(void)state;
	image(&f, names, &pe);
	write_le32(f.bytes + f.sections + 40 * 3 + 8, 0);
	write_le32(f.bytes + f.sections + 40 * 3 + 16, 0);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	assert_int_equal(at(&p, UKI_CMDLINE), -1);
	assert_int_equal(at(&p, UKI_LINUX), 1);
}

static void sizes_are_those_of_the_content(void **state)
{
	static const struct {
		uint32_t virtual_size, raw_size, want;
	} sizes[] = {
		{ 0x150, 0x200, 0x150 }, { 0x200, 0x200, 0x200 }, { 0x300, 0x200, 0x200 },
		{ 0, 0x200, 0 },         { 0x100, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct pe_section s = { ".osrel", sizes[i].virtual_size, 0, sizes[i].raw_size, 0x600, 0 };
		struct uki_profile p;
		struct pe_file f;
		struct pe pe;
		size_t offset;

		pe_file_init(&f, 0x80, PE_MACHINE_AA64, 1);
		pe_file_section(&f, 0, &s);
		assert_int_equal(pe_parse(f.bytes, f.n, &pe, &offset), 0);
		assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
		assert_int_equal(p.parts[UKI_OSREL].size, sizes[i].want);
	}
}

static void an_image_of_many_profiles_is_bounded(void **state)
{
	enum { most = 300, table = 0x200 };
	unsigned char *bytes = calloc(1, table + 40 * most);
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;
	size_t offset;
	uint32_t n;

	(void)state;
	pe_file_init(&f, 0x80, PE_MACHINE_AA64, 0);
	for (uint16_t have = UKI_MAX_PROFILES - 1; have <= UKI_MAX_PROFILES + 1; have++) {
		memcpy(bytes, f.bytes, f.n);
		write_le16(bytes + 0x80 + 6, have);
		for (size_t i = 0; i < have; i++) {
			memcpy(bytes + f.sections + 40 * i, ".profile", 8);
			write_le32(bytes + f.sections + 40 * i + 8, 0x10);
			write_le32(bytes + f.sections + 40 * i + 16, 0x10);
			write_le32(bytes + f.sections + 40 * i + 20, (uint32_t)i);
		}
		/* The headers say how much more of the file they need. */
		assert_int_equal(pe_parse(bytes, PE_HEAD_SIZE, &pe, &offset), ERROR_TRUNCATED);
		assert_int_equal(offset, f.sections + 40u * have);
		assert_int_equal(pe_parse(bytes, offset, &pe, &offset), 0);
		int error = uki_count_profiles(bytes, &pe, &n);
		assert_int_equal(error, have > UKI_MAX_PROFILES ? ERROR_TOO_MANY : 0);
		assert_int_equal(n, have < UKI_MAX_PROFILES ? have : UKI_MAX_PROFILES);
		assert_int_equal(uki_find_profile(bytes, &pe, n - 1, &p), 0);
		assert_int_equal(p.parts[UKI_PROFILE].offset, n - 1);
	}
	free(bytes);
}

static void names_are_compared_whole(void **state)
{
	static const char *const names[] = { ".osrelx", ".profil", ".cmdlin", ".Linux", "linux", NULL };
	struct uki_profile p;
	struct pe_file f;
	struct pe pe;
	uint32_t n;

	(void)state;
	image(&f, names, &pe);
	assert_int_equal(uki_count_profiles(f.bytes, &pe, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(uki_find_profile(f.bytes, &pe, 0, &p), 0);
	for (enum uki_section i = 0; i < UKI_N_SECTIONS; i++)
		assert_int_equal(p.parts[i].size, 0);
}

static void texts_are_cleaned_as_a_stub_does(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *want;
	} vectors[] = {
		{ "root=/dev/vda2 quiet", 20, "root=/dev/vda2 quiet" },
		{ " \n a\tb\n\n", 8, "a b" },
		{ "a\0b", 3, "a" },
		{ "\0", 1, "" },
		{ "", 0, "" },
		{ "\x01\x1f", 2, "" },
		{ "\xc3\xa4 ", 3, "\xc3\xa4" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span text = exact_bytes(vectors[i].text, vectors[i].n);

		assert_span_equal(uki_clean_text(text), vectors[i].want);
		release(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_profiles_all_is_profile_0),
		cmocka_unit_test(a_profile_replaces_parts_of_the_base),
		cmocka_unit_test(an_image_may_begin_with_a_profile),
		cmocka_unit_test(of_several_in_one_profile_the_first_counts),
		cmocka_unit_test(an_empty_part_takes_away_that_of_the_base),
		cmocka_unit_test(sizes_are_those_of_the_content),
		cmocka_unit_test(an_image_of_many_profiles_is_bounded),
		cmocka_unit_test(names_are_compared_whole),
		cmocka_unit_test(texts_are_cleaned_as_a_stub_does),
	};

	return cmocka_run_group_tests_name("uki", tests, NULL, NULL);
}
