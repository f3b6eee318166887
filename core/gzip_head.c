/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/gzip_head.h>

#define Z_SOLO /* zlib.h without a C library */
#include <zlib.h>

#define FIXED_HEADER 10u
#define WINDOW_BITS 8 /* 256 bytes */

enum gzip_flag {
	FLAG_HEADER_CRC = 2,
	FLAG_EXTRA = 4,
	FLAG_NAME = 8,
	FLAG_COMMENT = 16,
	FLAGS_RESERVED = 0xe0,
};

struct memory {
	char *p;
	size_t n;
};

struct output {
	unsigned char *p;
	size_t n, room;
};

/* zlib allocates once, when it starts: nothing has to be given back. */
static voidpf take(voidpf opaque, uInt items, uInt size)
{
	struct memory *memory = opaque;
	size_t n = ((size_t)items * size + 15) & ~(size_t)15;

	if (n > memory->n)
		return Z_NULL;
	memory->n -= n;
	memory->p += n;
	return memory->p - n;
}

static void give_back(voidpf opaque, voidpf address)
{
	(void)opaque;
	(void)address;
}

/* All input is given at the start. */
static unsigned no_more(void *context, z_const unsigned char **ret)
{
	(void)context;
	*ret = Z_NULL;
	return 0;
}

static int put(void *context, unsigned char *data, unsigned n)
{
	struct output *out = context;

	for (unsigned i = 0; i < n && out->n < out->room; i++)
		out->p[out->n++] = data[i];
	return out->n == out->room;
}

/* Offset of the compressed data behind the header; 0 when the header goes on after `size`. */
static size_t data_offset(const unsigned char *b, size_t size)
{
	size_t at = FIXED_HEADER;
	unsigned flags = b[3];

	if (flags & FLAG_EXTRA)
		at += at + 2 <= size ? 2u + read_le16(b + at) : 2u;
	for (unsigned text = FLAG_NAME; text <= FLAG_COMMENT; text <<= 1) {
		if (!(flags & text))
			continue;
		while (at < size && b[at])
			at++;
		at++;
	}
	if (flags & FLAG_HEADER_CRC)
		at += 2;
	return at <= size ? at : 0;
}

int gzip_head(const void *data, size_t size, void *out, size_t room, void *scratch, size_t scratch_size,
	      size_t *ret_n)
{
	const unsigned char *b = data;
	size_t skew = -(uintptr_t)scratch & 15, at;
	unsigned char window[1 << WINDOW_BITS];

	*ret_n = 0;
	if (size < 3 || b[0] != 0x1f || b[1] != 0x8b || b[2] != Z_DEFLATED)
		return ERROR_MAGIC;
	if (size < FIXED_HEADER)
		return ERROR_TRUNCATED;
	if (b[3] & FLAGS_RESERVED)
		return ERROR_SYNTAX;
	at = data_offset(b, size);
	if (!at)
		return ERROR_TRUNCATED;
	if (scratch_size < skew)
		return ERROR_SPACE;

	struct memory memory = { (char *)scratch + skew, scratch_size - skew };
	struct output output = { out, 0, room < GZIP_HEAD_MAX ? room : GZIP_HEAD_MAX };
	z_stream stream = {
		.zalloc = take,
		.zfree = give_back,
		.opaque = &memory,
		.next_in = (z_const Bytef *)b + at,
		.avail_in = size - at < UINT32_MAX ? (uInt)(size - at) : UINT32_MAX,
	};
	if (inflateBackInit(&stream, WINDOW_BITS, window) != Z_OK)
		return ERROR_SPACE;
	int result = inflateBack(&stream, no_more, Z_NULL, put, &output);
	*ret_n = output.n;
	if (output.n == output.room || result == Z_STREAM_END)
		return 0;
	return result == Z_BUF_ERROR ? ERROR_TRUNCATED : ERROR_SYNTAX;
}
