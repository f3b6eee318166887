/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd is asked by systemctl, which as root reaches it without D-Bus. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "health_parts.h"

#define ANSWER_MAX (1u << 20)
#define ANSWER_S 30.0
/* For units that are being restarted, to see whether that helps. */
#define GRACE_S 15.0
/* Lines about units that did not finish starting. */
#define NAMED_MAX 5

bool health_has_systemd(const struct options *o)
{
	_cleanup_free_ char *path = path_join(o->root, "run/systemd/system");

	return path_exists(path);
}

void problem_add(struct strings *problems, char *taken)
{
	for (size_t i = 0; i < problems->n; i++) {
		if (strcmp(problems->items[i], taken) == 0) {
			free(taken);
			return;
		}
	}
	strings_add(problems, taken);
}

static bool has(const struct strings *list, const char *s)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], s) == 0)
			return true;
	return false;
}

/* ---- asking ---- */

/* Answer of systemctl with these arguments and `names` behind them; NULL after a line in `problems`, or, if
 * that is NULL, without a word. */
static char *ask(const char *const *arguments, const struct strings *names, struct strings *problems)
{
	static const char *const before[] = { "systemctl", "--no-pager", "--no-ask-password" };
	const size_t n_before = sizeof(before) / sizeof(before[0]);
	size_t n = 0, n_names = names ? names->n : 0;

	while (arguments[n])
		n++;
	_cleanup_free_ const char **all = xalloc(sizeof(char *) * (n_before + n + n_names + 2));
	memcpy(all, before, sizeof(before));
	memcpy(all + n_before, arguments, sizeof(char *) * n);
	all[n_before + n] = "--";
	for (size_t i = 0; i < n_names; i++)
		all[n_before + n + 1 + i] = names->items[i];

	struct child c = {
		.arguments = all, .timeout_s = ANSWER_S, .keep = ANSWER_MAX, .only_results = true
	};
	char *answer = NULL;

	if (child_run(&c) && !c.cut) {
		answer = c.output;
		c.output = NULL;
	} else if (problems) {
		_cleanup_free_ char *fate = c.cut ? xstrdup("answer too long") : child_fate(&c);
		_cleanup_free_ char *said = c.errors ? last_line(c.errors, 200) : xstrdup("");
		problem_add(problems, xprintf("unit: systemd cannot be asked: systemctl %s: %s%s%s",
					      arguments[0], fate, *said ? ": " : "", said));
	}
	child_free(&c);
	return answer;
}

static bool is_unit(struct span s)
{
	static const char *const kinds[] = { ".service", ".socket",    ".target", ".device",
					     ".mount",   ".automount", ".swap",   ".timer",
					     ".path",    ".slice",     ".scope" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (s.n > strlen(kinds[i]) && span_ends_nocase(s, span_of(kinds[i])))
			return true;
	return false;
}

/* Words of the next line; at most `max`, the last one is the rest. Returns how many. */
static size_t next_words(char **text, char **words, size_t max)
{
	char *line = strsep(text, "\n");
	size_t n = 0;

	while (line && n < max) {
		line += strspn(line, " \t");
		if (!*line)
			break;
		words[n++] = line;
		line += strcspn(line, " \t");
		if (*line)
			*line++ = 0;
	}
	return n;
}

static void add_words(struct strings *list, const char *value)
{
	for (const char *p = value; *(p += strspn(p, " "));) {
		struct span word = { p, strcspn(p, " ") };
		_cleanup_free_ char *copy = xstrndup(word);

		if (!has(list, copy)) {
			strings_add(list, copy);
			copy = NULL;
		}
		p += word.n;
	}
}

/* What systemd says of a unit. */
struct unit {
	const char *id, *active, *sub, *result;
	long status, restarts;
	bool transient, job, tried;
};

/* Next unit of an answer of "systemctl show", whose lines it cuts. */
static bool next_unit(char **answer, struct unit *ret)
{
	bool any = false;

	*ret = (struct unit){ .id = "", .active = "", .sub = "", .result = "" };
	for (char *line; (line = strsep(answer, "\n"));) {
		char *value = strchr(line, '=');
		if (!value) {
			if (any)
				return true;
			continue;
		}
		any = true;
		*value++ = 0;
		if (strcmp(line, "Id") == 0)
			ret->id = value;
		else if (strcmp(line, "ActiveState") == 0)
			ret->active = value;
		else if (strcmp(line, "SubState") == 0)
			ret->sub = value;
		else if (strcmp(line, "Result") == 0)
			ret->result = value;
		else if (strcmp(line, "ExecMainStatus") == 0)
			ret->status = strtol(value, NULL, 10);
		else if (strcmp(line, "NRestarts") == 0)
			ret->restarts = strtol(value, NULL, 10);
		else if (strcmp(line, "Transient") == 0)
			ret->transient = strcmp(value, "yes") == 0;
		else if (strcmp(line, "Job") == 0)
			ret->job = *value && strcmp(value, "0") != 0;
		else if (strcmp(line, "ConditionTimestampMonotonic") == 0)
			ret->tried = *value && strcmp(value, "0") != 0;
	}
	return any;
}

#define SHOWN                                                                               \
	"--property=Id,ActiveState,SubState,Result,ExecMainStatus,NRestarts,Transient,Job," \
	"ConditionTimestampMonotonic"

/* "unit NAME: failed (exit-code 1)", as it is told to people. */
static char *failure_text(const struct unit *u)
{
	bool restarts = strcmp(u->sub, "auto-restart") == 0;
	bool code = strcmp(u->result, "exit-code") == 0;
	_cleanup_free_ char *why = code ? xprintf(" (exit code %ld)", u->status)
				   : *u->result && strcmp(u->result, "success") != 0
					   ? xprintf(" (%s)", u->result)
					   : xstrdup("");

	return xprintf("unit %s: %s%s", u->id, restarts ? "fails and is restarted" : "failed", why);
}

/* ---- units that failed ---- */

/* They fail because of what is wrong, and would be found when the boot is judged again. */
static bool is_own(const char *name)
{
	static const char *const own[] = { "granule-verify.service", "granule-deadline.service",
					   "granule-disarm.service" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

/* Names of units that have failed or fail again and again; false if systemd does not answer. */
static bool list_failed(struct strings *ret, struct strings *problems)
{
	static const char *const arguments[] = { "list-units", "--all",       "--plain",
						 "--full",     "--no-legend", "--state=failed,auto-restart",
						 NULL };
	_cleanup_free_ char *answer = ask(arguments, NULL, problems);
	char *rest = answer, *words[2];

	while (rest) {
		size_t n = next_words(&rest, words, 2);
		if (n && is_unit(span_of(words[0])) && !is_own(words[0]))
			strings_add(ret, xstrdup(words[0]));
	}
	return answer;
}

/* What of `failed` is worse than before: lines about them. *ret_restarts: some of them may recover yet. */
static void new_failures(const struct strings *failed, const struct baseline *before,
			 struct strings *ret_lines, bool *ret_restarts, struct strings *problems)
{
	static const char *const arguments[] = { "show", SHOWN, NULL };
	struct strings fresh = { 0 };
	struct unit u;

	*ret_restarts = false;
	for (size_t i = 0; before->known && i < failed->n; i++)
		if (!has(&before->failed, failed->items[i]))
			strings_add(&fresh, xstrdup(failed->items[i]));
	_cleanup_free_ char *answer = fresh.n ? ask(arguments, &fresh, problems) : NULL;
	char *rest = answer;

	while (rest && next_unit(&rest, &u)) {
		bool restarts = strcmp(u.sub, "auto-restart") == 0;

		/* What somebody runs by hand is no part of the system; what has recovered is fine. */
		if (u.transient || (!restarts && strcmp(u.active, "failed") != 0))
			continue;
		*ret_restarts = *ret_restarts || (restarts && u.restarts < 3);
		problem_add(ret_lines, failure_text(&u));
	}
	/* It cannot be asked for details. */
	for (size_t i = 0; !answer && i < fresh.n; i++)
		problem_add(ret_lines, xprintf("unit %s: failed", fresh.items[i]));
	strings_free(&fresh);
}

void health_units(const struct options *o, const struct baseline *before, struct strings *ret_failed,
		  struct strings *problems)
{
	double until = seconds_now() + GRACE_S;
	struct strings lines = { 0 };
	bool restarts = false;

	if (!health_has_systemd(o))
		return;
	for (;;) {
		if (!list_failed(ret_failed, problems))
			return;
		new_failures(ret_failed, before, &lines, &restarts, problems);
		if (!restarts || seconds_now() >= until)
			break;
		strings_free(ret_failed);
		strings_free(&lines);
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	}
	for (size_t i = 0; i < lines.n; i++)
		problem_add(problems, xstrdup(lines.items[i]));
	strings_free(&lines);
}

/* ---- the end of booting ---- */

#define GOALS_N 2

/* Real names of default.target and boot-complete.target. */
static bool find_goals(struct strings *ret, struct strings *problems)
{
	static const char *const arguments[] = { "show", "--property=Id", "default.target",
						 "boot-complete.target", NULL };
	_cleanup_free_ char *answer = ask(arguments, NULL, problems);
	char *rest = answer;
	struct unit u;

	while (rest && next_unit(&rest, &u))
		strings_add(ret, xstrdup(u.id));
	return answer;
}

/* Whether one of the goals asks for this unit, itself or by way of others. */
static bool is_wanted(const char *name, const struct strings *goals)
{
	static const char *const arguments[] = {
		"show", "--property=WantedBy,RequiredBy,BoundBy,RequisiteOf,UpheldBy", NULL
	};
	struct strings seen = { 0 };
	bool wanted = false, more = true;

	strings_add(&seen, xstrdup(name));
	/* Each round goes one step up, for all units that the last one found. */
	for (size_t done = 0; more && !wanted;) {
		struct strings round = { seen.items + done, seen.n - done };
		_cleanup_free_ char *answer = ask(arguments, &round, NULL);
		char *rest = answer;

		for (size_t i = 0; i < round.n; i++)
			wanted = wanted || has(goals, round.items[i]);
		done = seen.n;
		for (char *line; (line = strsep(&rest, "\n"));) {
			char *value = strchr(line, '=');
			if (value)
				add_words(&seen, value + 1);
		}
		more = seen.n > done;
	}
	strings_free(&seen);
	return wanted;
}

/* Units other than our own whose jobs are under way and belong to the boot. What waits, waits for one of
 * those, or for us. Returns false if systemd does not answer. */
static bool list_running_jobs(const char *own_unit, const struct strings *goals, struct strings *known,
			      struct strings *ret, struct strings *problems)
{
	static const char *const arguments[] = { "list-jobs", "--plain", "--full", "--no-legend", NULL };
	_cleanup_free_ char *answer = ask(arguments, NULL, problems);
	char *rest = answer, *words[4];

	while (rest) {
		/* JOB UNIT TYPE STATE */
		if (next_words(&rest, words, 4) < 4 || strcmp(words[3], "running") != 0 ||
		    (own_unit && strcmp(words[1], own_unit) == 0))
			continue;
		/* Asked once for each unit: what wants it does not change in the meantime. */
		_cleanup_free_ char *yes = xprintf("+%s", words[1]), *no = xprintf("-%s", words[1]);
		if (has(known, no))
			continue;
		if (!has(known, yes)) {
			bool wanted = is_wanted(words[1], goals);
			strings_add(known, xstrdup(wanted ? yes : no));
			if (!wanted)
				continue;
		}
		strings_add(ret, xstrdup(words[1]));
	}
	return answer;
}

/* Waits for the jobs of the boot. */
static void wait_for_jobs(const struct settings *s, const char *own_unit, struct strings *problems)
{
	double until = seconds_now() + s->verify_timeout_s, pause = 0.1;
	struct strings goals = { 0 }, known = { 0 }, running = { 0 };

	if (!find_goals(&goals, problems))
		return;
	while (list_running_jobs(own_unit, &goals, &known, &running, problems) && running.n) {
		double left = until - seconds_now();
		if (left <= 0)
			break;
		pause = pause < left ? pause : left;
		nanosleep(&(struct timespec){ .tv_sec = (time_t)pause,
					      .tv_nsec = (long)(pause * 1e9) % 1000000000 },
			  NULL);
		pause = pause < 1 ? pause * 2 : 2;
		strings_free(&running);
	}
	for (size_t i = 0; i < running.n && i < NAMED_MAX; i++)
		problem_add(problems, xprintf("unit %s: not started %u s after the check began",
					      running.items[i], s->verify_timeout_s));
	if (running.n > NAMED_MAX)
		problem_add(problems, xprintf("unit: %zu more are not started", running.n - NAMED_MAX));
	strings_free(&goals);
	strings_free(&known);
	strings_free(&running);
}

/* Checks of others for the same question as ours. */
static void judge_inputs(const char *own_unit, struct strings *problems)
{
	static const char *const inputs[] = { "show", "--property=Requires,Requisite,BindsTo",
					      "boot-complete.target", NULL };
	static const char *const details[] = { "show", SHOWN, NULL };
	static const char *const target[] = { "show", SHOWN, "boot-complete.target", NULL };
	_cleanup_free_ char *answer = ask(inputs, NULL, problems), *about = ask(target, NULL, problems);
	struct strings names = { 0 };
	char *rest = answer, *about_rest = about;
	struct unit goal = { 0 }, u;

	for (char *line; (line = strsep(&rest, "\n"));) {
		char *value = strchr(line, '=');
		if (value)
			add_words(&names, value + 1);
	}
	bool asked_for =
		about && next_unit(&about_rest, &goal) && (goal.job || strcmp(goal.active, "active") == 0);
	_cleanup_free_ char *states = names.n ? ask(details, &names, problems) : NULL;
	rest = states;
	while (rest && next_unit(&rest, &u)) {
		if (own_unit && strcmp(u.id, own_unit) == 0)
			continue;
		if (strcmp(u.active, "failed") == 0)
			problem_add(problems, failure_text(&u));
		else if (asked_for && strcmp(u.active, "inactive") == 0 && !u.tried && !u.job)
			problem_add(problems,
				    xprintf("unit %s: was not started, boot-complete.target needs it", u.id));
	}
	strings_free(&names);
}

void health_settle(const struct options *o, const struct settings *s, const char *own_unit,
		   struct strings *problems)
{
	if (!health_has_systemd(o))
		return;
	wait_for_jobs(s, own_unit, problems);
	judge_inputs(own_unit, problems);
}
