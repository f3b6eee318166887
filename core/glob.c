/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/glob.h>

/* Matches one character against the element at pattern[*i], which is not '*', and moves *i behind it. From
 * *unclosed on no bracket is closed: once that is known, it is not looked for again. */
static bool match_one(struct span pattern, size_t *i, char c, size_t *unclosed)
{
	char p = pattern.p[(*i)++];

	c = char_lower(c);
	if (p == '?')
		return true;
	if (p == '\\' && *i < pattern.n)
		return char_lower(pattern.p[(*i)++]) == c;
	if (p != '[' || *i > *unclosed)
		return char_lower(p) == c;

	size_t k = *i;
	bool negated = k < pattern.n && (pattern.p[k] == '!' || pattern.p[k] == '^');
	bool found = false, first = true;

	if (negated)
		k++;
	for (; k < pattern.n && (first || pattern.p[k] != ']'); first = false) {
		if (pattern.p[k] == '\\' && k + 1 < pattern.n)
			k++;
		char low = char_lower(pattern.p[k++]), high = low;
		if (k + 1 < pattern.n && pattern.p[k] == '-' && pattern.p[k + 1] != ']') {
			k++;
			if (pattern.p[k] == '\\' && k + 1 < pattern.n)
				k++;
			high = char_lower(pattern.p[k++]);
		}
		/* Bytes, also where char is signed. */
		found = found ||
			((unsigned char)low <= (unsigned char)c && (unsigned char)c <= (unsigned char)high);
	}
	if (k >= pattern.n) { /* an ordinary bracket */
		*unclosed = *i - 1;
		return c == '[';
	}
	*i = k + 1;
	return found != negated;
}

bool glob_match(struct span pattern, struct span text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0, unclosed = SIZE_MAX;

	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = ++p;
			star_text = t;
			continue;
		}
		size_t next = p;
		if (p < pattern.n && match_one(pattern, &next, text.p[t], &unclosed)) {
			p = next;
			t++;
			continue;
		}
		/* Only the last star needs to give way: what an earlier one could win, this one can too. */
		if (star == SIZE_MAX)
			return false;
		p = star;
		t = ++star_text;
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}
