/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/boot_counter.h>

#define COUNTER_MAX 0x7fffffffu

static bool split_suffix(struct span file_name, struct boot_counter *ret)
{
	static const struct span suffixes[] = { { ".conf", 5 }, { ".efi", 4 } };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		struct span suffix = suffixes[i];

		if (file_name.n > suffix.n && span_ends_nocase(file_name, suffix)) {
			ret->name = span_cut(file_name, 0, file_name.n - suffix.n);
			ret->suffix = span_cut(file_name, file_name.n - suffix.n, file_name.n);
			return true;
		}
	}
	return false;
}

bool boot_counter_parse(struct span file_name, struct boot_counter *ret)
{
	uint64_t left, done = 0;

	*ret = (struct boot_counter){ 0 };
	if (!split_suffix(file_name, ret))
		return false;

	size_t plus = ret->name.n;
	while (plus > 0 && ret->name.p[plus - 1] != '+')
		plus--;
	if (plus <= 1) /* no '+', or nothing before it */
		return true;

	struct span counter = span_cut(ret->name, plus, ret->name.n);
	size_t dash = 0;
	while (dash < counter.n && counter.p[dash] != '-')
		dash++;
	if (!span_to_number(span_cut(counter, 0, dash), COUNTER_MAX, &left))
		return true;
	if (dash < counter.n && !span_to_number(span_cut(counter, dash + 1, counter.n), COUNTER_MAX, &done))
		return true;

	ret->present = true;
	ret->left = (uint32_t)left;
	ret->done = (uint32_t)done;
	ret->left_digits = (unsigned)dash;
	ret->done_digits = dash < counter.n ? (unsigned)(counter.n - dash - 1) : 0;
	ret->name.n = plus - 1;
	return true;
}

static uint64_t all_nines(unsigned digits)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < digits && v <= COUNTER_MAX; i++)
		v = v * 10 + 9;
	return v;
}

void boot_counter_next(const struct boot_counter *counter, struct text *ret)
{
	text_add(ret, counter->name);
	if (counter->present) {
		unsigned digits = counter->done_digits ? counter->done_digits : counter->left_digits;
		uint64_t done = (uint64_t)counter->done + 1, most = all_nines(digits);

		if (most > COUNTER_MAX)
			most = COUNTER_MAX;
		text_add(ret, SPAN("+"));
		text_add_number(ret, counter->left ? counter->left - 1 : 0, counter->left_digits);
		text_add(ret, SPAN("-"));
		text_add_number(ret, done > most ? most : done, digits);
	}
	text_add(ret, counter->suffix);
}

void boot_counter_id(const struct boot_counter *counter, struct text *ret)
{
	size_t from = ret->n;

	text_add(ret, counter->name);
	text_add(ret, counter->suffix);
	for (size_t i = from; i < ret->n; i++)
		ret->p[i] = char_lower(ret->p[i]);
}

enum entry_state boot_counter_state(const struct boot_counter *counter)
{
	if (!counter->present)
		return STATE_GOOD;
	return counter->left ? STATE_INDETERMINATE : STATE_BAD;
}

const char *entry_state_name(enum entry_state state)
{
	static const char *const names[] = {
		[STATE_GOOD] = "good",
		[STATE_INDETERMINATE] = "indeterminate",
		[STATE_BAD] = "bad",
	};

	return names[state];
}
