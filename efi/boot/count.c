/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot counting (Boot Loader Specification, "Boot counting"; Automatic Boot Assessment). */
#include <granule/uki_entry.h>

#include "boot.h"
#include "efi_files.h"
#include "efi_vars.h"

/* Path of a file of the entry's folder. */
static struct span in_folder(const struct entry *e, struct span name)
{
	return efi_join(e->type == ENTRY_TYPE2 ? SPAN(UKI_FOLDER) : SPAN("/loader/entries"), "/", name);
}

static BOOLEAN rename_entry(struct boot *b, struct entry *e)
{
	/* The counter grows by "-" and as many digits as it has, at most. */
	size_t room = e->file_name.n + 16;
	struct text next = text_in(efi_new(char, room), room);

	boot_counter_next(&e->counter, &next);
	if (next.full)
		return FALSE;
	if (span_equal(text_span(&next), e->file_name)) /* nothing left to count */
		return TRUE;
	struct span path = in_folder(e, e->file_name);
	EFI_STATUS status = efi_rename(entry_root(b, e), path, text_span(&next));
	efi_free((void *)path.p);
	if (EFI_ERROR(status)) {
		struct span why = efi_join(SPAN("boot not counted, file cannot be renamed: "), "",
					   span_of(efi_status_text(status)));
		efi_message(e->id, why);
		efi_free((void *)why.p);
		return FALSE;
	}
	e->file_name = text_span(&next);
	boot_counter_parse(e->file_name, &e->counter);
	return TRUE;
}

void count_boot(struct boot *b, struct entry *e)
{
	if (!e->counter.present)
		return;
	BOOLEAN renamed = b->conf.count_boots && b->counted != e && rename_entry(b, e);
	b->counted = e;
	struct span path = in_folder(e, e->file_name);
	/* A unified image is the file that was renamed. */
	if (renamed && e->type == ENTRY_TYPE2)
		e->bls.path = path;
	/* The system marks the file that is there as good or bad, counted or not. */
	CHAR16 *name = efi_path(path, NULL);
	struct span shown = efi_to_utf8(name, (UINTN)-1);
	efi_var_publish(&efi_loader_guid, L"LoaderBootCountPath", shown);
	efi_free((void *)shown.p);
	efi_free(name);
}
