/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries made of fuzzer input, one for each field: file name, line end, text of the entry. A '!' in front of
 * the name makes it an entry that cannot be started. */
#ifndef GRANULE_FUZZ_ENTRIES_H
#define GRANULE_FUZZ_ENTRIES_H

#include "fuzz.h"
#include <granule/choose.h>

#define FUZZ_MAX_ENTRIES 12

/* Reads one. Text that is no entry of the specification is taken as far as it goes: the functions under test
 * must stand any values. */
static inline void fuzz_entry(struct fuzz *f, page_size_set cpu, struct entry *ret)
{
	struct span field = fuzz_field(f);
	bool unusable = field.n && field.p[0] == '!';
	size_t from = unusable, to = from, offset;

	while (to < field.n && field.p[to] != '\n')
		to++;
	struct span name = span_cut(field, from, to);
	struct span text = span_cut(field, to < field.n ? to + 1 : to, field.n);

	*ret = (struct entry){ .file_name = name, .unusable = unusable, .id = name };
	bls_parse(text, fuzz_alloc(f, text.n + 1), text.n + 1, &ret->bls, &offset);
	if (boot_counter_parse(name, &ret->counter)) {
		struct text id = fuzz_text(f, name.n + 1);
		boot_counter_id(&ret->counter, &id);
		ret->id = text_span(&id);
	}
	entry_set_page_size(ret, NULL, false, cpu);
}

/* Reads entries until the input ends; returns their number. */
static inline size_t fuzz_entries(struct fuzz *f, page_size_set cpu, struct entry *entries)
{
	size_t n = 0;

	for (; f->n && n < FUZZ_MAX_ENTRIES; n++) {
		fuzz_entry(f, cpu, &entries[n]);
		entries[n].position = n;
	}
	return n;
}

/* Input of a decision: five bits of flags as a character from '0' on, then the patterns of the rules in
 * order, then entries. Entries are put into menu order. */
struct fuzz_choice {
	struct entry entries[FUZZ_MAX_ENTRIES];
	struct entry **sorted; /* a block of exactly the size */
	struct choose_input input;
};

static inline void fuzz_choice(struct fuzz *f, struct fuzz_choice *ret)
{
	struct choose_input *in = &ret->input;
	unsigned flags = fuzz_byte(f) - '0';

	*in = (struct choose_input){
		.cpu = (page_size_set)((flags & 7) << 1),
		.policy = (enum page_size)(flags >> 3 & 3),
		.oneshot = fuzz_field(f),
		.preferred = fuzz_field(f),
		.preferred_config = fuzz_field(f),
		.default_variable = fuzz_field(f),
		.default_config = fuzz_field(f),
	};
	/* "!" in front: the loader could not delete the variable. */
	if (in->oneshot.n && in->oneshot.p[0] == '!') {
		in->oneshot = span_cut(in->oneshot, 1, in->oneshot.n);
		in->oneshot_not_cleared = true;
	}
	in->n_entries = fuzz_entries(f, in->cpu, ret->entries);
	ret->sorted = fuzz_alloc(f, in->n_entries * sizeof(*ret->sorted));
	for (size_t i = 0; i < in->n_entries; i++)
		ret->sorted[i] = &ret->entries[i];
	entry_sort(ret->sorted, fuzz_alloc(f, in->n_entries * sizeof(*ret->sorted)), in->n_entries);
	in->entries = (const struct entry *const *)ret->sorted;
}

#endif
