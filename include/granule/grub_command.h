/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of grub.cfg that tell something of the menu or of the default: a part of the reader in
 * grub_cfg.h. */
#ifndef GRANULE_GRUB_COMMAND_H
#define GRANULE_GRUB_COMMAND_H

#include <granule/grub_cfg.h>

enum grub_command_kind {
	GRUB_COMMAND_OTHER, /* of no interest where it stands */
	GRUB_COMMAND_MENUENTRY,
	GRUB_COMMAND_SUBMENU,
	GRUB_COMMAND_LINUX, /* this and the next three load something */
	GRUB_COMMAND_INITRD,
	GRUB_COMMAND_DEVICETREE,
	GRUB_COMMAND_CHAINLOADER,
	GRUB_COMMAND_SEARCH,
	GRUB_COMMAND_SEARCH_UUID,
	GRUB_COMMAND_SET,
	GRUB_COMMAND_SAVE_ENV,
	GRUB_COMMAND_SOURCE,
	GRUB_COMMAND_BLSCFG,
};

/* A command whose words are being read. */
struct grub_command {
	enum grub_command_kind kind;
	unsigned n;            /* words that are no options */
	bool plain;            /* behind "--": no more options */
	struct span *value_of; /* what the next word is the value of; `ignored` if that is of no interest */
	struct span ignored, id, title, users, first, list, set;
	bool unrestricted, by_uuid, file, variable;
};

/* Begins with the first word of a command, the last one that was read. */
struct grub_command grub_command_begin(struct grub_cfg *cfg, const struct grub_word *name);

/* Takes the next word, the last one that was read; keeps its memory only if something of it is kept. Returns
 * 0 or ERROR_SPACE. */
int grub_command_word(struct grub_cfg *cfg, struct grub_command *command, const struct grub_word *word);

/* Enters what was learned into cfg->item or cfg->facts. */
void grub_command_end(struct grub_cfg *cfg, const struct grub_command *command);

#endif
