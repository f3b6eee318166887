/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include <granule/boot_counter.h>
#include <granule/cmdline.h>
#include <granule/env_wishes.h>

#include "boot_facts.h"
#include "boot_words.h"
#include "grub/grub_menu.h"
#include "report.h"
#include "system.h"
#include "variables.h"

static char *field(struct span record, const char *key)
{
	struct span value;

	return boot_record_get(record, span_of(key), &value) ? xstrndup(value) : NULL;
}

/* Up to version 257 systemd-boot takes the boot counter for a part of the id. In ids of others, what looks
 * like a counter belongs to the name. */
static bool has_counters_in_ids(const char *loader)
{
	const char *name = "systemd-boot ";

	return loader && strncmp(loader, name, strlen(name)) == 0 &&
	       strtoul(loader + strlen(name), NULL, 10) <= 257;
}

/* LoaderEntrySelected; NULL. */
static char *selected_entry(const char *loader)
{
	char *id = variable_get(VENDOR_LOADER, "LoaderEntrySelected");
	struct boot_counter counter;

	if (!id || !has_counters_in_ids(loader))
		return id;
	size_t file = strcspn(id, "@");
	if (boot_counter_parse((struct span){ id, file }, &counter) && counter.present) {
		char *end = id + counter.name.n;
		memmove(end, counter.suffix.p, strlen(counter.suffix.p) + 1);
	}
	return id;
}

char *boot_facts_entry(const struct options *o, const struct entry_set *set)
{
	struct boot_facts facts;

	boot_facts_read(o, &facts);
	if (set)
		boot_facts_complete(o, set, &facts);
	char *id = facts.entry;
	facts.entry = NULL;
	boot_facts_free(&facts);
	return id;
}

static void read_record(struct boot_facts *ret)
{
	struct span record = span_of(ret->record), key, value;

	ret->has_entry = boot_record_get(record, SPAN("entry"), &value);
	ret->explain = field(record, "explain");
	ret->memory_map = field(record, BOOT_RECORD_MEMORY_MAP);
	if (boot_record_get(record, SPAN("page-size"), &value))
		ret->asked = page_size_parse(value);
	if (boot_record_get(record, SPAN("kind"), &value))
		for (enum image_kind k = IMAGE_UNKNOWN; k <= IMAGE_SELECTABLE; k++)
			if (span_equal(value, span_of(image_kind_name(k))))
				ret->kind = k;
	for (size_t pos = 0; boot_record_next(record, &pos, &key, &value);) {
		if (span_equal(key, SPAN("failed")))
			strings_add(&ret->failures, xstrndup(value));
		else if (span_equal(key, SPAN("left-out")))
			strings_add(&ret->left_out, xstrndup(value));
	}
}

/* GRUB writes no record; its entries of ours have words. */
static void read_words(const struct options *o, struct boot_facts *ret)
{
	_cleanup_free_ char *cmdline = system_cmdline(o);
	struct span trial;

	ret->record = boot_words_record(cmdline);
	ret->from_words = ret->record;
	if (!ret->record)
		return;
	ret->entry = field(span_of(ret->record), "entry");
	if (cmdline_get(span_of(cmdline), SPAN(GRUB_WORD_TRIAL), &trial))
		ret->trial = xstrndup(trial);
	if (!ret->loader)
		ret->loader = xstrdup("GRUB");
}

void boot_facts_read(const struct options *o, struct boot_facts *ret)
{
	*ret = (struct boot_facts){
		.record = variable_get(VENDOR_GRANULE, "GranuleBoot"),
		.loader = variable_get(VENDOR_LOADER, "LoaderInfo"),
	};
	ret->entry = selected_entry(ret->loader);
	if (!ret->record && !ret->entry)
		read_words(o, ret);
	if (ret->record)
		read_record(ret);
}

/* The words of a command line that was taken over from another boot. */
static void forget_words(struct boot_facts *facts)
{
	char *loader = facts->loader;

	facts->loader = NULL;
	boot_facts_free(facts);
	facts->loader = loader;
}

static void add_line(struct boot_facts *facts, enum choose_rule rule, const char *asked,
		     enum choose_outcome outcome)
{
	char *record = xprintf("%sasked.%s=%s\noutcome.%s=%s\n", facts->record, choose_rule_name(rule), asked,
			       choose_rule_name(rule), choose_outcome_name(outcome));

	free(facts->record);
	facts->record = record;
}

/* When what was verified last was chosen although nothing failed to load: the wish in its block tells why. */
static void tell_passed_over(const struct entry_set *set, struct boot_facts *facts)
{
	const struct grub_block *block = &set->grub->own;
	_cleanup_free_ char *by_default = grub_block_get(block, ENV_DEFAULT);
	_cleanup_free_ char *policy = grub_block_get(block, ENV_POLICY);
	_cleanup_free_ char *tries = grub_block_get(block, GRUB_ENV_TRIES);
	struct span record = span_of(facts->record), reason, asked;
	enum choose_outcome outcome;

	if (!boot_record_get(record, SPAN("reason"), &reason) ||
	    !span_equal(reason, span_of(choose_rule_name(RULE_LAST_RESORT))) ||
	    boot_record_rule(record, RULE_DEFAULT, &asked, &outcome))
		return;
	outcome = tries && strcmp(tries, "0") == 0 ? OUTCOME_BAD : OUTCOME_NO_ENTRY;
	if (by_default)
		add_line(facts, RULE_DEFAULT, by_default, outcome);
	else if (policy)
		add_line(facts, RULE_POLICY, policy, outcome);
}

/* What GRUB was to boot by what is stored: the default goes before the policy, unless it is how the policy is
 * made to hold. */
static void read_wishes(const struct entry_set *set, struct boot_facts *facts)
{
	_cleanup_free_ char *stored = grub_block_get(&set->grub->own, ENV_DEFAULT);
	struct span asked = choose_asked(&set->input, RULE_DEFAULT);
	struct next_boot by_default;

	facts->policy = set->policy;
	default_boot(set, &by_default);
	if (!stored || !asked.n || by_default.result.rule != RULE_DEFAULT ||
	    (set->policy != PAGE_SIZE_UNKNOWN && by_default.entry->page_size == set->policy))
		return;
	facts->policy = PAGE_SIZE_UNKNOWN;
	free(facts->by_default);
	facts->by_default = xstrndup(asked);
}

void boot_facts_complete(const struct options *o, const struct entry_set *set, struct boot_facts *facts)
{
	bool by_loader = facts->entry && !facts->from_words;
	_cleanup_free_ char *cmdline = set->grub && !by_loader ? system_cmdline(o) : NULL;
	const struct entry *e = cmdline ? grub_booted(set, cmdline) : NULL;
	struct next_boot by_default;

	/* What granule-boot started has a record, and may be GRUB. */
	if (!set->grub || by_loader || (facts->record && !facts->from_words))
		return;
	read_wishes(set, facts);
	if (!facts->loader)
		facts->loader = xstrdup("GRUB");
	/* What is there, and was not booted, was named by a command line that was taken over. */
	if (facts->entry &&
	    (e ? !span_equal(e->id, span_of(facts->entry)) : entry_set_by_id(set, facts->entry) != NULL)) {
		forget_words(facts);
		read_wishes(set, facts);
	}
	if (facts->from_words)
		tell_passed_over(set, facts);
	if (!e)
		return;
	if (!facts->entry) {
		/* Of two names for the same, that of the default. */
		default_boot(set, &by_default);
		if (by_default.entry && grub_boots_same(by_default.entry, e))
			e = by_default.entry;
		facts->entry = xstrndup(e->id);
	}
	if (facts->asked == PAGE_SIZE_UNKNOWN)
		facts->asked = e->page_size;
	facts->kind = e->kind;
}

void boot_facts_free(struct boot_facts *facts)
{
	free(facts->record);
	free(facts->trial);
	free(facts->loader);
	free(facts->entry);
	free(facts->explain);
	free(facts->by_default);
	free(facts->memory_map);
	strings_free(&facts->failures);
	strings_free(&facts->left_out);
	*facts = (struct boot_facts){ 0 };
}
