/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The menu: a list, its keys, and the time after which the chosen entry boots by itself. */
#include <granule/cmdline.h>
#include <granule/error.h>
#include <granule/variables.h>

#include "efi_power.h"
#include "efi_trust.h"
#include "efi_vars.h"
#include "menu.h"

/* Time for a person to go on: a stray byte on a serial line must not keep a machine from booting. */
#define IDLE_SECONDS 60
/* Firmware arms it before it starts a boot option (UEFI 3.1.2); in the menu a person may take longer. */
#define WATCHDOG_SECONDS 300
#define WATCHDOG_CODE 0x10000 /* below are firmware's own */

#define MESSAGE_SIZE 400

/* What a key leads to. */
enum after {
	STAY,
	BOOT_SELECTED,
	BOOT_CHOSEN,
	QUIT,
};

static struct entry *selected(const struct menu *m)
{
	return m->b->entries[m->list.selected];
}

static void say(struct menu *m, struct span a, const char *b)
{
	m->message = text_in(m->message.p, MESSAGE_SIZE);
	text_add(&m->message, a);
	text_add(&m->message, span_of(b));
}

static void say_error(struct menu *m, const char *object, EFI_STATUS status)
{
	say(m, span_of(object), ": ");
	text_add(&m->message, span_of(efi_status_text(status)));
}

uint32_t menu_wait(struct menu *m, bool in_list)
{
	for (;;) {
		uint32_t key = console_key(m->forever ? CONSOLE_FOREVER : 1000);

		if (key == KEY_LOST)
			return KEY_NONE;
		if (key != KEY_NONE) {
			m->pressed = true;
			m->left_s = IDLE_SECONDS;
			return key;
		}
		if (!--m->left_s)
			return KEY_NONE;
		if (in_list)
			menu_draw_message(m);
	}
}

static void write_setting(const CHAR16 *name, struct span value)
{
	if (value.n)
		efi_var_store(&efi_loader_guid, name, value);
	else
		efi_var_delete(&efi_loader_guid, name);
}

/* Settings of many steps are written once, when the menu is left. */
static void write_settings(struct menu *m)
{
	char value[24];
	struct text t = text_in(value, sizeof(value));

	if (m->timeout_changed) {
		menu_timeout_value(&m->timeout, &t);
		write_setting(L"LoaderConfigTimeout", text_span(&t));
	}
	t = text_in(value, sizeof(value));
	if (m->mode_changed) {
		if (m->mode_set)
			text_add_number(&t, (UINT64)ST->ConOut->Mode->Mode, 1);
		write_setting(L"LoaderConfigConsoleMode", text_span(&t));
	}
	m->timeout_changed = m->mode_changed = false;
}

/* A key that leaves the menu for something grave works when it is pressed twice: noise on a serial line may
 * be anything. */
static bool pressed_twice(struct menu *m, uint32_t key, uint32_t before, const char *what)
{
	if (key == before) {
		write_settings(m);
		return true;
	}
	m->repeat = key;
	say(m, SPAN("Press it again to "), what);
	return false;
}

/* Makes the selected entry the preferred or the default one, or takes that back. One that is passed over as
 * it is has to be meant: the key is pressed twice. */
static void toggle_default(struct menu *m, uint32_t key, uint32_t before)
{
	enum choose_rule rule = key == 'd' ? RULE_PREFERRED : RULE_DEFAULT;
	const struct entry *e = selected(m);
	struct choose_input *in = &m->b->input;
	bool preferred = rule == RULE_PREFERRED;
	const CHAR16 *name = preferred ? L"LoaderEntryPreferred" : L"LoaderEntryDefault";
	struct span id = e->id, *setting = preferred ? &in->preferred : &in->default_variable;
	/* What stands in the environment block is not a variable that could be deleted. */
	bool clear = span_equal(*setting, id) && !(in->from_env & 1u << rule);

	if (e->type == ENTRY_AUTO && !clear) {
		say(m, id, " starts no system and cannot be a default.");
		return;
	}
	if (!clear &&
	    (e->unusable || !entry_supported(e, m->b->cpu) || boot_counter_state(&e->counter) == STATE_BAD) &&
	    !pressed_twice(m, key, before, "set it although it is passed over: ")) {
		menu_state_format(e, m->b->cpu, SPAN_NONE, &m->message);
		return;
	}
	if (clear ? !efi_var_delete(&efi_loader_guid, name)
		  : EFI_ERROR(efi_var_store(&efi_loader_guid, name, id))) {
		say(m, id, ": firmware did not write the variable.");
		return;
	}
	*setting = clear ? SPAN_NONE : id;
	in->from_env &= ~(1u << rule);
	choose(in, m->chosen);
	/* The id last: what does not fit the row is cut. */
	say(m, clear ? SPAN("no longer the ") : SPAN_NONE, preferred ? "preferred entry" : "default entry");
	text_add(&m->message, clear ? SPAN(": ") : SPAN(" from now on: "));
	text_add(&m->message, id);
}

static void next_page_size(struct menu *m)
{
	struct entry *e = selected(m);
	enum page_size size = menu_next_page_size(e->page_size, m->b->cpu);
	struct param_note note;

	if (e->type == ENTRY_AUTO) {
		say(m, SPAN_NONE, "This entry has no page size.");
		return;
	}
	if (e->kind != IMAGE_SELECTABLE) {
		say(m, SPAN("The page size of this entry cannot be chosen: "),
		    e->kind == IMAGE_FIXED ? "it is compiled into the kernel." : "it is not known.");
		return;
	}
	/* A stub takes options from nobody then. */
	if (e->type == ENTRY_TYPE2 && efi_secure_boot()) {
		say(m, SPAN_NONE, "Options of a unified image cannot be changed: Secure Boot is on.");
		return;
	}
	struct text line = text_in(efi_new(char, CMDLINE_MAX + 1), CMDLINE_MAX + 1);
	int error = cmdline_set_page_size(e->bls.options, size, &line, &note);
	if (error) {
		say(m, SPAN("The page size cannot be changed: "), error_text(error));
	} else {
		menu_set_options(m, e, text_span(&line));
		say(m, SPAN("For this boot: page size "), page_size_title(e->page_size));
	}
	efi_free(line.p);
}

static void change_timeout(struct menu *m, bool up)
{
	menu_timeout_step(&m->timeout, up);
	m->timeout_changed = true;
	say(m, SPAN_NONE, "");
	menu_timeout_explain(&m->timeout, &m->message);
}

static void open_screen(struct menu *m)
{
	screen_open(&m->screen, m->mode_set);
	m->list.rows = menu_list_rows(&m->screen);
	menu_list_select(&m->list, m->list.selected);
}

/* The next text mode; or that of the start again. */
static void change_mode(struct menu *m, bool next)
{
	if (!ST->ConOut->Mode)
		return;
	screen_close(&m->screen);
	if (next)
		console_next_mode();
	else
		console_set_mode(m->mode_found);
	m->mode_set = next;
	m->mode_changed = true;
	open_screen(m);
	say(m, SPAN("Text mode "), next ? "" : "as at first");
	if (next) {
		text_add_number(&m->message, (UINT64)ST->ConOut->Mode->Mode, 1);
		text_add(&m->message, SPAN(": "));
		text_add_number(&m->message, m->screen.columns + 1, 1);
		text_add(&m->message, SPAN("x"));
		text_add_number(&m->message, m->screen.rows, 1);
		text_add(&m->message, SPAN("; R goes back"));
	}
}

static void read_settings(struct menu *m)
{
	struct span timeout = efi_var_get(&efi_loader_guid, L"LoaderConfigTimeout");
	struct span mode = efi_var_get(&efi_loader_guid, L"LoaderConfigConsoleMode");
	uint64_t number;

	m->timeout.set = menu_mode_parse(timeout, &m->timeout.menu, &m->timeout.seconds);
	m->mode_found = ST->ConOut->Mode ? (UINTN)ST->ConOut->Mode->Mode : 0;
	m->mode_set = span_to_number(mode, UINT32_MAX, &number) && console_set_mode(number);
	efi_free((void *)timeout.p);
	efi_free((void *)mode.p);
}

static void jump(struct menu *m, struct span prefix, bool without)
{
	size_t found =
		menu_find_prefix(m->b->input.entries, m->b->n_entries, m->list.selected, prefix, without);

	if (found != SIZE_MAX)
		menu_list_select(&m->list, found);
	else
		say(m, SPAN_NONE, "No such entry.");
}

static enum after show(struct menu *m, struct span text, bool allocated)
{
	bool on = menu_show_text(m, text);

	if (allocated)
		efi_free((void *)text.p);
	return on ? STAY : BOOT_CHOSEN;
}

static enum after boot(struct menu *m, uint32_t key, uint32_t before)
{
	struct entry *e = selected(m);

	if (e->unusable) {
		say(m, SPAN("It "), "");
		menu_state_format(e, m->b->cpu, menu_why_unusable(m->b, e), &m->message);
		return STAY;
	}
	if (!entry_supported(e, m->b->cpu) &&
	    !pressed_twice(m, key, before, "try a kernel that this CPU does not support."))
		return STAY;
	return BOOT_SELECTED;
}

static enum after edit(struct menu *m)
{
	struct entry *e = selected(m);
	uint32_t key;

	if (efi_secure_boot())
		say(m, SPAN_NONE, "The editor is off: Secure Boot is on.");
	else if (!m->b->conf.editor)
		say(m, SPAN_NONE, "The editor is off: loader.conf says so.");
	else if (e->action != ACTION_START || e->unusable)
		say(m, SPAN_NONE, "This entry has nothing to edit.");
	else if (menu_edit(m, e, &key))
		return BOOT_SELECTED;
	else if (key == KEY_NONE)
		return BOOT_CHOSEN;
	return STAY;
}

static enum after handle(struct menu *m, uint32_t key)
{
	uint32_t before = m->repeat;

	m->repeat = KEY_NONE;
	say(m, SPAN_NONE, "");
	if (menu_list_key(&m->list, key))
		return STAY;
	switch (key) {
	case KEY_ENTER:
	case KEY_RIGHT:
		return boot(m, key, before);
	case 'e':
		return edit(m);
	case 'p':
		next_page_size(m);
		return STAY;
	case 'i':
		return show(m, menu_facts(m, selected(m)), true);
	case 'h':
	case '?':
	case KEY_F1:
		return show(m, menu_help(), false);
	case 'v':
	case 'P':
		return show(m, menu_status(m), true);
	case 'd':
	case 'D':
		toggle_default(m, key, before);
		return STAY;
	case '+':
	case 't':
		change_timeout(m, true);
		return STAY;
	case '-':
	case 'T':
		change_timeout(m, false);
		return STAY;
	case 'r':
	case 'R':
		change_mode(m, key == 'r');
		return STAY;
	case 'l':
		jump(m, SPAN("auto-"), true);
		return STAY;
	case 'w':
		jump(m, SPAN("auto-windows"), false);
		return STAY;
	case 'a':
		jump(m, SPAN("auto-osx"), false);
		return STAY;
	case 's':
		jump(m, SPAN("auto-efi-shell"), false);
		return STAY;
	case KEY_CTRL('L'):
		screen_clear(&m->screen);
		return STAY;
	case 'f':
	case KEY_F2:
	case KEY_F10:
	case KEY_DELETE:
		if (!efi_firmware_setup_supported())
			say(m, SPAN_NONE, "Firmware offers no way into its setup.");
		else if (pressed_twice(m, key, before, "reboot into firmware setup."))
			say_error(m, "firmware setup", efi_reboot_to_firmware());
		return STAY;
	case 'B':
		if (pressed_twice(m, key, before, "reboot."))
			efi_reboot();
		return STAY;
	case 'O':
		if (pressed_twice(m, key, before, "power off."))
			efi_power_off();
		return STAY;
	case 'Q':
		return pressed_twice(m, key, before, "go back to firmware.") ? QUIT : STAY;
	default:
		return STAY;
	}
}

static enum after run(struct menu *m)
{
	enum after after;

	do {
		menu_draw(m);
		uint32_t key = menu_wait(m, true);
		after = key == KEY_NONE ? BOOT_CHOSEN : handle(m, key);
	} while (after == STAY);
	return after;
}

BOOLEAN menu_is_asked_for(struct boot *b)
{
	b->menu_key = b->conf.menu == MENU_HIDDEN && !b->menu_shown && console_early_key();
	return b->menu_key;
}

size_t menu_run(struct boot *b, struct choose_result *chosen)
{
	bool pressed = b->menu_key || (b->conf.menu != MENU_DISABLED && console_early_key());
	char message[MESSAGE_SIZE];
	struct menu m = {
		.b = b,
		.chosen = chosen,
		.forever = b->conf.menu == MENU_FORCE,
		.pressed = pressed,
		.left_s = pressed ? IDLE_SECONDS : b->conf.timeout_s,
		.message = text_in(message, sizeof(message)),
	};

	b->menu_key = false;
	if (b->conf.menu == MENU_DISABLED || (b->conf.menu == MENU_HIDDEN && !pressed) ||
	    !console_present() || !b->n_entries)
		return SIZE_MAX;

	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeMenuUSec", efi_now_us());
	b->menu_shown = true;
	BS->SetWatchdogTimer(0, WATCHDOG_CODE, 0, NULL);
	read_settings(&m);
	m.list = (struct menu_list){ .n = b->n_entries,
				     .selected = chosen->index == SIZE_MAX ? 0 : chosen->index };
	open_screen(&m);
	if (b->input.picked.n && b->n_failures) {
		const struct failure *f = &b->failures[b->n_failures - 1];
		say(&m, f->id, ": ");
		text_add(&m.message, f->text);
	}
	enum after after = run(&m);
	write_settings(&m);
	screen_close(&m.screen);
	BS->SetWatchdogTimer(WATCHDOG_SECONDS, WATCHDOG_CODE, 0, NULL);

	return after == BOOT_SELECTED ? m.list.selected : after == QUIT ? MENU_QUIT : SIZE_MAX;
}
