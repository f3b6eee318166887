/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 against OpenSSL's, in pieces. Input: a byte that says how long pieces are, then the text. */
#include "fuzz.h"
#include <granule/sha256.h>
#include <openssl/sha.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t step = fuzz_byte(&f) + 1;
	struct span text = fuzz_rest(&f);
	unsigned char got[SHA256_SIZE], want[SHA256_SIZE];
	struct sha256 h;

	sha256_start(&h);
	for (size_t at = 0; at < text.n; at += step)
		sha256_add(&h, text.p + at, text.n - at < step ? text.n - at : step);
	sha256_finish(&h, got);
	SHA256((const unsigned char *)text.p, text.n, want);
	CHECK(!memcmp(got, want, sizeof(got)));
	fuzz_end(&f);
	return 0;
}
