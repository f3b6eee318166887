/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256: vectors of FIPS 180-4 and of NIST's CAVP. The fuzz target compares it with OpenSSL. */
#include "unit.h"

#include <stdio.h>

#include <granule/sha256.h>

static void hex_of(const unsigned char *digest, char *ret)
{
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		sprintf(ret + 2 * i, "%02x", digest[i]);
}

/* In pieces of `step` bytes. */
static void check_digest(const void *data, size_t n, size_t step, const char *want)
{
	unsigned char digest[SHA256_SIZE];
	char got[2 * SHA256_SIZE + 1];
	struct sha256 h;

	sha256_start(&h);
	for (size_t at = 0; at < n; at += step) {
		struct span piece = exact_bytes((const char *)data + at, n - at < step ? n - at : step);

		sha256_add(&h, piece.p, piece.n);
		release(piece);
	}
	sha256_finish(&h, digest);
	hex_of(digest, got);
	check(!strcmp(got, want), "%zu bytes in steps of %zu: %s instead of %s", n, step, got, want);
}

static void vectors_of_the_standard(void **state)
{
	static const struct {
		const char *text, *want;
	} vectors[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
		  "lmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
		{ "\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b" },
		{ "\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		for (size_t step = 1; step < 130; step++)
			check_digest(vectors[i].text, strlen(vectors[i].text), step, vectors[i].want);
}

/* Where the padding just fits into the last block, just does not, and starts one of its own. */
static void lengths_around_a_block(void **state)
{
	static const struct {
		size_t n;
		const char *want;
	} zeros[] = {
		{ 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7" },
		{ 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb" },
		{ 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785" },
		{ 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b" },
		{ 1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53" },
	};
	static const char block[1000];

	(void)state;
	for (size_t i = 0; i < COUNT(zeros); i++)
		for (size_t step = 1; step <= 128; step *= 2)
			check_digest(block, zeros[i].n, step, zeros[i].want);
}

static void a_million_letters(void **state)
{
	size_t n = 1000000;
	char *text = malloc(n);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', n);
	check_digest(text, n, 997, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(text);
}

static void nothing_secret_stays_behind(void **state)
{
	static const unsigned char zeros[sizeof(struct sha256)];
	unsigned char digest[SHA256_SIZE];
	struct sha256 h;

	(void)state;
	sha256_start(&h);
	sha256_add(&h, "secret", 6);
	sha256_finish(&h, digest);
	assert_memory_equal(&h, zeros, sizeof(h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_the_standard),
		cmocka_unit_test(lengths_around_a_block),
		cmocka_unit_test(a_million_letters),
		cmocka_unit_test(nothing_secret_stays_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
