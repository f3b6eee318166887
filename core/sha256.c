/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/sha256.h>

/* FIPS 180-4, 4.2.2: fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void compress(struct sha256 *h)
{
	uint32_t w[16], s[8];

	for (unsigned i = 0; i < 8; i++)
		s[i] = h->state[i];
	for (unsigned i = 0; i < 64; i++) {
		uint32_t *now = &w[i % 16];

		if (i < 16) {
			const unsigned char *b = h->block + 4 * i;

			*now = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
		} else {
			/* The window of 16 words is all that the schedule looks back at. */
			uint32_t two = w[(i - 2) % 16], fifteen = w[(i - 15) % 16];

			*now += (rotate(two, 17) ^ rotate(two, 19) ^ two >> 10) + w[(i - 7) % 16] +
				(rotate(fifteen, 7) ^ rotate(fifteen, 18) ^ fifteen >> 3);
		}

		uint32_t a = s[0], e = s[4];
		uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & s[5]) ^ (~e & s[6])) + constants[i] + *now;
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		for (unsigned k = 7; k; k--)
			s[k] = s[k - 1];
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		h->state[i] += s[i];
	wipe(w, sizeof(w));
	wipe(s, sizeof(s));
}

void sha256_start(struct sha256 *h)
{
	/* 5.3.3: fractions of the square roots of the first 8 primes. */
	*h = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
					 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *h, const void *data, size_t n)
{
	const unsigned char *b = data;

	for (size_t i = 0; i < n; i++) {
		h->block[h->n++ % SHA256_BLOCK] = b[i];
		if (h->n % SHA256_BLOCK == 0)
			compress(h);
	}
}

void sha256_finish(struct sha256 *h, unsigned char ret_digest[SHA256_SIZE])
{
	uint64_t bits = h->n * 8;
	unsigned char length[8];

	for (unsigned i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(h, "\x80", 1);
	while (h->n % SHA256_BLOCK != SHA256_BLOCK - sizeof(length))
		sha256_add(h, "", 1);
	sha256_add(h, length, sizeof(length));
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		ret_digest[i] = (unsigned char)(h->state[i / 4] >> (24 - i % 4 * 8));
	wipe(h, sizeof(*h));
}

void wipe(void *p, size_t n)
{
	volatile unsigned char *b = p;

	while (n--)
		*b++ = 0;
}
