/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plain text list for an 80-column serial console: numbers choose, Enter boots. */
#include <granule/variables.h>

#include "boot.h"
#include "efi_vars.h"

#define COLUMNS 79
#define TIMER_100NS_PER_S 10000000u
#define KEY_ESCAPE 0x17
/* Time for a person to go on typing. */
#define IDLE_SECONDS 60
/* Firmware arms it before it starts a boot option (UEFI 3.1.2); in the menu a person may take longer. */
#define WATCHDOG_SECONDS 300
#define WATCHDOG_CODE 0x10000 /* below are firmware's own */

static void put(struct span s)
{
	CHAR16 *p = efi_to_utf16(s, NULL);

	ST->ConOut->OutputString(ST->ConOut, p);
	efi_free(p);
}

static void put_line(struct text *t)
{
	/* What does not fit the console is cut; a '>' tells. */
	struct span s = text_span(t);

	if (s.n > COLUMNS) {
		put(span_cut(s, 0, COLUMNS - 1));
		put(SPAN(">"));
	} else {
		put(s);
	}
	put(SPAN("\r\n"));
}

static void add_padded(struct text *t, struct span s, size_t width)
{
	text_add(t, s);
	for (size_t i = s.n; i < width; i++)
		text_add(t, SPAN(" "));
}

static void show_entry(const struct boot *b, size_t i, bool chosen)
{
	const struct entry *e = b->entries[i];
	char line[512], number[8];
	struct text t = text_in(line, sizeof(line)), n = text_in(number, sizeof(number));

	text_add(&t, chosen ? SPAN("> ") : SPAN("  "));
	text_add_number(&n, i + 1, 1);
	add_padded(&t, text_span(&n), 4);
	add_padded(&t, span_of(page_size_title(e->page_size)), 5);
	text_add(&t, e->bls.title.n ? e->bls.title : e->id);
	if (e->unusable)
		text_add(&t, SPAN(" (cannot be started)"));
	else if (!entry_supported(e, b->cpu))
		text_add(&t, SPAN(" (not supported by this CPU)"));
	else if (boot_counter_state(&e->counter) == STATE_BAD)
		text_add(&t, SPAN(" (bad: no tries left)"));
	else if (e->counter.present) {
		text_add(&t, SPAN(" (tries left: "));
		text_add_number(&t, e->counter.left, 1);
		text_add(&t, SPAN(")"));
	}
	put_line(&t);
}

static void show(const struct boot *b, const struct choose_result *chosen)
{
	char line[512];
	struct text t = text_in(line, sizeof(line));

	text_add(&t, SPAN(GRANULE_BOOT_NAME " " GRANULE_VERSION ", page sizes of this CPU: "));
	char cpu[32];
	struct text c = text_in(cpu, sizeof(cpu));
	page_size_set_format(b->cpu, &c);
	text_add(&t, text_span(&c));
	put(SPAN("\r\n"));
	put_line(&t);
	for (size_t i = 0; i < b->n_entries; i++)
		show_entry(b, i, i == chosen->index);

	t = text_in(line, sizeof(line));
	text_add(&t, SPAN("> "));
	choose_explain(&b->input, chosen, &t);
	put_line(&t);
	put(SPAN("Type a number and Enter, or Enter alone for the marked entry.\r\n"));
}

static bool read_key(EFI_INPUT_KEY *ret)
{
	return ST->ConIn && !EFI_ERROR(ST->ConIn->ReadKeyStroke(ST->ConIn, ret));
}

/* Waits for a key, at most `seconds` (0: for ever). False when the time is over or there is no way to wait.
 */
static bool wait_key(UINT32 seconds, EFI_INPUT_KEY *ret)
{
	EFI_EVENT events[2];
	UINTN n = 0, which = 0;
	bool got = false;

	if (!ST->ConIn)
		return false;
	if (seconds) {
		if (EFI_ERROR(BS->CreateEvent(EVT_TIMER, 0, NULL, NULL, &events[0])))
			return false;
		if (EFI_ERROR(BS->SetTimer(events[0], TimerRelative, (UINT64)seconds * TIMER_100NS_PER_S)))
			goto out;
		n = 1;
	}
	events[n++] = ST->ConIn->WaitForKey;
	/* A key event may turn out to be none (a modifier alone): wait on. */
	while (!got && !EFI_ERROR(BS->WaitForEvent(n, events, &which)) && which == n - 1)
		got = read_key(ret);
out:
	if (seconds)
		BS->CloseEvent(events[0]);
	return got;
}

/* Reads a number and Enter. Returns the index of the entry, or SIZE_MAX when the time is over or Enter came
 * alone. `seconds` is the time for the first key, IDLE_SECONDS that for each further one: a stray byte on a
 * serial line must not keep a machine from booting. Both are without end when `forever`. */
static size_t ask(const struct boot *b, UINT32 seconds, bool forever)
{
	EFI_INPUT_KEY key;
	size_t picked = 0;

	put(SPAN("Entry: "));
	while (wait_key(forever ? 0 : seconds, &key)) {
		CHAR16 c = key.UnicodeChar;

		seconds = IDLE_SECONDS;
		if (c >= '0' && c <= '9' && picked <= b->n_entries) {
			char digit = (char)c;
			picked = picked * 10 + (size_t)(c - '0');
			put((struct span){ &digit, 1 });
		} else if (c == '\r' || c == '\n') {
			put(SPAN("\r\n"));
			if (!picked)
				return SIZE_MAX;
			if (picked <= b->n_entries && !b->entries[picked - 1]->unusable)
				return picked - 1;
			put(SPAN("No such entry, or it cannot be started.\r\nEntry: "));
			picked = 0;
		} else if (c == '\b' || key.ScanCode == KEY_ESCAPE) {
			put(SPAN("\r\nEntry: "));
			picked = 0;
		}
	}
	put(SPAN("\r\n"));
	return SIZE_MAX;
}

static void say_seconds(UINT32 seconds)
{
	char line[80];
	struct text t = text_in(line, sizeof(line));

	text_add(&t, SPAN("Boots in "));
	text_add_number(&t, seconds, 1);
	text_add(&t, SPAN(" s.\r\n"));
	put(text_span(&t));
}

size_t menu_run(struct boot *b, const struct choose_result *chosen)
{
	EFI_INPUT_KEY key;
	bool forever = b->conf.menu == MENU_FORCE;
	bool pressed = b->conf.menu != MENU_DISABLED && read_key(&key);
	UINT32 seconds = pressed ? IDLE_SECONDS : b->conf.timeout_s;

	if (b->conf.menu == MENU_DISABLED || (b->conf.menu == MENU_HIDDEN && !pressed))
		return SIZE_MAX;

	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeMenuUSec", efi_now_us());
	show(b, chosen);
	if (!forever)
		say_seconds(seconds);
	BS->SetWatchdogTimer(0, WATCHDOG_CODE, 0, NULL);
	size_t picked = ask(b, seconds, forever);
	BS->SetWatchdogTimer(WATCHDOG_SECONDS, WATCHDOG_CODE, 0, NULL);
	return picked;
}
