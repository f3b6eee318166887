/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <granule/path.h>

static void spellings_of_one_path_are_the_same(void **state)
{
	static const char *const same[] = { "/a/b", "a/b", "\\a\\b", "//a//b", "a\\/b", "/A/B", "/a/b/" };

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++)
		for (size_t k = 0; k < COUNT(same); k++)
			assert_true(path_same(span_of(same[i]), span_of(same[k])));
}

static void different_paths_are_not_the_same(void **state)
{
	static const char *const different[] = { "", "/a", "/a/b", "/ab", "/a/b/c", "/a/bc", "/b/a" };

	(void)state;
	for (size_t i = 0; i < COUNT(different); i++)
		for (size_t k = 0; k < COUNT(different); k++)
			assert_int_equal(path_same(span_of(different[i]), span_of(different[k])), i == k);
}

static void a_normal_path_has_single_separators_of_one_kind(void **state)
{
	static const struct {
		const char *path, *normal;
	} vectors[] = {
		{ "//kernels/4k", "\\kernels\\4k" },
		{ "kernels\\4k", "\\kernels\\4k" },
		{ "/a", "\\a" },
		{ "/a/", "\\a" },
		{ "/", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char buffer[64];
		struct text t = text_in(buffer, sizeof(buffer));

		path_normal(span_of(vectors[i].path), '\\', &t);
		assert_string_equal(buffer, vectors[i].normal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings_of_one_path_are_the_same),
		cmocka_unit_test(different_paths_are_not_the_same),
		cmocka_unit_test(a_normal_path_has_single_separators_of_one_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
