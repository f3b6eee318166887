/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deadline of the trial that runs. It is for boots that hang, so nothing is waited for here: not for file
 * systems, and not for locks before the time has come. */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "boot_judge.h"
#include "boot_kind.h"
#include "health.h"
#include "records.h"
#include "system.h"
#include "trial_entry.h"
#include "variables.h"

struct deadline {
	bool runs;       /* a trial without verdict that has one */
	bool has_record; /* the state can be reached */
	unsigned after_s;
};

/* Reads no entries: this is asked every few seconds while the system starts. */
static void look(const struct options *o, const struct settings *s, struct deadline *ret)
{
	_cleanup_free_ char *boot_id = system_boot_id(o);
	struct boot_facts facts;
	struct state state;
	struct trial t;

	*ret = (struct deadline){ 0 };
	if (system_from_kexec(o))
		return;
	boot_facts_read(o, &facts);
	state_open(o, &state);
	ret->has_record = path_exists(state.folder);
	if (!ret->has_record) {
		/* Its file system is not mounted, and may never be: that can be what is wrong. */
		ret->after_s = s->deadline_s;
		ret->runs = ret->after_s && (facts.trial || trial_entry_has_id(facts.entry));
	} else if (trial_read(&state, &t) == 0) {
		ret->after_s = t.deadline_s;
		ret->runs = ret->after_s && t.stage == TRIAL_ARMED && boot_id &&
			    boot_is_of_trial(&facts, NULL, &t) &&
			    !(t.boot_id && strcmp(boot_id, t.boot_id) == 0);
		trial_free(&t);
	}
	state_close(&state);
	boot_facts_free(&facts);
}

/* The boot of the default will find that the trial did not come up. */
static int leave_without_record(const struct options *o, const struct settings *s)
{
	_cleanup_free_ char *oneshot = variable_get(VENDOR_LOADER, "LoaderEntryOneShot");

	/* With a one-shot, the next boot might be this entry again, for ever. */
	bool away = s->reboot_on_failure && !oneshot;
	complain("deadline: no verdict, and none can be recorded%s", away ? "; rebooting" : "");
	if (away && !o->dry_run && !system_is_other(o) && health_reboot(o) < 0)
		complain("the machine cannot be rebooted; the default boots next time");
	return EXIT_FAILED;
}

char *boot_deadline_reason(unsigned after_s)
{
	return xprintf("deadline: no verdict %u s after the kernel started", after_s);
}

int boot_watch_deadline(const struct options *o)
{
	struct settings settings;
	struct deadline d;
	int exit_code = EXIT_DONE;

	settings_read(o, &settings);
	for (;;) {
		look(o, &settings, &d);
		double left = d.after_s - system_uptime(o);
		/* A verdict in the meantime ends this. */
		if (!d.runs || left <= 0)
			break;
		nanosleep(&(struct timespec){ .tv_sec = left > 5 ? 5 : 1 }, NULL);
	}
	if (d.runs) {
		_cleanup_free_ char *reason = boot_deadline_reason(d.after_s);
		exit_code = d.has_record ? boot_fail_trial(o, reason) : -1;
		if (exit_code < 0)
			exit_code = leave_without_record(o, &settings);
	}
	settings_free(&settings);
	return exit_code;
}
