/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of the menu. Input: entries, entries.h. */
#include "entries.h"

static void check_order(struct entry *const *sorted, size_t n)
{
	bool seen[FUZZ_MAX_ENTRIES] = { false };

	for (size_t i = 0; i < n; i++) {
		CHECK(sorted[i]->position < n && !seen[sorted[i]->position]);
		seen[sorted[i]->position] = true;
		CHECK(entry_compare(sorted[i], sorted[i]) == 0);
		/* Not only neighbours: an order is transitive. */
		for (size_t k = i + 1; k < n; k++) {
			CHECK(entry_compare(sorted[i], sorted[k]) < 0);
			CHECK(entry_compare(sorted[k], sorted[i]) > 0);
		}
	}
}

/* What the header promises of the result, seen apart from entry_compare(). */
static void check_groups(struct entry *const *sorted, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct entry *a = sorted[i - 1], *b = sorted[i];
		bool bad_a = a->counter.present && !a->counter.left,
		     bad_b = b->counter.present && !b->counter.left;

		CHECK(!bad_a || bad_b);
		if (bad_a != bad_b)
			continue;
		CHECK(a->bls.sort_key.n || !b->bls.sort_key.n);
		if (b->bls.sort_key.n)
			CHECK(span_compare(a->bls.sort_key, b->bls.sort_key) <= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct entry entries[FUZZ_MAX_ENTRIES];
	size_t n = fuzz_entries(&f, PAGE_SIZE_SET_UNKNOWN, entries);
	struct entry **sorted = fuzz_alloc(&f, n * sizeof(*sorted)),
		     **other = fuzz_alloc(&f, n * sizeof(*other));

	for (size_t i = 0; i < n; i++) {
		sorted[i] = &entries[i];
		other[i] = &entries[n - 1 - i];
	}
	entry_sort(sorted, fuzz_alloc(&f, n * sizeof(*sorted)), n);
	entry_sort(other, fuzz_alloc(&f, n * sizeof(*other)), n);
	check_order(sorted, n);
	check_groups(sorted, n);
	/* Where they stood before the sort plays no part. */
	for (size_t i = 0; i < n; i++)
		CHECK(sorted[i] == other[i]);
	fuzz_end(&f);
	return 0;
}
