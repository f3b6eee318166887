/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The owner's settings: /etc/granule.conf and /etc/granule.conf.d/ *.conf (below --root), and the same under
 * /usr/lib, in the order and with the precedence of granule.conf(5). */
#ifndef GRANULE_USERSPACE_SETTINGS_H
#define GRANULE_USERSPACE_SETTINGS_H

#include <granule/page_size.h>

#include "options.h"

#define TRIES_MAX 99

struct settings {
	page_size_set sizes;    /* page-sizes: wanted for selectable kernels; all if not set */
	unsigned tries;         /* tries: of a trial that does not come up; 1 */
	bool reboot_on_failure; /* reboot-on-failure: a trial that failed leads back to the default; yes */
	unsigned panic_s;       /* panic: seconds after which a kernel that panicked reboots; 10, never 0 */
	unsigned verify_timeout_s; /* verify-timeout: for the system to settle, and for all checks together;
				      300 */
	unsigned check_timeout_s;  /* check-timeout: for each executable in verify.d; 60 */
	unsigned deadline_s; /* deadline: from the kernel's start to the verdict of a trial; 600, 0: none */
	char *trial_options; /* trial-options: added to the command line of trials; "" */
};

/* Reads all files. Unknown keys, bad values and files that cannot be read are a printed line each (file,
 * line, what is expected), and otherwise passed over. */
void settings_read(const struct options *o, struct settings *ret);
void settings_free(struct settings *s);

/* A duration: "90", "90s", "10m", "2h", "1h 30m"; "0" and "infinity" are 0. False if it is none or longer
 * than a week. */
bool duration_parse(const char *text, unsigned *ret_s);

#endif
