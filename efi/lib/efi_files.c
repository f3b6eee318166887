/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_files.h"

/* Some drivers fail on a single read of many megabytes. */
#define READ_AT_ONCE (4u << 20)
/* Room for EFI_FILE_INFO with the longest name of FAT (255 UTF-16 units). */
#define INFO_SIZE (sizeof(EFI_FILE_INFO) + 256 * sizeof(CHAR16))
#define MOVE_MAX (64u << 10) /* bytes; larger than any entry */
/* Bytes of UTF-8 that a name of a folder has at most. */
#define NAME_MAX_BYTES (255 * 3)
/* More than any real folder. */
#define LIST_MAX 100000u

static EFI_GUID file_info_guid = EFI_FILE_INFO_ID;

EFI_FILE_HANDLE efi_open(EFI_FILE_HANDLE root, struct span path, EFI_STATUS *ret_status)
{
	EFI_FILE_HANDLE file = NULL;
	CHAR16 *p = efi_path(path, NULL);

	*ret_status = root->Open(root, &file, p, EFI_FILE_MODE_READ, 0);
	efi_free(p);
	return EFI_ERROR(*ret_status) ? NULL : file;
}

EFI_FILE_HANDLE efi_open_in(EFI_FILE_HANDLE folder, struct span name, EFI_STATUS *ret_status)
{
	EFI_FILE_HANDLE file = NULL;
	CHAR16 units[NAME_MAX_BYTES + 1];

	if (name.n > NAME_MAX_BYTES) {
		*ret_status = EFI_NOT_FOUND;
		return NULL;
	}
	efi_utf16_into(name, units);
	*ret_status = folder->Open(folder, &file, units, EFI_FILE_MODE_READ, 0);
	return EFI_ERROR(*ret_status) ? NULL : file;
}

void efi_close(EFI_FILE_HANDLE file)
{
	if (file)
		file->Close(file);
}

EFI_STATUS efi_file_size(EFI_FILE_HANDLE file, UINT64 *ret)
{
	UINTN size = INFO_SIZE;
	EFI_FILE_INFO *info = efi_alloc(size);
	EFI_STATUS status = file->GetInfo(file, &file_info_guid, &size, info);

	if (!EFI_ERROR(status) && (info->Attribute & EFI_FILE_DIRECTORY))
		status = EFI_INVALID_PARAMETER;
	if (!EFI_ERROR(status))
		*ret = info->FileSize;
	efi_free(info);
	return status;
}

EFI_STATUS efi_read_at(EFI_FILE_HANDLE file, UINT64 offset, void *buffer, UINTN size, UINTN *ret_read)
{
	EFI_STATUS status = file->SetPosition(file, offset);

	*ret_read = 0;
	while (!EFI_ERROR(status) && *ret_read < size) {
		UINTN n = size - *ret_read < READ_AT_ONCE ? size - *ret_read : READ_AT_ONCE;

		status = file->Read(file, &n, (UINT8 *)buffer + *ret_read);
		if (EFI_ERROR(status) || n == 0)
			break;
		*ret_read += n;
	}
	return status;
}

EFI_STATUS efi_read_text(EFI_FILE_HANDLE root, struct span path, UINTN max, struct span *ret)
{
	EFI_STATUS status;
	EFI_FILE_HANDLE file = efi_open(root, path, &status);
	UINT64 size = 0;
	UINTN n = 0;

	if (!file)
		return status;
	status = efi_file_size(file, &size);
	if (!EFI_ERROR(status) && size > max)
		status = EFI_BAD_BUFFER_SIZE;
	if (!EFI_ERROR(status)) {
		char *text = efi_new(char, (UINTN)size + 1);
		status = efi_read_at(file, 0, text, (UINTN)size, &n);
		if (EFI_ERROR(status))
			efi_free(text);
		else
			*ret = (struct span){ text, n };
	}
	efi_close(file);
	return status;
}

/* Files of a folder, read to the end before any is used. */
struct listed {
	struct span name;
	UINT64 size;
};

struct listing {
	struct listed *items;
	UINTN n, room;
};

static void add_file(struct listing *list, struct span name, UINT64 size)
{
	if (list->n == list->room) {
		UINTN room = list->room ? list->room * 2 : 64;
		struct listed *grown = efi_new(struct listed, room);

		if (list->n)
			BS->CopyMem(grown, list->items, list->n * sizeof(*grown));
		efi_free(list->items);
		list->items = grown;
		list->room = room;
	}
	list->items[list->n++] = (struct listed){ name, size };
}

static EFI_STATUS read_folder(EFI_FILE_HANDLE folder, struct listing *ret)
{
	EFI_FILE_INFO *info = efi_alloc(INFO_SIZE);
	EFI_STATUS status = EFI_SUCCESS;

	for (UINTN i = 0; i < LIST_MAX; i++) {
		UINTN size = INFO_SIZE;

		status = folder->Read(folder, &size, info);
		if (EFI_ERROR(status) || size == 0)
			break;
		if (info->Attribute & EFI_FILE_DIRECTORY)
			continue;
		struct span name = efi_to_utf8_kept(info->FileName, 256);
		/* A name comes twice only where the chain of clusters leads back to its start. */
		if (ret->n && span_equal(name, ret->items[0].name)) {
			status = EFI_VOLUME_CORRUPTED;
			break;
		}
		add_file(ret, name, info->FileSize);
	}
	efi_free(info);
	return status;
}

EFI_STATUS efi_list(EFI_FILE_HANDLE root, struct span path,
		    void (*each)(EFI_FILE_HANDLE folder, struct span name, UINT64 size, void *context),
		    void *context)
{
	EFI_STATUS status;
	EFI_FILE_HANDLE folder = efi_open(root, path, &status);
	struct listing files = { 0 };

	if (!folder)
		return status;
	status = read_folder(folder, &files);
	for (UINTN i = 0; i < files.n; i++)
		each(folder, files.items[i].name, files.items[i].size, context);
	efi_free(files.items);
	efi_close(folder);
	return status;
}

EFI_STATUS efi_read_listed(EFI_FILE_HANDLE folder, struct span name, UINT64 size, struct span *ret)
{
	EFI_STATUS status;
	EFI_FILE_HANDLE file = efi_open_in(folder, name, &status);
	UINTN n = (UINTN)size;

	if (!file)
		return status;
	char *text = efi_keep(n + 1);
	status = file->Read(file, &n, text);
	if (!EFI_ERROR(status))
		*ret = (struct span){ text, n };
	efi_close(file);
	return status;
}

static EFI_STATUS write_new(EFI_FILE_HANDLE root, struct span path, struct span text)
{
	CHAR16 *p = efi_path(path, NULL);
	EFI_FILE_HANDLE file;
	UINTN n = text.n;
	EFI_STATUS status = root->Open(root, &file, p,
				       EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE | EFI_FILE_MODE_CREATE, 0);

	efi_free(p);
	if (EFI_ERROR(status))
		return status;
	status = file->Write(file, &n, (void *)text.p);
	if (!EFI_ERROR(status) && n < text.n)
		status = EFI_VOLUME_FULL;
	if (!EFI_ERROR(status))
		status = file->Flush(file);
	if (EFI_ERROR(status))
		file->Delete(file);
	else
		file->Close(file);
	return status;
}

static EFI_STATUS remove_file(EFI_FILE_HANDLE root, struct span path)
{
	CHAR16 *p = efi_path(path, NULL);
	EFI_FILE_HANDLE file;
	EFI_STATUS status = root->Open(root, &file, p, EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE, 0);

	efi_free(p);
	return EFI_ERROR(status) ? status : file->Delete(file);
}

/* Writes a small file anew under its new name and removes the old one. After a power cut in between both are
 * there, and only the removal is left to do. */
static EFI_STATUS move(EFI_FILE_HANDLE root, struct span path, struct span new_name)
{
	struct span text = SPAN_NONE, other = SPAN_NONE;
	size_t folder = path.n;

	while (folder && path.p[folder - 1] != '/')
		folder--;
	struct span target = efi_join(span_cut(path, 0, folder), "", new_name);
	EFI_STATUS status = efi_read_text(root, path, MOVE_MAX, &text);
	if (!EFI_ERROR(status)) {
		status = efi_read_text(root, target, MOVE_MAX, &other);
		/* An empty one is left of a power cut. */
		if (status == EFI_NOT_FOUND || (!EFI_ERROR(status) && !other.n))
			status = write_new(root, target, text);
		else if (!EFI_ERROR(status) && !span_equal(text, other))
			status = EFI_ACCESS_DENIED; /* somebody else's */
	}
	if (!EFI_ERROR(status))
		status = remove_file(root, path);
	efi_free((void *)text.p);
	efi_free((void *)other.p);
	efi_free((void *)target.p);
	return status;
}

EFI_STATUS efi_rename(EFI_FILE_HANDLE root, struct span path, struct span new_name)
{
	CHAR16 *p = efi_path(path, NULL), *name;
	EFI_FILE_HANDLE file;
	UINTN bytes, size = INFO_SIZE;

	EFI_STATUS status = root->Open(root, &file, p, EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE, 0);
	efi_free(p);
	if (EFI_ERROR(status))
		return status;
	EFI_FILE_INFO *info = efi_alloc(INFO_SIZE);
	status = file->GetInfo(file, &file_info_guid, &size, info);
	name = efi_to_utf16(new_name, &bytes);
	if (!EFI_ERROR(status) && SIZE_OF_EFI_FILE_INFO + bytes > INFO_SIZE)
		status = EFI_BAD_BUFFER_SIZE;
	if (!EFI_ERROR(status)) {
		BS->CopyMem(info->FileName, name, bytes);
		info->Size = SIZE_OF_EFI_FILE_INFO + bytes;
		status = file->SetInfo(file, &file_info_guid, (UINTN)info->Size, info);
	}
	if (!EFI_ERROR(status))
		status = file->Flush(file);
	efi_free(name);
	efi_free(info);
	efi_close(file);
	/* U-Boot renames nothing. */
	if (status == EFI_ACCESS_DENIED && !EFI_ERROR(move(root, path, new_name)))
		status = EFI_SUCCESS;
	return status;
}
