/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What brings a machine back that hangs or has panicked: its watchdog, its settings, a person in front of it.
 * All facts are those below --root. */
#ifndef GRANULE_RESET_FACTS_H
#define GRANULE_RESET_FACTS_H

#include "options.h"

/* Whether somebody can see what the machine says: a display is connected, or /dev/console is a screen. */
bool has_screen(const struct options *o);

/* The watchdog that does most for us, for people; NULL if there is none. One that is armed, or that systemd
 * is set to arm, comes first (*ret_armed). softdog is left out: it hangs with the kernel. */
char *find_watchdog(const struct options *o, bool *ret_armed);

/* The value of kernel.panic that sysctl.d(5) sets when the system starts; NULL if it sets none. */
char *sysctl_panic(const struct options *o);

#endif
