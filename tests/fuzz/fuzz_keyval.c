/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of key and value. Input: the text. */
#include "fuzz.h"
#include <granule/keyval.h>

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Reads one line, given by its bounds, from both ends towards the middle; false if it says nothing. */
static bool read_line(struct span text, size_t start, size_t end, struct span *ret_key,
		      struct span *ret_value)
{
	size_t last = end, first = start, key_end, value;

	while (last > start && is_blank(text.p[last - 1]))
		last--;
	while (first < last && is_blank(text.p[first]))
		first++;
	if (first == last || text.p[first] == '#')
		return false;
	for (key_end = first; key_end < last && !is_blank(text.p[key_end]);)
		key_end++;
	for (value = key_end; value < last && is_blank(text.p[value]);)
		value++;
	if (last - value >= 2 && text.p[value] == '"' && text.p[last - 1] == '"') {
		value++;
		last--;
	}
	*ret_key = (struct span){ text.p + first, key_end - first };
	*ret_value = (struct span){ text.p + value, last - value };
	return value < last;
}

static bool same(struct span a, struct span b)
{
	return a.p == b.p && a.n == b.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span text = fuzz_rest(&f), key, value;
	struct keyval kv;
	size_t pos = 0;

	for (size_t start = 0, end; start < text.n; start = end + 1) {
		for (end = start; end < text.n && !is_line_end(text.p[end]);)
			end++;
		if (!read_line(text, start, end, &key, &value))
			continue;
		size_t before = pos;
		CHECK(keyval_next(text, &pos, &kv));
		CHECK(pos > before && pos > end);
		CHECK(same(kv.key, key) && same(kv.value, value));
		CHECK(kv.key.n && kv.value.n && kv.key.p == text.p + kv.offset);
		CHECK(kv.line_start == start && kv.line_end == end);
	}
	CHECK(!keyval_next(text, &pos, &kv));
	CHECK(!keyval_next(text, &pos, &kv)); /* the end stays the end */
	fuzz_end(&f);
	return 0;
}
