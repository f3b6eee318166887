/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `try`: boots an entry once, on trial. What boots by default stays, until `verify --boot` has found the
 * trial in order. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "boot_kind.h"
#include "crash.h"
#include "history.h"
#include "identity.h"
#include "image_file.h"
#include "loaders/loader.h"
#include "system.h"
#include "trial.h"
#include "way_back.h"

struct job {
	const struct options *o;
	struct settings settings;
	struct state state;
	struct verified verified;
	struct trial trial; /* that is pending */
	bool pending;
	struct change change;
};

static int job_start(const struct options *o, struct job *j)
{
	*j = (struct job){ .o = o };
	settings_read(o, &j->settings);
	int r = state_open_locked(o, &j->state);
	if (r == 0)
		r = verified_read(&j->state, &j->verified);
	if (r == 0) {
		r = trial_read(&j->state, &j->trial);
		j->pending = r == 0 && trial_is_pending(&j->trial);
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0)
		r = change_start(o, &j->change);
	return r;
}

/* All but the change, which change_end() or change_free() ends. */
static void job_free(struct job *j)
{
	trial_free(&j->trial);
	verified_free(&j->verified);
	state_close(&j->state);
	settings_free(&j->settings);
}

/* What was asked for on the command line, or by the settings. */
static int read_limits(const struct options *o, const struct settings *s, struct trial *t)
{
	char *end = NULL;

	t->tries = s->tries;
	t->deadline_s = s->deadline_s;
	t->keep = o->keep;
	if (o->tries) {
		unsigned long n = strtoul(o->tries, &end, 10);
		if (*o->tries < '1' || *o->tries > '9' || *end || n > TRIES_MAX) {
			complain("--tries %s: not a number from 1 to %d", o->tries, TRIES_MAX);
			return -EINVAL;
		}
		t->tries = (unsigned)n;
	}
	if (o->deadline && !duration_parse(o->deadline, &t->deadline_s)) {
		complain("--deadline %s: not a duration, such as 90s or 10m", o->deadline);
		return -EINVAL;
	}
	return 0;
}

static char *esp_uuid(const struct places *places)
{
	struct partition p;
	char *uuid = NULL;

	if (places->esp && partition_of(places->esp, &p) == 0) {
		uuid = p.uuid ? xstrdup(p.uuid) : NULL;
		partition_free(&p);
	}
	return uuid;
}

/* What uname(2) will say, by the kernel itself: the version of an entry can be anything. NULL if not known.
 */
static char *kernel_release(const struct change *c, const struct entry *e)
{
	_cleanup_free_ char *path = NULL, *problem = NULL;
	const char *partition = places_folder(&c->places, e->volume);
	struct image_file image;
	char *release = NULL;

	if (e->release.n)
		return xstrndup(e->release);
	if (!partition || e->bls.start != BLS_START_LINUX)
		return NULL;
	path = xprintf("%s/%.*s", partition, (int)e->bls.path.n, e->bls.path.p);
	if (image_file_read(path, c->o->root, 0, &image, &problem) == 0 && image.release)
		release = xstrdup(image.release);
	image_file_free(&image);
	return release;
}

static void describe(struct job *j, const struct entry *target, bool by_size, struct trial *t)
{
	t->stage = TRIAL_ARMED;
	t->target = xstrndup(target->id);
	t->page_size = target->page_size;
	t->release = kernel_release(&j->change, target);
	t->by_size = by_size;
	t->used = 1;
	t->unfinished = true;
	t->boot_id = system_boot_id(j->o);
	t->esp = esp_uuid(&j->change.places);
	t->time = time(NULL);
	crash_list(j->o, &t->dumps);
}

/* A trial of an earlier boot is judged before it is touched: otherwise its verdict would be lost. */
static int check_judged(struct job *j)
{
	_cleanup_free_ char *boot_id = system_boot_id(j->o);
	struct boot_facts facts;

	if (!j->pending || !boot_id || !j->trial.boot_id || strcmp(boot_id, j->trial.boot_id) == 0)
		return 0;
	boot_facts_read(j->o, &facts);
	boot_facts_complete(j->o, &j->change.set, &facts);
	if (boot_is_of_trial(&facts, &j->change.set, &j->trial))
		complain("this boot is the trial of %s, and has no verdict yet: 'granule verify --boot' "
			 "finds it",
			 j->trial.target);
	else
		complain(
			"a trial of %s was armed in an earlier boot, and 'granule verify --boot' was not run "
			"since; run it first",
			j->trial.target);
	boot_facts_free(&facts);
	return -EBUSY;
}

/* Whether there is anything to try; says why not. */
static int check_target(struct job *j, const struct entry *target)
{
	const char *obstacle = entry_starts_system(target) && target->type != ENTRY_AUTO
				       ? entry_obstacle(&j->change.set, target)
				       : "starts no kernel of this machine";
	struct next_boot by_default;

	if (obstacle && (!j->o->force || target->unusable || target->bls.trial ||
			 !entry_supported(target, j->change.set.cpu))) {
		complain("%.*s: %s", (int)target->id.n, target->id.p, obstacle);
		return -EINVAL;
	}
	if (j->pending && strcasecmp(j->trial.target, loaded(target)->id) != 0) {
		complain("a trial of %s is under way; 'granule try none' gives it up", j->trial.target);
		return -EBUSY;
	}
	if (j->pending && j->trial.stage == TRIAL_PASSED) {
		complain("%s has passed its trial; 'granule verify --boot' makes it the default",
			 j->trial.target);
		return -EBUSY;
	}
	default_boot(&j->change.set, &by_default);
	if (by_default.entry == target && verified_has(&j->verified, target->id)) {
		if (!j->o->json)
			say(stdout, "%.*s boots by default, and was verified: there is nothing to try",
			    (int)target->id.n, target->id.p);
		return -EALREADY;
	}
	return 0;
}

static int check_way_back(struct job *j, const struct entry *target)
{
	struct findings findings = { 0 };

	way_back_check(&j->change, &j->verified, &j->settings, target,
		       trial_entry_possible(target) || trial_words_possible(&j->change, target), &findings);
	findings_print(&findings, j->o->force);
	bool refused = findings_refuse(&findings, j->o->force);
	if (j->o->json)
		j->change.actions.findings = findings_json(&findings);
	findings_free(&findings);
	return refused ? -EPERM : 0;
}

/* The entries as they are now, the trial's among them, so that the next boot can be told. */
static int read_again(struct change *c)
{
	struct entry_set fresh;
	int r = entry_set_load(c->o, &c->places, &fresh);

	if (r < 0)
		return r;
	entry_set_free(&c->set);
	c->set = fresh;
	return 0;
}

/* Takes back what was done before an error. */
static void undo(struct job *j, struct trial *t)
{
	/* What could not be written may be there all the same. */
	if (!j->o->dry_run)
		read_again(&j->change);
	/* Without a record a boot of it would not be judged. */
	if (trial_clear(&j->change, t) == 0)
		trial_remove(&j->state);
}

static void say_so(const struct job *j, const struct trial *t)
{
	struct next_boot by_default;
	_cleanup_free_ char *what = trial_text(t);

	if (j->o->json)
		return;
	default_boot(&j->change.set, &by_default);
	say(stdout, "%s: trial of %s", j->o->dry_run ? "would be armed" : "armed", what);
	if (by_default.entry) {
		_cleanup_free_ char *stays = boots_text(by_default.entry);
		say(stdout, "default stays: %s, %.*s", stays, (int)by_default.entry->id.n,
		    by_default.entry->id.p);
	}
	if (t->tries > 1)
		say(stdout, "if it does not come up it is tried again, %u times in all", t->tries);
	if (!j->o->reboot)
		puts("reboot to start it; 'granule try none' gives it up");
}

/* An entry with the name of the trial's that is none of this system's trials is somebody's own. */
static int check_name(const struct job *j, const struct trial *t)
{
	const struct entry *there = entry_set_by_id(&j->change.set, t->entry);
	struct identity own;

	if (!there)
		return 0;
	identity_read(j->o, &own);
	bool ours = there->bls.trial && identity_owns(&own, there);
	identity_free(&own);
	if (ours)
		return 0;
	complain("%s: has the name that the entry of the trial would have; rename it, or remove it if nobody "
		 "needs it",
		 loaded(there)->source);
	return -EEXIST;
}

static char *default_id(const struct entry_set *set)
{
	struct next_boot by_default;

	default_boot(set, &by_default);
	return by_default.entry ? xstrndup(by_default.entry->id) : NULL;
}

/* Where entries sort by name, one that comes along could be the first; and GRUB does not know a trial's. */
static int check_default_stays(const struct job *j, const char *before)
{
	const struct entry_set *set = &j->change.set;
	_cleanup_free_ char *now = default_id(set);

	if (set->grub && set->entries[0]->bls.trial) {
		complain(
			"the entry of the trial would be the first in GRUB's menu: rename entries whose name "
			"begins with a capital A");
		return -EINVAL;
	}
	if (!before || (now && strcasecmp(now, before) == 0))
		return 0;
	complain("the trial would change what boots by default, from %s to %s", before,
		 now ? now : "nothing");
	return -EINVAL;
}

static int arm(struct job *j, const struct entry *target, bool by_size)
{
	struct trial t = { 0 };
	_cleanup_free_ char *text = NULL;
	struct change *c = &j->change;
	int r = read_limits(j->o, &j->settings, &t);
	_cleanup_free_ char *stays = default_id(&c->set);

	if (r == 0) {
		describe(j, target, by_size, &t);
		r = trial_entry_plan(c, &j->settings, target, &t, &text);
	}
	if (r == 0 && text)
		r = check_name(j, &t);
	if (r == 0)
		r = trial_write(&j->state, &t);
	if (r == 0) {
		struct history_line line = {
			.kind = "request",
			.boot_id = t.boot_id,
			.entry = t.entry,
			.entry_asked = t.target,
			.release = t.release,
			.page_size_asked = t.page_size,
			.trial = true,
			.verdict = "armed",
		};

		if (text)
			r = trial_entry_write(c, &t, text);
		if (r == 0 && !j->o->dry_run)
			r = read_again(c);
		else if (r == 0 && text)
			trial_entry_preview(c, target, &t);
		if (r == 0)
			r = trial_arm(c, &t);
		struct next_boot next;
		next_boot(&c->set, &next);
		if (r == 0)
			r = check_default_stays(j, stays);
		if (r == 0 && !(next.entry && span_equal_nocase(next.entry->id, span_of(t.entry)))) {
			complain("the next boot would not be the trial: %s", next.explanation);
			r = -EINVAL;
		}
		t.unfinished = false;
		if (r == 0)
			r = trial_write(&j->state, &t);
		if (r == 0)
			r = history_write(&j->state, &line);
		if (r < 0)
			undo(j, &t);
		else
			say_so(j, &t);
	}
	trial_free(&t);
	return r;
}

static int try_none(struct job *j)
{
	if (j->pending && j->trial.stage == TRIAL_ARMED)
		return trial_cancel(&j->state, &j->change, &j->trial, "given up by the owner");
	if (j->pending) {
		complain("%s has passed its trial; 'granule rollback' goes back", j->trial.target);
		return -EBUSY;
	}
	/* One whose record was lost. */
	return trial_sweep(&j->change, NULL);
}

int cmd_try(const struct options *o)
{
	const char *word = o->arguments[0];
	struct job j;

	if (options_other_page_size(word))
		return EXIT_USAGE;
	int r = job_start(o, &j);
	if (r < 0) {
		job_free(&j);
		return EXIT_FAILED;
	}
	r = check_judged(&j);
	if (r == 0 && strcmp(word, "none") == 0) {
		r = try_none(&j);
	} else if (r == 0) {
		enum page_size size;
		const struct entry *e = entry_set_resolve(&j.change.set, word, &size);

		r = e ? check_target(&j, e) : -ENOENT;
		if (r == 0)
			r = check_way_back(&j, e);
		if (r == 0)
			r = arm(&j, e, size != PAGE_SIZE_UNKNOWN);
	}
	int exit_code = change_end(&j.change, r == -EALREADY ? 0 : r);
	job_free(&j);
	return health_reboot_if_asked(o, r == 0, exit_code);
}
