/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of the running system: what is there now, compared with a boot that was fine. */
#ifndef GRANULE_HEALTH_H
#define GRANULE_HEALTH_H

#include <json-c/json.h>

#include "settings.h"

/* What is remembered of a boot that was fine. */
struct baseline {
	bool known;            /* there is one to compare with */
	struct strings failed; /* systemd units that had failed all the same */
	struct strings swaps;  /* swaps in use: by UUID= or path, whichever stays the same over boots */
	struct strings mounts; /* where persistent file systems were mounted */
};

void baseline_free(struct baseline *b);
/* {"failed_units": [...], "swaps": [...], "mounts": [...]}, as a new object. */
json_object *baseline_to_json(const struct baseline *b);
/* False if it is no such object. NULL is one that is not known. */
bool baseline_from_json(json_object *json, struct baseline *ret);

/* Waits until systemd has no more jobs for what boot-complete.target requires, other than `own_unit`, and for
 * default.target, but no longer than the timeout of the settings. Without systemd it returns at once. Adds a
 * line to `problems` when time ran out or an input of boot-complete.target failed: "unit NAME: failed". */
void health_settle(const struct options *o, const struct settings *s, const char *own_unit,
		   struct strings *problems);

/* Looks at the system now: fills *ret_now, and adds to `problems` one line for each thing that was fine in
 * `before` and is not now ("unit NAME: failed", "swap UUID=...: not in use", "mount /data: missing"), and for
 * each executable in verify.d of /etc/granule and /usr/lib/granule (in the order of names; names as
 * run-parts(8) takes them) that fails or takes too long: with its last line of output. Kinds of problem are
 * told by their beginning: unit, swap, mount, check. Executables get GRANULE_ENTRY and GRANULE_TRIAL (1 or 0)
 * as they are in our own environment. */
void health_look(const struct options *o, const struct settings *s, const struct baseline *before,
		 struct baseline *ret_now, struct strings *problems);

/* Adds a line for each executable of verify.d that could not be run ("check NAME: not run: WHY"). */
void health_checks_unusable(const struct options *o, struct strings *ret);

/* Whether systemd runs this system. */
bool health_has_systemd(const struct options *o);

/* Reboots in an orderly way: systemctl reboot, else reboot(8), else sync and reboot(2). While systemd refuses
 * because somebody inhibits it, it is asked again for five minutes. Returns -errno if it cannot be started.
 */
int health_reboot(const struct options *o);

/* Where --reboot was given, if all went well; without waiting for an inhibitor. Returns the exit code. */
int health_reboot_if_asked(const struct options *o, bool well, int exit_code);

#endif
