/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <efivar/efiboot.h>
#include <efivar/efivar.h>
#include <string.h>
#include <strings.h>

#include "firmware_next.h"
#include "variables.h"

/* UEFI 3.1.3: options of another category than "boot" are applications, which BootOrder never starts. */
#define LOAD_OPTION_ACTIVE 1u
#define LOAD_OPTION_CATEGORY 0x1f00u

#define NO_NUMBER (-1)

struct option {
	int number;
	uint8_t *data;
	size_t size;
	char *title;
	char *file; /* with '/'; NULL if it names none */
	char *disk; /* PARTUUID of the partition of the file; NULL if it names none */
};

static void option_free(struct option *option)
{
	free(option->data);
	free(option->title);
	free(option->file);
	free(option->disk);
}

static uint8_t *get(const char *name, size_t *ret_size)
{
	uint8_t *data = NULL;
	uint32_t attributes;

	*ret_size = 0;
	if (!variables_present() || efi_get_variable(efi_guid_global, name, &data, ret_size, &attributes) < 0)
		return NULL;
	return data;
}

/* BootCurrent or BootNext. */
static int get_number(const char *name)
{
	size_t size;
	_cleanup_free_ uint8_t *data = get(name, &size);

	return data && size == 2 ? read_le16(data) : NO_NUMBER;
}

/* UTF-16 of a file node, which may lack its NUL; beyond ASCII it is nobody's loader that we know. */
static char *node_text(const uint8_t *data, size_t size)
{
	char *text = xalloc(size / 2 + 1);

	for (size_t i = 0; i + 1 < size; i += 2) {
		uint16_t c = read_le16(data + i);
		if (!c)
			break;
		text[i / 2] = c == '\\' ? '/' : c < 0x80 ? (char)c : '?';
	}
	return text;
}

static void read_node(const uint8_t *node, size_t size, struct option *ret)
{
	uint8_t type = node[0], subtype = node[1];

	if (type == EFIDP_MEDIA_TYPE && subtype == EFIDP_MEDIA_HD && size >= sizeof(efidp_hd)) {
		const efidp_hd *hd = (const void *)node;
		efi_guid_t guid;

		memcpy(&guid, hd->signature, sizeof(guid));
		free(ret->disk);
		ret->disk = NULL;
		if (hd->signature_type == EFIDP_HD_SIGNATURE_GUID && efi_guid_to_str(&guid, &ret->disk) < 0)
			ret->disk = NULL;
	} else if (type == EFIDP_MEDIA_TYPE && subtype == EFIDP_MEDIA_FILE) {
		free(ret->file);
		ret->file = node_text(node + 4, size - 4);
	}
}

/* Reads a Boot#### (UEFI 3.1.3): attributes, length of the path, title, path. False if it is none. */
static bool option_read(int number, struct option *ret)
{
	char name[16];

	*ret = (struct option){ .number = number };
	snprintf(name, sizeof(name), "Boot%04X", (unsigned)number & 0xffff);
	ret->data = get(name, &ret->size);
	if (!ret->data || ret->size < 6)
		return false;
	size_t path = read_le16(ret->data + 4), at = 6;
	while (at + 1 < ret->size && read_le16(ret->data + at))
		at += 2;
	ret->title = node_text(ret->data + 6, at - 6);
	at += 2;
	if (at > ret->size || path > ret->size - at)
		return false;
	for (size_t end = at + path; end - at >= 4;) {
		size_t size = read_le16(ret->data + at + 2);
		if (size < 4 || size > end - at || ret->data[at] == EFIDP_END_TYPE)
			break;
		read_node(ret->data + at, size, ret);
		at += size;
	}
	return true;
}

static bool is_active(const struct option *option)
{
	uint32_t attributes = read_le32(option->data);

	return (attributes & LOAD_OPTION_ACTIVE) && !(attributes & LOAD_OPTION_CATEGORY);
}

/* Whether it starts the file that started this system. */
static bool is_same_file(const struct option *option, const char *own_path)
{
	size_t i = 0;

	if (!own_path || !option->file)
		return false;
	for (; own_path[i] && option->file[i]; i++) {
		char own = own_path[i] == '\\' ? '/' : own_path[i];
		if (strncasecmp(&own, &option->file[i], 1) != 0)
			return false;
	}
	return !own_path[i] && !option->file[i];
}

/* Whether firmware would find the file: on our own ESP we can look, elsewhere the partition has to be there.
 */
static bool can_start(const struct option *option, const struct options *o, const struct places *places,
		      const char *esp_uuid)
{
	if (!option->disk || !option->file || !is_active(option))
		return false;
	if (places->esp && esp_uuid && strcasecmp(option->disk, esp_uuid) == 0) {
		_cleanup_free_ char *path = path_join(places->esp, option->file);
		return path_exists(path);
	}
	_cleanup_free_ char *folder = path_join(o->root, "dev/disk/by-partuuid");
	_cleanup_free_ char *device = path_join(folder, option->disk);
	return path_exists(device);
}

static char *option_text(const struct option *option)
{
	return xprintf("Boot%04X%s%s%s", (unsigned)option->number & 0xffff, option->title ? " (" : "",
		       option->title ? option->title : "", option->title ? ")" : "");
}

/* BootNext is obeyed whatever it names. */
static void find_boot_next(int current, const char *own_path, struct firmware_detour *ret)
{
	int number = get_number("BootNext");
	struct option option;

	if (number == NO_NUMBER)
		return;
	bool known = option_read(number, &option);
	if (number != current && !variable_boot_next_is_own() &&
	    !(known && is_same_file(&option, own_path))) {
		ret->once = true;
		ret->what = option_text(&option);
	}
	option_free(&option);
}

void firmware_detour_find(const struct options *o, const struct places *places, const char *own_path,
			  struct firmware_detour *ret)
{
	_cleanup_free_ char *esp_uuid = variable_get(VENDOR_LOADER, "LoaderDevicePartUUID");
	int current = get_number("BootCurrent");
	bool own = false;
	size_t size;

	*ret = (struct firmware_detour){ 0 };
	find_boot_next(current, own_path, ret);
	/* Whatever BootNext leads to, the boot after it, which may be the way back, goes by BootOrder. */
	_cleanup_free_ uint8_t *order = get("BootOrder", &size);
	for (size_t i = 0; order && !own && !ret->what && i + 1 < size; i += 2) {
		struct option option;
		int number = read_le16(order + i);

		bool known = option_read(number, &option);
		own = number == current || (known && is_same_file(&option, own_path));
		if (!own && known && can_start(&option, o, places, esp_uuid))
			ret->what = option_text(&option);
		option_free(&option);
	}
}

void firmware_detour_free(struct firmware_detour *d)
{
	free(d->what);
	*d = (struct firmware_detour){ 0 };
}
