/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partition tables. Input: the header, then as many entries as are there. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/gpt.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t n = size < GPT_HEADER_SIZE ? size : GPT_HEADER_SIZE;
	struct span header = fuzz_copy(&f, data, n), entries = fuzz_copy(&f, data + n, size - n);
	struct gpt gpt;

	int error = gpt_parse(header.p, n, &gpt);
	CHECK(error == 0 || error == ERROR_TRUNCATED || error == ERROR_MAGIC || error == ERROR_RANGE);
	CHECK((error == ERROR_TRUNCATED) == (n < GPT_HEADER_SIZE));
	if (!error) {
		CHECK((uint64_t)gpt.n_entries * gpt.entry_size == gpt.entries_bytes);
		CHECK(gpt.entries_bytes <= 1 << 20);
		/* As a caller does that got less than it asked for. */
		if (gpt.entries_bytes > entries.n) {
			gpt.n_entries = (uint32_t)(entries.n / gpt.entry_size);
			gpt.entries_bytes = gpt.n_entries * gpt.entry_size;
		}
		const unsigned char *found = gpt_find(entries.p, &gpt, GPT_TYPE_XBOOTLDR);
		if (found) {
			const char *e = (const char *)found - 16;
			CHECK(e >= entries.p && e + gpt.entry_size <= entries.p + entries.n);
			CHECK(!memcmp(e, GPT_TYPE_XBOOTLDR, 16) &&
			      (size_t)(e - entries.p) % gpt.entry_size == 0);
		}
	}
	fuzz_end(&f);
	return 0;
}
