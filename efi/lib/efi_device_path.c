/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_device_path.h"

/* Of a hard-drive node (UEFI 10.3.5.1); the structure of gnu-efi has padding behind it. */
#define HARD_DRIVE_NODE_SIZE 42

static EFI_GUID device_path_guid = DEVICE_PATH_PROTOCOL;

static const EFI_DEVICE_PATH end_node = { END_DEVICE_PATH_TYPE,
					  END_ENTIRE_DEVICE_PATH_SUBTYPE,
					  { sizeof(EFI_DEVICE_PATH), 0 } };

/* The node behind `node`; NULL at the end. */
static const EFI_DEVICE_PATH *next(const EFI_DEVICE_PATH *node)
{
	return (const EFI_DEVICE_PATH *)((const UINT8 *)node + DevicePathNodeLength(node));
}

static BOOLEAN is_end(const EFI_DEVICE_PATH *node)
{
	return !node || IsDevicePathEnd(node) || DevicePathNodeLength(node) < (int)sizeof(EFI_DEVICE_PATH);
}

static BOOLEAN is_node(const EFI_DEVICE_PATH *node, UINT8 subtype)
{
	return DevicePathType(node) == MEDIA_DEVICE_PATH && DevicePathSubType(node) == subtype;
}

UINTN efi_device_path_size(const EFI_DEVICE_PATH *path)
{
	const EFI_DEVICE_PATH *node = path;

	while (!is_end(node))
		node = next(node);
	return (UINTN)((const UINT8 *)node - (const UINT8 *)path);
}

EFI_DEVICE_PATH *efi_device_path_of(EFI_HANDLE handle)
{
	VOID *path = NULL;

	return EFI_ERROR(BS->HandleProtocol(handle, &device_path_guid, &path)) ? NULL : path;
}

EFI_DEVICE_PATH *efi_device_path_of_file(EFI_HANDLE device, struct span path)
{
	const EFI_DEVICE_PATH *parent = efi_device_path_of(device);
	UINTN bytes = 0;

	if (!parent)
		return NULL;
	CHAR16 *file = efi_path(path, &bytes);
	UINTN before = efi_device_path_size(parent), length = sizeof(EFI_DEVICE_PATH) + bytes;
	UINT8 *p = efi_alloc(before + length + sizeof(end_node));
	/* The text behind a node's head may lie unaligned: it is only copied here. */
	const EFI_DEVICE_PATH node = { MEDIA_DEVICE_PATH,
				       MEDIA_FILEPATH_DP,
				       { (UINT8)length, (UINT8)(length >> 8) } };
	BS->CopyMem(p, (VOID *)parent, before);
	BS->CopyMem(p + before, (VOID *)&node, sizeof(node));
	BS->CopyMem(p + before + sizeof(node), file, bytes);
	BS->CopyMem(p + before + length, (VOID *)&end_node, sizeof(end_node));
	efi_free(file);
	return (EFI_DEVICE_PATH *)p;
}

struct span efi_device_path_file(const EFI_DEVICE_PATH *path)
{
	struct span joined = SPAN_NONE;

	for (const EFI_DEVICE_PATH *node = path; !is_end(node); node = next(node)) {
		if (!is_node(node, MEDIA_FILEPATH_DP))
			continue;
		/* Nodes lie unaligned: copy before reading units of two bytes. */
		UINTN bytes = DevicePathNodeLength(node) - sizeof(EFI_DEVICE_PATH);
		CHAR16 *text = efi_alloc(bytes + sizeof(CHAR16));
		BS->CopyMem(text, (UINT8 *)node + sizeof(EFI_DEVICE_PATH), bytes);
		struct span part = efi_to_utf8(text, bytes / sizeof(CHAR16));
		BOOLEAN parted = !part.n || part.p[0] == '\\';
		joined = efi_join(joined, parted ? "" : "\\", part);
		efi_free(text);
	}
	return joined;
}

const HARDDRIVE_DEVICE_PATH *efi_device_path_partition(const EFI_DEVICE_PATH *path, UINTN *ret_disk_size)
{
	const HARDDRIVE_DEVICE_PATH *drive = NULL;

	for (const EFI_DEVICE_PATH *node = path; !is_end(node); node = next(node)) {
		if (!is_node(node, MEDIA_HARDDRIVE_DP) || DevicePathNodeLength(node) < HARD_DRIVE_NODE_SIZE)
			continue;
		drive = (const HARDDRIVE_DEVICE_PATH *)node;
		if (ret_disk_size)
			*ret_disk_size = (UINTN)((const UINT8 *)node - (const UINT8 *)path);
	}
	return drive && drive->SignatureType == SIGNATURE_TYPE_GUID ? drive : NULL;
}
