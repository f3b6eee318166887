/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wishes where GRUB looks for them: in granule's environment block if grub.cfg reads one, else in grubenv.
 * For the files of this folder; see loader.h on what writing functions do.
 *
 * All changes of a block are one write. With a block of granule's, grubenv is the owner's: of that only a
 * one-shot is removed, which would win. */
#ifndef GRANULE_LOADERS_GRUB_STORED_H
#define GRANULE_LOADERS_GRUB_STORED_H

#include "../grub/grub_menu.h"
#include "loader.h"

/* Members of struct loader. */
const char *grub_stored_obstacle(const struct change *c);
int grub_stored_arm(struct change *c, const char *id);
int grub_stored_disarm(struct change *c);
int grub_stored_verified(struct change *c, const char *id);

/* What is stored beside a default: names and values for one write. */
#define GRUB_STORED_MAX 8
struct grub_changes {
	struct grub_setting items[GRUB_STORED_MAX];
	size_t n;
};

/* value NULL removes it. */
void grub_changes_add(struct grub_changes *changes, struct span name, const char *value);

/* Adds what a new default or policy clears: one-shot, its words, tries. */
void grub_changes_add_rivals(struct grub_changes *changes);

/* Adds the number of boots that a default is left before it has to be verified, or removes it: by
 * /etc/kernel/tries, for an entry that was not verified, where GRUB can count. What is counted for the entry
 * already goes on. `memory` of 2 bytes keeps the number. */
void grub_changes_add_tries(const struct change *c, struct grub_changes *changes, const struct entry *e,
			    char *memory);

/* An id as it stands where wishes are stored: plain in granule's block, as a path in grubenv. To be freed. */
char *grub_stored_id(const struct change *c, const char *id);

/* Whether GRUB would find an entry by this: 0, or -ENOTSUP after one line. GNU GRUB (normal/main) reads a
 * default as a number if it begins with a digit, as the machine-ids that entries are named by do often; that
 * of the RHEL family reads all of it first. */
int grub_stored_check_id(const struct change *c, const char *stored);

/* Writes them into a block, and notes each as an action. */
int grub_stored_write(struct change *c, struct grub_block *block, const struct grub_changes *changes);

/* Removes a one-shot of grub-reboot, which would win over what stands in granule's block. */
int grub_stored_clear_owner(struct change *c);

/* Whether a default can be stored at all: 0, or -ENOTSUP after one line that says what grub.cfg goes by
 * instead, and how that is changed. */
int grub_stored_check_default(const struct change *c);

/* grub_follow.c: members of struct loader for a GRUB that is given one entry as its default. */
int grub_follow_set_policy(struct change *c, enum page_size size);
int grub_follow_set_default(struct change *c, const struct entry *e);
int grub_follow_set_none(struct change *c);
int grub_follow_policy(struct change *c, const struct entry *e);

#endif
