/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/env_block.h>
#include <granule/error.h>

static const struct span signature = { "# GRUB Environment Block\n", 25 };

/* End of the line that starts at i: its '\n', where one after a backslash does not count; ENV_BLOCK_SIZE if
 * it has none. */
static size_t line_end(const char *b, size_t i)
{
	while (i < ENV_BLOCK_SIZE && b[i] != '\n')
		i += b[i] == '\\' ? 2 : 1;
	return i < ENV_BLOCK_SIZE ? i : ENV_BLOCK_SIZE;
}

static size_t name_end(const char *b, size_t i, size_t end)
{
	while (i < end && b[i] != '=')
		i++;
	return i;
}

/* Lines of '#' that end are comments, as grub-editenv writes one; '#' up to the end of the block is padding.
 */
static bool skip_comments(const char *b, size_t *i)
{
	while (*i < ENV_BLOCK_SIZE && b[*i] == '#') {
		size_t end = *i;

		while (end < ENV_BLOCK_SIZE && b[end] != '\n')
			end++;
		if (end == ENV_BLOCK_SIZE)
			return false;
		*i = end + 1;
	}
	return *i < ENV_BLOCK_SIZE;
}

int env_block_check(const void *block, size_t size, size_t *ret_offset)
{
	const char *b = block;

	*ret_offset = 0;
	if (size != ENV_BLOCK_SIZE) {
		*ret_offset = size;
		return size < ENV_BLOCK_SIZE ? ERROR_TRUNCATED : ERROR_RANGE;
	}
	if (!span_equal((struct span){ b, signature.n }, signature))
		return ERROR_MAGIC;
	size_t i = signature.n;
	while (skip_comments(b, &i)) {
		size_t end = line_end(b, i), equals = name_end(b, i, end);

		if (end == ENV_BLOCK_SIZE || equals == end || equals == i) {
			*ret_offset = i;
			return ERROR_SYNTAX;
		}
		i = end + 1;
	}
	/* Behind the last line there is padding and nothing else. */
	for (size_t k = i; k < ENV_BLOCK_SIZE; k++) {
		if (b[k] != '#') {
			*ret_offset = i;
			return ERROR_SYNTAX;
		}
	}
	return 0;
}

void env_block_init(void *block)
{
	char *b = block;

	for (size_t i = 0; i < ENV_BLOCK_SIZE; i++)
		b[i] = i < signature.n ? signature.p[i] : '#';
}

bool env_block_next(const void *block, size_t *pos, struct span *ret_name, struct span *ret_value)
{
	const char *b = block;
	size_t i = *pos ? *pos : signature.n;

	if (!skip_comments(b, &i))
		return false;
	size_t end = line_end(b, i), equals = name_end(b, i, end);
	if (end == ENV_BLOCK_SIZE || equals == end)
		return false;
	*ret_name = (struct span){ b + i, equals - i };
	*ret_value = (struct span){ b + equals + 1, end - equals - 1 };
	*pos = end + 1;
	return true;
}

static bool find(const void *block, struct span name, struct span *ret_value, size_t *ret_start,
		 size_t *ret_end)
{
	struct span n, v;

	for (size_t pos = 0; env_block_next(block, &pos, &n, &v);) {
		if (!span_equal(n, name))
			continue;
		*ret_value = v;
		*ret_start = (size_t)(n.p - (const char *)block);
		*ret_end = pos;
		return true;
	}
	return false;
}

int env_block_get(const void *block, struct span name, struct text *ret)
{
	struct span value;
	size_t start, end;

	if (!find(block, name, &value, &start, &end))
		return ERROR_NOT_FOUND;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] == '\\' && i + 1 < value.n)
			i++;
		text_add(ret, span_cut(value, i, i + 1));
	}
	return ret->full ? ERROR_SPACE : 0;
}

/* Bytes up to the padding. */
static size_t used(const void *block)
{
	struct span n, v;
	size_t end = signature.n;

	for (size_t pos = 0; env_block_next(block, &pos, &n, &v);)
		end = pos;
	skip_comments(block, &end);
	return end;
}

void env_block_unset(void *block, struct span name)
{
	char *b = block;
	struct span value;
	size_t start, end;

	while (find(block, name, &value, &start, &end)) {
		size_t all = used(block), n = end - start;

		for (size_t i = start; i < all; i++)
			b[i] = i + n < all ? b[i + n] : '#';
	}
}

static bool name_valid(struct span name)
{
	if (!name.n || name.p[0] == '#')
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '=' || name.p[i] == '\n' || name.p[i] == '\\' || !name.p[i])
			return false;
	return true;
}

static bool needs_escape(char c)
{
	return c == '\\' || c == '\n';
}

int env_block_set(void *block, struct span name, struct span value)
{
	char *b = block;
	struct span other, old;
	size_t room, needed;

	if (!name_valid(name))
		return ERROR_SYNTAX;
	room = ENV_BLOCK_SIZE - used(block);
	for (size_t pos = 0; env_block_next(block, &pos, &other, &old);)
		if (span_equal(other, name)) /* all copies go, should there be several */
			room += other.n + old.n + 2;
	needed = name.n + 2;
	for (size_t i = 0; i < value.n; i++)
		needed += needs_escape(value.p[i]) ? 2 : 1;
	if (needed > room)
		return ERROR_SPACE;

	env_block_unset(block, name);
	size_t at = used(block);
	for (size_t i = 0; i < name.n; i++)
		b[at++] = name.p[i];
	b[at++] = '=';
	for (size_t i = 0; i < value.n; i++) {
		if (needs_escape(value.p[i]))
			b[at++] = '\\';
		b[at++] = value.p[i];
	}
	b[at] = '\n';
	return 0;
}
