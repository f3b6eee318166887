/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot Loader Interface (systemd.io/BOOT_LOADER_INTERFACE), and our own variables. */
#include <granule/variables.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_device_path.h"
#include "efi_measure.h"
#include "efi_vars.h"

static void publish_hex(struct text *t, UINT64 v, unsigned digits)
{
	static const char hex[] = "0123456789ABCDEF";

	while (digits--)
		text_add(t, (struct span){ &hex[v >> (4 * digits) & 15], 1 });
}

/* Partition that we came from, if it is one of a GUID partition table. */
static void publish_partition(EFI_HANDLE device)
{
	const EFI_DEVICE_PATH *path = efi_device_path_of(device);
	const HARDDRIVE_DEVICE_PATH *drive = path ? efi_device_path_partition(path, NULL) : NULL;
	char guid[40];
	struct text t = text_in(guid, sizeof(guid));

	if (!drive)
		return;
	const unsigned char *s = drive->Signature;
	publish_hex(&t, read_le32(s), 8);
	text_add(&t, SPAN("-"));
	publish_hex(&t, read_le16(s + 4), 4);
	text_add(&t, SPAN("-"));
	publish_hex(&t, read_le16(s + 6), 4);
	text_add(&t, SPAN("-"));
	for (unsigned i = 8; i < 16; i++) {
		publish_hex(&t, s[i], 2);
		if (i == 9)
			text_add(&t, SPAN("-"));
	}
	efi_var_publish(&efi_loader_guid, L"LoaderDevicePartUUID", text_span(&t));
}

#if defined(__aarch64__)
#define TREE_FEATURES (FEATURE_DEVICETREE | FEATURE_DEVICETREE_OVERLAY)
#else
#define TREE_FEATURES 0
#endif

/* MAJOR.MINOR of a revision as UEFI counts them: 16 bits each, the minor one with two decimal digits. */
static void add_revision(struct text *t, UINT32 revision)
{
	text_add_number(t, revision >> 16, 1);
	text_add(t, SPAN("."));
	text_add_number(t, revision & 0xffff, 2);
}

static void publish_firmware(void)
{
	char line[256];
	struct text t = text_in(line, sizeof(line));
	struct span vendor = efi_to_utf8(ST->FirmwareVendor, 200);

	text_add(&t, vendor);
	text_add(&t, SPAN(" "));
	add_revision(&t, ST->FirmwareRevision);
	efi_var_publish(&efi_loader_guid, L"LoaderFirmwareInfo", text_span(&t));
	efi_free((void *)vendor.p);

	t = text_in(line, sizeof(line));
	text_add(&t, SPAN("UEFI "));
	add_revision(&t, ST->Hdr.Revision);
	efi_var_publish(&efi_loader_guid, L"LoaderFirmwareType", text_span(&t));
}

void publish_loader(struct boot *b, UINT64 time_init_us)
{
	/* Only what works; others' tools rely on these bits. */
	static const UINT64 features = FEATURE_CONFIG_TIMEOUT | FEATURE_CONFIG_TIMEOUT_ONE_SHOT |
				       FEATURE_ENTRY_DEFAULT | FEATURE_ENTRY_ONESHOT | FEATURE_XBOOTLDR |
				       FEATURE_SORT_KEY | FEATURE_SAVED_ENTRY | FEATURE_MENU_DISABLED |
				       FEATURE_MULTI_PROFILE_UKI | FEATURE_TYPE1_UKI | FEATURE_PREFERRED |
				       FEATURE_RETAIN_SHIM | FEATURE_TPM2_ACTIVE_BANKS | TREE_FEATURES;
	/* Not where the owner switched it off. */
	UINT64 all = features | (b->conf.count_boots ? FEATURE_BOOT_COUNTING : 0) |
		     (b->conf.random_seed ? FEATURE_RANDOM_SEED : 0);
	char cpu[32];
	struct text t = text_in(cpu, sizeof(cpu));

	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeInitUSec", time_init_us);
	efi_var_publish(&efi_loader_guid, L"LoaderInfo", SPAN(GRANULE_BOOT_NAME " " GRANULE_VERSION));
	efi_var_publish_bytes(&efi_loader_guid, L"LoaderFeatures", &all, sizeof(all));
	publish_firmware();
	efi_measure_publish();
	publish_partition(b->loaded->DeviceHandle);
	if (b->own_path.n)
		efi_var_publish(&efi_loader_guid, L"LoaderImageIdentifier", b->own_path);

	page_size_set_format(b->cpu, &t);
	efi_var_publish(&efi_granule_guid, L"GranuleCpu", text_span(&t));
}

void publish_entries(const struct boot *b)
{
	UINTN size = 0, at = 0;

	/* Ids one after the other, each with its NUL. */
	for (size_t i = 0; i < b->n_entries; i++)
		size += (b->entries[i]->id.n + 1) * sizeof(CHAR16);
	if (!size)
		return;
	char *all = efi_alloc(size);
	for (size_t i = 0; i < b->n_entries; i++) {
		UINTN bytes;

		if (b->entries[i]->unusable) /* others' tools must not offer it */
			continue;
		CHAR16 *id = efi_to_utf16(b->entries[i]->id, &bytes);

		BS->CopyMem(all + at, id, bytes);
		at += bytes;
		efi_free(id);
	}
	efi_var_publish_bytes(&efi_loader_guid, L"LoaderEntries", all, at);
	efi_free(all);
}

/* Bytes of a line about what does not suit 64K kernels. */
#define MAP_LINE 120

static void add_memory_map(struct text *record)
{
	char line[MAP_LINE];
	struct text t = text_in(line, sizeof(line));
	UINT64 first;
	UINTN conflicts;

	if (!firmware_map_check(&conflicts, &first))
		return;
	if (conflicts) {
		text_add_number(&t, conflicts, 1);
		text_add(&t, SPAN(" regions share 64 KiB with others of other kind, at 0x"));
		publish_hex(&t, first, first >> 32 ? 16 : 8);
	} else {
		text_add(&t, SPAN("ok"));
	}
	boot_record_add(record, SPAN(BOOT_RECORD_MEMORY_MAP), text_span(&t));
}

struct span boot_record_text(const struct boot *b, const struct entry *entry,
			     const struct choose_result *result)
{
	struct text record = text_in(efi_new(char, BOOT_RECORD_MAX), BOOT_RECORD_MAX);

	boot_record_format(entry, &b->input, result, &record);
	if (EFI_NATIVE_MACHINE == PE_MACHINE_AA64)
		add_memory_map(&record);
	for (size_t i = 0; i < b->n_failures; i++) {
		const struct failure *f = &b->failures[i];
		struct span line = efi_join(f->id, ": ", f->text);

		boot_record_add(&record, f->left_out ? SPAN("left-out") : SPAN("failed"), line);
		efi_free((void *)line.p);
	}
	return text_span(&record);
}

static BOOLEAN publish_record(struct span record)
{
	return efi_var_publish(&efi_granule_guid, L"GranuleBoot", record);
}

void publish_selected(const struct entry *entry, struct span record)
{
	/* A small store (U-Boot has 16 KiB) may be full of ids: what runs is worth more than what could. */
	if (!publish_record(record) ||
	    !efi_var_publish(&efi_loader_guid, L"LoaderEntrySelected", entry->id)) {
		efi_var_delete(&efi_loader_guid, L"LoaderEntries");
		publish_record(record);
		efi_var_publish(&efi_loader_guid, L"LoaderEntrySelected", entry->id);
	}
	efi_var_publish_number(&efi_loader_guid, L"LoaderTimeExecUSec", efi_now_us());
}

void publish_none(const struct boot *b, const struct choose_result *result)
{
	efi_var_delete(&efi_loader_guid, L"LoaderEntrySelected");
	efi_var_delete(&efi_loader_guid, L"LoaderTimeExecUSec");
	efi_var_delete(&efi_loader_guid, L"LoaderBootCountPath");
	if (!result) {
		efi_var_delete(&efi_granule_guid, L"GranuleBoot");
		return;
	}
	struct span record = boot_record_text(b, NULL, result);
	publish_record(record);
	efi_free((void *)record.p);
}
