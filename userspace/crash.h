/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an earlier boot left behind when it died: dumps of the kernel in /sys/fs/pstore, and where
 * systemd-pstore moves them, /var/lib/systemd/pstore (both below --root); what the watchdog remembers. */
#ifndef GRANULE_CRASH_H
#define GRANULE_CRASH_H

#include "options.h"

/* Adds the dumps that are there now: "NAME HASH", the same wherever the file lies. A name alone would not do:
 * some kinds of pstore use it again. */
void crash_list(const struct options *o, struct strings *ret);

/* Why the machine died, from the newest dumps that are not in `known`, else from the watchdog: one line of at
 * most 200 printable characters, to be freed; NULL if nothing tells. */
char *crash_reason(const struct options *o, const struct strings *known);

#endif
