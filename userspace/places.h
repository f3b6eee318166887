/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the boot manager and its entries are: the EFI system partition, found by partition type. */
#ifndef GRANULE_PLACES_H
#define GRANULE_PLACES_H

#include "options.h"

struct places {
	char *esp;  /* folder where the ESP is mounted; NULL if only --boot-path was given */
	char *boot; /* folder with loader/entries: the ESP, or --boot-path */
};

/* Finds them, or prints one line why not and returns -ENOENT. Without --esp-path it is the mounted partition
 * that the loader came from (LoaderDevicePartUUID), else the first mounted one of type ESP; with --root the
 * first of efi, boot/efi and boot below it that holds a folder EFI or loader. */
int places_find(const struct options *o, struct places *ret);
void places_free(struct places *places);

/* Waits until no other granule changes the partition, and keeps others waiting until this process ends.
 * Returns 0 or -errno after one printed line. */
int places_lock(const struct places *places);

/* What the partition table says of the file system that holds a path. */
struct partition {
	char *device; /* "/dev/vda1" */
	char *disk;   /* "/dev/vda" */
	char *uuid;   /* PARTUUID, lower case */
	char *type;   /* GPT type, lower case */
	uint32_t number;
	uint64_t start, size; /* in units of 512 bytes */
};

/* Returns 0 or -errno (-ENODEV: not on a partition). */
int partition_of(const char *path, struct partition *ret);
void partition_free(struct partition *partition);

#endif
