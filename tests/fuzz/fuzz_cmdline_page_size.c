/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page-size word on the command line. Input: the line. */
#include "fuzz.h"
#include <granule/cmdline.h>
#include <granule/error.h>

#define SIZE_WORD PARAM_PAGE_SIZE "="

static const page_size_set cpus[] = {
	PAGE_SIZE_SET_UNKNOWN,
	PAGE_SIZE_SET_ALL,
	1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K,
};

static bool is_space(char c)
{
	return c && strchr(" \t\n\v\f\r\xa0", c);
}

/* A line in which quotes, line ends and the raw field play no part can be read by a much simpler parser. */
static bool plain(struct span line)
{
	if (line.n > CMDLINE_MAX || fuzz_has(line, '"') || fuzz_has(line, '\n') || fuzz_has(line, 0))
		return false;
	for (size_t i = 0; i + 9 <= line.n; i++)
		if (!memcmp(line.p + i, "pageshift", 9))
			return false;
	return true;
}

static enum page_size read_plain(struct span line, unsigned *ret_words)
{
	static const struct span words[] = {
		[PAGE_SIZE_4K] = { SIZE_WORD "4k", sizeof(SIZE_WORD "4k") - 1 },
		[PAGE_SIZE_16K] = { SIZE_WORD "16k", sizeof(SIZE_WORD "16k") - 1 },
		[PAGE_SIZE_64K] = { SIZE_WORD "64k", sizeof(SIZE_WORD "64k") - 1 },
	};
	enum page_size asked = PAGE_SIZE_UNKNOWN;

	*ret_words = 0;
	for (size_t i = 0, end; i < line.n; i = end) {
		for (end = i; end < line.n && end - i < EARLY_WORD_MAX && !is_space(line.p[end]);)
			end++;
		struct span word = span_cut(line, i, end);
		if (!word.n)
			end++;
		if (span_equal(word, SPAN("--")))
			break;
		for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
			if (span_equal(word, words[s])) {
				asked = s;
				++*ret_words;
			}
		}
	}
	return asked;
}

static size_t first_line(struct span line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] && line.p[n] != '\n')
		n++;
	return n;
}

/* Notes about the part behind a line end are of their own kind, and its first word is not missed. */
static void check_newline(struct span line, const struct page_size_param *p)
{
	size_t n = first_line(line);
	bool missed = n < line.n && span_starts(span_cut(line, n + 1, line.n), SPAN(SIZE_WORD "4k"));

	for (unsigned i = 0; i < p->n_notes; i++) {
		CHECK((p->notes[i].kind == PARAM_AFTER_NEWLINE) == (p->notes[i].offset > n));
		missed = missed && p->notes[i].offset != n + 1;
	}
	CHECK(!missed || p->n_notes == PARAM_MAX_NOTES);
}

static void check_read(struct span line)
{
	struct page_size_param all[3];

	for (size_t i = 0; i < 3; i++) {
		struct page_size_param *p = &all[i];

		memset(p, 0xa5, sizeof(*p));
		cmdline_page_size(line, cpus[i], p);
		CHECK(p->asked <= PAGE_SIZE_64K && p->effective <= PAGE_SIZE_64K &&
		      p->n_notes <= PARAM_MAX_NOTES);
		CHECK(p->asked == all[0].asked && p->words == all[0].words &&
		      p->truncated == all[0].truncated);
		if (p->words)
			CHECK(p->first_offset < line.n &&
			      span_starts(span_cut(line, p->first_offset, line.n), SPAN(SIZE_WORD)));
		for (unsigned k = 0; k < p->n_notes; k++) {
			const struct param_note *note = &p->notes[k];
			CHECK(note->length && note->offset < line.n && note->length <= line.n - note->offset);
			CHECK(strcmp(param_note_text(note->kind), "is ignored"));
		}
		if (cpus[i] == PAGE_SIZE_SET_UNKNOWN)
			CHECK(p->effective == p->asked);
		else if (p->asked != PAGE_SIZE_UNKNOWN && page_size_in(p->asked, cpus[i]))
			CHECK(p->effective == p->asked);
		else
			CHECK(p->effective == PAGE_SIZE_64K);
	}
	check_newline(line, &all[0]);
	CHECK(all[0].truncated == (first_line(line) > CMDLINE_MAX));
	if (plain(line)) {
		unsigned words;
		CHECK(all[0].asked == read_plain(line, &words) && all[0].words == words);
	}
}

/* Whether a word is one that setting the size removes. */
static bool is_own(const struct cmdline_word *w)
{
	return span_starts(w->text, SPAN(SIZE_WORD)) || span_equal(w->text, SPAN(PARAM_PAGE_SIZE));
}

static bool next_other(struct span line, size_t *pos, struct cmdline_word *ret)
{
	while (cmdline_next(line, pos, ret))
		if (!is_own(ret))
			return true;
	return false;
}

/* All other words are still there, in their order. */
static void check_others(struct span before, struct span after)
{
	struct cmdline_word a, b;
	size_t i = 0, k = 0;

	while (next_other(before, &i, &a))
		CHECK(next_other(after, &k, &b) && span_equal(a.text, b.text));
	CHECK(!next_other(after, &k, &b));
}

static int set_size(struct fuzz *f, struct span line, enum page_size size, size_t room, struct span *ret_line)
{
	struct text ret = fuzz_text(f, room);
	struct param_note note = { .offset = SIZE_MAX };
	int error = cmdline_set_page_size(line, size, &ret, &note);

	fuzz_check_text(&ret);
	CHECK(note.offset <= line.n && note.length <= line.n - note.offset);
	*ret_line = fuzz_copy(f, ret.p, ret.n);
	return error;
}

static void check_set(struct fuzz *f, struct span line, enum page_size size)
{
	struct span set, again, ignored;
	struct page_size_param p;
	int error = set_size(f, line, size, line.n + sizeof(SIZE_WORD "64k "), &set);

	if (error) {
		CHECK(error == ERROR_CONFLICT || error == ERROR_SPACE || error == ERROR_SYNTAX);
		CHECK((error == ERROR_SPACE) == (set.n > CMDLINE_MAX));
		return;
	}

	CHECK(set.n <= CMDLINE_MAX);
	for (size_t i = 0; i < 3; i++) {
		cmdline_page_size(set, cpus[i], &p);
		CHECK(p.asked == size && p.words == (size != PAGE_SIZE_UNKNOWN) && !p.truncated);
		CHECK(p.first_offset == 0);
		if (size != PAGE_SIZE_UNKNOWN && page_size_in(size, cpus[i]))
			CHECK(p.effective == size && p.n_notes == 0);
	}
	check_others(line, set);
	CHECK(set_size(f, set, size, set.n + 1, &again) == 0 && span_equal(again, set));

	/* A buffer that just holds the result is enough, and one byte less is not. */
	CHECK(set_size(f, line, size, set.n + 1, &again) == 0 && span_equal(again, set));
	CHECK(set_size(f, line, size, set.n, &ignored) == ERROR_SPACE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span line = fuzz_rest(&f);

	check_read(line);
	check_read(SPAN_NONE);
	/* One size for each run; the length chooses, so that the input is nothing but a line. */
	check_set(&f, line, (enum page_size)(line.n % 4));
	fuzz_end(&f);
	return 0;
}
