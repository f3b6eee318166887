/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/entry.h>
#include <granule/version_order.h>

static int compare_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static bool exhausted(const struct entry *e)
{
	return boot_counter_state(&e->counter) == STATE_BAD;
}

/* Profiles of one image are in the order of their numbers, whatever their names. */
static struct span id_without_profile(const struct entry *e)
{
	size_t n = e->counter.name.n + e->counter.suffix.n;

	return e->type == ENTRY_TYPE2 && n < e->id.n ? span_cut(e->id, 0, n) : e->id;
}

int entry_compare(const struct entry *a, const struct entry *b)
{
	int r;

	/* What the loader made itself comes last, in the order it was made in. */
	r = compare_number(a->type == ENTRY_AUTO, b->type == ENTRY_AUTO);
	if (r)
		return r;
	if (a->type == ENTRY_AUTO)
		return compare_number(a->position, b->position);

	r = compare_number(exhausted(a), exhausted(b));
	if (r)
		return r;

	r = compare_number(a->bls.sort_key.n == 0, b->bls.sort_key.n == 0);
	if (r)
		return r;
	if (a->bls.sort_key.n && b->bls.sort_key.n) {
		r = span_compare(a->bls.sort_key, b->bls.sort_key);
		if (r)
			return r;
		r = span_compare(a->bls.machine_id, b->bls.machine_id);
		if (r)
			return r;
		r = version_compare(b->bls.version, a->bls.version);
		if (r)
			return r;
	}

	r = version_compare(id_without_profile(b), id_without_profile(a));
	if (r)
		return r;
	r = compare_number(a->bls.profile, b->bls.profile);
	if (r)
		return r;

	/* Twins, one with and one without a counter: the specification lets them tie, a sort needs an order.
	 */
	r = compare_number(a->counter.present, b->counter.present);
	if (r)
		return r;
	if (a->counter.present) {
		r = compare_number(b->counter.left, a->counter.left);
		if (r)
			return r;
		r = compare_number(a->counter.done, b->counter.done);
		if (r)
			return r;
	}
	return compare_number(a->position, b->position);
}

static void copy(struct entry **to, struct entry **from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

/* Merges the sorted runs [0, middle) and [middle, n) of `from`. Folders often list files from the oldest to
 * the newest or the other way round: then one run lies before the other as a whole. */
static void merge(struct entry **from, size_t middle, size_t n, struct entry **to)
{
	size_t a = 0, b = middle;

	if (middle == n || entry_compare(from[middle - 1], from[middle]) <= 0) {
		copy(to, from, n);
		return;
	}
	if (entry_compare(from[0], from[n - 1]) > 0) {
		copy(to, from + middle, n - middle);
		copy(to + n - middle, from, middle);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool left = b == n || (a < middle && entry_compare(from[a], from[b]) <= 0);
		to[i] = left ? from[a++] : from[b++];
	}
}

void entry_sort(struct entry **entries, struct entry **scratch, size_t n)
{
	struct entry **from = entries, **to = scratch;

	/* Comparing is what costs, and merging does it least often. */
	for (size_t run = 1; run < n; run *= 2) {
		for (size_t at = 0; at < n; at += 2 * run) {
			size_t left = n - at;
			merge(from + at, left < run ? left : run, left < 2 * run ? left : 2 * run, to + at);
		}
		struct entry **done = to;
		to = from;
		from = done;
	}
	if (from != entries)
		copy(entries, from, n);
}
