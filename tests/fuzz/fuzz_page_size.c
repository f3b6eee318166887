/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and sets of page sizes. Input: the words; its first eight bytes also serve as a register value. */
#include "fuzz.h"
#include <granule/page_size.h>

/* Whether a word stands in the text between blanks. */
static bool holds_word(struct span text, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= text.n; i++) {
		bool begins = i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '\t';
		bool ends = i + n == text.n || text.p[i + n] == ' ' || text.p[i + n] == '\t';

		if (begins && ends && !memcmp(text.p + i, word, n))
			return true;
	}
	return false;
}

static void check_word(struct span word)
{
	enum page_size strict = page_size_parse(word), typed = page_size_parse_typed(word);

	CHECK(strict <= PAGE_SIZE_64K && typed <= PAGE_SIZE_64K);
	CHECK(strict == PAGE_SIZE_UNKNOWN || span_equal(word, span_of(page_size_word(strict))));
	CHECK(strict == PAGE_SIZE_UNKNOWN || strict == typed);
	if (typed != PAGE_SIZE_UNKNOWN) {
		struct span title = span_of(page_size_title(typed));
		CHECK(word.n >= title.n && word.n <= title.n + 1);
		CHECK(span_equal_nocase(span_cut(word, 0, title.n), title));
		CHECK(word.n == title.n || char_lower(word.p[title.n]) == 'b');
	}
}

static void check_set(struct fuzz *f, page_size_set set)
{
	struct text t = fuzz_text(f, sizeof("4k 16k 64k")), tight;

	CHECK(!(set & ~PAGE_SIZE_SET_ALL));
	page_size_set_format(set, &t);
	fuzz_check_text(&t);
	CHECK(!t.full && page_size_set_parse(text_span(&t)) == set);
	tight = fuzz_text(f, t.n);
	page_size_set_format(set, &tight);
	fuzz_check_text(&tight);
	CHECK(tight.full);

	enum page_size largest = page_size_largest(set);
	CHECK((largest == PAGE_SIZE_UNKNOWN) == (set == PAGE_SIZE_SET_UNKNOWN));
	CHECK(largest == PAGE_SIZE_UNKNOWN || page_size_in(largest, set));
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		CHECK(!page_size_in(s, set) || page_size_bytes(s) <= page_size_bytes(largest));
}

static void check_register(struct fuzz *f, uint64_t value)
{
	page_size_set set = page_size_set_from_mmfr0(value);

	check_set(f, set);
	CHECK(page_size_in(PAGE_SIZE_4K, set) == !(value >> 31 & 1));
	CHECK(page_size_in(PAGE_SIZE_64K, set) == !(value >> 27 & 1));
	CHECK(page_size_in(PAGE_SIZE_16K, set) == ((value & 0xf00000) != 0));
	enum page_size size = page_size_from_bytes(value);
	CHECK(size == PAGE_SIZE_UNKNOWN ? value != 4096 && value != 16384 && value != 65536
					: page_size_bytes(size) == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span words = fuzz_rest(&f);
	page_size_set set = page_size_set_parse(words);

	check_word(words);
	check_set(&f, set);
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		CHECK(page_size_in(s, set) == holds_word(words, page_size_word(s)));
	check_register(&f, fuzz_number(words.p, words.n < 8 ? words.n : 8));
	fuzz_end(&f);
	return 0;
}
