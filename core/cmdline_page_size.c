/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page-size word as the kernel reads it: arch/arm64 idreg-override splits at white space, knows no
 * quotes, stops at "--", reads at most 255 bytes of a word; and before it the EFI stub ends the line at a
 * newline and truncates it. */
#include <granule/cmdline.h>
#include <granule/error.h>

/* What one word means to the early parser. */
enum word_kind {
	WORD_OTHER,
	WORD_SIZE,      /* arm64.pagesize=4k|16k|64k */
	WORD_MISSPELT,  /* arm64.pagesize with another value or none */
	WORD_RAW,       /* arm64_sw.pageshift=N */
	WORD_QUOTED,    /* a page-size word with quotes in it */
	WORD_LOOKALIKE, /* another name around "pagesize" */
};

static const struct span size_name = { PARAM_PAGE_SIZE, sizeof(PARAM_PAGE_SIZE) - 1 };
static const struct span raw_name = { PARAM_PAGE_SHIFT, sizeof(PARAM_PAGE_SHIFT) - 1 };

static bool has_name(struct span word, struct span name)
{
	return span_starts(word, name) && (word.n == name.n || word.p[name.n] == '=');
}

/* The parser reads '-' as '_': the raw field may be spelled either way. */
static bool has_raw_name(struct span word)
{
	if (word.n < raw_name.n)
		return false;
	for (size_t i = 0; i < raw_name.n; i++)
		if ((word.p[i] == '-' ? '_' : word.p[i]) != raw_name.p[i])
			return false;
	return word.n > raw_name.n && word.p[raw_name.n] == '=';
}

/* Whether the word, freed of case and of '-', '_', '.' and quotes, holds `needle`. */
static bool resembles(struct span word, struct span needle)
{
	for (size_t start = 0; start < word.n; start++) {
		size_t k = 0;

		for (size_t i = start; i < word.n && k < needle.n; i++) {
			char c = char_lower(word.p[i]);
			if (c == '-' || c == '_' || c == '.' || c == '"')
				continue;
			if (c != needle.p[k])
				break;
			k++;
		}
		if (k == needle.n)
			return true;
	}
	return false;
}

/* The number of a raw field, in any of the forms that the kernel's kstrtou64() takes. What is larger than any
 * page size is RAW_MANY: its exact value does not matter. */
#define RAW_MANY 1000u

static bool raw_number(struct span s, unsigned *ret)
{
	unsigned base = 10, v = 0;

	if (s.n && s.p[0] == '+')
		s = span_cut(s, 1, s.n);
	if (s.n > 2 && s.p[0] == '0' && char_lower(s.p[1]) == 'x') {
		base = 16;
		s = span_cut(s, 2, s.n);
	} else if (s.n > 1 && s.p[0] == '0') {
		base = 8;
	}
	if (!s.n)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = char_lower(s.p[i]);
		unsigned digit = char_is_digit(c) ? (unsigned)(c - '0')
				 : c >= 'a'       ? (unsigned)(c - 'a') + 10
						  : 99;
		if (digit >= base)
			return false;
		v = v * base + digit;
		if (v > RAW_MANY)
			v = RAW_MANY;
	}
	*ret = v;
	return true;
}

static enum word_kind classify(struct span word, enum page_size *ret_size)
{
	unsigned raw;

	*ret_size = PAGE_SIZE_UNKNOWN;
	if (has_name(word, size_name)) {
		if (word.n > size_name.n)
			*ret_size = page_size_parse(span_cut(word, size_name.n + 1, word.n));
		if (*ret_size != PAGE_SIZE_UNKNOWN)
			return WORD_SIZE;
		for (size_t i = 0; i < word.n; i++)
			if (word.p[i] == '"')
				return WORD_QUOTED;
		return WORD_MISSPELT;
	}
	if (has_raw_name(word)) {
		/* A field of four bits: 1, 2, 3 are sizes, anything else cancels; what is no number is
		 * ignored. */
		if (!raw_number(span_cut(word, raw_name.n + 1, word.n), &raw))
			return WORD_LOOKALIKE;
		if (raw >= PAGE_SIZE_4K && raw <= PAGE_SIZE_64K)
			*ret_size = (enum page_size)raw;
		return WORD_RAW;
	}
	if (resembles(word, SPAN("arm64pagesize=")) && word.p[0] == '"')
		return WORD_QUOTED;
	if (resembles(word, SPAN("pagesize=")) || span_equal_nocase(word, SPAN("arm64_pagesize")))
		return WORD_LOOKALIKE;
	return WORD_OTHER;
}

static void note(struct page_size_param *ret, enum param_note_kind kind, size_t offset, size_t length)
{
	if (ret->n_notes < PARAM_MAX_NOTES)
		ret->notes[ret->n_notes++] = (struct param_note){ kind, offset, length };
}

/* Where the line ends for the kernel. The stub looks for a newline outside and inside quotes alike, and when
 * the line is too long it goes back to the last blank outside quotes. */
static size_t reach(struct span line, bool *ret_truncated, size_t *ret_newline)
{
	size_t safe = 0;
	bool quoted = false;

	*ret_truncated = false;
	*ret_newline = SIZE_MAX;
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\n' || line.p[i] == 0) {
			*ret_newline = i;
			return i;
		}
		if (i >= CMDLINE_MAX) {
			*ret_truncated = true;
			return safe;
		}
		if (line.p[i] == '"')
			quoted = !quoted;
		else if (!quoted && char_is_space(line.p[i]))
			safe = i;
	}
	return line.n;
}

/* Next word of the early parser: split at white space, cut at EARLY_WORD_MAX. */
static bool early_next(struct span line, size_t *pos, size_t *ret_start, bool *ret_cut)
{
	bool after_cut =
		*pos > 0 && *pos < line.n && !char_is_space(line.p[*pos - 1]) && !char_is_space(line.p[*pos]);
	size_t i = *pos;

	while (i < line.n && char_is_space(line.p[i]))
		i++;
	*ret_start = i;
	while (i < line.n && !char_is_space(line.p[i]) && i - *ret_start < EARLY_WORD_MAX)
		i++;
	*pos = i;
	*ret_cut = after_cut || (i < line.n && !char_is_space(line.p[i]));
	return i > *ret_start;
}

struct early_state {
	struct page_size_param *ret;
	page_size_set cpu;
	size_t decided_at, decided_length; /* word that holds the decision so far */
	bool decided;
};

static void take_word(struct early_state *st, enum page_size size, size_t offset, size_t length)
{
	struct page_size_param *ret = st->ret;

	if (st->decided)
		note(ret, PARAM_SUPERSEDED, st->decided_at, st->decided_length);
	if (size != PAGE_SIZE_UNKNOWN && st->cpu != PAGE_SIZE_SET_UNKNOWN && !page_size_in(size, st->cpu))
		note(ret, PARAM_NOT_ON_CPU, offset, length);
	ret->asked = size;
	st->decided = true;
	st->decided_at = offset;
	st->decided_length = length;
}

/* Notes page-size words in a part of the line that the parser never sees. */
static void note_unseen(struct page_size_param *ret, struct span line, size_t from, size_t to,
			enum param_note_kind why)
{
	struct span part = span_cut(line, 0, to);
	enum page_size size;
	size_t start;
	bool cut;

	for (size_t pos = from; early_next(part, &pos, &start, &cut);) {
		struct span word = span_cut(part, start, pos);
		if (classify(word, &size) != WORD_OTHER)
			note(ret, why, start, word.n);
	}
}

static void read_word(struct early_state *st, struct span line, size_t start, size_t end, bool cut,
		      bool quoted)
{
	struct page_size_param *ret = st->ret;
	struct span word = span_cut(line, start, end);
	enum page_size size;

	switch (classify(word, &size)) {
	case WORD_OTHER:
		return;
	case WORD_SIZE:
		if (ret->words++ == 0)
			ret->first_offset = start;
		take_word(st, size, start, word.n);
		if (cut)
			note(ret, PARAM_CUT_WORD, start, word.n);
		else if (quoted)
			note(ret, PARAM_INSIDE_QUOTES, start, word.n);
		return;
	case WORD_RAW:
		take_word(st, size, start, word.n);
		note(ret, PARAM_RAW_FIELD, start, word.n);
		return;
	case WORD_MISSPELT:
		note(ret, PARAM_MISSPELT, start, word.n);
		return;
	case WORD_QUOTED:
		note(ret, PARAM_QUOTED, start, word.n);
		return;
	case WORD_LOOKALIKE:
		note(ret, PARAM_LOOKALIKE, start, word.n);
		return;
	}
}

void cmdline_page_size(struct span line, page_size_set cpu, struct page_size_param *ret)
{
	struct early_state st = { .ret = ret, .cpu = cpu };
	size_t newline, start, pos = 0, quotes_at = 0;
	bool cut, quoted = false;

	*ret = (struct page_size_param){ 0 };
	size_t end = reach(line, &ret->truncated, &newline);
	struct span seen = span_cut(line, 0, end);

	while (early_next(seen, &pos, &start, &cut)) {
		for (; quotes_at < start; quotes_at++)
			quoted ^= seen.p[quotes_at] == '"';
		if (span_equal(span_cut(seen, start, pos), SPAN("--"))) {
			note_unseen(ret, seen, pos, end, PARAM_AFTER_DASHES);
			break;
		}
		read_word(&st, seen, start, pos, cut, quoted);
	}
	if (newline != SIZE_MAX)
		note_unseen(ret, line, newline + 1, line.n, PARAM_AFTER_NEWLINE);
	else if (ret->truncated)
		note_unseen(ret, line, end, line.n, PARAM_TRUNCATED);

	ret->effective = ret->asked;
	if (ret->asked == PAGE_SIZE_UNKNOWN ||
	    (cpu != PAGE_SIZE_SET_UNKNOWN && !page_size_in(ret->asked, cpu)))
		ret->effective = page_size_largest(cpu);
}

const char *param_note_text(enum param_note_kind kind)
{
	switch (kind) {
	case PARAM_MISSPELT:
		return "is ignored by the kernel: only 4k, 16k and 64k in lower case are understood";
	case PARAM_LOOKALIKE:
		return "is ignored by the kernel: the parameter is called " PARAM_PAGE_SIZE;
	case PARAM_QUOTED:
		return "is ignored by the kernel: it does not see through quotes here";
	case PARAM_INSIDE_QUOTES:
		return "is obeyed by the kernel although it stands inside quotes";
	case PARAM_AFTER_DASHES:
		return "is ignored by the kernel: it stands after \"--\"";
	case PARAM_AFTER_NEWLINE:
		return "never reaches the kernel: the command line ends at the line break before it";
	case PARAM_TRUNCATED:
		return "never reaches the kernel: the command line is too long and is truncated before it";
	case PARAM_SUPERSEDED:
		return "has no effect: a later word decides";
	case PARAM_NOT_ON_CPU:
		return "asks for a page size that this CPU lacks: the kernel takes the largest one instead";
	case PARAM_RAW_FIELD:
		return "sets or cancels the page size as well";
	case PARAM_CUT_WORD:
		return "is part of a word longer than 255 bytes, which the kernel cuts in two";
	}
	return "is ignored";
}

/* First word that would set, cancel or resemble the parameter and that is not a plain one, which is simply
 * replaced. The whole line is looked at: what the kernel drops today may be read once the line is shorter. */
static bool find_conflict(struct span line, struct param_note *ret)
{
	size_t start, quotes_at = 0;
	bool cut, quoted = false, for_init = false;
	enum page_size size;

	for (size_t pos = 0; early_next(line, &pos, &start, &cut);) {
		struct span word = span_cut(line, start, pos);
		enum word_kind kind = classify(word, &size);
		enum param_note_kind why = PARAM_LOOKALIKE;

		for (; quotes_at < start; quotes_at++)
			quoted ^= line.p[quotes_at] == '"';
		for_init = for_init || span_equal(word, SPAN("--"));
		if (kind == WORD_OTHER)
			continue;
		if (for_init)
			why = PARAM_AFTER_DASHES;
		else if (kind == WORD_RAW)
			why = PARAM_RAW_FIELD;
		else if (kind == WORD_QUOTED)
			why = PARAM_QUOTED;
		else if (cut && kind != WORD_LOOKALIKE)
			why = PARAM_CUT_WORD;
		else if (quoted && kind == WORD_SIZE)
			why = PARAM_INSIDE_QUOTES;
		else if (quoted && kind == WORD_MISSPELT)
			why = PARAM_MISSPELT;
		else if (kind != WORD_LOOKALIKE)
			continue;
		*ret = (struct param_note){ why, start, word.n };
		return true;
	}
	return false;
}

int cmdline_set_page_size(struct span line, enum page_size size, struct text *ret,
			  struct param_note *ret_note)
{
	struct cmdline_word w;
	struct page_size_param after;
	enum page_size ignored;

	*ret_note = (struct param_note){ 0 };
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\n' || line.p[i] == '\r' || line.p[i] == 0) {
			ret_note->offset = i;
			return ERROR_SYNTAX;
		}
	}
	if (find_conflict(line, ret_note))
		return ERROR_CONFLICT;

	if (size != PAGE_SIZE_UNKNOWN) {
		text_add(ret, SPAN(PARAM_PAGE_SIZE "="));
		text_add(ret, span_of(page_size_word(size)));
	}
	for (size_t pos = 0; cmdline_next(line, &pos, &w);) {
		enum word_kind kind = classify(w.text, &ignored);

		if (kind == WORD_SIZE || kind == WORD_MISSPELT)
			continue;
		if (ret->n)
			text_add(ret, SPAN(" "));
		text_add(ret, w.text);
	}
	if (ret->full || ret->n > CMDLINE_MAX)
		return ERROR_SPACE;

	/* Read it back as the kernel will. */
	cmdline_page_size(text_span(ret), PAGE_SIZE_SET_UNKNOWN, &after);
	if (after.asked != size || after.words != (size != PAGE_SIZE_UNKNOWN) || after.n_notes ||
	    after.truncated)
		return ERROR_CONFLICT;
	return 0;
}
