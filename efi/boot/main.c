/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule-boot: reads the entries of its partitions, asks choose() which one boots, starts it; and when that
 * fails, asks again without it. It never stops while an entry is left. */
#include <granule/variables.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_libc.h"
#include "efi_power.h"
#include "efi_random_seed.h"

/* Found by others (bootctl, our own installer) in the finished file. */
__attribute__((used, section(".sdmagic"))) static const char magic[] =
	"#### LoaderInfo: " GRANULE_BOOT_NAME " " GRANULE_VERSION " ####";

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

/* One line whenever the choice is not simply what was asked for. */
static void say_choice(struct boot *b, const struct choose_result *result)
{
	char line[600];
	struct text t = text_in(line, sizeof(line));

	if (!choose_passed_over(&b->input, result))
		return;
	choose_explain(&b->input, result, &t);
	efi_message(b->entries[result->index]->id, text_span(&t));
}

/* What loader.conf wants done when an entry came back: a reset instead of the next choice. With tries left
 * the same entry may do better; without, only a person or another disk can help. Tries that nobody counts
 * never end. */
static void reboot_on_error(const struct boot *b, const struct entry *failed)
{
	bool tries_left = failed && failed->counted && failed->counter.left;

	if (b->conf.on_error == ON_ERROR_NEXT || (failed && !tries_left) ||
	    (!failed && b->conf.on_error != ON_ERROR_REBOOT))
		return;
	efi_message(SPAN("reboot-on-error"), SPAN("resetting"));
	efi_reboot();
}

/* Lets a person choose, if one wants to. TRUE: back to firmware. */
static BOOLEAN ask(struct boot *b, struct choose_result *result)
{
	size_t picked = menu_run(b, result);

	if (picked < b->n_entries) {
		result->index = picked;
		result->rule = RULE_MENU;
	}
	return picked == MENU_QUIT;
}

/* Comes back with TRUE when a person wants to go back to firmware, FALSE when nothing is left to start. */
static BOOLEAN boot_entries(struct boot *b)
{
	struct choose_result result;

	choose(&b->input, &result);
	if (ask(b, &result))
		return TRUE;
	if (b->conf.random_seed && result.index != SIZE_MAX)
		efi_random_seed_process(b->volumes[VOLUME_OWN].root);
	while (result.index != SIZE_MAX) {
		struct entry *e = b->entries[result.index];

		say_choice(b, &result);
		if (entry_start(b, e, &result)) {
			bool picked = result.rule == RULE_MENU;

			reboot_on_error(b, e);
			/* It came back: it is marked now, and the next choice is another. */
			if (picked)
				b->input.picked = e->id;
			choose(&b->input, &result);
			/* Whoever picked it is still there. */
			b->menu_key = picked;
			if (picked && ask(b, &result))
				return TRUE;
		} else if (ask(b, &result)) {
			return TRUE;
		}
	}
	publish_none(b, &result);
	return FALSE;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	UINT64 started;

	InitializeLib(image, table);
	efi_libc_start();
	started = efi_now_us();

	struct boot *b = efi_new(struct boot, 1);
	b->image = image;
	b->cpu = efi_cpu_page_sizes();
	EFI_STATUS status = volumes_open(b);
	if (EFI_ERROR(status)) {
		efi_message(SPAN("own partition"), span_of(efi_status_text(status)));
		return status;
	}
	wishes_read(b);
	publish_loader(b, started);
	entries_load(b);
	b->input.entries = (const struct entry *const *)b->entries;
	b->input.n_entries = b->n_entries;
	publish_entries(b);

	if (boot_entries(b))
		return EFI_SUCCESS; /* which has firmware show its own menu */
	reboot_on_error(b, NULL);
	efi_message(SPAN_NONE, b->n_entries && b->entries[0]->type != ENTRY_AUTO
				       ? SPAN("no entry can be started, back to firmware")
				       : SPAN("no entries in loader/entries, back to firmware"));
	return EFI_NOT_FOUND;
}
