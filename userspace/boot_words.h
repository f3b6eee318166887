/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that entries of /etc/grub.d/09_granule leave on the kernel command line, for GRUB tells the running
 * system nothing else: granule.entry=, granule.chosen=, granule.failed=. */
#ifndef GRANULE_BOOT_WORDS_H
#define GRANULE_BOOT_WORDS_H

#include <granule/boot_record.h>

#include "util.h"

/* Makes a record as granule-boot's of the words of a command line, to be freed; NULL if they are not there.
 *
 * A rule that had chosen has the outcome "chosen", and its entry may be another one than that which was
 * started: then somebody picked that in the menu. What could not be loaded before was the one-shot, if a
 * default was chosen then. Without granule.chosen= the record has no reason: nothing was wanted of granule.
 */
char *boot_words_record(const char *cmdline);

/* Id of the entry that a command line names, to be freed; NULL. */
char *boot_words_entry(const char *cmdline);

/* Copies a command line without words that belong to one boot: those of granule, BOOT_IMAGE=, initrd=.
 * *ret_gone (may be NULL) gets those. To be freed. */
char *boot_words_remove(const char *cmdline, struct strings *ret_gone);

#endif
