/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `disarm`: takes back a one-shot before the machine restarts without its boot loader, which alone would
 * clear it: by kexec, or of user space only. The next boot that somebody makes, weeks later, would be it.
 *
 * granule-disarm.service runs it whenever the machine goes down, while file systems are still mounted. */
#include <errno.h>
#include <string.h>

#include "child.h"
#include "loaders/loader.h"
#include "trial.h"
#include "variables.h"

/* The way past the boot loader that systemd has begun to take; NULL if it is none. */
static const char *way_of_systemd(void)
{
	static const char *const arguments[] = { "systemctl",   "--no-pager",   "--no-ask-password",
						 "list-jobs",   "--plain",      "--full",
						 "--no-legend", "kexec.target", "soft-reboot.target",
						 NULL };
	struct child c = { .arguments = arguments, .timeout_s = 30, .keep = 4096, .only_results = true };
	const char *way = NULL;

	/* Lines such as "165 kexec.target start waiting". */
	if (child_run(&c))
		way = strstr(c.output, " kexec.target start ")         ? "kexec"
		      : strstr(c.output, " soft-reboot.target start ") ? "soft-reboot"
								       : NULL;
	child_free(&c);
	return way;
}

/* A partition that was unmounted already keeps neither the record nor the trial's entry from being found at
 * the next boot. The one-shot in a variable goes all the same. */
static int disarm_variable(const struct options *o)
{
	if (o->dry_run || !variables_present())
		return -ENOENT;
	return variable_delete(VENDOR_LOADER, "LoaderEntryOneShot");
}

int cmd_disarm(const struct options *o)
{
	const char *way = o->n_arguments ? o->arguments[0] : way_of_systemd();
	struct waiting waiting;
	struct change c;

	if (!way)
		return EXIT_DONE;
	/* Also without a record the one-shot goes. */
	waiting_open(o, &waiting);
	int r = change_start(o, &c);
	if (r < 0) {
		r = disarm_variable(o);
	} else {
		waiting_look(&waiting, &c);
		if (waiting.is_armed) {
			_cleanup_free_ char *reason =
				xprintf("the machine was restarted by %s, past the boot loader", way);
			r = trial_cancel(&waiting.state, &c, &waiting.trial, reason);
		} else {
			r = loader_of(&c.set)->disarm(&c);
		}
		r = change_end(&c, r) == EXIT_DONE ? 0 : -EIO;
	}
	waiting_close(&waiting);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
