/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `rollback`: what boots from now on is what was verified before. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "history.h"
#include "loaders/loader.h"
#include "system.h"
#include "trial.h"

static bool is_choice(const struct entry *e, const struct choice *choice)
{
	return e && choice->entry && span_equal_nocase(e->id, span_of(choice->entry));
}

/* Where to go back to: from the last verified choice to the one before it; from a default that was never
 * verified to the last that was. NULL if there is nothing. */
static const struct choice *destination(const struct verified *v, const struct entry *by_default)
{
	if (!is_choice(by_default, &v->current) && !is_choice(by_default, &v->previous))
		return &v->current;
	return v->previous.entry ? &v->previous : NULL;
}

/* The choice that was left is forgotten: the same command again must not go forward. */
static int forget_current(struct state *s, struct verified *v)
{
	choice_free(&v->current);
	v->current = v->previous;
	v->previous = (struct choice){ 0 };
	return verified_write(s, v);
}

static int roll_back(struct state *s, struct verified *v, struct change *c)
{
	struct trial trial;
	struct next_boot by_default;
	int r = trial_read(s, &trial);

	if (r < 0 && r != -ENOENT)
		return r;
	bool gave_up = r == 0 && trial.stage == TRIAL_ARMED;
	if (gave_up)
		r = trial_cancel(s, c, &trial, "rolled back by the owner");
	else if (r == 0 && trial.stage == TRIAL_PASSED)
		r = trial_remove(s);
	if (r != -ENOENT)
		trial_free(&trial);
	if (r < 0 && r != -ENOENT)
		return r;

	default_boot(&c->set, &by_default);
	const struct choice *to = destination(v, by_default.entry);
	if (!to && gave_up)
		return 0;
	if (!to) {
		complain("nothing to go back to: no other choice has been verified");
		return -ENOENT;
	}
	_cleanup_free_ char *entry = xstrdup(to->entry);
	struct history_line line = {
		.kind = "request",
		.entry_asked = entry,
		.release = to->release,
		.page_size_asked = to->page_size,
		.verdict = "rolled-back",
		.reason = "by the owner",
		.boot_seconds = 0,
	};
	/* The record last: cut off in between, the default is the previous choice, and the same command goes
	 * on. */
	r = choice_restore(c, to);
	if (r < 0)
		return r;
	r = history_write(s, &line);
	return r == 0 && to == &v->previous ? forget_current(s, v) : r;
}

int cmd_rollback(const struct options *o)
{
	struct state state;
	struct verified verified = { 0 };
	struct change change;
	int exit_code = EXIT_FAILED;
	int r = state_open_locked(o, &state);

	if (r == 0)
		r = verified_read(&state, &verified);
	if (r == 0 && !verified.current.entry) {
		complain("nothing to go back to: no boot has been verified ('granule verify --boot' does "
			 "that)");
		r = -ENOENT;
	}
	if (r == 0)
		r = change_start(o, &change);
	if (r == 0) {
		r = roll_back(&state, &verified, &change);
		exit_code = change_end(&change, r);
	}
	verified_free(&verified);
	state_close(&state);
	return health_reboot_if_asked(o, r == 0, exit_code);
}
