/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels for which the generator of GRUB's menu writes entries, and what a page size stands for among them.
 */
#ifndef GRANULE_GRUB_KERNELS_H
#define GRANULE_GRUB_KERNELS_H

#include <granule/entry.h>

#include "../options.h"

/* An entry: a kernel file and the page size that it is to have. */
struct grub_kernel {
	struct entry entry; /* first; for choose(): id, version, release, size */
	char *id;           /* granule-NAME-SIZE */
	char *folder;       /* as the system has it, without --root: "/boot", "/" */
	char *file;         /* name in it */
	char *release;      /* of the image; NULL if not known */
	char *initrd;       /* name in the folder; NULL if there is none */
	char *name;         /* behind the file's prefix, as initrds and configs have it */
	bool wanted;        /* it has the page size that comes first */
	bool built_in;      /* an initramfs is part of the kernel */
	bool image;         /* an EFI program that holds kernels, and takes the page size as an argument */
	bool spare; /* kept beside the real ones, ".old" or a rescue image: never found by page size */
};

struct grub_kernels {
	struct grub_kernel **items; /* in the order of the menu */
	size_t n;
	struct grub_kernel *by_size[PAGE_SIZE_64K + 1]; /* what a policy stands for; NULL */
};

/* Finds kernels in /boot and / below the root, as grub-mkconfig does. Files with names that could mean
 * something to GRUB's script or to a shell are left out with a line, as are doubles. `first` is the page size
 * whose entries come first; PAGE_SIZE_UNKNOWN: by version alone. `avoid` is an id that no page size stands
 * for, NULL if there is none. `esp`, which may be NULL, is a folder whose EFI/Linux holds granule's images;
 * they are listed, but no page size stands for one. */
void grub_kernels_find(const struct options *o, const char *esp, enum page_size first, const char *avoid,
		       struct grub_kernels *ret);
void grub_found_free(struct grub_kernels *list);

#endif
