/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries that GRUB would show, and the decision about them as it would make it. */
#ifndef GRANULE_GRUB_MENU_H
#define GRANULE_GRUB_MENU_H

#include "../entry_set.h"
#include "grub.h"

/* Adds the entries of grub.cfg, or with `bls` those of loader/entries in the order of GRUB's blscfg, to the
 * set. Returns 0 or -errno after one printed line. */
int grub_menu_read(const struct options *o, struct grub *grub, uint16_t machine, struct entry_set *set);

/* Fills set->input from the blocks and from what grub.cfg does with them: next_entry, saved_entry, page size,
 * GRUB_DEFAULT as a number, title, id or path, boot_counter. */
void grub_input(struct entry_set *set);

/* The entry that GRUB means by a default: a number, a title, an id, a path "A>B" or "1>2"; NULL if it would
 * find none, and so boot the first. */
const struct entry *grub_resolve(const struct entry_set *set, struct span spec);

/* The entry that a kernel command line tells of: by granule.entry=, else by BOOT_IMAGE= and the options; NULL
 * if none or several fit. */
const struct entry *grub_booted(const struct entry_set *set, const char *cmdline);

/* Whether two entries start the same kernel with the same options: GRUB's menu has many of them twice. */
bool grub_boots_same(const struct entry *a, const struct entry *b);

#endif
