/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision against a slow model of it, in every small case.
 *
 * The model knows nothing of patterns, counters or version strings. It lists every way in which an entry
 * could come to be booted, with a rank, and takes the way of the lowest rank.
 *
 * What is pruned, as one case of a group that the rules cannot tell apart is enough:
 * - A setting that names nothing is tried with up to 2 entries: but for its outcome it is as one that is not
 *   set.
 * - Once the model says that the one-shot decides, of the later settings only "none" and "the first entry"
 *   are tried; likewise for default and policy once preferred decides.
 * - A later entry being the newer matters to the policy alone: that pattern is tried only where no one-shot
 *   is set, and where the policy comes to be asked.
 * - The policies 4k and 64k are alike on the CPU sets used (each has both): with 4 entries 64k is left out.
 * - Settings of loader.conf beside those of the variables, and a one-shot that was not cleared, are tried
 *   with up to 2 entries.
 * - Unusable entries are tried with up to 3 entries. */
#include "unit.h"

#include <stdio.h>

#include <granule/choose.h>

#define MAX_ENTRIES 4
#define NONE (-1)          /* a setting that is not set */
#define NAMES_NOTHING (-2) /* one that names no entry */
#define NO_16K ((page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K))

struct shape {
	enum entry_state state;
	enum page_size size;
	bool unusable;
	int age; /* higher is newer */
};

/* One case, in the model's own terms. */
struct situation {
	int n;
	struct shape entry[MAX_ENTRIES];
	page_size_set cpu;
	bool not_cleared;
	int named[RULE_DEFAULT_CONFIG + 1]; /* entry that each setting names */
	enum page_size policy;
};

struct verdict {
	int index; /* -1: nothing can be started */
	int rule;
};

static unsigned long compared;

/* ---- the model ---- */

static bool cpu_runs(const struct situation *s, int i)
{
	switch (s->entry[i].size) {
	case PAGE_SIZE_UNKNOWN:
		return true;
	case PAGE_SIZE_4K:
	case PAGE_SIZE_64K:
		return true; /* every set used here has them, or is unknown */
	default:
		return s->cpu != NO_16K;
	}
}

/* How many places an entry stands behind others of its kind: newer ones, then earlier ones. */
static int places_behind(const struct situation *s, const bool *candidate, int i)
{
	int newer = 0;

	for (int k = 0; k < s->n; k++)
		newer += candidate[k] && s->entry[k].age > s->entry[i].age;
	return newer * MAX_ENTRIES + i;
}

static struct verdict model(const struct situation *s)
{
	struct verdict best = { -1, RULE_LAST_RESORT };
	int best_rank = 1 << 30;
	bool boots[MAX_ENTRIES], of_policy[MAX_ENTRIES];

	for (int i = 0; i < s->n; i++) {
		boots[i] = !s->entry[i].unusable && cpu_runs(s, i) && s->entry[i].state != STATE_BAD;
		of_policy[i] = boots[i] && s->policy && s->entry[i].size == s->policy;
	}
	for (int i = 0; i < s->n; i++) {
		const struct {
			bool possible;
			int rule, tie;
		} ways[] = {
			{ s->named[RULE_ONESHOT] == i && !s->not_cleared && !s->entry[i].unusable &&
				  cpu_runs(s, i),
			  RULE_ONESHOT, 0 },
			{ s->named[RULE_PREFERRED] == i && boots[i], RULE_PREFERRED, 0 },
			{ s->named[RULE_PREFERRED_CONFIG] == i && boots[i], RULE_PREFERRED_CONFIG, 0 },
			{ s->named[RULE_DEFAULT] == i && boots[i], RULE_DEFAULT, 0 },
			{ s->named[RULE_DEFAULT_CONFIG] == i && boots[i], RULE_DEFAULT_CONFIG, 0 },
			{ of_policy[i], RULE_POLICY, places_behind(s, of_policy, i) },
			{ boots[i], RULE_ORDER, i },
			{ !s->entry[i].unusable, RULE_LAST_RESORT, cpu_runs(s, i) ? i : i + MAX_ENTRIES },
		};

		for (size_t w = 0; w < COUNT(ways); w++) {
			int rank = ways[w].rule * 100 + ways[w].tie;

			if (ways[w].possible && rank < best_rank) {
				best_rank = rank;
				best = (struct verdict){ i, ways[w].rule };
			}
		}
	}
	return best;
}

/* ---- the code under test, fed with the same ---- */

static const char *const ids[MAX_ENTRIES] = { "a.conf", "b.conf", "c.conf", "d.conf" };
static const char *const versions[] = { "6.9", "6.10", "6.11~rc1", "6.11", "7.0" };

static struct span setting(int named)
{
	return named == NONE ? SPAN_NONE : named == NAMES_NOTHING ? SPAN("e.conf") : span_of(ids[named]);
}

/* Entries are the same over many settings: they are built once. */
static void build_entries(const struct situation *s, struct entry *entries, const struct entry **order)
{
	for (int i = 0; i < s->n; i++) {
		const struct shape *shape = &s->entry[i];

		entries[i] = (struct entry){
			.id = span_of(ids[i]),
			.page_size = shape->size,
			.unusable = shape->unusable,
			.counter = { .present = shape->state != STATE_GOOD,
				     .left = shape->state == STATE_INDETERMINATE },
		};
		entries[i].bls.version = span_of(versions[shape->age]);
		order[i] = &entries[i];
	}
}

static const char *describe(const struct situation *s)
{
	static char text[500];
	size_t at = 0;

	for (int i = 0; i < s->n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "[%s %s%s age %d] ",
				       entry_state_name(s->entry[i].state), page_size_word(s->entry[i].size),
				       s->entry[i].unusable ? " unusable" : "", s->entry[i].age);
	snprintf(text + at, sizeof(text) - at, "set %u, named %d%s %d %d %d %d, policy %s", s->cpu,
		 s->named[0], s->not_cleared ? " (not cleared)" : "", s->named[1], s->named[2], s->named[3],
		 s->named[4], page_size_word(s->policy));
	return text;
}

/* Whether an outcome is a true statement about the entry that a setting names. */
static bool outcome_is_true(const struct situation *s, int rule, enum choose_outcome o)
{
	int i = rule == RULE_POLICY ? NONE : s->named[rule];

	switch (o) {
	case OUTCOME_NOT_SET:
		return rule == RULE_POLICY ? s->policy == PAGE_SIZE_UNKNOWN : i == NONE;
	case OUTCOME_NO_ENTRY:
		return rule == RULE_POLICY || i == NAMES_NOTHING;
	case OUTCOME_NOT_CLEARED:
		return rule == RULE_ONESHOT && s->not_cleared && i != NONE;
	case OUTCOME_BAD:
		return rule == RULE_POLICY ||
		       (rule != RULE_ONESHOT && i >= 0 && s->entry[i].state == STATE_BAD);
	case OUTCOME_UNSUPPORTED:
		return rule == RULE_POLICY ? s->policy == PAGE_SIZE_16K && s->cpu == NO_16K
					   : i >= 0 && !cpu_runs(s, i);
	case OUTCOME_UNUSABLE:
		return rule == RULE_POLICY || (i >= 0 && s->entry[i].unusable);
	default:
		return false;
	}
}

static struct verdict compare(const struct situation *s, const struct entry *const *order)
{
	struct verdict want = model(s);
	struct choose_input in = {
		.entries = order,
		.n_entries = (size_t)s->n,
		.cpu = s->cpu,
		.oneshot = setting(s->named[RULE_ONESHOT]),
		.oneshot_not_cleared = s->not_cleared,
		.preferred = setting(s->named[RULE_PREFERRED]),
		.preferred_config = setting(s->named[RULE_PREFERRED_CONFIG]),
		.default_variable = setting(s->named[RULE_DEFAULT]),
		.default_config = setting(s->named[RULE_DEFAULT_CONFIG]),
		.policy = s->policy,
	};
	struct choose_result got;

	choose(&in, &got);
	compared++;
	check(got.index == (want.index < 0 ? SIZE_MAX : (size_t)want.index) && (int)got.rule == want.rule,
	      "%s: entry %td by %s instead of %d by %s", describe(s), (ptrdiff_t)got.index,
	      choose_rule_name(got.rule), want.index, choose_rule_name((enum choose_rule)want.rule));
	if (want.index >= 0)
		check(got.outcome[want.rule] == OUTCOME_CHOSEN, "%s: %s", describe(s),
		      choose_outcome_name(got.outcome[want.rule]));
	for (int r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		if (r < want.rule)
			check(outcome_is_true(s, r, got.outcome[r]), "%s: %s is %s", describe(s),
			      choose_rule_name((enum choose_rule)r), choose_outcome_name(got.outcome[r]));
		else if (r > want.rule)
			check(got.outcome[r] == OUTCOME_NOT_ASKED, "%s: %s is %s", describe(s),
			      choose_rule_name((enum choose_rule)r), choose_outcome_name(got.outcome[r]));
	}
	return want;
}

/* ---- enumeration ---- */

static const page_size_set cpus[] = { PAGE_SIZE_SET_ALL, NO_16K, PAGE_SIZE_SET_UNKNOWN };

/* The k-th shape of an entry: 3 states, 4 sizes, and then the same unusable. */
static struct shape nth_shape(unsigned k)
{
	return (struct shape){
		.state = (enum entry_state)(k % 3),
		.size = (enum page_size)(k / 3 % 4),
		.unusable = k / 12,
	};
}

/* Menu order is newest first; or the last entry but one is the newest, and the last as new as the first. */
static void set_ages(struct situation *s, bool later_is_newer)
{
	for (int i = 0; i < s->n; i++)
		s->entry[i].age = MAX_ENTRIES - 1 - i;
	if (later_is_newer && s->n >= 2) {
		s->entry[s->n - 1].age = s->entry[0].age;
		s->entry[s->n >= 3 ? s->n - 2 : 1].age = MAX_ENTRIES;
	}
}

static void for_each_policy(struct situation *s, const struct entry *const *order)
{
	for (s->policy = PAGE_SIZE_UNKNOWN; s->policy <= PAGE_SIZE_64K; s->policy++) {
		if (s->policy == PAGE_SIZE_64K && s->n == 4)
			continue;
		if (compare(s, order).rule < RULE_POLICY && s->policy)
			break; /* one policy that was not asked is enough */
	}
}

/* Tries every value of the settings from `rule` on, as variables only. */
static void for_each_name(struct situation *s, const struct entry *const *order, int rule)
{
	static const int next[] = {
		[RULE_ONESHOT] = RULE_PREFERRED,
		[RULE_PREFERRED] = RULE_DEFAULT,
		[RULE_DEFAULT] = RULE_POLICY,
	};
	struct verdict so_far;

	if (rule == RULE_POLICY) {
		for_each_policy(s, order);
		return;
	}
	for (int r = rule; r < RULE_POLICY; r++)
		s->named[r] = NONE;
	s->policy = PAGE_SIZE_UNKNOWN;
	so_far = model(s);
	for (int name = s->n > 2 ? NONE : NAMES_NOTHING; name < s->n; name++) {
		s->named[rule] = name;
		for_each_name(s, order, next[rule]);
		if (so_far.rule < rule && name == 0)
			break;
	}
	s->named[rule] = NONE;
}

static void small_cases(int n, unsigned n_shapes)
{
	unsigned long total = 1, before = compared;
	struct entry entries[MAX_ENTRIES];
	const struct entry *order[MAX_ENTRIES];
	struct situation s = { .n = n };

	for (int i = 0; i < n; i++)
		total *= n_shapes;
	for (unsigned long k = 0; k < total; k++) {
		unsigned long rest = k;

		for (int i = 0; i < n; i++, rest /= n_shapes)
			s.entry[i] = nth_shape((unsigned)(rest % n_shapes));
		for (size_t c = 0; c < COUNT(cpus); c++) {
			s.cpu = cpus[c];
			set_ages(&s, false);
			build_entries(&s, entries, order);
			for_each_name(&s, order, RULE_ONESHOT);
			if (n < 2)
				continue;
			set_ages(&s, true);
			build_entries(&s, entries, order);
			for (int r = RULE_ONESHOT; r < RULE_POLICY; r++)
				s.named[r] = NONE;
			for_each_policy(&s, order);
			/* A default that is passed over leads to the policy as well. */
			for (s.named[RULE_DEFAULT] = 0; s.named[RULE_DEFAULT] < n; s.named[RULE_DEFAULT]++)
				for_each_policy(&s, order);
		}
	}
	print_message("%d entries of %u shapes: %lu combinations compared\n", n, n_shapes, compared - before);
}

static void up_to_three_entries_of_any_shape(void **state)
{
	(void)state;
	for (int n = 0; n <= 3; n++)
		small_cases(n, 24);
}

static void four_usable_entries(void **state)
{
	(void)state;
	small_cases(4, 12);
}

/* All five settings by name at once, and the flag of the one-shot. */
static void settings_of_both_kinds_with_up_to_two_entries(void **state)
{
	unsigned long before = compared;
	struct entry entries[MAX_ENTRIES];
	const struct entry *order[MAX_ENTRIES];

	(void)state;
	for (int n = 1; n <= 2; n++) {
		for (unsigned k = 0; k < (n == 1 ? 24 : 24 * 24); k++) {
			struct situation s = { .n = n, .entry = { nth_shape(k % 24), nth_shape(k / 24) } };
			int values = n + 2, total = values * values * values * values * values;

			set_ages(&s, false);
			build_entries(&s, entries, order);
			for (int c = 0; c < total; c++) {
				int rest = c;

				for (int r = RULE_ONESHOT; r <= RULE_DEFAULT_CONFIG; r++, rest /= values)
					s.named[r] = rest % values - 2;
				/* Turns that are taken by all of these in the course of the settings. */
				s.cpu = cpus[(unsigned)c % 3];
				s.policy = (enum page_size)((k + (unsigned)c / 3) % 4);
				s.not_cleared = false;
				compare(&s, order);
				s.not_cleared = true;
				compare(&s, order);
			}
		}
	}
	print_message("settings of both kinds: %lu combinations compared\n", compared - before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_three_entries_of_any_shape),
		cmocka_unit_test(four_usable_entries),
		cmocka_unit_test(settings_of_both_kinds_with_up_to_two_entries),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	print_message("%lu combinations compared in all\n", compared);
	return failed;
}
