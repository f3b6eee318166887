/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

#include <granule/error.h>
#include <granule/uki.h>

#include "image_file.h"

/* Kernels have tens of megabytes; a file that unpacks to more than this is not one. */
#define IMAGE_MAX ((size_t)1 << 30)

static const char *const option_line = "CONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y";

static bool is_compressed(enum image_container c)
{
	return c == CONTAINER_GZIP || c == CONTAINER_ZSTD || c == CONTAINER_XZ || c == CONTAINER_LZ4;
}

/* Unpacks a compressed block of memory with whatever filter fits it. NULL with *ret_problem on failure.
 * Output that was complete before trailing padding upset the decoder is kept. */
static char *unpack(const void *data, size_t size, size_t *ret_size, char **ret_problem)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	char *out = NULL;
	size_t n = 0, room = 0;
	ssize_t got = -1;

	archive_read_support_filter_gzip(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, data, size) == ARCHIVE_OK &&
	    archive_read_next_header(a, &entry) == ARCHIVE_OK && archive_filter_count(a) > 1) {
		do {
			if (room - n < 1 << 16) {
				room = room ? room * 2 : 1 << 20;
				out = xrealloc(out, room);
			}
			got = archive_read_data(a, out + n, room - n);
			if (got > 0)
				n += (size_t)got;
		} while (got > 0 && n < IMAGE_MAX);
	}
	if (got != 0) {
		const char *why = archive_error_string(a);
		*ret_problem = xprintf("cannot be decompressed%s%s", why ? ": " : "", why ? why : "");
		free(out);
		out = NULL;
	}
	archive_read_free(a);
	*ret_size = n;
	return out;
}

/* First occurrence of `needle`; NULL if there is none. */
static const char *find(const char *data, size_t size, const char *needle, size_t needle_size)
{
	return memmem(data, size, needle, needle_size);
}

/* Release from the banner of an uncompressed kernel, "Linux version RELEASE (". */
static char *banner_release(const char *data, size_t size)
{
	static const char banner[] = "Linux version ";
	const char *end = data + size, *p = data;

	while ((p = find(p, (size_t)(end - p), banner, sizeof(banner) - 1))) {
		p += sizeof(banner) - 1;
		size_t n = 0;
		while (p + n < end && n < 128 && p[n] > ' ' && p[n] < 127)
			n++;
		/* "Linux version %s" stands in kernels as well. */
		if (n > 2 && char_is_digit(p[0]) && p + n < end && p[n] == ' ')
			return xstrndup((struct span){ p, n });
	}
	return NULL;
}

/* x86: the boot protocol header points to the version text. */
static char *x86_release(const char *data, size_t size)
{
	if (size < 0x210)
		return NULL;
	size_t at = (size_t)read_le16(data + 0x20e) + 0x200, n = 0;
	while (at + n < size && n < 128 && data[at + n] > ' ')
		n++;
	return n && at + n < size ? xstrndup((struct span){ data + at, n }) : NULL;
}

/* Where a line of the configuration that begins so goes on; NULL if there is none. */
static const char *config_line(const char *text, size_t size, const char *beginning)
{
	size_t n = strlen(beginning);

	for (const char *p = text; (p = find(p, size - (size_t)(p - text), beginning, n)); p++)
		if (p == text || p[-1] == '\n')
			return p + n;
	return NULL;
}

/* What a configuration says that matters here. */
static void read_config(const char *text, size_t size, bool *ret_selectable, struct image_file *ret)
{
	const char *end = config_line(text, size, option_line);
	const char *panic = config_line(text, size, "CONFIG_PANIC_TIMEOUT=");

	*ret_selectable = *ret_selectable || (end && (end == text + size || *end == '\n'));
	if (panic && !ret->panic_timeout) {
		size_t left = size - (size_t)(panic - text);
		_cleanup_free_ char *number = xstrndup((struct span){ panic, left < 16 ? left : 16 });
		ret->panic_timeout = atoi(number);
	}
}

static void read_config_file(char *taken_path, bool *ret_selectable, struct image_file *ret)
{
	_cleanup_free_ char *path = taken_path;
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (read_file(path, 16 << 20, &text, &size) == 0)
		read_config(text, size, ret_selectable, ret);
}

/* The kernel's configuration as distributions install it, by full release string. */
static bool config_says_selectable(const char *path, const char *root, struct image_file *ret)
{
	_cleanup_free_ char *copy = xstrdup(path);
	const char *folder = dirname(copy), *release = ret->release;
	bool selectable = false;

	if (!release)
		return false;
	read_config_file(xprintf("%s/config-%s", folder, release), &selectable, ret);
	read_config_file(xprintf("%s/config", folder), &selectable, ret);
	read_config_file(xprintf("%s/boot/config-%s", root, release), &selectable, ret);
	read_config_file(xprintf("%s/lib/modules/%s/config", root, release), &selectable, ret);
	read_config_file(xprintf("%s/usr/lib/modules/%s/config", root, release), &selectable, ret);
	return selectable;
}

/* CONFIG_IKCONFIG: a gzip stream between two marks. */
static bool embedded_config_says_selectable(const char *data, size_t size, struct image_file *ret)
{
	const char *start = find(data, size, "IKCFG_ST", 8);
	const char *end = start ? find(start, size - (size_t)(start - data), "IKCFG_ED", 8) : NULL;
	_cleanup_free_ char *problem = NULL;
	bool selectable = false;
	size_t n;

	if (!end)
		return false;
	_cleanup_free_ char *config = unpack(start + 8, (size_t)(end - start) - 8, &n, &problem);
	if (config)
		read_config(config, n, &selectable, ret);
	return selectable;
}

static bool strings_say_selectable(const char *data, size_t size)
{
	struct selectable_scan scan = { 0 };

	selectable_scan_feed(&scan, data, size);
	return selectable_scan_result(&scan);
}

/* Reads what an uncompressed kernel says. */
static void read_kernel(const char *path, const char *root, const char *data, size_t size,
			const struct image_head *head, struct image_file *ret)
{
	if (head->x86_kernel) {
		ret->architecture = "x86_64";
		ret->kind = IMAGE_FIXED;
		ret->page_size = PAGE_SIZE_4K;
		ret->evidence = EVIDENCE_HEADER;
		ret->release = x86_release(data, size);
		return;
	}
	if (!head->has_arm64)
		return;
	ret->architecture = "arm64";
	ret->release = banner_release(data, size);
	ret->page_size = head->arm64.page_size;
	bool config = config_says_selectable(path, root, ret);
	bool embedded = embedded_config_says_selectable(data, size, ret);
	if (ret->page_size != PAGE_SIZE_UNKNOWN) {
		ret->kind = IMAGE_FIXED;
		ret->evidence = EVIDENCE_HEADER;
	} else if (config) {
		ret->evidence = EVIDENCE_CONFIG;
	} else if (embedded) {
		ret->evidence = EVIDENCE_EMBEDDED_CONFIG;
	} else if (strings_say_selectable(data, size)) {
		ret->evidence = EVIDENCE_STRINGS;
	}
	if (ret->evidence > EVIDENCE_HEADER)
		ret->kind = IMAGE_SELECTABLE;
}

static int damaged(int error, size_t offset, char **ret_problem)
{
	*ret_problem = error == ERROR_TRUNCATED
			       ? xprintf("%s: it should have %zu bytes at least", error_text(error), offset)
			       : xprintf("%s, at byte %zu", error_text(error), offset);
	return -EBADMSG;
}

/* The kernel inside another container: unpacked, or, of a unified image, this part of the file. */
static char *inner_kernel(const struct image_head *head, struct uki_part part, const char *data, size_t size,
			  size_t *ret_size, char **ret_problem)
{
	if (is_compressed(head->container))
		return unpack(data, size, ret_size, ret_problem);
	if (head->container == CONTAINER_ZBOOT)
		return unpack(data + head->zboot.payload_offset, head->zboot.payload_size, ret_size,
			      ret_problem);

	/* A UKI: pe_check_complete() made sure that the section lies within the file. */
	*ret_size = part.size;
	char *copy = xalloc(*ret_size);
	memcpy(copy, data + part.offset, *ret_size);
	return copy;
}

/* Chooses the kernel of a profile. */
static int find_profile(const char *data, uint32_t profile, struct image_file *ret, struct uki_part *ret_part,
			char **ret_problem)
{
	struct uki_profile found;

	uki_count_profiles(data, &ret->head.pe, &ret->n_profiles);
	if (uki_find_profile(data, &ret->head.pe, profile, &found) < 0 || !found.parts[UKI_LINUX].size) {
		*ret_problem = xprintf("no kernel in profile %u", profile);
		return -ENOENT;
	}
	*ret_part = found.parts[UKI_LINUX];
	return 0;
}

static int read_containers(const char *path, const char *root, const char *data, size_t size,
			   uint32_t profile, struct image_file *ret, char **ret_problem)
{
	struct image_head inner_head;
	struct uki_part part = { 0 };
	size_t offset, inner_size;
	int error = image_head_parse(data, size, size, &ret->head, &offset);

	if (error)
		return damaged(error, offset, ret_problem);
	if (ret->head.container == CONTAINER_UKI) {
		error = find_profile(data, profile, ret, &part, ret_problem);
		if (error)
			return error;
	}
	if (ret->head.has_pe)
		ret->architecture = pe_machine_name(ret->head.pe.machine);
	if (ret->head.container == CONTAINER_UNKNOWN)
		return 0;
	if (ret->head.container == CONTAINER_RAW) {
		read_kernel(path, root, data, size, &ret->head, ret);
		return 0;
	}

	_cleanup_free_ char *inner = inner_kernel(&ret->head, part, data, size, &inner_size, ret_problem);
	if (!inner)
		return -EBADMSG;
	error = image_head_parse(inner, inner_size, inner_size, &inner_head, &offset);
	if (error)
		return damaged(error, offset, ret_problem);
	if (inner_head.container == CONTAINER_RAW) {
		read_kernel(path, root, inner, inner_size, &inner_head, ret);
	} else if (inner_head.container == CONTAINER_ZBOOT) {
		/* A UKI around a zboot kernel. */
		size_t n;
		_cleanup_free_ char *kernel =
			inner_kernel(&inner_head, part, inner, inner_size, &n, ret_problem);
		if (!kernel)
			return -EBADMSG;
		if (image_head_parse(kernel, n, n, &inner_head, &offset) == 0)
			read_kernel(path, root, kernel, n, &inner_head, ret);
	} else if (is_compressed(ret->head.container)) {
		ret->head.container = CONTAINER_UNKNOWN; /* something compressed that is no kernel */
	}
	return 0;
}

int image_file_read(const char *path, const char *root, uint32_t profile, struct image_file *ret,
		    char **ret_problem)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	*ret = (struct image_file){ .architecture = "unknown", .n_profiles = 1 };
	*ret_problem = NULL;
	int r = read_file(path, IMAGE_MAX, &data, &size);
	if (r < 0) {
		*ret_problem = xstrdup(strerror(-r));
		return r;
	}
	if (root[0] == '/' && !root[1])
		root = "";
	return read_containers(path, root, data, size, profile, ret, ret_problem);
}

void image_file_free(struct image_file *image)
{
	free(image->release);
	image->release = NULL;
}

const char *image_evidence_name(enum image_evidence evidence)
{
	static const char *const names[] = {
		[EVIDENCE_NONE] = "none",       [EVIDENCE_HEADER] = "header",
		[EVIDENCE_CONFIG] = "config",   [EVIDENCE_EMBEDDED_CONFIG] = "embedded-config",
		[EVIDENCE_STRINGS] = "strings",
	};

	return names[evidence];
}

int image_file_startable(const char *path, char **ret, size_t *ret_size, char **ret_problem)
{
	struct image_head head;
	size_t offset;

	*ret_problem = NULL;
	int r = read_file(path, IMAGE_MAX, ret, ret_size);
	if (r < 0) {
		*ret_problem = xstrdup(strerror(-r));
		return r;
	}
	if (image_head_parse(*ret, *ret_size, *ret_size, &head, &offset) || !is_compressed(head.container))
		return 0;
	char *kernel = unpack(*ret, *ret_size, ret_size, ret_problem);
	free(*ret);
	*ret = kernel;
	return kernel ? 0 : -EBADMSG;
}
