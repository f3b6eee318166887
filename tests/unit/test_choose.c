/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision: named behaviours here, every small case against a model in test_choose_model.c. */
#include "unit.h"

#include <granule/choose.h>

#define NO_16K ((page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K))

#define MAX_ENTRIES 8

/* A machine with some entries and settings. */
struct machine {
	struct entry entries[MAX_ENTRIES];
	const struct entry *order[MAX_ENTRIES];
	char ids[MAX_ENTRIES][64];
	struct choose_input in;
	struct choose_result out;
};

static struct entry *add(struct machine *m, const char *file_name, const char *version, enum page_size size)
{
	size_t i = m->in.n_entries++;
	struct entry *e = &m->entries[i];
	struct text id = text_in(m->ids[i], sizeof(m->ids[i]));

	assert_true(i < MAX_ENTRIES);
	*e = (struct entry){
		.file_name = span_of(file_name), .page_size = size, .kind = IMAGE_FIXED, .position = i
	};
	assert_true(boot_counter_parse(e->file_name, &e->counter));
	boot_counter_id(&e->counter, &id);
	e->id = text_span(&id);
	e->bls.version = span_of(version);
	m->order[i] = e;
	m->in.entries = m->order;
	return e;
}

/* Three good entries, in menu order: 4K of 6.14, 64K of 6.13, 16K of 6.12. */
static void three(struct machine *m)
{
	*m = (struct machine){ .in = { .cpu = PAGE_SIZE_SET_ALL } };
	add(m, "linux-4k.conf", "6.14", PAGE_SIZE_4K);
	add(m, "linux-64k.conf", "6.13", PAGE_SIZE_64K);
	add(m, "linux-16k.conf", "6.12", PAGE_SIZE_16K);
}

static void make_bad(struct machine *m, size_t i)
{
	m->entries[i].counter = (struct boot_counter){
		.present = true,
		.left = 0,
		.done = 3,
		.name = m->entries[i].counter.name,
		.suffix = m->entries[i].counter.suffix,
	};
}

static void expect(struct machine *m, size_t index, enum choose_rule rule)
{
	choose(&m->in, &m->out);
	check(m->out.index == index, "entry %td instead of %td", (ptrdiff_t)m->out.index, (ptrdiff_t)index);
	check(m->out.rule == rule, "rule %s instead of %s", choose_rule_name(m->out.rule),
	      choose_rule_name(rule));
	if (index != SIZE_MAX)
		assert_int_equal(m->out.outcome[rule], OUTCOME_CHOSEN);
	for (enum choose_rule r = RULE_ONESHOT; r < N_RULES && index != SIZE_MAX; r++)
		check((r > rule) == (m->out.outcome[r] == OUTCOME_NOT_ASKED), "rule %s", choose_rule_name(r));
}

static void nothing_asked_boots_the_first_entry(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	expect(&m, 0, RULE_ORDER);
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++)
		assert_int_equal(m.out.outcome[r], OUTCOME_NOT_SET);
}

static void rules_are_asked_in_their_order(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.policy = PAGE_SIZE_16K;
	expect(&m, 2, RULE_POLICY);
	m.in.default_config = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_DEFAULT_CONFIG);
	m.in.default_variable = SPAN("linux-4k.conf");
	expect(&m, 0, RULE_DEFAULT);
	m.in.preferred_config = SPAN("linux-16k.conf");
	expect(&m, 2, RULE_PREFERRED_CONFIG);
	m.in.preferred = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_PREFERRED);
	m.in.oneshot = SPAN("linux-4k.conf");
	expect(&m, 0, RULE_ONESHOT);
}

static void a_oneshot_that_was_not_cleared_is_ignored(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.oneshot = SPAN("linux-64k.conf");
	m.in.oneshot_not_cleared = true;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_NOT_CLEARED);
	/* Without a one-shot the flag says nothing. */
	m.in.oneshot = SPAN_NONE;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_NOT_SET);
}

static void a_oneshot_may_name_a_bad_entry(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	make_bad(&m, 1);
	m.in.oneshot = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_ONESHOT);
}

static void a_oneshot_may_not_name_what_the_cpu_lacks_or_what_cannot_start(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.cpu = NO_16K;
	m.in.oneshot = SPAN("linux-16k.conf");
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_UNSUPPORTED);
	m.in.cpu = PAGE_SIZE_SET_UNKNOWN;
	expect(&m, 2, RULE_ONESHOT);
	m.entries[2].unusable = true;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_UNUSABLE);
}

static void a_name_that_no_entry_has_falls_through(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.oneshot = m.in.preferred = m.in.preferred_config = SPAN("gone.conf");
	m.in.default_variable = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_DEFAULT);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_NO_ENTRY);
	assert_int_equal(m.out.outcome[RULE_PREFERRED], OUTCOME_NO_ENTRY);
	assert_int_equal(m.out.outcome[RULE_PREFERRED_CONFIG], OUTCOME_NO_ENTRY);
}

static void preferred_and_default_pass_over_a_bad_entry(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	make_bad(&m, 1);
	m.in.preferred = m.in.preferred_config = m.in.default_variable = m.in.default_config =
		SPAN("linux-64k.conf");
	expect(&m, 0, RULE_ORDER);
	for (enum choose_rule r = RULE_PREFERRED; r <= RULE_DEFAULT_CONFIG; r++)
		assert_int_equal(m.out.outcome[r], OUTCOME_BAD);
}

static void an_entry_with_tries_left_is_as_eligible_as_a_good_one(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	make_bad(&m, 1);
	m.entries[1].counter.left = 1;
	m.in.preferred = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_PREFERRED);
	m.in.preferred = SPAN_NONE;
	m.in.policy = PAGE_SIZE_64K;
	expect(&m, 1, RULE_POLICY);
}

static void a_pattern_takes_its_first_match_that_can_boot(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.default_variable = SPAN("LINUX-*");
	expect(&m, 0, RULE_DEFAULT);
	make_bad(&m, 0);
	m.in.default_variable = SPAN("linux-?*k");
	expect(&m, 1, RULE_DEFAULT);
	m.in.cpu = (page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_16K);
	expect(&m, 2, RULE_DEFAULT);
	/* All passed over: the first one's reason is told. */
	m.entries[2].unusable = true;
	expect(&m, 0, RULE_LAST_RESORT);
	assert_int_equal(m.out.outcome[RULE_DEFAULT], OUTCOME_BAD);
}

static void the_policy_takes_the_newest_entry_of_its_size(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL, .policy = PAGE_SIZE_64K } };

	(void)state;
	add(&m, "a.conf", "6.20", PAGE_SIZE_4K);
	add(&m, "b.conf", "6.9", PAGE_SIZE_64K);
	add(&m, "c.conf", "6.13", PAGE_SIZE_64K);
	add(&m, "d.conf", "6.13", PAGE_SIZE_64K);
	add(&m, "e.conf", "6.30", PAGE_SIZE_UNKNOWN);
	expect(&m, 2, RULE_POLICY);
	make_bad(&m, 2);
	expect(&m, 3, RULE_POLICY);
	m.entries[3].unusable = true;
	expect(&m, 1, RULE_POLICY);
	make_bad(&m, 1);
	expect(&m, 0, RULE_ORDER);
	assert_int_not_equal(m.out.outcome[RULE_POLICY], OUTCOME_NO_ENTRY);
}

/* Also when its counter, which makes it bad, is gone. */
static void a_trial_entry_boots_only_by_a_oneshot(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL, .policy = PAGE_SIZE_64K } };

	(void)state;
	add(&m, "a-trial.conf", "6.13", PAGE_SIZE_64K)->bls.trial = true;
	add(&m, "a.conf", "6.13", PAGE_SIZE_64K);
	expect(&m, 1, RULE_POLICY);
	m.in.policy = PAGE_SIZE_UNKNOWN;
	expect(&m, 1, RULE_ORDER);
	m.in.default_variable = SPAN("a-*.conf");
	expect(&m, 1, RULE_ORDER);
	m.in.oneshot = SPAN("a-trial.conf");
	expect(&m, 0, RULE_ONESHOT);
	m.in.oneshot = SPAN_NONE;
	make_bad(&m, 1);
	expect(&m, 1, RULE_LAST_RESORT);
	m.entries[1].unusable = true;
	expect(&m, 0, RULE_LAST_RESORT);
}

static void an_entry_without_version_is_older_than_any(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL, .policy = PAGE_SIZE_64K } };
	enum choose_outcome why;
	size_t equals;

	(void)state;
	add(&m, "a.conf", "", PAGE_SIZE_64K);
	add(&m, "b.conf", "", PAGE_SIZE_64K);
	expect(&m, 0, RULE_POLICY);
	/* Even than one that sorts below the empty string. */
	add(&m, "c.conf", "~", PAGE_SIZE_64K);
	expect(&m, 2, RULE_POLICY);
	add(&m, "d.conf", "", PAGE_SIZE_64K);
	expect(&m, 2, RULE_POLICY);
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 2);
	assert_int_equal(equals, 1);
}

static void a_policy_that_cannot_be_met_tells_why(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.cpu = NO_16K;
	m.in.policy = PAGE_SIZE_16K;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_UNSUPPORTED);

	m.in.n_entries = 2;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_UNSUPPORTED);
	m.in.cpu = PAGE_SIZE_SET_ALL;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_NO_ENTRY);

	m.in.policy = PAGE_SIZE_64K;
	m.entries[1].unusable = true;
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_UNUSABLE);
	m.entries[1].unusable = false;
	make_bad(&m, 1);
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_BAD);
}

static void the_newest_entry_is_counted_with_its_equals(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL } };
	enum choose_outcome why;
	size_t equals = 99;

	(void)state;
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_4K, &equals, &why), SIZE_MAX);
	assert_int_equal(equals, 0);
	assert_int_equal(why, OUTCOME_NO_ENTRY);
	add(&m, "a.conf", "1", PAGE_SIZE_4K);
	add(&m, "b.conf", "1", PAGE_SIZE_4K);
	add(&m, "c.conf", "3", PAGE_SIZE_4K);
	add(&m, "d.conf", "2", PAGE_SIZE_4K);
	add(&m, "e.conf", "3", PAGE_SIZE_4K);
	add(&m, "f.conf", "3", PAGE_SIZE_64K);
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_4K, &equals, &why), 2);
	assert_int_equal(equals, 2);
	assert_int_equal(why, OUTCOME_CHOSEN);
	make_bad(&m, 2);
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_4K, NULL, &why), 4);
	make_bad(&m, 4);
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_4K, &equals, &why), 3);
	assert_int_equal(equals, 1);
	assert_int_equal(why, OUTCOME_CHOSEN);
}

static void an_entry_of_unknown_size_can_always_boot(void **state)
{
	struct machine m = { .in = { .cpu = NO_16K } };

	(void)state;
	add(&m, "a.conf", "1", PAGE_SIZE_16K);
	add(&m, "b.conf", "1", PAGE_SIZE_UNKNOWN);
	expect(&m, 1, RULE_ORDER);
}

static void the_last_resort_is_a_bad_entry_then_an_unsupported_one(void **state)
{
	struct machine m = { .in = { .cpu = NO_16K } };

	(void)state;
	add(&m, "a.conf", "1", PAGE_SIZE_16K);
	add(&m, "b.conf", "1", PAGE_SIZE_4K);
	add(&m, "c.conf", "1", PAGE_SIZE_64K);
	make_bad(&m, 1);
	make_bad(&m, 2);
	expect(&m, 1, RULE_LAST_RESORT);
	assert_int_equal(m.out.outcome[RULE_ORDER], OUTCOME_NO_ENTRY);
	m.entries[1].unusable = true;
	expect(&m, 2, RULE_LAST_RESORT);
	m.entries[2].unusable = true;
	expect(&m, 0, RULE_LAST_RESORT);
	m.entries[0].unusable = true;
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	assert_int_equal(m.out.outcome[RULE_LAST_RESORT], OUTCOME_NO_ENTRY);
}

static void no_entries_boot_nothing(void **state)
{
	struct machine m = { .in = { .oneshot = { "a", 1 }, .policy = PAGE_SIZE_4K } };

	(void)state;
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	assert_int_equal(m.out.outcome[RULE_ONESHOT], OUTCOME_NO_ENTRY);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_NO_ENTRY);
	assert_int_equal(m.out.outcome[RULE_MENU], OUTCOME_NOT_SET);
}

static void a_setting_may_name_an_entry_by_its_old_counter(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL } };

	(void)state;
	add(&m, "a.conf", "1", PAGE_SIZE_4K);
	add(&m, "Token-6.12+2-1.conf", "1", PAGE_SIZE_4K);
	m.in.oneshot = SPAN("token-6.12+3.conf");
	expect(&m, 1, RULE_ONESHOT);
}

/* ---- words and sentences ---- */

static void words_of_rules_and_outcomes(void **state)
{
	static const char *const rules[N_RULES] = {
		"oneshot", "preferred", "preferred-config", "default", "default-config",
		"policy",  "order",     "last-resort",      "menu",
	};
	static const char *const outcomes[] = {
		"not-set", "chosen", "no-entry", "bad", "unsupported", "unusable", "not-cleared", "not-asked",
	};
	enum choose_rule rule;
	enum choose_outcome outcome;

	(void)state;
	for (enum choose_rule r = RULE_ONESHOT; r < N_RULES; r++) {
		assert_string_equal(choose_rule_name(r), rules[r]);
		assert_true(choose_rule_parse(span_of(rules[r]), &rule));
		assert_int_equal(rule, r);
	}
	for (size_t o = 0; o < COUNT(outcomes); o++) {
		assert_string_equal(choose_outcome_name((enum choose_outcome)o), outcomes[o]);
		assert_true(choose_outcome_parse(span_of(outcomes[o]), &outcome));
		assert_int_equal(outcome, o);
	}
	assert_false(choose_rule_parse(SPAN("defaul"), &rule));
	assert_false(choose_rule_parse(SPAN(""), &rule));
	assert_false(choose_outcome_parse(SPAN("Bad"), &outcome));
}

static void what_a_rule_was_asked_for(void **state)
{
	struct choose_input in = {
		.oneshot = SPAN("o"),
		.preferred = SPAN("p"),
		.preferred_config = SPAN("q"),
		.default_variable = SPAN("d"),
		.default_config = SPAN("e"),
		.policy = PAGE_SIZE_16K,
	};
	static const char *const want[N_RULES] = { "o", "p", "q", "d", "e", "16k", "", "", "" };

	(void)state;
	for (enum choose_rule r = RULE_ONESHOT; r < N_RULES; r++)
		assert_span_equal(choose_asked(&in, r), want[r]);
	in.policy = PAGE_SIZE_UNKNOWN;
	assert_int_equal(choose_asked(&in, RULE_POLICY).n, 0);
}

static void expect_sentence(struct machine *m, const char *want)
{
	char buffer[400];
	struct text t = text_in(buffer, sizeof(buffer));

	choose(&m->in, &m->out);
	choose_explain(&m->in, &m->out, &t);
	assert_string_equal(buffer, want);
}

static void the_explanation_tells_what_was_passed_over(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	expect_sentence(&m, "first entry in menu order");
	m.in.policy = PAGE_SIZE_16K;
	expect_sentence(&m, "policy 16k: newest entry of that page size");
	m.in.cpu = NO_16K;
	/* The example of choose.h. */
	expect_sentence(&m, "first entry in menu order; policy 16k: this CPU lacks 16K pages");
	m.in.oneshot = SPAN("linux-16k.conf");
	m.in.oneshot_not_cleared = true;
	m.in.preferred = SPAN("gone");
	make_bad(&m, 1);
	m.in.default_variable = SPAN("linux-64k");
	expect_sentence(
		&m,
		"first entry in menu order; one-shot linux-16k.conf: not honoured, it could not be"
		" cleared; preferred entry gone: no such entry; default entry linux-64k: it is bad, no tries"
		" are left; policy 16k: this CPU lacks 16K pages");
	three(&m);
	m.in.cpu = NO_16K;
	m.in.oneshot = SPAN("linux-16k");
	m.in.preferred_config = SPAN("linux-4k");
	m.entries[0].unusable = true;
	m.in.default_config = SPAN("linux-64k");
	expect_sentence(
		&m,
		"default entry of loader.conf; one-shot linux-16k: this CPU lacks its page size; preferred"
		" entry of loader.conf linux-4k: it cannot be started");
	m.in.n_entries = 0;
	m.in.policy = PAGE_SIZE_4K;
	m.in.oneshot = m.in.preferred_config = m.in.default_config = SPAN_NONE;
	expect_sentence(&m, "no entry can be started; policy 4k: no entry of that page size");
}

static void a_choice_made_in_the_menu_can_be_explained(void **state)
{
	char buffer[100];
	struct text t = text_in(buffer, sizeof(buffer));
	struct machine m;

	(void)state;
	three(&m);
	choose(&m.in, &m.out);
	m.out.rule = RULE_MENU;
	choose_explain(&m.in, &m.out, &t);
	assert_string_equal(buffer, "picked in the menu");
}

static void what_the_loader_made_itself_boots_only_when_named(void **state)
{
	struct machine m;

	(void)state;
	m = (struct machine){ .in = { .cpu = PAGE_SIZE_SET_ALL } };
	add(&m, "auto-reboot.conf", "", PAGE_SIZE_UNKNOWN)->type = ENTRY_AUTO;
	m.entries[0].id = SPAN("auto-reboot");
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	add(&m, "linux.conf", "1", PAGE_SIZE_4K);
	expect(&m, 1, RULE_ORDER);
	make_bad(&m, 1);
	expect(&m, 1, RULE_LAST_RESORT);
	m.entries[1].unusable = true;
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	m.in.oneshot = SPAN("auto-reboot");
	expect(&m, 0, RULE_ONESHOT);
	m.in.oneshot = SPAN_NONE;
	/* As a default it would keep the machine down for ever; a pattern names none of its kind. */
	m.in.default_config = SPAN("auto-reboot");
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	assert_int_equal(m.out.outcome[RULE_DEFAULT_CONFIG], OUTCOME_NO_ENTRY);
	m.entries[0].id = SPAN("auto-efi-shell");
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	m.in.default_config = SPAN("Auto-EFI-shell");
	expect(&m, 0, RULE_DEFAULT_CONFIG);
	m.in.default_config = SPAN("auto-*");
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
	m.in.default_config = SPAN("auto-efi-s[h]ell");
	expect(&m, SIZE_MAX, RULE_LAST_RESORT);
}

static void saved_means_the_entry_that_was_booted_last(void **state)
{
	struct machine m;

	(void)state;
	three(&m);
	m.in.default_config = SPAN("@saved");
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_DEFAULT_CONFIG], OUTCOME_NO_ENTRY);
	m.in.last_booted = SPAN("linux-16k.conf");
	expect(&m, 2, RULE_DEFAULT_CONFIG);
	assert_span_equal(choose_asked(&m.in, RULE_DEFAULT_CONFIG), "@saved");
	make_bad(&m, 2);
	expect(&m, 0, RULE_ORDER);
}

static void a_policy_compares_kernel_releases_where_they_are_known(void **state)
{
	struct machine m;

	(void)state;
	m = (struct machine){ .in = { .cpu = PAGE_SIZE_SET_ALL, .policy = PAGE_SIZE_64K } };
	add(&m, "a.efi", "13", PAGE_SIZE_64K)->release = SPAN("6.12.1");
	add(&m, "b.efi", "13", PAGE_SIZE_64K)->release = SPAN("6.12.9");
	add(&m, "c.efi", "14", PAGE_SIZE_64K)->release = SPAN("6.12.3");
	expect(&m, 1, RULE_POLICY);
}

static void a_release_is_compared_with_the_version_of_a_file(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL } };
	enum choose_outcome why;

	(void)state;
	add(&m, "a.efi", "13", PAGE_SIZE_64K)->release = SPAN("6.12.1");
	add(&m, "b.conf", "6.12.9", PAGE_SIZE_64K);
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, NULL, &why), 1);
}

static void of_the_profiles_of_one_image_the_first_is_meant(void **state)
{
	struct machine m = { .in = { .cpu = PAGE_SIZE_SET_ALL } };
	enum choose_outcome why;
	size_t equals;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct entry *e = add(&m, "a.efi", "13", PAGE_SIZE_64K);

		e->type = ENTRY_TYPE2;
		e->bls.path = SPAN("/EFI/Linux/a.efi");
		e->bls.profile = 2 - i;
	}
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 2);
	assert_int_equal(equals, 1);
	/* Unless another has a newer kernel; and other images, or partitions, are others. */
	m.entries[0].release = SPAN("14");
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 0);
	assert_int_equal(equals, 1);
	m.entries[0].release = SPAN_NONE;
	m.entries[0].bls.path = SPAN("/EFI/Linux/b.efi");
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 0);
	assert_true(equals > 1);
	m.entries[0].bls.path = SPAN("/EFI/Linux/a.efi");
	m.entries[0].volume = VOLUME_XBOOTLDR;
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 0);
	assert_true(equals > 1);
}

static void a_fallback_tells_what_it_fell_back_from(void **state)
{
	struct machine m;
	char buffer[200];

	(void)state;
	three(&m);
	make_bad(&m, 0);
	choose(&m.in, &m.out);
	struct text t = text_in(buffer, sizeof(buffer));
	choose_explain(&m.in, &m.out, &t);
	assert_string_equal(buffer, "first entry in menu order; no tries left: linux-4k.conf");
	assert_true(choose_passed_over(&m.in, &m.out));

	make_bad(&m, 1);
	m.in.picked = SPAN("linux-x.conf");
	choose(&m.in, &m.out);
	t = text_in(buffer, sizeof(buffer));
	choose_explain(&m.in, &m.out, &t);
	assert_string_equal(
		buffer, "first entry in menu order; picked in the menu linux-x.conf: it cannot be started; "
			"no tries left: linux-4k.conf and 1 more");

	assert_true(choose_passed_over(&m.in, &m.out));

	/* What was wished for and is there needs no such words. */
	m.in.default_variable = SPAN("linux-16k");
	m.in.picked = SPAN_NONE;
	choose(&m.in, &m.out);
	assert_false(choose_passed_over(&m.in, &m.out));
	t = text_in(buffer, sizeof(buffer));
	choose_explain(&m.in, &m.out, &t);
	assert_string_equal(buffer, "default entry");
}

static void a_twin_is_never_found_by_page_size(void **state)
{
	struct machine m;
	enum choose_outcome why;
	size_t equals;

	(void)state;
	three(&m);
	add(&m, "rescue.conf", "6.15", PAGE_SIZE_64K)->twin = true;
	add(&m, "again.conf", "6.13", PAGE_SIZE_64K)->twin = true;
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), 1);
	assert_int_equal(equals, 1);
	m.entries[1].twin = true;
	assert_int_equal(choose_newest(&m.in, PAGE_SIZE_64K, &equals, &why), SIZE_MAX);
	assert_int_equal(why, OUTCOME_NO_ENTRY);
	m.in.default_variable = SPAN("rescue.conf");
	expect(&m, 3, RULE_DEFAULT);
}

static void explain(const struct machine *m, char *buffer, size_t size)
{
	struct text t = text_in(buffer, size);

	choose_explain(&m->in, &m->out, &t);
}

static void a_loader_may_have_been_told_what_a_policy_stands_for(void **state)
{
	struct machine m;
	char text[200];

	(void)state;
	three(&m);
	add(&m, "linux-newer.conf", "6.20", PAGE_SIZE_64K);
	m.in.policy = PAGE_SIZE_64K;
	m.in.policy_entry = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_POLICY);
	explain(&m, text, sizeof(text));
	assert_string_equal(text, "policy 64k: the entry that stands for it");
	m.in.policy_entry = SPAN("removed.conf");
	expect(&m, 0, RULE_ORDER);
	assert_int_equal(m.out.outcome[RULE_POLICY], OUTCOME_NO_ENTRY);
}

static void a_loader_may_have_been_told_which_entry_is_first(void **state)
{
	struct machine m;
	char text[200];

	(void)state;
	three(&m);
	m.in.first = SPAN("linux-16k.conf");
	m.in.first_title = "default of grub.cfg";
	expect(&m, 2, RULE_ORDER);
	explain(&m, text, sizeof(text));
	assert_string_equal(text, "default of grub.cfg");
	m.entries[2].unusable = true;
	expect(&m, 0, RULE_ORDER);
	explain(&m, text, sizeof(text));
	assert_string_equal(text, "first entry in menu order; default of grub.cfg: it cannot be started");
	m.in.default_variable = SPAN("linux-64k.conf");
	expect(&m, 1, RULE_DEFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fallback_tells_what_it_fell_back_from),
		cmocka_unit_test(what_the_loader_made_itself_boots_only_when_named),
		cmocka_unit_test(saved_means_the_entry_that_was_booted_last),
		cmocka_unit_test(a_policy_compares_kernel_releases_where_they_are_known),
		cmocka_unit_test(a_release_is_compared_with_the_version_of_a_file),
		cmocka_unit_test(of_the_profiles_of_one_image_the_first_is_meant),
		cmocka_unit_test(nothing_asked_boots_the_first_entry),
		cmocka_unit_test(rules_are_asked_in_their_order),
		cmocka_unit_test(a_oneshot_that_was_not_cleared_is_ignored),
		cmocka_unit_test(a_oneshot_may_name_a_bad_entry),
		cmocka_unit_test(a_oneshot_may_not_name_what_the_cpu_lacks_or_what_cannot_start),
		cmocka_unit_test(a_name_that_no_entry_has_falls_through),
		cmocka_unit_test(preferred_and_default_pass_over_a_bad_entry),
		cmocka_unit_test(an_entry_with_tries_left_is_as_eligible_as_a_good_one),
		cmocka_unit_test(a_pattern_takes_its_first_match_that_can_boot),
		cmocka_unit_test(the_policy_takes_the_newest_entry_of_its_size),
		cmocka_unit_test(an_entry_without_version_is_older_than_any),
		cmocka_unit_test(a_policy_that_cannot_be_met_tells_why),
		cmocka_unit_test(the_newest_entry_is_counted_with_its_equals),
		cmocka_unit_test(a_trial_entry_boots_only_by_a_oneshot),
		cmocka_unit_test(an_entry_of_unknown_size_can_always_boot),
		cmocka_unit_test(the_last_resort_is_a_bad_entry_then_an_unsupported_one),
		cmocka_unit_test(no_entries_boot_nothing),
		cmocka_unit_test(a_setting_may_name_an_entry_by_its_old_counter),
		cmocka_unit_test(words_of_rules_and_outcomes),
		cmocka_unit_test(what_a_rule_was_asked_for),
		cmocka_unit_test(the_explanation_tells_what_was_passed_over),
		cmocka_unit_test(a_twin_is_never_found_by_page_size),
		cmocka_unit_test(a_loader_may_have_been_told_what_a_policy_stands_for),
		cmocka_unit_test(a_loader_may_have_been_told_which_entry_is_first),
		cmocka_unit_test(a_choice_made_in_the_menu_can_be_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
