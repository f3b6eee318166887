/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4). The loader mixes random seeds with it, and has no library that could: firmware need
 * not offer a hash protocol. Written to be small, not fast; nothing large goes through it. */
#ifndef GRANULE_SHA256_H
#define GRANULE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u
#define SHA256_BLOCK 64u

struct sha256 {
	uint32_t state[8];
	uint64_t n; /* bytes so far */
	unsigned char block[SHA256_BLOCK];
};

void sha256_start(struct sha256 *h);

/* In as many pieces as one likes. `data` may be NULL when n is 0. */
void sha256_add(struct sha256 *h, const void *data, size_t n);

/* `h` is wiped. */
void sha256_finish(struct sha256 *h, unsigned char ret_digest[SHA256_SIZE]);

/* Overwrites secrets in a way that no compiler leaves out. */
void wipe(void *p, size_t n);

#endif
