/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's environment block. Input: NAME|VALUE|REST; REST is a whole block, or, if shorter than one, the lines
 * that follow the signature, which is then padded. An empty NAME stands for the first variable. */
#include "fuzz.h"
#include <granule/env_wishes.h>
#include <granule/error.h>

static char *make_block(struct fuzz *f, struct span rest)
{
	char *block = fuzz_alloc(f, ENV_BLOCK_SIZE);

	env_block_init(block);
	if (rest.n >= ENV_BLOCK_SIZE) {
		memcpy(block, rest.p, ENV_BLOCK_SIZE);
	} else if (rest.n) {
		size_t at = sizeof("# GRUB Environment Block\n") - 1, room = ENV_BLOCK_SIZE - at;
		memcpy(block + at, rest.p, rest.n < room ? rest.n : room);
	}
	return block;
}

static char *copy_block(struct fuzz *f, const char *block)
{
	char *copy = fuzz_alloc(f, ENV_BLOCK_SIZE);

	memcpy(copy, block, ENV_BLOCK_SIZE);
	return copy;
}

static bool passes(const char *block)
{
	size_t offset;

	return env_block_check(block, ENV_BLOCK_SIZE, &offset) == 0;
}

/* Next variable of another name. */
static bool next_other(const char *block, size_t *pos, struct span name, struct span *ret_name,
		       struct span *ret_value)
{
	while (env_block_next(block, pos, ret_name, ret_value))
		if (!span_equal(*ret_name, name))
			return true;
	return false;
}

/* All variables but `name` are the same, in the same order. */
static void check_others(const char *a, const char *b, struct span name)
{
	struct span an, av, bn, bv;

	for (size_t i = 0, k = 0; next_other(a, &i, name, &an, &av);) {
		CHECK(next_other(b, &k, name, &bn, &bv));
		CHECK(span_equal(an, bn) && span_equal(av, bv));
	}
	size_t n_a = 0, n_b = 0;
	for (size_t i = 0; next_other(a, &i, name, &an, &av);)
		n_a++;
	for (size_t i = 0; next_other(b, &i, name, &bn, &bv);)
		n_b++;
	CHECK(n_a == n_b);
}

static void check_walk(struct fuzz *f, const char *block)
{
	struct span whole = { block, ENV_BLOCK_SIZE }, name, value;
	struct text t = fuzz_text(f, ENV_BLOCK_SIZE);

	for (size_t pos = 0, before = 0; env_block_next(block, &pos, &name, &value); before = pos) {
		CHECK(pos > before && pos <= ENV_BLOCK_SIZE);
		CHECK(name.n && fuzz_inside(whole, name) && fuzz_inside(whole, value));
		CHECK(!fuzz_has(name, '=') && name.p + name.n + 1 == value.p && block[pos - 1] == '\n');
		t = text_in(t.p, t.size);
		CHECK(env_block_get(block, name, &t) == 0);
		fuzz_check_text(&t);
	}
}

/* What a loader takes from it lies in the caller's buffer, as stored in the block. */
static void check_wishes(struct fuzz *f, const char *block, struct span variable)
{
	char *values = fuzz_alloc(f, ENV_BLOCK_SIZE);
	struct span all = { values, ENV_BLOCK_SIZE };
	struct choose_input in = { 0 };
	struct text t = fuzz_text(f, ENV_BLOCK_SIZE);

	env_wishes_apply(block, variable, values, &in);
	if (in.from_env & 1u << RULE_ONESHOT) {
		CHECK(in.oneshot.n && fuzz_inside(all, in.oneshot));
		CHECK(env_block_get(block, ENV_ONESHOT, &t) == 0 && span_equal(text_span(&t), in.oneshot));
	}
	CHECK(!in.default_variable.n || fuzz_inside(all, in.default_variable));
	CHECK((in.policy != PAGE_SIZE_UNKNOWN) == !!(in.from_env & 1u << RULE_POLICY));
	CHECK(page_size_parse(variable) == PAGE_SIZE_UNKNOWN || in.policy == PAGE_SIZE_UNKNOWN);
}

static void check_set(struct fuzz *f, const char *before, struct span name, struct span value)
{
	char *block = copy_block(f, before);
	int error = env_block_set(block, name, value);
	bool wrong = !name.n || name.p[0] == '#' || fuzz_has(name, '=') || fuzz_has(name, '\n');

	if (wrong)
		CHECK(error == ERROR_SYNTAX);
	if (error) {
		CHECK(error == ERROR_SYNTAX || error == ERROR_SPACE);
		CHECK(!memcmp(block, before, ENV_BLOCK_SIZE));
		if (error == ERROR_SYNTAX)
			return;
		/* What was refused for want of space does not fit after making room by hand either. */
		env_block_unset(block, name);
		CHECK(env_block_set(block, name, value) == ERROR_SPACE);
		return;
	}
	CHECK(passes(block));
	check_others(before, block, name);

	struct text t = fuzz_text(f, value.n + 1), tight = fuzz_text(f, value.n);
	CHECK(env_block_get(block, name, &t) == 0 && span_equal(text_span(&t), value));
	CHECK(env_block_get(block, name, &tight) == ERROR_SPACE || !value.n);
	fuzz_check_text(&tight);

	/* Once more fits as well: the old value makes room. */
	CHECK(env_block_set(block, name, value) == 0 && passes(block));
}

static void check_unset(struct fuzz *f, const char *before, struct span name)
{
	char *block = copy_block(f, before);
	struct text t = fuzz_text(f, ENV_BLOCK_SIZE);

	env_block_unset(block, name);
	CHECK(passes(block) && env_block_get(block, name, &t) == ERROR_NOT_FOUND);
	check_others(before, block, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span name = fuzz_field(&f), value = fuzz_field(&f), rest = fuzz_rest(&f), n, v;
	size_t offset = 0;

	if (rest.n != ENV_BLOCK_SIZE)
		CHECK(env_block_check(rest.p, rest.n, &offset) != 0);

	char *block = make_block(&f, rest);
	int error = env_block_check(block, ENV_BLOCK_SIZE, &offset);
	if (error) {
		CHECK(error == ERROR_MAGIC || error == ERROR_SYNTAX);
		CHECK(offset < ENV_BLOCK_SIZE);
		fuzz_end(&f);
		return 0;
	}

	check_walk(&f, block);
	check_wishes(&f, block, value);
	CHECK(env_block_set(block, SPAN_NONE, value) == ERROR_SYNTAX);
	/* Without a name: the first variable that is there. */
	size_t pos = 0;
	if (!name.n && env_block_next(block, &pos, &n, &v))
		name = n;
	check_set(&f, block, name, value);
	check_unset(&f, block, name);
	fuzz_end(&f);
	return 0;
}
