/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GUID partition tables. */
#include "unit.h"

#include <granule/error.h>
#include <granule/gpt.h>

/* A header as a disk has it: 128 entries of 128 bytes from block 2 on. */
static void make_header(unsigned char *h)
{
	memset(h, 0, GPT_HEADER_SIZE);
	memcpy(h, "EFI PART\0\0\1\0\x5c", 13);
	h[72] = 2;
	h[80] = 128;
	h[84] = 128;
}

static void a_header_tells_where_the_entries_are(void **state)
{
	unsigned char h[GPT_HEADER_SIZE];
	struct gpt gpt;

	(void)state;
	make_header(h);
	assert_int_equal(gpt_parse(h, sizeof(h), &gpt), 0);
	assert_int_equal(gpt.entries_lba, 2);
	assert_int_equal(gpt.entries_bytes, 128 * 128);
}

static void headers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
		int error;
	} vectors[] = {
		{ 0, 'e', ERROR_MAGIC },   { 72, 1, ERROR_RANGE },    { 84, 127, ERROR_RANGE },
		{ 82, 0xff, ERROR_RANGE }, { 87, 0xff, ERROR_RANGE },
	};
	unsigned char h[GPT_HEADER_SIZE];
	struct gpt gpt;

	(void)state;
	make_header(h);
	assert_int_equal(gpt_parse(h, sizeof(h) - 1, &gpt), ERROR_TRUNCATED);
	for (size_t i = 0; i < COUNT(vectors); i++) {
		make_header(h);
		h[vectors[i].at] = vectors[i].value;
		check(gpt_parse(h, sizeof(h), &gpt) == vectors[i].error, "vector %zu", i);
	}
}

static void a_partition_is_found_by_its_type(void **state)
{
	unsigned char entries[4 * 256] = { 0 };
	struct gpt gpt = { .n_entries = 4, .entry_size = 256 };

	(void)state;
	assert_null(gpt_find(entries, &gpt, GPT_TYPE_XBOOTLDR));
	memcpy(entries + 2 * 256, GPT_TYPE_XBOOTLDR, 16);
	memcpy(entries + 2 * 256 + 16, "the second of it", 16);
	memcpy(entries + 3 * 256, GPT_TYPE_XBOOTLDR, 16);
	assert_memory_equal(gpt_find(entries, &gpt, GPT_TYPE_XBOOTLDR), "the second of it", 16);
	gpt.n_entries = 2;
	assert_null(gpt_find(entries, &gpt, GPT_TYPE_XBOOTLDR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_tells_where_the_entries_are),
		cmocka_unit_test(headers_that_cannot_be_are_refused),
		cmocka_unit_test(a_partition_is_found_by_its_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
