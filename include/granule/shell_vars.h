/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables that a shell file such as /etc/default/grub sets, read without running it. */
#ifndef GRANULE_SHELL_VARS_H
#define GRANULE_SHELL_VARS_H

#include <granule/span.h>

struct shell_var {
	struct span name;
	struct text value; /* in a buffer of the caller's; what was there before is what the file adds to */
	bool set;          /* by this file, or by one before it */
};

/* Reads assignments: NAME=VALUE and NAME+=VALUE, a line each, also behind "export". In values: single and
 * double quotes, backslashes, and $NAME or ${NAME} of the variables asked for. Values of other variables may
 * hold whatever ends on their line, commands in it too.
 *
 * Anything else, of which it cannot be told without a shell what comes of it, is ERROR_SYNTAX, with
 * *ret_offset in the line at fault; so is a line break in a value that is asked for, and a NUL. ERROR_SPACE:
 * a value does not fit. On errors the values are not to be used. `scratch` is room for one value. */
int shell_vars_read(struct span text, struct shell_var *vars, size_t n, struct text *scratch,
		    size_t *ret_offset);

#endif
