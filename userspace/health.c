/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/reboot.h>

#include "child.h"
#include "health_parts.h"
#include "system.h"

#define REBOOT_S 90.0

/* ---- all of it ---- */

void health_look(const struct options *o, const struct settings *s, const struct baseline *before,
		 struct baseline *ret_now, struct strings *problems)
{
	*ret_now = (struct baseline){ .known = true };
	health_units(o, before, &ret_now->failed, problems);
	health_swaps(o, before, &ret_now->swaps, problems);
	health_mounts(o, before, &ret_now->mounts, problems);
	health_checks(o, s, problems);
}

/* ---- reboot ---- */

/* Times that systemd is asked when it refuses, and seconds between them. */
#define REFUSALS_MAX 10
#define REFUSAL_S 30

static bool runs(const char *const *arguments, bool *ret_answered)
{
	struct child c = { .arguments = arguments, .timeout_s = REBOOT_S, .keep = 4096 };
	bool done = child_run(&c);

	if (!done) {
		_cleanup_free_ char *fate = child_fate(&c), *said = last_line(c.output, 200);
		complain("%s: %s%s%s", arguments[0], fate, *said ? ": " : "", said);
	}
	*ret_answered = !c.error && !c.timed_out;
	child_free(&c);
	return done;
}

/* Somebody may have asked systemd not to reboot now, such as a program that writes firmware. After a failed
 * trial that is waited for, but not for ever: who could undo it may not reach this machine any more. Returns
 * 0, -EBUSY if it refuses, or -EIO if it does not answer. */
static int reboot_by_systemd(bool patient)
{
	static const char *const politely[] = { "systemctl", "--no-ask-password", "reboot", NULL };
	static const char *const firmly[] = { "systemctl", "--no-ask-password", "--ignore-inhibitors",
					      "reboot", NULL };
	bool answered = true;

	for (unsigned i = 0; i < REFUSALS_MAX; i++) {
		if (runs(politely, &answered))
			return 0;
		if (!answered)
			return -EIO;
		if (!patient)
			return -EBUSY;
		sleep(REFUSAL_S);
	}
	return runs(firmly, &answered) ? 0 : -EIO;
}

static int reboot_now(const struct options *o, bool patient)
{
	static const char *const by_init[] = { "reboot", NULL };
	bool answered;

	/* Another system's files are worked on, not this machine. */
	if (system_is_other(o) || o->dry_run)
		return -EPERM;
	/* systemctl would go past the boot loader where a kernel is loaded for kexec, or a root for
	 * soft-reboot. */
	setenv("SYSTEMCTL_SKIP_AUTO_KEXEC", "1", 1);
	setenv("SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT", "1", 1);
	if (health_has_systemd(o)) {
		int r = reboot_by_systemd(patient);
		if (r == 0 || r == -EBUSY)
			return r;
	}
	if (runs(by_init, &answered))
		return 0;
	sync();
	return reboot(RB_AUTOBOOT) < 0 ? -errno : 0;
}

int health_reboot(const struct options *o)
{
	return reboot_now(o, true);
}

int health_reboot_if_asked(const struct options *o, bool well, int exit_code)
{
	if (!well || !o->reboot || o->dry_run || system_is_other(o))
		return exit_code;
	int r = reboot_now(o, false);
	if (r == 0)
		return exit_code;
	complain("the machine cannot be rebooted: %s", strerror(-r));
	return EXIT_FAILED;
}
