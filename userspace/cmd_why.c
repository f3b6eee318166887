/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `why`: the whole chain that led to this boot. What granule-boot decided it said itself; nothing is decided
 * anew here. Of another loader only the wishes are known, and what came of them all together. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "boot_facts.h"
#include "history.h"
#include "report.h"
#include "system.h"
#include "trial.h"

/* One rule of the chain. */
struct link {
	char *asked;         /* NULL: nothing was wanted */
	const char *outcome; /* word for JSON; NULL if not known */
	char *text;          /* for people */
};

struct story {
	const struct options *o;
	struct boot_facts facts;
	bool from_kexec;
	char *release, *boot_id;
	struct entry_set set; /* with the ESP at hand */
	bool has_set;
	struct state state;
	struct trial trial;
	bool has_trial;
	json_object *history, *last_trial; /* the latter in the former; NULL if there is none */
	struct link chain[N_RULES];
	enum choose_rule chosen; /* N_RULES if not known */
};

/* ---- the chain ---- */

static void set_link(struct story *s, enum choose_rule rule, struct span asked, const char *outcome,
		     char *taken_text)
{
	s->chain[rule] = (struct link){ asked.n ? xstrndup(asked) : NULL, outcome, taken_text };
}

static char *outcome_text(enum choose_rule rule, enum choose_outcome outcome, struct span asked)
{
	char why[200];
	struct text t = text_in(why, sizeof(why));

	if (outcome == OUTCOME_NOT_ASKED)
		return xstrdup("not asked, something before it had chosen");
	choose_outcome_explain(rule, outcome, page_size_parse(asked), &t);
	return xstrdup(why);
}

/* What comes without a wish: it decided, it was not reached, or it found nothing. */
static void set_unasked_link(struct story *s, enum choose_rule rule)
{
	bool decided = s->chosen == rule, reached = s->chosen > rule && s->chosen != RULE_MENU;

	if (decided)
		set_link(s, rule, SPAN_NONE, choose_outcome_name(OUTCOME_CHOSEN), xstrdup("chosen"));
	else if (reached)
		set_link(s, rule, SPAN_NONE, choose_outcome_name(OUTCOME_NO_ENTRY), xstrdup("there is none"));
	else
		set_link(s, rule, SPAN_NONE, choose_outcome_name(OUTCOME_NOT_ASKED),
			 outcome_text(rule, OUTCOME_NOT_ASKED, SPAN_NONE));
}

/* GRUB knows fewer rules, and tells only what granule's lines in grub.cfg decided. */
static void chain_of_words(struct story *s)
{
	if (s->chosen == N_RULES)
		set_link(s, RULE_ORDER, SPAN_NONE, NULL,
			 xstrdup("not known: GRUB's own default, or picked in its menu"));
	else if (s->chosen == RULE_LAST_RESORT)
		set_link(s, RULE_LAST_RESORT, SPAN_NONE, choose_outcome_name(OUTCOME_CHOSEN),
			 xstrdup("the entry that was verified last"));
}

static bool is_rule_of_words(enum choose_rule rule)
{
	return rule == RULE_ONESHOT || rule == RULE_DEFAULT || rule == RULE_POLICY;
}

static void chain_of_record(struct story *s)
{
	struct span record = span_of(s->facts.record), value;
	enum choose_outcome outcome;

	if (boot_record_get(record, SPAN("reason"), &value))
		choose_rule_parse(value, &s->chosen);
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		if (s->facts.from_words && !is_rule_of_words(r))
			continue;
		if (boot_record_rule(record, r, &value, &outcome))
			set_link(s, r, value, choose_outcome_name(outcome), outcome_text(r, outcome, value));
		else if (s->facts.from_words && s->chosen < r)
			/* What GRUB did not come to has left no words. */
			set_link(s, r, SPAN_NONE, choose_outcome_name(OUTCOME_NOT_ASKED),
				 outcome_text(r, OUTCOME_NOT_ASKED, SPAN_NONE));
		else
			set_link(s, r, SPAN_NONE, choose_outcome_name(OUTCOME_NOT_SET),
				 xstrdup("nothing wanted"));
	}
	if (s->facts.from_words) {
		chain_of_words(s);
	} else {
		set_unasked_link(s, RULE_ORDER);
		set_unasked_link(s, RULE_LAST_RESORT);
	}
	if (s->chosen == RULE_MENU)
		set_link(s, RULE_MENU, SPAN_NONE, choose_outcome_name(OUTCOME_CHOSEN),
			 xstrdup("somebody picked the entry, whatever was wanted"));
}

/* Whether a trial was armed for this boot, so that its entry was the one-shot. */
static bool trial_was_for_this_boot(const struct story *s)
{
	const struct trial *t = &s->trial;
	bool armed_before = !(s->boot_id && t->boot_id && strcmp(s->boot_id, t->boot_id) == 0);

	return s->has_trial && armed_before &&
	       (t->stage == TRIAL_ARMED ||
		(t->judged_in && s->boot_id && strcmp(t->judged_in, s->boot_id) == 0));
}

/* A loader that tells nothing of its decision. Wishes may have changed since, but for one-shots, which are
 * gone. */
static void chain_of_other(struct story *s)
{
	struct entry booted;

	entry_from_id(span_of(s->facts.entry), &booted);
	if (trial_was_for_this_boot(s))
		set_link(s, RULE_ONESHOT, span_of(s->trial.entry),
			 entry_matches(&booted, span_of(s->trial.entry)) ? "named" : "not-named",
			 xprintf("armed by 'granule try'; %s", entry_matches(&booted, span_of(s->trial.entry))
								       ? "that was booted"
								       : "something else was booted"));
	else
		set_link(s, RULE_ONESHOT, SPAN_NONE, NULL,
			 xstrdup("not known: one is deleted before it is obeyed"));
	for (enum choose_rule r = RULE_PREFERRED; s->has_set && r <= RULE_DEFAULT_CONFIG; r++) {
		struct span asked = choose_asked(&s->set.input, r);
		bool named = asked.n && s->facts.entry && entry_matches(&booted, asked);

		set_link(s, r, asked,
			 asked.n ? named ? "named" : "not-named" : choose_outcome_name(OUTCOME_NOT_SET),
			 xstrdup(!asked.n ? "nothing wanted"
				 : named  ? "that was booted"
					  : "something else was booted"));
	}
}

/* ---- reading ---- */

static void find_last_trial(struct story *s)
{
	size_t damaged;

	s->history = history_read(&s->state, &damaged);
	for (size_t i = json_object_array_length(s->history); i-- > 0 && !s->last_trial;) {
		json_object *line = json_object_array_get_idx(s->history, i);
		const char *kind = history_text(line, "kind");

		if (history_is_trial(line) && kind && strcmp(kind, "request") != 0)
			s->last_trial = line;
	}
}

static void read_story(const struct options *o, struct story *s)
{
	struct places places;

	*s = (struct story){
		.o = o,
		.from_kexec = system_from_kexec(o),
		.release = system_release(o),
		.boot_id = system_boot_id(o),
		.chosen = N_RULES,
	};
	boot_facts_read(o, &s->facts);
	state_open(o, &s->state);
	s->has_trial = trial_read(&s->state, &s->trial) == 0;
	find_last_trial(s);
	/* Without an ESP there is still something to say. */
	if (places_find(o, &places) == 0) {
		s->has_set = entry_set_load(o, &places, &s->set) == 0;
		places_free(&places);
	}
	if (s->has_set)
		boot_facts_complete(o, &s->set, &s->facts);
	if (s->facts.record)
		chain_of_record(s);
	else if (s->facts.entry)
		chain_of_other(s);
}

static void free_story(struct story *s)
{
	for (size_t i = 0; i < N_RULES; i++) {
		free(s->chain[i].asked);
		free(s->chain[i].text);
	}
	if (s->has_set)
		entry_set_free(&s->set);
	json_object_put(s->history);
	trial_free(&s->trial);
	state_close(&s->state);
	boot_facts_free(&s->facts);
	free(s->release);
	free(s->boot_id);
}

/* ---- telling ---- */

/* Boot counter of the booted entry, as far as it is counted. */
static const struct boot_counter *counter_of(const struct story *s)
{
	const struct entry *e = s->has_set ? entry_set_by_id(&s->set, s->facts.entry) : NULL;

	return e && e->counter.present ? &e->counter : NULL;
}

/* "64K was tried on 2026-12-01 06:30: failed: REASON" */
static char *last_trial_text(json_object *line)
{
	const char *size = history_size(line, "page_size_asked"), *verdict = history_text(line, "verdict"),
		   *reason = history_text(line, "reason"), *entry = history_text(line, "entry_asked");
	_cleanup_free_ char *when = history_time(line);

	return xprintf("%s was tried on %s: %s%s%s",
		       size    ? size
		       : entry ? entry
			       : "something",
		       when, verdict ? verdict : "?", reason ? ": " : "", reason ? reason : "");
}

static void print_line(const char *label, const char *text)
{
	say(stdout, "%10s: %s", label, text);
}

static void print_chain(const struct story *s)
{
	puts(s->facts.record ? "\nWhat was asked, in this order:"
			     : "\nWhat is stored now (this loader does not say how it decided):");
	for (enum choose_rule r = 0; r < N_RULES; r++) {
		const struct link *l = &s->chain[r];
		if (l->text)
			say(stdout, "  %-34s  %s%s%s", choose_rule_title(r), l->asked ? l->asked : "",
			    l->asked ? ": " : "", l->text);
	}
}

static void print_counter(const struct story *s)
{
	const struct boot_counter *counter = counter_of(s);

	if (!counter)
		return;
	_cleanup_free_ char *text =
		xprintf("%u left, %u done for the booted entry%s", counter->left, counter->done,
			counter->left ? "" : ", which only a one-shot may name");
	print_line("tries", text);
}

static void print_trial(const struct story *s)
{
	if (s->has_trial && trial_is_pending(&s->trial)) {
		_cleanup_free_ char *what = trial_text(&s->trial),
				    *text = xprintf("%s: %s", what,
						    trial_stage_text(&s->trial, s->boot_id, s->facts.entry));
		print_line("trial", text);
	}
	if (s->last_trial) {
		_cleanup_free_ char *text = last_trial_text(s->last_trial);
		print_line("last trial", text);
	}
}

static void print_story(const struct story *s)
{
	const struct boot_facts *f = &s->facts;
	uint64_t bytes = system_page_size_below(s->o);
	const char *entry = f->record && !f->has_entry ? "none could be started; firmware went on by itself"
			    : f->entry                 ? f->entry
						       : "not known, the loader does not say";
	_cleanup_free_ char *running = xprintf("%llu-byte pages, kernel %s", (unsigned long long)bytes,
					       s->release ? s->release : "?");
	char cpu[32];
	struct text t = text_in(cpu, sizeof(cpu));

	if (bytes)
		print_line("running", running);
	if (s->from_kexec)
		print_line("", "started by kexec; what the loader says is of the boot before");
	print_line("booted", entry);
	if (f->explain)
		print_line("because", f->explain);
	print_line("loader", f->loader ? f->loader : "not known");
	if (f->record || f->entry)
		print_chain(s);
	puts("");
	print_counter(s);
	page_size_set_format(system_cpu(), &t);
	print_line("CPU", t.n ? cpu : "page sizes not known (granule-boot publishes them)");
	for (size_t i = 0; i < f->failures.n; i++)
		print_line(i ? "" : "failed", f->failures.items[i]);
	for (size_t i = 0; i < f->left_out.n; i++)
		print_line(i ? "" : "left out", f->left_out.items[i]);
	print_trial(s);
}

static json_object *json_chain(const struct story *s)
{
	json_object *array = json_object_new_array();

	for (enum choose_rule r = 0; r < N_RULES; r++) {
		if (!s->chain[r].text)
			continue;
		json_object *o = json_object_new_object();
		json_object_object_add(o, "rule", json_text(choose_rule_name(r)));
		json_object_object_add(o, "asked", json_text(s->chain[r].asked));
		json_object_object_add(o, "outcome", json_text(s->chain[r].outcome));
		json_object_object_add(o, "text", json_text(s->chain[r].text));
		json_object_array_add(array, o);
	}
	return array;
}

static json_object *json_trial(const struct story *s)
{
	if (!s->has_trial || !trial_is_pending(&s->trial))
		return NULL;
	json_object *o = json_object_new_object();
	json_object_object_add(o, "entry", json_text(s->trial.target));
	json_object_object_add(o, "page_size", json_page_size(s->trial.page_size));
	json_object_object_add(o, "tries", json_object_new_int64(s->trial.tries));
	json_object_object_add(o, "used", json_object_new_int64(s->trial.used));
	json_object_object_add(o, "text", json_text(trial_stage_text(&s->trial, s->boot_id, s->facts.entry)));
	return o;
}

static void print_json(const struct story *s)
{
	json_object *root = json_object_new_object();
	const struct boot_facts *f = &s->facts;
	const struct boot_counter *counter = counter_of(s);
	uint64_t bytes = system_page_size_below(s->o);

	json_object_object_add(root, "page_size", bytes ? json_object_new_int64((int64_t)bytes) : NULL);
	json_object_object_add(root, "release", json_text(s->release));
	json_object_object_add(root, "loader", json_text(f->loader));
	json_object_object_add(root, "kexec", json_object_new_boolean(s->from_kexec));
	json_object_object_add(root, "entry", json_text(f->entry));
	json_object_object_add(root, "rule",
			       s->chosen < N_RULES ? json_text(choose_rule_name(s->chosen)) : NULL);
	json_object_object_add(root, "reason", json_text(f->explain));
	json_object_object_add(root, "chain", json_chain(s));
	json_object_object_add(root, "tries_left", counter ? json_object_new_int64(counter->left) : NULL);
	json_object_object_add(root, "cpu_granules", json_page_size_set(system_cpu()));
	json_object_object_add(root, "failures", json_strings(&f->failures));
	json_object_object_add(root, "left_out", json_strings(&f->left_out));
	json_object_object_add(root, "trial", json_trial(s));
	json_object_object_add(root, "last_trial", json_object_get(s->last_trial));
	json_print(root);
}

int cmd_why(const struct options *o)
{
	struct story s;

	read_story(o, &s);
	bool known = s.facts.record || s.facts.entry;
	if (o->json)
		print_json(&s);
	else
		print_story(&s);
	if (!known)
		complain("the loader that started this system does not say what it booted");
	free_story(&s);
	return known ? EXIT_DONE : EXIT_FAILED;
}
