/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/entry_look.h>
#include <granule/error.h>
#include <granule/gzip_head.h>
#include <granule/uki.h>

#define PAYLOAD_HEAD 4096u /* compressed bytes that hold the header for sure */

/* The kernel: the whole file or a part of it. */
struct kernel {
	uint64_t offset, size;
	bool compressed; /* by zboot */
};

struct look {
	const struct file_source *file;
	char *memory;
	size_t memory_size;
	struct image_head *head;
};

static const char *read_at(const struct look *l, uint64_t offset, uint64_t size, size_t *ret_n)
{
	if (size > l->memory_size)
		size = l->memory_size;
	return l->file->read(l->file->context, offset, l->memory, (size_t)size, ret_n);
}

const char *image_head_read(const struct file_source *file, void *memory, size_t memory_size,
			    struct image_head *ret)
{
	const struct look l = { file, memory, memory_size, ret };
	size_t needed = PE_HEAD_SIZE, want, n;
	int error;

	/* A section table of many profiles is longer than most heads. A file that ends early is not read
	 * again. */
	do {
		want = needed;
		const char *wrong = read_at(&l, 0, want, &n);
		if (wrong)
			return wrong;
		error = image_head_parse(memory, n, file->size, ret, &needed);
	} while (error == ERROR_TRUNCATED && n == want && needed > want && needed <= memory_size &&
		 needed <= file->size);
	return error ? error_text(error) : NULL;
}

/* Reads through an image whose header leaves the page size open, for the strings of the boot-time parameter.
 */
static const char *scan_strings(const struct look *l, struct kernel kernel, bool *ret)
{
	struct selectable_scan scan = { 0 };
	size_t n = 0;

	for (uint64_t at = 0; at < kernel.size && !selectable_scan_result(&scan); at += n) {
		const char *wrong = read_at(l, kernel.offset + at, kernel.size - at, &n);
		if (wrong)
			return wrong;
		if (!n)
			break;
		selectable_scan_feed(&scan, l->memory, n);
	}
	*ret = selectable_scan_result(&scan);
	return NULL;
}

#ifndef GRANULE_ONLY_X64
/* The header of a kernel that is compressed. */
static const char *unpack_header(const struct look *l, uint64_t offset, const struct zboot *zboot)
{
	unsigned char header[ARM64_IMAGE_HEADER_SIZE];
	size_t n, unpacked;

	if (!span_equal(span_of(zboot->compression), SPAN("gzip")))
		return NULL;
	uint64_t size = zboot->payload_size < PAYLOAD_HEAD ? zboot->payload_size : PAYLOAD_HEAD;
	const char *wrong = read_at(l, offset + zboot->payload_offset, size, &n);
	if (wrong)
		return wrong;
	int error = gzip_head(l->memory, n, header, sizeof(header), l->memory + PAYLOAD_HEAD,
			      l->memory_size - PAYLOAD_HEAD, &unpacked);
	if (error == ERROR_SPACE)
		return NULL;
	l->head->has_arm64 = arm64_image_parse(header, unpacked, &l->head->arm64) == 0;
	return l->head->has_arm64 ? NULL : "the compressed kernel in it is damaged";
}
#endif

/* Finds the header of an arm64 kernel. */
static const char *find_header(const struct look *l, struct kernel *kernel)
{
	struct image_head *head = l->head;
	struct zboot zboot = head->zboot;
	size_t n, offset;

	kernel->compressed = head->container == CONTAINER_ZBOOT;
	if (head->container == CONTAINER_UKI) {
		const char *wrong = read_at(l, kernel->offset, kernel->size < 4096 ? kernel->size : 4096, &n);
		if (wrong)
			return wrong;
		head->has_arm64 = arm64_image_parse(l->memory, n, &head->arm64) == 0;
		kernel->compressed =
			!head->has_arm64 && zboot_parse(l->memory, n, kernel->size, &zboot, &offset) == 0;
	}
#ifndef GRANULE_ONLY_X64
	if (kernel->compressed)
		return unpack_header(l, kernel->offset, &zboot);
#endif
	return NULL;
}

/* What a profile of a unified kernel image starts. */
static const char *find_profile(const struct look *l, uint32_t n, struct kernel *ret_kernel,
				struct uki_part *ret_cmdline)
{
	struct uki_profile profile;

	if (uki_find_profile(l->memory, &l->head->pe, n, &profile) < 0)
		return "has no profile of the number that is asked for";
	struct uki_part kernel = profile.parts[UKI_LINUX];
	if (!kernel.size)
		return "the profile that is asked for has no kernel";
	*ret_kernel = (struct kernel){ .offset = kernel.offset, .size = kernel.size };
	*ret_cmdline = profile.parts[UKI_CMDLINE];
	return NULL;
}

static const char *set_page_size(const struct look *l, struct entry *entry, struct kernel kernel,
				 struct uki_part cmdline, page_size_set cpu)
{
	const struct image_head *head = l->head;
	struct span options = entry->bls.options;
	const char *wrong = NULL;
	bool strings = false;
	size_t n;

	/* A kernel from before v4.6 leaves the field open as well: look closer, unless register did. A
	 * compressed one cannot be read through. */
	bool open_size = head->has_arm64 && head->arm64.page_size == PAGE_SIZE_UNKNOWN;
	if (open_size && !kernel.compressed && !entry->bls.image_selectable)
		wrong = scan_strings(l, kernel, &strings);
	if (!wrong && !options.n && cmdline.size) {
		wrong = read_at(l, cmdline.offset, cmdline.size, &n);
		if (!wrong)
			entry->bls.options = uki_clean_text((struct span){ l->memory, n });
	}
	if (!wrong)
		entry_set_page_size(entry, head, strings, cpu);
	entry->bls.options = options;
	return wrong;
}

const char *entry_look(struct entry *entry, const struct file_source *file, uint16_t machine,
		       page_size_set cpu, void *memory, size_t memory_size, struct image_head *ret)
{
	const struct look l = { file, memory, memory_size, ret };
	struct kernel kernel = { .size = file->size };
	struct uki_part cmdline = { 0 };

	entry->kind = IMAGE_UNKNOWN;
	entry->page_size = PAGE_SIZE_UNKNOWN;
	const char *wrong = image_head_read(file, memory, memory_size, ret);
	if (!wrong)
		wrong = image_objection(ret, machine);
	if (wrong)
		return wrong;
	entry->initrd_by_name = ret->pe.major_image_version < 1;

	if (ret->container == CONTAINER_UKI)
		wrong = find_profile(&l, entry->bls.profile, &kernel, &cmdline);
	if (!wrong)
		wrong = find_header(&l, &kernel);
	if (!wrong)
		wrong = set_page_size(&l, entry, kernel, cmdline, cpu);
	return wrong;
}
