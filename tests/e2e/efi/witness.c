/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two roles in a comparison of boot loaders. Started by firmware it goes through all partitions that have a
 * file /vector: sets the variables that /variables lists ("NAME VALUE" a line) and starts /EFI/loader.efi
 * from there. Started by such a loader, in place of a kernel, it tells on the serial port what the loader
 * left for the system: variables, names of entry files, its own path and options; then it jumps back into the
 * first role, for the next partition. A firmware start is what takes time, so all vectors share one. */
#include "efi_device_path.h"
#include "efi_files.h"
#include "efi_vars.h"

#define FOR_EVER (EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS | EFI_VARIABLE_RUNTIME_ACCESS)

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

/* How the second role finds the first. */
static EFI_GUID court_guid = {
	0x8c1f5e0a, 0x2d77, 0x4b3c, { 0x9a, 0x41, 0x5f, 0x0e, 0x6b, 0x21, 0x7d, 0x93 }
};
struct court {
	void *here[8];
	EFI_HANDLE *volumes;
	UINTN n_volumes, current;
	struct span name;
};

/* EFI_LOAD_FILE2_PROTOCOL, and where Linux looks for it. */
static EFI_GUID load_file2_guid = {
	0x4006c0c1, 0xfcb3, 0x403e, { 0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d }
};
static struct {
	VENDOR_DEVICE_PATH vendor;
	EFI_DEVICE_PATH end;
} __attribute__((packed)) initrd_path = {
	{ { MEDIA_DEVICE_PATH, MEDIA_VENDOR_DP, { sizeof(VENDOR_DEVICE_PATH), 0 } },
	  { 0x5568e427, 0x68fc, 0x4f3d, { 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68 } } },
	{ END_DEVICE_PATH_TYPE, END_ENTIRE_DEVICE_PATH_SUBTYPE, { sizeof(EFI_DEVICE_PATH), 0 } },
};

static EFI_GUID serial_io_guid = SERIAL_IO_PROTOCOL;
static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static SERIAL_IO_INTERFACE *serial;

static void print(struct span s)
{
	UINTN n = s.n;

	serial->Write(serial, &n, (VOID *)s.p);
}

static void print_line(const char *key, struct span text)
{
	print(span_of(key));
	print(SPAN(" "));
	print(text);
	print(SPAN("\n"));
}

/* "KEY TEXT", with "|" for each NUL inside and behind; nothing for an absent text. */
static void tell(const char *key, const CHAR16 *text, UINTN units)
{
	if (!text)
		return;
	print(span_of(key));
	print(SPAN(" "));
	for (UINTN i = 0; i < units; i++) {
		struct span one = efi_to_utf8(text + i, 1);

		print(text[i] ? one : SPAN("|"));
		efi_free((void *)one.p);
	}
	print(SPAN("\n"));
}

static void tell_variable(const char *key, const CHAR16 *name)
{
	UINTN size = 0;
	CHAR16 *data = efi_var_get_bytes(&efi_loader_guid, name, &size);

	tell(key, data, size / sizeof(CHAR16));
	efi_free(data);
}

static void tell_name(EFI_FILE_HANDLE folder, struct span name, UINT64 size, void *context)
{
	(void)folder;
	(void)size;
	(void)context;
	print_line("file", name);
}

static struct span read(EFI_HANDLE volume, struct span path)
{
	EFI_FILE_HANDLE root = LibOpenRoot(volume);
	struct span text = SPAN_NONE;

	if (root)
		efi_read_text(root, path, 4096, &text);
	efi_close(root);
	return text;
}

/* Names of entry files on the vector's partition, and on the one whose /vector-boot names it. */
static void tell_files(const struct court *court)
{
	for (UINTN i = 0; i < court->n_volumes; i++) {
		if (i != court->current &&
		    !span_equal(read(court->volumes[i], SPAN("/vector-boot")), court->name))
			continue;
		EFI_FILE_HANDLE root = LibOpenRoot(court->volumes[i]);
		efi_list(root, SPAN("/loader/entries"), tell_name, NULL);
		efi_list(root, SPAN("/EFI/Linux"), tell_name, NULL);
		efi_close(root);
	}
}

static void tell_all(const struct court *court)
{
	tell_variable("entries", L"LoaderEntries");
	tell_variable("selected", L"LoaderEntrySelected");
	tell_variable("default", L"LoaderEntryDefault");
	tell_variable("oneshot", L"LoaderEntryOneShot");
	tell_variable("last-booted", L"LoaderEntryLastBooted");
	tell_variable("timeout-oneshot", L"LoaderConfigTimeoutOneShot");
	tell_variable("boot-count-path", L"LoaderBootCountPath");
	tell_variable("profile", L"StubProfile");
	tell_files(court);
}

/* ---- in place of a kernel ---- */

/* granule-boot marks what it has started until that comes back, which it does not do here. */
static void take_back_marks(void)
{
	EFI_HANDLE *handles = NULL;
	UINTN n = 0;
	VOID *mark;

	if (EFI_ERROR(BS->LocateHandleBuffer(ByProtocol, &efi_granule_guid, NULL, &n, &handles)))
		return;
	for (UINTN i = 0; i < n; i++)
		if (!EFI_ERROR(BS->HandleProtocol(handles[i], &efi_granule_guid, &mark)))
			BS->UninstallProtocolInterface(handles[i], &efi_granule_guid, mark);
	efi_free(handles);
}

static void testify(struct court *court, EFI_LOADED_IMAGE *self)
{
	struct span path = efi_device_path_file(self->FilePath);

	print(SPAN("\n"));
	if (path.n)
		print_line("path", path);
	tell("options", self->LoadOptions, self->LoadOptionsSize / sizeof(CHAR16));
	tell_all(court);
	take_back_marks();
	__builtin_longjmp(court->here, 1);
}

/* ---- started by firmware ---- */

static void set_variables(struct span text)
{
	for (size_t i = 0; i < text.n;) {
		size_t blank = i, end = i;

		while (end < text.n && text.p[end] != '\n')
			end++;
		while (blank < end && text.p[blank] != ' ')
			blank++;
		UINTN bytes;
		CHAR16 *name = efi_to_utf16(span_cut(text, i, blank), NULL);
		CHAR16 *value = efi_to_utf16(span_cut(text, blank < end ? blank + 1 : end, end), &bytes);
		RT->SetVariable(name, &efi_loader_guid, FOR_EVER, bytes, value);
		i = end + 1;
	}
}

/* Nothing of the loader before may be seen by the next. */
static void clear_variables(void)
{
	CHAR16 name[256] = { 0 };
	EFI_GUID guid;

	for (;;) {
		UINTN size = sizeof(name);

		if (EFI_ERROR(RT->GetNextVariableName(&size, name, &guid)))
			return;
		if (CompareGuid(&guid, &efi_loader_guid) && CompareGuid(&guid, &efi_granule_guid))
			continue;
		RT->SetVariable(name, &guid, 0, 0, NULL);
		name[0] = 0; /* from the start again */
	}
}

static void clear_initrd(void)
{
	EFI_DEVICE_PATH *path = &initrd_path.vendor.Header;
	EFI_HANDLE handle;
	VOID *offer, *installed_path;

	if (EFI_ERROR(BS->LocateDevicePath(&load_file2_guid, &path, &handle)))
		return;
	BS->HandleProtocol(handle, &load_file2_guid, &offer);
	BS->HandleProtocol(handle, &DevicePathProtocol, &installed_path);
	BS->UninstallMultipleProtocolInterfaces(handle, &load_file2_guid, offer, &DevicePathProtocol,
						installed_path, NULL);
}

static void start_loader(EFI_HANDLE image, struct court *court)
{
	EFI_HANDLE loader;
	EFI_DEVICE_PATH *path =
		efi_device_path_of_file(court->volumes[court->current], SPAN("/EFI/loader.efi"));
	EFI_STATUS status = BS->LoadImage(FALSE, image, path, NULL, 0, &loader);

	if (!EFI_ERROR(status))
		status = BS->StartImage(loader, NULL, NULL);
	print(SPAN("\n"));
	print_line("back", EFI_ERROR(status) ? SPAN("with an error") : SPAN("without an error"));
	tell_all(court);
}

static void hear_all(EFI_HANDLE image)
{
	static struct court court; /* survives the jumps */
	static UINTN i;

	BS->LocateHandleBuffer(ByProtocol, &FileSystemProtocol, NULL, &court.n_volumes, &court.volumes);
	BS->InstallMultipleProtocolInterfaces(&image, &court_guid, &court, NULL);
	for (i = 0; i < court.n_volumes; i++) {
		court.current = i;
		court.name = read(court.volumes[i], SPAN("/vector"));
		if (!court.name.n)
			continue;
		clear_variables();
		clear_initrd();
		set_variables(read(court.volumes[i], SPAN("/variables")));
		print(SPAN("\n"));
		print_line("@@VECTOR", court.name);
		if (!__builtin_setjmp(court.here))
			start_loader(image, &court);
		print(SPAN("@@END\n"));
	}
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	EFI_LOADED_IMAGE *self;
	struct court *court;

	InitializeLib(image, table);
	if (EFI_ERROR(BS->LocateProtocol(&serial_io_guid, NULL, (VOID **)&serial)) ||
	    EFI_ERROR(BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&self)))
		return EFI_NOT_FOUND;
	if (!EFI_ERROR(BS->LocateProtocol(&court_guid, NULL, (VOID **)&court)))
		testify(court, self);
	hear_all(image);
	print(SPAN("@@DONE\n"));
	RT->ResetSystem(EfiResetShutdown, EFI_SUCCESS, 0, NULL);
	return EFI_ABORTED;
}
