/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be wrong with input, as core/ reports it: 0 or one of these, always negative.
 * core/ knows no errno; the loader and the command map these to their own worlds. */
#ifndef GRANULE_ERROR_H
#define GRANULE_ERROR_H

#include <stddef.h>

enum granule_error {
	ERROR_NONE = 0,
	ERROR_TRUNCATED = -1,   /* ends before something that it promises */
	ERROR_MAGIC = -2,       /* not this format */
	ERROR_RANGE = -3,       /* a number or offset outside what the format allows */
	ERROR_SPACE = -4,       /* result does not fit into the caller's buffer or the format's room */
	ERROR_SYNTAX = -5,      /* text that breaks the format's rules */
	ERROR_TOO_MANY = -6,    /* more items of a kind than supported */
	ERROR_NO_KERNEL = -7,   /* an entry that names nothing to start */
	ERROR_TWO_KERNELS = -8, /* an entry that names several things to start */
	ERROR_NOT_FOUND = -9,
	ERROR_CONFLICT = -10, /* words on a command line that contradict each other */
	ERROR_ARCHITECTURE = -11,
};

/* One short phrase for `error`, without a final full stop; never NULL. */
const char *error_text(int error);

#endif
