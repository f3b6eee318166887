/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries that GRUB would show, and the decision about them as it would make it. */
#ifndef GRANULE_GRUB_MENU_H
#define GRANULE_GRUB_MENU_H

#include "../entry_set.h"
#include "grub.h"

enum grub_node_kind {
	GRUB_NODE_ENTRY,
	GRUB_NODE_SUBMENU,
	GRUB_NODE_ALIAS, /* of granule's: the newest entry of a page size, at the top level */
	GRUB_NODE_AGAIN, /* of granule's: takes the next stage when an entry cannot be loaded */
};

/* An item of the menu, whether it is listed or not: numbers count all of them. */
struct grub_node {
	enum grub_node_kind kind;
	size_t parent;    /* SIZE_MAX at the top level */
	size_t index;     /* among its siblings */
	struct span name; /* its id, or its title if it has none */
	struct span title;
	bool ours;       /* of granule's lines */
	size_t position; /* of its entry, struct entry's; SIZE_MAX if it has none */
	char *path;      /* of names, as GRUB wants it; NULL for an entry of loader/entries */
};

struct grub_menu {
	struct grub_node *nodes;
	size_t n, n_top;       /* all, and those at the top level */
	struct strings values; /* behind the spans of the input that they are in */
	char *first_title;
};

/* Adds the entries of grub.cfg, or with `bls` those of loader/entries in the order of GRUB's blscfg, to the
 * set. Returns 0 or -errno after one printed line. */
int grub_menu_read(const struct options *o, struct grub *grub, uint16_t machine, struct entry_set *set);
void grub_menu_free(struct grub_menu *menu);

/* Fills set->input from the blocks and from what grub.cfg does with them: next_entry, saved_entry, page size,
 * GRUB_DEFAULT as a number, title, id or path, boot_counter. */
void grub_input(struct entry_set *set);

/* Whether grub.cfg has the lines of /etc/grub.d/09_granule; and whether they read an environment block. */
bool grub_has_lines(const struct grub *grub);
bool grub_has_block(const struct grub *grub);

/* The entry that GRUB means by a default: a number, a title, an id, a path "A>B" or "1>2"; NULL if it would
 * find none, and so boot the first. */
const struct entry *grub_resolve(const struct entry_set *set, struct span spec);

/* An entry's id as GRUB itself wants it, for grubenv: entries of granule's lines have plain ids, but stand in
 * a submenu. To be freed. */
char *grub_path_of_id(const struct entry_set *set, const char *id);

/* The entry that a kernel command line tells of: by granule.entry=, else by BOOT_IMAGE= and the options; NULL
 * if none or several fit. */
const struct entry *grub_booted(const struct entry_set *set, const char *cmdline);

/* Whether two entries start the same kernel with the same options: GRUB's menu has many of them twice. */
bool grub_boots_same(const struct entry *a, const struct entry *b);

/* ---- for the files that read the menu ---- */

struct grub_kernels;

/* Adds a node; one at the top level is the next there if `index` is SIZE_MAX. Returns its number. */
size_t grub_menu_add(struct grub_menu *menu, struct grub_node node);

/* Adds an entry to the set, behind those that are there. */
void grub_menu_add_entry(struct entry_set *set, struct loaded_entry *e);

/* Adds the paths of an `initrd` line, which blanks part. */
void grub_menu_take_initrds(struct span paths, struct bls_entry *bls);

/* Adds what is in loader/entries. */
int grub_bls_read(const struct options *o, struct grub *grub, struct grub_kernels *kernels,
		  struct entry_set *set);

#endif
