/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell patterns, against a matcher of quite another kind: a pattern is turned into sets of characters, and a
 * table tells which of its ends match which ends of the text. Input: PATTERN|TEXT. */
#include "fuzz.h"
#include <granule/glob.h>

/* Longer input is only run, so that its time shows. */
#define MAX_COMPARED 256

struct element {
	bool star;
	bool in[256]; /* characters in lower case that it matches */
};

static unsigned lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? u + 32u : u;
}

/* One character of a bracket, escaped or not, if pattern[*i] and a closing bracket later on allow. */
static unsigned bracket_char(struct span p, size_t *i)
{
	if (p.p[*i] == '\\' && *i + 1 < p.n)
		++*i;
	return lower(p.p[(*i)++]);
}

/* Reads a bracket from behind its '['. False if it is never closed. */
static bool read_bracket(struct span p, size_t *i, struct element *e)
{
	bool in[256] = { false }, negated = false;
	size_t k = *i, first;

	if (k < p.n && (p.p[k] == '!' || p.p[k] == '^')) {
		negated = true;
		k++;
	}
	first = k;
	while (k < p.n && (k == first || p.p[k] != ']')) {
		unsigned low = bracket_char(p, &k), high = low;

		if (k + 1 < p.n && p.p[k] == '-' && p.p[k + 1] != ']') {
			k++;
			high = bracket_char(p, &k);
		}
		for (unsigned c = low; c <= high; c++)
			in[c] = true;
	}
	if (k >= p.n)
		return false;
	for (unsigned c = 0; c < 256; c++)
		e->in[c] = in[c] != negated;
	*i = k + 1;
	return true;
}

static size_t read_pattern(struct span p, struct element *elements)
{
	size_t n = 0;

	for (size_t i = 0; i < p.n; n++) {
		struct element *e = &elements[n];
		char c = p.p[i++];

		memset(e, 0, sizeof(*e));
		if (c == '*') {
			e->star = true;
		} else if (c == '?') {
			memset(e->in, true, sizeof(e->in));
		} else if (c == '\\' && i < p.n) {
			e->in[lower(p.p[i++])] = true;
		} else if (c != '[' || !read_bracket(p, &i, e)) {
			e->in[lower(c)] = true;
		}
	}
	return n;
}

static bool table_match(struct span pattern, struct span text)
{
	static struct element elements[MAX_COMPARED];
	static bool match[MAX_COMPARED + 1]
			 [MAX_COMPARED + 1]; /* [i][k]: elements from i on match text from k on */
	size_t n = read_pattern(pattern, elements);

	for (size_t i = n + 1; i-- > 0;) {
		for (size_t k = text.n + 1; k-- > 0;) {
			if (i == n)
				match[i][k] = k == text.n;
			else if (elements[i].star)
				match[i][k] = match[i + 1][k] || (k < text.n && match[i][k + 1]);
			else
				match[i][k] =
					k < text.n && elements[i].in[lower(text.p[k])] && match[i + 1][k + 1];
		}
	}
	return match[0][0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span pattern = fuzz_field(&f), text = fuzz_rest(&f);
	bool result = glob_match(pattern, text);

	if (pattern.n <= MAX_COMPARED && text.n <= MAX_COMPARED)
		CHECK(result == table_match(pattern, text));
	CHECK(glob_match(SPAN("*"), text));
	fuzz_end(&f);
	return 0;
}
