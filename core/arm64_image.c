/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/arm64_image.h>
#include <granule/error.h>

#define ARM64_MAGIC 0x644d5241u /* "ARM\x64" */
#define ARM64_MAGIC_OFFSET 56
#define ZBOOT_HEADER_SIZE 64
#define ZBOOT_LINUX_MAGIC 0x818223cdu
#define X86_BOOT_FLAG_OFFSET 0x1fe
#define X86_HDRS_OFFSET 0x202

static bool bytes_at(const void *data, size_t size, size_t offset, struct span want)
{
	return offset <= size && want.n <= size - offset &&
	       span_equal((struct span){ (const char *)data + offset, want.n }, want);
}

int arm64_image_parse(const void *head, size_t size, struct arm64_image *ret)
{
	const unsigned char *b = head;

	if (size < ARM64_IMAGE_HEADER_SIZE)
		return ERROR_TRUNCATED;
	if (read_le32(b + ARM64_MAGIC_OFFSET) != ARM64_MAGIC)
		return ERROR_MAGIC;

	uint64_t flags = read_le64(b + 24);
	*ret = (struct arm64_image){
		.text_offset = read_le64(b + 8),
		.image_size = read_le64(b + 16),
		.page_size = (enum page_size)(flags >> 1 & 3),
		.big_endian = flags & 1,
		.any_base = flags >> 3 & 1,
	};
	return 0;
}

int zboot_parse(const void *head, size_t size, uint64_t file_size, struct zboot *ret, size_t *ret_offset)
{
	const unsigned char *b = head;

	*ret_offset = 0;
	if (!bytes_at(head, size, 0, SPAN("MZ\0\0zimg")))
		return ERROR_MAGIC;
	if (size < ZBOOT_HEADER_SIZE) {
		*ret_offset = ZBOOT_HEADER_SIZE;
		return ERROR_TRUNCATED;
	}

	ret->payload_offset = read_le32(b + 8);
	ret->payload_size = read_le32(b + 12);
	size_t n = 0;
	for (; n < 32 && b[24 + n]; n++)
		ret->compression[n] = (char)b[24 + n];
	ret->compression[n] = 0;
	if (n == 32 || n == 0) {
		*ret_offset = 24;
		return ERROR_SYNTAX;
	}
	/* The first kernels with zboot (v6.1) leave it zero. */
	if (read_le32(b + 56) != 0 && read_le32(b + 56) != ZBOOT_LINUX_MAGIC) {
		*ret_offset = 56;
		return ERROR_SYNTAX;
	}
	if (ret->payload_offset < ZBOOT_HEADER_SIZE || ret->payload_size == 0) {
		*ret_offset = ret->payload_size ? 8 : 12;
		return ERROR_RANGE;
	}
	if ((uint64_t)ret->payload_offset + ret->payload_size > file_size) {
		*ret_offset = (size_t)ret->payload_offset + ret->payload_size;
		return ERROR_TRUNCATED;
	}
	return 0;
}

static enum image_container compressed_container(const void *head, size_t size)
{
	static const struct {
		struct span magic;
		enum image_container container;
	} magics[] = {
		{ { "\x1f\x8b\x08", 3 }, CONTAINER_GZIP },
		{ { "\x28\xb5\x2f\xfd", 4 }, CONTAINER_ZSTD },
		{ { "\xfd"
		    "7zXZ\0",
		    6 },
		  CONTAINER_XZ },
		{ { "\x04\x22\x4d\x18", 4 }, CONTAINER_LZ4 }, /* frame format */
		{ { "\x02\x21\x4c\x18", 4 }, CONTAINER_LZ4 }, /* legacy format, as the kernel's build makes */
	};

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (bytes_at(head, size, 0, magics[i].magic))
			return magics[i].container;
	return CONTAINER_UNKNOWN;
}

/* A unified kernel image has a kernel in one of its sections. */
static bool has_kernel_section(const void *head, const struct pe *pe)
{
	struct pe_section s;

	for (uint32_t i = 0; i < pe->n_sections; i++) {
		pe_section_at(head, pe, i, &s);
		if (s.raw_size && span_equal(span_of(s.name), SPAN(".linux")))
			return true;
	}
	return false;
}

int image_head_parse(const void *head, size_t size, uint64_t file_size, struct image_head *ret,
		     size_t *ret_offset)
{
	uint64_t needed;

	*ret = (struct image_head){ .container = compressed_container(head, size) };
	*ret_offset = 0;
	if (ret->container != CONTAINER_UNKNOWN)
		return 0;

	ret->has_arm64 = arm64_image_parse(head, size, &ret->arm64) == 0;
	if (ret->has_arm64)
		ret->container = CONTAINER_RAW;
	ret->x86_kernel = bytes_at(head, size, X86_BOOT_FLAG_OFFSET, SPAN("\x55\xaa")) &&
			  bytes_at(head, size, X86_HDRS_OFFSET, SPAN("HdrS"));
	if (ret->x86_kernel)
		ret->container = CONTAINER_RAW;

	int error = pe_parse(head, size, &ret->pe, ret_offset);
	if (error == ERROR_MAGIC) {
		/* An arm64 Image built without an EFI stub has no PE header: fine, but not for firmware. */
		*ret_offset = 0;
		return 0;
	}
	if (error)
		return error;
	ret->has_pe = true;

	error = pe_check_complete(head, &ret->pe, file_size, &needed);
	if (error) {
		*ret_offset = (size_t)needed;
		return error;
	}

	error = zboot_parse(head, size, file_size, &ret->zboot, ret_offset);
	if (error == 0)
		ret->container = CONTAINER_ZBOOT;
	else if (error != ERROR_MAGIC)
		return error;
	else if (has_kernel_section(head, &ret->pe)) {
		ret->container = CONTAINER_UKI;
		ret->has_arm64 = false;
	}
	return 0;
}

const char *image_objection(const struct image_head *head, uint16_t machine)
{
	if (!head->has_pe) {
		if (head->has_arm64)
			return "kernel was built without an EFI stub";
		return head->container == CONTAINER_UNKNOWN
			       ? "not a kernel"
			       : "compressed in a way that firmware cannot start";
	}
	return head->pe.machine == machine ? NULL : error_text(ERROR_ARCHITECTURE);
}

const char *image_container_name(enum image_container container)
{
	static const char *const names[] = {
		[CONTAINER_UNKNOWN] = "unknown", [CONTAINER_RAW] = "raw", [CONTAINER_GZIP] = "gzip",
		[CONTAINER_ZSTD] = "zstd",       [CONTAINER_XZ] = "xz",   [CONTAINER_LZ4] = "lz4",
		[CONTAINER_ZBOOT] = "zboot",     [CONTAINER_UKI] = "uki",
	};

	return names[container];
}

const char *image_kind_name(enum image_kind kind)
{
	static const char *const names[] = {
		[IMAGE_UNKNOWN] = "unknown",
		[IMAGE_FIXED] = "fixed",
		[IMAGE_SELECTABLE] = "selectable",
	};

	return names[kind];
}

/* Notes which of the three parameter strings stand in one piece. */
static void scan_piece(struct selectable_scan *scan, const char *p, size_t n)
{
	static const struct span prefix = { "arm64.pagesize=", 15 };

	for (size_t i = 0; n >= prefix.n && i <= n - prefix.n; i++) {
		if (p[i] != 'a' || !span_equal((struct span){ p + i, prefix.n }, prefix))
			continue;
		for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
			struct span word = span_of(page_size_word(s));
			size_t at = i + prefix.n;

			/* The final NUL belongs to the string: a longer word is not this one. */
			if (at + word.n < n && span_equal((struct span){ p + at, word.n }, word) &&
			    !p[at + word.n])
				scan->seen |= (page_size_set)(1u << s);
		}
	}
}

void selectable_scan_feed(struct selectable_scan *scan, const void *data, size_t size)
{
	char joint[2 * sizeof(scan->tail)];
	const char *p = data;
	size_t n = scan->n_tail, take = size < sizeof(scan->tail) ? size : sizeof(scan->tail);

	/* A string across the border of two pieces is found in the joint of both ends. */
	for (size_t i = 0; i < n; i++)
		joint[i] = scan->tail[i];
	for (size_t i = 0; i < take; i++)
		joint[n + i] = p[i];
	scan_piece(scan, joint, n + take);
	scan_piece(scan, p, size);

	if (size >= sizeof(scan->tail)) {
		scan->n_tail = sizeof(scan->tail);
		p += size - sizeof(scan->tail);
	} else {
		/* A small piece: keep the end of the joint. */
		size_t all = n + take;
		scan->n_tail = all < sizeof(scan->tail) ? all : sizeof(scan->tail);
		p = joint + all - scan->n_tail;
	}
	for (size_t i = 0; i < scan->n_tail; i++)
		scan->tail[i] = p[i];
}

bool selectable_scan_result(const struct selectable_scan *scan)
{
	return scan->seen == PAGE_SIZE_SET_ALL;
}
