/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of a boot. Input: any text, which is read as a record; and fuzz_choice() in entries.h, of which
 * one is made. */
#include "entries.h"
#include <granule/boot_record.h>

/* Reading text that nobody vouches for. */
static void check_read(struct span text)
{
	struct span key, value, first;
	enum choose_outcome outcome = OUTCOME_NOT_SET;

	for (size_t pos = 0, before = 0; boot_record_next(text, &pos, &key, &value); before = pos) {
		CHECK(pos > before && key.n && fuzz_inside(text, key) && fuzz_inside(text, value));
		CHECK(key.p + key.n + 1 == value.p && key.p[key.n] == '=');
		CHECK(!fuzz_has(key, '=') && !fuzz_has(key, '\n') && !fuzz_has(value, '\n'));
		CHECK(key.p == text.p || key.p[-1] == '\n');
		CHECK(value.p + value.n == text.p + text.n || value.p[value.n] == '\n');
		CHECK(boot_record_get(text, key, &first) && first.p <= value.p);
	}
	for (enum choose_rule r = RULE_ONESHOT; r < N_RULES; r++)
		if (boot_record_rule(text, r, &value, &outcome))
			CHECK(fuzz_inside(text, value) && outcome <= OUTCOME_NOT_ASKED);
}

/* Whether what was read back is what was written, line breaks and NUL turned into blanks. */
static bool same(struct span got, struct span written)
{
	if (got.n != written.n)
		return false;
	for (size_t i = 0; i < got.n; i++) {
		char c = written.p[i];
		if (got.p[i] != (c == '\n' || c == '\r' || !c ? ' ' : c))
			return false;
	}
	return true;
}

static void check_record(struct span record, const struct choose_input *in, const struct choose_result *r)
{
	const struct entry *e = in->entries[r->index];
	struct span value;

	CHECK(boot_record_get(record, SPAN("entry"), &value) && same(value, e->id));
	CHECK(boot_record_get(record, SPAN("page-size"), &value));
	CHECK(same(value, span_of(page_size_word(e->page_size))));
	CHECK(boot_record_get(record, SPAN("reason"), &value) &&
	      same(value, span_of(choose_rule_name(r->rule))));
	CHECK(boot_record_get(record, SPAN("explain"), &value) && value.n);
	for (enum choose_rule rule = RULE_ONESHOT; rule <= RULE_POLICY; rule++) {
		enum choose_outcome outcome;
		struct span asked = choose_asked(in, rule);

		CHECK(boot_record_rule(record, rule, &value, &outcome) == (asked.n > 0));
		if (asked.n)
			CHECK(same(value, asked) && outcome == r->outcome[rule]);
	}
}

/* A line is there whole or not at all. */
static void check_add(struct text *record, struct span key, struct span value)
{
	size_t before = record->n, line = key.n + value.n + 2;

	boot_record_add(record, key, value);
	fuzz_check_text(record);
	if (record->size)
		CHECK(!record->full && record->n == (before + line < record->size ? before + line : before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span text = fuzz_copy(&f, data, size);
	struct fuzz_choice c;
	struct choose_result r;

	check_read(text);
	fuzz_choice(&f, &c);
	choose(&c.input, &r);
	if (r.index != SIZE_MAX) {
		const struct entry *e = c.input.entries[r.index];
		/* All patterns come twice, once in the explanation. */
		struct text large = fuzz_text(&f, 2 * size + 2048), usual = fuzz_text(&f, BOOT_RECORD_MAX);

		boot_record_format(e, &c.input, &r, &large);
		fuzz_check_text(&large);
		check_record(fuzz_copy(&f, large.p, large.n), &c.input, &r);
		boot_record_format(e, &c.input, &r, &usual);
		fuzz_check_text(&usual);
		check_read(text_span(&usual));

		struct text tight = fuzz_text(&f, large.n);
		boot_record_format(e, &c.input, &r, &tight);
		fuzz_check_text(&tight);
		CHECK(tight.n < large.n && (!tight.n || tight.p[tight.n - 1] == '\n'));
		check_add(&usual, SPAN("failed"), c.input.oneshot);
		check_add(&tight, SPAN("failed"), c.input.preferred);
	}
	fuzz_end(&f);
	return 0;
}
