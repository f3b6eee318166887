/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/uki.h>

static const char section_names[UKI_N_SECTIONS][9] = {
	[UKI_PROFILE] = ".profile", [UKI_OSREL] = ".osrel", [UKI_UNAME] = ".uname",
	[UKI_CMDLINE] = ".cmdline", [UKI_LINUX] = ".linux", [UKI_INITRD] = ".initrd",
	[UKI_DTB] = ".dtb",
};

static enum uki_section section_of(const struct pe_section *s)
{
	enum uki_section i = 0;

	while (i < UKI_N_SECTIONS && !span_equal(span_of(s->name), span_of(section_names[i])))
		i++;
	return i;
}

static struct uki_part part_of(const struct pe_section *s)
{
	/* Sections are padded in the file, and may go on in memory: the content is what both have. */
	return (struct uki_part){ s->raw_offset,
				  s->virtual_size < s->raw_size ? s->virtual_size : s->raw_size };
}

static uint32_t count(const void *head, const struct pe *pe)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(head, pe, i, &s);
		n += section_of(&s) == UKI_PROFILE;
	}
	return n;
}

int uki_count_profiles(const void *head, const struct pe *pe, uint32_t *ret_n)
{
	uint32_t n = count(head, pe);

	*ret_n = n > UKI_MAX_PROFILES ? UKI_MAX_PROFILES : n ? n : 1;
	return n > UKI_MAX_PROFILES ? ERROR_TOO_MANY : 0;
}

int uki_find_profile(const void *head, const struct pe *pe, uint32_t profile, struct uki_profile *ret)
{
	uint32_t begun = 0;
	unsigned in_base = 0, in_own = 0; /* parts that were seen, one bit each */

	*ret = (struct uki_profile){ 0 };
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(head, pe, i, &s);
		enum uki_section section = section_of(&s);
		begun += section == UKI_PROFILE;
		if (section == UKI_N_SECTIONS || (begun && begun - 1 != profile))
			continue;
		/* Of several with one name in one profile the first counts; an empty one counts too. */
		unsigned *seen = begun ? &in_own : &in_base;
		if (!(*seen & 1u << section))
			ret->parts[section] = part_of(&s);
		*seen |= 1u << section;
	}
	return profile < (begun ? begun : 1) ? 0 : ERROR_NOT_FOUND;
}

struct span uki_clean_text(struct span text)
{
	char *p = (char *)text.p;
	size_t n = 0;

	for (; n < text.n && p[n]; n++)
		if ((unsigned char)p[n] < ' ')
			p[n] = ' ';
	return span_trim((struct span){ p, n });
}
