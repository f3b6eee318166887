/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule-boot: reads the entries of its own partition, asks choose() which one boots, starts it; and when
 * that fails, asks again without it. It never stops while an entry is left. */
#include <granule/variables.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_files.h"
#include "efi_libc.h"
#include "efi_measure.h"
#include "efi_random_seed.h"
#include "efi_vars.h"

#define CONF_MAX (64u << 10)
#define CONF_PATH SPAN("/loader/loader.conf")

/* Found by others (bootctl, our own installer) in the finished file. */
__attribute__((used, section(".rodata.magic"))) static const char magic[] =
	"#### LoaderInfo: " GRANULE_BOOT_NAME " " GRANULE_VERSION " ####";

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_STATUS open_partition(struct boot *b)
{
	EFI_STATUS status = BS->HandleProtocol(b->image, &LoadedImageProtocol, (VOID **)&b->loaded);

	if (EFI_ERROR(status))
		return status;
	b->root = LibOpenRoot(b->loaded->DeviceHandle);
	return b->root ? EFI_SUCCESS : EFI_NOT_FOUND;
}

/* Our own file, from the device path that we were loaded by: its file nodes, joined. */
static struct span own_path(EFI_DEVICE_PATH *node)
{
	struct span path = SPAN_NONE;

	for (; node && !IsDevicePathEnd(node); node = NextDevicePathNode(node)) {
		UINTN length = DevicePathNodeLength(node);

		if (length < sizeof(EFI_DEVICE_PATH))
			break;
		if (DevicePathType(node) != MEDIA_DEVICE_PATH || DevicePathSubType(node) != MEDIA_FILEPATH_DP)
			continue;
		/* Nodes lie unaligned: copy before reading units of two bytes. */
		UINTN bytes = length - sizeof(EFI_DEVICE_PATH);
		CHAR16 *text = efi_alloc(bytes + sizeof(CHAR16));
		BS->CopyMem(text, (UINT8 *)node + sizeof(EFI_DEVICE_PATH), bytes);
		struct span part = efi_to_utf8(text, bytes / sizeof(CHAR16));
		bool parted = !part.n || part.p[0] == '\\';
		path = efi_join(path, parted ? "" : "\\", part);
	}
	return path;
}

static void read_conf(struct boot *b)
{
	struct span text = SPAN_NONE;
	EFI_STATUS status = efi_read_text(b->root, CONF_PATH, CONF_MAX, &text);

	if (EFI_ERROR(status) && status != EFI_NOT_FOUND)
		efi_message(CONF_PATH, span_of(efi_status_text(status)));
	if (!EFI_ERROR(status))
		efi_measure_conf(text);
	loader_conf_parse(text, &b->conf);
	if (b->conf.has_bad) {
		char line[80];
		struct text t = text_in(line, sizeof(line));

		text_add(&t, SPAN("value not understood, line skipped, at byte "));
		text_add_number(&t, b->conf.bad_offset, 1);
		efi_message(CONF_PATH, text_span(&t));
	}
}

/* What was asked for. The one-shot is deleted before anything is done with it. */
static void read_wishes(struct boot *b)
{
	struct choose_input *in = &b->input;

	in->oneshot = efi_var_get(&efi_loader_guid, L"LoaderEntryOneShot");
	if (in->oneshot.p)
		in->oneshot_not_cleared = !efi_var_delete(&efi_loader_guid, L"LoaderEntryOneShot");
	in->preferred = efi_var_get(&efi_loader_guid, L"LoaderEntryPreferred");
	in->default_variable = efi_var_get(&efi_loader_guid, L"LoaderEntryDefault");
	in->preferred_config = b->conf.preferred_pattern;
	in->default_config = b->conf.default_pattern;

	in->policy = loader_conf_policy(&b->conf, efi_var_get(&efi_granule_guid, L"GranulePolicy"));
	in->cpu = b->cpu;
}

/* One line whenever the choice is not simply what was asked for. */
static void say_choice(struct boot *b, const struct choose_result *result)
{
	bool passed_over = false;
	char line[600];
	struct text t = text_in(line, sizeof(line));

	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++)
		passed_over = passed_over || (result->outcome[r] != OUTCOME_NOT_SET &&
					      result->outcome[r] != OUTCOME_CHOSEN &&
					      result->outcome[r] != OUTCOME_NOT_ASKED);
	if (!passed_over && result->rule != RULE_LAST_RESORT)
		return;
	choose_explain(&b->input, result, &t);
	efi_message(b->entries[result->index]->id, text_span(&t));
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	UINT64 started;
	struct choose_result result;

	InitializeLib(image, table);
	efi_libc_start();
	started = efi_now_us();

	struct boot *b = efi_new(struct boot, 1);
	b->image = image;
	b->cpu = efi_cpu_page_sizes();
	EFI_STATUS status = open_partition(b);
	if (EFI_ERROR(status)) {
		efi_message(SPAN("own partition"), span_of(efi_status_text(status)));
		return status;
	}
	b->own_path = own_path(b->loaded->FilePath);
	publish_loader(b, started);

	read_conf(b);
	read_wishes(b);
	entries_load(b);
	b->input.entries = (const struct entry *const *)b->entries;
	b->input.n_entries = b->n_entries;
	publish_entries(b);

	choose(&b->input, &result);
	size_t picked = result.index == SIZE_MAX ? SIZE_MAX : menu_run(b, &result);
	if (picked != SIZE_MAX) {
		result.index = picked;
		result.rule = RULE_MENU;
	}
	if (b->conf.random_seed && result.index != SIZE_MAX)
		efi_random_seed_process(b->root);
	while (result.index != SIZE_MAX) {
		say_choice(b, &result);
		entry_start(b, b->entries[result.index], &result);
		/* It came back: it is marked now, and the next choice is another. */
		choose(&b->input, &result);
	}

	publish_none(b, &result);
	efi_message(SPAN_NONE, b->n_entries ? SPAN("no entry can be started, back to firmware")
					    : SPAN("no entries in loader/entries, back to firmware"));
	return EFI_NOT_FOUND;
}
