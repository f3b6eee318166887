/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot counting (Boot Loader Specification, "Boot counting"; Automatic Boot Assessment). */
#include <granule/path.h>
#include <granule/uki_entry.h>

#include "boot.h"
#include "efi_files.h"
#include "efi_vars.h"

/* Path of a file of the entry's folder. */
static struct span in_folder(const struct entry *e, struct span name)
{
	return efi_join(e->type == ENTRY_TYPE2 ? SPAN(UKI_FOLDER) : SPAN("/loader/entries"), "/", name);
}

/* The file has another name now: tells all entries that are made of it, such as the profiles of an image. */
static void renamed(struct boot *b, const struct entry *e, struct span old_path, struct span new_name)
{
	const char *old_name = e->file_name.p;
	struct span new_path = in_folder(e, new_name);

	for (size_t i = 0; i < b->n_entries; i++) {
		struct entry *other = b->entries[i];

		if (other->file_name.p == old_name) {
			other->file_name = new_name;
			boot_counter_parse(new_name, &other->counter);
			other->counted = true;
		}
		if (other->volume == e->volume && path_same(other->bls.path, old_path))
			other->bls.path = new_path;
	}
}

static void count_down(struct boot *b, struct entry *e)
{
	/* It has no tries that could be counted, and a file that is not written to is not damaged by a power
	 * cut: FAT firmware like U-Boot's may leave one that makes Linux stop writing to the partition. */
	if (e->bls.trial && !e->counter.left)
		return;
	/* The counter grows by "-" and as many digits as it has, at most. */
	size_t room = 2 * e->file_name.n + 2;
	struct text next = text_in(efi_new(char, room), room);

	boot_counter_next(&e->counter, &next);
	if (span_equal(text_span(&next), e->file_name)) /* nothing left to count */
		return;
	struct span path = in_folder(e, e->file_name);
	EFI_STATUS status = efi_rename(entry_root(b, e), path, text_span(&next));
	if (EFI_ERROR(status)) {
		struct span why = efi_join(SPAN("boot not counted, file cannot be renamed"), ": ",
					   span_of(efi_status_text(status)));
		efi_message(e->id, why);
		efi_free((void *)why.p);
	} else {
		renamed(b, e, path, text_span(&next));
	}
	efi_free((void *)path.p);
}

void count_boot(struct boot *b, struct entry *e)
{
	if (!e->counter.present)
		return;
	if (b->conf.count_boots && !e->counted)
		count_down(b, e);
	struct span path = in_folder(e, e->file_name);
	/* The system marks the file that is there as good or bad, counted or not. */
	CHAR16 *name = efi_path(path, NULL);
	struct span shown = efi_to_utf8(name, (UINTN)-1);
	efi_var_publish(&efi_loader_guid, L"LoaderBootCountPath", shown);
	efi_free((void *)shown.p);
	efi_free(name);
	efi_free((void *)path.p);
}
