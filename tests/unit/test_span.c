/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans, texts and error phrases that everything else is built from. */
#include "unit.h"

#include <granule/error.h>

static void comparing_spans(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
		bool equal, nocase;
	} vectors[] = {
		{ "", "", 0, true, true },         { "a", "a", 0, true, true },
		{ "a", "b", -1, false, false },    { "a", "A", 1, false, true },
		{ "a", "ab", -1, false, false },   { "", "a", -1, false, false },
		{ "z", "\xc3", -1, false, false }, { "@", "`", -1, false, false },
		{ "[", "{", -1, false, false },    { "aZ", "Az", 1, false, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span a = exact(vectors[i].a), b = exact(vectors[i].b);

		check(sign_of(span_compare(a, b)) == vectors[i].order, "\"%s\" and \"%s\"", vectors[i].a,
		      vectors[i].b);
		assert_int_equal(sign_of(span_compare(b, a)), -vectors[i].order);
		assert_int_equal(span_equal(a, b), vectors[i].equal);
		assert_int_equal(span_equal_nocase(a, b), vectors[i].nocase);
		release(a);
		release(b);
	}
}

static void beginnings_ends_and_blanks(void **state)
{
	(void)state;
	assert_true(span_starts(SPAN("abc"), SPAN("ab")));
	assert_true(span_starts(SPAN("abc"), SPAN("")));
	assert_false(span_starts(SPAN("abc"), SPAN("AB")));
	assert_false(span_starts(SPAN("a"), SPAN("ab")));
	assert_true(span_ends_nocase(SPAN("a.CONF"), SPAN(".conf")));
	assert_false(span_ends_nocase(SPAN("conf"), SPAN(".conf")));
	assert_span_equal(span_trim(SPAN(" \t a b\t ")), "a b");
	assert_span_equal(span_trim(SPAN(" \t ")), "");
	assert_span_equal(span_trim(SPAN("\na\n")), "\na\n");
	assert_int_equal(span_of(NULL).n, 0);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool good;
		uint64_t want;
	} vectors[] = {
		{ "0", 0, true, 0 },
		{ "1", 0, false, 0 },
		{ "007", 7, true, 7 },
		{ "8", 7, false, 0 },
		{ "12", 12, true, 12 },
		{ "13", 12, false, 0 },
		{ "20", 12, false, 0 },
		{ "", 9, false, 0 },
		{ "-1", 9, false, 0 },
		{ "+1", 9, false, 0 },
		{ " 1", 9, false, 0 },
		{ "1a", 99, false, 0 },
		{ "1:", 99, false, 0 },
		{ "1/", 99, false, 0 },
		{ "18446744073709551615", UINT64_MAX, true, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, false, 0 },
		{ "99999999999999999999", UINT64_MAX, false, 0 },
		{ "5", 3, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span s = exact(vectors[i].text);
		uint64_t v = 0;

		check(span_to_number(s, vectors[i].max, &v) == vectors[i].good, "\"%s\"", vectors[i].text);
		assert_true(v == vectors[i].want);
		release(s);
	}
}

static void a_text_holds_what_fits_and_nothing_after(void **state)
{
	char *buffer = malloc(6);
	struct text t = text_in(buffer, 6);

	(void)state;
	text_add(&t, SPAN("abc"));
	text_add(&t, SPAN(""));
	text_add(&t, SPAN("de"));
	assert_false(t.full);
	assert_string_equal(buffer, "abcde");
	text_add(&t, SPAN("f"));
	assert_true(t.full);
	assert_string_equal(buffer, "abcde");
	t = text_in(buffer, 6);
	text_add(&t, SPAN("too long"));
	text_add(&t, SPAN("x"));
	assert_true(t.full);
	assert_string_equal(buffer, "");
	free(buffer);
	t = text_in(NULL, 0);
	assert_true(t.full);
	text_add(&t, SPAN(""));
}

static void numbers_are_written_with_leading_zeros(void **state)
{
	static const struct {
		uint64_t v;
		unsigned digits;
		const char *want;
	} vectors[] = {
		{ 0, 0, "0" },
		{ 0, 1, "0" },
		{ 0, 3, "000" },
		{ 7, 2, "07" },
		{ 10, 1, "10" },
		{ 123, 3, "123" },
		{ UINT64_MAX, 1, "18446744073709551615" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char buffer[40];
		struct text t = text_in(buffer, sizeof(buffer));

		text_add_number(&t, vectors[i].v, vectors[i].digits);
		assert_string_equal(buffer, vectors[i].want);
	}
}

static void little_endian_reads(void **state)
{
	static const unsigned char bytes[] = { 0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8 };

	(void)state;
	assert_int_equal(read_le16(bytes + 1), 0xf2f1);
	assert_true(read_le32(bytes + 1) == 0xf4f3f2f1);
	assert_true(read_le64(bytes + 1) == 0xf8f7f6f5f4f3f2f1);
}

static void every_error_has_a_phrase_of_its_own(void **state)
{
	const char *unknown = error_text(-1000);

	(void)state;
	for (int a = ERROR_ARCHITECTURE; a <= ERROR_NONE; a++) {
		assert_string_not_equal(error_text(a), unknown);
		for (int b = ERROR_ARCHITECTURE; b < a; b++)
			assert_string_not_equal(error_text(a), error_text(b));
	}
	assert_string_equal(error_text(1), unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparing_spans),
		cmocka_unit_test(beginnings_ends_and_blanks),
		cmocka_unit_test(numbers),
		cmocka_unit_test(a_text_holds_what_fits_and_nothing_after),
		cmocka_unit_test(numbers_are_written_with_leading_zeros),
		cmocka_unit_test(little_endian_reads),
		cmocka_unit_test(every_error_has_a_phrase_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
