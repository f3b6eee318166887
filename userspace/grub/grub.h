/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB on this machine: its configuration, its environment blocks, and what decides about its default. */
#ifndef GRANULE_GRUB_H
#define GRANULE_GRUB_H

#include <granule/env_block.h>
#include <granule/grub_cfg.h>

#include "../options.h"
#include "../places.h"

/* Variables of granule's lines in grub.cfg, in its environment block beside those of env_wishes.h. */
#define GRUB_ENV_OPTIONS \
	SPAN("granule_options") /* words for the kernel command line of the one-shot's boot */
#define GRUB_ENV_TRIES                                                                                   \
	SPAN("granule_tries")              /* "3" to "0": boots left of the default until it is verified \
					    */
#define GRUB_ENV_GOOD SPAN("granule_good") /* id of the entry that was verified last */

/* Words that entries of /etc/grub.d/09_granule have on the kernel command line. */
#define GRUB_WORD_ENTRY \
	"granule.entry" /* ID,SIZE: the menu entry that was started, and the page size it is to have */
#define GRUB_WORD_CHOSEN "granule.chosen" /* RULE:ID, by which rule which entry was to be started */
#define GRUB_WORD_FAILED "granule.failed" /* id that could not be started in this boot */
#define GRUB_WORD_TRIAL                                                                           \
	"granule.trial" /* among the words of a one-shot: the trial that it was armed for, struct \
			   trial.words */

enum grub_block_kind {
	GRUB_BLOCK_NONE,
	GRUB_BLOCK_FILE,  /* a file of 1024 bytes */
	GRUB_BLOCK_BTRFS, /* a file, and an area of the file system's header that GRUB can write */
};

/* An environment block that GRUB reads and writes. */
struct grub_block {
	enum grub_block_kind kind;
	char *path; /* of the file, symlinks resolved */
	bool exists;
	char block[ENV_BLOCK_SIZE]; /* valid if it exists and there is no problem */
	char *problem;              /* why it is not read, with what helps: 1023 bytes, damaged; of grubenv
				       "missing", too; NULL */
	char *obstacle; /* why GRUB cannot write it, as a phrase: "/boot/grub lies on btrfs, ..."; NULL */

	/* GRUB_BLOCK_BTRFS: what GRUB reads after the file and writes instead of it. One-shots are kept
	 * there. */
	char *device;
	uint64_t offset;
	size_t size;               /* 512 */
	char area[ENV_BLOCK_SIZE]; /* padded to the size of a block */
};

/* Settings that grub-mkconfig reads: /etc/default/grub, then those of /etc/default/grub.d, of which the last
 * one wins. They are shell; they are read without one. */
struct grub_mkconfig_var {
	const char *name; /* "GRUB_DEFAULT" */
	char *value;      /* NULL if it is not set */
	char *file;       /* that decided; NULL */
};

/* The GRUB_DEFAULT that grub-mkconfig would use, and the file that says so. */
struct grub_default {
	char *value;         /* "0" if nothing sets it; NULL if it takes a shell to tell */
	char *file;          /* that decided; NULL if nothing sets it */
	char *problem;       /* "FILE: line N: ..." ; NULL */
	bool save_default;   /* GRUB_SAVEDEFAULT=true */
	bool bls_disabled;   /* GRUB_ENABLE_BLSCFG is set and not true */
	char *flavour_order; /* GRUB_FLAVOUR_ORDER; NULL */
};

struct grub_menu;

struct grub {
	struct grub_menu *menu; /* grub_menu.h; NULL until grub_menu_read() */
	char *folder;           /* ROOT/boot/grub2 */
	char *cfg_path;         /* of the file that makes the menu */
	char *cfg_text;
	size_t cfg_size;
	char *cfg_memory;  /* of GRUB_CFG_MEMORY(cfg_size) bytes; `facts` point into it */
	bool bls;          /* the menu comes from loader/entries */
	const char *tools; /* how its commands begin: "grub" or "grub2" */
	char *mkconfig;    /* what makes grub.cfg anew, as a person types it: "update-grub" */
	char *bls_entries; /* folder ROOT/boot/loader/entries; NULL if there is none */
	char *bls_files;   /* folder that paths in them are below: the file system that holds /boot */
	struct grub_cfg_facts
		facts;         /* complete once grub_menu_read() was called, or grub_find() with `bls` */
	struct grub_block own; /* named by granule's lines of grub.cfg; GRUB_BLOCK_NONE if there are none */
	struct grub_block env; /* grubenv */
	struct grub_default def;
};

/* Finds GRUB's files below --root: boot/grub2, boot/grub, or what a grub.cfg of EFI/NAME on the ESP leads to.
 * `places` may be NULL (then no ESP is known). Reads all but the menu; what is damaged is in it, with a
 * reason. Returns 0, -ENOENT without a word when there is no GRUB, or -errno after one printed line. */
int grub_find(const struct options *o, const struct places *places, struct grub *ret);
void grub_free(struct grub *grub);

/* The block that wishes are written to: granule's own if grub.cfg reads one, else grubenv. */
struct grub_block *grub_wishes(struct grub *grub);

/* Whether GRUB could overwrite a file that is at `path`, or would be: only a plain file of a simple file
 * system directly on a partition. NULL if so, else a phrase that names what is in the way, to be freed.
 * Found out by mountinfo, sysfs below --root and libblkid, never by name. Below --root without /proc nothing
 * is known of it; then nothing is in the way. */
char *grub_write_obstacle(const struct options *o, const char *path);

/* Value in a block; NULL if there is none, or no block. To be freed. */
char *grub_block_get(const struct grub_block *block, struct span name);

struct grub_setting {
	struct span name;
	const char *value; /* NULL removes it */
};

/* Changes a block, all in one write, in memory alike; makes the file if it is missing. Overwritten in place
 * when one sector holds all that differs, else written anew and renamed where GRUB is to find it. Of btrfs
 * the file is written first, then the area, which wins. Honours --dry-run. Writes nothing when nothing
 * changes; *ret_changed (may be NULL). Returns 0 or -errno after one printed line (-ENOSPC: the block is
 * full). */
int grub_block_change(const struct options *o, struct grub_block *block, const struct grub_setting *settings,
		      size_t n, bool *ret_changed);

/* Fills in value and file of each; both are to be freed. False with one phrase, "FILE: line N: ...", to be
 * freed, if it takes a shell to tell, or a file cannot be read; nothing is set then. */
bool grub_mkconfig_vars_read(const struct options *o, struct grub_mkconfig_var *settings, size_t n,
			     char **ret_problem);
void grub_mkconfig_vars_free(struct grub_mkconfig_var *settings, size_t n);

void grub_default_read(const struct options *o, struct grub_default *ret);
void grub_default_free(struct grub_default *def);

#endif
