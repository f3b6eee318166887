/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_files.h"
#include "efi_initrd.h"
#include "efi_measure.h"

/* EFI_LOAD_FILE2_PROTOCOL_GUID */
static EFI_GUID load_file2_guid = {
	0x4006c0c1, 0xfcb3, 0x403e, { 0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d }
};

struct load_file2 {
	EFI_STATUS(EFIAPI *load_file)
	(struct load_file2 *self, EFI_DEVICE_PATH *path, BOOLEAN boot_policy, UINTN *buffer_size,
	 VOID *buffer);
};

struct efi_initrd {
	struct load_file2 protocol; /* first: firmware passes its address back */
	EFI_HANDLE handle;
	EFI_PHYSICAL_ADDRESS memory;
	UINTN size, pages;
};

/* Vendor media path with LINUX_EFI_INITRD_MEDIA_GUID */
static const struct {
	VENDOR_DEVICE_PATH vendor;
	EFI_DEVICE_PATH end;
} __attribute__((packed)) initrd_path = {
	{ { MEDIA_DEVICE_PATH, MEDIA_VENDOR_DP, { sizeof(VENDOR_DEVICE_PATH), 0 } },
	  { 0x5568e427, 0x68fc, 0x4f3d, { 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68 } } },
	{ END_DEVICE_PATH_TYPE, END_ENTIRE_DEVICE_PATH_SUBTYPE, { sizeof(EFI_DEVICE_PATH), 0 } },
};

static EFI_STATUS EFIAPI load_file(struct load_file2 *self, EFI_DEVICE_PATH *path, BOOLEAN boot_policy,
				   UINTN *buffer_size, VOID *buffer)
{
	struct efi_initrd *initrd = (struct efi_initrd *)self;

	if (!self || !path || !buffer_size)
		return EFI_INVALID_PARAMETER;
	if (boot_policy)
		return EFI_UNSUPPORTED;
	if (!initrd->size)
		return EFI_NOT_FOUND;
	if (!buffer || *buffer_size < initrd->size) {
		*buffer_size = initrd->size;
		return EFI_BUFFER_TOO_SMALL;
	}
	BS->CopyMem(buffer, (VOID *)(UINTN)initrd->memory, initrd->size);
	*buffer_size = initrd->size;
	return EFI_SUCCESS;
}

static UINTN padded(UINTN size)
{
	return (size + 3) & ~(UINTN)3;
}

static EFI_STATUS open_all(EFI_FILE_HANDLE root, const struct span *paths, unsigned n, EFI_FILE_HANDLE *files,
			   UINTN *sizes, UINTN *ret_total, unsigned *ret_failed)
{
	UINTN total = 0;

	for (unsigned i = 0; i < n; i++) {
		EFI_STATUS status;
		UINT64 size = 0;

		*ret_failed = i;
		files[i] = efi_open(root, paths[i], &status);
		if (files[i])
			status = efi_file_size(files[i], &size);
		if (EFI_ERROR(status))
			return status;
		if (size > (UINTN)-1 / 2 - total)
			return EFI_OUT_OF_RESOURCES;
		sizes[i] = (UINTN)size;
		if (size)
			total = padded(total) + sizes[i];
	}
	*ret_total = total;
	return EFI_SUCCESS;
}

static EFI_STATUS read_all(struct efi_initrd *initrd, unsigned n, EFI_FILE_HANDLE *files, const UINTN *sizes,
			   unsigned *ret_failed)
{
	UINT8 *to = (UINT8 *)(UINTN)initrd->memory;
	UINTN at = 0;

	BS->SetMem(to, initrd->pages * EFI_PAGE_SIZE, 0);
	for (unsigned i = 0; i < n; i++) {
		UINTN got = 0;

		*ret_failed = i;
		if (!sizes[i])
			continue;
		at = padded(at);
		EFI_STATUS status = efi_read_at(files[i], 0, to + at, sizes[i], &got);
		if (EFI_ERROR(status))
			return status;
		if (got != sizes[i])
			return EFI_VOLUME_CORRUPTED;
		at += sizes[i];
	}
	return EFI_SUCCESS;
}

/* Each file by itself, so that its hash can be told beforehand. */
static void measure_all(const struct efi_initrd *initrd, const struct span *paths, unsigned n,
			const UINTN *sizes)
{
	UINTN at = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!sizes[i])
			continue;
		at = padded(at);
		efi_measure_file("initrd", paths[i], (UINT8 *)(UINTN)initrd->memory + at, sizes[i]);
		at += sizes[i];
	}
}

EFI_STATUS efi_initrd_offer(EFI_FILE_HANDLE root, const struct span *paths, unsigned n,
			    struct efi_initrd **ret, unsigned *ret_failed)
{
	EFI_FILE_HANDLE *files = efi_new(EFI_FILE_HANDLE, n);
	UINTN *sizes = efi_new(UINTN, n);
	struct efi_initrd *initrd = efi_new(struct efi_initrd, 1);
	EFI_DEVICE_PATH *path = (EFI_DEVICE_PATH *)&initrd_path;
	EFI_HANDLE other;
	UINTN total = 0;

	*ret = NULL;
	*ret_failed = 0;
	EFI_STATUS status = open_all(root, paths, n, files, sizes, &total, ret_failed);
	if (!EFI_ERROR(status) && !total)
		status = EFI_END_OF_FILE; /* a kernel that was promised an initrd would panic without */
	if (EFI_ERROR(status))
		goto out;

	*ret_failed = n; /* not about one file from here on */
	if (!EFI_ERROR(BS->LocateDevicePath(&load_file2_guid, &path, &other))) {
		status = EFI_ALREADY_STARTED;
		goto out;
	}
	initrd->pages = EFI_SIZE_TO_PAGES(total);
	status = BS->AllocatePages(AllocateAnyPages, EfiLoaderData, initrd->pages, &initrd->memory);
	if (EFI_ERROR(status)) {
		initrd->pages = 0;
		goto out;
	}
	status = read_all(initrd, n, files, sizes, ret_failed);
	if (EFI_ERROR(status))
		goto out;

	*ret_failed = n;
	measure_all(initrd, paths, n, sizes);
	initrd->size = total;
	initrd->protocol.load_file = load_file;
	status = BS->InstallMultipleProtocolInterfaces(&initrd->handle, &DevicePathProtocol, &initrd_path,
						       &load_file2_guid, &initrd->protocol, NULL);
	if (!EFI_ERROR(status)) {
		*ret = initrd;
		initrd = NULL;
	}
out:
	for (unsigned i = 0; i < n; i++)
		efi_close(files[i]);
	if (initrd && initrd->pages)
		BS->FreePages(initrd->memory, initrd->pages);
	efi_free(initrd);
	efi_free(files);
	efi_free(sizes);
	return status;
}

void efi_initrd_withdraw(struct efi_initrd *initrd)
{
	if (!initrd)
		return;
	BS->UninstallMultipleProtocolInterfaces(initrd->handle, &DevicePathProtocol, &initrd_path,
						&load_file2_guid, &initrd->protocol, NULL);
	BS->FreePages(initrd->memory, initrd->pages);
	efi_free(initrd);
}
