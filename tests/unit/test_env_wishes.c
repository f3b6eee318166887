/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an environment block asks for, beside variables and loader.conf. */
#include "unit.h"

#include <granule/env_wishes.h>

static char block[ENV_BLOCK_SIZE], *values;

static int setup(void **state)
{
	(void)state;
	env_block_init(block);
	/* On the heap, so that a byte too far is noticed. */
	values = malloc(ENV_BLOCK_SIZE);
	return values == NULL;
}

static int teardown(void **state)
{
	(void)state;
	free(values);
	return 0;
}

static void store(const char *name, const char *value)
{
	assert_int_equal(env_block_set(block, span_of(name), span_of(value)), 0);
}

static void an_empty_block_changes_nothing(void **state)
{
	struct choose_input in = { .oneshot = SPAN("a"),
				   .default_variable = SPAN("b"),
				   .policy = PAGE_SIZE_16K };

	(void)state;
	env_wishes_apply(block, SPAN_NONE, values, &in);
	assert_span_equal(in.oneshot, "a");
	assert_span_equal(in.default_variable, "b");
	assert_int_equal(in.policy, PAGE_SIZE_16K);
	assert_int_equal(in.from_env, 0);
}

static void a_block_wins_over_loader_conf(void **state)
{
	struct choose_input in = { .default_config = SPAN("conf"), .policy = PAGE_SIZE_16K };

	(void)state;
	store("next_entry", "once.conf");
	store("saved_entry", "back\\slash");
	store("granule_page_size", "64k");
	env_wishes_apply(block, SPAN_NONE, values, &in);
	assert_span_equal(in.oneshot, "once.conf");
	assert_span_equal(in.default_variable, "back\\slash");
	assert_span_equal(in.default_config, "conf");
	assert_int_equal(in.policy, PAGE_SIZE_64K);
	assert_int_equal(in.from_env, 1 << RULE_ONESHOT | 1 << RULE_DEFAULT | 1 << RULE_POLICY);
}

static void a_variable_wins_over_a_block(void **state)
{
	struct choose_input in = { .oneshot = SPAN("o"),
				   .default_variable = SPAN("d"),
				   .policy = PAGE_SIZE_4K };

	(void)state;
	store("next_entry", "once.conf");
	store("saved_entry", "saved.conf");
	store("granule_page_size", "64k");
	env_wishes_apply(block, SPAN("4k"), values, &in);
	assert_span_equal(in.oneshot, "o");
	assert_span_equal(in.default_variable, "d");
	assert_int_equal(in.policy, PAGE_SIZE_4K);
	assert_int_equal(in.from_env, 0);
}

static void values_that_say_nothing_are_passed_over(void **state)
{
	struct choose_input in = { .policy = PAGE_SIZE_16K };

	(void)state;
	store("next_entry", "");
	store("saved_entry", "");
	store("granule_page_size", "8k");
	/* A variable that holds no page size is none. */
	env_wishes_apply(block, SPAN("8k"), values, &in);
	assert_int_equal(in.oneshot.n + in.default_variable.n, 0);
	assert_int_equal(in.policy, PAGE_SIZE_16K);
	assert_int_equal(in.from_env, 0);
}

static void values_that_fill_the_block_fit(void **state)
{
	static char most[ENV_BLOCK_SIZE];
	struct choose_input in = { 0 };
	/* signature, names, equal signs and line ends */
	size_t room = ENV_BLOCK_SIZE - 25 - sizeof("next_entry=") - sizeof("saved_entry=x");

	(void)state;
	memset(most, 'm', room);
	store("next_entry", most);
	store("saved_entry", "x");
	assert_int_equal(block[ENV_BLOCK_SIZE - 1], '\n');
	env_wishes_apply(block, SPAN_NONE, values, &in);
	assert_int_equal(in.oneshot.n, room);
	assert_span_equal(in.default_variable, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_block_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_block_wins_over_loader_conf, setup, teardown),
		cmocka_unit_test_setup_teardown(a_variable_wins_over_a_block, setup, teardown),
		cmocka_unit_test_setup_teardown(values_that_say_nothing_are_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(values_that_fill_the_block_fit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
