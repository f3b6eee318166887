/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/boot_record.h>

void boot_record_add(struct text *record, struct span key, struct span value)
{
	size_t before = record->n;

	text_add(record, key);
	text_add(record, SPAN("="));
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		text_add(record, (struct span){ c == '\n' || c == '\r' || !c ? " " : &value.p[i], 1 });
	}
	text_add(record, SPAN("\n"));
	if (record->full && before < record->size) {
		record->n = before;
		record->p[before] = 0;
		record->full = false;
	}
}

static void add_rule(struct text *record, const char *prefix, enum choose_rule rule, struct span value)
{
	char key[48];
	struct text t = text_in(key, sizeof(key));

	text_add(&t, span_of(prefix));
	text_add(&t, span_of(choose_rule_name(rule)));
	boot_record_add(record, text_span(&t), value);
}

/* A wish is recorded in any case, if need be without its end: verify() must know that there was one. */
static void add_asked(struct text *record, enum choose_rule rule, struct span asked)
{
	char cut[BOOT_RECORD_ASKED_MAX + 4];
	struct text t = text_in(cut, sizeof(cut));

	if (asked.n > BOOT_RECORD_ASKED_MAX) {
		text_add(&t, span_cut(asked, 0, BOOT_RECORD_ASKED_MAX));
		text_add(&t, SPAN("..."));
		asked = text_span(&t);
	}
	add_rule(record, "asked.", rule, asked);
}

void boot_record_format(const struct entry *entry, const struct choose_input *input,
			const struct choose_result *result, struct text *ret)
{
	char why[600];
	struct text explain = text_in(why, sizeof(why));

	if (entry) {
		boot_record_add(ret, SPAN("entry"), entry->id);
		boot_record_add(ret, SPAN("page-size"), span_of(page_size_word(entry->page_size)));
		boot_record_add(ret, SPAN("kind"), span_of(image_kind_name(entry->kind)));
		boot_record_add(ret, SPAN("reason"), span_of(choose_rule_name(result->rule)));
	}
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		struct span asked = choose_asked(input, r);

		if (!asked.n)
			continue;
		add_asked(ret, r, asked);
		add_rule(ret, "outcome.", r, span_of(choose_outcome_name(result->outcome[r])));
	}
	choose_explain(input, result, &explain);
	boot_record_add(ret, SPAN("explain"), text_span(&explain));
}

bool boot_record_next(struct span record, size_t *pos, struct span *ret_key, struct span *ret_value)
{
	while (*pos < record.n) {
		size_t start = *pos, end = start, equals = SIZE_MAX;

		for (; end < record.n && record.p[end] != '\n'; end++)
			if (record.p[end] == '=' && equals == SIZE_MAX)
				equals = end;
		*pos = end + 1;
		if (equals == SIZE_MAX || equals == start)
			continue;
		*ret_key = span_cut(record, start, equals);
		*ret_value = span_cut(record, equals + 1, end);
		return true;
	}
	return false;
}

bool boot_record_get(struct span record, struct span key, struct span *ret)
{
	struct span k, v;

	for (size_t pos = 0; boot_record_next(record, &pos, &k, &v);) {
		if (span_equal(k, key)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool get_rule(struct span record, const char *prefix, enum choose_rule rule, struct span *ret)
{
	char key[48];
	struct text t = text_in(key, sizeof(key));

	text_add(&t, span_of(prefix));
	text_add(&t, span_of(choose_rule_name(rule)));
	return boot_record_get(record, text_span(&t), ret);
}

bool boot_record_rule(struct span record, enum choose_rule rule, struct span *ret_asked,
		      enum choose_outcome *ret_outcome)
{
	struct span outcome;

	return get_rule(record, "asked.", rule, ret_asked) && get_rule(record, "outcome.", rule, &outcome) &&
	       choose_outcome_parse(outcome, ret_outcome);
}
