/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "boot_kind.h"
#include "crash.h"
#include "grub/grub_menu.h"
#include "system.h"

static bool same(const char *a, const char *b)
{
	return a && b && strcasecmp(a, b) == 0;
}

bool boot_is_of(const struct boot_facts *facts, const struct entry_set *set, const char *id)
{
	if (!facts->entry || !id || same(facts->entry, id))
		return facts->entry && id;
	/* Menus of GRUB's have most entries twice. */
	const struct entry *booted = set && set->grub ? entry_set_by_id(set, facts->entry) : NULL;
	const struct entry *named = booted ? entry_set_by_id(set, id) : NULL;
	return named && grub_boots_same(booted, named);
}

bool boot_is_of_trial(const struct boot_facts *facts, const struct entry_set *set, const struct trial *t)
{
	struct span mark = trial_words_mark(t);

	if (t->words && !(mark.n && facts->trial && span_equal(mark, span_of(facts->trial))))
		return false;
	return boot_is_of(facts, set, t->entry);
}

bool boot_runs_trial(const struct boot *b)
{
	return b->has_trial && !b->from_kexec &&
	       boot_is_of_trial(&b->facts, b->has_change ? &b->change.set : NULL, &b->trial);
}

static enum boot_kind kind_of(const struct boot *b)
{
	const struct trial *t = &b->trial;
	bool its_entry = boot_runs_trial(b);

	if (b->has_trial && t->stage == TRIAL_ARMED) {
		/* The boot in which it was armed is not its own. */
		if (same(b->boot_id, t->boot_id))
			return t->unfinished && t->used > 1 ? BOOT_ARMING : BOOT_ORDINARY;
		return its_entry ? BOOT_TRIAL : BOOT_INSTEAD;
	}
	if (b->has_trial && t->stage == TRIAL_PASSED)
		return BOOT_PASSED_BEFORE;
	if (b->has_trial && t->stage == TRIAL_FAILED && t->unfinished)
		return BOOT_FAILED_BEFORE;
	/* A trial entry runs that is not, or no more, on trial. */
	if (its_entry && (t->file || t->words) && !same(b->boot_id, t->judged_in))
		return BOOT_TRIAL_AGAIN;
	/* The same by its words, unless they were judged a moment ago. */
	if (b->facts.trial && !its_entry && !b->from_kexec && !b->judged_trial)
		return BOOT_TRIAL_AGAIN;
	if (b->has_change && !b->from_kexec) {
		const struct entry *e = entry_set_by_id(&b->change.set, b->facts.entry);
		if (e && e->bls.trial && !its_entry)
			return BOOT_TRIAL_AGAIN;
	}
	return BOOT_ORDINARY;
}

/* What an earlier run in this boot found. */
static void read_judged(struct boot *b)
{
	size_t damaged;
	json_object *lines = history_read(&b->state, &damaged);

	free(b->judged);
	free(b->judged_reason);
	b->judged = b->judged_reason = NULL;
	for (size_t i = json_object_array_length(lines); i-- > 0 && !b->judged;) {
		json_object *line = json_object_array_get_idx(lines, i);
		const char *kind = history_text(line, "kind"), *id = history_text(line, "boot_id"),
			   *verdict = history_text(line, "verdict"), *reason = history_text(line, "reason");

		if (!kind || !id || strcmp(kind, "boot") != 0 || strcmp(id, b->boot_id) != 0)
			continue;
		b->judged = xstrdup(verdict ? verdict : "?");
		b->judged_reason = reason ? xstrdup(reason) : NULL;
		b->judged_trial = history_is_trial(line);
	}
	json_object_put(lines);
}

static int read_state(struct boot *b)
{
	int r = state_open_locked(b->o, &b->state);

	if (r == 0)
		r = verified_read(&b->state, &b->verified);
	if (r == 0) {
		r = trial_read(&b->state, &b->trial);
		b->has_trial = r == 0;
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0)
		read_judged(b);
	/* Without the ESP there is still a verdict. */
	if (r == 0)
		b->has_change = change_start(b->o, &b->change) == 0;
	if (r == 0 && b->has_change)
		boot_facts_complete(b->o, &b->change.set, &b->facts);
	return r;
}

int boot_open(const struct options *o, struct boot *ret)
{
	*ret = (struct boot){
		.o = o,
		.from_kexec = system_from_kexec(o),
		.boot_id = system_boot_id(o),
		.release = system_release(o),
		.state = { .lock = -1 },
	};
	settings_read(o, &ret->settings);
	boot_facts_read(o, &ret->facts);
	if (!ret->boot_id) {
		complain("/proc/sys/kernel/random/boot_id cannot be read; mount /proc");
		return -ENOENT;
	}
	int r = read_state(ret);
	if (r == 0)
		ret->kind = kind_of(ret);
	return r;
}

void boot_unlock(struct boot *b)
{
	if (b->has_change)
		change_free(&b->change);
	b->has_change = false;
	verified_free(&b->verified);
	trial_free(&b->trial);
	b->has_trial = false;
	state_close(&b->state);
}

int boot_lock_again(struct boot *b)
{
	enum boot_kind before = b->kind;
	int r = read_state(b);

	if (r < 0)
		return r;
	b->kind = kind_of(b);
	/* A partition that could not be read at first may tell of an entry whose trial is over. */
	if (b->kind == before || b->kind == BOOT_TRIAL_AGAIN)
		return 0;
	complain("the trial was judged or changed while the system was looked at; nothing was done");
	return -EALREADY;
}

void boot_close(struct boot *b)
{
	boot_unlock(b);
	settings_free(&b->settings);
	boot_facts_free(&b->facts);
	baseline_free(&b->now);
	strings_free(&b->problems);
	verdict_free(&b->verdict);
	free(b->note);
	free(b->judged);
	free(b->judged_reason);
	free(b->boot_id);
	free(b->release);
}

/* ---- why a trial does not run ---- */

static bool esp_changed(const struct boot *b)
{
	struct partition p;
	bool changed = false;

	if (!b->trial.esp || !b->has_change || !b->change.places.esp ||
	    partition_of(b->change.places.esp, &p) < 0)
		return false;
	changed = p.uuid && strcasecmp(p.uuid, b->trial.esp) != 0;
	partition_free(&p);
	return changed;
}

/* What the loader of this very boot says of the one-shot; NULL if it saw none of ours. */
static char *word_of_loader(const struct boot *b, bool *ret_final)
{
	struct span record = span_of(b->facts.record), asked, reason;
	enum choose_outcome outcome;
	const char *failure = verdict_failure_of(&b->facts, span_of(b->trial.entry));

	/* GRUB tells what it could not load, and not always what that was wanted for. */
	if (b->facts.from_words && failure) {
		*ret_final = true;
		return xstrdup(failure);
	}
	if (!record.p || !boot_record_rule(record, RULE_ONESHOT, &asked, &outcome))
		return NULL;
	*ret_final = true;
	if (!trial_is_named(&b->trial, asked))
		return xprintf("another one-shot took its place: %.*s", (int)asked.n, asked.p);
	if (boot_record_get(record, SPAN("reason"), &reason) &&
	    span_equal(reason, span_of(choose_rule_name(RULE_MENU))))
		return xprintf("somebody picked %s in the boot menu",
			       b->facts.entry ? b->facts.entry : "another entry");
	failure = verdict_failure_of(&b->facts, asked);
	*ret_final = outcome != OUTCOME_UNUSABLE || !failure;
	switch (outcome) {
	case OUTCOME_NO_ENTRY:
		return xprintf("the entry %s is not there: somebody removed it", b->trial.entry);
	case OUTCOME_UNSUPPORTED:
		return xprintf("this CPU lacks %s pages", page_size_title(b->trial.page_size));
	case OUTCOME_NOT_CLEARED:
		return xstrdup("the loader could not clear the one-shot, and did not obey it");
	case OUTCOME_UNUSABLE:
		return failure ? xstrdup(failure)
			       : xprintf("%s cannot be started: its kernel or initrd is missing or damaged",
					 b->trial.entry);
	default:
		return xprintf("the loader passed over %s: %s", b->trial.entry, choose_outcome_name(outcome));
	}
}

/* The one-shot waits as it did. */
static char *why_not_seen(const struct boot *b)
{
	const struct grub_block *block = b->change.set.grub ? grub_wishes(b->change.set.grub) : NULL;

	if (!block)
		return xstrdup(
			"the loader did not see the one-shot: this boot went past it, or it cannot clear it");
	return xprintf("GRUB did not obey the one-shot in %s: %s", block->path,
		       block->problem    ? block->problem
		       : block->obstacle ? block->obstacle
					 : "it could not clear it, or this boot went past it");
}

char *boot_absence_reason(const struct boot *b, bool *ret_final)
{
	char *reason;

	*ret_final = true;
	if (b->from_kexec)
		return xstrdup("the machine was restarted by kexec, past the boot loader");
	if (esp_changed(b))
		return xstrdup("the EFI system partition is not the one that the trial was armed on");
	const struct entry *e = b->has_change ? entry_set_by_id(&b->change.set, b->trial.entry) : NULL;
	reason = word_of_loader(b, ret_final);
	if (reason) {
		/* What came back may not do so twice; what is still damaged will. */
		*ret_final = *ret_final || !e || e->unusable;
		return reason;
	}
	if (b->trial.unfinished && b->trial.used == 1)
		return xstrdup("'granule try' was cut short before it was armed");
	if (b->has_change && trial_is_armed(&b->change, &b->trial))
		return why_not_seen(b);
	/* Armed by somebody else since: it is not for us to take its place. */
	if (b->has_change && b->change.set.input.oneshot.n)
		return xprintf("another one-shot waits in its place: %.*s",
			       (int)b->change.set.input.oneshot.n, b->change.set.input.oneshot.p);
	if (b->has_change && b->trial.file && !trial_entry_exists(&b->change, &b->trial))
		return xprintf("the entry %s is not there: somebody removed it", b->trial.entry);
	/* Loaders that tell nothing. */
	if (e && e->unusable)
		return xprintf("%s cannot be started: %s", b->trial.entry, loaded(e)->problem);
	*ret_final = false;
	reason = crash_reason(b->o, &b->trial.dumps);
	return reason ? reason
		      : xstrdup("no reason is known, and no panic was left in pstore: it hung, or was "
				"reset or switched off before its verdict");
}

bool history_has_verdict(struct state *s, const char *boot_id, const char *verdict)
{
	size_t damaged;
	json_object *lines = history_read(s, &damaged);
	bool found = false;

	for (size_t i = json_object_array_length(lines); i-- > 0 && !found;) {
		json_object *line = json_object_array_get_idx(lines, i);
		const char *id = history_text(line, "boot_id"), *word = history_text(line, "verdict");

		found = history_is_trial(line) && id && boot_id && strcmp(id, boot_id) == 0 && word &&
			strcmp(word, verdict) == 0;
	}
	json_object_put(lines);
	return found;
}
