/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/os_release.h>

static bool is_escaped_in_quotes(char c)
{
	return c == '"' || c == '\\' || c == '$' || c == '`';
}

/* Takes away what quotes a value, in place. Blanks at the end count only if they are quoted. */
static struct span unquote(char *p, size_t n)
{
	size_t out = 0, keep = 0;
	char quote = 0;

	for (size_t i = 0; i < n; i++) {
		char c = p[i];
		bool literal = quote != 0;

		if (!quote && (c == '"' || c == '\'')) {
			quote = c;
			continue;
		}
		if (quote && c == quote) {
			quote = 0;
			continue;
		}
		if (c == '\\' && quote != '\'' && i + 1 < n && (!quote || is_escaped_in_quotes(p[i + 1]))) {
			c = p[++i];
			literal = true;
		}
		p[out++] = c;
		if (literal || !char_is_blank(c))
			keep = out;
	}
	return (struct span){ p, keep };
}

bool os_release_next(char *text, size_t size, size_t *pos, struct span *ret_key, struct span *ret_value)
{
	while (*pos < size && text[*pos]) {
		size_t end = *pos;

		while (end < size && text[end] && text[end] != '\n' && text[end] != '\r')
			end++;
		struct span line = span_trim((struct span){ text + *pos, end - *pos });
		*pos = end < size && text[end] ? end + 1 : end;

		size_t equals = 0;
		while (equals < line.n && line.p[equals] != '=')
			equals++;
		if (!equals || equals == line.n || line.p[0] == '#')
			continue;
		struct span value = span_trim(span_cut(line, equals + 1, line.n));
		*ret_key = span_cut(line, 0, equals);
		*ret_value = unquote(text + (value.p - text), value.n);
		return true;
	}
	return false;
}
