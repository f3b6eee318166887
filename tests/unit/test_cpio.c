/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Additional resources as pieces of an initramfs. That cpio and the kernel read them is shown elsewhere. */
#include "unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <granule/cpio.h>
#include <granule/error.h>

static void add_file(struct text *t, const char *path, const char *content, uint32_t inode)
{
	size_t n = strlen(content);

	assert_int_equal(cpio_add_head(span_of(path), n, inode, t), 0);
	assert_int_equal(t->n % 4, 0);
	text_add(t, span_of(content));
	text_add(t, (struct span){ "\0\0\0", -n & 3 });
}

static void expect_next(struct archive *a, const char *path, unsigned mode, const char *content)
{
	struct archive_entry *e;
	char data[64];

	assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(e), path);
	check(archive_entry_mode(e) == mode, "%s: mode %o", path, archive_entry_mode(e));
	if (content) {
		la_ssize_t n = archive_read_data(a, data, sizeof(data));
		assert_int_equal(n, strlen(content));
		assert_memory_equal(data, content, (size_t)n);
	}
}

static void libarchive_reads_each_kind_where_it_belongs(void **state)
{
	char buffer[8192];
	struct text t = text_in(buffer, sizeof(buffer));
	struct archive *a = archive_read_new();

	(void)state;
	add_file(&t, "/a/b/disk.cred", "secret", 1);
	add_file(&t, "\\x\\net.confext.raw", "12345678", 2);
	add_file(&t, "tools.sysext.raw", "", 3);
	add_file(&t, "/old.RAW", "o", 4);
	cpio_add_end(&t);
	assert_false(t.full);

	archive_read_support_format_cpio(a);
	assert_int_equal(archive_read_open_memory(a, buffer, t.n), ARCHIVE_OK);
	expect_next(a, ".extra", 040555, NULL);
	expect_next(a, ".extra/credentials", 040500, NULL);
	expect_next(a, ".extra/credentials/disk.cred", 0100400, "secret");
	expect_next(a, ".extra", 040555, NULL);
	expect_next(a, ".extra/confext", 040555, NULL);
	expect_next(a, ".extra/confext/net.confext.raw", 0100444, "12345678");
	expect_next(a, ".extra", 040555, NULL);
	expect_next(a, ".extra/sysext", 040555, NULL);
	expect_next(a, ".extra/sysext/tools.sysext.raw", 0100444, "");
	expect_next(a, ".extra", 040555, NULL);
	expect_next(a, ".extra/sysext", 040555, NULL);
	expect_next(a, ".extra/sysext/old.RAW", 0100444, "o");
	struct archive_entry *e;
	assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_EOF);
	archive_read_free(a);
}

static void other_kinds_and_sizes_are_refused(void **state)
{
	static const struct {
		const char *path;
		uint64_t size;
		int error;
	} vectors[] = {
		{ "/a.addon.efi", 1, ERROR_NOT_FOUND }, { "/a.cred/b", 1, ERROR_NOT_FOUND },
		{ "/.cred", 1, ERROR_NOT_FOUND },       { "", 1, ERROR_NOT_FOUND },
		{ "/a.cred", UINT32_MAX, 0 },           { "/a.cred", (uint64_t)UINT32_MAX + 1, ERROR_RANGE },
	};
	char buffer[CPIO_HEAD_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct text t = text_in(buffer, sizeof(buffer));
		int error = cpio_add_head(span_of(vectors[i].path), vectors[i].size, 1, &t);

		check(error == vectors[i].error, "%s: %d", vectors[i].path, error);
		if (error)
			assert_int_equal(t.n, 0);
	}
}

static void the_longest_name_fits_the_room_that_is_promised(void **state)
{
	char name[256] = { 0 }, buffer[CPIO_HEAD_MAX], small[300];
	struct text t = text_in(buffer, sizeof(buffer)), s = text_in(small, sizeof(small));

	(void)state;
	memset(name, 'n', 255);
	memcpy(name + 250, ".cred", 5);
	assert_int_equal(cpio_add_head(span_of(name), 1, 1, &t), 0);
	cpio_add_end(&t);
	assert_false(t.full);
	assert_int_equal(cpio_add_head(span_of(name), 1, 1, &s), ERROR_SPACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libarchive_reads_each_kind_where_it_belongs),
		cmocka_unit_test(other_kinds_and_sizes_are_refused),
		cmocka_unit_test(the_longest_name_fits_the_room_that_is_promised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
