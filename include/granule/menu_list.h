/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the menu shows of entries, in words and columns, and the window of a long list. */
#ifndef GRANULE_MENU_LIST_H
#define GRANULE_MENU_LIST_H

#include <granule/entry.h>
#include <granule/loader_conf.h>

/* ---- the list ---- */

struct menu_list {
	size_t n, rows;  /* entries, and rows for them on the screen; at least 1 each */
	size_t selected; /* < n */
	size_t first;    /* entry in the first row */
};

/* Selects an entry (the last one if there are fewer) and scrolls so that it is shown: by half a window, so
 * that a slow line does not repaint at each step. */
void menu_list_select(struct menu_list *list, size_t index);

/* Does what a key asks for, of those that move in the list: cursor keys, j and k, Home, End, Page Up and
 * Down, 1 to 9. False for others. */
bool menu_list_key(struct menu_list *list, uint32_t key);

/* Next entry behind `from`, around the end, whose id begins with `prefix`, or with anything but it when
 * `without`. SIZE_MAX if there is none. */
size_t menu_find_prefix(const struct entry *const *entries, size_t n, size_t from, struct span prefix,
			bool without);

/* ---- one entry ---- */

/* What a person sees of an entry's state: "2 tries left", "bad: no tries left", "not supported by this CPU",
 * "cannot be started: WHY", where of a reason "PATH: PHRASE" the phrase comes first. Nothing for one without
 * a counter that can be started. */
void menu_state_format(const struct entry *entry, page_size_set cpu, struct span why_unusable,
		       struct text *ret);

struct menu_row {
	size_t number;     /* counted from 1; shown up to 9 */
	bool selected;     /* marked with '>' */
	bool chosen;       /* boots by itself: marked with '*' */
	struct span apart; /* what tells it apart from others of its title; menu_tells_apart() */
	page_size_set cpu;
	struct span why_unusable;
};

/* ">* 1  64K  TITLE (STATE)", of at most `columns` (at least 40) columns (UTF8_COLUMNS_SIZE bytes); a title
 * or a state that is too long is cut, what tells apart and an id at their beginning. An entry without a
 * title shows its id. */
void menu_row_format(const struct entry *entry, const struct menu_row *row, size_t columns, struct text *ret);

/* What tells entries[index] apart from others of its title: its version if none of them has it, else its id.
 * Nothing if there are no others, or no title. */
struct span menu_tells_apart(const struct entry *const *entries, size_t n, size_t index);

/* All facts of an entry, a line each, "NAME       VALUE". */
void menu_facts_format(const struct entry *entry, page_size_set cpu, struct span why_unusable,
		       struct text *ret);

/* The next row of a text that is shown in rows of `columns`: up to a line end or, where a line is longer, up
 * to a blank if there is one in the second half of the row. Start with 0 in *pos; empty at the end. */
struct span menu_wrap(struct span text, size_t *pos, size_t columns);

/* The same for a page of facts, as a console can show it (UTF8_COLUMNS_SIZE bytes): what goes on from the row
 * before stands under the values. More than 20 columns. */
void menu_wrap_indented(struct span text, size_t *pos, size_t columns, struct text *ret);

/* ---- settings ---- */

/* The next larger page size of the CPU, after the largest the smallest. PAGE_SIZE_UNKNOWN when the set is not
 * known. */
enum page_size menu_next_page_size(enum page_size size, page_size_set cpu);

/* The setting LoaderConfigTimeout, which wins over loader.conf. */
struct menu_timeout {
	bool set;
	enum menu_mode menu;
	uint32_t seconds;
};

/* One step up or down: not set, menu-force, menu-hidden, 1 s, 2 s... */
void menu_timeout_step(struct menu_timeout *timeout, bool up);

/* What is written into the variable: seconds, or a number for a mode that every reader of the interface
 * knows. Empty when not set. */
void menu_timeout_value(const struct menu_timeout *timeout, struct text *ret);

/* "menu timeout from now on: ..." for people. */
void menu_timeout_explain(const struct menu_timeout *timeout, struct text *ret);

#endif
