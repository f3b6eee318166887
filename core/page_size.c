/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/page_size.h>

static const struct {
	uint32_t bytes;
	const char *word;
	const char *title;
} sizes[] = {
	[PAGE_SIZE_UNKNOWN] = { 0, "unknown", "?" },
	[PAGE_SIZE_4K] = { 4096, "4k", "4K" },
	[PAGE_SIZE_16K] = { 16384, "16k", "16K" },
	[PAGE_SIZE_64K] = { 65536, "64k", "64K" },
};

uint32_t page_size_bytes(enum page_size size)
{
	return sizes[size].bytes;
}

enum page_size page_size_from_bytes(uint64_t bytes)
{
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (sizes[s].bytes == bytes)
			return s;
	return PAGE_SIZE_UNKNOWN;
}

const char *page_size_word(enum page_size size)
{
	return sizes[size].word;
}

const char *page_size_title(enum page_size size)
{
	return sizes[size].title;
}

enum page_size page_size_parse(struct span word)
{
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (span_equal(word, span_of(sizes[s].word)))
			return s;
	return PAGE_SIZE_UNKNOWN;
}

enum page_size page_size_parse_typed(struct span word)
{
	if (word.n && char_lower(word.p[word.n - 1]) == 'b')
		word.n--;
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (span_equal_nocase(word, span_of(sizes[s].word)))
			return s;
	return PAGE_SIZE_UNKNOWN;
}

enum page_size page_size_largest(page_size_set set)
{
	for (enum page_size s = PAGE_SIZE_64K; s > PAGE_SIZE_UNKNOWN; s--)
		if (page_size_in(s, set))
			return s;
	return PAGE_SIZE_UNKNOWN;
}

page_size_set page_size_set_parse(struct span words)
{
	page_size_set set = PAGE_SIZE_SET_UNKNOWN;

	for (size_t i = 0; i < words.n;) {
		size_t end = i;
		while (end < words.n && !char_is_blank(words.p[end]))
			end++;
		enum page_size s = page_size_parse(span_cut(words, i, end));
		if (s != PAGE_SIZE_UNKNOWN)
			set |= (page_size_set)(1u << s);
		i = end + 1;
	}
	return set;
}

void page_size_set_format(page_size_set set, struct text *ret)
{
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
		if (!page_size_in(s, set))
			continue;
		if (ret->n)
			text_add(ret, SPAN(" "));
		text_add(ret, span_of(sizes[s].word));
	}
}

page_size_set page_size_set_from_mmfr0(uint64_t mmfr0)
{
	unsigned tgran4 = mmfr0 >> 28 & 0xf, tgran64 = mmfr0 >> 24 & 0xf, tgran16 = mmfr0 >> 20 & 0xf;
	page_size_set set = PAGE_SIZE_SET_UNKNOWN;

	/* TGran4 and TGran64 are signed fields (negative: absent), TGran16 is unsigned (zero: absent). */
	if (tgran4 < 8)
		set |= 1u << PAGE_SIZE_4K;
	if (tgran16 > 0)
		set |= 1u << PAGE_SIZE_16K;
	if (tgran64 < 8)
		set |= 1u << PAGE_SIZE_64K;
	return set;
}
