/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "grub_words.h"

/* Text that grows. */
struct out {
	char *p;
	size_t n, room;
};

static void put(struct out *out, const char *p, size_t n)
{
	if (out->n + n + 1 > out->room) {
		out->room = (out->n + n + 1) * 2;
		out->p = xrealloc(out->p, out->room);
	}
	memcpy(out->p + out->n, p, n);
	out->n += n;
	out->p[out->n] = 0;
}

/* What GRUB's lexer gives a meaning to is everything but these; what it calls a word by itself, such as `if`,
 * is none behind a command's name. */
static bool is_plain(char c)
{
	return char_is_alpha(c) || char_is_digit(c) || (c && strchr("_-+=.,:/@%", c));
}

/* A piece of a word without quotes, so that it means itself. */
static void put_literal(struct out *out, const char *p, size_t n)
{
	size_t plain = 0;

	while (plain < n && is_plain(p[plain]))
		plain++;
	if (plain == n && n) {
		put(out, p, n);
		return;
	}
	put(out, "'", 1);
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\'')
			put(out, "'\\''", 4);
		else
			put(out, p + i, 1);
	}
	put(out, "'", 1);
}

/* Length of "$name" or "${name}" at the start of the text, *ret the name; 0 if there is none. */
static size_t variable(const char *p, struct span *ret)
{
	size_t brace = p[1] == '{', n = 0;
	const char *name = p + 1 + brace;

	if (!char_is_alpha(*name) && *name != '_')
		return 0;
	while (char_is_alpha(name[n]) || char_is_digit(name[n]) || name[n] == '_')
		n++;
	if (brace && name[n] != '}')
		return 0;
	*ret = (struct span){ name, n };
	return 1 + n + 2 * brace;
}

struct word {
	char *literal; /* what has no variable in it, since the last one */
	size_t n;
	bool any; /* it has begun: "" is a word, too */
	struct out out;
};

static void flush_literal(struct word *w, bool even_empty)
{
	if (w->n || even_empty)
		put_literal(&w->out, w->literal, w->n);
	w->n = 0;
}

/* A variable keeps its quotes: outside of them GRUB parts its value into words. */
static void put_variable(struct word *w, struct span name, bool quoted)
{
	_cleanup_free_ char *text =
		xprintf("%s${%.*s}%s", quoted ? "\"" : "", (int)name.n, name.p, quoted ? "\"" : "");

	flush_literal(w, false);
	put(&w->out, text, strlen(text));
}

static bool is_white(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads one word; returns where it ends. */
static const char *read_word(const char *p, struct word *w, bool *ret_open)
{
	char quote = 0;
	struct span name;
	size_t n;

	w->n = w->out.n = 0;
	for (; *p && (quote || !is_white(*p)); p++) {
		if (quote ? *p == quote : *p == '"' || *p == '\'') {
			quote = quote ? 0 : *p;
		} else if (quote != '\'' && *p == '$' && (n = variable(p, &name))) {
			put_variable(w, name, quote);
			p += n - 1;
		} else if (quote != '\'' && *p == '\\' && p[1] && (!quote || strchr("\"\\$", p[1]))) {
			w->literal[w->n++] = *++p;
		} else {
			/* A line end within quotes would be one on the kernel command line. */
			w->literal[w->n++] = is_white(*p) ? ' ' : *p;
		}
	}
	flush_literal(w, !w->out.n);
	*ret_open = *ret_open || quote;
	return p;
}

static void add_word(struct out *to, const struct out *word)
{
	put(to, " ", to->n ? 1 : 0);
	put(to, word->p, word->n);
}

static char *text_of(const struct out *out)
{
	return out->p ? out->p : xstrdup("");
}

void grub_words_quote(const char *text, struct grub_words *ret)
{
	static const char size[] = "arm64.pagesize=";
	struct word w = { .literal = xalloc(strlen(text) + 1) };
	struct out all = { 0 }, without = { 0 }, behind = { 0 };

	*ret = (struct grub_words){ 0 };
	for (const char *p = text;;) {
		while (is_white(*p))
			p++;
		if (!*p)
			break;
		p = read_word(p, &w, &ret->open);
		if (behind.n || (w.out.n == 2 && memcmp(w.out.p, "--", 2) == 0)) {
			add_word(&behind, &w.out);
			continue;
		}
		add_word(&all, &w.out);
		if (w.out.n < sizeof(size) - 1 || memcmp(w.out.p, size, sizeof(size) - 1) != 0)
			add_word(&without, &w.out);
	}
	free(w.literal);
	free(w.out.p);
	ret->all = text_of(&all);
	ret->without_size = text_of(&without);
	ret->behind = text_of(&behind);
}

void grub_words_free(struct grub_words *words)
{
	free(words->all);
	free(words->without_size);
	free(words->behind);
}
