/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that find GRUB's files share. */
#ifndef GRANULE_GRUB_PARTS_H
#define GRANULE_GRUB_PARTS_H

#include "grub.h"

/* Reads grubenv of `grub`, with the area of btrfs that belongs to it. */
void grub_block_read_env(const struct options *o, struct grub *grub);

/* Reads the block that granule's lines of grub.cfg name; `places` may be NULL. */
void grub_block_read_own(const struct options *o, const struct places *places, struct grub *grub);

void grub_block_free(struct grub_block *block);

#endif
