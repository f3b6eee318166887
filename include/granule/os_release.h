/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assignments as in os-release(5): "KEY=value" on lines of their own, values quoted as in a shell, '#' for
 * comments. Sections .osrel and .profile of unified kernel images have the same syntax. */
#ifndef GRANULE_OS_RELEASE_H
#define GRANULE_OS_RELEASE_H

#include <granule/span.h>

/* Next assignment at or after *pos; lines that are none are skipped. Quotes and backslashes of the value are
 * taken away in place, so a text can be read once. A NUL ends it. False at the end. Start with *pos = 0. */
bool os_release_next(char *text, size_t size, size_t *pos, struct span *ret_key, struct span *ret_value);

#endif
