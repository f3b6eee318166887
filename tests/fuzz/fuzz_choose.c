/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision. Input: fuzz_choice() in entries.h. */
#include "entries.h"
#include <granule/version_order.h>

static bool is_bad(const struct entry *e)
{
	return e->counter.present && !e->counter.left;
}

/* Nothing keeps the entry from booting, and it has tries left. */
static bool is_good(const struct choose_input *in, const struct entry *e)
{
	return !e->unusable && !is_bad(e) && entry_supported(e, in->cpu);
}

static void check_outcomes(const struct choose_result *r)
{
	CHECK(r->outcome[RULE_MENU] == OUTCOME_NOT_SET || r->outcome[RULE_MENU] == OUTCOME_NOT_ASKED);
	for (enum choose_rule rule = RULE_ONESHOT; rule < N_RULES; rule++) {
		enum choose_outcome o = r->outcome[rule], parsed;
		enum choose_rule parsed_rule;

		CHECK(o <= OUTCOME_NOT_ASKED);
		CHECK(choose_outcome_parse(span_of(choose_outcome_name(o)), &parsed) && parsed == o);
		CHECK(choose_rule_parse(span_of(choose_rule_name(rule)), &parsed_rule) &&
		      parsed_rule == rule);
		if (r->index != SIZE_MAX) {
			CHECK((o == OUTCOME_CHOSEN) == (rule == r->rule));
			CHECK((o == OUTCOME_NOT_ASKED) == (rule > r->rule));
		} else {
			CHECK(o != OUTCOME_CHOSEN && o != OUTCOME_NOT_ASKED);
		}
	}
}

static void check_policy(const struct choose_input *in, enum page_size size)
{
	enum choose_outcome why = OUTCOME_NOT_SET;
	size_t equals = SIZE_MAX, best = choose_newest(in, size, &equals, &why);

	CHECK((best == SIZE_MAX) == (equals == 0) && (best != SIZE_MAX) == (why == OUTCOME_CHOSEN));
	CHECK(best == SIZE_MAX || best < in->n_entries);
	for (size_t i = 0; i < in->n_entries; i++) {
		const struct entry *e = in->entries[i];

		if (e->page_size != size || !is_good(in, e))
			continue;
		CHECK(best != SIZE_MAX);
		const struct entry *newest = in->entries[best];
		CHECK(newest->page_size == size && is_good(in, newest));
		if (!e->bls.version.n)
			continue;
		CHECK(newest->bls.version.n);
		int r = version_compare(newest->bls.version, e->bls.version);
		CHECK(r > 0 || (r == 0 && best <= i && equals >= (best == i ? 1 : 2)));
	}
}

/* What each rule may choose. */
static void check_chosen(const struct choose_input *in, const struct choose_result *r)
{
	const struct entry *e = in->entries[r->index];

	CHECK(r->index < in->n_entries && !e->unusable);
	if (r->rule < RULE_POLICY)
		CHECK(entry_matches(e, choose_asked(in, r->rule)));
	if (r->rule == RULE_ONESHOT)
		CHECK(!in->oneshot_not_cleared && entry_supported(e, in->cpu));
	else if (r->rule != RULE_LAST_RESORT)
		CHECK(is_good(in, e));
	if (r->rule == RULE_POLICY)
		CHECK(e->page_size == in->policy);
	if (r->rule == RULE_ORDER || r->rule == RULE_LAST_RESORT)
		for (size_t i = 0; i < r->index; i++)
			CHECK(!is_good(in, in->entries[i]));
	if (r->rule == RULE_LAST_RESORT) {
		for (size_t i = 0; i < in->n_entries; i++)
			CHECK(!is_good(in, in->entries[i]));
		for (size_t i = 0; i < in->n_entries; i++)
			CHECK(in->entries[i]->unusable || !entry_supported(in->entries[i], in->cpu) ||
			      (entry_supported(e, in->cpu) && r->index <= i));
	}
}

static void check_explain(struct fuzz *f, const struct choose_input *in, const struct choose_result *r)
{
	size_t patterns = in->oneshot.n + in->preferred.n + in->preferred_config.n + in->default_variable.n +
			  in->default_config.n;
	struct text t = fuzz_text(f, patterns + 1024);

	choose_explain(in, r, &t);
	fuzz_check_text(&t);
	CHECK(!t.full && t.n);
	struct text tight = fuzz_text(f, t.n), fits = fuzz_text(f, t.n + 1), none = fuzz_text(f, 0);
	choose_explain(in, r, &tight);
	choose_explain(in, r, &fits);
	choose_explain(in, r, &none);
	fuzz_check_text(&tight);
	fuzz_check_text(&none);
	CHECK(tight.full && !fits.full && span_equal(text_span(&fits), text_span(&t)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct fuzz_choice c;
	struct choose_result r;

	fuzz_choice(&f, &c);
	memset(&r, 0xa5, sizeof(r));
	choose(&c.input, &r);
	check_outcomes(&r);
	if (r.index != SIZE_MAX)
		check_chosen(&c.input, &r);
	else
		for (size_t i = 0; i < c.input.n_entries; i++)
			CHECK(c.input.entries[i]->unusable);
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		check_policy(&c.input, s);
	check_explain(&f, &c.input, &r);
	fuzz_end(&f);
	return 0;
}
