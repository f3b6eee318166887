/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and sets of page sizes. */
#include "unit.h"

#include <granule/page_size.h>

#define BIT(size) (1u << (size))

static void numbers_words_and_titles(void **state)
{
	static const struct {
		enum page_size size;
		uint32_t bytes;
		const char *word, *title;
	} vectors[] = {
		{ PAGE_SIZE_UNKNOWN, 0, "unknown", "?" },
		{ PAGE_SIZE_4K, 4096, "4k", "4K" },
		{ PAGE_SIZE_16K, 16384, "16k", "16K" },
		{ PAGE_SIZE_64K, 65536, "64k", "64K" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		/* The value is the one of the Image header. */
		assert_int_equal(vectors[i].size, i);
		assert_int_equal(page_size_bytes(vectors[i].size), vectors[i].bytes);
		assert_int_equal(page_size_from_bytes(vectors[i].bytes), vectors[i].size);
		assert_string_equal(page_size_word(vectors[i].size), vectors[i].word);
		assert_string_equal(page_size_title(vectors[i].size), vectors[i].title);
	}
}

static void other_numbers_are_no_page_size(void **state)
{
	static const uint64_t numbers[] = {
		1, 4095, 4097, 8192, 32768, 65535, 131072, 0x100001000, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_int_equal(page_size_from_bytes(numbers[i]), PAGE_SIZE_UNKNOWN);
}

static void words_exact_and_typed(void **state)
{
	static const struct {
		const char *word;
		enum page_size exact, typed;
	} vectors[] = {
		{ "4k", PAGE_SIZE_4K, PAGE_SIZE_4K },
		{ "16k", PAGE_SIZE_16K, PAGE_SIZE_16K },
		{ "64k", PAGE_SIZE_64K, PAGE_SIZE_64K },
		{ "4K", PAGE_SIZE_UNKNOWN, PAGE_SIZE_4K },
		{ "16K", PAGE_SIZE_UNKNOWN, PAGE_SIZE_16K },
		{ "64kb", PAGE_SIZE_UNKNOWN, PAGE_SIZE_64K },
		{ "64KB", PAGE_SIZE_UNKNOWN, PAGE_SIZE_64K },
		{ "4Kb", PAGE_SIZE_UNKNOWN, PAGE_SIZE_4K },
		{ "", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "b", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "4", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "4b", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "8k", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "04k", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "4kbb", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "64k ", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "unknown", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
		{ "4096", PAGE_SIZE_UNKNOWN, PAGE_SIZE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span word = exact(vectors[i].word);

		check(page_size_parse(word) == vectors[i].exact, "\"%s\"", vectors[i].word);
		check(page_size_parse_typed(word) == vectors[i].typed, "\"%s\"", vectors[i].word);
		release(word);
	}
}

static void sets_are_read_and_written(void **state)
{
	static const struct {
		const char *words;
		page_size_set set;
		const char *written;
	} vectors[] = {
		{ "", PAGE_SIZE_SET_UNKNOWN, "" },
		{ "4k", BIT(PAGE_SIZE_4K), "4k" },
		{ "64k 4k", BIT(PAGE_SIZE_4K) | BIT(PAGE_SIZE_64K), "4k 64k" },
		{ "4k 16k 64k", PAGE_SIZE_SET_ALL, "4k 16k 64k" },
		{ "  16k\t 16k  ", BIT(PAGE_SIZE_16K), "16k" },
		{ "8k 64k 128k unknown", BIT(PAGE_SIZE_64K), "64k" },
		{ "unknown", PAGE_SIZE_SET_UNKNOWN, "" },
		{ "4k,64k", PAGE_SIZE_SET_UNKNOWN, "" },
		{ "4K", PAGE_SIZE_SET_UNKNOWN, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span words = exact(vectors[i].words);
		char buffer[32];
		struct text t = text_in(buffer, sizeof(buffer));

		check(page_size_set_parse(words) == vectors[i].set, "\"%s\"", vectors[i].words);
		page_size_set_format(vectors[i].set, &t);
		assert_string_equal(buffer, vectors[i].written);
		release(words);
	}
}

static void members_and_the_largest_of_a_set(void **state)
{
	(void)state;
	for (unsigned set = 0; set <= PAGE_SIZE_SET_ALL; set += 2) {
		enum page_size largest = PAGE_SIZE_UNKNOWN;

		assert_false(page_size_in(PAGE_SIZE_UNKNOWN, (page_size_set)set));
		for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
			assert_int_equal(page_size_in(s, (page_size_set)set), set >> s & 1);
			if (set >> s & 1)
				largest = s;
		}
		assert_int_equal(page_size_largest((page_size_set)set), largest);
	}
}

static void granules_of_a_cpu_from_its_register(void **state)
{
	static const struct {
		uint64_t mmfr0;
		page_size_set set;
	} vectors[] = {
		{ 0x00000000, BIT(PAGE_SIZE_4K) | BIT(PAGE_SIZE_64K) },
		{ 0x00100000, PAGE_SIZE_SET_ALL },
		{ 0x00200000, PAGE_SIZE_SET_ALL },
		{ 0x10200000, PAGE_SIZE_SET_ALL },
		{ 0xf0000000, BIT(PAGE_SIZE_64K) },
		{ 0xf0100000, BIT(PAGE_SIZE_16K) | BIT(PAGE_SIZE_64K) },
		{ 0x0f000000, BIT(PAGE_SIZE_4K) },
		{ 0x0f100000, BIT(PAGE_SIZE_4K) | BIT(PAGE_SIZE_16K) },
		{ 0xff100000, BIT(PAGE_SIZE_16K) },
		{ 0xff000000, PAGE_SIZE_SET_UNKNOWN },
		/* Cortex-A72, and one with all fields around set. */
		{ 0x0000000000001124, BIT(PAGE_SIZE_4K) | BIT(PAGE_SIZE_64K) },
		{ 0xffffffff001fffff, PAGE_SIZE_SET_ALL },
		{ 0xffffffff000fffff, BIT(PAGE_SIZE_4K) | BIT(PAGE_SIZE_64K) },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		check(page_size_set_from_mmfr0(vectors[i].mmfr0) == vectors[i].set, "%#llx",
		      (unsigned long long)vectors[i].mmfr0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_words_and_titles),
		cmocka_unit_test(other_numbers_are_no_page_size),
		cmocka_unit_test(words_exact_and_typed),
		cmocka_unit_test(sets_are_read_and_written),
		cmocka_unit_test(members_and_the_largest_of_a_set),
		cmocka_unit_test(granules_of_a_cpu_from_its_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
