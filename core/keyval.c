/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/keyval.h>

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

size_t keyval_line_number(struct span text, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < text.n; i++)
		line += text.p[i] == '\n' ? !i || text.p[i - 1] != '\r' : text.p[i] == '\r';
	return line;
}

bool keyval_next(struct span text, size_t *pos, struct keyval *ret)
{
	while (*pos < text.n) {
		size_t start = *pos, end = start;

		while (end < text.n && !is_line_end(text.p[end]))
			end++;
		*pos = end + 1;

		struct span line = span_trim(span_cut(text, start, end));
		if (!line.n || line.p[0] == '#')
			continue;

		size_t k = 0;
		while (k < line.n && !char_is_blank(line.p[k]))
			k++;
		struct span value = span_trim(span_cut(line, k, line.n));
		if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
			value = span_cut(value, 1, value.n - 1);
		if (!value.n)
			continue;

		*ret = (struct keyval){
			.key = span_cut(line, 0, k),
			.value = value,
			.offset = (size_t)(line.p - text.p),
			.line_start = start,
			.line_end = end,
		};
		return true;
	}
	return false;
}
