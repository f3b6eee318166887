/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share. Input is cut into fields at '|', a character without meaning in any of our
 * formats, so that a corpus can be written with an editor. Each field lives in a heap block of exactly its
 * size, without a final NUL: AddressSanitizer then sees the first byte read or written too far. */
#ifndef GRANULE_FUZZ_H
#define GRANULE_FUZZ_H

#include <granule/span.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_MAX_BLOCKS 256
#define FUZZ_SEPARATOR '|'

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that no NDEBUG can switch off. */
#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* The input that is left, and the heap blocks to free when the run is over. */
struct fuzz {
	const char *p;
	size_t n;
	void *blocks[FUZZ_MAX_BLOCKS];
	size_t n_blocks;
};

static inline struct fuzz fuzz_start(const uint8_t *data, size_t size)
{
	return (struct fuzz){ .p = (const char *)data, .n = size };
}

static inline void fuzz_end(struct fuzz *f)
{
	while (f->n_blocks)
		free(f->blocks[--f->n_blocks]);
}

static inline void *fuzz_alloc(struct fuzz *f, size_t size)
{
	void *block = malloc(size);

	CHECK(block && f->n_blocks < FUZZ_MAX_BLOCKS);
	f->blocks[f->n_blocks++] = block;
	return block;
}

static inline struct span fuzz_copy(struct fuzz *f, const void *p, size_t n)
{
	char *block = fuzz_alloc(f, n);

	if (n)
		memcpy(block, p, n);
	return (struct span){ block, n };
}

/* A buffer for output, of exactly this size and with old rubbish in it. */
static inline struct text fuzz_text(struct fuzz *f, size_t size)
{
	char *block = fuzz_alloc(f, size);

	if (size)
		memset(block, 0x5a, size);
	return text_in(block, size);
}

/* Next byte of the input; 0 when there is none left. */
static inline unsigned fuzz_byte(struct fuzz *f)
{
	if (!f->n)
		return 0;
	f->n--;
	return (unsigned char)*f->p++;
}

/* Up to the next separator, which is eaten; all that is left if there is none. */
static inline struct span fuzz_field(struct fuzz *f)
{
	const char *end = f->n ? memchr(f->p, FUZZ_SEPARATOR, f->n) : NULL;
	size_t n = end ? (size_t)(end - f->p) : f->n, eaten = n + (end != NULL);
	struct span s = fuzz_copy(f, f->p, n);

	f->p += eaten;
	f->n -= eaten;
	return s;
}

static inline struct span fuzz_rest(struct fuzz *f)
{
	struct span s = fuzz_copy(f, f->p, f->n);

	f->p += f->n;
	f->n = 0;
	return s;
}

/* Whether a span that was returned lies in the text that was given; an absent one does. */
static inline bool fuzz_inside(struct span outer, struct span s)
{
	if (!s.p)
		return !s.n;
	return s.p >= outer.p && s.p <= outer.p + outer.n && s.n <= (size_t)(outer.p + outer.n - s.p);
}

static inline bool fuzz_has(struct span s, char c)
{
	return s.n && memchr(s.p, c, s.n) != NULL;
}

/* What every text promises: it ends in NUL and stays in its buffer. */
static inline void fuzz_check_text(const struct text *t)
{
	if (t->size)
		CHECK(t->n < t->size && t->p[t->n] == 0);
	else
		CHECK(t->full && t->n == 0);
}

static inline uint64_t fuzz_number(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint64_t v = 0;

	while (n--)
		v = v << 8 | b[n];
	return v;
}

#endif
