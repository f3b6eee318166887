/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader.conf. Input: KEY|VALUE|TEXT. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/keyval.h>
#include <granule/loader_conf.h>

/* Keys whose values can be wrong. */
static bool has_rules(struct span key)
{
	static const char *const keys[] = { "timeout",     "page-size",     "reboot-on-error",
					    "editor",      "auto-entries",  "auto-firmware",
					    "auto-reboot", "auto-poweroff", "boot-counting",
					    "random-seed", "env-block" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (span_equal(key, span_of(keys[i])))
			return true;
	return false;
}

static void check_parse(struct span text)
{
	struct loader_conf c;
	struct keyval kv;
	bool at_key = false;

	memset(&c, 0xa5, sizeof(c));
	loader_conf_parse(text, &c);
	CHECK(c.menu <= MENU_DISABLED && c.page_size <= PAGE_SIZE_64K);
	CHECK(c.menu != MENU_TIMEOUT || c.timeout_s >= 1);
	CHECK(fuzz_inside(text, c.default_pattern) && fuzz_inside(text, c.preferred_pattern));
	for (size_t pos = 0; keyval_next(text, &pos, &kv);) {
		/* The last line of a key may end the text of an earlier one, never the other way round. */
		if (span_equal(kv.key, SPAN("default")))
			CHECK(c.default_pattern.p >= kv.value.p);
		if (span_equal(kv.key, SPAN("preferred")))
			CHECK(c.preferred_pattern.p >= kv.value.p);
		at_key = at_key || (c.has_bad && kv.offset == c.bad_offset && has_rules(kv.key));
	}
	CHECK(at_key == c.has_bad);
}

static void check_mode(struct span value)
{
	enum menu_mode mode = MENU_DISABLED;
	uint32_t seconds = 0;

	if (menu_mode_parse(value, &mode, &seconds))
		CHECK(mode <= MENU_DISABLED && (mode == MENU_TIMEOUT) == (seconds > 0) &&
		      seconds < UINT32_MAX);
	else
		CHECK(mode == MENU_DISABLED && seconds == 0);
}

/* Whether a line "key value" would be read as these two again. */
static bool can_be_read(struct span key, struct span value)
{
	if (!key.n || key.p[0] == '#' || fuzz_has(key, ' ') || fuzz_has(key, '\t') || fuzz_has(key, '\n') ||
	    fuzz_has(key, '\r') || fuzz_has(value, '\n') || fuzz_has(value, '\r'))
		return false;
	if (!value.n)
		return true;
	return span_trim(value).n == value.n && !(value.p[0] == '"' && value.p[value.n - 1] == '"');
}

/* Next line that is not empty and does not set `key`. */
static bool next_other(struct span text, size_t *pos, struct span key, struct span *ret)
{
	while (*pos < text.n) {
		size_t start = *pos, end = start, at = 0;
		struct keyval kv;

		while (end < text.n && text.p[end] != '\n' && text.p[end] != '\r')
			end++;
		*pos = end + 1;
		*ret = span_cut(text, start, end);
		if (ret->n && !(keyval_next(*ret, &at, &kv) && span_equal(kv.key, key)))
			return true;
	}
	return false;
}

static void check_others(struct span before, struct span after, struct span key)
{
	size_t i = 0, k = 0;
	struct span a, b;

	while (next_other(before, &i, key, &a))
		CHECK(next_other(after, &k, key, &b) && span_equal(a, b));
	CHECK(!next_other(after, &k, key, &b));
}

static void check_set(struct fuzz *f, struct span text, struct span key, struct span value)
{
	size_t most = text.n + key.n + value.n + sizeof("\n \n");
	struct text out = fuzz_text(f, most);
	struct keyval kv;
	unsigned found = 0;

	int error = loader_conf_set(text, key, value, &out);
	fuzz_check_text(&out);
	CHECK(error == (fuzz_has(value, '\n') || fuzz_has(value, '\r') ? ERROR_SYNTAX : 0));
	if (error)
		return;
	struct text fits = fuzz_text(f, out.n + 1), tight = fuzz_text(f, out.n);
	CHECK(loader_conf_set(text, key, value, &fits) == 0 && span_equal(text_span(&fits), text_span(&out)));
	CHECK(loader_conf_set(text, key, value, &tight) == ERROR_SPACE);
	fuzz_check_text(&tight);
	if (!can_be_read(key, value))
		return;

	struct span result = fuzz_copy(f, out.p, out.n);
	for (size_t pos = 0; keyval_next(result, &pos, &kv);) {
		if (!span_equal(kv.key, key))
			continue;
		found++;
		CHECK(span_equal(kv.value, value));
	}
	CHECK(found == (value.n ? 1 : 0));
	check_others(text, result, key);

	/* Setting it once more changes nothing. */
	struct text again = fuzz_text(f, result.n + 1);
	CHECK(loader_conf_set(result, key, value, &again) == 0 && span_equal(text_span(&again), result));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span key = fuzz_field(&f), value = fuzz_field(&f), text = fuzz_rest(&f);

	check_parse(text);
	check_mode(value);
	check_set(&f, text, key, value);
	check_set(&f, text, SPAN("page-size"), SPAN("64k"));
	check_set(&f, SPAN_NONE, key, value); /* there is no file yet */
	fuzz_end(&f);
	return 0;
}
