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
	/* Sections are padded in the file; the virtual size is that of the content. */
	bool padded = s->virtual_size && s->virtual_size < s->raw_size;

	return (struct uki_part){ s->raw_offset, padded ? s->virtual_size : s->raw_size };
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
	struct uki_profile own = { 0 };
	uint32_t begun = 0;

	*ret = (struct uki_profile){ 0 };
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		struct pe_section s;

		pe_section_at(head, pe, i, &s);
		enum uki_section section = section_of(&s);
		begun += section == UKI_PROFILE;
		if (section == UKI_N_SECTIONS || (begun && begun - 1 != profile))
			continue;
		/* Of several with one name in one profile the first counts, as in systemd-stub. */
		struct uki_part *part = &(begun ? &own : ret)->parts[section];
		if (!part->size)
			*part = part_of(&s);
	}
	for (size_t i = 0; i < UKI_N_SECTIONS; i++)
		if (own.parts[i].size)
			ret->parts[i] = own.parts[i];
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
