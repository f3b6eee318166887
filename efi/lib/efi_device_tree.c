/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/device_tree.h>

#include "efi_device_tree.h"
#include "efi_files.h"
#include "efi_measure.h"

/* EFI_DTB_TABLE_GUID */
static EFI_GUID table_guid = {
	0xb1b621d5, 0xf19c, 0x41a5, { 0x83, 0x0b, 0xd9, 0x15, 0x2c, 0x69, 0xaa, 0xe0 }
};

/* EFI_DT_FIXUP_PROTOCOL, github.com/U-Boot-EFI/EFI_DT_FIXUP_PROTOCOL */
static EFI_GUID fixup_guid = {
	0xe617d64c, 0xfe08, 0x46da, { 0xf4, 0xdc, 0xbb, 0xd5, 0x87, 0x0c, 0x73, 0x00 }
};

#define FIXUP_APPLY 1u
#define FIXUP_RESERVE_MEMORY 2u

struct fixup {
	UINT64 revision;
	EFI_STATUS(EFIAPI *fixup)(struct fixup *self, VOID *tree, UINTN *size, UINT32 flags);
};

/* Memory in pages: trees start at a multiple of 8 bytes, and a failure is no reason to give up the boot. */
struct pages {
	VOID *p;
	UINTN n;
};

struct efi_device_tree {
	struct pages memory;
	bool from_file, installed;
	VOID *firmware; /* firmware's own; NULL if it has none */
};

static const char out_of_memory[] = "out of memory";

/* EfiACPIReclaimMemory is what the specification wants for the table. */
static bool pages_get(struct pages *m, UINTN size)
{
	EFI_PHYSICAL_ADDRESS address = 0;
	UINTN n = EFI_SIZE_TO_PAGES(size);

	if (EFI_ERROR(BS->AllocatePages(AllocateAnyPages, EfiACPIReclaimMemory, n, &address)))
		return false;
	*m = (struct pages){ (VOID *)(UINTN)address, n };
	return true;
}

static UINTN pages_size(const struct pages *m)
{
	return m->n * EFI_PAGE_SIZE;
}

static void pages_free(struct pages *m)
{
	if (m->n)
		BS->FreePages((EFI_PHYSICAL_ADDRESS)(UINTN)m->p, m->n);
	m->n = 0;
}

static VOID *firmware_tree(void)
{
	for (UINTN i = 0; i < ST->NumberOfTableEntries; i++)
		if (!CompareGuid(&ST->ConfigurationTable[i].VendorGuid, &table_guid))
			return ST->ConfigurationTable[i].VendorTable;
	return NULL;
}

static const char *read_file(EFI_FILE_HANDLE root, struct span path, UINT64 max, struct pages *ret,
			     UINTN *ret_size)
{
	EFI_STATUS status;
	EFI_FILE_HANDLE file = efi_open(root, path, &status);
	UINT64 size = 0;

	if (file)
		status = efi_file_size(file, &size);
	if (!EFI_ERROR(status) && size > max)
		status = EFI_BAD_BUFFER_SIZE;
	if (!EFI_ERROR(status) && !size)
		status = EFI_END_OF_FILE;
	if (!EFI_ERROR(status) && !pages_get(ret, (UINTN)size))
		status = EFI_OUT_OF_RESOURCES;
	if (!EFI_ERROR(status))
		status = efi_read_at(file, 0, ret->p, (UINTN)size, ret_size);
	if (!EFI_ERROR(status))
		efi_measure_file("devicetree", path, ret->p, *ret_size);
	efi_close(file);
	return EFI_ERROR(status) ? efi_status_text(status) : NULL;
}

static const char *make_copy(struct efi_device_tree *t, const VOID *blob, UINTN size)
{
	int error = device_tree_check(blob, size);

	if (!error && !pages_get(&t->memory, device_tree_room(size, 0)))
		return out_of_memory;
	if (!error)
		error = device_tree_copy(blob, t->memory.p, pages_size(&t->memory));
	return error ? device_tree_error_text(error) : NULL;
}

static const char *apply(struct efi_device_tree *t, EFI_FILE_HANDLE root, struct span path)
{
	struct pages overlay = { 0 }, merged = { 0 };
	UINTN size;
	const char *why = read_file(root, path, DEVICE_TREE_MAX, &overlay, &size);

	if (!why && !pages_get(&merged, device_tree_room(device_tree_size(t->memory.p), size)))
		why = out_of_memory;
	if (!why) {
		int error = device_tree_apply(t->memory.p, overlay.p, size, merged.p, pages_size(&merged));

		if (error) {
			why = device_tree_error_text(error);
		} else {
			struct pages before = t->memory;

			t->memory = merged;
			merged = before;
		}
	}
	pages_free(&overlay);
	pages_free(&merged);
	return why;
}

const char *efi_device_tree_make(const struct device_tree_wish *wish, struct efi_device_tree **ret)
{
	static const char refused[] = "no device trees from files under Secure Boot";
	struct efi_device_tree *t = efi_new(struct efi_device_tree, 1);
	struct span base = wish->base;
	const char *why = NULL;

	*ret = NULL;
	t->firmware = firmware_tree();
	if (base.n && !wish->files_allowed) {
		wish->left_out(base, refused, wish->context);
		base = SPAN_NONE;
	}
	if (base.n) {
		struct pages file = { 0 };
		UINTN size;

		t->from_file = true;
		why = read_file(wish->root, base, DEVICE_TREE_MAX, &file, &size);
		if (!why)
			why = make_copy(t, file.p, size);
		pages_free(&file);
	} else if (t->firmware) {
		const char *bad = make_copy(t, t->firmware, device_tree_size(t->firmware));

		if (bad)
			efi_message(SPAN("firmware's device tree, left as it is"), span_of(bad));
	}
	for (unsigned i = 0; !why && i < wish->n_overlays; i++) {
		const char *bad = !wish->files_allowed ? refused
				  : !t->memory.n       ? "there is no device tree that it could change"
						       : apply(t, wish->root, wish->overlays[i]);
		if (bad)
			wish->left_out(wish->overlays[i], bad, wish->context);
	}
	if (t->memory.n && !why)
		*ret = t;
	else
		efi_device_tree_withdraw(t);
	return why;
}

/* Firmware fills in what it alone knows, such as memory, and reserves what the tree reserves. */
static const char *fix_up(struct efi_device_tree *t)
{
	struct fixup *protocol;
	UINTN size = pages_size(&t->memory);

	if (EFI_ERROR(BS->LocateProtocol(&fixup_guid, NULL, (VOID **)&protocol)))
		return NULL;
	EFI_STATUS status = protocol->fixup(protocol, t->memory.p, &size, FIXUP_APPLY | FIXUP_RESERVE_MEMORY);
	if (status == EFI_BUFFER_TOO_SMALL) {
		struct pages larger;

		if (!pages_get(&larger, size))
			return out_of_memory;
		device_tree_copy(t->memory.p, larger.p, pages_size(&larger));
		device_tree_pack(larger.p);
		pages_free(&t->memory);
		t->memory = larger;
		size = pages_size(&t->memory);
		status = protocol->fixup(protocol, t->memory.p, &size, FIXUP_APPLY | FIXUP_RESERVE_MEMORY);
	}
	return EFI_ERROR(status) ? "firmware cannot complete this device tree" : NULL;
}

const char *efi_device_tree_install(struct efi_device_tree *t, struct span record, struct span cpu)
{
	const char *why = NULL;

	if (!t)
		return NULL;
	int error = device_tree_record(t->memory.p, record, cpu);
	if (error)
		efi_message(SPAN("record in /chosen"), span_of(device_tree_error_text(error)));
	device_tree_pack(t->memory.p);
	if (t->from_file)
		why = fix_up(t);
	if (!why && EFI_ERROR(BS->InstallConfigurationTable(&table_guid, t->memory.p)))
		why = out_of_memory;
	t->installed = !why;
	/* Without our copy the kernel gets firmware's own tree: no reason not to start it. */
	return t->from_file ? why : NULL;
}

void efi_device_tree_withdraw(struct efi_device_tree *t)
{
	if (!t)
		return;
	if (t->installed)
		BS->InstallConfigurationTable(&table_guid, t->firmware);
	pages_free(&t->memory);
	efi_free(t);
}
