/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/path.h>

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/* Next component at or after *i; empty at the end. */
static struct span next_component(struct span path, size_t *i)
{
	while (*i < path.n && is_separator(path.p[*i]))
		(*i)++;
	size_t start = *i;
	while (*i < path.n && !is_separator(path.p[*i]))
		(*i)++;
	return span_cut(path, start, *i);
}

bool path_same(struct span a, struct span b)
{
	size_t i = 0, k = 0;

	for (;;) {
		struct span x = next_component(a, &i), y = next_component(b, &k);

		if (!x.n || !y.n)
			return x.n == y.n;
		if (!span_equal_nocase(x, y))
			return false;
	}
}

void path_normal(struct span path, char separator, struct text *ret)
{
	struct span component;

	for (size_t i = 0; (component = next_component(path, &i)).n;) {
		text_add(ret, (struct span){ &separator, 1 });
		text_add(ret, component);
	}
}
