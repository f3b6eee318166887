/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <efivar/efivar.h>
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <uchar.h>

#include <granule/device_tree.h>

#include "variables.h"

#define CHOSEN "/proc/device-tree/chosen/"
#define EFIVARS "/sys/firmware/efi/efivars/"

static const efi_guid_t guids[] = {
	/* efi_guid_t keeps its fields little endian, its fourth one big endian */
	[VENDOR_LOADER] = { 0x4a67b082, 0x0a4c, 0x41cf, 0xc7b6, { 0x44, 0x0b, 0x29, 0xbb, 0x8c, 0x4f } },
	[VENDOR_GRANULE] = { 0x7f1c9a52, 0x6b3e, 0x4d0f, 0x649a, { 0xc4, 0x16, 0x00, 0x04, 0x4b, 0x64 } },
};

static bool switched_off;

void variables_switch_off(void)
{
	switched_off = true;
}

/* libefivar reads this variable of the environment once, when it is loaded. */
static const char *efivars(void)
{
	const char *path = getenv("EFIVARFS_PATH");

	return path ? path : EFIVARS;
}

bool variables_present(void)
{
	return !switched_off && path_exists(efivars()) && efi_variables_supported();
}

bool variables_writable(const char **ret_why)
{
	struct statvfs st;

	*ret_why = NULL;
	if (switched_off)
		*ret_why = "with --root, another system is meant than this machine's firmware serves";
	else if (!variables_present())
		*ret_why = "this system has no EFI variables (no efivarfs)";
	else if (statvfs(efivars(), &st) == 0 && (st.f_flag & ST_RDONLY))
		*ret_why = "efivarfs is mounted read-only (firmware without run-time variables, or a mount "
			   "option)";
	else if (access(efivars(), W_OK) < 0)
		*ret_why = errno == EROFS ? "efivarfs is mounted read-only"
					  : "no permission to write them, be root";
	return !*ret_why;
}

static void add_utf8(char *out, size_t *n, uint32_t c)
{
	if (c < 0x80) {
		out[(*n)++] = (char)c;
	} else if (c < 0x800) {
		out[(*n)++] = (char)(0xc0 | c >> 6);
		out[(*n)++] = (char)(0x80 | (c & 0x3f));
	} else {
		/* Surrogates are left as they are: ids and our texts are ASCII. */
		out[(*n)++] = (char)(0xe0 | c >> 12);
		out[(*n)++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[(*n)++] = (char)(0x80 | (c & 0x3f));
	}
}

/* UTF-16 from data[*at] up to the next NUL, or the end, as UTF-8. */
static char *next_text(const uint8_t *data, size_t size, size_t *at)
{
	char *text = xalloc((size - *at) / 2 * 3 + 1);
	uint16_t c = 0;
	size_t n = 0;

	for (; *at + 1 < size && (c = read_le16(data + *at)); *at += 2)
		add_utf8(text, &n, c);
	*at += 2;
	return text;
}

static uint8_t *get(enum variable_vendor vendor, const char *name, size_t *ret_size)
{
	uint8_t *data = NULL;
	uint32_t attributes;

	*ret_size = 0;
	if (!variables_present() || efi_get_variable(guids[vendor], name, &data, ret_size, &attributes) < 0)
		return NULL;
	return data;
}

/* What granule-boot says of this boot where a variable cannot be read: its record in the device tree. */
static char *from_device_tree(const char *name)
{
	static const struct {
		const char *variable, *property;
	} facts[] = {
		{ "GranuleBoot", CHOSEN DEVICE_TREE_BOOT },
		{ "GranuleCpu", CHOSEN DEVICE_TREE_CPU },
		{ "LoaderEntrySelected", CHOSEN DEVICE_TREE_ENTRY },
	};
	char *text = NULL;
	size_t size;

	/* Both stand for another machine than the running one. */
	if (switched_off || getenv("EFIVARFS_PATH"))
		return NULL;
	if (strcmp(name, "LoaderInfo") == 0)
		return path_exists(CHOSEN DEVICE_TREE_BOOT) ? xstrdup(GRANULE_BOOT_NAME) : NULL;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(name, facts[i].variable) == 0)
			read_file(facts[i].property, 0, &text, &size);
	return text;
}

char *variable_get(enum variable_vendor vendor, const char *name)
{
	size_t size, at = 0;
	_cleanup_free_ uint8_t *data = get(vendor, name, &size);

	return data ? next_text(data, size, &at) : from_device_tree(name);
}

void variable_get_list(enum variable_vendor vendor, const char *name, struct strings *ret)
{
	size_t size, at = 0;
	_cleanup_free_ uint8_t *data = get(vendor, name, &size);

	while (data && at + 1 < size)
		strings_add(ret, next_text(data, size, &at));
}

uint64_t variable_get_u64(enum variable_vendor vendor, const char *name, uint64_t otherwise)
{
	size_t size;
	_cleanup_free_ uint8_t *data = get(vendor, name, &size);

	return data && size == 8 ? read_le64(data) : otherwise;
}

bool variable_boot_next_is_own(void)
{
	static const char16_t own[] = u"\\granule-boot";
	uint8_t *data = NULL;
	uint32_t attributes;
	size_t size;
	char name[16];

	if (!variables_present() ||
	    efi_get_variable(efi_guid_global, "BootNext", &data, &size, &attributes) < 0)
		return false;
	snprintf(name, sizeof(name), "Boot%04X", size == 2 ? read_le16(data) : 0);
	free(data);
	if (size != 2 || efi_get_variable(efi_guid_global, name, &data, &size, &attributes) < 0)
		return false;
	bool found = memmem(data, size, own, sizeof(own) - sizeof(own[0])) != NULL;
	free(data);
	return found;
}

int variable_set(enum variable_vendor vendor, const char *name, const char *text)
{
	_cleanup_free_ char *old = variable_get(vendor, name);
	size_t n = strlen(text);

	/* NVRAM wears out: never write what is there. */
	if (old && strcmp(old, text) == 0)
		return 0;
	_cleanup_free_ uint8_t *data = xalloc((n + 1) * 2);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return -EILSEQ;
		data[2 * i] = (uint8_t)text[i];
	}
	errno = 0;
	if (efi_set_variable(guids[vendor], name, data, (n + 1) * 2,
			     EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS |
				     EFI_VARIABLE_RUNTIME_ACCESS,
			     0644) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

int variable_delete(enum variable_vendor vendor, const char *name)
{
	_cleanup_free_ char *old = variable_get(vendor, name);

	if (!old)
		return 0;
	errno = 0;
	if (efi_del_variable(guids[vendor], name) < 0 && errno != ENOENT)
		return errno ? -errno : -EIO;
	return 0;
}

const char *variable_error_text(int error)
{
	switch (-error) {
	case ENOSPC:
		return "the firmware's variable store is full (crash dumps named dump-type0-* are the usual "
		       "cause), "
		       "or the firmware's own lock on its boot settings is on";
	case EROFS:
		return "efivarfs is mounted read-only";
	case EACCES:
	case EPERM:
		return "permission denied, be root";
	case EILSEQ:
		return "only ASCII can be written";
	default:
		return strerror(-error);
	}
}
