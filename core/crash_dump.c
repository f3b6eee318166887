/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/crash_dump.h>

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* Next line that is not empty; false at the end. */
static bool next_line(struct span text, size_t *pos, struct span *ret)
{
	while (*pos < text.n) {
		size_t start = *pos, end = start;

		while (end < text.n && !is_line_end(text.p[end]))
			end++;
		*pos = end + 1;
		*ret = span_trim(span_cut(text, start, end));
		if (ret->n)
			return true;
	}
	return false;
}

/* Place of a phrase; the length of the text if it is not there. */
static size_t find(struct span text, struct span phrase)
{
	for (size_t i = 0; i + phrase.n <= text.n; i++)
		if (text.p[i] == phrase.p[0] && span_equal(span_cut(text, i, i + phrase.n), phrase))
			return i;
	return text.n;
}

static bool has(struct span text, struct span phrase)
{
	return find(text, phrase) < text.n;
}

static bool take_number(struct span *text, uint32_t *ret)
{
	size_t digits = 0;
	uint64_t v;

	while (digits < text->n && char_is_digit(text->p[digits]))
		digits++;
	if (!span_to_number(span_cut(*text, 0, digits), UINT32_MAX, &v))
		return false;
	*text = span_cut(*text, digits, text->n);
	*ret = (uint32_t)v;
	return true;
}

bool crash_head_parse(struct span dump, struct crash_head *ret)
{
	struct span line, rest;
	size_t pos = 0, letters = 0;

	*ret = (struct crash_head){ 0 };
	if (!next_line(dump, &pos, &line))
		return false;
	while (letters < line.n && (char_is_alpha(line.p[letters]) || line.p[letters] == ' '))
		letters++;
	ret->reason = span_cut(line, 0, letters);
	rest = span_cut(line, letters, line.n);
	if (!letters || !span_starts(rest, SPAN("#")))
		return false;
	rest = span_cut(rest, 1, rest.n);
	if (!take_number(&rest, &ret->count) || !span_starts(rest, SPAN(" Part")))
		return false;
	rest = span_cut(rest, 5, rest.n);
	return take_number(&rest, &ret->part) && !rest.n;
}

/* "<6>[   12.345678][    T1] text" to "text". */
static struct span without_prefix(struct span line)
{
	if (line.n && line.p[0] == '<') {
		size_t i = 1;
		while (i < line.n && char_is_digit(line.p[i]))
			i++;
		if (i > 1 && i < line.n && line.p[i] == '>')
			line = span_trim(span_cut(line, i + 1, line.n));
	}
	while (line.n && line.p[0] == '[') {
		size_t i = 1;
		while (i < line.n && (char_is_digit(line.p[i]) || char_is_blank(line.p[i]) ||
				      line.p[i] == '.' || line.p[i] == 'T' || line.p[i] == 'C'))
			i++;
		if (i >= line.n || line.p[i] != ']')
			break;
		line = span_trim(span_cut(line, i + 1, line.n));
	}
	return line;
}

#define PANIC SPAN("Kernel panic - not syncing")

static enum crash_kind kind_of(struct span line)
{
	static const struct {
		const char *phrase;
		bool begins; /* the line, otherwise it may be anywhere in it */
		enum crash_kind kind;
	} phrases[] = {
		{ "watchdog: BUG: soft lockup", true, CRASH_LOCKUP },
		{ "BUG: soft lockup", true, CRASH_LOCKUP },
		{ "NMI watchdog: Watchdog detected hard LOCKUP", true, CRASH_LOCKUP },
		{ "watchdog: Watchdog detected hard LOCKUP", true, CRASH_LOCKUP },
		{ "Watchdog detected hard LOCKUP", true, CRASH_LOCKUP },
		{ "self-detected stall on CPU", false, CRASH_LOCKUP },
		{ "rcu: INFO: rcu_", true, CRASH_LOCKUP },
		{ "Internal error: ", true, CRASH_OOPS },
		{ "Unable to handle kernel ", true, CRASH_OOPS },
		{ "kernel BUG at ", true, CRASH_OOPS },
		{ "BUG: ", true, CRASH_OOPS },
		{ "Oops: ", true, CRASH_OOPS },
		{ "Bad mode in ", true, CRASH_OOPS },
		{ "Unhandled fault: ", true, CRASH_OOPS },
		{ "SError Interrupt on CPU", true, CRASH_OOPS },
		{ "general protection fault", true, CRASH_OOPS },
	};

	if (has(line, PANIC))
		return CRASH_PANIC;
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		struct span phrase = span_of(phrases[i].phrase);

		if (phrases[i].begins ? span_starts(line, phrase) : has(line, phrase))
			return phrases[i].kind;
	}
	if (span_starts(line, SPAN("INFO: task ")) && has(line, SPAN(" blocked for more than ")))
		return CRASH_HUNG_TASK;
	return CRASH_NONE;
}

enum crash_kind crash_find(struct span log, enum crash_kind most, struct span *ret_line)
{
	enum crash_kind best = CRASH_NONE;
	struct span line;

	*ret_line = SPAN_NONE;
	for (size_t pos = 0; best < most && next_line(log, &pos, &line);) {
		line = without_prefix(line);
		enum crash_kind kind = kind_of(line);
		if (kind <= best || kind > most)
			continue;
		best = kind;
		/* What stands before it is of another message, or a decoration. */
		*ret_line = kind == CRASH_PANIC ? span_cut(line, find(line, PANIC), line.n) : line;
	}
	return best;
}

bool crash_is_sequel(struct span panic_line)
{
	static const char *const phrases[] = { "Fatal exception", "Oops",       "softlockup",
					       "hung_task",       "BUG!",       "RCU Stall",
					       "panic_on_warn",   "Hard LOCKUP" };

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (has(panic_line, span_of(phrases[i])))
			return true;
	return false;
}

void crash_line_clean(struct span line, size_t max, struct text *ret)
{
	bool blank = false;
	size_t n = 0;

	for (size_t i = 0; i < line.n; i++) {
		char c = line.p[i];

		if (c == ' ' || c == '\t') {
			blank = n > 0;
			continue;
		}
		if (c < ' ' || c > '~')
			c = '?';
		if (n + blank >= max)
			return;
		/* Only now, so that none is at the end. */
		if (blank)
			text_add(ret, SPAN(" "));
		text_add(ret, (struct span){ &c, 1 });
		n += 1u + blank;
		blank = false;
	}
}
