/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first bytes of gzip streams, as zlib itself writes them. */
#include "unit.h"

#include <granule/error.h>
#include <granule/gzip_head.h>

#include <zlib.h>

#define CONTENT 20000

static char scratch[GZIP_HEAD_SCRATCH];

/* Kernel code is no noise and no single byte either. */
static void fill(unsigned char *p, size_t n)
{
	uint32_t seed = 7;

	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(random_below(&seed, 4) ? random_below(&seed, 16) * 3 : i);
}

static size_t pack(const void *data, size_t n, int level, int strategy, gz_header *header, unsigned char *out,
		   size_t room)
{
	z_stream s = { 0 };

	assert_int_equal(deflateInit2(&s, level, Z_DEFLATED, 15 + 16, 8, strategy), Z_OK);
	if (header)
		deflateSetHeader(&s, header);
	s.next_in = (void *)data;
	s.avail_in = (unsigned)n;
	s.next_out = out;
	s.avail_out = (unsigned)room;
	assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
	deflateEnd(&s);
	return room - s.avail_out;
}

static int unpack(const void *data, size_t n, void *out, size_t room, size_t *ret_n)
{
	struct span exact_data = exact_bytes(data, n);
	unsigned char *exact_out = malloc(room + !room);
	int error = gzip_head(exact_data.p, n, exact_out, room, scratch, sizeof(scratch), ret_n);

	assert_true(*ret_n <= room);
	memcpy(out, exact_out, *ret_n);
	free(exact_out);
	release(exact_data);
	return error;
}

static void every_way_of_packing_is_understood(void **state)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE };
	unsigned char content[CONTENT], packed[2 * CONTENT], out[GZIP_HEAD_MAX];
	static const size_t rooms[] = { 1, 64, GZIP_HEAD_MAX };

	(void)state;
	fill(content, sizeof(content));
	for (int level = 0; level <= 9; level++) {
		for (size_t s = 0; s < COUNT(strategies); s++) {
			size_t n = pack(content, sizeof(content), level, strategies[s], NULL, packed,
					sizeof(packed)),
			       got;

			for (size_t i = 0; i < COUNT(rooms); i++) {
				assert_int_equal(unpack(packed, n, out, rooms[i], &got), 0);
				assert_int_equal(got, rooms[i]);
				assert_memory_equal(out, content, rooms[i]);
				/* The beginning of the stream is enough. */
				assert_int_equal(unpack(packed, n < 2048 ? n : 2048, out, rooms[i], &got), 0);
				assert_memory_equal(out, content, rooms[i]);
			}
		}
	}
}

static void no_more_than_the_most_comes_out(void **state)
{
	unsigned char content[CONTENT], packed[2 * CONTENT], out[1024];
	size_t n, got;

	(void)state;
	fill(content, sizeof(content));
	n = pack(content, sizeof(content), 9, Z_DEFAULT_STRATEGY, NULL, packed, sizeof(packed));
	assert_int_equal(unpack(packed, n, out, sizeof(out), &got), 0);
	assert_int_equal(got, GZIP_HEAD_MAX);
	assert_memory_equal(out, content, got);
}

static void all_fields_of_the_header_are_passed_over(void **state)
{
	unsigned char content[CONTENT], packed[2 * CONTENT], out[64], extra[300] = { 1, 2, 3 };
	size_t n, got;

	(void)state;
	fill(content, sizeof(content));
	for (unsigned fields = 0; fields < 16; fields++) {
		gz_header header = { .os = 3 };

		header.name = fields & 1 ? (unsigned char *)"Image" : NULL;
		header.comment = fields & 2 ? (unsigned char *)"" : NULL;
		header.extra = fields & 4 ? extra : NULL;
		header.extra_len = sizeof(extra);
		header.hcrc = fields & 8 ? 1 : 0;
		n = pack(content, sizeof(content), 6, Z_DEFAULT_STRATEGY, &header, packed, sizeof(packed));
		assert_int_equal(unpack(packed, n, out, sizeof(out), &got), 0);
		assert_int_equal(got, sizeof(out));
		assert_memory_equal(out, content, sizeof(out));
		/* Whatever is missing, it is said so; never is anything wrong unpacked. */
		for (size_t cut = 3; cut < 360; cut++) {
			int error = unpack(packed, cut, out, sizeof(out), &got);
			check(error == 0 || error == ERROR_TRUNCATED, "cut at %zu: %d", cut, error);
			assert_memory_equal(out, content, got);
		}
	}
}

static void a_short_stream_gives_what_it_has(void **state)
{
	unsigned char packed[64], out[64];
	size_t n = pack("hello", 5, 6, Z_DEFAULT_STRATEGY, NULL, packed, sizeof(packed)), got;

	(void)state;
	assert_int_equal(unpack(packed, n, out, sizeof(out), &got), 0);
	assert_int_equal(got, 5);
	assert_memory_equal(out, "hello", 5);
	n = pack("", 0, 6, Z_DEFAULT_STRATEGY, NULL, packed, sizeof(packed));
	assert_int_equal(unpack(packed, n, out, sizeof(out), &got), 0);
	assert_int_equal(got, 0);
}

static void what_is_no_gzip_stream(void **state)
{
	static const unsigned char bad[][10] = {
		{ 0x1f, 0x8b, 7, 0 },
		{ 0x1f, 0x8c, 8, 0 },
		{ 0x1e, 0x8b, 8, 0 },
		{ 0 },
	};
	unsigned char out[64];
	size_t got;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(unpack(bad[i], 10, out, 64, &got), ERROR_MAGIC);
	assert_int_equal(unpack("", 0, out, 64, &got), ERROR_MAGIC);
	assert_int_equal(unpack("\x1f\x8b", 2, out, 64, &got), ERROR_MAGIC);
	assert_int_equal(unpack("\x1f\x8b\x08", 3, out, 64, &got), ERROR_TRUNCATED);
	/* Flags that no version of the format has. */
	for (int bit = 5; bit < 8; bit++) {
		unsigned char packed[64];
		size_t n = pack("hello", 5, 6, Z_DEFAULT_STRATEGY, NULL, packed, sizeof(packed));

		packed[3] |= (unsigned char)(1 << bit);
		assert_int_equal(unpack(packed, n, out, 5, &got), ERROR_SYNTAX);
	}
}

static void damaged_data_is_told_from_missing_data(void **state)
{
	unsigned char packed[64], out[64];
	size_t n = pack("hello, hello, hello", 19, 6, Z_FIXED, NULL, packed, sizeof(packed)), got;

	(void)state;
	packed[10] |= 6; /* a block of no known type */
	assert_int_equal(unpack(packed, n, out, sizeof(out), &got), ERROR_SYNTAX);
	assert_int_equal(unpack(packed, 10, out, sizeof(out), &got), ERROR_TRUNCATED);
	/* A distance to before the start. */
	static const unsigned char far_back[] = { 0x1f, 0x8b, 8,    0,    0,    0,    0,   0,
						  0,    3,    0x4b, 0x84, 0x70, 0xff, 0xff };
	assert_int_equal(unpack(far_back, sizeof(far_back), out, sizeof(out), &got), ERROR_SYNTAX);
}

static void too_little_memory_is_said(void **state)
{
	unsigned char packed[64], out[8];
	size_t n = pack("hello", 5, 6, Z_DEFAULT_STRATEGY, NULL, packed, sizeof(packed)), got;

	(void)state;
	assert_int_equal(gzip_head(packed, n, out, 5, scratch, 512, &got), ERROR_SPACE);
	assert_int_equal(gzip_head(packed, n, out, 5, scratch, 0, &got), ERROR_SPACE);
	/* Memory may begin anywhere, and is not left whatever its size. */
	bool enough = false;
	for (size_t size = 16; size < GZIP_HEAD_SCRATCH; size += 16) {
		for (size_t skew = 0; skew < 16; skew++) {
			char *memory = malloc(skew + size);
			int error = gzip_head(packed, n, out, 5, memory + skew, size, &got);

			assert_true(error == ERROR_SPACE || error == 0);
			assert_true(error == 0 || !enough || skew);
			enough = enough || error == 0;
			free(memory);
		}
	}
	assert_true(enough);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_of_packing_is_understood),
		cmocka_unit_test(no_more_than_the_most_comes_out),
		cmocka_unit_test(all_fields_of_the_header_are_passed_over),
		cmocka_unit_test(a_short_stream_gives_what_it_has),
		cmocka_unit_test(what_is_no_gzip_stream),
		cmocka_unit_test(damaged_data_is_told_from_missing_data),
		cmocka_unit_test(too_little_memory_is_said),
	};

	return cmocka_run_group_tests_name("gzip_head", tests, NULL, NULL);
}
