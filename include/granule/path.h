/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of configuration files on a FAT partition: '/' and '\' are the same, several count as one, one at the
 * start may be missing, letters have no case. */
#ifndef GRANULE_PATH_H
#define GRANULE_PATH_H

#include <granule/span.h>

/* Whether two spellings name the same file. */
bool path_same(struct span a, struct span b);

/* Adds the path with single separators of the given kind, one of them in front, letters as they are. */
void path_normal(struct span path, char separator, struct text *ret);

#endif
