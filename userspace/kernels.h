/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels as distributions install them: files in /boot, and their initrds. */
#ifndef GRANULE_KERNELS_H
#define GRANULE_KERNELS_H

#include "options.h"

struct kernel_file {
	char *path;
	char *name; /* release as the file name has it ("6.12.0-64k" of vmlinuz-6.12.0-64k); NULL if it has
		       none */
};

struct kernel_files {
	struct kernel_file *items;
	size_t n;
};

/* Kernels in /boot below the root, in the order of their names. Returns 0 or -errno after one printed line.
 */
int kernels_find(const struct options *o, struct kernel_files *ret);
/* The kernel of --kernel. */
void kernels_from_option(const struct options *o, struct kernel_files *ret);
void kernels_free(struct kernel_files *list);

/* Whether a release is one of those that packagers keep beside the real ones: files before, after and amid an
 * update, and rescue images. */
bool kernels_is_spare(const char *release);

/* The initrd that goes with a kernel, by its full release string; NULL if there is none. *ret_expected is the
 * path of the usual kind, for a message; to be freed. */
char *kernels_initrd(const struct options *o, const char *name, char **ret_expected);

#endif
