/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cmdline.h>
#include <granule/line_edit.h>

#include "menu.h"

void menu_set_options(struct menu *m, struct entry *e, struct span options)
{
	/* Kept until the kernel starts, as the entry is. */
	e->bls.options = efi_copy(options);
	e->edited = true;
	e->options_implied = false;
	entry_update_page_size(e, m->b->cpu);
}

bool menu_edit(struct menu *m, struct entry *e, uint32_t *ret_key)
{
	struct screen *s = &m->screen;
	size_t size = (e->bls.options.n > CMDLINE_MAX ? e->bls.options.n : CMDLINE_MAX) + 1;
	char *buffer = efi_new(char, size);
	struct text shown =
		text_in(efi_new(char, UTF8_COLUMNS_SIZE(s->columns)), UTF8_COLUMNS_SIZE(s->columns));
	struct line_edit edit;
	size_t column;

	line_edit_start(&edit, buffer, size, e->bls.options);
	screen_row(s, s->rows - 4,
		   SPAN("Options for this boot. Enter boots with them, Esc leaves them as they were."),
		   FALSE);
	screen_row(s, s->rows - 2, SPAN_NONE, FALSE);
	screen_row(s, s->rows - 1,
		   SPAN("Enter boot  Esc Ctrl-G back  Ctrl-A E start, end  Ctrl-U K cut before, behind"),
		   FALSE);
	do {
		shown = text_in(shown.p, shown.size);
		line_edit_show(&edit, s->columns, &shown, &column);
		screen_row(s, s->rows - 3, text_span(&shown), FALSE);
		screen_cursor(s, column, s->rows - 3, TRUE);
		*ret_key = menu_wait(m, false);
		line_edit_key(&edit, *ret_key);
	} while (*ret_key != KEY_ENTER && !line_edit_is_abort(*ret_key) && *ret_key != KEY_NONE);
	if (*ret_key == KEY_ENTER)
		menu_set_options(m, e, text_span(&edit.line));
	efi_free(buffer);
	efi_free(shown.p);
	return *ret_key == KEY_ENTER;
}
