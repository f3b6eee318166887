/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the boot manager and its entries are: the EFI system partition, and the extended boot loader
 * partition (XBOOTLDR) if the disk has one; found by partition type. */
#ifndef GRANULE_PLACES_H
#define GRANULE_PLACES_H

#include <granule/entry.h>

#include "options.h"

struct places {
	char *esp;      /* folder where the ESP is mounted; NULL if only --boot-path was given */
	char *xbootldr; /* the same of the XBOOTLDR; NULL if there is none */
	char *boot;     /* where entries are written: the XBOOTLDR, else the ESP */
	char *system;   /* folder that paths of VOLUME_SYSTEM are below; NULL unless GRUB picks what boots */
	int lock;       /* descriptor; -1 if they are not locked */
};

/* Finds them, or prints one line why not and returns -ENOENT. Without --esp-path it is the mounted partition
 * that the loader came from (LoaderDevicePartUUID), else the first mounted one of type ESP; with --root the
 * first of efi, boot/efi and boot below it that holds a folder EFI or loader. The XBOOTLDR is --boot-path,
 * or, if the loader reads such partitions, what is mounted of that type, from the same disk, with a file
 * system that firmware reads. */
int places_find(const struct options *o, struct places *ret);
void places_free(struct places *places);

/* Folder of a partition that entries come from; NULL if there is none. Without an ESP, --boot-path stands for
 * the loader's own partition. */
const char *places_folder(const struct places *places, enum entry_volume volume);

/* Waits until no other granule changes the partition, and keeps others waiting until places_free().
 * Returns 0 or -errno after one printed line. */
int places_lock(struct places *places);

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
