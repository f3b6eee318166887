/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/env_wishes.h>

void env_wishes_apply(const void *block, struct span variable, char *buffer, struct choose_input *in)
{
	struct text t = text_in(buffer, ENV_BLOCK_SIZE);
	const struct {
		enum choose_rule rule;
		struct span name;
		struct span *wish;
	} wishes[] = {
		{ RULE_ONESHOT, ENV_ONESHOT, &in->oneshot },
		{ RULE_DEFAULT, ENV_DEFAULT, &in->default_variable },
		{ RULE_POLICY, ENV_POLICY, NULL },
	};

	in->from_env = 0;
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct span *wish = wishes[i].wish, value;
		size_t start = t.n;

		if (wish ? wish->n > 0 : page_size_parse(variable) != PAGE_SIZE_UNKNOWN)
			continue;
		/* Values are shorter than the block, all together. */
		if (env_block_get(block, wishes[i].name, &t) < 0 || t.n == start)
			continue;
		value = span_cut(text_span(&t), start, t.n);
		if (wish)
			*wish = value;
		else if (page_size_parse(value) != PAGE_SIZE_UNKNOWN)
			in->policy = page_size_parse(value);
		else
			continue;
		in->from_env |= 1u << wishes[i].rule;
	}
}
