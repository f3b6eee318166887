/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps of a kernel that died. Input: a byte for the length of the line, and the dump. */
#include "fuzz.h"
#include <granule/crash_dump.h>

static void check_clean(struct fuzz *f, struct span line, size_t max)
{
	struct text out = fuzz_text(f, max + 1), again = fuzz_text(f, max + 1);

	crash_line_clean(line, max, &out);
	fuzz_check_text(&out);
	CHECK(!out.full && out.n <= max);
	for (size_t i = 0; i < out.n; i++) {
		CHECK(out.p[i] >= ' ' && out.p[i] <= '~');
		CHECK(out.p[i] != ' ' || (i && i + 1 < out.n && out.p[i - 1] != ' '));
	}
	crash_line_clean(text_span(&out), max, &again);
	CHECK(span_equal(text_span(&again), text_span(&out)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t max = fuzz_byte(&f);
	struct span dump = fuzz_rest(&f), line;
	struct crash_head head;
	enum crash_kind last = CRASH_NONE;

	if (crash_head_parse(dump, &head))
		CHECK(head.reason.n && fuzz_inside(dump, head.reason));
	for (enum crash_kind most = CRASH_NONE; most <= CRASH_PANIC; most++) {
		struct span again;
		enum crash_kind kind = crash_find(dump, most, &line);

		CHECK(kind <= most && kind >= last && fuzz_inside(dump, line));
		CHECK((kind == CRASH_NONE) == (line.n == 0));
		/* The line alone tells the same. */
		if (kind)
			CHECK(crash_find(line, most, &again) == kind && span_equal(again, line));
		last = kind;
		(void)crash_is_sequel(line);
		check_clean(&f, line, max);
	}
	check_clean(&f, dump, max);
	fuzz_end(&f);
	return 0;
}
