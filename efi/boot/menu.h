/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the menu, shared by its parts. */
#ifndef GRANULE_MENU_H
#define GRANULE_MENU_H

#include <granule/menu_list.h>
#include <granule/utf8.h>

#include "boot.h"
#include "efi_console.h"

struct menu {
	struct boot *b;
	struct choose_result *chosen; /* what boots by itself */
	struct screen screen;
	struct menu_list list;
	bool forever;    /* waits until somebody chooses */
	bool pressed;    /* a key came: the countdown is over */
	UINT32 left_s;   /* until the chosen entry boots by itself */
	uint32_t repeat; /* key that does something grave when it is pressed again */
	struct text message;
	struct menu_timeout timeout;
	bool timeout_changed;
	bool mode_set, mode_changed; /* LoaderConfigConsoleMode: the present text mode is a person's choice */
	UINTN mode_found;            /* at the start */
};

/* ---- menu.c ---- */

/* Waits for a key; `in_list`: the countdown is on the screen. KEY_NONE when none came in time: the chosen
 * entry is to boot. */
uint32_t menu_wait(struct menu *m, bool in_list);

/* ---- menu_draw.c ---- */

/* Rows of the screen for entries. */
size_t menu_list_rows(const struct screen *screen);

void menu_draw(struct menu *m);
/* The row of messages and of the countdown. */
void menu_draw_message(struct menu *m);

/* Shows a text page by page. False when no key came in time. */
bool menu_show_text(struct menu *m, struct span text);

/* Why an entry cannot be started; empty if it can. */
struct span menu_why_unusable(const struct boot *b, const struct entry *entry);

/* Texts of a page each, in new memory. */
struct span menu_help(void);
struct span menu_facts(const struct menu *m, const struct entry *entry);
struct span menu_status(const struct menu *m);

/* ---- menu_edit.c ---- */

/* Gives an entry other options for this boot. */
void menu_set_options(struct menu *m, struct entry *entry, struct span options);

/* Lets a person edit the options. True: boot it. False with KEY_NONE in *ret_key when no key came in time. */
bool menu_edit(struct menu *m, struct entry *entry, uint32_t *ret_key);

#endif
