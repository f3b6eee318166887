/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows, facts and wrapping of the menu. Input: TITLE|ID|REASON|OPTIONS, whose lengths and bytes also choose
 * the rest. */
#include "fuzz.h"
#include <granule/menu_list.h>
#include <granule/utf8.h>

static size_t columns_of(struct span s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; n++)
		utf8_decode(s, &i);
	return n;
}

static void check_row(struct fuzz *f, const struct entry *e, struct span why, size_t columns)
{
	const struct menu_row row = { .number = columns,
				      .apart = why.n & 1 ? why : SPAN_NONE,
				      .why_unusable = why };
	struct text t = fuzz_text(f, UTF8_COLUMNS_SIZE(columns));

	menu_row_format(e, &row, columns, &t);
	fuzz_check_text(&t);
	CHECK(!t.full && columns_of(text_span(&t)) <= columns);
	for (size_t i = 0; i < t.n; i++)
		CHECK((unsigned char)t.p[i] >= ' ' && t.p[i] != 0x7f);
}

/* Rows follow each other and lose nothing but line ends. */
static void check_wrap(struct fuzz *f, struct span text, size_t columns)
{
	size_t pos = 0, before;

	while (pos < text.n) {
		before = pos;
		struct span row = menu_wrap(text, &pos, columns);
		CHECK(pos > before && pos <= text.n && fuzz_inside(text, row));
		CHECK(row.p == text.p + before && !fuzz_has(row, '\n') && columns_of(row) <= columns);
		CHECK(pos == before + row.n || (pos == before + row.n + 1 && text.p[pos - 1] == '\n'));
	}
	CHECK(!menu_wrap(text, &pos, columns).n);

	struct text t = fuzz_text(f, UTF8_COLUMNS_SIZE(columns + 20));
	for (pos = 0; pos < text.n;) {
		before = pos;
		t = text_in(t.p, t.size);
		menu_wrap_indented(text, &pos, columns + 20, &t);
		CHECK(!t.full && pos > before && columns_of(text_span(&t)) <= columns + 20);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span title = fuzz_field(&f), id = fuzz_field(&f), why = fuzz_field(&f),
		    options = fuzz_rest(&f);
	struct entry e = {
		.type = (enum entry_type)(id.n % 3),
		.id = id,
		.kind = (enum image_kind)(options.n % 3),
		.page_size = (enum page_size)(title.n % 4),
		.unusable = why.n != 0,
		.edited = options.n & 1,
		.counter = { .present = title.n & 1, .left = (uint32_t)(title.n % 3) },
		.bls = { .title = title, .options = options, .start = BLS_START_LINUX, .path = id },
	};
	struct text facts = fuzz_text(&f, title.n + 3 * id.n + why.n + options.n + 1000);

	check_row(&f, &e, why, 40 + title.n % 200);
	menu_facts_format(&e, PAGE_SIZE_SET_ALL, why, &facts);
	fuzz_check_text(&facts);
	CHECK(!facts.full);
	check_wrap(&f, text_span(&facts), 1 + title.n % 100);
	check_wrap(&f, options, 2 + why.n % 100);
	fuzz_end(&f);
	return 0;
}
