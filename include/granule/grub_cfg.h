/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's configuration, grub.cfg, as a text: the menu that it would make, as far as that can be told without
 * running it, and what it says of where the default comes from.
 *
 * Words are taken apart as GRUB's own lexer does: single quotes, double quotes, backslashes, comments, line
 * ends within quotes. Nothing is run: what a word takes from a variable stays as it is written ("$name").
 * What a function or a block of another command holds is not looked at. */
#ifndef GRANULE_GRUB_CFG_H
#define GRANULE_GRUB_CFG_H

#include <granule/grub_lex.h>
#include <granule/page_size.h>

#define GRUB_CFG_MAX_DEPTH 15   /* of submenus */
#define GRUB_CFG_MAX_NESTING 64 /* of all that has an end of its own: blocks, `if`, loops */

/* Room that always suffices for the words of a text of n bytes. */
#define GRUB_CFG_MEMORY(n) (2 * (n) + 1)

/* One `menuentry` or `submenu`. Spans lie in the text or in the caller's memory, and stay. */
struct grub_item {
	bool submenu;
	unsigned depth;        /* submenus around it */
	size_t index;          /* among its siblings, from 0, as numeric defaults count */
	struct span title, id; /* without quotes; id empty if there is none (then the title is the id) */
	struct span users;     /* of --users; what only they may boot. "-" for --unrestricted */
	struct span linux; /* path of the last `linux` command in it, as written, "(hd0,gpt2)/x" too; empty if
			      none */
	struct span options; /* the words behind it, joined by one blank, quoted as GRUB hands them to the
				kernel: `"a b"` for a word with a blank in it, `\"` for a quote */
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
	/* What `default` is set to at last where there is no next_entry: a literal, or a word with a variable
	 * in it, as it is written. The other is empty, or both are. Granule's own lines do not count: behind
	 * granule_version= only what stands under no condition does. */
	struct span default_word, default_from;
	bool blscfg;            /* entries come from loader/entries */
	bool fallback_counting; /* boot_counter and boot_success are asked about (Fedora, RHEL) */
	struct span env_block;  /* of openSUSE and newer GRUB: value of `env_block` if it is set by a literal;
				   empty */
	struct span sourced[8]; /* paths of `configfile` and `source` at the top level, in order */
	unsigned n_sourced;     /* further ones are left out */
	struct span prefix_uuid; /* last --fs-uuid of a top-level `search`; empty if none */

	/* lines of /etc/grub.d/09_granule; empty when they are not there */
	struct span granule_version;  /* granule_version=: of the lines, "1" */
	struct span granule_env_uuid; /* granule_env_uuid=: file system of its environment block */
	struct span granule_env_path; /* granule_env_path=: path of the block in it */
	struct span granule_policy[PAGE_SIZE_64K + 1]; /* granule_4k=, ...: id of what a policy stands for */
};

/* What is open at a place of the text. */
struct grub_frame {
	unsigned char kind, branch; /* of the reader's own */
	unsigned asks, asked;       /* variables of this condition of an `if`, and of those before it */
	size_t offset;              /* where it begins */
};

struct grub_cfg {
	size_t pos; /* up to where the text was read; after an error: where */
	struct grub_cfg_facts facts;

	/* of the reader's own */
	struct grub_lexer lexer;
	struct grub_item item; /* the menuentry that is open */
	struct grub_frame frames[GRUB_CFG_MAX_NESTING];
	unsigned n_frames, depth;
	unsigned entry;      /* 1 in a menuentry */
	unsigned hidden;     /* blocks around that are not looked at */
	unsigned conditions; /* `if` and loops around */
	unsigned next_entry; /* which parts of what grub-reboot relies on were seen */
	unsigned asked;      /* variables that conditions of the top level ask about */
	size_t index[GRUB_CFG_MAX_DEPTH + 1];
	int error;
};

/* Starts. `memory` is room for words without their quotes: GRUB_CFG_MEMORY(text.n) always suffices. */
void grub_cfg_open(struct span text, char *memory, size_t size, struct grub_cfg *ret);

/* Next item in the order of the text; a submenu comes before what is in it. false at the end, with *ret_error
 * 0, or ERROR_SYNTAX (a quote, brace or `if` that is not closed, or closed without one, or a sign that GRUB's
 * language has no use for), ERROR_TOO_MANY (nested too deep), ERROR_SPACE; cfg->pos is then where. What came
 * before an error is good; facts are complete when all is read. */
bool grub_cfg_next(struct grub_cfg *cfg, struct grub_item *ret, int *ret_error);

/* One part of a path of menu entries, as GRUB wants it: '>' is written twice. */
void grub_path_escape(struct span part, struct text *ret);

/* Takes a path "A>B" apart: the first part, unescaped, into *ret_part; *pos begins at 0. false at the end. */
bool grub_path_next(struct span path, size_t *pos, struct text *ret_part);

#endif
