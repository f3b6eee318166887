/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot counters in file names. */
#include "unit.h"

#include <granule/boot_counter.h>

struct vector {
	const char *file;
	bool present;
	uint32_t left, done;
	const char *id, *next;
};

static void check_vectors(const struct vector *vectors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct vector *v = &vectors[i];
		struct boot_counter c;
		char id[400], next[400];
		struct text id_text = text_in(id, sizeof(id)), next_text = text_in(next, sizeof(next));
		struct span file = exact(v->file);

		assert_true(boot_counter_parse(file, &c));
		check(c.present == v->present, "%s: counter %s", v->file, c.present ? "found" : "missed");
		check(c.left == v->left && c.done == v->done, "%s: %u and %u", v->file, c.left, c.done);
		boot_counter_id(&c, &id_text);
		check(!strcmp(id, v->id), "%s: id %s", v->file, id);
		boot_counter_next(&c, &next_text);
		check(!strcmp(next, v->next), "%s: next %s", v->file, next);
		release(file);
	}
}

static void counters_of_file_names(void **state)
{
	static const struct vector vectors[] = {
		{ "foo.conf", false, 0, 0, "foo.conf", "foo.conf" },
		{ "Foo.CONF", false, 0, 0, "foo.conf", "Foo.CONF" },
		{ "foo+3.conf", true, 3, 0, "foo.conf", "foo+2-1.conf" },
		{ "foo+3-0.conf", true, 3, 0, "foo.conf", "foo+2-1.conf" },
		{ "foo+2-1.conf", true, 2, 1, "foo.conf", "foo+1-2.conf" },
		{ "foo+1-2.conf", true, 1, 2, "foo.conf", "foo+0-3.conf" },
		{ "foo+0-3.conf", true, 0, 3, "foo.conf", "foo+0-4.conf" },
		{ "foo+0.conf", true, 0, 0, "foo.conf", "foo+0-1.conf" },
		{ "FOO+3-1.Conf", true, 3, 1, "foo.conf", "FOO+2-2.Conf" },
		{ "foo+3.efi", true, 3, 0, "foo.efi", "foo+2-1.efi" },
		{ "foo+3.EFI", true, 3, 0, "foo.efi", "foo+2-1.EFI" },
		{ "foo+1+2.conf", true, 2, 0, "foo+1.conf", "foo+1+1-1.conf" },
		{ "foo+64k+2.conf", true, 2, 0, "foo+64k.conf", "foo+64k+1-1.conf" },
		{ "foo+3-+1.conf", true, 1, 0, "foo+3-.conf", "foo+3-+0-1.conf" },
		{ "a-b+2-1.conf", true, 2, 1, "a-b.conf", "a-b+1-2.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void a_release_ending_in_plus_64k_is_no_counter(void **state)
{
	static const struct vector vectors[] = {
		{ "foo+64k.conf", false, 0, 0, "foo+64k.conf", "foo+64k.conf" },
		{ "6.12.0-211.el10_2.aarch64+64k.conf", false, 0, 0, "6.12.0-211.el10_2.aarch64+64k.conf",
		  "6.12.0-211.el10_2.aarch64+64k.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void a_release_ending_in_plus_64_reads_as_a_counter(void **state)
{
	static const struct vector vectors[] = {
		{ "foo+64.conf", true, 64, 0, "foo.conf", "foo+63-01.conf" },
		{ "foo+16.conf", true, 16, 0, "foo.conf", "foo+15-01.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void what_is_not_all_digits_is_part_of_the_name(void **state)
{
	static const char *const names[] = {
		"foo+.conf",     "foo+-.conf",   "foo+-1.conf", "foo+3-.conf",  "foo+3-1-2.conf",
		"foo+3--1.conf", "foo+3x.conf",  "foo+x3.conf", "foo+3-x.conf", "foo+3-1x.conf",
		"foo+3.1.conf",  "foo+ 3.conf",  "foo+3 .conf", "foo+0x3.conf", "foo+3.x.conf",
		"foo+3+.conf",   "foo-3-1.conf", "+3.conf",     "+3-1.conf",    "foo3.conf",
		"+.conf",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct vector v = { names[i], false, 0, 0, names[i], names[i] };

		check_vectors(&v, 1);
	}
}

static void numbers_reach_up_to_2_31_minus_1(void **state)
{
	static const struct vector vectors[] = {
		{ "f+2147483647.conf", true, 2147483647, 0, "f.conf", "f+2147483646-0000000001.conf" },
		{ "f+2147483648.conf", false, 0, 0, "f+2147483648.conf", "f+2147483648.conf" },
		{ "f+1-2147483647.conf", true, 1, 2147483647, "f.conf", "f+0-2147483647.conf" },
		{ "f+1-2147483646.conf", true, 1, 2147483646, "f.conf", "f+0-2147483647.conf" },
		{ "f+1-2147483648.conf", false, 0, 0, "f+1-2147483648.conf", "f+1-2147483648.conf" },
		{ "f+99999999999999999999.conf", false, 0, 0, "f+99999999999999999999.conf",
		  "f+99999999999999999999.conf" },
		{ "f+18446744073709551617.conf", false, 0, 0, "f+18446744073709551617.conf",
		  "f+18446744073709551617.conf" },
		{ "f+0000000000003.conf", true, 3, 0, "f.conf", "f+0000000000002-0000000000001.conf" },
		{ "f+3-02147483647.conf", true, 3, 2147483647, "f.conf", "f+2-02147483647.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void numbers_keep_their_count_of_digits(void **state)
{
	static const struct vector vectors[] = {
		{ "f+10.conf", true, 10, 0, "f.conf", "f+09-01.conf" },
		{ "f+10-00.conf", true, 10, 0, "f.conf", "f+09-01.conf" },
		{ "f+09-01.conf", true, 9, 1, "f.conf", "f+08-02.conf" },
		{ "f+100-0.conf", true, 100, 0, "f.conf", "f+099-1.conf" },
		{ "f+03-09.conf", true, 3, 9, "f.conf", "f+02-10.conf" },
		{ "f+00-12.conf", true, 0, 12, "f.conf", "f+00-13.conf" },
		/* All nines is the end. */
		{ "f+1-9.conf", true, 1, 9, "f.conf", "f+0-9.conf" },
		{ "f+1-99.conf", true, 1, 99, "f.conf", "f+0-99.conf" },
		{ "f+1-98.conf", true, 1, 98, "f.conf", "f+0-99.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void even_absurdly_many_digits_are_kept(void **state)
{
	static const struct vector vectors[] = {
		{ "f+00000000000000000000000000000000000003-000000000000000000000000000000000001.conf", true,
		  3, 1, "f.conf",
		  "f+00000000000000000000000000000000000002-000000000000000000000000000000000002.conf" },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void a_name_with_both_numbers_never_changes_its_length(void **state)
{
	char name[64] = "f+12-00.conf";

	(void)state;
	for (int boot = 1; boot <= 120; boot++) {
		struct boot_counter c;
		char next[64];
		struct text t = text_in(next, sizeof(next));

		assert_true(boot_counter_parse(span_of(name), &c));
		boot_counter_next(&c, &t);
		assert_int_equal(strlen(next), strlen(name));
		strcpy(name, next);
		assert_true(boot_counter_parse(span_of(name), &c));
		assert_int_equal(c.left, boot < 12 ? 12 - boot : 0);
		assert_int_equal(c.done, boot < 99 ? boot : 99);
	}
}

static void digits_are_counted(void **state)
{
	struct boot_counter c;

	(void)state;
	assert_true(boot_counter_parse(SPAN("f+010-2.conf"), &c));
	assert_int_equal(c.left_digits, 3);
	assert_int_equal(c.done_digits, 1);
	assert_span_equal(c.name, "f");
	assert_span_equal(c.suffix, ".conf");
	assert_true(boot_counter_parse(SPAN("f+7.EFI"), &c));
	assert_int_equal(c.left_digits, 1);
	assert_int_equal(c.done_digits, 0);
	assert_span_equal(c.suffix, ".EFI");
}

static void other_suffixes_are_no_entries(void **state)
{
	static const char *const names[] = { "",        ".conf",   ".efi", "foo", "foo+3", "foo.conf.bak",
					     "foo.con", "fooconf", "conf" };
	struct boot_counter c;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct span name = exact(names[i]);

		check(!boot_counter_parse(name, &c), "\"%s\"", names[i]);
		release(name);
	}
}

static void states(void **state)
{
	static const struct {
		const char *file, *name;
		enum entry_state state;
	} vectors[] = {
		{ "f.conf", "good", STATE_GOOD },
		{ "f+3.conf", "indeterminate", STATE_INDETERMINATE },
		{ "f+1-2.conf", "indeterminate", STATE_INDETERMINATE },
		{ "f+0-3.conf", "bad", STATE_BAD },
		{ "f+00.conf", "bad", STATE_BAD },
		{ "f+64k.conf", "good", STATE_GOOD },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct boot_counter c;

		assert_true(boot_counter_parse(span_of(vectors[i].file), &c));
		assert_int_equal(boot_counter_state(&c), vectors[i].state);
		assert_string_equal(entry_state_name(boot_counter_state(&c)), vectors[i].name);
	}
}

static void an_id_is_added_to_what_the_text_holds(void **state)
{
	char buffer[64];
	struct text t = text_in(buffer, sizeof(buffer));
	struct boot_counter c;

	(void)state;
	assert_true(boot_counter_parse(SPAN("Foo+1.CONF"), &c));
	text_add(&t, SPAN("ID="));
	boot_counter_id(&c, &t);
	assert_string_equal(buffer, "ID=foo.conf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_of_file_names),
		cmocka_unit_test(a_release_ending_in_plus_64k_is_no_counter),
		cmocka_unit_test(a_release_ending_in_plus_64_reads_as_a_counter),
		cmocka_unit_test(what_is_not_all_digits_is_part_of_the_name),
		cmocka_unit_test(numbers_reach_up_to_2_31_minus_1),
		cmocka_unit_test(numbers_keep_their_count_of_digits),
		cmocka_unit_test(even_absurdly_many_digits_are_kept),
		cmocka_unit_test(a_name_with_both_numbers_never_changes_its_length),
		cmocka_unit_test(digits_are_counted),
		cmocka_unit_test(other_suffixes_are_no_entries),
		cmocka_unit_test(states),
		cmocka_unit_test(an_id_is_added_to_what_the_text_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
