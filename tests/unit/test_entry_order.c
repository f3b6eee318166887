/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Menu order: each step alone, the whole on random entries, and what it means for two page sizes. */
#include "unit.h"

#include <stdio.h>

#include <granule/entry.h>

static struct entry made(const char *id, const char *sort_key, const char *machine_id, const char *version)
{
	struct entry e = { .id = span_of(id) };

	e.bls.sort_key = span_of(sort_key);
	e.bls.machine_id = span_of(machine_id);
	e.bls.version = span_of(version);
	return e;
}

static struct entry counted(struct entry e, uint32_t left, uint32_t done)
{
	e.counter.present = true;
	e.counter.left = left;
	e.counter.done = done;
	return e;
}

static void expect_before(struct entry a, struct entry b)
{
	/* Positions must not decide what something else decides. */
	for (size_t swap = 0; swap < 2; swap++) {
		a.position = swap;
		b.position = 1 - swap;
		assert_true(entry_compare(&a, &b) < 0);
		assert_true(entry_compare(&b, &a) > 0);
	}
}

static void exhausted_entries_go_last(void **state)
{
	struct entry a = made("a.conf", "a", "1", "1"), z = made("z.conf", "z", "9", "9");

	(void)state;
	expect_before(z, counted(a, 0, 3));
	expect_before(counted(z, 1, 2), counted(a, 0, 3));
	expect_before(made("a.conf", "", "", ""), counted(a, 0, 0));
	/* Among them the other steps decide. */
	expect_before(counted(a, 0, 3), counted(z, 0, 3));
	/* A counter with tries left changes nothing. */
	expect_before(counted(a, 1, 0), z);
}

static void a_sort_key_goes_before_none(void **state)
{
	(void)state;
	expect_before(made("a.conf", "z", "", "1"), made("b.conf", "", "", "2"));
}

static void sort_keys_ascend_by_byte(void **state)
{
	(void)state;
	expect_before(made("a.conf", "a", "9", "1"), made("z.conf", "b", "1", "2"));
	expect_before(made("a.conf", "Z", "", "1"), made("z.conf", "a", "", "2"));
	expect_before(made("a.conf", "a", "", "1"), made("z.conf", "aa", "", "2"));
	/* No version comparison here. */
	expect_before(made("a.conf", "k10", "", "1"), made("z.conf", "k9", "", "2"));
	expect_before(made("a.conf", "a", "", "1"), made("z.conf", "\xc3\xa4", "", "2"));
}

static void machine_ids_ascend_and_a_missing_one_is_lowest(void **state)
{
	(void)state;
	expect_before(made("a.conf", "k", "1", "1"), made("z.conf", "k", "2", "2"));
	expect_before(made("a.conf", "k", "", "1"), made("z.conf", "k", "0", "2"));
}

static void versions_descend(void **state)
{
	(void)state;
	expect_before(made("a.conf", "k", "m", "6.10"), made("z.conf", "k", "m", "6.9"));
	expect_before(made("a.conf", "k", "m", "6.9"), made("z.conf", "k", "m", "6.9~rc1"));
	expect_before(made("a.conf", "k", "m", "1"), made("z.conf", "k", "m", ""));
}

static void without_sort_key_machine_id_and_version_say_nothing(void **state)
{
	(void)state;
	expect_before(made("b.conf", "", "9", "1"), made("a.conf", "", "1", "2"));
}

static void ids_descend_by_version(void **state)
{
	(void)state;
	expect_before(made("m-6.10.conf", "", "", ""), made("m-6.9.conf", "", "", ""));
	expect_before(made("m-6.10.conf", "k", "m", "1"), made("m-6.9.conf", "k", "m", "1"));
}

static void profiles_ascend(void **state)
{
	struct entry a = made("a.efi", "", "", ""), b = a;

	(void)state;
	a.bls.profile = 2;
	b.bls.profile = 10;
	expect_before(a, b);
	expect_before(counted(a, 1, 9), counted(b, 9, 0));
}

static struct entry profile_of_image(const char *file_name, const char *id, uint32_t profile)
{
	struct entry e = { .type = ENTRY_TYPE2, .id = span_of(id), .bls = { .profile = profile } };

	boot_counter_parse(span_of(file_name), &e.counter);
	return e;
}

static void names_of_profiles_do_not_order(void **state)
{
	(void)state;
	expect_before(profile_of_image("A+3.efi", "a.efi@b", 1), profile_of_image("A+3.efi", "a.efi@z", 2));
	expect_before(profile_of_image("A+3.efi", "a.efi@z", 1), profile_of_image("A+3.efi", "a.efi@b", 2));
	expect_before(profile_of_image("A+3.efi", "a.efi", 0), profile_of_image("A+3.efi", "a.efi@z", 1));
	/* Another image is not parted from its profiles. */
	expect_before(profile_of_image("a-2.efi", "a-2.efi@z", 9), profile_of_image("a-1.efi", "a-1.efi", 0));
}

static void more_tries_left_then_fewer_done_go_first(void **state)
{
	struct entry e = made("a.conf", "", "", "");

	(void)state;
	expect_before(counted(e, 3, 5), counted(e, 2, 0));
	expect_before(counted(e, 3, 0), counted(e, 3, 1));
	expect_before(counted(e, 0, 3), counted(e, 0, 4));
}

static void position_parts_what_is_equal_in_all_else(void **state)
{
	struct entry a = made("a.conf", "", "", ""), b = a;

	(void)state;
	b.position = 1;
	assert_true(entry_compare(&a, &b) < 0);
	assert_true(entry_compare(&b, &a) > 0);
	assert_int_equal(entry_compare(&a, &a), 0);
	/* Equal versions are not equal strings. */
	a = made("a_.conf", "", "", "");
	assert_true(entry_compare(&a, &b) < 0);
}

/* ---- the whole, on random entries ---- */

#define MAX_RANDOM 40

/* `mixed`: entries with one id may or may not have counters. */
static void random_entries(uint32_t *seed, struct entry *entries, size_t n, bool mixed)
{
	static const char *const keys[] = { "", "", "a", "b" };
	static const char *const versions[] = { "", "6.9", "6.10", "6.10~rc1", "6_10" };
	static const char *const ids[] = { "a-1.conf", "a-2.conf", "a-10.conf", "b.conf", "a_-1.conf" };

	for (size_t i = 0; i < n; i++) {
		uint32_t id = random_below(seed, COUNT(ids));
		bool with_counter = mixed ? random_below(seed, 2) : id < 3;

		entries[i] =
			made(ids[id], keys[random_below(seed, COUNT(keys))], random_below(seed, 2) ? "m" : "",
			     versions[random_below(seed, COUNT(versions))]);
		if (with_counter)
			entries[i] = counted(entries[i], random_below(seed, 3), random_below(seed, 3));
		entries[i].bls.profile = random_below(seed, 4) ? 0 : 1;
		entries[i].position = i;
	}
	/* a-1 and a_-1 are equal as versions: counters of both or of neither. */
	for (size_t i = 0; i < n && !mixed; i++)
		if (span_is(entries[i].id, "a_-1.conf") && !entries[i].counter.present)
			entries[i] = counted(entries[i], 2, 0);
}

/* Each entry goes before the first that it precedes. */
static void insertion_sort(struct entry **list, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && entry_compare(list[k], list[k - 1]) < 0; k--) {
			struct entry *e = list[k];
			list[k] = list[k - 1];
			list[k - 1] = e;
		}
}

static void sorting_gives_what_a_simple_sort_gives(void **state)
{
	uint32_t seed = 4096;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct entry entries[MAX_RANDOM], *sorted[MAX_RANDOM], *want[MAX_RANDOM],
			*scratch[MAX_RANDOM];
		size_t n = random_below(&seed, MAX_RANDOM + 1);

		random_entries(&seed, entries, n, false);
		for (size_t i = 0; i < n; i++)
			want[i] = &entries[i];
		/* Where an entry stands before must not matter. */
		for (size_t i = 0; i < n; i++) {
			size_t k = random_below(&seed, (uint32_t)i + 1);
			sorted[i] = sorted[k];
			sorted[k] = &entries[i];
		}
		insertion_sort(want, n);
		entry_sort(sorted, scratch, n);
		for (size_t i = 0; i < n; i++)
			check(sorted[i] == want[i], "round %d, %zu entries: place %zu", round, n, i);
	}
}

static void expect_total_order(bool mixed)
{
	static struct entry e[MAX_RANDOM];
	static int order[MAX_RANDOM][MAX_RANDOM];
	uint32_t seed = 16384;

	for (int round = 0; round < 30; round++) {
		random_entries(&seed, e, MAX_RANDOM, mixed);
		for (size_t a = 0; a < MAX_RANDOM; a++)
			for (size_t b = 0; b < MAX_RANDOM; b++)
				order[a][b] = sign_of(entry_compare(&e[a], &e[b]));
		for (size_t a = 0; a < MAX_RANDOM; a++)
			for (size_t b = 0; b < MAX_RANDOM; b++) {
				check(order[a][b] == -order[b][a], "entries %zu and %zu", a, b);
				check((order[a][b] == 0) == (a == b), "entries %zu and %zu", a, b);
				for (size_t c = 0; c < MAX_RANDOM; c++)
					check(order[a][b] >= 0 || order[b][c] >= 0 || order[a][c] < 0,
					      "a circle: %.*s (%u tries left) < %.*s (%u) < %.*s (%u)",
					      (int)e[a].id.n, e[a].id.p, e[a].counter.left, (int)e[b].id.n,
					      e[b].id.p, e[b].counter.left, (int)e[c].id.n, e[c].id.p,
					      e[c].counter.left);
			}
	}
}

static void it_is_a_total_order(void **state)
{
	(void)state;
	expect_total_order(false);
}

/* foo+3.conf, foo.conf and foo+2.conf on two partitions share one id. */
static void it_is_a_total_order_when_one_id_comes_with_and_without_counter(void **state)
{
	(void)state;
	expect_total_order(true);
}

static void sorting_takes_n_log_n_steps(void **state)
{
	enum { n = 4096 };
	static struct entry entries[n], *list[n], *scratch[n];

	(void)state;
	/* In order, in reverse, and all equal: with n * n steps this would take minutes. */
	for (int kind = 0; kind < 3; kind++) {
		for (size_t i = 0; i < n; i++) {
			entries[i] = made("a.conf", "", "", "");
			entries[i].position = kind == 1 ? n - i : i;
			entries[i].bls.profile = kind == 2 ? 7 : (uint32_t)entries[i].position;
			list[i] = &entries[i];
		}
		entry_sort(list, scratch, n);
		for (size_t i = 1; i < n; i++)
			assert_true(entry_compare(list[i - 1], list[i]) < 0);
	}
}

/* ---- two page sizes ---- */

/* The 64K or 4K entry that is first, of a list of "release" and "release+64k" pairs. */
static const char *first_of(const char *const *releases, size_t n, bool class_first)
{
	static struct entry entries[8];
	static char ids[8][80];
	struct entry *list[8], *scratch[8];

	for (size_t i = 0; i < n; i++) {
		bool is_64k = strstr(releases[i], "64k") != NULL;

		snprintf(ids[i], sizeof(ids[i]), "token-%s.conf", releases[i]);
		entries[i] = made(ids[i],
				  !class_first ? "fedora"
				  : is_64k     ? "fedora-1-64k"
					       : "fedora-2-4k",
				  "m", releases[i]);
		entries[i].position = i;
		list[i] = &entries[i];
	}
	entry_sort(list, scratch, n);
	return strstr(list[0]->bls.version.p, "64k") ? "64k" : "4k";
}

/* An update of both kernels comes in two steps. */
static const char *const updates[] = { "6.12.0-211", "6.12.0-211+64k", "6.12.0-212", "6.12.0-212+64k" };

static void by_version_alone_the_default_flips(void **state)
{
	(void)state;
	assert_string_equal(first_of(updates, 2, false), "64k");
	assert_string_equal(first_of(updates, 3, false), "4k");
	assert_string_equal(first_of(updates, 4, false), "64k");
}

static void with_the_class_in_the_sort_key_the_default_stays(void **state)
{
	(void)state;
	for (size_t n = 2; n <= COUNT(updates); n++)
		assert_string_equal(first_of(updates, n, true), "64k");
}

static void what_the_loader_made_itself_goes_last_in_its_own_order(void **state)
{
	struct entry kernel = counted(made("a.conf", "", "", ""), 0, 3);
	struct entry z = made("z", "", "", ""), b = made("b", "", "", "");

	(void)state;
	z.type = b.type = ENTRY_AUTO;
	z.position = 1;
	b.position = 2;
	assert_true(entry_compare(&z, &b) < 0 && entry_compare(&b, &z) > 0);
	kernel.position = 3;
	assert_true(entry_compare(&kernel, &z) < 0 && entry_compare(&b, &kernel) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_loader_made_itself_goes_last_in_its_own_order),
		cmocka_unit_test(exhausted_entries_go_last),
		cmocka_unit_test(a_sort_key_goes_before_none),
		cmocka_unit_test(sort_keys_ascend_by_byte),
		cmocka_unit_test(machine_ids_ascend_and_a_missing_one_is_lowest),
		cmocka_unit_test(versions_descend),
		cmocka_unit_test(without_sort_key_machine_id_and_version_say_nothing),
		cmocka_unit_test(ids_descend_by_version),
		cmocka_unit_test(profiles_ascend),
		cmocka_unit_test(names_of_profiles_do_not_order),
		cmocka_unit_test(more_tries_left_then_fewer_done_go_first),
		cmocka_unit_test(position_parts_what_is_equal_in_all_else),
		cmocka_unit_test(sorting_gives_what_a_simple_sort_gives),
		cmocka_unit_test(it_is_a_total_order),
		cmocka_unit_test(it_is_a_total_order_when_one_id_comes_with_and_without_counter),
		cmocka_unit_test(sorting_takes_n_log_n_steps),
		cmocka_unit_test(by_version_alone_the_default_flips),
		cmocka_unit_test(with_the_class_in_the_sort_key_the_default_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
