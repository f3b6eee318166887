/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cmdline.h>
#include <granule/menu_key.h>
#include <granule/menu_list.h>
#include <granule/utf8.h>

/* Columns before the title: marks, number, page size. */
#define TITLE_COLUMN 11
/* Columns that a long state leaves to the title. */
#define TITLE_MIN 20
/* Columns before the values of facts. */
#define FACT_COLUMN 14

static void add(struct text *t, const char *s)
{
	text_add(t, span_of(s));
}

/* ---- the list ---- */

void menu_list_select(struct menu_list *l, size_t index)
{
	size_t half = l->rows / 2;

	l->selected = index < l->n ? index : l->n - 1;
	if (l->selected < l->first)
		l->first = l->selected > half ? l->selected - half : 0;
	else if (l->selected - l->first >= l->rows)
		l->first = l->selected - half;
	/* No empty rows at the end while there are entries above. */
	size_t last = l->n > l->rows ? l->n - l->rows : 0;
	if (l->first > last)
		l->first = last;
}

bool menu_list_key(struct menu_list *l, uint32_t key)
{
	size_t at = l->selected;

	switch (key) {
	case KEY_UP:
	case 'k':
		at -= at > 0;
		break;
	case KEY_DOWN:
	case 'j':
		at++;
		break;
	case KEY_HOME:
		at = 0;
		break;
	case KEY_END:
		at = l->n;
		break;
	case KEY_PAGE_UP:
		at -= at < l->rows ? at : l->rows;
		break;
	case KEY_PAGE_DOWN:
		at += l->rows;
		break;
	default:
		if (key < '1' || key > '9')
			return false;
		/* A number without an entry is a slip of the finger. */
		if (key - '1' < l->n)
			at = key - '1';
	}
	menu_list_select(l, at);
	return true;
}

size_t menu_find_prefix(const struct entry *const *entries, size_t n, size_t from, struct span prefix,
			bool without)
{
	for (size_t i = 1; i <= n; i++) {
		size_t at = (from + i) % n;

		if (span_starts(entries[at]->id, prefix) != without)
			return at;
	}
	return SIZE_MAX;
}

/* ---- one entry ---- */

/* What is wrong comes first, and the path behind it: the end is what may be cut. */
static void add_reason(struct span why, struct text *ret)
{
	for (size_t i = 0; i + 1 < why.n && why.p[0] == '/'; i++) {
		if (why.p[i] != ':' || why.p[i + 1] != ' ')
			continue;
		text_add(ret, span_cut(why, i + 2, why.n));
		add(ret, ": ");
		why.n = i;
	}
	text_add(ret, why);
}

void menu_state_format(const struct entry *e, page_size_set cpu, struct span why_unusable, struct text *ret)
{
	if (e->unusable) {
		add(ret, "cannot be started");
		if (why_unusable.n) {
			add(ret, ": ");
			add_reason(why_unusable, ret);
		}
	} else if (!entry_supported(e, cpu)) {
		add(ret, "not supported by this CPU");
	} else if (boot_counter_state(&e->counter) == STATE_BAD) {
		add(ret, "bad: no tries left");
	} else if (e->counter.present) {
		text_add_number(ret, e->counter.left, 1);
		add(ret, e->counter.left == 1 ? " try left" : " tries left");
	}
}

static void pad(struct text *t, size_t used, size_t width)
{
	for (; used < width; used++)
		text_add(t, SPAN(" "));
}

static size_t count_columns(struct span s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; n++)
		utf8_decode(s, &i);
	return n;
}

/* Cuts the beginning: ids and versions differ at their end. At least 4 columns. */
static void add_end(struct text *t, struct span s, size_t columns)
{
	size_t n = count_columns(s), pos = 0;

	if (n > columns) {
		add(t, "...");
		for (columns -= 3; n > columns; n--)
			utf8_decode(s, &pos);
	}
	utf8_add_columns(t, span_cut(s, pos, s.n), columns);
}

void menu_row_format(const struct entry *e, const struct menu_row *row, size_t columns, struct text *ret)
{
	char words[512];
	struct text state = text_in(words, sizeof(words));
	struct span size = e->type == ENTRY_AUTO ? SPAN_NONE : span_of(page_size_title(e->page_size));
	size_t room = columns - TITLE_COLUMN;

	add(ret, row->selected ? ">" : " ");
	add(ret, row->chosen ? "* " : "  ");
	if (row->number >= 1 && row->number <= 9)
		text_add_number(ret, row->number, 1);
	else
		add(ret, " ");
	add(ret, "  ");
	text_add(ret, size);
	pad(ret, size.n, 5);

	menu_state_format(e, row->cpu, row->why_unusable, &state);
	if (state.full) { /* a reason of more than 500 bytes: the first words say it */
		state = text_in(words, sizeof(words));
		menu_state_format(e, row->cpu, SPAN_NONE, &state);
	}
	struct span title = e->bls.title, apart = title.n ? row->apart : e->id;
	/* What a long state leaves to the rest. */
	size_t least = row->apart.n ? room / 2 : TITLE_MIN;
	if (title.n && !row->apart.n && count_columns(title) < least)
		least = count_columns(title);
	/* It is cut into memory of its own first, so that its columns are known. */
	char cut_state[UTF8_COLUMNS_SIZE(sizeof(words))];
	struct text s = text_in(cut_state, sizeof(cut_state));
	if (state.n) /* " (" and ")" */
		room -= 3 + utf8_add_columns(&s, text_span(&state), room - least - 3);

	if (title.n && apart.n) {
		size_t n = count_columns(apart) + 3, half = room / 2;
		size_t left = n < room ? room - n : 0;

		if (left < half)
			left = half;
		room -= 3 + utf8_add_columns(ret, title, left);
		add(ret, " (");
		add_end(ret, apart, room);
		add(ret, ")");
	} else if (title.n) {
		utf8_add_columns(ret, title, room);
	} else {
		add_end(ret, apart, room);
	}
	if (s.n) {
		add(ret, " (");
		text_add(ret, text_span(&s));
		add(ret, ")");
	}
}

struct span menu_tells_apart(const struct entry *const *entries, size_t n, size_t index)
{
	const struct bls_entry *e = &entries[index]->bls;
	struct span apart = SPAN_NONE;

	for (size_t i = 0; i < n && e->title.n; i++) {
		if (i == index || !span_equal(entries[i]->bls.title, e->title))
			continue;
		if (!e->version.n || span_equal(entries[i]->bls.version, e->version))
			return entries[index]->id;
		apart = e->version;
	}
	return apart;
}

static void fact(struct text *t, const char *name, struct span value)
{
	if (!value.n)
		return;
	add(t, name);
	pad(t, text_length(name), FACT_COLUMN);
	text_add(t, value);
	add(t, "\n");
}

static void facts(struct text *t, const char *name, const struct span *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fact(t, name, values[i]);
}

/* The page size, and how it is known. */
static void page_size_fact(const struct entry *e, struct text *t)
{
	struct page_size_param param;
	const char *how = "";

	if (e->type == ENTRY_AUTO)
		return;
	if (e->kind == IMAGE_FIXED) {
		how = ", compiled into the kernel";
	} else if (e->kind == IMAGE_SELECTABLE) {
		cmdline_page_size(e->bls.options, PAGE_SIZE_SET_UNKNOWN, &param);
		how = param.asked != PAGE_SIZE_UNKNOWN
			      ? ", asked for in the options"
			      : ", the largest of this CPU: the options ask for none";
	}
	add(t, "page size     ");
	add(t, e->page_size != PAGE_SIZE_UNKNOWN ? page_size_title(e->page_size) : "not known");
	add(t, how);
	add(t, "\n");
}

void menu_facts_format(const struct entry *e, page_size_set cpu, struct span why_unusable, struct text *ret)
{
	static const char *const start[] = {
		[BLS_START_NONE] = "program", [BLS_START_LINUX] = "linux",     [BLS_START_EFI] = "efi",
		[BLS_START_UKI] = "uki",      [BLS_START_UKI_URL] = "uki-url",
	};
	char words[600];
	struct text state = text_in(words, sizeof(words));

	fact(ret, "title", e->bls.title);
	fact(ret, "id", e->id);
	menu_state_format(e, cpu, why_unusable, &state);
	fact(ret, "state", text_span(&state));
	page_size_fact(e, ret);
	fact(ret, "type", span_of(entry_type_name(e->type)));
	fact(ret, "file", e->file_name);
	if (e->type != ENTRY_AUTO)
		fact(ret, "partition",
		     span_of(e->volume == VOLUME_XBOOTLDR ? "extended boot loader partition"
							  : "EFI system partition"));
	fact(ret, "version", e->bls.version);
	fact(ret, "release", e->release);
	fact(ret, "machine-id", e->bls.machine_id);
	fact(ret, "sort-key", e->bls.sort_key);
	fact(ret, start[e->bls.start], e->bls.path);
	facts(ret, "initrd", e->bls.initrd, e->bls.n_initrd);
	facts(ret, "extra", e->bls.extra, e->bls.n_extra);
	fact(ret, "devicetree", e->bls.devicetree);
	facts(ret, "overlay", e->bls.overlay, e->bls.n_overlay);
	fact(ret, e->edited ? "options (new)" : "options", e->bls.options);
}

struct span menu_wrap(struct span text, size_t *pos, size_t columns)
{
	size_t start = *pos, at = start, blank = 0;

	for (size_t n = 0; at < text.n; n++) {
		if (text.p[at] == '\n') {
			*pos = at + 1;
			return span_cut(text, start, at);
		}
		if (n == columns)
			break;
		if (char_is_blank(text.p[at]) && n >= columns / 2)
			blank = at + 1;
		utf8_decode(text, &at);
	}
	if (at < text.n && blank)
		at = blank;
	*pos = at;
	return span_cut(text, start, at);
}

void menu_wrap_indented(struct span text, size_t *pos, size_t columns, struct text *ret)
{
	size_t indent = *pos && text.p[*pos - 1] != '\n' ? FACT_COLUMN : 0;

	pad(ret, 0, indent);
	utf8_add_columns(ret, menu_wrap(text, pos, columns - indent), columns - indent);
}

/* ---- settings ---- */

enum page_size menu_next_page_size(enum page_size size, page_size_set cpu)
{
	for (unsigned i = 1; i <= PAGE_SIZE_64K; i++) {
		enum page_size next = (enum page_size)((size + i - 1) % PAGE_SIZE_64K + 1);

		if (page_size_in(next, cpu))
			return next;
	}
	return PAGE_SIZE_UNKNOWN;
}

void menu_timeout_step(struct menu_timeout *t, bool up)
{
	if (!t->set) {
		*t = (struct menu_timeout){ .set = up, .menu = MENU_FORCE };
	} else if (t->menu == MENU_FORCE) {
		t->set = up;
		t->menu = MENU_HIDDEN;
	} else if (t->menu == MENU_TIMEOUT) {
		/* All ones would be the older spelling of menu-force. */
		if (up)
			t->seconds += t->seconds < UINT32_MAX - 1;
		else if (!--t->seconds)
			t->menu = MENU_HIDDEN;
	} else if (up && t->menu == MENU_HIDDEN) {
		t->menu = MENU_TIMEOUT;
		t->seconds = 1;
	} else {
		/* Down from hidden; disabled, of which the menu knows only that it was shown all the same. */
		t->menu = up ? MENU_HIDDEN : MENU_FORCE;
	}
}

void menu_timeout_value(const struct menu_timeout *t, struct text *ret)
{
	if (!t->set)
		return;
	if (t->menu == MENU_DISABLED)
		add(ret, "menu-disabled");
	else
		text_add_number(ret,
				t->menu == MENU_FORCE     ? UINT32_MAX
				: t->menu == MENU_TIMEOUT ? t->seconds
							  : 0,
				1);
}

void menu_timeout_explain(const struct menu_timeout *t, struct text *ret)
{
	add(ret, "Menu from the next boot on: ");
	if (!t->set) {
		add(ret, "as loader.conf says.");
	} else if (t->menu == MENU_FORCE) {
		add(ret, "shown until somebody chooses.");
	} else if (t->menu == MENU_TIMEOUT) {
		add(ret, "shown for ");
		text_add_number(ret, t->seconds, 1);
		add(ret, " s.");
	} else {
		add(ret, t->menu == MENU_HIDDEN ? "hidden until a key is pressed." : "never shown.");
	}
}
