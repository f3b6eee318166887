/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers of the unit tests. */
#ifndef GRANULE_TESTS_UNIT_H
#define GRANULE_TESTS_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <granule/span.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails with a sentence of one's own; for vectors, whose line number alone says little. */
#define check(condition, ...)                  \
	do {                                   \
		if (!(condition))              \
			fail_msg(__VA_ARGS__); \
	} while (0)

static inline bool span_is(struct span got, const char *want)
{
	return span_equal(got, span_of(want));
}

/* A span against a C string. */
#define assert_span_equal(got, want)                                                                         \
	do {                                                                                                 \
		struct span got_ = (got);                                                                    \
		const char *want_ = (want);                                                                  \
		check(span_is(got_, want_), "\"%.*s\" instead of \"%s\"", (int)got_.n, got_.p ? got_.p : "", \
		      want_);                                                                                \
	} while (0)

/* A copy on the heap without a byte to spare, so that reading past the end does not go unnoticed. */
static inline struct span exact_bytes(const void *p, size_t n)
{
	char *copy = malloc(n);

	assert_true(copy || !n);
	if (n)
		memcpy(copy, p, n);
	return (struct span){ copy, n };
}

static inline struct span exact(const char *s)
{
	return exact_bytes(s, strlen(s));
}

static inline void release(struct span s)
{
	free((void *)s.p);
}

/* Where a span begins in the text that it should be part of. */
static inline size_t offset_in(struct span text, struct span part)
{
	assert_true(part.p >= text.p && part.p + part.n <= text.p + text.n);
	return (size_t)(part.p - text.p);
}

/* The same numbers on every machine and in every run. */
static inline uint32_t random_below(uint32_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % n;
}

static inline int sign_of(int n)
{
	return (n > 0) - (n < 0);
}

static inline void write_le16(void *p, uint16_t v)
{
	unsigned char *b = p;

	b[0] = (unsigned char)v;
	b[1] = (unsigned char)(v >> 8);
}

static inline void write_le32(void *p, uint32_t v)
{
	write_le16(p, (uint16_t)v);
	write_le16((char *)p + 2, (uint16_t)(v >> 16));
}

static inline void write_le64(void *p, uint64_t v)
{
	write_le32(p, (uint32_t)v);
	write_le32((char *)p + 4, (uint32_t)(v >> 32));
}

#endif
