/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/version_order.h>

static bool counts(char c)
{
	return char_is_digit(c) || char_is_alpha(c) || c == '-' || c == '.' || c == '~' || c == '^';
}

static void skip_noise(struct span *s)
{
	while (s->n && !counts(s->p[0]))
		*s = span_cut(*s, 1, s->n);
}

static struct span take(struct span *s, bool (*is_member)(char))
{
	size_t n = 0;

	while (n < s->n && is_member(s->p[n]))
		n++;
	struct span head = span_cut(*s, 0, n);
	*s = span_cut(*s, n, s->n);
	return head;
}

/* When exactly one side begins with `sign`, that side is older. When both do, the sign is eaten. */
static int compare_sign(struct span *a, struct span *b, char sign)
{
	bool in_a = a->n && a->p[0] == sign, in_b = b->n && b->p[0] == sign;

	if (in_a != in_b)
		return in_a ? -1 : 1;
	if (in_a) {
		*a = span_cut(*a, 1, a->n);
		*b = span_cut(*b, 1, b->n);
	}
	return 0;
}

static int compare_numbers(struct span a, struct span b)
{
	/* An empty run is lower than any number, zero included. */
	if (!a.n || !b.n)
		return a.n ? 1 : b.n ? -1 : 0;
	while (a.n && a.p[0] == '0')
		a = span_cut(a, 1, a.n);
	while (b.n && b.p[0] == '0')
		b = span_cut(b, 1, b.n);
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return span_compare(a, b);
}

int version_compare(struct span a, struct span b)
{
	for (;;) {
		int r;

		skip_noise(&a);
		skip_noise(&b);

		r = compare_sign(&a, &b, '~');
		if (r)
			return r;
		if (!a.n || !b.n)
			return a.n ? 1 : b.n ? -1 : 0;
		static const char signs[] = { '-', '^', '.' };
		for (size_t i = 0; i < sizeof(signs); i++) {
			r = compare_sign(&a, &b, signs[i]);
			if (r)
				return r;
		}

		if ((a.n && char_is_digit(a.p[0])) || (b.n && char_is_digit(b.p[0])))
			r = compare_numbers(take(&a, char_is_digit), take(&b, char_is_digit));
		else
			r = span_compare(take(&a, char_is_alpha), take(&b, char_is_alpha));
		if (r)
			return r;
	}
}
