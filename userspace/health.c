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

static bool runs(const char *const *arguments)
{
	struct child c = { .arguments = arguments, .timeout_s = REBOOT_S, .keep = 4096 };
	bool done = child_run(&c);

	if (!done) {
		_cleanup_free_ char *fate = child_fate(&c), *said = last_line(c.output, 200);
		complain("%s: %s%s%s", arguments[0], fate, *said ? ": " : "", said);
	}
	child_free(&c);
	return done;
}

#define REBOOT_PATIENCE 60 /* seconds */

int health_reboot(const struct options *o)
{
	static const char *const by_systemd[] = { "systemctl", "--no-ask-password", "reboot", NULL };
	static const char *const by_init[] = { "reboot", NULL };

	/* Another system's files are worked on, not this machine. */
	if (system_is_other(o) || o->dry_run)
		return -EPERM;
	if (health_has_systemd(o) && runs(by_systemd))
		return 0;
	/* An init that took the order ends this process. One that is stuck, or is a shell, does not. */
	if (runs(by_init))
		sleep(REBOOT_PATIENCE);
	sync();
	return reboot(RB_AUTOBOOT) < 0 ? -errno : 0;
}

int health_reboot_if_asked(const struct options *o, bool well, int exit_code)
{
	if (!well || !o->reboot || o->dry_run || system_is_other(o))
		return exit_code;
	int r = health_reboot(o);
	if (r == 0)
		return exit_code;
	complain("the machine cannot be rebooted: %s", strerror(-r));
	return EXIT_FAILED;
}
