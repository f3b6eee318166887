/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a kernel command line as text of a GRUB script. */
#ifndef GRANULE_GRUB_WORDS_H
#define GRANULE_GRUB_WORDS_H

#include "../util.h"

/* All to be freed; empty if there is nothing. */
struct grub_words {
	char *all;          /* up to a "--" */
	char *without_size; /* the same without arm64.pagesize= */
	char *behind;       /* from the first "--" on, which the kernel hands to init */
	bool open;          /* a quote is not closed; it was taken to reach to the end */
};

/* Takes text as it stands behind `linux` in a GRUB script apart into words, as GRUB does, and writes each
 * anew so that nothing in it ends a command or opens a block: only what quotes and backslashes mean, and
 * $name or ${name}, which stays GRUB's to fill in, is kept. White space parts words, line ends do as well. */
void grub_words_quote(const char *text, struct grub_words *ret);
void grub_words_free(struct grub_words *words);

#endif
