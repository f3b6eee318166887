/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries that the loader makes itself, with the ids that the Boot Loader Interface knows. They boot only
 * when somebody names them. */
#include <granule/path.h>
#include <granule/variables.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_files.h"
#include "efi_power.h"

#if defined(__aarch64__)
#define ARCHITECTURE "aa64"
#else
#define ARCHITECTURE "x64"
#endif

#define DEFAULT_PROGRAM "/EFI/BOOT/BOOT" ARCHITECTURE ".EFI"

static void add(struct boot *b, const char *id, const char *title, enum entry_action action,
		const char *program)
{
	struct entry *e = efi_new(struct entry, 1);

	e->type = ENTRY_AUTO;
	e->action = action;
	e->id = e->file_name = span_of(id);
	e->counter.name = e->id;
	e->bls.title = span_of(title);
	if (program) {
		e->bls.start = BLS_START_EFI;
		e->bls.path = span_of(program);
	}
	entries_add(b, e);
}

/* Whether a file is granule-boot: its PE section says so. */
static BOOLEAN is_granule_boot(EFI_FILE_HANDLE file)
{
	/* Behind "#### ": with these signs here too, others' tools would find this for the mark of the
	 * program. */
	static const struct span name = { "LoaderInfo: " GRANULE_BOOT_NAME " ",
					  sizeof("LoaderInfo: " GRANULE_BOOT_NAME " ") - 1 };
	char *head = efi_new(char, PE_HEAD_SIZE), text[64];
	struct pe pe;
	size_t offset;
	UINTN n = 0, got = 0;
	BOOLEAN found = FALSE;

	if (!EFI_ERROR(efi_read_at(file, 0, head, PE_HEAD_SIZE, &n)) &&
	    pe_parse(head, n, &pe, &offset) == 0) {
		for (UINT32 i = 0; i < pe.n_sections && !found; i++) {
			struct pe_section s;

			pe_section_at(head, &pe, i, &s);
			found = span_equal(span_of(s.name), SPAN(".sdmagic")) &&
				!EFI_ERROR(efi_read_at(file, s.raw_offset, text, sizeof(text), &got)) &&
				got > 5 && span_starts((struct span){ text + 5, got - 5 }, name);
		}
	}
	efi_free(head);
	return found;
}

static void add_program(struct boot *b, const char *id, const char *title, const char *program)
{
	EFI_STATUS status;

	if (path_same(span_of(program), b->own_path))
		return;
	EFI_FILE_HANDLE file = efi_open(b->volumes[VOLUME_OWN].root, span_of(program), &status);
	if (file && !is_granule_boot(file))
		add(b, id, title, ACTION_START, program);
	efi_close(file);
}

void auto_entries_add(struct boot *b)
{
	if (b->conf.auto_entries) {
		add_program(b, "auto-efi-shell", "EFI Shell", "/shell" ARCHITECTURE ".efi");
		add_program(b, "auto-efi-default", "EFI Default Loader", DEFAULT_PROGRAM);
	}
	if (b->conf.auto_firmware && efi_firmware_setup_supported())
		add(b, "auto-reboot-to-firmware-setup", "Reboot Into Firmware Interface",
		    ACTION_FIRMWARE_SETUP, NULL);
	if (b->conf.auto_poweroff)
		add(b, "auto-poweroff", "Power Off The System", ACTION_POWER_OFF, NULL);
	if (b->conf.auto_reboot)
		add(b, "auto-reboot", "Reboot The System", ACTION_REBOOT, NULL);
}
