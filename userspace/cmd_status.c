/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "boot_facts.h"
#include "grub/grub_status.h"
#include "records.h"
#include "report.h"
#include "system.h"
#include "trial.h"
#include "variables.h"

/* What granule remembers of trials. */
struct memory {
	struct verified verified;
	struct trial trial;
	bool has_trial;
};

static void memory_read(const struct options *o, struct memory *ret)
{
	struct state state;

	*ret = (struct memory){ 0 };
	state_open(o, &state);
	verified_read(&state, &ret->verified);
	ret->has_trial = trial_read(&state, &ret->trial) == 0;
	state_close(&state);
}

static void memory_free(struct memory *m)
{
	verified_free(&m->verified);
	if (m->has_trial)
		trial_free(&m->trial);
}

static const char *stage_name(enum trial_stage stage)
{
	return stage == TRIAL_ARMED ? "armed" : stage == TRIAL_PASSED ? "passed" : "failed";
}

static json_object *json_trial(const struct memory *m)
{
	const struct trial *t = &m->trial;

	if (!m->has_trial)
		return NULL;
	json_object *o = json_object_new_object();
	json_object_object_add(o, "stage", json_object_new_string(stage_name(t->stage)));
	json_object_object_add(o, "target", json_text(t->target));
	json_object_object_add(o, "entry", json_text(t->entry));
	json_object_object_add(o, "page_size", json_page_size(t->page_size));
	json_object_object_add(o, "tries", json_object_new_int64(t->tries));
	json_object_object_add(o, "used", json_object_new_int64(t->used));
	json_object_object_add(o, "reason", json_text(t->reason));
	return o;
}

static json_object *json_choice(const struct choice *c)
{
	if (!c->entry)
		return NULL;
	json_object *o = json_object_new_object();
	json_object_object_add(o, "id", json_text(c->entry));
	json_object_object_add(o, "page_size", json_page_size(c->page_size));
	json_object_object_add(o, "release", json_text(c->release));
	return o;
}

static json_object *json_verified(const struct memory *m)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "current", json_choice(&m->verified.current));
	json_object_object_add(o, "previous", json_choice(&m->verified.previous));
	return o;
}

static void print_json(const struct options *o, const struct boot_facts *facts, const char *release,
		       const struct entry_set *set, const struct next_boot *next, const struct memory *m)
{
	json_object *root = json_object_new_object();
	enum page_size policy = set ? set->policy : PAGE_SIZE_UNKNOWN;

	json_object_object_add(root, "page_size",
			       system_is_other(o) ? NULL
						  : json_object_new_int64((int64_t)system_page_size()));
	json_object_object_add(root, "release", json_text(release));
	json_object_object_add(root, "loader", json_text(facts->loader));
	json_object_object_add(root, "entry", json_text(facts->entry));
	json_object_object_add(root, "reason", json_text(facts->explain));
	json_object_object_add(root, "policy", policy == PAGE_SIZE_UNKNOWN ? NULL : json_page_size(policy));
	json_object_object_add(root, "next", next ? json_next_boot(next) : NULL);
	json_object_object_add(root, "cpu_granules", json_page_size_set(system_cpu()));
	json_object_object_add(root, "failures", json_strings(&facts->failures));
	json_object_object_add(root, "left_out", json_strings(&facts->left_out));
	json_object_object_add(root, "memory_map", json_text(facts->memory_map));
	json_object_object_add(root, "trial", json_trial(m));
	json_object_object_add(root, "verified", json_verified(m));
	json_object_object_add(root, "grub", set && set->grub ? grub_status_json(o, set) : NULL);
	json_print(root);
}

static void print_line(const char *label, const char *text)
{
	say(stdout, "%14s: %s", label, text);
}

static void print_list(const char *label, const struct strings *list)
{
	for (size_t i = 0; i < list->n; i++)
		print_line(i ? "" : label, list->items[i]);
}

/* "64K", or the number for a page size that arm64 does not have. */
static char *running_size_text(void)
{
	uint64_t bytes = system_page_size();
	enum page_size size = page_size_from_bytes(bytes);

	return size == PAGE_SIZE_UNKNOWN ? xprintf("%llu bytes", (unsigned long long)bytes)
					 : xprintf("%s", page_size_title(size));
}

static void print_running(const struct options *o, const struct boot_facts *facts, const char *release)
{
	if (system_is_other(o))
		return;
	_cleanup_free_ char *size = running_size_text();
	_cleanup_free_ char *running = xprintf("%s pages, kernel %s", size, release ? release : "?");
	print_line("running", running);
	print_line("booted entry", facts->entry ? facts->entry : "not known (the loader does not say)");
	if (facts->explain)
		print_line("because", facts->explain);
	print_list("failed", &facts->failures);
	print_list("left out", &facts->left_out);
}

/* An entry on trial is lost when its tries are used up, however well it runs. */
static void print_tries(const struct entry_set *set, const char *id)
{
	const struct entry *e = entry_set_by_id(set, id);

	/* A trial's entry has none from the start. */
	if (!e || !e->counter.present || e->bls.trial)
		return;
	_cleanup_free_ char *text =
		xprintf("%u left for the booted entry; 'systemd-bless-boot good' keeps it", e->counter.left);
	print_line("tries", text);
}

/* Nothing to worry about is not worth a line. */
static void print_memory_map(const struct boot_facts *facts)
{
	if (!facts->memory_map || strcmp(facts->memory_map, "ok") == 0)
		return;
	print_line("firmware", facts->memory_map);
	print_line("", "(a 64K kernel may warn of it, or fail to write variables)");
}

/* What the owner wants, and where it is written. */
static void print_wishes(const struct entry_set *set)
{
	static const struct {
		enum choose_rule rule;
		const char *where;
	} wishes[] = {
		{ RULE_ONESHOT, "next boot only" },
		{ RULE_PREFERRED, "preferred" },
		{ RULE_PREFERRED_CONFIG, "preferred, in loader.conf" },
		{ RULE_DEFAULT, "default" },
		{ RULE_DEFAULT_CONFIG, "default, in loader.conf" },
	};

	const char *in_env = " (in the environment block)";
	const char *policy_place = set->input.from_env & 1u << RULE_POLICY          ? in_env
				   : page_size_parse(span_of(set->policy_variable)) ? ""
										    : " (in loader.conf)";
	_cleanup_free_ char *policy = set->policy == PAGE_SIZE_UNKNOWN
					      ? NULL
					      : xprintf("%s%s", page_size_word(set->policy), policy_place);
	print_line("policy", policy ? policy : "none");
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct span asked = choose_asked(&set->input, wishes[i].rule);
		if (!asked.n)
			continue;
		_cleanup_free_ char *text = xprintf("%.*s (%s)%s", (int)asked.n, asked.p, wishes[i].where,
						    set->input.from_env & 1u << wishes[i].rule ? in_env : "");
		print_line("asked for", text);
	}
}

/* Which of GRUB's own files decides where nothing of granule's does, and what may surprise. */
static void print_grub(const struct options *o, const struct entry_set *set)
{
	struct strings notes = { 0 };

	if (!set->grub)
		return;
	_cleanup_free_ char *by_default = grub_status_default(o, set);
	print_line("GRUB default", by_default);
	grub_status_notes(o, set, &notes);
	print_list("note", &notes);
	strings_free(&notes);
}

static void print_next(const struct entry_set *set, const struct next_boot *next)
{
	if (variable_boot_next_is_own())
		print_line("next start", "granule-boot once (BootNext)");
	if (!next->entry) {
		print_line("next boot", next->explanation);
		return;
	}
	_cleanup_free_ char *what = boots_text(next->entry);
	_cleanup_free_ char *text = xprintf("%s, %.*s%s", what, (int)next->entry->id.n, next->entry->id.p,
					    next_boot_condition(set));
	print_line("next boot", text);
	print_line("because", next->explanation);
}

/* Somebody took its one-shot away, or has asked for something that goes before it. */
static bool trial_is_passed_over(const struct trial *t, const char *boot_id, const struct next_boot *next)
{
	bool waits = t->stage == TRIAL_ARMED && boot_id && t->boot_id && strcmp(boot_id, t->boot_id) == 0;

	return waits && !(next->entry && entry_matches(next->entry, span_of(t->entry)));
}

static void print_memory(const struct memory *m, const char *boot_id, const char *entry,
			 const struct next_boot *next)
{
	const struct choice *c = &m->verified.current;
	_cleanup_free_ char *verified =
		c->entry ? xprintf("%s pages, %s", page_size_title(c->page_size), c->entry)
			 : xstrdup("nothing yet ('granule verify --boot' does that)");

	print_line("verified", verified);
	if (!m->has_trial)
		return;
	_cleanup_free_ char *what = trial_text(&m->trial);
	_cleanup_free_ char *text =
		xprintf("%s: %s%s%s", what, trial_stage_text(&m->trial, boot_id, entry),
			m->trial.reason ? ": " : "", m->trial.reason ? m->trial.reason : "");
	print_line("trial", text);
	if (trial_is_passed_over(&m->trial, boot_id, next))
		print_line("", "but it is not what boots next; 'granule try none' gives it up");
	if (m->trial.stage == TRIAL_ARMED && m->trial.tries > 1) {
		_cleanup_free_ char *tries = xprintf("try %u of %u", m->trial.used, m->trial.tries);
		print_line("", tries);
	}
}

int cmd_status(const struct options *o)
{
	struct memory memory;
	struct boot_facts facts;
	struct places places;
	struct entry_set set;
	struct next_boot next;
	char cpu[32];
	struct text t = text_in(cpu, sizeof(cpu));
	_cleanup_free_ char *release = system_release(o), *boot_id = system_boot_id(o);
	struct settings settings;
	bool have_set = false;

	/* For its words about lines that are not understood. */
	settings_read(o, &settings);
	settings_free(&settings);
	memory_read(o, &memory);
	boot_facts_read(o, &facts);
	/* Without an ESP there is still something to say about what runs. */
	if (places_find(o, &places) == 0) {
		have_set = entry_set_load(o, &places, &set) == 0;
		places_free(&places);
	}
	if (have_set) {
		boot_facts_complete(o, &set, &facts);
		next_boot(&set, &next);
		entry_set_complain_conf(&set);
	}

	if (o->json) {
		print_json(o, &facts, release, have_set ? &set : NULL, have_set ? &next : NULL, &memory);
	} else {
		print_running(o, &facts, release);
		if (have_set)
			print_tries(&set, facts.entry);
		print_line("loader", facts.loader ? facts.loader : "not known");
		page_size_set_format(system_cpu(), &t);
		print_memory_map(&facts);
		print_line("CPU", t.n ? cpu : "page sizes not known (granule-boot publishes them)");
		if (have_set) {
			print_wishes(&set);
			print_grub(o, &set);
			print_memory(&memory, boot_id, facts.entry, &next);
			print_next(&set, &next);
		}
	}
	if (have_set)
		entry_set_free(&set);
	boot_facts_free(&facts);
	memory_free(&memory);
	return have_set ? EXIT_DONE : EXIT_FAILED;
}
