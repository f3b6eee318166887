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

enum grub_frame_kind {
	GRUB_FRAME_IF,
	GRUB_FRAME_LOOP,
	GRUB_FRAME_ENTRY,
	GRUB_FRAME_SUBMENU,
	GRUB_FRAME_FUNCTION,
	GRUB_FRAME_OTHER, /* a block of another command, also a menuentry in a menuentry */
};

enum grub_branch {
	GRUB_BRANCH_CONDITION,
	GRUB_BRANCH_THEN, /* of a loop: behind `do` */
	GRUB_BRANCH_ELSE,
};

/* What is open at a place of the text. */
struct grub_frame {
	enum grub_frame_kind kind;
	enum grub_branch branch;
	unsigned asks, asked; /* variables of this condition of an `if`, and of those before it */
	size_t offset;        /* where it begins */
};

/* What the last thing was, of what commands are put together from. */
enum grub_gap {
	GRUB_GAP_START,     /* the beginning of a list of commands */
	GRUB_GAP_COMMAND,   /* a command, and no line end yet */
	GRUB_GAP_SEPARATOR, /* a line end or semicolon */
};

struct grub_cfg {
	size_t pos; /* up to where the text was read; at the end after an error: where */
	struct grub_cfg_facts facts;

	/* of the reader's own */
	struct grub_lexer lexer;
	struct grub_item item; /* the menuentry that is open */
	struct grub_frame frames[GRUB_CFG_MAX_NESTING];
	enum grub_gap gap;
	unsigned n_frames, depth;
	unsigned entry;      /* 1 in a menuentry */
	unsigned hidden;     /* functions and other blocks around */
	unsigned conditions; /* `if` and loops around */
	unsigned next_entry; /* which parts of what grub-reboot relies on were seen */
	unsigned asked;      /* variables that conditions of the top level ask about */
	size_t index[GRUB_CFG_MAX_DEPTH + 1];
	bool failed, ended;
	int error; /* the first one */
	size_t error_pos;
};

/* Starts. `memory` is room for words without their quotes: GRUB_CFG_MEMORY(text.n) always suffices. */
void grub_cfg_open(struct span text, char *memory, size_t size, struct grub_cfg *ret);

/* Next item in the order of the text; a submenu comes before what is in it. false at the end, with *ret_error
 * 0 or one of these, and cfg->pos where:
 * ERROR_SYNTAX    what GRUB's own grub-script-check refuses. GRUB drops the outermost block or command around
 * it and goes on with the next line; so does this, but a submenu that is dropped was told of already.
 * ERROR_TOO_MANY  nested too deep, ERROR_SPACE: here reading ends. What came before is good. */
bool grub_cfg_next(struct grub_cfg *cfg, struct grub_item *ret, int *ret_error);

/* One part of a path of menu entries, as GRUB wants it: '>' is written twice. */
void grub_path_escape(struct span part, struct text *ret);

/* Takes a path "A>B" apart: the first part, unescaped, into *ret_part; *pos begins at 0. false at the end. */
bool grub_path_next(struct span path, size_t *pos, struct text *ret_part);

#endif
