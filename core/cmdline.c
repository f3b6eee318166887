/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cmdline.h>
#include <granule/error.h>

bool cmdline_next(struct span line, size_t *pos, struct cmdline_word *ret)
{
	size_t i = *pos, equals = SIZE_MAX;
	bool quoted = false;

	while (i < line.n && char_is_space(line.p[i]))
		i++;
	if (i >= line.n) {
		*pos = line.n;
		return false;
	}

	size_t start = i;
	for (; i < line.n && (quoted || !char_is_space(line.p[i])); i++) {
		if (line.p[i] == '"')
			quoted = !quoted;
		else if (line.p[i] == '=' && i > start && equals == SIZE_MAX)
			equals = i;
	}
	*pos = i;

	struct span text = span_cut(line, start, i), name = text, value = SPAN_NONE;
	bool has_value = equals != SIZE_MAX;
	if (has_value) {
		name = span_cut(line, start, equals);
		value = span_cut(line, equals + 1, i);
		if (value.n && value.p[0] == '"') {
			value = span_cut(value, 1, value.n);
			if (value.n && value.p[value.n - 1] == '"')
				value.n--;
		}
	}
	if (name.n && name.p[0] == '"') {
		/* The whole word is quoted: the closing quote ends the value, or the name. */
		name = span_cut(name, 1, name.n);
		if (has_value && value.n && value.p[value.n - 1] == '"')
			value.n--;
		else if (!has_value && name.n && name.p[name.n - 1] == '"')
			name.n--;
	}
	*ret = (struct cmdline_word){ text, name, value, has_value };
	return true;
}

/* Parameter names: '-' and '_' are the same. */
static bool name_equal(struct span a, struct span b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		char x = a.p[i] == '-' ? '_' : a.p[i], y = b.p[i] == '-' ? '_' : b.p[i];
		if (x != y)
			return false;
	}
	return true;
}

static bool is_dashes(const struct cmdline_word *w)
{
	return span_equal(w->text, SPAN("--"));
}

bool cmdline_get(struct span line, struct span name, struct span *ret)
{
	struct cmdline_word w;
	bool found = false;

	for (size_t pos = 0; cmdline_next(line, &pos, &w) && !is_dashes(&w);) {
		if (name_equal(w.name, name)) {
			*ret = w.value;
			found = true;
		}
	}
	return found;
}

static void add_word(struct text *ret, struct span word)
{
	if (ret->n)
		text_add(ret, SPAN(" "));
	text_add(ret, word);
}

static void add_parameter(struct text *ret, struct span name, struct span value)
{
	bool quote = false;

	for (size_t i = 0; i < value.n; i++)
		quote = quote || char_is_space(value.p[i]);
	add_word(ret, name);
	if (!value.p)
		return;
	text_add(ret, quote ? SPAN("=\"") : SPAN("="));
	text_add(ret, value);
	if (quote)
		text_add(ret, SPAN("\""));
}

/* Copies all words, those of `name` replaced by at most one of the new value (`set`). */
static int edit(struct span line, struct span name, bool set, struct span value, struct text *ret)
{
	struct cmdline_word w;
	bool for_init = false;

	for (size_t pos = 0; cmdline_next(line, &pos, &w);) {
		if (!for_init && is_dashes(&w)) {
			for_init = true;
			if (set)
				add_parameter(ret, name, value);
			set = false;
		}
		if (for_init || !name_equal(w.name, name)) {
			add_word(ret, w.text);
		} else if (set) {
			add_parameter(ret, name, value);
			set = false;
		}
	}
	if (set)
		add_parameter(ret, name, value);
	return ret->full ? ERROR_SPACE : 0;
}

/* Whether the line ends inside quotes: what is added behind would be part of them. */
static bool quote_open(struct span line)
{
	bool open = false;

	for (size_t i = 0; i < line.n; i++)
		open ^= line.p[i] == '"';
	return open;
}

int cmdline_set(struct span line, struct span name, struct span value, struct text *ret)
{
	if (quote_open(line))
		return ERROR_SYNTAX;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == '"' || value.p[i] == '\n' || value.p[i] == '\r')
			return ERROR_SYNTAX;
	return edit(line, name, true, value, ret);
}

int cmdline_remove(struct span line, struct span name, struct text *ret)
{
	return edit(line, name, false, SPAN_NONE, ret);
}
