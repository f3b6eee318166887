/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a btrfs file system's first megabyte that GRUB keeps variables in, since it cannot overwrite
 * files there: openSUSE's GRUB, and GNU's from version 2.14. grubenv tells where it is: "env_block=512+1", in
 * sectors of the device. It is made by grub-editenv; here it is only changed where it is. */
#ifndef GRANULE_GRUB_AREA_H
#define GRANULE_GRUB_AREA_H

#include "grub.h"

/* Looks for it once grubenv is read. If GRUB uses it, the block becomes one of GRUB_BLOCK_BTRFS and loses its
 * obstacle; if it would use it and it is not there, the obstacle says what helps. */
void grub_area_find(const struct options *o, struct grub *grub);

/* Whether a block's content fits into the area. */
bool grub_area_fits(const struct grub_block *block, const char *area);

/* Writes it, all in one sector. Returns 0 or -errno. */
int grub_area_write(const struct grub_block *block, const char *area);

#endif
