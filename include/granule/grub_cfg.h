/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's configuration, grub.cfg, as a text: the menu that it would make, as far as that can be told without
 * running it, and what it says of where the default comes from.
 *
 * Words are taken apart as GRUB's own lexer does: single quotes, double quotes, backslashes, comments, line
 * ends within quotes. Nothing is run: what a word takes from a variable stays as it is written ("$name"). */
#ifndef GRANULE_GRUB_CFG_H
#define GRANULE_GRUB_CFG_H

#include <granule/page_size.h>

/* One `menuentry` or `submenu`. Spans lie in the caller's memory and stay. */
struct grub_item {
	bool submenu;
	unsigned depth;        /* submenus around it */
	size_t index;          /* among its siblings, from 0, as numeric defaults count */
	struct span title, id; /* without quotes; id empty if there is none (then the title is the id) */
	struct span users;     /* of --users; what only they may boot. "-" for --unrestricted */
	struct span linux; /* path of the last `linux` command in it, as written, "(hd0,gpt2)/x" too; empty if
			      none */
	struct span options; /* the words behind it, joined by one blank */
	struct span initrd;  /* paths of its `initrd`, joined by one blank */
	struct span devicetree;
	struct span chainloader; /* path; the words behind it are in `options` if there is no `linux` */
	struct span fs_uuid;     /* the last --fs-uuid of a `search` in it; empty if none */
	bool variables;          /* a $variable stands in linux, options, initrd or devicetree */
	bool conditional; /* stands below an `if`, `for`, `while`: whether it is in the menu GRUB knows only
			     then */
	size_t offset;    /* of the word menuentry or submenu in the text */
};

/* What is at the top level, that is in no menu entry. */
struct grub_cfg_facts {
	bool next_entry;  /* ${next_entry} is asked about and cleared by save_env: grub-reboot works */
	bool saved_entry; /* default comes from ${saved_entry}: grub-set-default works */
	struct span default_word; /* the last literal that `default` is set to in the part for no next_entry;
				     empty if none */
	struct span default_from; /* `set default=` with a variable in it, as written; empty if none */
	bool blscfg;              /* entries come from loader/entries */
	bool fallback_counting;   /* boot_counter and boot_success are asked about (Fedora, RHEL) */
	struct span env_block;  /* of openSUSE and newer GRUB: value of `env_block` if it is set by a literal;
				   empty */
	struct span sourced[8]; /* paths of `configfile` and `source` at the top level, in order */
	unsigned n_sourced;
	struct span prefix_uuid; /* last --fs-uuid of a top-level `search`; empty if none */

	/* lines of /etc/grub.d/09_granule; empty when they are not there */
	struct span granule_version;  /* granule_version=: of the lines, "1" */
	struct span granule_env_uuid; /* granule_env_uuid=: file system of its environment block */
	struct span granule_env_path; /* granule_env_path=: path of the block in it */
	struct span granule_policy[PAGE_SIZE_64K + 1]; /* granule_4k=, ...: id of what a policy stands for */
};

struct grub_cfg {
	struct span text;
	size_t pos;
	char *memory; /* of the caller's */
	size_t used, size;
	struct grub_cfg_facts facts;
	/* of the reader's own */
	unsigned depth, braces, conditions;
	size_t index[16];
	/* the implementation may add to this */
};

#define GRUB_CFG_MAX_DEPTH 15

/* Starts. `memory` is room for words without their quotes; a size of text.n + 1 always suffices. */
void grub_cfg_open(struct span text, char *memory, size_t size, struct grub_cfg *ret);

/* Next item in the order of the text; a submenu comes before what is in it. false at the end, with *ret_error
 * 0, or ERROR_SYNTAX (a quote or brace that is not closed), ERROR_TOO_MANY (submenus too deep), ERROR_SPACE;
 * cfg->pos is then where. What came before an error is good; facts are complete when all is read. */
bool grub_cfg_next(struct grub_cfg *cfg, struct grub_item *ret, int *ret_error);

/* One part of a path of menu entries, as GRUB wants it: '>' is written twice. */
void grub_path_escape(struct span part, struct text *ret);

/* Takes a path "A>B" apart: the first part, unescaped, into *ret_part; *pos begins at 0. false at the end. */
bool grub_path_next(struct span path, size_t *pos, struct text *ret_part);

#endif
