/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loader tells the running system. */
#include "unit.h"

#include <granule/boot_record.h>

static void a_record_of_a_choice(void **state)
{
	struct entry e[] = {
		{ .id = SPAN("a.conf"), .page_size = PAGE_SIZE_4K, .kind = IMAGE_FIXED },
		{ .id = SPAN("b.conf"), .page_size = PAGE_SIZE_64K, .kind = IMAGE_SELECTABLE },
	};
	const struct entry *order[] = { &e[0], &e[1] };
	struct choose_input in = {
		.entries = order,
		.n_entries = 2,
		.cpu = PAGE_SIZE_SET_ALL,
		.oneshot = SPAN("gone.conf"),
		.default_config = SPAN("b*"),
		.policy = PAGE_SIZE_4K,
	};
	char buffer[BOOT_RECORD_MAX];
	struct text t = text_in(buffer, sizeof(buffer));
	struct choose_result result;

	(void)state;
	choose(&in, &result);
	boot_record_format(&e[1], &in, &result, &t);
	assert_string_equal(buffer,
			    "entry=b.conf\n"
			    "page-size=64k\n"
			    "kind=selectable\n"
			    "reason=default-config\n"
			    "asked.oneshot=gone.conf\n"
			    "outcome.oneshot=no-entry\n"
			    "asked.default-config=b*\n"
			    "outcome.default-config=chosen\n"
			    "asked.policy=4k\n"
			    "outcome.policy=not-asked\n"
			    "explain=default entry of loader.conf; one-shot gone.conf: no such entry\n");

	/* Nothing could be started: the wishes stay on record, no entry is named. */
	t = text_in(buffer, sizeof(buffer));
	boot_record_format(NULL, &in, &result, &t);
	assert_memory_equal(buffer, "asked.oneshot=gone.conf\n", 24);
}

static void a_wish_of_any_length_is_recorded(void **state)
{
	char *wish = test_malloc(3000), buffer[BOOT_RECORD_MAX];
	struct choose_input in = { .default_variable = { wish, 3000 } };
	struct text t = text_in(buffer, sizeof(buffer));
	struct choose_result result;
	enum choose_outcome outcome;
	struct span asked;

	(void)state;
	memset(wish, 'x', 3000);
	choose(&in, &result);
	boot_record_format(NULL, &in, &result, &t);
	assert_true(boot_record_rule(text_span(&t), RULE_DEFAULT, &asked, &outcome));
	assert_int_equal(outcome, OUTCOME_NO_ENTRY);
	assert_int_equal(asked.n, BOOT_RECORD_ASKED_MAX + 3);
	test_free(wish);
}

static void rules_are_read_back(void **state)
{
	struct span record = SPAN("asked.oneshot=x y\noutcome.oneshot=not-cleared\nasked.policy=64k\n"
				  "outcome.default=bad\nasked.preferred=p\noutcome.preferred=nonsense\n");
	enum choose_outcome outcome;
	struct span asked;

	(void)state;
	assert_true(boot_record_rule(record, RULE_ONESHOT, &asked, &outcome));
	assert_span_equal(asked, "x y");
	assert_int_equal(outcome, OUTCOME_NOT_CLEARED);
	/* Half of it is not enough. */
	assert_false(boot_record_rule(record, RULE_POLICY, &asked, &outcome));
	assert_false(boot_record_rule(record, RULE_DEFAULT, &asked, &outcome));
	assert_false(boot_record_rule(record, RULE_PREFERRED, &asked, &outcome));
	assert_false(boot_record_rule(record, RULE_DEFAULT_CONFIG, &asked, &outcome));
}

static void every_rule_comes_back_as_it_was_written(void **state)
{
	struct choose_input in = {
		.oneshot = SPAN("o"),
		.oneshot_not_cleared = true,
		.preferred = SPAN("p"),
		.preferred_config = SPAN("q"),
		.default_variable = SPAN("d=1"),
		.default_config = SPAN("e"),
		.policy = PAGE_SIZE_16K,
	};
	static const char *const want[] = { "o", "p", "q", "d=1", "e", "16k" };
	const struct entry none = { 0 };
	char buffer[BOOT_RECORD_MAX];
	struct text t = text_in(buffer, sizeof(buffer));
	struct choose_result result;

	(void)state;
	choose(&in, &result);
	boot_record_format(&none, &in, &result, &t);
	for (enum choose_rule r = RULE_ONESHOT; r <= RULE_POLICY; r++) {
		enum choose_outcome outcome;
		struct span asked;

		assert_true(boot_record_rule(text_span(&t), r, &asked, &outcome));
		assert_span_equal(asked, want[r]);
		assert_int_equal(outcome, result.outcome[r]);
	}
}

static void lines_of_a_record(void **state)
{
	static const struct {
		const char *record, *want;
	} vectors[] = {
		{ "", "" },
		{ "a=1\nb=2\n", "a:1;b:2;" },
		{ "a=1\nb=2", "a:1;b:2;" },
		{ "a=\nb=2=3\n", "a:;b:2=3;" },
		{ "nothing\n\n=x\na=1\nend", "a:1;" },
		{ "a b= c \n", "a b: c ;" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span record = exact(vectors[i].record), key, value;
		char buffer[100];
		struct text t = text_in(buffer, sizeof(buffer));

		for (size_t pos = 0; boot_record_next(record, &pos, &key, &value);) {
			text_add(&t, key);
			text_add(&t, SPAN(":"));
			text_add(&t, value);
			text_add(&t, SPAN(";"));
		}
		assert_string_equal(buffer, vectors[i].want);
		release(record);
	}
}

static void the_first_value_of_a_key_is_given(void **state)
{
	struct span record = SPAN("failed=a\nfailed=b\nxfailed=c\n"), value;

	(void)state;
	assert_true(boot_record_get(record, SPAN("failed"), &value));
	assert_span_equal(value, "a");
	assert_true(boot_record_get(record, SPAN("xfailed"), &value));
	assert_span_equal(value, "c");
	assert_false(boot_record_get(record, SPAN("fail"), &value));
	assert_false(boot_record_get(record, SPAN("Failed"), &value));
}

static void line_breaks_in_a_value_become_blanks(void **state)
{
	char buffer[100];
	struct text t = text_in(buffer, sizeof(buffer));

	(void)state;
	boot_record_add(&t, SPAN("failed"), SPAN("a.conf: b\nc\r\nd\0e\tf"));
	assert_string_equal(buffer, "failed=a.conf: b c  d e\tf\n");
	boot_record_add(&t, SPAN("k"), SPAN(""));
	assert_string_equal(buffer, "failed=a.conf: b c  d e\tf\nk=\n");
}

static void a_line_that_does_not_fit_is_left_out_whole(void **state)
{
	(void)state;
	for (size_t size = 0; size < 24; size++) {
		char *buffer = size ? malloc(size) : NULL;
		struct text t = text_in(buffer, size);

		boot_record_add(&t, SPAN("aa"), SPAN("1111"));      /* 8 bytes */
		boot_record_add(&t, SPAN("b"), SPAN("2222222222")); /* 13 bytes */
		boot_record_add(&t, SPAN("c"), SPAN("3"));          /* 4 bytes */
		if (size > 0)
			assert_string_equal(buffer, size >= 22   ? "aa=1111\nb=2222222222\n"
						    : size >= 13 ? "aa=1111\nc=3\n"
						    : size >= 9  ? "aa=1111\n"
						    : size >= 5  ? "c=3\n"
								 : "");
		assert_int_equal(t.n, size ? strlen(buffer) : 0);
		free(buffer);
	}
}

static void a_record_fits_its_limit_even_with_long_names(void **state)
{
	static char name[256];
	struct entry e = { .page_size = PAGE_SIZE_4K };
	const struct entry *order[] = { &e };
	char buffer[BOOT_RECORD_MAX];
	struct text t = text_in(buffer, sizeof(buffer));
	struct choose_result result;
	struct span value, key;

	(void)state;
	memset(name, 'n', 255);
	e.id = span_of(name);
	struct choose_input in = {
		.entries = order,
		.n_entries = 1,
		.oneshot = e.id,
		.preferred = e.id,
		.preferred_config = e.id,
		.default_variable = e.id,
		.default_config = e.id,
		.policy = PAGE_SIZE_4K,
	};
	e.unusable = true;
	choose(&in, &result);
	boot_record_format(&e, &in, &result, &t);
	assert_true(boot_record_get(text_span(&t), SPAN("entry"), &value));
	assert_int_equal(value.n, 255);
	assert_true(boot_record_get(text_span(&t), SPAN("reason"), &value));
	assert_span_equal(value, "last-resort");
	assert_true(t.n < BOOT_RECORD_MAX);
	assert_int_equal(buffer[t.n - 1], '\n');
	for (size_t pos = 0; boot_record_next(text_span(&t), &pos, &key, &value);)
		assert_true(key.n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_a_choice),
		cmocka_unit_test(a_wish_of_any_length_is_recorded),
		cmocka_unit_test(rules_are_read_back),
		cmocka_unit_test(every_rule_comes_back_as_it_was_written),
		cmocka_unit_test(lines_of_a_record),
		cmocka_unit_test(the_first_value_of_a_key_is_given),
		cmocka_unit_test(line_breaks_in_a_value_become_blanks),
		cmocka_unit_test(a_line_that_does_not_fit_is_left_out_whole),
		cmocka_unit_test(a_record_fits_its_limit_even_with_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
