/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot counters in file names. Input: a file name. */
#include "fuzz.h"
#include <granule/boot_counter.h>

#define COUNTER_MAX 0x7fffffffu

static struct span next_name(struct fuzz *f, const struct boot_counter *c)
{
	/* "-DONE" may be added, with as many digits as LEFT. */
	struct text t = fuzz_text(f, c->name.n + c->suffix.n + 2 * c->left_digits + c->done_digits + 8);

	boot_counter_next(c, &t);
	fuzz_check_text(&t);
	CHECK(!t.full);
	return fuzz_copy(f, t.p, t.n);
}

static struct span id_of(struct fuzz *f, const struct boot_counter *c)
{
	struct text t = fuzz_text(f, c->name.n + c->suffix.n + 1);

	boot_counter_id(c, &t);
	fuzz_check_text(&t);
	CHECK(!t.full);
	return text_span(&t);
}

/* The parts, put together, are the name. */
static void check_split(struct span name, const struct boot_counter *c)
{
	size_t n = c->name.n;

	CHECK(c->name.n && c->name.p == name.p);
	if (c->present) {
		uint64_t left = UINT64_MAX, done = UINT64_MAX;
		size_t at = n + 1, dash = at + c->left_digits;

		CHECK(name.p[n] == '+' && c->left_digits);
		CHECK(span_to_number(span_cut(name, at, dash), COUNTER_MAX, &left) && left == c->left);
		n = dash;
		if (c->done_digits) {
			n = dash + 1 + c->done_digits;
			CHECK(name.p[dash] == '-');
			CHECK(span_to_number(span_cut(name, dash + 1, n), COUNTER_MAX, &done) &&
			      done == c->done);
		} else {
			CHECK(c->done == 0);
		}
	} else {
		CHECK(!c->left && !c->done && !c->left_digits && !c->done_digits);
	}
	CHECK(c->suffix.p == name.p + n && n + c->suffix.n == name.n);
	CHECK(span_equal_nocase(c->suffix, SPAN(".conf")) || span_equal_nocase(c->suffix, SPAN(".efi")));
}

static uint32_t one_more(uint32_t done, unsigned digits)
{
	uint64_t most = 0;

	while (digits-- && most < COUNTER_MAX)
		most = most * 10 + 9;
	if (most > COUNTER_MAX)
		most = COUNTER_MAX;
	return done < most ? done + 1 : (uint32_t)most;
}

static void check_next(struct fuzz *f, struct span name, const struct boot_counter *c)
{
	struct span next = next_name(f, c);
	struct boot_counter n;

	CHECK(boot_counter_parse(next, &n));
	check_split(next, &n);
	CHECK(span_equal(id_of(f, &n), id_of(f, c)));
	if (!c->present) {
		CHECK(span_equal(next, name) && boot_counter_state(c) == STATE_GOOD);
		return;
	}
	CHECK(n.present && n.left == (c->left ? c->left - 1 : 0));
	CHECK(n.done == one_more(c->done, c->done_digits ? c->done_digits : c->left_digits));
	CHECK(n.left_digits == c->left_digits);
	if (c->done_digits)
		CHECK(next.n == name.n);
	else
		CHECK(n.done_digits == c->left_digits && next.n == name.n + 1 + c->left_digits);
	CHECK(boot_counter_state(c) == (c->left ? STATE_INDETERMINATE : STATE_BAD));
	CHECK(strcmp(entry_state_name(boot_counter_state(&n)), "good"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span name = fuzz_rest(&f);
	struct boot_counter c;

	if (boot_counter_parse(name, &c)) {
		check_split(name, &c);
		check_next(&f, name, &c);
		struct span id = id_of(&f, &c);
		for (size_t i = 0; i < id.n; i++)
			CHECK(id.p[i] == char_lower(id.p[i]));
	} else {
		CHECK(name.n <= 5 ||
		      (!span_ends_nocase(name, SPAN(".conf")) && !span_ends_nocase(name, SPAN(".efi"))));
	}
	fuzz_end(&f);
	return 0;
}
