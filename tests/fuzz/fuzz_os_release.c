/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assignments of os-release. Input: the text. */
#include "fuzz.h"
#include <granule/os_release.h>

static bool is_break(char c)
{
	return c == '\n' || c == '\r' || !c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span text = fuzz_rest(&f), key, value, copy = fuzz_copy(&f, text.p, text.n);
	size_t pos = 0, before = 0, lines = 0;

	for (size_t i = 0; i < text.n && text.p[i]; i++)
		lines += is_break(text.p[i]);
	for (; os_release_next((char *)text.p, text.n, &pos, &key, &value); before = pos) {
		CHECK(pos > before && pos <= text.n);
		CHECK(fuzz_inside(text, key) && fuzz_inside(text, value));
		CHECK(key.n && key.p + key.n < value.p + (value.n == 0));
		CHECK(!fuzz_has(key, '=') && key.p[0] != '#' && !char_is_blank(key.p[0]));
		CHECK((size_t)(key.p - text.p) >= before && value.p + value.n <= text.p + pos);
		for (size_t i = 0; i < value.n; i++)
			CHECK(!is_break(value.p[i]));
		CHECK(lines-- <= text.n);
		/* Whatever is before and behind a value stays as it was. */
		CHECK(!memcmp(key.p, copy.p + (key.p - text.p), key.n + 1));
		if (pos < text.n)
			CHECK(!memcmp(text.p + pos, copy.p + pos, text.n - pos));
		/* Without quotes and backslashes a value is what stands there. */
		const char *was = copy.p + (value.p - text.p);
		size_t line_n = pos - (size_t)(value.p - text.p);
		if (line_n && !memchr(was, '"', line_n) && !memchr(was, '\'', line_n) &&
		    !memchr(was, '\\', line_n))
			CHECK(!memcmp(value.p, was, value.n));
	}
	CHECK(pos <= text.n);
	CHECK(pos == text.n || !text.p[pos]);
	CHECK(!os_release_next((char *)text.p, text.n, &pos, &key, &value));

	fuzz_end(&f);
	return 0;
}
