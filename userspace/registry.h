/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries that granule itself writes: their names, their text, and the files that they own on the partition.
 */
#ifndef GRANULE_REGISTRY_H
#define GRANULE_REGISTRY_H

#include "report.h"

/* One entry to be written. */
struct registration {
	const char *name;    /* of the kernel: release, as in its file name */
	const char *version; /* release that the kernel itself states */
	const char *title, *machine_id, *architecture;
	const char *linux_path; /* on the partition, with '/' */
	const struct strings *initrd_paths;
	const char *options; /* without page-size word */
	enum image_kind kind;
	enum page_size image_page_size; /* of a fixed image */
	enum page_size page_size;       /* of this entry */
};

/* "TOKEN-NAME-64k.conf". The size at the end keeps a name that ends in "+64" from being read as a boot
 * counter. */
char *registry_file_name(const char *token, const char *name, enum page_size size);

/* Sort key: the wanted class comes first in every loader, whatever the versions say. `first` may be unknown.
 */
char *registry_sort_key(enum page_size size, enum page_size first);

/* Text of the entry, to be freed; NULL after one printed line when the command line cannot be written so that
 * the kernel obeys it. */
char *registry_text(const struct registration *r, enum page_size first);

/* Adds what an entry holds besides to the text that replaces it: keys that granule does not write, such as
 * devicetree or grub_users, and comments. Frees `taken`. */
char *registry_keep_lines(char *taken, const char *old);

/* Rewrites the sort keys of all entries that granule wrote for this system, so that `first` is the leading
 * class. */
int registry_sort(struct actions *a, struct entry_set *set, enum page_size first);

/* Path on the partition under which content is stored: "/TOKEN/NAME/STEM-HASH". The name changes with the
 * content, so that replacing is: write the new file, switch the entry, remove the old file. */
char *registry_content_path(const char *token, const char *name, const char *stem, const void *data,
			    size_t size);
/* Whether a path was made by registry_content_path(). */
bool registry_owns_path(struct span path);

/* What the files in loader/entries of a partition mention, whatever they are otherwise: written by hand, for
 * another machine, or not understood. */
struct mentions {
	char *text; /* of all of them, with paths in one spelling */
	size_t size;
	const char **at; /* where names such as those of registry_content_path() stand in it, sorted */
	size_t n;
	bool all; /* a file could not be read: it may mention everything */
};

void mentions_read(const char *partition, struct mentions *ret);
void mentions_free(struct mentions *m);

/* Removes files of ours in the folder of `path` that are not mentioned any more; all on the partition that is
 * mounted here. Not for --dry-run. */
void registry_collect(struct actions *a, const char *partition, const struct mentions *mentions,
		      struct span path);

#endif
