/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of version strings. */
#include "unit.h"

#include <granule/version_order.h>

static int compare(const char *left, const char *right)
{
	struct span a = exact(left), b = exact(right);
	int r = sign_of(version_compare(a, b));

	release(a);
	release(b);
	return r;
}

/* -1: the left one is older. */
static const struct {
	const char *left, *right;
	int want;
} vectors[] = {
	/* Computed by an independent program. */
	{ "6.12.0-211.el10_2.aarch64", "6.12.0-211.el10_2.aarch64+64k", -1 },
	{ "6.12.0-211.el10_2.aarch64+64k", "6.12.0-212.el10_2.aarch64", -1 },
	{ "6.8.0-50-generic", "6.8.0-50-generic-64k", -1 },
	{ "6.8.0-50-generic-64k", "6.8.0-51-generic", -1 },
	{ "v6.12-4k", "v6.12-16k", -1 },
	{ "v6.12-16k", "v6.12-64k", -1 },
	{ "6.12~rc3", "6.12", -1 },
	{ "6.12", "6.12-rc3", -1 },
	{ "0", "0.", -1 },
	{ "1_", "1", 0 },
	{ "foo.conf", "foo+3.conf", -1 },
	/* Each rule by itself. */
	{ "", "", 0 },
	{ "", "a", -1 },
	{ "~", "", -1 },
	{ "~a", "~b", -1 },
	{ "a~", "a", -1 },
	{ "a~", "a-", -1 },
	{ "a~1", "a~2", -1 },
	{ "a-1", "a^1", -1 },
	{ "a^1", "a.1", -1 },
	{ "a-1", "a.1", -1 },
	{ "a-1", "a1", -1 },
	{ "a^1", "ab", -1 },
	{ "a.1", "a1", -1 },
	{ "a.1", "ab", -1 },
	{ "a-", "a-1", -1 },
	{ "a^", "a^1", -1 },
	{ "1.9", "1.10", -1 },
	{ "9", "10", -1 },
	{ "19", "20", -1 },
	{ "1.2.3", "1.2.4", -1 },
	{ "1.2", "1.2.0", -1 },
	{ "00123", "123", 0 },
	{ "0", "00", 0 },
	{ "0", "1", -1 },
	{ "a", "0", -1 },
	{ "a.b", "a.0", -1 },
	{ "1a", "11", -1 },
	{ "99999999999999999999998", "99999999999999999999999", -1 },
	{ "99999999999999999999999", "100000000000000000000000", -1 },
	{ "A", "a", -1 },
	{ "Z", "a", -1 },
	{ "ab", "abc", -1 },
	{ "ab", "b", -1 },
	{ "ab1", "abc", -1 },
	{ "a_b", "ab", -1 },
	{ "1+2", "1_2", 0 },
	{ "+1", "1", 0 },
	{ "\xc3\xa4"
	  "1",
	  "1", 0 },
	{ "1:2", "1 2", 0 },
	{ "123.45-67.88", "123.45-67.89", -1 },
	{ "123.45-67.89", "123.45.0-67.89", -1 },
	{ "123", "123a", -1 },
	{ "123a", "123.1", 1 },
	{ "123a", "123a-1", -1 },
	{ "123a-1", "123a-1.1", -1 },
	{ "123.a-1", "123.1-1", -1 },
	{ "1--", "1-", 1 },
};

static void vectors_in_both_directions(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		int there = compare(vectors[i].left, vectors[i].right);
		int back = compare(vectors[i].right, vectors[i].left);

		check(there == vectors[i].want, "\"%s\" and \"%s\": %d", vectors[i].left, vectors[i].right,
		      there);
		check(back == -vectors[i].want, "\"%s\" and \"%s\": %d", vectors[i].right, vectors[i].left,
		      back);
	}
}

static void it_is_a_total_order(void **state)
{
	static const char *const list[] = {
		"",
		"~",
		"~~",
		"~a",
		"~1",
		"-",
		"^",
		".",
		"0",
		"00",
		"1",
		"01",
		"9",
		"10",
		"a",
		"A",
		"b",
		"aa",
		"a1",
		"a~",
		"a~1",
		"a-",
		"a-1",
		"a^1",
		"a.1",
		"a.a",
		"a_",
		"_a",
		"1.2",
		"1.2~rc1",
		"1.2-rc1",
		"1.2^git1",
		"1.2.0",
		"1-2",
		"1+2",
		"1_2",
		"1a",
		"1a2",
		"v6.12-4k",
		"v6.12-16k",
		"6.12.0-211.el10_2.aarch64",
		"6.12.0-211.el10_2.aarch64+64k",
		"6.12.0-212.el10_2.aarch64",
		"6.8.0-50-generic",
		"6.8.0-50-generic-64k",
		"--",
		"..",
		"^^",
		"-~",
		".~",
	};
	static int order[COUNT(list)][COUNT(list)];

	(void)state;
	for (size_t a = 0; a < COUNT(list); a++)
		for (size_t b = 0; b < COUNT(list); b++)
			order[a][b] = compare(list[a], list[b]);
	for (size_t a = 0; a < COUNT(list); a++) {
		check(order[a][a] == 0, "\"%s\" differs from itself", list[a]);
		for (size_t b = 0; b < COUNT(list); b++) {
			check(order[a][b] == -order[b][a], "\"%s\" and \"%s\"", list[a], list[b]);
			for (size_t c = 0; c < COUNT(list); c++) {
				bool through_b = order[a][b] <= 0 && order[b][c] <= 0;
				bool strictly = through_b && (order[a][b] < 0 || order[b][c] < 0);

				check(!through_b || order[a][c] <= 0, "\"%s\" <= \"%s\" <= \"%s\"", list[a],
				      list[b], list[c]);
				check(!strictly || order[a][c] < 0, "\"%s\" < \"%s\" < \"%s\"", list[a],
				      list[b], list[c]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_in_both_directions),
		cmocka_unit_test(it_is_a_total_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
