/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/choose.h>
#include <granule/version_order.h>

#define PATTERN_SAVED "@saved"

/* What keeps an entry from being chosen, OUTCOME_CHOSEN if nothing does. */
static enum choose_outcome obstacle(const struct choose_input *in, const struct entry *e, bool bad_allowed)
{
	if (e->unusable)
		return OUTCOME_UNUSABLE;
	if (!entry_supported(e, in->cpu))
		return OUTCOME_UNSUPPORTED;
	/* A trial entry is bad by its counter, which systemd-bless-boot may have taken away. */
	if (!bad_allowed && (boot_counter_state(&e->counter) == STATE_BAD || e->bls.trial))
		return OUTCOME_BAD;
	return OUTCOME_CHOSEN;
}

/* First entry in menu order that a pattern names and nothing keeps from booting; else the obstacle of the
 * first. */
static enum choose_outcome by_pattern(const struct choose_input *in, struct span pattern, bool bad_allowed,
				      size_t *ret_index)
{
	enum choose_outcome first = OUTCOME_NO_ENTRY;

	if (!pattern.n)
		return OUTCOME_NOT_SET;
	if (span_equal(pattern, SPAN(PATTERN_SAVED)))
		pattern = in->last_booted;
	for (size_t i = 0; i < in->n_entries; i++) {
		if (!entry_matches(in->entries[i], pattern))
			continue;
		/* As a default it would keep the machine down for ever. */
		if (!bad_allowed && !entry_starts_system(in->entries[i]))
			continue;
		enum choose_outcome o = obstacle(in, in->entries[i], bad_allowed);
		if (o == OUTCOME_CHOSEN) {
			*ret_index = i;
			return o;
		}
		if (first == OUTCOME_NO_ENTRY)
			first = o;
	}
	return first;
}

/* What tells how old an entry is: the version of a unified image may be that of its distribution. */
static struct span age_of(const struct entry *e)
{
	return e->release.n ? e->release : e->bls.version;
}

static bool is_same_image(const struct entry *a, const struct entry *b)
{
	return a->type == ENTRY_TYPE2 && b->type == ENTRY_TYPE2 && a->volume == b->volume &&
	       span_equal(a->bls.path, b->bls.path);
}

/* An entry without a version is older than any with one; of equal profiles of one image the first is meant.
 */
static int compare_age(const struct entry *a, const struct entry *b)
{
	struct span x = age_of(a), y = age_of(b);
	int age = x.n && y.n ? version_compare(x, y) : (x.n > 0) - (y.n > 0);

	if (age == 0 && is_same_image(a, b))
		age = (a->bls.profile < b->bls.profile) - (a->bls.profile > b->bls.profile);
	return age;
}

size_t choose_newest(const struct choose_input *in, enum page_size size, size_t *ret_equals,
		     enum choose_outcome *ret_why)
{
	size_t best = SIZE_MAX, equals = 0;
	enum choose_outcome why = OUTCOME_NO_ENTRY;

	if (in->cpu != PAGE_SIZE_SET_UNKNOWN && !page_size_in(size, in->cpu))
		why = OUTCOME_UNSUPPORTED;
	for (size_t i = 0; i < in->n_entries; i++) {
		const struct entry *e = in->entries[i];

		if (e->page_size != size || e->twin)
			continue;
		enum choose_outcome o = obstacle(in, e, false);
		if (o != OUTCOME_CHOSEN) {
			if (why == OUTCOME_NO_ENTRY)
				why = o;
			continue;
		}
		int age = best == SIZE_MAX ? 1 : compare_age(e, in->entries[best]);
		if (age > 0) {
			best = i;
			equals = 0;
		}
		equals += age >= 0;
	}
	if (ret_equals)
		*ret_equals = equals;
	*ret_why = best == SIZE_MAX ? why : OUTCOME_CHOSEN;
	return best;
}

static size_t first_without_obstacle(const struct choose_input *in, bool bad_allowed, bool trials_allowed)
{
	for (size_t i = 0; i < in->n_entries; i++)
		if (in->entries[i]->type != ENTRY_AUTO && (trials_allowed || !in->entries[i]->bls.trial) &&
		    obstacle(in, in->entries[i], bad_allowed) == OUTCOME_CHOSEN)
			return i;
	return SIZE_MAX;
}

static size_t first_usable(const struct choose_input *in)
{
	for (size_t i = 0; i < in->n_entries; i++)
		if (in->entries[i]->type != ENTRY_AUTO && !in->entries[i]->unusable)
			return i;
	return SIZE_MAX;
}

static enum choose_outcome ask(const struct choose_input *in, enum choose_rule rule, size_t *ret_index)
{
	enum choose_outcome o;

	switch (rule) {
	case RULE_ONESHOT:
		if (in->oneshot.n && in->oneshot_not_cleared)
			return OUTCOME_NOT_CLEARED;
		return by_pattern(in, in->oneshot, true, ret_index);
	case RULE_PREFERRED:
	case RULE_PREFERRED_CONFIG:
	case RULE_DEFAULT:
	case RULE_DEFAULT_CONFIG:
		return by_pattern(in, choose_asked(in, rule), false, ret_index);
	case RULE_POLICY:
		if (in->policy == PAGE_SIZE_UNKNOWN)
			return OUTCOME_NOT_SET;
		if (in->policy_entry.n)
			return by_pattern(in, in->policy_entry, false, ret_index);
		*ret_index = choose_newest(in, in->policy, NULL, &o);
		return o;
	case RULE_ORDER:
		if (by_pattern(in, in->first, false, ret_index) == OUTCOME_CHOSEN)
			break;
		*ret_index = first_without_obstacle(in, false, false);
		break;
	case RULE_LAST_RESORT:
		/* What has used up its tries did boot once, perhaps; a trial is not known to. */
		*ret_index = first_without_obstacle(in, true, false);
		if (*ret_index == SIZE_MAX)
			*ret_index = first_without_obstacle(in, true, true);
		if (*ret_index == SIZE_MAX)
			*ret_index = first_usable(in);
		break;
	case RULE_MENU:
	case N_RULES:
		return OUTCOME_NOT_SET;
	}
	return *ret_index == SIZE_MAX ? OUTCOME_NO_ENTRY : OUTCOME_CHOSEN;
}

void choose(const struct choose_input *input, struct choose_result *ret)
{
	bool chosen = false;

	*ret = (struct choose_result){ .index = SIZE_MAX, .rule = RULE_LAST_RESORT };
	for (enum choose_rule rule = RULE_ONESHOT; rule < N_RULES; rule++) {
		size_t index = SIZE_MAX;

		ret->outcome[rule] = chosen ? OUTCOME_NOT_ASKED : ask(input, rule, &index);
		if (ret->outcome[rule] == OUTCOME_CHOSEN) {
			chosen = true;
			ret->index = index;
			ret->rule = rule;
		}
	}
}

struct span choose_asked(const struct choose_input *in, enum choose_rule rule)
{
	switch (rule) {
	case RULE_ONESHOT:
		return in->oneshot;
	case RULE_PREFERRED:
		return in->preferred;
	case RULE_PREFERRED_CONFIG:
		return in->preferred_config;
	case RULE_DEFAULT:
		return in->default_variable;
	case RULE_DEFAULT_CONFIG:
		return in->default_config;
	case RULE_POLICY:
		return in->policy == PAGE_SIZE_UNKNOWN ? SPAN_NONE : span_of(page_size_word(in->policy));
	default:
		return SPAN_NONE;
	}
}

bool choose_wants_saved(const struct choose_input *in)
{
	for (enum choose_rule rule = RULE_PREFERRED; rule <= RULE_DEFAULT_CONFIG; rule++)
		if (span_equal(choose_asked(in, rule), SPAN(PATTERN_SAVED)))
			return true;
	return false;
}
