/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file system that a path lies on, and what that is stacked on. */
#ifndef GRANULE_GRUB_MOUNT_H
#define GRANULE_GRUB_MOUNT_H

#include <sys/types.h>

#include "../options.h"

struct grub_mount {
	char *type;    /* "ext4"; NULL: nothing is known, as below --root without its /proc */
	char *source;  /* what is mounted: "/dev/vda2" */
	char *options; /* of mount and file system, separated by commas */
	dev_t device;
	bool here; /* it is the one that the path is on now, and not what another system's /proc tells */
};

/* Finds it in mountinfo. Below --root what is really mounted there counts, else that system's own /proc. */
void grub_mount_find(const struct options *o, const char *path, struct grub_mount *ret);
void grub_mount_free(struct grub_mount *mount);

/* What lies between the file system and a disk that GRUB could write to by blocks: "a logical volume (LVM)";
 * NULL if nothing does, or if nothing is known. From sysfs below --root; without one, from what the source
 * holds. To be freed. */
char *grub_mount_stack(const struct options *o, const struct grub_mount *mount);

/* UUID of the file system, as GRUB's search compares it; NULL if it cannot be told. To be freed. */
char *grub_mount_uuid(const struct grub_mount *mount);

/* Whether the file system with this UUID is the mounted one: 1, 0, or -1 if it cannot be told. */
int grub_mount_has_uuid(const struct grub_mount *mount, struct span uuid);

#endif
