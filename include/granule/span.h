/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A span is a piece of text in somebody else's buffer: pointer and length, no final NUL.
 * Everything in core/ reads and returns spans, so that nothing there needs to allocate. */
#ifndef GRANULE_SPAN_H
#define GRANULE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const char *p;
	size_t n;
};

#define SPAN(literal) ((struct span){ (literal), sizeof(literal) - 1 })
#define SPAN_NONE ((struct span){ NULL, 0 })

static inline size_t text_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* Span of a C string; of nothing when s is NULL. */
static inline struct span span_of(const char *s)
{
	return s ? (struct span){ s, text_length(s) } : SPAN_NONE;
}

static inline struct span span_cut(struct span s, size_t from, size_t to)
{
	/* Of nothing (a NULL pointer) only nothing is cut; adding even 0 to it is undefined. */
	return (struct span){ from ? s.p + from : s.p, to - from };
}

/* The kernel's and BLS's blanks; line ends are not among them. */
static inline bool char_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* White space as the kernel's isspace() has it, with Latin-1's no-break space. */
static inline bool char_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (unsigned char)c == 0xa0;
}

static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool char_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char char_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool span_equal(struct span a, struct span b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (a.p[i] != b.p[i])
			return false;
	return true;
}

static inline bool span_equal_nocase(struct span a, struct span b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (char_lower(a.p[i]) != char_lower(b.p[i]))
			return false;
	return true;
}

static inline bool span_starts(struct span s, struct span prefix)
{
	return s.n >= prefix.n && span_equal(span_cut(s, 0, prefix.n), prefix);
}

static inline bool span_ends_nocase(struct span s, struct span suffix)
{
	return s.n >= suffix.n && span_equal_nocase(span_cut(s, s.n - suffix.n, s.n), suffix);
}

/* Byte order (unsigned), a shorter string before its extensions. Returns <0, 0, >0. */
static inline int span_compare(struct span a, struct span b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++)
		if (a.p[i] != b.p[i])
			return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

static inline struct span span_trim(struct span s)
{
	while (s.n && char_is_blank(s.p[0]))
		s = span_cut(s, 1, s.n);
	while (s.n && char_is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Reads a decimal number that fills the whole span. False if empty, not decimal, or above max. */
static inline bool span_to_number(struct span s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s.n)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!char_is_digit(s.p[i]))
			return false;
		unsigned digit = (unsigned)(s.p[i] - '0');
		if (digit > max || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*ret = v;
	return true;
}

/* Text that grows in a buffer of the caller's. A write that does not fit sets `full` and changes nothing;
 * the buffer always ends in NUL. */
struct text {
	char *p;
	size_t n, size;
	bool full;
};

static inline struct text text_in(char *buffer, size_t size)
{
	if (size)
		buffer[0] = 0;
	return (struct text){ buffer, 0, size, size == 0 };
}

static inline void text_add(struct text *t, struct span s)
{
	if (t->full || s.n >= t->size - t->n) {
		t->full = true;
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		t->p[t->n + i] = s.p[i];
	t->n += s.n;
	t->p[t->n] = 0;
}

static inline void text_add_number(struct text *t, uint64_t v, unsigned min_digits)
{
	char digits[24];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (size_t n = sizeof(digits) - i; n < min_digits; n++)
		text_add(t, SPAN("0"));
	text_add(t, (struct span){ digits + i, sizeof(digits) - i });
}

static inline struct span text_span(const struct text *t)
{
	return (struct span){ t->p, t->n };
}

/* Unaligned little-endian reads, for headers of files. */
static inline uint16_t read_le16(const void *p)
{
	const unsigned char *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t read_le32(const void *p)
{
	const unsigned char *b = p;

	return (uint32_t)read_le16(b) | (uint32_t)read_le16(b + 2) << 16;
}

static inline uint64_t read_le64(const void *p)
{
	const unsigned char *b = p;

	return (uint64_t)read_le32(b) | (uint64_t)read_le32(b + 4) << 32;
}

#endif
