/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first bytes of gzip streams, against zlib's own reader. Input: how many bytes are wanted, then the
 * stream. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/gzip_head.h>
#include <zlib.h>

/* What zlib makes of it; *ret_sure is false when it refuses a header for reasons of its own, such as a
 * checksum. */
static size_t oracle(struct span data, void *out, size_t room, bool *ret_sure)
{
	z_stream s = { 0 };

	CHECK(inflateInit2(&s, 15 + 16) == Z_OK);
	s.next_in = (void *)data.p;
	s.avail_in = (unsigned)data.n;
	s.next_out = out;
	s.avail_out = (unsigned)room;
	int result = room ? inflate(&s, Z_SYNC_FLUSH) : Z_OK;
	*ret_sure = result != Z_DATA_ERROR || s.total_out;
	inflateEnd(&s);
	return room - s.avail_out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t room = fuzz_byte(&f) % (GZIP_HEAD_MAX + 1), n = SIZE_MAX, more = SIZE_MAX;
	struct span stream = fuzz_rest(&f);
	unsigned char *out = fuzz_alloc(&f, room), *other = fuzz_alloc(&f, room);
	void *scratch = fuzz_alloc(&f, GZIP_HEAD_SCRATCH);
	bool sure;

	int error = gzip_head(stream.p, stream.n, out, room, scratch, GZIP_HEAD_SCRATCH, &n);
	CHECK(error == 0 || error == ERROR_MAGIC || error == ERROR_TRUNCATED || error == ERROR_SYNTAX);
	CHECK(n <= room && (error != ERROR_MAGIC || n == 0));
	size_t want = oracle(stream, other, room, &sure);
	if (sure && want) {
		CHECK(n == want || error);
		CHECK(!memcmp(out, other, n < want ? n : want));
		CHECK(want < room || error == 0);
	}
	/* Less memory is refused, or makes no difference. */
	int less = gzip_head(stream.p, stream.n, other, room, scratch, 1000, &more);
	CHECK(less == ERROR_SPACE || (less == error && less < 0));
	/* The first half says nothing else. */
	struct span half = fuzz_copy(&f, stream.p, stream.n / 2);
	int cut = gzip_head(half.p, half.n, other, room, scratch, GZIP_HEAD_SCRATCH, &more);
	CHECK(more <= n || error);
	CHECK(!memcmp(out, other, more < n ? more : n));
	CHECK(cut || !error);

	fuzz_end(&f);
	return 0;
}
