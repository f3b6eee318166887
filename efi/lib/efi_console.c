/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/utf8.h>

#include "efi_console.h"

#define TIMER_100NS_PER_MS 10000u
/* Between the bytes of an escape sequence; 300 baud would take 33 ms for one. */
#define SEQUENCE_MS 50
/* Firmware polls its keyboards and serial lines on timers, EDK II each 20 ms. */
#define POLL_MS 50
/* A terminal at the other end of a serial line. Firmware cannot know its size: EDK II claims 80x25 or 100x31.
 */
#define TERMINAL_COLUMNS 80
#define TERMINAL_ROWS 24
/* Rows of the text mode 0 that all firmware has (UEFI 12.4.1). */
#define MODE_0_ROWS 25
#define KEYS_DROPPED_MAX 256
/* Smaller answers are taken for nonsense. */
#define COLUMNS_MIN 60
#define ROWS_MIN 12
#define ATTRIBUTE_NORMAL (EFI_LIGHTGRAY | EFI_BACKGROUND_BLACK)
#define ATTRIBUTE_REVERSE (EFI_BLACK | EFI_BACKGROUND_LIGHTGRAY)

BOOLEAN console_present(void)
{
	return ST->ConIn && ST->ConOut;
}

/* A key if there is one. */
static uint32_t read_key(void)
{
	EFI_INPUT_KEY key;

	if (!ST->ConIn)
		return KEY_LOST;
	EFI_STATUS status = ST->ConIn->ReadKeyStroke(ST->ConIn, &key);
	if (status == EFI_NOT_READY)
		return KEY_NONE;
	return EFI_ERROR(status) ? KEY_LOST : menu_key(key.UnicodeChar, key.ScanCode);
}

static uint32_t wait_key(UINT32 ms)
{
	uint32_t key = read_key();
	EFI_EVENT events[2];
	UINTN n = 0, which;

	if (key != KEY_NONE || !ms)
		return key;
	/* The timer first: a key event without keys, were it always there, would hide one behind it. */
	if (ms != CONSOLE_FOREVER) {
		if (EFI_ERROR(BS->CreateEvent(EVT_TIMER, 0, NULL, NULL, &events[n++])))
			return KEY_LOST;
		if (EFI_ERROR(BS->SetTimer(events[0], TimerRelative, (UINT64)ms * TIMER_100NS_PER_MS)))
			key = KEY_LOST;
	}
	events[n++] = ST->ConIn->WaitForKey;
	/* A key event may turn out to be none (a modifier alone): wait on. */
	while (key == KEY_NONE) {
		if (EFI_ERROR(BS->WaitForEvent(n, events, &which)))
			key = KEY_LOST;
		else if (which != n - 1)
			break;
		else
			key = read_key();
	}
	if (n == 2)
		BS->CloseEvent(events[0]);
	return key;
}

uint32_t console_key(UINT32 ms)
{
	struct key_sequence sequence = { 0 };
	uint32_t key = wait_key(ms);

	while (key == KEY_ESCAPE) {
		do {
			key = wait_key(SEQUENCE_MS);
			if (key == KEY_NONE) /* nothing follows */
				return sequence.state ? KEY_IGNORED : KEY_ESCAPE;
			if (key == KEY_LOST)
				return key;
			key = key_sequence_feed(&sequence, key);
		} while (key == KEY_NONE);
		if (key != KEY_ESCAPE)
			return key;
		sequence = (struct key_sequence){ 0 };
	}
	return key;
}

/* Whether a byte waits in the hardware of a serial line, where firmware's next poll will find it. */
static BOOLEAN byte_waits(void)
{
	EFI_GUID guid = SERIAL_IO_PROTOCOL;
	EFI_HANDLE *handles = NULL;
	UINTN n = 0;
	BOOLEAN waits = FALSE;

	if (EFI_ERROR(BS->LocateHandleBuffer(ByProtocol, &guid, NULL, &n, &handles)))
		return FALSE;
	for (UINTN i = 0; i < n && !waits; i++) {
		SERIAL_IO_INTERFACE *serial;
		UINT32 control;

		waits = !EFI_ERROR(BS->HandleProtocol(handles[i], &guid, (VOID **)&serial)) &&
			!EFI_ERROR(serial->GetControl(serial, &control)) &&
			!(control & EFI_SERIAL_INPUT_BUFFER_EMPTY);
	}
	BS->FreePool(handles);
	return waits;
}

BOOLEAN console_early_key(void)
{
	uint32_t key = console_present() ? wait_key(0) : KEY_LOST;

	if (key == KEY_NONE && byte_waits())
		key = wait_key(POLL_MS);
	if (key == KEY_NONE || key == KEY_LOST)
		return FALSE;
	/* Who wants the menu presses more than once: what came before it is shown is not for it. A line that
	 * never falls silent is another matter. */
	for (unsigned i = 0; i < KEYS_DROPPED_MAX && key != KEY_NONE && key != KEY_LOST; i++)
		key = wait_key(0);
	return TRUE;
}

/* ---- screen ---- */

/* Bit of a character that is shown in reverse video; characters of more than 15 bits are never shown. */
#define REVERSED 0x8000u

static void set_attribute(struct screen *s, UINTN attribute)
{
	if (s->attribute != attribute)
		ST->ConOut->SetAttribute(ST->ConOut, attribute);
	s->attribute = attribute;
}

/* Characters from..to of the line, at the cursor. */
static void put(struct screen *s, UINTN from, UINTN to, UINTN attribute)
{
	if (from >= to)
		return;
	CHAR16 behind = s->line[to];
	s->line[to] = 0;
	set_attribute(s, attribute);
	ST->ConOut->OutputString(ST->ConOut, s->line + from);
	s->line[to] = behind;
}

BOOLEAN console_set_mode(UINTN mode)
{
	UINTN columns, rows;

	return !EFI_ERROR(ST->ConOut->QueryMode(ST->ConOut, mode, &columns, &rows)) &&
	       !EFI_ERROR(ST->ConOut->SetMode(ST->ConOut, mode));
}

void console_next_mode(void)
{
	UINTN now = (UINTN)ST->ConOut->Mode->Mode, n = (UINTN)ST->ConOut->Mode->MaxMode;

	for (UINTN i = 1; i < n && !console_set_mode((now + i) % n); i++)
		;
}

void screen_open(struct screen *s, BOOLEAN trusted)
{
	SIMPLE_TEXT_OUTPUT_INTERFACE *out = ST->ConOut;
	UINTN columns = 0, rows = 0;

	if (!out->Mode || EFI_ERROR(out->QueryMode(out, (UINTN)out->Mode->Mode, &columns, &rows)) ||
	    columns < COLUMNS_MIN || rows < ROWS_MIN || !trusted) {
		columns = TERMINAL_COLUMNS;
		rows = TERMINAL_ROWS;
	}
	if (rows == MODE_0_ROWS)
		rows = TERMINAL_ROWS;
	*s = (struct screen){ .columns = columns - 1, .rows = rows };
	s->found = out->Mode ? (UINTN)out->Mode->Attribute : ATTRIBUTE_NORMAL;
	s->attribute = s->found;
	s->shown = efi_new(CHAR16, s->rows * s->columns);
	s->line = efi_new(CHAR16, s->columns + 1);
	s->text = efi_new(char, UTF8_COLUMNS_SIZE(s->columns));
	out->EnableCursor(out, FALSE);
	screen_clear(s);
}

void screen_clear(struct screen *s)
{
	set_attribute(s, ATTRIBUTE_NORMAL);
	ST->ConOut->ClearScreen(ST->ConOut);
	for (UINTN i = 0; i < s->rows * s->columns; i++)
		s->shown[i] = ' ';
}

void screen_close(struct screen *s)
{
	set_attribute(s, s->found);
	ST->ConOut->ClearScreen(ST->ConOut);
	ST->ConOut->EnableCursor(ST->ConOut, TRUE);
	efi_free(s->shown);
	efi_free(s->line);
	efi_free(s->text);
}

void screen_row(struct screen *s, UINTN row, struct span text, BOOLEAN reverse)
{
	CHAR16 *shown = s->shown + row * s->columns;
	struct text cut = text_in(s->text, UTF8_COLUMNS_SIZE(s->columns));
	UINTN used = utf8_add_columns(&cut, text, s->columns);
	UINTN reversed = reverse ? used : 0, first = 0, end = 0;
	size_t pos = 0;

	for (UINTN n = 0; n < s->columns; n++) {
		CHAR16 c = n < used ? (CHAR16)utf8_decode(text_span(&cut), &pos) : ' ';
		CHAR16 cell = n < reversed ? c | REVERSED : c;

		s->line[n] = c;
		if (shown[n] == cell)
			continue;
		shown[n] = cell;
		first = end ? first : n;
		end = n + 1;
	}
	if (!end)
		return;
	ST->ConOut->SetCursorPosition(ST->ConOut, first, row);
	put(s, first, reversed < end ? reversed : end, ATTRIBUTE_REVERSE);
	put(s, first > reversed ? first : reversed, end, ATTRIBUTE_NORMAL);
}

void screen_cursor(struct screen *s, UINTN column, UINTN row, BOOLEAN visible)
{
	ST->ConOut->SetCursorPosition(ST->ConOut, column < s->columns ? column : s->columns - 1, row);
	ST->ConOut->EnableCursor(ST->ConOut, visible);
}
