/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries made of unified kernel images: names, ids, and what is refused. */
#include "unit.h"

#include <granule/uki_entry.h>

#include "memory_file.h"

#define OSREL "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_ID=13\n"

/* An image as far as entries go: its texts, one after the other. */
struct texts {
	const char *osrel, *profile, *cmdline, *uname;
};

struct made {
	char *memory;
	struct entry e;
	const char *wrong;
};

static struct made make(const char *file_name, const struct texts *texts, uint32_t n)
{
	const char *const in_order[] = { texts->uname, texts->cmdline, texts->profile, texts->osrel };
	static const enum uki_section sections[] = { UKI_UNAME, UKI_CMDLINE, UKI_PROFILE, UKI_OSREL };
	unsigned char bytes[2048];
	struct memory_file f = { .bytes = bytes, .broken_from = UINT64_MAX };
	struct uki_profile p = { 0 };
	struct made m;

	for (size_t i = 0; i < COUNT(sections); i++) {
		size_t size = in_order[i] ? strlen(in_order[i]) : 0;

		p.parts[sections[i]] = (struct uki_part){ (uint32_t)f.size, (uint32_t)size };
		if (size)
			memcpy(bytes + f.size, in_order[i], size);
		f.size += size;
	}
	struct file_source source = memory_file_source(&f);
	m.memory = malloc(uki_entry_memory(span_of(file_name), &p));
	m.wrong = uki_entry(&source, span_of(file_name), &p, n, m.memory, &m.e);
	return m;
}

static void all_fields_of_an_entry(void **state)
{
	const struct texts texts = { OSREL, "ID=Rescue\nTITLE='Rescue mode'\n", " root=/dev/vda2\n",
				     "6.12.1-64k\n" };
	struct made m = make("Debian-6.12+3-1.EFI", &texts, 2);

	(void)state;
	assert_null(m.wrong);
	assert_int_equal(m.e.type, ENTRY_TYPE2);
	assert_int_equal(m.e.volume, VOLUME_OWN);
	assert_span_equal(m.e.id, "debian-6.12.efi@rescue");
	assert_span_equal(m.e.file_name, "Debian-6.12+3-1.EFI");
	assert_span_equal(m.e.release, "6.12.1-64k");
	assert_true(m.e.counter.present);
	assert_int_equal(m.e.counter.left, 3);
	assert_int_equal(m.e.counter.done, 1);
	assert_int_equal(m.e.bls.start, BLS_START_UKI);
	assert_span_equal(m.e.bls.path, "/EFI/Linux/Debian-6.12+3-1.EFI");
	assert_span_equal(m.e.bls.title, "Debian GNU/Linux 13 (trixie) (Rescue mode)");
	assert_span_equal(m.e.bls.version, "13");
	assert_span_equal(m.e.bls.sort_key, "debian");
	assert_span_equal(m.e.bls.options, "root=/dev/vda2");
	assert_int_equal(m.e.bls.profile, 2);
	assert_int_equal(m.e.bls.n_initrd, 0);
	free(m.memory);
}

static void ids_and_titles_tell_profiles_apart(void **state)
{
	static const struct {
		const char *profile;
		uint32_t n;
		const char *id, *title;
	} vectors[] = {
		{ NULL, 0, "a.efi", "A" },
		{ "ID=main", 0, "a.efi", "A" },
		{ "ID=main\nTITLE=Main", 0, "a.efi", "A (Main)" },
		{ NULL, 1, "a.efi@1", "A (@1)" },
		{ "X=y", 12, "a.efi@12", "A (@12)" },
		{ "ID=", 1, "a.efi@1", "A (@1)" },
		{ "TITLE=Main", 1, "a.efi@1", "A (Main)" },
		{ "ID=Factory-Reset", 1, "a.efi@factory-reset", "A (Factory-Reset)" },
		{ "ID=one\nID=two", 1, "a.efi@two", "A (two)" },
		{ "ID=r\nTITLE=\"Reset \\\"all\\\"\"", 255, "a.efi@r", "A (Reset \"all\")" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		const struct texts texts = { .osrel = "NAME=A", .profile = vectors[i].profile };
		struct made m = make("a.efi", &texts, vectors[i].n);

		assert_null(m.wrong);
		assert_span_equal(m.e.id, vectors[i].id);
		assert_span_equal(m.e.bls.title, vectors[i].title);
		assert_int_equal(m.e.bls.profile, vectors[i].n);
		free(m.memory);
	}
}

static void the_most_precise_name_is_taken(void **state)
{
	static const struct {
		const char *osrel, *title, *version, *sort_key;
	} vectors[] = {
		{ "PRETTY_NAME=p\nIMAGE_ID=i\nNAME=n\nID=d\nIMAGE_VERSION=1\nVERSION=2\nVERSION_ID=3\nBUILD_"
		  "ID=4",
		  "p", "1", "i" },
		{ "BUILD_ID=4\nVERSION_ID=3\nVERSION=2\nID=d\nNAME=n\nIMAGE_ID=i", "i", "2", "i" },
		{ "NAME=n\nID=d\nVERSION_ID=3\nBUILD_ID=4", "n", "3", "d" },
		{ "ID=d\nBUILD_ID=4", "d", "4", "d" },
		{ "NAME=n", "n", "", "" },
		{ "PRETTY_NAME=\"\"\nNAME=n\nIMAGE_ID=\nID=d", "n", "", "d" },
		{ "NAME=old\nNAME=new", "new", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		const struct texts texts = { .osrel = vectors[i].osrel };
		struct made m = make("a.efi", &texts, 0);

		assert_null(m.wrong);
		assert_span_equal(m.e.bls.title, vectors[i].title);
		assert_span_equal(m.e.bls.version, vectors[i].version);
		assert_span_equal(m.e.bls.sort_key, vectors[i].sort_key);
		assert_int_equal(m.e.release.n, 0);
		free(m.memory);
	}
}

static void without_a_name_there_is_no_entry(void **state)
{
	static const char *const bad[] = { NULL, "VERSION=1\nBUILD_ID=2", "NAME=\n", "#NAME=x", "no text" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		const struct texts texts = { .osrel = bad[i] };
		struct made m = make("a.efi", &texts, 0);

		assert_non_null(m.wrong);
		free(m.memory);
	}
}

static void long_names_fit(void **state)
{
	char file_name[256], osrel[600], profile[600];

	(void)state;
	memset(file_name, 'F', 251);
	strcpy(file_name + 251, ".efi");
	memset(osrel, 'o', sizeof(osrel) - 1);
	memcpy(osrel, "NAME=", 5);
	osrel[sizeof(osrel) - 1] = 0;
	memset(profile, 'P', sizeof(profile) - 1);
	memcpy(profile, "ID=", 3);
	profile[sizeof(profile) - 1] = 0;
	const struct texts texts = { osrel, profile, "c", "u" };
	struct made m = make(file_name, &texts, 255);
	assert_null(m.wrong);
	assert_int_equal(m.e.id.n, 255 + 1 + 596);
	assert_int_equal(m.e.bls.title.n, 594 + 2 + 596 + 1);
	assert_int_equal(m.e.bls.path.n, 255 + 11);
	free(m.memory);
}

static void too_long_and_unreadable_texts_are_refused(void **state)
{
	static unsigned char bytes[2 * UKI_TEXT_MAX];
	struct memory_file f = { .bytes = bytes, .size = sizeof(bytes), .broken_from = UINT64_MAX };
	struct file_source source = memory_file_source(&f);
	static const enum uki_section read[] = { UKI_OSREL, UKI_PROFILE, UKI_CMDLINE, UKI_UNAME };
	struct entry e;

	(void)state;
	memset(bytes, '\n', sizeof(bytes));
	memcpy(bytes, "NAME=a", 6);
	for (size_t i = 0; i < COUNT(read); i++) {
		struct uki_profile p = { .parts[UKI_OSREL] = { 0, 6 } };

		p.parts[read[i]].size = UKI_TEXT_MAX;
		char *memory = malloc(uki_entry_memory(SPAN("a.efi"), &p));
		assert_null(uki_entry(&source, SPAN("a.efi"), &p, 0, memory, &e));
		f.broken_from = UKI_TEXT_MAX - 1;
		assert_string_equal(uki_entry(&source, SPAN("a.efi"), &p, 0, memory, &e), MEMORY_FILE_ERROR);
		f.broken_from = UINT64_MAX;
		free(memory);

		p.parts[read[i]].size = UKI_TEXT_MAX + 1;
		memory = malloc(uki_entry_memory(SPAN("a.efi"), &p));
		assert_non_null(uki_entry(&source, SPAN("a.efi"), &p, 0, memory, &e));
		free(memory);

		/* Whatever the headers say, no one is asked for gigabytes. */
		p.parts[read[i]].size = UINT32_MAX;
		assert_true(uki_entry_memory(SPAN("a.efi"), &p) < 4 * UKI_TEXT_MAX);
	}
	/* Other parts are not read. */
	struct uki_profile p = { .parts[UKI_OSREL] = { 0, 6 }, .parts[UKI_LINUX] = { 0, UINT32_MAX } };
	char *memory = malloc(uki_entry_memory(SPAN("a.efi"), &p));
	f.reads = 0;
	assert_null(uki_entry(&source, SPAN("a.efi"), &p, 0, memory, &e));
	assert_int_equal(f.reads, 1);
	free(memory);
}

static void file_names(void **state)
{
	static const char *const good[] = { "a.efi", "A.EFI", "debian+3.efi", "auto.efi", "a b.efi" };
	static const char *const bad[] = { "a.conf",     ".efi",          ".a.efi", "auto-x.efi",
					   "AUTO-x.efi", "a.efi.extra.d", "efi",    "" };

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		check(uki_file_name_valid(span_of(good[i])), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		check(!uki_file_name_valid(span_of(bad[i])), "%s", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fields_of_an_entry),
		cmocka_unit_test(ids_and_titles_tell_profiles_apart),
		cmocka_unit_test(the_most_precise_name_is_taken),
		cmocka_unit_test(without_a_name_there_is_no_entry),
		cmocka_unit_test(long_names_fit),
		cmocka_unit_test(too_long_and_unreadable_texts_are_refused),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests_name("uki_entry", tests, NULL, NULL);
}
