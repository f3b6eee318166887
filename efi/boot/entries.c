/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the Boot Loader Specification: type 1 (files in loader/entries) and type 2 (unified kernel
 * images in EFI/Linux), of our own volume and of the extended boot loader partition. */
#include <granule/entry_look.h>
#include <granule/error.h>
#include <granule/keyval.h>
#include <granule/path.h>
#include <granule/uki_entry.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_files.h"
#include "efi_source.h"
#include "efi_vars.h"

#define ENTRIES_FOLDER SPAN("/loader/entries")
#define ENTRY_FILE_MAX (64u << 10) /* bytes; real ones have a few hundred */
#define MAX_FAILURES 64u
/* Bytes for all entries: 20 000 ordinary ones take a third. The rest of the memory is the kernel's. */
#define ENTRIES_MEMORY (128u << 20)

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

void entry_fail_object(struct boot *b, struct entry *e, struct span object, const char *phrase)
{
	struct span why = efi_join(object, ": ", span_of(phrase));

	entry_fail(b, e, why);
	efi_free((void *)why.p);
}

void entries_add(struct boot *b, struct entry *e)
{
	if (b->n_entries == b->room) {
		size_t room = b->room ? b->room * 2 : 32;
		struct entry **grown = efi_new(struct entry *, room);

		if (b->n_entries)
			BS->CopyMem(grown, b->entries, b->n_entries * sizeof(*grown));
		efi_free(b->entries);
		b->entries = grown;
		b->room = room;
	}
	e->position = b->n_entries;
	b->entries[b->n_entries++] = e;
}

/* What the callbacks of a folder need. */
struct loading {
	struct boot *b;
	enum entry_volume volume;
	UINTN *memory_left;
};

/* An entry with texts of so many bytes; NULL, once with a line, when all of them would take too much memory.
 */
static struct entry *new_entry(const struct loading *l, struct span file_name, size_t texts)
{
	if (sizeof(struct entry) + texts > *l->memory_left) {
		if (*l->memory_left)
			efi_message(file_name,
				    SPAN("skipped with all that follow: entries take 128 MiB already"));
		*l->memory_left = 0;
		return NULL;
	}
	*l->memory_left -= sizeof(struct entry) + texts;
	struct entry *e = efi_keep_new(struct entry, 1);
	e->volume = l->volume;
	e->file_name = file_name;
	return e;
}

/* ---- type 1 ---- */

static bool for_this_architecture(const struct entry *e)
{
	return !e->bls.architecture.n ||
	       span_equal_nocase(e->bls.architecture, span_of(pe_machine_efi_name(EFI_NATIVE_MACHINE)));
}

/* An entry that starts this very program would go in circles. */
static bool starts_ourselves(const struct boot *b, const struct entry *e)
{
	return e->volume == VOLUME_OWN && b->own_path.n && path_same(e->bls.path, b->own_path);
}

/* So would one that another run of us has started, and that is not over: it led here, maybe by way of another
 * boot manager. */
static void leave_out_running(struct boot *b)
{
	EFI_HANDLE *handles = NULL;
	const struct span *id;
	UINTN n = 0;

	if (EFI_ERROR(BS->LocateHandleBuffer(ByProtocol, &efi_granule_guid, NULL, &n, &handles)))
		return;
	for (UINTN i = 0; i < n; i++) {
		if (EFI_ERROR(BS->HandleProtocol(handles[i], &efi_granule_guid, (VOID **)&id)))
			continue;
		for (size_t k = 0; k < b->n_entries; k++)
			if (!b->entries[k]->unusable && span_equal(b->entries[k]->id, *id))
				entry_fail(b, b->entries[k], SPAN("leads back to the boot manager"));
	}
	efi_free(handles);
}

static void say_error(struct span file_name, int error, size_t line_number)
{
	char line[160];
	struct text t = text_in(line, sizeof(line));

	text_add(&t, SPAN("skipped: "));
	text_add(&t, span_of(error_text(error)));
	if (error != ERROR_NO_KERNEL) {
		text_add(&t, SPAN(", line "));
		text_add_number(&t, line_number, 1);
	}
	efi_message(file_name, text_span(&t));
}

/* Text of an entry file; NULL after a line when it cannot be had. */
static struct span read_entry(EFI_FILE_HANDLE folder, struct span name, UINT64 size)
{
	struct span text = SPAN_NONE;

	if (size > ENTRY_FILE_MAX) {
		efi_message(name, SPAN("skipped: larger than 64 KiB"));
		return SPAN_NONE;
	}
	EFI_STATUS status = efi_read_listed(folder, name, size, &text);
	if (EFI_ERROR(status))
		efi_message(name, span_of(efi_status_text(status)));
	return text;
}

static void load_type1(EFI_FILE_HANDLE folder, struct span found_name, UINT64 size, void *context)
{
	struct loading *l = context;
	size_t offset;

	if (!bls_file_name_is_entry(found_name))
		return;
	struct span text = read_entry(folder, found_name, size);
	/* Entries live until the kernel starts: their memory is not freed one by one. */
	struct entry *e = text.p ? new_entry(l, found_name, 2 * text.n) : NULL;
	if (!e)
		return;
	boot_counter_parse(e->file_name, &e->counter);
	struct text id = text_in(efi_keep(found_name.n + 1), found_name.n + 1);
	boot_counter_id(&e->counter, &id);
	e->id = text_span(&id);

	int error = bls_parse(text, efi_keep(text.n + 1), text.n + 1, &e->bls, &offset);
	if (error)
		say_error(found_name, error, keyval_line_number(text, offset));
	else if (for_this_architecture(e) && !starts_ourselves(l->b, e))
		entries_add(l->b, e);
}

/* ---- type 2 ---- */

static void load_profile(struct loading *l, const struct file_source *source, struct span file_name,
			 const struct uki_profile *profile, uint32_t n)
{
	size_t size = uki_entry_memory(file_name, profile);
	struct entry *e = new_entry(l, file_name, size);

	if (!e)
		return;
	const char *wrong = uki_entry(source, file_name, profile, n, efi_keep(size), e);

	if (wrong) {
		efi_message(file_name, span_of(wrong));
		return;
	}
	e->type = ENTRY_TYPE2;
	e->options_implied = true;
	e->volume = l->volume;
	entries_add(l->b, e);
}

static const char *load_profiles(struct loading *l, const struct file_source *source, struct span file_name)
{
	char *memory = efi_new(char, ENTRY_LOOK_MEMORY);
	struct image_head head;
	struct uki_profile profile;
	uint32_t n = 0;

	const char *wrong = image_head_read(source, memory, ENTRY_LOOK_MEMORY, &head);
	/* Programs that are no unified kernel images, and those of other machines, are none of our entries.
	 */
	if (!wrong && head.container == CONTAINER_UKI && head.pe.machine == EFI_NATIVE_MACHINE) {
		if (uki_count_profiles(memory, &head.pe, &n) < 0)
			efi_message(file_name, SPAN("has more profiles than are supported"));
		for (uint32_t i = 0; i < n; i++)
			if (uki_find_profile(memory, &head.pe, i, &profile) == 0)
				load_profile(l, source, file_name, &profile, i);
	}
	efi_free(memory);
	return wrong;
}

static void load_type2(EFI_FILE_HANDLE folder, struct span found_name, UINT64 size, void *context)
{
	EFI_STATUS status;

	if (!uki_file_name_valid(found_name))
		return;
	EFI_FILE_HANDLE file = efi_open_in(folder, found_name, &status);
	const char *wrong = efi_status_text(status);
	if (file) {
		struct file_source source = efi_source(file, size);
		wrong = load_profiles(context, &source, found_name);
	}
	efi_close(file);
	if (wrong)
		efi_message(found_name, span_of(wrong));
}

/* ---- all of them ---- */

void entries_load(struct boot *b)
{
	UINTN memory_left = ENTRIES_MEMORY;

	for (enum entry_volume v = VOLUME_OWN; v < N_VOLUMES; v++) {
		struct loading l = { b, v, &memory_left };
		EFI_FILE_HANDLE root = b->volumes[v].root;

		if (!root)
			continue;
		EFI_STATUS status = efi_list(root, ENTRIES_FOLDER, load_type1, &l);
		if (EFI_ERROR(status) && status != EFI_NOT_FOUND)
			efi_message(ENTRIES_FOLDER, span_of(efi_status_text(status)));
		status = efi_list(root, SPAN(UKI_FOLDER), load_type2, &l);
		if (EFI_ERROR(status) && status != EFI_NOT_FOUND)
			efi_message(SPAN(UKI_FOLDER), span_of(efi_status_text(status)));
	}
	for (size_t i = 0; i < b->n_entries; i++)
		look_at_entry(b, b->entries[i]);
	auto_entries_add(b);
	leave_out_running(b);
	struct entry **scratch = efi_new(struct entry *, b->n_entries);
	entry_sort(b->entries, scratch, b->n_entries);
	efi_free(scratch);
}
