/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the menu shows. Made for 80x24 on a serial line: plain characters, and only what changed is sent. */
#include <granule/error.h>
#include <granule/variables.h>

#include "efi_trust.h"
#include "menu.h"

/* First row of the list, and the rows around it: header, window; a blank one, two for the choice, message,
 * help. */
#define LIST_ROW 2
#define ROWS_AROUND 7
#define TEXT_MAX (64u << 10)
/* The countdown after a key is shown when it is nearly over. */
#define QUIET_SECONDS 10

static struct text new_text(size_t size)
{
	return text_in(efi_new(char, size), size);
}

static void add(struct text *t, const char *s)
{
	text_add(t, span_of(s));
}

struct span menu_why_unusable(const struct boot *b, const struct entry *e)
{
	for (size_t i = 0; e->unusable && i < b->n_failures; i++)
		if (!b->failures[i].left_out && span_equal(b->failures[i].id, e->id))
			return b->failures[i].text;
	return SPAN_NONE;
}

size_t menu_list_rows(const struct screen *s)
{
	return s->rows - ROWS_AROUND;
}

static void draw_entry(struct menu *m, size_t i)
{
	struct screen *s = &m->screen;
	const struct boot *b = m->b;
	const struct menu_row row = {
		.number = i + 1,
		.selected = i == m->list.selected,
		.chosen = i == m->chosen->index,
		.apart = menu_tells_apart(b->input.entries, b->n_entries, i),
		.cpu = b->cpu,
		.why_unusable = menu_why_unusable(b, b->entries[i]),
	};
	struct text t = new_text(UTF8_COLUMNS_SIZE(s->columns));

	menu_row_format(b->entries[i], &row, s->columns, &t);
	screen_row(s, LIST_ROW + i - m->list.first, text_span(&t), row.selected);
	efi_free(t.p);
}

static void draw_window(struct menu *m)
{
	const struct menu_list *l = &m->list;
	char line[80];
	struct text t = text_in(line, sizeof(line));

	if (l->n > l->rows) {
		size_t last = l->first + l->rows;
		add(&t, "Entries ");
		text_add_number(&t, l->first + 1, 1);
		add(&t, " to ");
		text_add_number(&t, last, 1);
		add(&t, " of ");
		text_add_number(&t, l->n, 1);
	}
	screen_row(&m->screen, LIST_ROW - 1, text_span(&t), FALSE);
}

/* What boots by itself, and why. */
static void add_choice(const struct menu *m, struct text *t)
{
	if (m->chosen->index != SIZE_MAX) {
		add(t, "* boots by itself: ");
		text_add(t, m->b->entries[m->chosen->index]->id);
		add(t, ", ");
	}
	choose_explain(&m->b->input, m->chosen, t);
}

static void draw_choice(struct menu *m)
{
	struct screen *s = &m->screen;
	struct text t = new_text(4096);
	size_t pos = 0;

	add_choice(m, &t);
	screen_row(s, s->rows - 4, menu_wrap(text_span(&t), &pos, s->columns), FALSE);
	/* What does not fit is cut with a mark; menu_status() has it all. */
	screen_row(s, s->rows - 3, span_cut(text_span(&t), pos, t.n), FALSE);
	efi_free(t.p);
}

void menu_draw_message(struct menu *m)
{
	char line[80];
	struct text t = text_in(line, sizeof(line));

	if (m->forever || (m->pressed && m->left_s > QUIET_SECONDS)) {
		t = m->message;
	} else {
		add(&t, m->chosen->index == SIZE_MAX ? "Back to firmware in " : "Boots * in ");
		text_add_number(&t, m->left_s, 1);
		add(&t, " s. Any key stops it.");
	}
	/* A mode of more rows than the terminal has: what is written below them spoils the last one. */
	screen_row(&m->screen, m->mode_set && t.n ? LIST_ROW - 1 : m->screen.rows - 2, text_span(&t), FALSE);
	screen_cursor(&m->screen, 0, LIST_ROW + m->list.selected - m->list.first, FALSE);
}

void menu_draw(struct menu *m)
{
	struct screen *s = &m->screen;
	const struct menu_list *l = &m->list;
	char line[120];
	struct text t = text_in(line, sizeof(line));

	add(&t, GRANULE_BOOT_NAME " " GRANULE_VERSION);
	if (m->b->cpu != PAGE_SIZE_SET_UNKNOWN) {
		add(&t, "  page sizes of this CPU:");
		page_size_set_format(m->b->cpu, &t);
	}
	screen_row(s, 0, text_span(&t), FALSE);
	draw_window(m);
	for (size_t i = l->first; i < l->first + l->rows && i < l->n; i++)
		draw_entry(m, i);
	draw_choice(m);
	screen_row(s, s->rows - 1,
		   SPAN("Up/Down select  Enter boot  e edit  p page size  i facts  d prefer  h all keys"),
		   FALSE);
	menu_draw_message(m);
}

bool menu_show_text(struct menu *m, struct span text)
{
	struct screen *s = &m->screen;
	uint32_t key = KEY_ENTER;

	struct text line = new_text(UTF8_COLUMNS_SIZE(s->columns));

	for (size_t pos = 0; pos < text.n && key != KEY_NONE && key != KEY_ESCAPE && key != 'q';) {
		screen_clear(s);
		for (UINTN row = 0; row < s->rows - 1 && pos < text.n; row++) {
			line = text_in(line.p, line.size);
			menu_wrap_indented(text, &pos, s->columns, &line);
			screen_row(s, row, text_span(&line), FALSE);
		}
		screen_row(s, s->rows - 1,
			   pos < text.n ? SPAN("Any key: more  q: back") : SPAN("Any key: back"), FALSE);
		key = menu_wait(m, false);
	}
	efi_free(line.p);
	screen_clear(s);
	return key != KEY_NONE;
}

struct span menu_help(void)
{
	return SPAN("Up Down k j Home End PgUp PgDn 1-9   select an entry\n"
		    "Enter Right   boot it\n"
		    "e   edit its options for this boot:\n"
		    "    Ctrl-A E start, end  Ctrl-U K W cut before, behind, a word\n"
		    "    Enter boot  Esc Ctrl-G Ctrl-C leave them as they were\n"
		    "p   next page size, of a kernel that can choose, for this boot\n"
		    "i   all facts of the entry\n"
		    "d   make it the preferred entry, or no longer (passed over when it is bad)\n"
		    "D   make it the default entry, or no longer\n"
		    "+ t   longer menu timeout from the next boot on\n"
		    "- T   shorter\n"
		    "r R   next text mode of the console, kept for the next boots; as at first\n"
		    "l w a s   next entry of Linux, Windows, macOS, EFI shell\n"
		    "v P   versions and settings, and why * was chosen\n"
		    "f F2 F10 Del   firmware setup (press it twice)\n"
		    "B   reboot (press it twice)\n"
		    "O   power off (press it twice)\n"
		    "Q   back to firmware (press it twice)\n"
		    "Ctrl-L   draw again\n"
		    "\n"
		    "> selected   * boots by itself\n"
		    "A minute after the last key * boots, unless the menu is set to wait for ever.\n");
}

struct span menu_facts(const struct menu *m, const struct entry *e)
{
	struct text t = new_text(TEXT_MAX + e->bls.options.n);

	menu_facts_format(e, m->b->cpu, menu_why_unusable(m->b, e), &t);
	return text_span(&t);
}

struct span menu_status(const struct menu *m)
{
	const struct boot *b = m->b;
	struct text t = new_text(TEXT_MAX);
	struct span vendor = efi_to_utf8(ST->FirmwareVendor, 200);

	add(&t, GRANULE_BOOT_NAME " " GRANULE_VERSION "\nfirmware: ");
	text_add(&t, vendor);
	efi_free((void *)vendor.p);
	add(&t, ", UEFI ");
	text_add_number(&t, ST->Hdr.Revision >> 16, 1);
	add(&t, ".");
	text_add_number(&t, ST->Hdr.Revision & 0xffff, 2);
	add(&t, efi_secure_boot() ? ", Secure Boot is on\n" : ", Secure Boot is off\n");
	add(&t, "page sizes of this CPU:");
	page_size_set_format(b->cpu, &t);
	add(&t, "\n\n");
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		struct span asked = choose_asked(&b->input, r);

		if (!asked.n)
			continue;
		add(&t, choose_rule_name(r));
		add(&t, ": ");
		text_add(&t, asked);
		add(&t, " (");
		add(&t, choose_outcome_name(m->chosen->outcome[r]));
		add(&t, ")\n");
	}
	add_choice(m, &t);
	add(&t, "\n");
	menu_timeout_explain(&m->timeout, &t);
	add(&t, "\n");
	for (size_t i = 0; i < b->n_failures; i++) {
		add(&t, "\n");
		text_add(&t, b->failures[i].id);
		add(&t, ": ");
		text_add(&t, b->failures[i].text);
	}
	return text_span(&t);
}
