/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel command line of new entries comes from: never from the running kernel. */
#ifndef GRANULE_CMDLINE_SOURCE_H
#define GRANULE_CMDLINE_SOURCE_H

#include "identity.h"

/* Command line for new entries: --options; /etc/kernel/cmdline or /usr/lib/kernel/cmdline; else what the
 * distribution goes by, and then its file is named on standard output: kernelopts of /boot/grub2/grubenv, the
 * entries that other tools wrote for this system if they agree, /etc/default/grub, cmdline.txt of a Raspberry
 * Pi. The first of these that is there decides. NULL after one printed line if none is, or if it cannot be
 * told for certain what it comes to. */
char *cmdline_source_find(const struct options *o, const struct entry_set *set,
			  const struct identity *identity);

/* ---- parts of it ---- */

/* From /etc/default/grub and its grub.d, as grub-mkconfig has it. False if there is no such file; otherwise
 * *ret is the line, or NULL after one printed line. */
bool cmdline_from_grub_default(const struct options *o, char **ret);

/* "root=... ro", and rootflags= if need be, for the root file system of this system; NULL with a phrase, to
 * be freed, if that cannot be told for certain. */
char *cmdline_root_words(const struct options *o, bool by_path, char **ret_problem);

#endif
