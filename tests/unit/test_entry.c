/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries: where their page size comes from, and which patterns name them. */
#include "unit.h"

#include <granule/entry.h>

#define ALL PAGE_SIZE_SET_ALL
#define NO_16K ((page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K))

static struct image_head arm64_head(enum page_size size)
{
	return (struct image_head){
		.container = CONTAINER_RAW,
		.has_arm64 = true,
		.has_pe = true,
		.arm64 = { .page_size = size },
		.pe = { .machine = PE_MACHINE_AA64 },
	};
}

static void expect(const struct bls_entry *bls, const struct image_head *head, bool strings,
		   page_size_set cpu, enum image_kind kind, enum page_size size)
{
	struct entry e = { .bls = *bls, .kind = IMAGE_FIXED, .page_size = PAGE_SIZE_16K };

	entry_set_page_size(&e, head, strings, cpu);
	check(e.kind == kind, "%s instead of %s", image_kind_name(e.kind), image_kind_name(kind));
	check(e.page_size == size, "%s instead of %s", page_size_word(e.page_size), page_size_word(size));
}

static void a_header_with_a_size_decides(void **state)
{
	const struct bls_entry plain = { 0 };
	const struct bls_entry other = { .options = SPAN("arm64.pagesize=4k"),
					 .image_page_size = PAGE_SIZE_4K };
	const struct bls_entry selectable = { .options = SPAN("arm64.pagesize=4k"),
					      .image_selectable = true };

	(void)state;
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
		struct image_head head = arm64_head(s);

		expect(&plain, &head, false, ALL, IMAGE_FIXED, s);
		expect(&other, &head, false, ALL, IMAGE_FIXED, s);
		expect(&selectable, &head, true, ALL, IMAGE_FIXED, s);
		/* What the CPU lacks does not change what the image is. */
		expect(&plain, &head, false, 1u << PAGE_SIZE_4K, IMAGE_FIXED, s);
	}
}

static void a_header_without_size_and_no_other_evidence_is_unknown(void **state)
{
	const struct bls_entry plain = { .options = SPAN("arm64.pagesize=4k") };
	const struct bls_entry fixed = { .image_page_size = PAGE_SIZE_64K, .from_granule = true };
	struct image_head head = arm64_head(PAGE_SIZE_UNKNOWN);

	(void)state;
	expect(&plain, &head, false, ALL, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
	/* A visible header contradicts a fixed size. */
	expect(&fixed, &head, false, ALL, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
}

static void a_selectable_image_has_the_size_its_options_ask_for(void **state)
{
	struct image_head head = arm64_head(PAGE_SIZE_UNKNOWN);
	struct bls_entry bls = { .image_selectable = true, .options = SPAN("quiet arm64.pagesize=16k") };

	(void)state;
	expect(&bls, &head, false, ALL, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	expect(&bls, NULL, false, ALL, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	/* Also when the CPU lacks it: that is what was asked for, and cannot be had. */
	expect(&bls, &head, false, NO_16K, IMAGE_SELECTABLE, PAGE_SIZE_16K);
	bls.image_selectable = false;
	expect(&bls, &head, true, ALL, IMAGE_SELECTABLE, PAGE_SIZE_16K);
}

static void a_selectable_image_without_word_takes_the_largest_size(void **state)
{
	struct image_head head = arm64_head(PAGE_SIZE_UNKNOWN);
	struct bls_entry bls = { .image_selectable = true, .options = SPAN("arm64.pagesize=4K") };

	(void)state;
	expect(&bls, &head, false, ALL, IMAGE_SELECTABLE, PAGE_SIZE_64K);
	expect(&bls, &head, false, 1u << PAGE_SIZE_4K, IMAGE_SELECTABLE, PAGE_SIZE_4K);
	expect(&bls, &head, false, PAGE_SIZE_SET_UNKNOWN, IMAGE_SELECTABLE, PAGE_SIZE_UNKNOWN);
	bls.options = SPAN_NONE;
	expect(&bls, &head, true, NO_16K, IMAGE_SELECTABLE, PAGE_SIZE_64K);
}

static void the_line_of_register_stands_for_a_header_that_is_not_visible(void **state)
{
	const struct bls_entry fixed = { .image_page_size = PAGE_SIZE_64K, .from_granule = true };
	const struct image_head gzip = { .container = CONTAINER_GZIP };
	const struct image_head zboot = {
		.container = CONTAINER_ZBOOT,
		.has_pe = true,
		.pe = { .machine = PE_MACHINE_AA64 },
	};

	(void)state;
	expect(&fixed, &gzip, false, ALL, IMAGE_FIXED, PAGE_SIZE_64K);
	expect(&fixed, &zboot, false, ALL, IMAGE_FIXED, PAGE_SIZE_64K);
	expect(&fixed, NULL, false, ALL, IMAGE_FIXED, PAGE_SIZE_64K);
	expect(&fixed, &gzip, true, ALL, IMAGE_FIXED, PAGE_SIZE_64K);
	expect(&(struct bls_entry){ 0 }, &zboot, false, ALL, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
	expect(&(struct bls_entry){ 0 }, NULL, false, ALL, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
}

static void x86_64_has_4k(void **state)
{
	const struct bls_entry bls = { .options = SPAN("arm64.pagesize=64k"),
				       .image_page_size = PAGE_SIZE_64K };
	struct image_head head = { .container = CONTAINER_RAW,
				   .has_pe = true,
				   .pe = { .machine = PE_MACHINE_X64 } };

	(void)state;
	expect(&bls, &head, false, ALL, IMAGE_FIXED, PAGE_SIZE_4K);
	/* A machine that was not read says nothing. */
	head.has_pe = false;
	expect(&(struct bls_entry){ 0 }, &head, false, ALL, IMAGE_UNKNOWN, PAGE_SIZE_UNKNOWN);
}

static void an_entry_is_supported_unless_both_facts_speak_against_it(void **state)
{
	(void)state;
	for (enum page_size s = PAGE_SIZE_UNKNOWN; s <= PAGE_SIZE_64K; s++) {
		struct entry e = { .page_size = s };

		assert_true(entry_supported(&e, ALL));
		assert_true(entry_supported(&e, PAGE_SIZE_SET_UNKNOWN));
		assert_int_equal(entry_supported(&e, NO_16K), s != PAGE_SIZE_16K);
		assert_int_equal(entry_supported(&e, 1u << PAGE_SIZE_4K), s <= PAGE_SIZE_4K);
	}
}

/* Whether a pattern names the entry of this file. */
static bool names(const char *pattern, const char *file_name)
{
	struct span file = exact(file_name), wanted = exact(pattern);
	char id[100];
	struct text t = text_in(id, sizeof(id));
	struct entry e = { .file_name = file };
	bool r;

	assert_true(boot_counter_parse(file, &e.counter));
	boot_counter_id(&e.counter, &t);
	e.id = text_span(&t);
	r = entry_matches(&e, wanted);
	release(file);
	release(wanted);
	return r;
}

static void patterns_that_name_an_entry(void **state)
{
	static const struct {
		const char *pattern, *file;
		bool want;
	} vectors[] = {
		{ "foo.conf", "foo.conf", true },
		{ "FOO.conf", "foo.conf", true },
		{ "foo.conf", "Foo.CONF", true },
		{ "foo.conf", "foo+3-1.conf", true },
		{ "foo", "foo.conf", true },
		{ "foo", "foo+3-1.conf", true },
		{ "FOO", "foo.efi", true },
		{ "foo+3.conf", "foo.conf", true },
		{ "foo+3-1.conf", "foo.conf", true },
		{ "Foo+2-2.CONF", "foo+3-1.conf", true },
		{ "foo+3.efi", "foo.efi", true },
		{ "*", "foo.conf", true },
		{ "foo*", "foo.conf", true },
		{ "f?o.conf", "foo.conf", true },
		{ "f[no]o", "foo.conf", true },
		{ "foo+64k.conf", "foo+64k.conf", true },
		{ "foo+64k", "foo+64k.conf", true },
		{ "foo+64k+3.conf", "foo+64k+2-1.conf", true },
		{ "", "foo.conf", false },
		{ "fo", "foo.conf", false },
		{ "fooo", "foo.conf", false },
		{ "foo.efi", "foo.conf", false },
		{ "foo+3.efi", "foo.conf", false },
		{ "fop+3.conf", "foo.conf", false },
		{ "bar.conf", "foo.conf", false },
		{ "foo.", "foo.conf", false },
		{ "foo.con", "foo.conf", false },
		{ "foo+64k+3.conf", "foo.conf", false },
		{ "foo-4k", "foo-64k.conf", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		check(names(vectors[i].pattern, vectors[i].file) == vectors[i].want, "\"%s\" and %s",
		      vectors[i].pattern, vectors[i].file);
}

/* foo+64+3.conf has the id foo+64.conf: what is left after the counter is not cut once more. */
static void an_id_that_ends_like_a_counter_is_not_cut_again(void **state)
{
	static const struct {
		const char *pattern;
		bool want;
	} vectors[] = {
		{ "foo+64.conf", true }, { "foo+64", true },    { "foo+64+2-1.conf", true },
		{ "foo", false },        { "foo.conf", false }, { "foo+3.conf", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		check(names(vectors[i].pattern, "foo+64+3.conf") == vectors[i].want, "\"%s\"",
		      vectors[i].pattern);
}

static void a_first_profile_answers_to_its_name_too(void **state)
{
	struct entry named = { .type = ENTRY_TYPE2, .id = SPAN("a.efi"), .profile_name = SPAN("Main") };
	struct entry later = {
		.type = ENTRY_TYPE2, .id = SPAN("a.efi@main"), .profile_name = SPAN("main"), .bls.profile = 1
	};

	(void)state;
	assert_true(entry_matches(&named, SPAN("a.efi@main")));
	assert_true(entry_matches(&named, SPAN("*.efi@m*")));
	assert_true(entry_matches(&named, SPAN("a.efi")));
	assert_false(entry_matches(&named, SPAN("b.efi@main")));
	assert_false(entry_matches(&named, SPAN("a.efi@")));
	assert_false(entry_matches(&named, SPAN("a.efi@other")));
	assert_false(entry_matches(&named, SPAN("@main")));
	assert_false(entry_matches(&later, SPAN("a.efi@main@main")));
	named.profile_name = SPAN_NONE;
	assert_false(entry_matches(&named, SPAN("a.efi@")));
}

static void a_name_alone_means_the_first_profile(void **state)
{
	struct entry first = { .type = ENTRY_TYPE2, .id = SPAN("a.efi") };
	struct entry later = { .type = ENTRY_TYPE2, .id = SPAN("a.efi@rescue"), .bls.profile = 1 };
	struct entry file = { .id = SPAN("a.conf"), .bls.profile = 1 };

	(void)state;
	boot_counter_parse(SPAN("A+3.efi"), &first.counter);
	boot_counter_parse(SPAN("A+3.efi"), &later.counter);
	boot_counter_parse(SPAN("a.conf"), &file.counter);
	assert_true(entry_matches(&first, SPAN("a")));
	assert_true(entry_matches(&first, SPAN("a.efi")));
	assert_true(entry_matches(&first, SPAN("a+1-2.efi")));
	assert_false(entry_matches(&first, SPAN("a.efi@rescue")));
	assert_false(entry_matches(&later, SPAN("a")));
	assert_false(entry_matches(&later, SPAN("a.efi")));
	assert_false(entry_matches(&later, SPAN("a+1-2.efi")));
	assert_true(entry_matches(&later, SPAN("a.efi@Rescue")));
	assert_true(entry_matches(&later, SPAN("a*")));
	/* A file that starts a profile has an id of its own. */
	assert_true(entry_matches(&file, SPAN("a")));
	assert_true(entry_matches(&file, SPAN("a+1-2.conf")));
}

static void a_profile_is_named_with_and_without_the_suffix_of_its_file(void **state)
{
	struct entry first = { .type = ENTRY_TYPE2, .id = SPAN("a.efi"), .profile_name = SPAN("main") };
	struct entry later = { .type = ENTRY_TYPE2, .id = SPAN("a.efi@big"), .bls.profile = 1 };
	struct entry by_id;

	(void)state;
	boot_counter_parse(SPAN("a+3.efi"), &first.counter);
	boot_counter_parse(SPAN("a+3.efi"), &later.counter);
	assert_true(entry_matches(&first, SPAN("A@main")));
	assert_true(entry_matches(&later, SPAN("a@BIG")));
	assert_true(entry_matches(&later, SPAN("?@b*")));
	assert_false(entry_matches(&first, SPAN("a@big")));
	assert_false(entry_matches(&later, SPAN("a@main")));
	assert_false(entry_matches(&later, SPAN("b@big")));
	assert_false(entry_matches(&later, SPAN("@big")));
	assert_false(entry_matches(&later, SPAN("a@")));
	/* What runs is known by its id alone. */
	entry_from_id(SPAN("a.efi@big"), &by_id);
	assert_true(entry_matches(&by_id, SPAN("a@big")));
	assert_false(entry_matches(&by_id, SPAN("a@main")));
}

static void other_options_change_the_size_of_a_selectable_image_only(void **state)
{
	struct entry e = { .kind = IMAGE_SELECTABLE, .page_size = PAGE_SIZE_64K };
	(void)state;

	e.bls.options = SPAN("arm64.pagesize=16k quiet");
	entry_update_page_size(&e, PAGE_SIZE_SET_ALL);
	assert_int_equal(e.page_size, PAGE_SIZE_16K);
	e.bls.options = SPAN("quiet");
	entry_update_page_size(&e, 1u << PAGE_SIZE_4K);
	assert_int_equal(e.page_size, PAGE_SIZE_4K);
	e.kind = IMAGE_FIXED;
	entry_update_page_size(&e, PAGE_SIZE_SET_ALL);
	assert_int_equal(e.page_size, PAGE_SIZE_4K);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_with_a_size_decides),
		cmocka_unit_test(a_header_without_size_and_no_other_evidence_is_unknown),
		cmocka_unit_test(a_selectable_image_has_the_size_its_options_ask_for),
		cmocka_unit_test(a_selectable_image_without_word_takes_the_largest_size),
		cmocka_unit_test(other_options_change_the_size_of_a_selectable_image_only),
		cmocka_unit_test(the_line_of_register_stands_for_a_header_that_is_not_visible),
		cmocka_unit_test(x86_64_has_4k),
		cmocka_unit_test(an_entry_is_supported_unless_both_facts_speak_against_it),
		cmocka_unit_test(patterns_that_name_an_entry),
		cmocka_unit_test(a_name_alone_means_the_first_profile),
		cmocka_unit_test(a_first_profile_answers_to_its_name_too),
		cmocka_unit_test(a_profile_is_named_with_and_without_the_suffix_of_its_file),
		cmocka_unit_test(an_id_that_ends_like_a_counter_is_not_cut_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
