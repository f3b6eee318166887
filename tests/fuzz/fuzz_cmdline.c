/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ordinary parameters. Input: NAME|VALUE|LINE. */
#include "fuzz.h"
#include <granule/cmdline.h>
#include <granule/error.h>

static bool is_space(char c)
{
	return c && strchr(" \t\n\v\f\r\xa0", c);
}

static bool has_space(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_space(s.p[i]))
			return true;
	return false;
}

/* Words follow each other, and nothing but white space lies between. */
static void check_words(struct span line)
{
	struct cmdline_word w;
	size_t pos = 0, covered = 0;

	while (cmdline_next(line, &pos, &w)) {
		bool quoted = false;

		CHECK(w.text.n && fuzz_inside(line, w.text) && fuzz_inside(w.text, w.name));
		CHECK(fuzz_inside(w.text, w.value) && (w.has_value || !w.value.n));
		CHECK(!w.has_value || fuzz_has(w.text, '='));
		for (; line.p + covered < w.text.p; covered++)
			CHECK(is_space(line.p[covered]));
		for (; line.p + covered < w.text.p + w.text.n; covered++) {
			CHECK(quoted || !is_space(line.p[covered]));
			quoted ^= line.p[covered] == '"';
		}
		CHECK(covered == pos && (covered == line.n || is_space(line.p[covered])));
	}
	for (; covered < line.n; covered++)
		CHECK(is_space(line.p[covered]));
	CHECK(pos == line.n);
}

static bool same_name(struct span a, struct span b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++)
		if (a.p[i] != b.p[i] &&
		    !((a.p[i] == '-' || a.p[i] == '_') && (b.p[i] == '-' || b.p[i] == '_')))
			return false;
	return a.n == b.n;
}

/* Next word that an edit of `name` must leave alone; *for_init: "--" was passed. */
static bool next_other(struct span line, size_t *pos, struct span name, bool *for_init,
		       struct cmdline_word *ret)
{
	while (cmdline_next(line, pos, ret)) {
		*for_init = *for_init || span_equal(ret->text, SPAN("--"));
		if (*for_init || !same_name(ret->name, name))
			return true;
	}
	return false;
}

static void check_others(struct span before, struct span after, struct span name)
{
	bool before_init = false, after_init = false;
	struct cmdline_word a, b;
	size_t i = 0, k = 0;

	while (next_other(before, &i, name, &before_init, &a))
		CHECK(next_other(after, &k, name, &after_init, &b) && span_equal(a.text, b.text));
	CHECK(!next_other(after, &k, name, &after_init, &b));
}

static unsigned count(struct span line, struct span name)
{
	struct cmdline_word w;
	unsigned n = 0;

	for (size_t pos = 0; cmdline_next(line, &pos, &w) && !span_equal(w.text, SPAN("--"));)
		n += same_name(w.name, name);
	return n;
}

static bool open_quote(struct span line)
{
	bool open = false;

	for (size_t i = 0; i < line.n; i++)
		open ^= line.p[i] == '"';
	return open;
}

static void check_set(struct fuzz *f, struct span line, struct span name, struct span value)
{
	struct text out = fuzz_text(f, line.n + name.n + value.n + sizeof(" =\"\""));
	struct span got = SPAN("?");
	int error = cmdline_set(line, name, value, &out);

	CHECK(error == 0 || error == ERROR_SYNTAX);
	fuzz_check_text(&out);
	bool wrong = fuzz_has(value, '"') || fuzz_has(value, '\n') || fuzz_has(value, '\r');
	/* A quote that is left open would swallow what is put behind it. */
	CHECK(error ? wrong || open_quote(line) : !wrong);
	if (error)
		return;

	struct span result = fuzz_copy(f, out.p, out.n);
	struct text fits = fuzz_text(f, result.n + 1), tight = fuzz_text(f, result.n);
	CHECK(cmdline_set(line, name, value, &fits) == 0 && span_equal(text_span(&fits), result));
	CHECK(cmdline_set(line, name, value, &tight) == ERROR_SPACE || !result.n);
	fuzz_check_text(&tight);

	CHECK(cmdline_get(result, name, &got) && span_equal(got, value));
	CHECK(count(result, name) == 1);
	check_others(line, result, name);
}

static void check_remove(struct fuzz *f, struct span line, struct span name)
{
	struct text out = fuzz_text(f, line.n + 1);
	struct span got;

	CHECK(cmdline_remove(line, name, &out) == 0);
	fuzz_check_text(&out);
	struct span result = fuzz_copy(f, out.p, out.n);
	CHECK(!cmdline_get(result, name, &got) && count(result, name) == 0);
	check_others(line, result, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span name = fuzz_field(&f), value = fuzz_field(&f), line = fuzz_rest(&f), got = SPAN_NONE;

	check_words(line);
	CHECK(cmdline_get(line, name, &got) == (count(line, name) > 0));
	CHECK(fuzz_inside(line, got));
	/* Names that can be written as such; "--" is no parameter. */
	if (name.n && !has_space(name) && !fuzz_has(name, '"') && !fuzz_has(name, '=') &&
	    !same_name(name, SPAN("--"))) {
		check_set(&f, line, name, value);
		check_set(&f, line, name, SPAN_NONE);
		check_remove(&f, line, name);
	}
	fuzz_end(&f);
	return 0;
}
