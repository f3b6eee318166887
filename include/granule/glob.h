/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell patterns as in fnmatch(3) without flags: `*`, `?`, `[a-z]`, `[!a]`, backslash escape. */
#ifndef GRANULE_GLOB_H
#define GRANULE_GLOB_H

#include <granule/span.h>

/* Whether the whole text matches, letters compared without case. A '[' that is never closed stands for
 * itself. Time is at most length of pattern times length of text, whatever the pattern. */
bool glob_match(struct span pattern, struct span text);

#endif
