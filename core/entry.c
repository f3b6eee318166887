/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cmdline.h>
#include <granule/entry.h>
#include <granule/glob.h>

void entry_update_page_size(struct entry *entry, page_size_set cpu)
{
	struct page_size_param param;

	if (entry->kind != IMAGE_SELECTABLE)
		return;
	cmdline_page_size(entry->bls.options, cpu, &param);
	entry->page_size = param.asked != PAGE_SIZE_UNKNOWN ? param.asked : param.effective;
}

void entry_set_page_size(struct entry *entry, const struct image_head *head, bool strings, page_size_set cpu)
{
	entry->kind = IMAGE_UNKNOWN;
	entry->page_size = PAGE_SIZE_UNKNOWN;

	if (head && head->has_pe && head->pe.machine == PE_MACHINE_X64) {
		/* x86-64 has one base page size. */
		entry->kind = IMAGE_FIXED;
		entry->page_size = PAGE_SIZE_4K;
	} else if (head && head->has_arm64 && head->arm64.page_size != PAGE_SIZE_UNKNOWN) {
		entry->kind = IMAGE_FIXED;
		entry->page_size = head->arm64.page_size;
	} else if (entry->bls.image_page_size != PAGE_SIZE_UNKNOWN && !(head && head->has_arm64)) {
		/* A header that is not visible (compressed) is replaced by what register saw in it; a visible
		 * one that is unspecified contradicts a fixed size. */
		entry->kind = IMAGE_FIXED;
		entry->page_size = entry->bls.image_page_size;
	} else if (entry->bls.image_selectable || strings) {
		entry->kind = IMAGE_SELECTABLE;
		entry_update_page_size(entry, cpu);
	}
}

const char *entry_type_name(enum entry_type type)
{
	static const char *const names[] = {
		[ENTRY_TYPE1] = "type1",
		[ENTRY_TYPE2] = "type2",
		[ENTRY_AUTO] = "auto",
		[ENTRY_MENU] = "menu",
	};

	return names[type];
}

const char *entry_unsupported_feature(const struct entry *entry)
{
	if (entry->bls.start == BLS_START_UKI_URL)
		return "starting from the network is not supported";
	return NULL;
}

bool entry_supported(const struct entry *entry, page_size_set cpu)
{
	return entry->page_size == PAGE_SIZE_UNKNOWN || cpu == PAGE_SIZE_SET_UNKNOWN ||
	       page_size_in(entry->page_size, cpu);
}

void entry_from_id(struct span id, struct entry *ret)
{
	size_t dot = id.n;

	while (dot > 0 && id.p[dot - 1] != '.')
		dot--;
	if (dot)
		dot--;
	else
		dot = id.n;
	*ret = (struct entry){ .id = id };
	ret->counter.name = span_cut(id, 0, dot);
	ret->counter.suffix = span_cut(id, dot, id.n);
}

bool entry_starts_system(const struct entry *entry)
{
	return entry->type != ENTRY_AUTO || !(span_starts(entry->id, SPAN("auto-reboot")) ||
					      span_starts(entry->id, SPAN("auto-poweroff")));
}

/* A type 1 entry that starts a profile has an id of its own. */
static bool is_later_profile(const struct entry *entry)
{
	return entry->type == ENTRY_TYPE2 && entry->bls.profile;
}

/* Where the text behind the last '@' begins; 0 if there is none. */
static size_t behind_at(struct span s)
{
	size_t at = s.n;

	while (at > 0 && s.p[at - 1] != '@')
		at--;
	return at;
}

/* FILE@PROFILE, with or without the suffix of FILE. The id of a first profile does not hold its name. */
static bool matches_profile(const struct entry *entry, struct span pattern)
{
	size_t at = behind_at(pattern), own_at = behind_at(entry->id);
	bool first = entry->profile_name.n && !is_later_profile(entry);

	if (at < 2 || (!first && !own_at))
		return false;
	struct span file = span_cut(pattern, 0, at - 1);
	struct span profile = first ? entry->profile_name : span_cut(entry->id, own_at, entry->id.n);

	return glob_match(span_cut(pattern, at, pattern.n), profile) &&
	       (glob_match(file, entry->counter.name) || (first && glob_match(file, entry->id)));
}

bool entry_matches(const struct entry *entry, struct span pattern)
{
	struct boot_counter split;

	if (!pattern.n)
		return false;
	if (entry->type == ENTRY_AUTO)
		return span_equal_nocase(pattern, entry->id);
	/* GRUB knows neither suffixes nor counters nor profiles. */
	if (entry->type == ENTRY_MENU)
		return glob_match(pattern, entry->id);
	if (glob_match(pattern, entry->id) || matches_profile(entry, pattern))
		return true;
	if (!boot_counter_parse(pattern, &split)) {
		/* No suffix: compare with the name alone, which stands for the first profile of an image. */
		return !is_later_profile(entry) && glob_match(pattern, entry->counter.name);
	}
	/* A counter in the pattern: compare names, and suffixes apart. */
	return split.present && !is_later_profile(entry) &&
	       span_equal_nocase(split.name, entry->counter.name) &&
	       span_equal_nocase(split.suffix, entry->counter.suffix);
}
