/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/path.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_files.h"

#define ENTRIES_FOLDER SPAN("/loader/entries")
#define ENTRY_FILE_MAX (64u << 10) /* bytes; real ones have a few hundred */
#define SCAN_BYTES (1u << 20)
#define MAX_FAILURES 64u

static void remember(struct boot *b, const struct entry *entry, struct span why, bool left_out)
{
	efi_message(entry->id, why);
	if (!b->failures)
		b->failures = efi_new(struct failure, MAX_FAILURES);
	if (b->n_failures < MAX_FAILURES)
		b->failures[b->n_failures++] = (struct failure){ entry->id, efi_copy(why), left_out };
}

void entry_fail(struct boot *b, struct entry *entry, struct span why)
{
	entry->unusable = true;
	remember(b, entry, why, false);
}

void entry_left_out(struct boot *b, const struct entry *entry, struct span what)
{
	remember(b, entry, what, true);
}

static void fail_file(struct boot *b, struct entry *e, struct span path, const char *what)
{
	struct span why = efi_join(path, ": ", span_of(what));

	entry_fail(b, e, why);
	efi_free((void *)why.p);
}

/* Reads through an image whose header leaves the page size open, for the strings of the boot-time parameter.
 */
static bool has_parameter_strings(EFI_FILE_HANDLE file, uint64_t file_size)
{
	struct selectable_scan scan = { 0 };
	char *buffer = efi_new(char, SCAN_BYTES);
	UINTN n = 0;

	for (uint64_t at = 0; at < file_size && !selectable_scan_result(&scan); at += n) {
		if (EFI_ERROR(efi_read_at(file, at, buffer, SCAN_BYTES, &n)) || !n)
			break;
		selectable_scan_feed(&scan, buffer, n);
	}
	efi_free(buffer);
	return selectable_scan_result(&scan);
}

/* The kernel inside a unified kernel image. */
static void look_into_uki(EFI_FILE_HANDLE file, struct image_head *head)
{
	char inner[ARM64_IMAGE_HEADER_SIZE];
	UINTN n = 0;

	if (!EFI_ERROR(efi_read_at(file, head->uki_linux_offset, inner, sizeof(inner), &n)))
		head->has_arm64 = arm64_image_parse(inner, n, &head->arm64) == 0;
}

/* Whether the initrds are there. What cannot be read to its end is found out when the entry is started. */
static bool look_at_initrds(struct boot *b, struct entry *e)
{
	UINT64 total = 0;

	if (e->bls.start != BLS_START_LINUX || !e->bls.n_initrd)
		return true;
	for (unsigned i = 0; i < e->bls.n_initrd; i++) {
		EFI_STATUS status;
		UINT64 size = 0;
		EFI_FILE_HANDLE file = efi_open(b->root, e->bls.initrd[i], &status);

		if (file)
			status = efi_file_size(file, &size);
		efi_close(file);
		if (EFI_ERROR(status)) {
			fail_file(b, e, e->bls.initrd[i], efi_status_text(status));
			return false;
		}
		total += size;
	}
	if (!total)
		fail_file(b, e, e->bls.initrd[0], efi_status_text(EFI_END_OF_FILE));
	return total != 0;
}

/* Looks at the file that the entry starts; sets its page size, or marks it. */
static void look_at_image(struct boot *b, struct entry *e)
{
	struct image_head head = { 0 };
	EFI_STATUS status;
	EFI_FILE_HANDLE file = efi_open(b->root, e->bls.path, &status);
	UINT64 size = 0;
	UINTN n = 0;
	size_t offset;
	bool strings = false;

	if (file)
		status = efi_file_size(file, &size);
	char *bytes = efi_new(char, PE_HEAD_SIZE);
	if (!EFI_ERROR(status))
		status = efi_read_at(file, 0, bytes, PE_HEAD_SIZE, &n);
	if (EFI_ERROR(status)) {
		fail_file(b, e, e->bls.path, efi_status_text(status));
		goto out;
	}

	int error = image_head_parse(bytes, n, size, &head, &offset);
	const char *wrong = error ? error_text(error) : image_objection(&head, EFI_NATIVE_MACHINE);
	if (wrong) {
		fail_file(b, e, e->bls.path, wrong);
		goto out;
	}
	if (head.container == CONTAINER_UKI)
		look_into_uki(file, &head);
	/* A kernel from before v4.6 leaves the field open as well: look closer, unless register did. */
	if (head.has_arm64 && head.arm64.page_size == PAGE_SIZE_UNKNOWN && !e->bls.image_selectable)
		strings = has_parameter_strings(file, size);
	entry_set_page_size(e, &head, strings, b->cpu);
	e->initrd_by_name = head.pe.major_image_version < 1;
out:
	efi_free(bytes);
	efi_close(file);
}

static bool for_this_architecture(const struct entry *e)
{
	return !e->bls.architecture.n ||
	       span_equal_nocase(e->bls.architecture, span_of(pe_machine_efi_name(EFI_NATIVE_MACHINE)));
}

/* An entry that starts this very program would go in circles. */
static bool starts_ourselves(const struct boot *b, const struct entry *e)
{
	return e->bls.start == BLS_START_EFI && b->own_path.n && path_same(e->bls.path, b->own_path);
}

static void add_entry(struct boot *b, struct entry *e)
{
	if (b->n_entries == b->room) {
		size_t room = b->room ? b->room * 2 : 32;
		struct entry **grown = efi_new(struct entry *, room);

		for (size_t i = 0; i < b->n_entries; i++)
			grown[i] = b->entries[i];
		efi_free(b->entries);
		b->entries = grown;
		b->room = room;
	}
	e->position = b->n_entries;
	b->entries[b->n_entries++] = e;
}

static void say_error(struct span file_name, int error, size_t offset)
{
	char line[160];
	struct text t = text_in(line, sizeof(line));

	text_add(&t, SPAN("skipped: "));
	text_add(&t, span_of(error_text(error)));
	if (error != ERROR_NO_KERNEL) {
		text_add(&t, SPAN(", at byte "));
		text_add_number(&t, offset, 1);
	}
	efi_message(file_name, text_span(&t));
}

static void load_entry(struct span found_name, void *context)
{
	struct boot *b = context;
	struct span text = SPAN_NONE;
	size_t offset;

	if (!bls_file_name_valid(found_name))
		return;

	struct span path = efi_join(ENTRIES_FOLDER, "/", found_name);
	EFI_STATUS status = efi_read_text(b->root, path, ENTRY_FILE_MAX, &text);
	efi_free((void *)path.p);
	if (EFI_ERROR(status)) {
		efi_message(found_name, status == EFI_BAD_BUFFER_SIZE ? SPAN("skipped: larger than 64 KiB")
								      : span_of(efi_status_text(status)));
		return;
	}

	/* Entries live until the kernel starts: their memory is not freed one by one. */
	struct entry *e = efi_new(struct entry, 1);
	e->file_name = efi_copy(found_name);
	boot_counter_parse(e->file_name, &e->counter);
	struct text id = text_in(efi_new(char, found_name.n + 1), found_name.n + 1);
	boot_counter_id(&e->counter, &id);
	e->id = text_span(&id);

	int error = bls_parse(text, efi_new(char, text.n + 1), text.n + 1, &e->bls, &offset);
	if (error) {
		say_error(found_name, error, offset);
		return;
	}
	if (!for_this_architecture(e) || starts_ourselves(b, e))
		return;
	add_entry(b, e);
}

void entries_load(struct boot *b)
{
	EFI_STATUS status = efi_list(b->root, ENTRIES_FOLDER, load_entry, b);

	if (EFI_ERROR(status))
		efi_message(ENTRIES_FOLDER, span_of(efi_status_text(status)));
	for (size_t i = 0; i < b->n_entries; i++) {
		struct entry *e = b->entries[i];

		const char *feature = entry_unsupported_feature(e);

		if (feature)
			entry_fail(b, e, span_of(feature));
		else if (look_at_initrds(b, e))
			look_at_image(b, e);
	}
	entry_sort(b->entries, b->n_entries);
}
