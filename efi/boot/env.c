/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment block on our own partition: wishes of a system that cannot write variables. */
#include <granule/env_wishes.h>
#include <granule/error.h>

#include "boot.h"
#include "efi_files.h"
#include "efi_vars.h"

/* The block in new memory; NULL if there is none, or after a line if it is damaged. */
static char *read_block(struct boot *b)
{
	struct span text = SPAN_NONE;
	EFI_STATUS status = efi_read_text(b->volumes[VOLUME_OWN].root, ENV_PATH, ENV_BLOCK_SIZE, &text);
	size_t offset;

	if (status == EFI_NOT_FOUND)
		return NULL;
	int error = EFI_ERROR(status) ? 0 : env_block_check(text.p, text.n, &offset);
	if (!EFI_ERROR(status) && !error)
		return (char *)text.p;
	struct span line = efi_join(SPAN("passed over"), ": ",
				    span_of(error ? error_text(error) : efi_status_text(status)));
	efi_message(ENV_PATH, line);
	efi_free((void *)line.p);
	efi_free((void *)text.p);
	return NULL;
}

/* Removes the one-shot from the file; true if it is really gone. All of the block is written, at its place:
 * GRUB knows it by its sectors, and U-Boot cuts a file off behind what is written. */
static bool clear_oneshot(struct boot *b, char *block)
{
	char unused[ENV_BLOCK_SIZE];
	struct text value = text_in(unused, sizeof(unused));
	CHAR16 *path = efi_path(ENV_PATH, NULL);
	EFI_FILE_HANDLE root = b->volumes[VOLUME_OWN].root, file = NULL;
	UINTN n = ENV_BLOCK_SIZE;

	env_block_unset(block, ENV_ONESHOT);
	if (!EFI_ERROR(root->Open(root, &file, path, EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE, 0))) {
		if (!EFI_ERROR(file->Write(file, &n, block)))
			file->Flush(file);
		file->Close(file);
	}
	efi_free(path);

	char *again = read_block(b);
	bool gone = again && env_block_get(again, ENV_ONESHOT, &value) == ERROR_NOT_FOUND;
	efi_free(again);
	return gone;
}

void env_read(struct boot *b)
{
	char unused[ENV_BLOCK_SIZE];
	struct text value = text_in(unused, sizeof(unused));
	char *block = b->conf.env_block ? read_block(b) : NULL;

	if (!block)
		return;
	/* The values stay in memory until the kernel starts. */
	env_wishes_apply(block, efi_var_get(&efi_granule_guid, L"GranulePolicy"),
			 efi_new(char, ENV_BLOCK_SIZE), &b->input);
	if (env_block_get(block, ENV_ONESHOT, &value) != ERROR_NOT_FOUND) {
		bool cleared = clear_oneshot(b, block);

		if (b->input.from_env & 1u << RULE_ONESHOT)
			b->input.oneshot_not_cleared = !cleared;
	}
	efi_free(block);
}
