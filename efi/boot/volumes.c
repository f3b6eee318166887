/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The partitions that entries come from: our own, and the extended boot loader partition of the same disk
 * (Boot Loader Specification, "The partitions"). */
#include <granule/gpt.h>

#include "boot.h"
#include "efi_device_path.h"

static EFI_GUID block_io_guid = EFI_BLOCK_IO_PROTOCOL_GUID;
static EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;
static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

static EFI_STATUS open_volume(EFI_HANDLE device, struct volume *ret)
{
	EFI_FILE_IO_INTERFACE *file_system;
	EFI_STATUS status = BS->HandleProtocol(device, &file_system_guid, (VOID **)&file_system);

	if (!EFI_ERROR(status))
		status = file_system->OpenVolume(file_system, &ret->root);
	if (EFI_ERROR(status))
		ret->root = NULL;
	else
		ret->device = device;
	return status;
}

static EFI_STATUS read_blocks(EFI_BLOCK_IO *disk, UINT64 lba, UINTN bytes, void **ret)
{
	UINTN block = disk->Media->BlockSize, size = (bytes + block - 1) / block * block;

	/* Firmware may want the buffer aligned; a page is. */
	EFI_PHYSICAL_ADDRESS memory;
	EFI_STATUS status =
		BS->AllocatePages(AllocateAnyPages, EfiLoaderData, EFI_SIZE_TO_PAGES(size), &memory);
	if (EFI_ERROR(status))
		return status;
	*ret = (void *)(UINTN)memory;
	status = disk->ReadBlocks(disk, disk->Media->MediaId, lba, size, *ret);
	if (EFI_ERROR(status))
		BS->FreePages(memory, EFI_SIZE_TO_PAGES(size));
	return status;
}

static void free_blocks(void *p, UINTN bytes, UINTN block)
{
	BS->FreePages((EFI_PHYSICAL_ADDRESS)(UINTN)p, EFI_SIZE_TO_PAGES((bytes + block - 1) / block * block));
}

/* Unique GUID of the extended boot loader partition in the table whose header is at `lba`. *ret_whole tells
 * whether that is a table at all. */
static BOOLEAN find_in_table(EFI_BLOCK_IO *disk, UINT64 lba, unsigned char *ret_guid, BOOLEAN *ret_whole)
{
	void *header, *entries;
	UINTN block = disk->Media->BlockSize;
	struct gpt gpt;
	UINT32 crc = 0;
	BOOLEAN found = FALSE;

	*ret_whole = FALSE;
	if (block < 512 || EFI_ERROR(read_blocks(disk, lba, GPT_HEADER_SIZE, &header)))
		return FALSE;
	int error = gpt_parse(header, block, &gpt);
	free_blocks(header, GPT_HEADER_SIZE, block);
	if (error || !gpt.entries_bytes ||
	    EFI_ERROR(read_blocks(disk, gpt.entries_lba, gpt.entries_bytes, &entries)))
		return FALSE;
	*ret_whole =
		!EFI_ERROR(BS->CalculateCrc32(entries, gpt.entries_bytes, &crc)) && crc == gpt.entries_crc;
	const unsigned char *guid = gpt_find(entries, &gpt, GPT_TYPE_XBOOTLDR);
	if (*ret_whole && guid) {
		BS->CopyMem(ret_guid, (VOID *)guid, GPT_GUID_SIZE);
		found = TRUE;
	}
	free_blocks(entries, gpt.entries_bytes, block);
	return found;
}

static BOOLEAN same_bytes(const void *a, const void *b, size_t n)
{
	return span_equal((struct span){ a, n }, (struct span){ b, n });
}

/* The file system of the partition with this GUID on the disk of `own`. */
static void open_partition(const EFI_DEVICE_PATH *own, UINTN disk_size, const unsigned char *guid,
			   struct volume *ret)
{
	EFI_HANDLE *handles = NULL;
	UINTN n = 0;

	if (EFI_ERROR(BS->LocateHandleBuffer(ByProtocol, &file_system_guid, NULL, &n, &handles)))
		return;
	for (UINTN i = 0; i < n && !ret->root; i++) {
		const EFI_DEVICE_PATH *path = efi_device_path_of(handles[i]);
		UINTN size = 0;
		const HARDDRIVE_DEVICE_PATH *drive = path ? efi_device_path_partition(path, &size) : NULL;

		if (drive && size == disk_size && same_bytes(path, own, size) &&
		    same_bytes(drive->Signature, guid, GPT_GUID_SIZE))
			open_volume(handles[i], ret);
	}
	efi_free(handles);
}

static void open_xbootldr(struct boot *b)
{
	const EFI_DEVICE_PATH *own = efi_device_path_of(b->loaded->DeviceHandle);
	unsigned char guid[GPT_GUID_SIZE];
	EFI_BLOCK_IO *disk;
	EFI_HANDLE handle;
	UINTN disk_size = 0;
	BOOLEAN whole;

	if (!own || !efi_device_path_partition(own, &disk_size))
		return;
	/* The path of the disk: ours, cut before the partition. */
	UINT8 *path = efi_alloc(disk_size + sizeof(EFI_DEVICE_PATH));
	BS->CopyMem(path, (VOID *)own, disk_size);
	EFI_DEVICE_PATH *end = (EFI_DEVICE_PATH *)(path + disk_size), *rest = (EFI_DEVICE_PATH *)path;
	SetDevicePathEndNode(end);
	if (!EFI_ERROR(BS->LocateDevicePath(&block_io_guid, &rest, &handle)) && IsDevicePathEnd(rest) &&
	    !EFI_ERROR(BS->HandleProtocol(handle, &block_io_guid, (VOID **)&disk)) &&
	    /* The copy at the end of the disk counts when the first table is damaged. */
	    (find_in_table(disk, 1, guid, &whole) ||
	     (!whole && find_in_table(disk, disk->Media->LastBlock, guid, &whole))))
		open_partition(own, disk_size, guid, &b->volumes[VOLUME_XBOOTLDR]);
	efi_free(path);
}

EFI_STATUS volumes_open(struct boot *b)
{
	EFI_STATUS status = BS->HandleProtocol(b->image, &loaded_image_guid, (VOID **)&b->loaded);

	if (!EFI_ERROR(status))
		status = open_volume(b->loaded->DeviceHandle, &b->volumes[VOLUME_OWN]);
	if (EFI_ERROR(status))
		return status;
	b->own_path = efi_device_path_file(b->loaded->FilePath);
	open_xbootldr(b);
	return EFI_SUCCESS;
}
