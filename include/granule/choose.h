/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision: which entry boots, and why. The loader, `granule status` and the tests all call this. */
#ifndef GRANULE_CHOOSE_H
#define GRANULE_CHOOSE_H

#include <granule/entry.h>

/* In the order in which they are asked. */
enum choose_rule {
	RULE_ONESHOT,          /* LoaderEntryOneShot, or next_entry of the environment block */
	RULE_PREFERRED,        /* LoaderEntryPreferred */
	RULE_PREFERRED_CONFIG, /* loader.conf preferred */
	RULE_DEFAULT,          /* LoaderEntryDefault, or saved_entry of the environment block */
	RULE_DEFAULT_CONFIG,   /* loader.conf default */
	RULE_POLICY,           /* newest entry of the wanted page size */
	RULE_ORDER,            /* first entry in menu order that is not bad */
	RULE_LAST_RESORT,      /* nothing better is left: first that can be started at all */
	RULE_MENU,             /* a person picked it; never chosen here */
	N_RULES,
};

/* What came of asking a rule. */
enum choose_outcome {
	OUTCOME_NOT_SET, /* nothing was asked for by this rule */
	OUTCOME_CHOSEN,
	OUTCOME_NO_ENTRY,    /* no entry of that name, or of that page size */
	OUTCOME_BAD,         /* the entry has no tries left */
	OUTCOME_UNSUPPORTED, /* this CPU lacks the page size */
	OUTCOME_UNUSABLE,    /* kernel missing or damaged, or it failed to start in this boot */
	OUTCOME_NOT_CLEARED, /* a one-shot that could not be cleared is not honoured */
	OUTCOME_NOT_ASKED,   /* an earlier rule had chosen */
};

struct choose_input {
	const struct entry *const *entries; /* in menu order */
	size_t n_entries;
	page_size_set cpu; /* or PAGE_SIZE_SET_UNKNOWN */
	struct span oneshot;
	bool oneshot_not_cleared; /* the loader failed to delete it */
	struct span preferred, preferred_config, default_variable,
		default_config; /* patterns, empty if not set */
	enum page_size policy;  /* unknown if not set */
	/* For a loader that finds neither the newest entry of a policy nor the first one itself, but was told
	 * of both beforehand: patterns, empty if it does. */
	struct span policy_entry, first;
	const char *first_title; /* what `first` is, as choose_explain() is to say it */
	unsigned from_env;       /* 1 << rule for each wish that stands in the environment block */
	struct span
		picked; /* id that a person picked in the menu and that could not be started; empty if none */
	struct span last_booted; /* id that the pattern "@saved" stands for; empty if not known */
};

struct choose_result {
	size_t index; /* into entries; SIZE_MAX when nothing can be started */
	enum choose_rule rule;
	enum choose_outcome outcome[N_RULES];
};

/* Decides. Order: one-shot, preferred, default, policy, menu order. A bad entry is passed over by all but the
 * one-shot; an unusable one, and one whose page size the CPU lacks, by all. If that leaves nothing: the first
 * entry in menu order that the CPU supports, else the first that is usable. What the loader made itself
 * (ENTRY_AUTO) boots only when it is named. */
void choose(const struct choose_input *input, struct choose_result *ret);

/* The entry that a policy for `size` means: of that size, not bad, usable, no twin, of the highest version
 * (or release, where that is known), the first such profile of its image; among equals the first in menu
 * order. SIZE_MAX if there is none. *ret_equals (may be NULL) counts the entries of that highest version;
 * *ret_why tells what stood in the way of the first excluded one in menu order. */
size_t choose_newest(const struct choose_input *input, enum page_size size, size_t *ret_equals,
		     enum choose_outcome *ret_why);

/* Stable words for records and JSON: "oneshot", "preferred", "default", "policy", "order", "last-resort",
 * "menu". A setting from loader.conf has the same word with "-config" appended. */
const char *choose_rule_name(enum choose_rule rule);
bool choose_rule_parse(struct span word, enum choose_rule *ret);

/* "not-set", "chosen", "no-entry", "bad", "unsupported", "unusable", "not-cleared", "not-asked". */
const char *choose_outcome_name(enum choose_outcome outcome);
bool choose_outcome_parse(struct span word, enum choose_outcome *ret);

/* Whether a preferred or default pattern is "@saved": then the entry that boots is to be remembered. */
bool choose_wants_saved(const struct choose_input *input);

/* What a rule was asked for, as text: the pattern, or the page size of the policy; empty if not set. */
struct span choose_asked(const struct choose_input *input, enum choose_rule rule);

/* One sentence part for people: why this entry, and what was passed over on the way, for example
 * "first entry in menu order; policy 16k: this CPU lacks 16K pages", also entries whose tries are used up. */
void choose_explain(const struct choose_input *input, const struct choose_result *result, struct text *ret);

/* What choose_explain() is made of. A rule as people know it: "one-shot", "default entry of loader.conf". */
const char *choose_rule_title(enum choose_rule rule);

/* Why a rule was passed over, as a phrase: "no such entry". `policy` is what RULE_POLICY asked for. Outcomes
 * that need no reason are their names. */
void choose_outcome_explain(enum choose_rule rule, enum choose_outcome outcome, enum page_size policy,
			    struct text *ret);

/* Whether choose_explain() has more to say than the rule: something was passed over, or nothing good is left.
 */
bool choose_passed_over(const struct choose_input *input, const struct choose_result *result);

#endif
