/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and sentences about the decision; the decision itself is in choose.c. */
#include <granule/choose.h>

static const char *const rule_names[N_RULES] = {
	[RULE_ONESHOT] = "oneshot",
	[RULE_PREFERRED] = "preferred",
	[RULE_PREFERRED_CONFIG] = "preferred-config",
	[RULE_DEFAULT] = "default",
	[RULE_DEFAULT_CONFIG] = "default-config",
	[RULE_POLICY] = "policy",
	[RULE_ORDER] = "order",
	[RULE_LAST_RESORT] = "last-resort",
	[RULE_MENU] = "menu",
};

static const char *const rule_titles[N_RULES] = {
	[RULE_ONESHOT] = "one-shot",
	[RULE_PREFERRED] = "preferred entry",
	[RULE_PREFERRED_CONFIG] = "preferred entry of loader.conf",
	[RULE_DEFAULT] = "default entry",
	[RULE_DEFAULT_CONFIG] = "default entry of loader.conf",
	[RULE_POLICY] = "policy",
	[RULE_ORDER] = "first entry in menu order",
	[RULE_LAST_RESORT] = "last resort, nothing better is left",
	[RULE_MENU] = "picked in the menu",
};

static const char *const outcome_names[] = {
	[OUTCOME_NOT_SET] = "not-set",         [OUTCOME_CHOSEN] = "chosen",
	[OUTCOME_NO_ENTRY] = "no-entry",       [OUTCOME_BAD] = "bad",
	[OUTCOME_UNSUPPORTED] = "unsupported", [OUTCOME_UNUSABLE] = "unusable",
	[OUTCOME_NOT_CLEARED] = "not-cleared", [OUTCOME_NOT_ASKED] = "not-asked",
};

const char *choose_rule_name(enum choose_rule rule)
{
	return rule_names[rule];
}

bool choose_rule_parse(struct span word, enum choose_rule *ret)
{
	for (enum choose_rule r = RULE_ONESHOT; r < N_RULES; r++) {
		if (span_equal(word, span_of(rule_names[r]))) {
			*ret = r;
			return true;
		}
	}
	return false;
}

const char *choose_outcome_name(enum choose_outcome outcome)
{
	return outcome_names[outcome];
}

bool choose_outcome_parse(struct span word, enum choose_outcome *ret)
{
	for (enum choose_outcome o = OUTCOME_NOT_SET; o <= OUTCOME_NOT_ASKED; o++) {
		if (span_equal(word, span_of(outcome_names[o]))) {
			*ret = o;
			return true;
		}
	}
	return false;
}

static void add(struct text *t, const char *s)
{
	text_add(t, span_of(s));
}

const char *choose_rule_title(enum choose_rule rule)
{
	return rule_titles[rule];
}

void choose_outcome_explain(enum choose_rule rule, enum choose_outcome o, enum page_size policy,
			    struct text *ret)
{
	switch (o) {
	case OUTCOME_NO_ENTRY:
		add(ret, rule == RULE_POLICY ? "no entry of that page size" : "no such entry");
		return;
	case OUTCOME_BAD:
		add(ret, "it is bad, no tries are left");
		return;
	case OUTCOME_UNSUPPORTED:
		if (rule == RULE_POLICY) {
			add(ret, "this CPU lacks ");
			add(ret, page_size_title(policy));
			add(ret, " pages");
		} else {
			add(ret, "this CPU lacks its page size");
		}
		return;
	case OUTCOME_UNUSABLE:
		add(ret, "it cannot be started");
		return;
	case OUTCOME_NOT_CLEARED:
		add(ret, "not honoured, it could not be cleared");
		return;
	default:
		add(ret, choose_outcome_name(o));
	}
}

static void add_title(const struct choose_input *in, enum choose_rule rule, struct text *ret)
{
	add(ret, rule_titles[rule]);
	if (in->from_env & 1u << rule)
		add(ret, " (environment block)");
}

static bool is_passed_over(enum choose_outcome o)
{
	return o != OUTCOME_NOT_SET && o != OUTCOME_CHOSEN && o != OUTCOME_NOT_ASKED;
}

/* First entry without tries left; NULL. *ret_n counts them. */
static const struct entry *find_exhausted(const struct choose_input *in, size_t *ret_n)
{
	const struct entry *first = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < in->n_entries; i++) {
		if (boot_counter_state(&in->entries[i]->counter) != STATE_BAD)
			continue;
		first = first ? first : in->entries[i];
		++*ret_n;
	}
	return first;
}

bool choose_passed_over(const struct choose_input *in, const struct choose_result *result)
{
	size_t n;

	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++)
		if (is_passed_over(result->outcome[r]))
			return true;
	return result->rule == RULE_LAST_RESORT || (in->picked.n && result->rule != RULE_MENU) ||
	       (result->rule == RULE_ORDER && find_exhausted(in, &n));
}

/* A machine that fell back should say from what. */
static void add_exhausted(const struct choose_input *in, struct text *ret)
{
	size_t n;
	const struct entry *first = find_exhausted(in, &n);

	if (!first)
		return;
	add(ret, "; no tries left: ");
	text_add(ret, first->id);
	if (n > 1) {
		add(ret, " and ");
		text_add_number(ret, n - 1, 1);
		add(ret, " more");
	}
}

/* What was chosen, and by which rule. */
static void add_chosen(const struct choose_input *in, const struct choose_result *result, struct text *ret)
{
	if (result->index == SIZE_MAX) {
		add(ret, "no entry can be started");
		return;
	}
	if (result->rule == RULE_ORDER && entry_matches(in->entries[result->index], in->first)) {
		add(ret, in->first_title);
		return;
	}
	add_title(in, result->rule, ret);
	if (result->rule == RULE_POLICY) {
		add(ret, " ");
		add(ret, page_size_word(in->policy));
		add(ret, in->policy_entry.n ? ": the entry that stands for it"
					    : ": newest entry of that page size");
	} else if (in->first.n && result->rule > RULE_POLICY) {
		add(ret, "; ");
		add(ret, in->first_title);
		add(ret, ": it cannot be started");
	}
}

void choose_explain(const struct choose_input *in, const struct choose_result *result, struct text *ret)
{
	add_chosen(in, result, ret);
	bool bad_told = false;
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		enum choose_outcome o = result->outcome[r];

		bad_told = bad_told || o == OUTCOME_BAD;
		if (!is_passed_over(o))
			continue;
		add(ret, "; ");
		add_title(in, r, ret);
		add(ret, " ");
		text_add(ret, choose_asked(in, r));
		add(ret, ": ");
		choose_outcome_explain(r, o, in->policy, ret);
	}
	if (in->picked.n && result->rule != RULE_MENU) {
		add(ret, "; ");
		add(ret, rule_titles[RULE_MENU]);
		add(ret, " ");
		text_add(ret, in->picked);
		add(ret, ": it cannot be started");
	}
	if (result->rule == RULE_ORDER && !bad_told)
		add_exhausted(in, ret);
}
