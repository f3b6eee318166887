/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_device_path.h"
#include "efi_files.h"
#include "efi_trust.h"
#include "efi_vars.h"

static EFI_GUID global_guid = EFI_GLOBAL_VARIABLE;

/* rhboot/shim, include/guid.h. The loader protocol says that LoadImage() and its kin are shim's already. */
static EFI_GUID shim_lock_guid = {
	0x605dab50, 0xe046, 0x4300, { 0xab, 0xb6, 0x3d, 0xd8, 0x10, 0xdd, 0x8b, 0x23 }
};
static EFI_GUID shim_loader_guid = {
	0x1f492041, 0xfadb, 0x4e59, { 0x9e, 0x57, 0x7c, 0xaf, 0xe7, 0x3a, 0x55, 0xab }
};

/* shim's own functions follow the compiler's calling convention, not firmware's. */
struct shim_lock {
	EFI_STATUS (*verify)(const VOID *buffer, UINT32 size);
	/* Two more follow, for programs that place images by themselves. */
};

/* Platform Initialization Specification, volume 2, 12.9: what LoadImage() asks whether a file may run. */
static EFI_GUID security_guid = {
	0xa46423e3, 0x4617, 0x49f1, { 0xb9, 0xff, 0xd1, 0xbf, 0xa9, 0x11, 0x58, 0x39 }
};
static EFI_GUID security2_guid = {
	0x94ab2f58, 0x1438, 0x4ef1, { 0x91, 0x52, 0x18, 0x94, 0x1a, 0x3a, 0x0e, 0x68 }
};

struct security {
	EFI_STATUS(EFIAPI *check)
	(const struct security *self, UINT32 status, const EFI_DEVICE_PATH *path);
};

struct security2 {
	EFI_STATUS(EFIAPI *check)
	(const struct security2 *self, const EFI_DEVICE_PATH *path, VOID *buffer, UINTN size,
	 BOOLEAN boot_policy);
};

/* State of the one call of LoadImage() for which firmware's check is replaced. */
static struct {
	struct security *first;
	struct security2 *second;
	struct security first_own;
	struct security2 second_own;
	const EFI_DEVICE_PATH *path;
	const VOID *buffer; /* has passed shim */
} replaced;

static BOOLEAN flag_is_set(const CHAR16 *name)
{
	UINT8 value = 0;
	UINTN size = sizeof(value);

	return !EFI_ERROR(RT->GetVariable((CHAR16 *)name, &global_guid, NULL, &size, &value)) && value == 1;
}

BOOLEAN efi_secure_boot(void)
{
	static enum { NOT_READ, OFF, ON } state;

	if (state == NOT_READ)
		state = flag_is_set(L"SecureBoot") && !flag_is_set(L"SetupMode") ? ON : OFF;
	return state == ON;
}

/* Before there was the second protocol, firmware passed no buffer: the path has to do. */
static EFI_STATUS EFIAPI check_path(const struct security *self, UINT32 status, const EFI_DEVICE_PATH *path)
{
	if (path == replaced.path)
		return EFI_SUCCESS;
	return replaced.first_own.check(self, status, path);
}

static EFI_STATUS EFIAPI check_buffer(const struct security2 *self, const EFI_DEVICE_PATH *path, VOID *buffer,
				      UINTN size, BOOLEAN boot_policy)
{
	if (buffer == replaced.buffer)
		return EFI_SUCCESS;
	return replaced.second_own.check(self, path, buffer, size, boot_policy);
}

static void replace_checks(const EFI_DEVICE_PATH *path, const VOID *buffer)
{
	replaced.path = path;
	replaced.buffer = buffer;
	if (!EFI_ERROR(BS->LocateProtocol(&security_guid, NULL, (VOID **)&replaced.first))) {
		replaced.first_own = *replaced.first;
		replaced.first->check = check_path;
	}
	if (!EFI_ERROR(BS->LocateProtocol(&security2_guid, NULL, (VOID **)&replaced.second))) {
		replaced.second_own = *replaced.second;
		replaced.second->check = check_buffer;
	}
}

static void restore_checks(void)
{
	if (replaced.first)
		*replaced.first = replaced.first_own;
	if (replaced.second)
		*replaced.second = replaced.second_own;
	replaced.first = NULL;
	replaced.second = NULL;
}

/* The file is read once, and what shim has seen is what is loaded. */
static EFI_STATUS load_with_lock(struct shim_lock *lock, EFI_HANDLE parent, EFI_HANDLE device,
				 struct span path, EFI_DEVICE_PATH *device_path, EFI_HANDLE *ret)
{
	EFI_STATUS status = EFI_NOT_FOUND;
	EFI_PHYSICAL_ADDRESS memory = 0;
	EFI_FILE_HANDLE root = LibOpenRoot(device), file = NULL;
	UINT64 size = 0;
	UINTN got = 0, pages = 0;

	if (!root)
		return status;
	file = efi_open(root, path, &status);
	if (file)
		status = efi_file_size(file, &size);
	if (!EFI_ERROR(status) && size > 0x7fffffff)
		status = EFI_BAD_BUFFER_SIZE;
	if (EFI_ERROR(status))
		goto out;
	pages = EFI_SIZE_TO_PAGES((UINTN)size);
	status = BS->AllocatePages(AllocateAnyPages, EfiLoaderData, pages, &memory);
	if (EFI_ERROR(status))
		goto out;
	VOID *buffer = (VOID *)(UINTN)memory;
	status = efi_read_at(file, 0, buffer, (UINTN)size, &got);
	/* A no of shim's is final, also when firmware's keys would do: shim knows revocations that firmware
	 * does not. */
	if (!EFI_ERROR(status) && EFI_ERROR(lock->verify(buffer, (UINT32)got)))
		status = EFI_SECURITY_VIOLATION;
	if (!EFI_ERROR(status)) {
		replace_checks(device_path, buffer);
		status = BS->LoadImage(FALSE, parent, device_path, buffer, got, ret);
		restore_checks();
		/* shim takes its protocol away from the image that was loaded last, and resets the machine
		 * when that one comes back, for it fails to install it again. A call that cannot succeed
		 * makes it forget which one that was. */
		EFI_HANDLE none = NULL;
		BS->LoadImage(FALSE, parent, NULL, NULL, 0, &none);
	}
	BS->FreePages(memory, pages);
out:
	efi_close(file);
	efi_close(root);
	return status;
}

EFI_STATUS efi_load_image(EFI_HANDLE parent, EFI_HANDLE device, struct span path, EFI_HANDLE *ret)
{
	struct shim_lock *lock;
	VOID *loader;
	EFI_DEVICE_PATH *device_path = efi_device_path_of_file(device, path);
	EFI_STATUS status;

	*ret = NULL;
	if (efi_secure_boot() && EFI_ERROR(BS->LocateProtocol(&shim_loader_guid, NULL, &loader)) &&
	    !EFI_ERROR(BS->LocateProtocol(&shim_lock_guid, NULL, (VOID **)&lock)))
		status = load_with_lock(lock, parent, device, path, device_path, ret);
	else
		status = BS->LoadImage(FALSE, parent, device_path, NULL, 0, ret);
	if (status == EFI_ACCESS_DENIED)
		status = EFI_SECURITY_VIOLATION;
	/* Firmware may keep an image that it does not let run. */
	if (EFI_ERROR(status) && *ret) {
		BS->UnloadImage(*ret);
		*ret = NULL;
	}
	efi_free(device_path);
	return status;
}
