/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state is not locked while the system is looked at, which may take minutes: it is read before, and again
 * for the verdict. Whoever is first, this or the deadline, decides. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "boot_judge.h"
#include "boot_kind.h"
#include "crash.h"
#include "loaders/loader.h"
#include "system.h"
#include "variables.h"

#define OWN_UNIT "granule-verify.service"

/* ---- the verdict ---- */

/* Of one reason; a system in ruins should not fill the history. */
#define PROBLEMS_MAX 10

static void join_problems(const struct strings *problems, char **ret)
{
	size_t n = problems->n;

	for (size_t i = 0; i < n && i < PROBLEMS_MAX; i++) {
		char *longer =
			*ret ? xprintf("%s; %s", *ret, problems->items[i]) : xstrdup(problems->items[i]);
		free(*ret);
		*ret = longer;
	}
	if (n > PROBLEMS_MAX) {
		char *longer = xprintf("%s; %zu more", *ret, n - PROBLEMS_MAX);
		free(*ret);
		*ret = longer;
	}
}

static int add_line(struct boot *b, const char *kind, const char *verdict, const char *reason)
{
	bool trial = b->kind == BOOT_TRIAL;
	struct history_line line = {
		.kind = kind,
		.boot_id = b->boot_id,
		.entry = b->facts.entry,
		.entry_asked = trial ? b->trial.target : NULL,
		.release = b->release,
		.page_size = b->verdict.running,
		.page_size_asked = trial ? b->trial.page_size : b->verdict.expected,
		.trial = trial || b->kind == BOOT_TRIAL_AGAIN,
		.verdict = verdict,
		.reason = reason,
		.boot_seconds = system_uptime(b->o),
		.loader = b->facts.loader,
	};

	return history_write(&b->state, &line);
}

/* Whether what was not obeyed in this boot is the one-shot of the trial: that is the trial's failure, not one
 * of what boots instead. */
static bool is_trials_one_shot(const struct boot *b)
{
	return b->has_trial && b->verdict.rule == RULE_ONESHOT &&
	       span_equal_nocase(b->verdict.entry_expected, span_of(b->trial.entry));
}

/* A kernel that runs with another page size than the entry that was booted is known to have. */
static void judge_entry(struct boot *b)
{
	const struct entry *e = b->has_change ? entry_set_by_id(&b->change.set, b->facts.entry) : NULL;
	enum page_size size = b->facts.asked != PAGE_SIZE_UNKNOWN || !e ? b->facts.asked : e->page_size;

	if (size == PAGE_SIZE_UNKNOWN || page_size_bytes(size) == b->verdict.running)
		return;
	verdict_free(&b->verdict);
	verdict_judge(b->o, &b->facts, size, &b->verdict);
}

/* Names and sizes that are wrong come before anything that is merely unwell. */
static void judge(struct boot *b)
{
	bool trial = b->kind == BOOT_TRIAL;

	verdict_judge(b->o, &b->facts, trial ? b->trial.page_size : PAGE_SIZE_UNKNOWN, &b->verdict);
	if (b->from_kexec && !trial) {
		/* What the loader says is of an earlier boot. */
		b->verdict.asked = false;
		b->verdict.broken_link = NULL;
	}
	if (!trial && b->kind != BOOT_TRIAL_AGAIN && is_trials_one_shot(b)) {
		b->verdict.asked = false;
		b->verdict.broken_link = NULL;
	}
	/* Without a record nobody can tell a one-shot of the owner's from a loader's mistake. */
	if (!trial && !b->facts.record && b->verdict.broken_link) {
		b->note = b->verdict.message;
		b->verdict.message = NULL;
		b->verdict.broken_link = NULL;
		b->verdict.asked = false;
	}
	/* Nothing was asked for, and still an entry has a page size. */
	if (!b->verdict.asked && !b->from_kexec)
		judge_entry(b);
	if (b->verdict.broken_link)
		strings_add(&b->problems, xprintf("%s: %s", b->verdict.broken_link, b->verdict.message));
	if (trial && !b->has_change)
		strings_add(&b->problems, xstrdup("mount: the EFI system partition cannot be read"));
	if (trial && b->trial.release && b->release && strcmp(b->trial.release, b->release) != 0)
		strings_add(&b->problems,
			    xprintf("kernel: release %s runs instead of %s", b->release, b->trial.release));
}

/* The owner says that what is missed since an earlier boot is not to be missed: it becomes a note. Checks
 * that fail are no comparison, and stay. */
static void accept_differences(struct boot *b, size_t from)
{
	struct strings kept = { 0 }, accepted = { 0 };

	for (size_t i = 0; i < b->problems.n; i++) {
		bool check = strncmp(b->problems.items[i], "check ", 6) == 0;
		strings_add(i < from || check ? &kept : &accepted, b->problems.items[i]);
	}
	free(b->problems.items);
	b->problems = kept;
	if (accepted.n) {
		_cleanup_free_ char *texts = NULL, *before = b->note;
		join_problems(&accepted, &texts);
		b->note = xprintf("%s%saccepted: %s", before ? before : "", before ? "; " : "", texts);
	}
	strings_free(&accepted);
}

static void look(struct boot *b, const struct baseline *baseline)
{
	health_settle(b->o, &b->settings, OWN_UNIT, &b->problems);
	setenv("GRANULE_TRIAL", b->kind == BOOT_TRIAL ? "1" : "0", 1);
	if (b->facts.entry)
		setenv("GRANULE_ENTRY", b->facts.entry, 1);
	size_t settled = b->problems.n;
	health_look(b->o, &b->settings, baseline, &b->now, &b->problems);
	if (b->o->force && b->kind != BOOT_TRIAL)
		accept_differences(b, settled);
}

/* ---- what is recorded as verified ---- */

/* Makes `entry` the current choice. What was, becomes the previous one. */
static void remember(struct boot *b, const char *entry, enum page_size size, enum choice_wish wish)
{
	struct verified *v = &b->verified;

	if (v->current.entry && strcasecmp(v->current.entry, entry) != 0) {
		choice_free(&v->previous);
		v->previous = v->current;
		v->current = (struct choice){ 0 };
	}
	choice_free(&v->current);
	v->current = (struct choice){
		.entry = xstrdup(entry),
		.page_size = size,
		.release = b->release ? xstrdup(b->release) : NULL,
		.wish = wish,
		.boot_id = b->boot_id ? xstrdup(b->boot_id) : NULL,
		.time = time(NULL),
	};
	baseline_free(&v->baseline);
	v->baseline = b->now;
	b->now = (struct baseline){ 0 };
}

/* ---- what follows from a trial ----
 *
 * The record comes first, marked as unfinished; then the history, the loader and the entries; then the record
 * again. Whatever is cut short, the next run goes on from the record, in this boot or a later one. */

static bool judged_here(const struct boot *b)
{
	return b->trial.judged_in && b->boot_id && strcmp(b->trial.judged_in, b->boot_id) == 0;
}

static bool is_own_boot(const struct boot *b)
{
	return judged_here(b) && boot_runs_trial(b);
}

static void set_text(char **text, const char *value)
{
	char *copy = value ? xstrdup(value) : NULL;

	free(*text);
	*text = copy;
}

static void set_verdict(struct boot *b, enum trial_stage stage, const char *verdict, const char *reason)
{
	b->trial.stage = stage;
	b->trial.unfinished = true;
	set_text(&b->trial.judged_in, b->boot_id);
	set_text(&b->trial.verdict, verdict);
	set_text(&b->trial.reason, reason);
}

/* Puts a verdict of the trial into the history, if it is not there. */
static int tell_trial(struct boot *b, const char *boot_id, const char *verdict)
{
	const struct trial *t = &b->trial;
	bool own = is_own_boot(b);
	struct history_line line = {
		.kind = own ? "boot" : "trial",
		.boot_id = boot_id,
		.entry = t->entry,
		.entry_asked = t->target,
		.release = own ? b->release : t->release,
		.page_size = own ? system_page_size_below(b->o) : 0,
		.page_size_asked = t->page_size,
		.trial = true,
		.verdict = verdict,
		.reason = t->reason,
		.boot_seconds = own ? system_uptime(b->o) : 0,
		.loader = own ? b->facts.loader : NULL,
	};

	return history_has_verdict(&b->state, boot_id, verdict) ? 0 : history_write(&b->state, &line);
}

static int tell_verdict(struct boot *b)
{
	return tell_trial(b, b->trial.judged_in, b->trial.verdict ? b->trial.verdict : "failed");
}

/* Without the partition there is nothing to clear yet: the record stays unfinished. */
static int clear_and_finish(struct boot *b, int r)
{
	int cleared = b->has_change ? trial_clear(&b->change, &b->trial) : 0;

	r = r < 0 ? r : cleared;
	if (r == 0)
		b->trial.unfinished = !b->has_change;
	return r;
}

/* Verified before it is the default: what boots by default always is. The baseline is of the boot that was
 * looked at; when another one goes on from the record, it stays. */
static int remember_target(struct boot *b)
{
	struct verified *v = &b->verified;
	struct trial *t = &b->trial;

	if (v->current.entry && strcasecmp(v->current.entry, t->target) == 0)
		return 0;
	choice_free(&v->previous);
	v->previous = v->current;
	v->current = (struct choice){
		.entry = xstrdup(t->target),
		.page_size = t->page_size,
		.release = t->release ? xstrdup(t->release) : NULL,
		.wish = t->by_size ? WISH_POLICY : WISH_DEFAULT,
		.boot_id = t->judged_in ? xstrdup(t->judged_in) : NULL,
		.time = time(NULL),
	};
	return verified_write(&b->state, v);
}

/* Makes it the default, once: what the owner wants afterwards is not taken back. */
static int promote(struct boot *b)
{
	enum choice_wish wish = WISH_DEFAULT;

	if (b->trial.keep || !b->trial.unfinished)
		return 0;
	int r = trial_promote(&b->change, &b->trial, &wish);
	if (r == 0 && b->verified.current.wish != wish) {
		b->verified.current.wish = wish;
		r = verified_write(&b->state, &b->verified);
	}
	return r;
}

/* It keeps what to fall back on, and may count boots until then. */
static int tell_loader(struct boot *b, const char *id)
{
	const struct loader *loader = loader_of(&b->change.set);

	return loader->verified ? loader->verified(&b->change, id) : 0;
}

/* What is left to do for a trial that passed. Each step may have been done already. */
static int finish_passed(struct boot *b)
{
	struct trial *t = &b->trial;

	if (!b->has_change)
		return -ENOENT;
	int r = t->keep ? 0 : remember_target(b);
	if (r == 0)
		r = tell_verdict(b);
	if (r == 0)
		r = promote(b);
	if (r == -ENOENT) {
		/* Its entry or kernel went in the meantime. */
		set_verdict(b, TRIAL_FAILED, "failed", "passed, and is not there any more");
		if (trial_write(&b->state, t) == 0 && clear_and_finish(b, tell_verdict(b)) == 0)
			trial_write(&b->state, t);
		return r;
	}
	bool promoted = r == 0;
	if (r == 0 && !t->keep)
		r = tell_loader(b, t->target);
	r = clear_and_finish(b, r);
	if (r == 0)
		return trial_remove(&b->state);
	if (promoted) {
		t->unfinished = false;
		trial_write(&b->state, t);
	}
	return r;
}

/* The default that the trial takes the place of, as it is wanted now: a policy may have come since it was
 * verified as an entry. */
static void note_wish(struct boot *b)
{
	struct next_boot by_default;

	if (!b->has_change)
		return;
	default_boot(&b->change.set, &by_default);
	if (by_default.entry && b->verified.current.entry &&
	    span_equal_nocase(by_default.entry->id, span_of(b->verified.current.entry)))
		b->verified.current.wish = wish_of_default(&b->change.set);
}

static int trial_passed(struct boot *b)
{
	struct trial *t = &b->trial;

	note_wish(b);
	set_verdict(b, TRIAL_PASSED, "passed", b->note);
	int r = trial_write(&b->state, t);
	if (r == 0 && !t->keep) {
		remember(b, t->target, t->page_size, t->by_size ? WISH_POLICY : WISH_DEFAULT);
		r = verified_write(&b->state, &b->verified);
	}
	return r < 0 ? r : finish_passed(b);
}

/* Whether the next boot, with what may still be armed, is of something else that can be booted. Without the
 * partition it is what the loader said: a one-shot that it obeys is used up. */
static bool default_is_elsewhere(struct boot *b)
{
	struct next_boot next;

	if (!b->has_change) {
		_cleanup_free_ char *oneshot = variable_get(VENDOR_LOADER, "LoaderEntryOneShot");
		return !trial_is_named(&b->trial, span_of(oneshot));
	}
	next_boot(&b->change.set, &next);
	return next.entry && !entry_obstacle(&b->change.set, next.entry) &&
	       !boot_is_of(&b->facts, &b->change.set, loaded(next.entry)->id);
}

/* Once, and only out of the trial's own boot. */
static void lead_back(struct boot *b, bool recorded)
{
	if (!b->settings.reboot_on_failure) {
		complain("staying up, as reboot-on-failure says; the next boot is the default");
	} else if (b->trial.rebooted || !default_is_elsewhere(b) || (!recorded && !b->has_change)) {
		complain("staying up: the next boot may be this entry again");
	} else {
		/* Also without a record: the one-shot is used up, and a boot of the default never reboots. */
		b->trial.rebooted = true;
		b->reboot = true;
	}
}

/* What is left to do for a trial that failed, or did not come up. Each step may have been done already; `r`
 * is what came of its record. */
static int finish_failed(struct boot *b, int r)
{
	bool recorded = r == 0;

	if (recorded)
		r = tell_verdict(b);
	else if (!is_own_boot(b))
		return r; /* the next run finds everything as it was */
	r = clear_and_finish(b, r);
	if (is_own_boot(b))
		lead_back(b, recorded);
	if (!recorded)
		return r;
	int written = trial_write(&b->state, &b->trial);
	return r < 0 ? r : written;
}

static int trial_failed(struct boot *b, const char *reason)
{
	set_verdict(b, TRIAL_FAILED, "failed", reason);
	return finish_failed(b, trial_write(&b->state, &b->trial));
}

/* The one-shot, when the record says that it is to be armed once more. */
static int arm_again(struct boot *b)
{
	struct trial *t = &b->trial;
	int r = trial_arm(&b->change, t);

	if (r == 0)
		r = tell_trial(b, t->boot_id, "not-come-up");
	if (r < 0)
		return r;
	set_text(&t->reason, NULL);
	t->unfinished = false;
	r = trial_write(&b->state, t);
	if (r == 0 && !b->o->json)
		say(stdout, "the trial of %s is armed again for the next boot, try %u of %u", t->target,
		    t->used, t->tries);
	return r;
}

/* It was armed, and something else runs: tries are left, or it is over. */
static int trial_absent(struct boot *b)
{
	struct trial *t = &b->trial;
	bool final;
	_cleanup_free_ char *reason = boot_absence_reason(b, &final);

	if (!b->o->json)
		say(stdout, "the trial of %s did not come up: %s", t->target, reason);
	if (!final && t->used < t->tries) {
		/* The next run may find the partition. */
		if (!b->has_change)
			return -ENOENT;
		t->used++;
		t->unfinished = true;
		set_text(&t->boot_id, b->boot_id);
		trial_words_renew(t);
		set_text(&t->reason, reason);
		strings_free(&t->dumps);
		crash_list(b->o, &t->dumps);
		int r = trial_write(&b->state, t);
		return r < 0 ? r : arm_again(b);
	}
	set_verdict(b, TRIAL_FAILED,
		    b->from_kexec || (t->unfinished && t->used == 1) ? "canceled" : "not-come-up", reason);
	return finish_failed(b, trial_write(&b->state, t));
}

/* ---- the other boots ---- */

static bool runs_by_default(const struct boot *b)
{
	struct next_boot by_default;

	if (!b->facts.entry || !b->has_change || b->from_kexec)
		return false;
	default_boot(&b->change.set, &by_default);
	return by_default.entry && boot_is_of(&b->facts, &b->change.set, loaded(by_default.entry)->id);
}

/* An ordinary boot that is fine, of what boots by default, is what later ones are compared with. */
static int ordinary(struct boot *b, const char *reason)
{
	const char *verdict = reason ? "failed" : b->verdict.asked ? "ok" : "nothing-asked";
	/* Without the partition (a line about it has been printed) nothing is known of the default. */
	int r = b->has_change ? 0 : -ENOENT;

	if (!reason && runs_by_default(b)) {
		remember(b, b->facts.entry, page_size_from_bytes(b->verdict.running),
			 wish_of_default(&b->change.set));
		r = verified_write(&b->state, &b->verified);
		if (r == 0)
			r = tell_loader(b, b->verified.current.entry);
		/* Without a line the next run judges it anew. */
		if (r < 0)
			return r;
	}
	/* What was found in order counts; a failure may be over, or another one. */
	bool told = b->judged && (strcmp(b->judged, "failed") != 0 ||
				  (reason && b->judged_reason && strcmp(reason, b->judged_reason) == 0));
	if (!told) {
		int added = add_line(b, "boot", verdict, reason ? reason : b->note);
		r = r < 0 ? r : added;
	}
	return r;
}

/* What earlier boots left behind. The trial that is recorded is dealt with by what follows. */
static void sweep(struct boot *b)
{
	bool concerned = b->has_trial &&
			 (trial_is_pending(&b->trial) || b->trial.unfinished || b->kind == BOOT_TRIAL_AGAIN);

	if (b->has_change && !b->o->dry_run)
		trial_sweep(&b->change, concerned ? &b->trial : NULL);
}

/* A trial entry whose trial is over: nothing more is done to this machine than to clear it. */
static int trial_again(struct boot *b)
{
	int r = 0;

	strings_add(&b->problems, xstrdup("loader: the one-shot of a trial was not cleared, or its entry "
					  "was picked again"));
	if (!b->judged)
		r = add_line(b, "boot", "failed", b->problems.items[b->problems.n - 1]);
	/* Its entry is what the next run knows it by. */
	if (r < 0)
		return r;
	r = b->has_change ? trial_clear(&b->change, &b->trial) : 0;
	sweep(b);
	return r;
}

/* What an earlier run in this boot, or a boot before this one, left undone. */
static int finish(struct boot *b)
{
	switch (b->kind) {
	case BOOT_INSTEAD:
		return trial_absent(b);
	case BOOT_ARMING:
		return b->has_change ? arm_again(b) : 0;
	case BOOT_PASSED_BEFORE:
		return finish_passed(b);
	case BOOT_FAILED_BEFORE:
		return finish_failed(b, 0);
	default:
		return 0;
	}
}

static int act(struct boot *b, const char *reason)
{
	if (b->kind == BOOT_TRIAL)
		return reason ? trial_failed(b, reason) : trial_passed(b);
	if (b->kind == BOOT_TRIAL_AGAIN)
		return trial_again(b);
	int r = finish(b);
	int own = ordinary(b, reason);
	return r < 0 ? r : own;
}

static void print_json(const struct boot *b, bool ok, bool trial)
{
	json_object *root = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < b->problems.n; i++)
		json_object_array_add(list, json_text(b->problems.items[i]));
	json_object_object_add(root, "ok", json_object_new_boolean(ok));
	json_object_object_add(root, "trial", json_object_new_boolean(trial));
	json_object_object_add(root, "page_size", json_object_new_int64((int64_t)b->verdict.running));
	json_object_object_add(root, "entry", json_text(b->facts.entry));
	json_object_object_add(root, "problems", list);
	json_object_object_add(root, "rebooting", json_object_new_boolean(b->reboot));
	json_print(root);
}

static int say_verdict(struct boot *b, const char *reason, int r)
{
	bool trial = b->kind == BOOT_TRIAL;
	_cleanup_free_ char *what = trial ? trial_text(&b->trial) : NULL;

	if (b->o->json) {
		print_json(b, !b->problems.n && r == 0, trial);
	} else if (trial) {
		say(stdout, "trial of %s: %s%s%s", what, reason ? "failed: " : "passed", reason ? reason : "",
		    reason || b->trial.keep || r < 0 ? ""
		    : b->o->dry_run                  ? "; it would be the default now"
						     : "; it is the default now");
	} else if (b->problems.n) {
		for (size_t i = 0; i < b->problems.n; i++)
			say(stdout, "FAILED: %s", b->problems.items[i]);
	} else {
		say(stdout, "ok: %llu-byte pages%s%s%s%s", (unsigned long long)b->verdict.running,
		    b->facts.entry ? ", entry " : "", b->facts.entry ? b->facts.entry : "",
		    b->note ? "; " : "", b->note ? b->note : "");
	}
	if (b->reboot && !b->o->json)
		puts(b->o->dry_run ? "would reboot into the default" : "rebooting into the default");
	if (b->o->dry_run && !b->o->json)
		puts("nothing was recorded (--dry-run)");
	return r < 0 || b->problems.n ? EXIT_FAILED : EXIT_DONE;
}

/* The second run in a boot completes what the first one began, and says what it found. A failure that was no
 * trial's may be over. */
static bool judged_before(struct boot *b, int *ret_exit)
{
	bool own_trial = (b->kind == BOOT_PASSED_BEFORE || b->kind == BOOT_FAILED_BEFORE) && is_own_boot(b);

	if (!own_trial && (!b->judged || (strcmp(b->judged, "failed") == 0 && !b->judged_trial)))
		return false;
	if (b->kind == BOOT_TRIAL || b->kind == BOOT_TRIAL_AGAIN)
		return false;
	/* It was in order, and could not be recorded as verified. */
	if (!own_trial && strcmp(b->judged, "failed") != 0 && runs_by_default(b) &&
	    !(b->verified.current.boot_id && strcmp(b->verified.current.boot_id, b->boot_id) == 0))
		return false;
	_cleanup_free_ char *verdict =
		xstrdup(own_trial ? b->trial.verdict ? b->trial.verdict : "?" : b->judged);
	const char *found = own_trial ? b->trial.reason : b->judged_reason;
	_cleanup_free_ char *reason = found ? xstrdup(found) : NULL;
	bool failed = strcmp(verdict, "failed") == 0;
	int r = finish(b);

	if (failed)
		strings_add(&b->problems, xstrdup(reason ? reason : verdict));
	b->verdict.running = system_page_size_below(b->o);
	if (b->o->json)
		print_json(b, !failed && r == 0, b->judged_trial || own_trial);
	else
		say(stdout, "judged before in this boot: %s%s%s", verdict, reason ? ": " : "",
		    reason ? reason : "");
	if (b->reboot && !b->o->json)
		puts("rebooting into the default");
	*ret_exit = failed || r < 0 ? EXIT_FAILED : EXIT_DONE;
	return true;
}

static void boot_end(struct boot *b)
{
	const struct options *o = b->o;

	boot_close(b);
	if (b->reboot && !o->dry_run && !system_is_other(o) && health_reboot(o) < 0)
		complain("the machine cannot be rebooted; the default boots next time");
}

/* For the drop-in of systemd-bless-boot.service. */
static void note_trial_entry(const struct boot *b)
{
	_cleanup_free_ char *folder = path_join(b->o->root, "run/granule");
	_cleanup_free_ char *path = path_join(folder, "trial-entry");

	if (!trial_entry_has_id(b->facts.entry) || b->from_kexec || b->o->dry_run)
		return;
	mkdir(folder, 0755);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		complain("%s: %s", path, strerror(errno));
}

int boot_judge(const struct options *o)
{
	struct boot b;
	_cleanup_free_ char *reason = NULL;
	int exit_code = EXIT_FAILED, r;

	r = boot_open(o, &b);
	note_trial_entry(&b);
	/* A dry run looks as often as one likes. */
	if (r == 0 && (o->dry_run || !judged_before(&b, &exit_code))) {
		judge(&b);
		if (b.kind != BOOT_TRIAL_AGAIN) {
			/* Outlives what is read anew. */
			struct baseline baseline = b.verified.baseline;
			b.verified.baseline = (struct baseline){ 0 };
			boot_unlock(&b);
			look(&b, &baseline);
			baseline_free(&baseline);
			r = boot_lock_again(&b);
			if (r < 0)
				goto out;
		}
		if (b.kind == BOOT_TRIAL && b.trial.deadline_s && system_uptime(o) > b.trial.deadline_s)
			strings_add(&b.problems, boot_deadline_reason(b.trial.deadline_s));
		join_problems(&b.problems, &reason);
		if (b.kind != BOOT_TRIAL_AGAIN)
			sweep(&b);
		r = act(&b, reason);
		exit_code = say_verdict(&b, reason, r);
	}
out:
	boot_end(&b);
	return exit_code;
}

int boot_fail_trial(const struct options *o, const char *reason)
{
	struct boot b;
	int exit_code = EXIT_DONE;
	int r = boot_open(o, &b);

	if (r == 0 && b.kind == BOOT_TRIAL) {
		verdict_judge(o, &b.facts, b.trial.page_size, &b.verdict);
		strings_add(&b.problems, xstrdup(reason));
		exit_code = say_verdict(&b, reason, trial_failed(&b, reason));
	}
	boot_end(&b);
	return r < 0 ? r : exit_code;
}
