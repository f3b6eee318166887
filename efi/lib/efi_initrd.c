/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/bls.h>
#include <granule/cpio.h>
#include <granule/error.h>

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

/* A file, with what goes before and behind it. */
struct part {
	struct span path, head, end;
	EFI_FILE_HANDLE file;
	UINTN size; /* of the file; 0: left out */
	UINTN at;   /* of the head, in the whole */
};

static EFI_STATUS open_part(EFI_FILE_HANDLE root, struct part *p, UINT64 *ret_size)
{
	EFI_STATUS status;

	p->file = efi_open(root, p->path, &status);
	if (p->file)
		status = efi_file_size(p->file, ret_size);
	if (!EFI_ERROR(status) && *ret_size > (UINTN)-1 / BLS_MAX_INITRD / 4)
		status = EFI_OUT_OF_RESOURCES;
	p->size = EFI_ERROR(status) ? 0 : (UINTN)*ret_size;
	return status;
}

static EFI_STATUS make_head(struct part *p, UINT32 inode, BOOLEAN last)
{
	struct text head = text_in(efi_new(char, CPIO_HEAD_MAX), CPIO_HEAD_MAX);
	int error = cpio_add_head(p->path, p->size, inode, &head);

	p->head = text_span(&head);
	if (error)
		return error == ERROR_NOT_FOUND ? EFI_INCOMPATIBLE_VERSION : EFI_BAD_BUFFER_SIZE;
	if (last) {
		struct text end = text_in(efi_new(char, CPIO_HEAD_MAX), CPIO_HEAD_MAX);
		cpio_add_end(&end);
		p->end = text_span(&end);
	}
	return EFI_SUCCESS;
}

/* Opens all files and lays them out; *ret_total is the size of the whole. */
static EFI_STATUS lay_out(const struct initrd_wish *wish, struct part *parts, UINTN *ret_total,
			  struct span *ret_failed)
{
	UINTN total = 0;
	UINT64 size = 0;

	for (unsigned i = 0; i < wish->n_initrds + wish->n_extras; i++) {
		struct part *p = &parts[i];
		BOOLEAN extra = i >= wish->n_initrds;

		p->path = extra ? wish->extras[i - wish->n_initrds] : wish->initrds[i];
		*ret_failed = p->path;
		EFI_STATUS status = open_part(wish->root, p, &size);
		if (!EFI_ERROR(status) && extra)
			status = make_head(p, i + 1, i + 1 == wish->n_initrds + wish->n_extras);
		if (EFI_ERROR(status))
			return status;
		if (p->size || extra) {
			p->at = padded(total);
			total = p->at + p->head.n + p->size;
		}
		if (p->end.n)
			total = padded(total) + p->end.n;
		/* A kernel that was promised an initrd would panic without. */
		if (i + 1 == wish->n_initrds && !total) {
			*ret_failed = wish->initrds[0];
			return EFI_END_OF_FILE;
		}
	}
	*ret_total = total;
	return EFI_SUCCESS;
}

static UINTN put(UINT8 *to, UINTN at, struct span s)
{
	BS->CopyMem(to + at, (VOID *)s.p, s.n);
	return at + s.n;
}

/* Fills the gap up to the next multiple of 4; `room` is where the whole ends. */
static UINTN pad(UINT8 *to, UINTN at, UINTN room)
{
	while (at < padded(at) && at < room)
		to[at++] = 0;
	return at;
}

static EFI_STATUS read_parts(struct efi_initrd *initrd, struct part *parts, unsigned n, UINTN total,
			     struct span *ret_failed)
{
	UINT8 *to = (UINT8 *)(UINTN)initrd->memory;

	for (unsigned i = 0; i < n; i++) {
		struct part *p = &parts[i];
		UINTN got = 0;

		if (!p->size && !p->head.n)
			continue;
		*ret_failed = p->path;
		UINTN at = put(to, p->at, p->head);
		EFI_STATUS status = p->size ? efi_read_at(p->file, 0, to + at, p->size, &got) : EFI_SUCCESS;
		if (EFI_ERROR(status))
			return status;
		if (got != p->size)
			return EFI_VOLUME_CORRUPTED;
		/* Each file by itself, so that its hash can be told beforehand. */
		efi_measure_file("initrd", p->path, to + at, p->size);
		at = pad(to, at + p->size, total);
		if (p->end.n)
			put(to, at, p->end);
	}
	return EFI_SUCCESS;
}

static EFI_STATUS offer(struct efi_initrd *initrd, UINTN total)
{
	initrd->size = total;
	initrd->protocol.load_file = load_file;
	return BS->InstallMultipleProtocolInterfaces(&initrd->handle, &DevicePathProtocol, &initrd_path,
						     &load_file2_guid, &initrd->protocol, NULL);
}

static EFI_STATUS allocate(struct efi_initrd *initrd, UINTN total)
{
	EFI_DEVICE_PATH *path = (EFI_DEVICE_PATH *)&initrd_path;
	EFI_HANDLE other;

	if (!EFI_ERROR(BS->LocateDevicePath(&load_file2_guid, &path, &other)))
		return EFI_ALREADY_STARTED;
	initrd->pages = EFI_SIZE_TO_PAGES(total);
	EFI_STATUS status =
		BS->AllocatePages(AllocateAnyPages, EfiLoaderData, initrd->pages, &initrd->memory);
	if (EFI_ERROR(status))
		initrd->pages = 0;
	return status;
}

EFI_STATUS efi_initrd_offer(const struct initrd_wish *wish, struct efi_initrd **ret, struct span *ret_failed)
{
	unsigned n = wish->n_initrds + wish->n_extras;
	UINTN total = 0;

	*ret = NULL;
	if (!n)
		return EFI_SUCCESS;
	struct part *parts = efi_new(struct part, n);
	struct efi_initrd *initrd = efi_new(struct efi_initrd, 1);
	EFI_STATUS status = lay_out(wish, parts, &total, ret_failed);
	if (!EFI_ERROR(status)) {
		*ret_failed = SPAN("initrd"); /* not about one file */
		status = allocate(initrd, total);
	}
	if (!EFI_ERROR(status))
		status = read_parts(initrd, parts, n, total, ret_failed);
	if (!EFI_ERROR(status)) {
		*ret_failed = SPAN("initrd");
		status = offer(initrd, total);
	}
	for (unsigned i = 0; i < n; i++) {
		efi_close(parts[i].file);
		efi_free((void *)parts[i].head.p);
		efi_free((void *)parts[i].end.p);
	}
	efi_free(parts);
	if (!EFI_ERROR(status)) {
		*ret = initrd;
		return status;
	}
	if (initrd->pages)
		BS->FreePages(initrd->memory, initrd->pages);
	efi_free(initrd);
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
