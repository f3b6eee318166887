/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <strings.h>

#include <granule/cmdline.h>

#include "system.h"
#include "variables.h"
#include "verdict.h"

static void broken(struct verdict *v, const char *link, char *taken_message)
{
	v->broken_link = link;
	v->message = taken_message;
}

/* The first rule that asked for something in this boot is what should have come of it. */
static void find_wish(const struct boot_facts *facts, struct verdict *v, enum choose_outcome *ret_outcome)
{
	struct span record = span_of(facts->record), asked;

	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		if (!boot_record_rule(record, r, &asked, ret_outcome))
			continue;
		v->asked = true;
		v->rule = r;
		if (r == RULE_POLICY)
			v->expected = page_size_parse(asked);
		else
			v->entry_expected = asked;
		return;
	}
	*ret_outcome = OUTCOME_NOT_SET;
}

const char *verdict_failure_of(const struct boot_facts *facts, struct span id)
{
	for (size_t i = 0; i < facts->failures.n; i++) {
		const char *line = facts->failures.items[i], *colon = strchr(line, ':');

		if (colon && span_equal_nocase((struct span){ line, (size_t)(colon - line) }, id))
			return line;
	}
	return NULL;
}

/* The loader passed over what was asked for: says why. */
static void explain_outcome(const struct boot_facts *facts, enum choose_outcome outcome, struct verdict *v)
{
	const char *failure = verdict_failure_of(facts, v->entry_expected);
	_cleanup_free_ char *wish = v->entry_expected.n ? xstrndup(v->entry_expected)
							: xprintf("%s pages", page_size_title(v->expected));

	switch (outcome) {
	case OUTCOME_UNSUPPORTED:
		broken(v, "cpu",
		       v->entry_expected.n
			       ? xprintf("this CPU lacks the page size of %s", wish)
			       : xprintf("this CPU lacks %s pages", page_size_title(v->expected)));
		return;
	case OUTCOME_NO_ENTRY:
		broken(v, "entry",
		       xprintf(v->entry_expected.n ? "there is no entry %s" : "there is no entry with %s",
			       wish));
		return;
	case OUTCOME_BAD:
		broken(v, "entry", xprintf("%s: no tries are left", wish));
		return;
	case OUTCOME_UNUSABLE:
		if (failure)
			broken(v, "entry", xstrdup(failure));
		else
			broken(v, "entry",
			       xprintf("no entry with %s could be started ('granule status' tells why)",
				       wish));
		return;
	case OUTCOME_NOT_CLEARED:
		broken(v, "loader", xprintf("%s was not honoured: the one-shot could not be cleared", wish));
		return;
	default:
		broken(v, "loader", xprintf("%s was not chosen (%s)", wish, choose_outcome_name(outcome)));
	}
}

/* The kernel runs with another size than expected although the loader started what it should: command line or
 * kernel. */
static void blame_kernel(const struct options *o, const struct boot_facts *facts, page_size_set cpu,
			 struct verdict *v)
{
	_cleanup_free_ char *cmdline = system_cmdline(o);
	struct page_size_param param;
	uint64_t running = v->running;
	const char *word = page_size_word(v->expected);

	cmdline_page_size(span_of(cmdline), cpu, &param);
	if (cpu != PAGE_SIZE_SET_UNKNOWN && !page_size_in(v->expected, cpu)) {
		broken(v, "cpu", xprintf("this CPU lacks %s pages", page_size_title(v->expected)));
		return;
	}
	if (param.asked == v->expected) {
		/* A fixed image that the word was given to, or a selectable one that did not take it. */
		broken(v, "kernel",
		       xprintf("kernel ignored " PARAM_PAGE_SIZE "=%s: it runs %llu-byte pages", word,
			       (unsigned long long)running));
		return;
	}
	if (facts->kind == IMAGE_SELECTABLE) {
		for (unsigned i = 0; i < param.n_notes; i++) {
			struct param_note n = param.notes[i];
			if (n.kind == PARAM_SUPERSEDED)
				continue;
			broken(v, "command_line",
			       xprintf("%.*s %s", (int)n.length, cmdline + n.offset,
				       param_note_text(n.kind)));
			return;
		}
		broken(v, "command_line",
		       xprintf("the kernel's command line does not say " PARAM_PAGE_SIZE "=%s", word));
		return;
	}
	broken(v, "entry",
	       xprintf("the booted entry %s is no %s kernel: it runs %llu-byte pages",
		       facts->entry ? facts->entry : "(not known)", page_size_title(v->expected),
		       (unsigned long long)running));
}

/* Whether LoaderEntrySelected is what a pattern names. */
static bool is_entry(const char *id, struct span pattern)
{
	struct entry e;

	entry_from_id(span_of(id), &e);
	return id && entry_matches(&e, pattern);
}

/* Somebody at the console chose something else than what was asked for. */
static bool picked_by_hand(const struct boot_facts *facts)
{
	struct span reason;

	return boot_record_get(span_of(facts->record), SPAN("reason"), &reason) &&
	       span_equal(reason, span_of(choose_rule_name(RULE_MENU)));
}

static bool as_asked(const struct boot_facts *facts, const struct verdict *v)
{
	return v->entry_expected.n ? is_entry(facts->entry, v->entry_expected)
				   : page_size_bytes(v->expected) == v->running;
}

void verdict_judge(const struct options *o, const struct boot_facts *facts, enum page_size expected,
		   struct verdict *v)
{
	page_size_set cpu = system_cpu();
	enum choose_outcome outcome;
	_cleanup_free_ char *policy = NULL;

	*v = (struct verdict){ .rule = N_RULES, .running = system_page_size_below(o) };
	find_wish(facts, v, &outcome);
	if (!facts->record) {
		/* Another loader, or none that talks: what is stored is all there is to go by. */
		policy = variable_get(VENDOR_GRANULE, "GranulePolicy");
		v->expected = facts->policy != PAGE_SIZE_UNKNOWN ? facts->policy
			      : facts->by_default                ? PAGE_SIZE_UNKNOWN
								 : page_size_parse(span_of(policy));
		v->entry_expected = span_of(facts->by_default);
		v->asked = v->expected != PAGE_SIZE_UNKNOWN || v->entry_expected.n;
	}
	bool told = expected != PAGE_SIZE_UNKNOWN;
	if (told) {
		v->asked = true;
		v->expected = expected;
	}
	if (!v->asked)
		return;
	if (!told && facts->record && !facts->has_entry) {
		broken(v, "loader",
		       xstrdup("granule-boot could start no entry; firmware started this system in another "
			       "way"));
		return;
	}
	/* A page size may have come about although the policy found no entry for it. */
	if (!told && facts->record && outcome != OUTCOME_CHOSEN && !as_asked(facts, v)) {
		explain_outcome(facts, outcome, v);
		return;
	}
	if (!told && picked_by_hand(facts) && !as_asked(facts, v)) {
		broken(v, "menu",
		       xprintf("somebody picked %s in the boot menu",
			       facts->entry ? facts->entry : "another entry"));
		return;
	}
	if (!told && v->entry_expected.n && !is_entry(facts->entry, v->entry_expected)) {
		broken(v, "loader",
		       xprintf("booted %s instead of %.*s", facts->entry ? facts->entry : "something unknown",
			       (int)v->entry_expected.n, v->entry_expected.p));
		return;
	}
	/* The entry has a size of its own when an entry was asked for. */
	if (v->expected == PAGE_SIZE_UNKNOWN)
		v->expected = facts->asked;
	if (v->expected == PAGE_SIZE_UNKNOWN || page_size_bytes(v->expected) == v->running)
		return;
	if (!facts->record && !told) {
		broken(v, "loader",
		       facts->entry
			       ? xprintf("%s booted %s instead of an entry with %s pages",
					 facts->loader ? facts->loader : "another loader", facts->entry,
					 page_size_title(v->expected))
			       : xprintf("granule-boot did not start this system (%s did), so the policy %s "
					 "had no effect",
					 facts->loader ? facts->loader : "another loader",
					 page_size_word(v->expected)));
		return;
	}
	blame_kernel(o, facts, cpu, v);
}

void verdict_free(struct verdict *v)
{
	free(v->message);
	*v = (struct verdict){ 0 };
}
