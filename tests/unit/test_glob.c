/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell patterns, compared with fnmatch(3) of the C library. */
#define _GNU_SOURCE
#include "unit.h"

#include <fnmatch.h>
#include <time.h>

#include <granule/glob.h>

static bool match(const char *pattern, const char *text)
{
	struct span p = exact(pattern), t = exact(text);
	bool r = glob_match(p, t);

	release(p);
	release(t);
	return r;
}

static void vectors_by_hand(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool want;
	} vectors[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "", false },
		{ "*", "", true },
		{ "**", "", true },
		{ "*", "abc", true },
		{ "?", "", false },
		{ "?", "a", true },
		{ "?", "ab", false },
		{ "a*c", "abbbc", true },
		{ "a*c", "ac", true },
		{ "a*c", "acd", false },
		{ "*a*b*", "xxaxxbxx", true },
		{ "*ab", "aab", true },
		{ "*ab", "abab", true },
		{ "*.conf", ".conf", true },
		{ "[abc]", "b", true },
		{ "[abc]", "d", false },
		{ "[a-c]", "b", true },
		{ "[a-c]", "d", false },
		{ "[!a-c]", "d", true },
		{ "[!a-c]", "b", false },
		{ "[^a]", "b", true },
		{ "[^a]", "a", false },
		{ "[]]", "]", true },
		{ "[]a]", "a", true },
		{ "[!]]", "]", false },
		{ "[!]]", "a", true },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[a-]", "b", false },
		{ "[a", "[a", true },
		{ "[", "[", true },
		{ "[a", "a", false },
		{ "[!", "[!", true },
		{ "x[", "x[", true },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "\\?", "?", true },
		{ "\\[a]", "[a]", true },
		{ "\\a", "a", true },
		{ "[\\]]", "]", true },
		{ "[\\a]", "\\", false },
		{ "ABC", "abc", true },
		{ "abc", "ABC", true },
		{ "[A-C]", "b", true },
		{ "[a-c]", "B", true },
		{ "a/b*", "a/bc/d", true },
		{ "*", ".a", true },
		{ "[.]a", ".a", true },
		{ "[a-c-e]", "-", true },
		{ "[a-c-e]", "d", false },
		{ "\\A", "a", true },
		{ "[a\\-c]", "-", true },
		{ "[a\\-c]", "b", false },
		{ "[a-\\c]", "b", true },
		{ "[a-\\c]", "\\", false },
		{ "[\\a-c]", "b", true },
		{ "[\\]", "[]", true },
		{ "*[!k]", "64k", false },
		{ "6.12.*-64[kK]", "6.12.3-64k", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		check(match(vectors[i].pattern, vectors[i].text) == vectors[i].want, "\"%s\" and \"%s\"",
		      vectors[i].pattern, vectors[i].text);
}

static void random_word(uint32_t *seed, const char *alphabet, uint32_t longest, char *ret)
{
	uint32_t n = random_below(seed, longest + 1);

	for (uint32_t i = 0; i < n; i++)
		ret[i] = alphabet[random_below(seed, (uint32_t)strlen(alphabet))];
	ret[n] = 0;
}

static void compare_with_fnmatch(const char *pattern_alphabet, const char *text_alphabet, uint32_t seed)
{
	unsigned matched = 0;

	for (int round = 0; round < 200000; round++) {
		char pattern[16], text[16];
		bool want;
		size_t n;

		random_word(&seed, pattern_alphabet, 8, pattern);
		random_word(&seed, text_alphabet, 5, text);
		/* POSIX leaves a backslash at the end open. */
		n = strlen(pattern);
		if (n && pattern[n - 1] == '\\')
			pattern[n - 1] = 'a';
		want = fnmatch(pattern, text, FNM_CASEFOLD) == 0;
		matched += want;
		check(match(pattern, text) == want, "\"%s\" and \"%s\": fnmatch() says %d", pattern, text,
		      want);
	}
	assert_true(matched > 2000);
}

static void stars_and_question_marks_match_as_in_fnmatch(void **state)
{
	(void)state;
	compare_with_fnmatch("ab**?", "ab", 1);
}

static void sets_match_as_in_fnmatch(void **state)
{
	(void)state;
	compare_with_fnmatch("abc*[]!-", "abc-]", 2);
}

static void escapes_match_as_in_fnmatch(void **state)
{
	(void)state;
	compare_with_fnmatch("ab*?\\", "ab*?\\", 3);
}

static void escapes_in_sets_match_as_in_fnmatch(void **state)
{
	(void)state;
	compare_with_fnmatch("abAc*[]]-\\!", "abc]-\\", 5);
}

static void a_backslash_at_the_end_is_not_read_past(void **state)
{
	static const char *const patterns[] = { "\\", "a\\", "*\\", "[\\", "[a-\\", "[a\\", "[!\\" };
	static const char *const texts[] = { "", "a", "ab", "\\", "a\\", "[", "[a" };

	(void)state;
	/* What it matches is left open. */
	for (size_t i = 0; i < COUNT(patterns); i++)
		for (size_t k = 0; k < COUNT(texts); k++)
			match(patterns[i], texts[k]);
}

static void letters_match_without_case_as_in_fnmatch(void **state)
{
	(void)state;
	compare_with_fnmatch("aAbBzZ*[]-0", "aAbBzZ0", 4);
}

static double seconds_for(struct span pattern, struct span text, bool want)
{
	clock_t before = clock();

	assert_int_equal(glob_match(pattern, text), want);
	return (double)(clock() - before) / CLOCKS_PER_SEC;
}

static void many_stars_are_quick(void **state)
{
	char pattern[400], text[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(pattern); i += 2) {
		pattern[i] = '*';
		pattern[i + 1] = 'a';
	}
	memset(text, 'a', sizeof(text));
	pattern[sizeof(pattern) - 1] = 'b';
	assert_true(seconds_for((struct span){ pattern, sizeof(pattern) },
				(struct span){ text, sizeof(text) }, false) < 1);
	pattern[sizeof(pattern) - 1] = 'a';
	assert_true(seconds_for((struct span){ pattern, sizeof(pattern) },
				(struct span){ text, sizeof(text) }, true) < 1);
}

static void many_open_brackets_are_quick(void **state)
{
	char pattern[600], text[1200];

	(void)state;
	memset(pattern, '[', sizeof(pattern));
	memset(text, '[', sizeof(text));
	pattern[0] = '*';
	pattern[sizeof(pattern) - 1] = 'x';
	assert_true(seconds_for((struct span){ pattern, sizeof(pattern) },
				(struct span){ text, sizeof(text) }, false) < 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_by_hand),
		cmocka_unit_test(stars_and_question_marks_match_as_in_fnmatch),
		cmocka_unit_test(sets_match_as_in_fnmatch),
		cmocka_unit_test(escapes_match_as_in_fnmatch),
		cmocka_unit_test(escapes_in_sets_match_as_in_fnmatch),
		cmocka_unit_test(a_backslash_at_the_end_is_not_read_past),
		cmocka_unit_test(letters_match_without_case_as_in_fnmatch),
		cmocka_unit_test(many_stars_are_quick),
		cmocka_unit_test(many_open_brackets_are_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
