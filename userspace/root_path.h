/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of the system below --root: symlinks in them mean what they would mean there. */
#ifndef GRANULE_ROOT_PATH_H
#define GRANULE_ROOT_PATH_H

#include "options.h"

/* Where `path`, of the system below `root`, really is: "ROOT/..." without symlinks; an absolute link and ".."
 * stay inside of root. The last part need not exist. NULL with errno set: ENOENT (a folder is missing),
 * ELOOP, ENOTDIR, EACCES. To be freed. */
char *root_path_resolve(const char *root, const char *path);

/* The same for a path that may begin with --root, as path_join() makes them; one that is elsewhere stays. */
char *root_path_real(const struct options *o, const char *path);

/* The path as a person on that system writes it: "/boot/grub" for ROOT/boot/grub; a path that is not below
 * --root stays. Points into `path`. */
const char *root_path_shown(const struct options *o, const char *path);

/* Whether a path is --root or below it. */
bool root_path_is_below(const struct options *o, const char *path);

#endif
