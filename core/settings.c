/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cmdline.h>
#include <granule/loader_conf.h>
#include <granule/settings.h>

/* Longer options leave no room on a command line for its own. */
#define TRIAL_OPTIONS_MAX 512

enum kind { KIND_SIZES, KIND_SWITCH, KIND_NUMBER, KIND_DURATION, KIND_OPTIONS };

static const struct {
	const char *key;
	enum kind kind;
	size_t field; /* offset of a number or duration */
	uint32_t min, max;
	const char *expected;
} keys[] = {
	{ "page-sizes", KIND_SIZES, 0, 0, 0, "some of 4k, 16k and 64k" },
	{ "tries", KIND_NUMBER, offsetof(struct settings_values, tries), 1, 99, "a number from 1 to 99" },
	{ "reboot-on-failure", KIND_SWITCH, 0, 0, 0, "yes or no" },
	{ "panic", KIND_DURATION, offsetof(struct settings_values, panic_s), 1, 3600,
	  "a time from 1s to 1h, such as 10s" },
	{ "verify-timeout", KIND_DURATION, offsetof(struct settings_values, verify_timeout_s), 1,
	  DURATION_MAX, "a time from 1s to 7d, such as 5m" },
	{ "check-timeout", KIND_DURATION, offsetof(struct settings_values, check_timeout_s), 1, DURATION_MAX,
	  "a time from 1s to 7d, such as 1m" },
	{ "deadline", KIND_DURATION, offsetof(struct settings_values, deadline_s), 0, DURATION_MAX,
	  "a time up to 7d, such as 10m, or 0 for none" },
	{ "trial-options", KIND_OPTIONS, 0, 0, 0,
	  "kernel parameters, at most 512 bytes, without panic=, a page size, or '--'" },
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

void settings_default(struct settings_values *ret)
{
	*ret = (struct settings_values){
		.sizes = PAGE_SIZE_SET_ALL,
		.reboot_on_failure = true,
		.tries = 1,
		.panic_s = 10,
		.verify_timeout_s = 300,
		.check_timeout_s = 60,
		.deadline_s = 600,
	};
}

const char *settings_key(size_t i)
{
	return i < N_KEYS ? keys[i].key : NULL;
}

/* ---- values ---- */

static bool is_separator(char c)
{
	return char_is_blank(c) || c == ',';
}

static bool parse_sizes(struct span value, page_size_set *ret)
{
	page_size_set set = 0;

	for (size_t i = 0; i < value.n;) {
		size_t end = i;

		while (end < value.n && !is_separator(value.p[end]))
			end++;
		if (end > i) {
			enum page_size size = page_size_parse_typed(span_cut(value, i, end));
			if (size == PAGE_SIZE_UNKNOWN)
				return false;
			set |= (page_size_set)(1u << size);
		}
		i = end + 1;
	}
	if (set)
		*ret = set;
	return set != 0;
}

/* Seconds of a unit; 0 for none that is known. */
static uint32_t unit_seconds(struct span unit)
{
	static const struct {
		const char *words[4];
		uint32_t seconds;
	} units[] = {
		{ { "s", "sec", "second", "seconds" }, 1 },
		{ { "m", "min", "minute", "minutes" }, 60 },
		{ { "h", "hr", "hour", "hours" }, 3600 },
		{ { "d", "day", "days", "days" }, 86400 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (size_t k = 0; k < 4; k++)
			if (span_equal(unit, span_of(units[i].words[k])))
				return units[i].seconds;
	return 0;
}

bool settings_duration(struct span text, uint32_t *ret_s)
{
	uint64_t sum = 0, number;

	text = span_trim(text);
	if (span_equal(text, SPAN("infinity"))) {
		*ret_s = 0;
		return true;
	}
	if (span_to_number(text, DURATION_MAX, &number)) {
		*ret_s = (uint32_t)number;
		return true;
	}
	if (!text.n)
		return false;
	/* A number without unit stands alone: "1h 30" could be minutes or seconds. */
	while (text.n) {
		size_t digits = 0;
		while (digits < text.n && char_is_digit(text.p[digits]))
			digits++;
		struct span rest = span_trim(span_cut(text, digits, text.n));
		size_t letters = 0;
		while (letters < rest.n && char_is_alpha(rest.p[letters]))
			letters++;

		uint32_t unit = unit_seconds(span_cut(rest, 0, letters));
		if (!unit || !span_to_number(span_cut(text, 0, digits), DURATION_MAX, &number))
			return false;
		sum += number * unit;
		if (sum > DURATION_MAX)
			return false;
		text = span_trim(span_cut(rest, letters, rest.n));
	}
	*ret_s = (uint32_t)sum;
	return true;
}

/* What is added to every trial must not undo what makes it one: the reboot on panic, and the page size. */
static bool options_fit(struct span value)
{
	struct page_size_param param;
	struct cmdline_word word;
	size_t pos = 0, quotes = 0;

	if (value.n > TRIAL_OPTIONS_MAX)
		return false;
	for (size_t i = 0; i < value.n; i++) {
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
		quotes += value.p[i] == '"';
	}
	if (quotes % 2)
		return false;
	while (cmdline_next(value, &pos, &word))
		if (span_equal(word.name, SPAN("panic")) || span_equal(word.text, SPAN("--")))
			return false;
	cmdline_page_size(value, PAGE_SIZE_SET_ALL, &param);
	return param.words == 0 && param.n_notes == 0;
}

static uint32_t *number_field(struct settings_values *values, size_t i)
{
	return (uint32_t *)(void *)((char *)values + keys[i].field);
}

static bool set_value(struct settings_values *values, size_t i, struct span value)
{
	struct settings_values fresh;
	uint64_t number = 0;
	uint32_t seconds = 0;

	settings_default(&fresh);
	switch (keys[i].kind) {
	case KIND_SIZES:
		if (value.n)
			return parse_sizes(value, &values->sizes);
		values->sizes = fresh.sizes;
		return true;
	case KIND_SWITCH:
		if (value.n)
			return switch_parse(value, &values->reboot_on_failure);
		values->reboot_on_failure = fresh.reboot_on_failure;
		return true;
	case KIND_OPTIONS:
		if (options_fit(value)) {
			values->trial_options = value;
			return true;
		}
		return false;
	case KIND_NUMBER:
		if (value.n && !span_to_number(value, keys[i].max, &number))
			return false;
		break;
	case KIND_DURATION:
		if (value.n && !settings_duration(value, &seconds))
			return false;
		number = seconds;
		break;
	}
	if (!value.n)
		number = *number_field(&fresh, i);
	if (number < keys[i].min || number > keys[i].max)
		return false;
	*number_field(values, i) = (uint32_t)number;
	return true;
}

/* ---- keys that are spelled alike ---- */

#define WORD_MAX 24

static char fold(char c)
{
	return c == '_' ? '-' : char_lower(c);
}

/* Letters that were left out, added, replaced or swapped between two words, of which none is longer than
 * WORD_MAX. */
static size_t distance(struct span a, struct span b)
{
	uint8_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a.n; i++) {
		for (size_t k = 0; k <= b.n; k++) {
			if (!i || !k) {
				d[i][k] = (uint8_t)(i + k);
				continue;
			}
			bool same = fold(a.p[i - 1]) == fold(b.p[k - 1]);
			size_t least = d[i - 1][k - 1] + !same;

			if (least > d[i - 1][k] + 1u)
				least = d[i - 1][k] + 1u;
			if (least > d[i][k - 1] + 1u)
				least = d[i][k - 1] + 1u;
			if (i > 1 && k > 1 && fold(a.p[i - 1]) == fold(b.p[k - 2]) &&
			    fold(a.p[i - 2]) == fold(b.p[k - 1]) && least > d[i - 2][k - 2] + 1u)
				least = d[i - 2][k - 2] + 1u;
			d[i][k] = (uint8_t)least;
		}
	}
	return d[a.n][b.n];
}

static const char *nearest_key(struct span word)
{
	const char *best = NULL;
	size_t best_distance = 3;

	for (size_t i = 0; i < N_KEYS && word.n <= WORD_MAX; i++) {
		size_t d = distance(word, span_of(keys[i].key));

		/* Two of five letters may be another word altogether. */
		if (d < best_distance && d * 3 <= word.n) {
			best = keys[i].key;
			best_distance = d;
		}
	}
	return best;
}

/* ---- lines ---- */

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

static bool read_line(struct span text, struct span line, struct settings_values *values,
		      struct settings_problem *ret)
{
	size_t equals = 0;

	*ret = (struct settings_problem){ .offset = (size_t)(line.p - text.p) };
	while (equals < line.n && line.p[equals] != '=')
		equals++;
	ret->key = span_trim(span_cut(line, 0, equals));
	if (equals == line.n || !ret->key.n) {
		ret->fault = SETTINGS_NO_EQUALS;
		return false;
	}
	ret->value = span_trim(span_cut(line, equals + 1, line.n));
	if (ret->value.n >= 2 && ret->value.p[0] == '"' && ret->value.p[ret->value.n - 1] == '"')
		ret->value = span_cut(ret->value, 1, ret->value.n - 1);
	for (size_t i = 0; i < N_KEYS; i++) {
		if (!span_equal(ret->key, span_of(keys[i].key)))
			continue;
		ret->fault = SETTINGS_BAD_VALUE;
		ret->expected = keys[i].expected;
		return set_value(values, i, ret->value);
	}
	ret->fault = SETTINGS_UNKNOWN_KEY;
	ret->meant = nearest_key(ret->key);
	return false;
}

bool settings_next_problem(struct span text, size_t *pos, struct settings_values *values,
			   struct settings_problem *ret)
{
	/* Some editors begin a file with a byte order mark. */
	if (*pos == 0 && span_starts(text, SPAN("\xef\xbb\xbf")))
		*pos = 3;
	while (*pos < text.n) {
		size_t start = *pos, end = start;

		while (end < text.n && !is_line_end(text.p[end]))
			end++;
		*pos = end + 1;

		struct span line = span_trim(span_cut(text, start, end));
		if (line.n && line.p[0] != '#' && !read_line(text, line, values, ret))
			return true;
	}
	return false;
}
