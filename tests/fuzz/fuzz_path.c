/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spellings of paths: a path is the same as its normal forms, and comparing is symmetric. */
#include "fuzz.h"

#include <granule/path.h>

static struct span normal(struct fuzz *f, struct span path, char separator)
{
	struct text t = text_in(fuzz_alloc(f, path.n + 2), path.n + 2);

	path_normal(path, separator, &t);
	CHECK(!t.full);
	return text_span(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span a = fuzz_field(&f), b = fuzz_field(&f);
	struct span slashes = normal(&f, a, '/'), backslashes = normal(&f, a, '\\');

	CHECK(path_same(a, slashes) && path_same(slashes, backslashes));
	CHECK(slashes.n == backslashes.n && slashes.n <= a.n + 1);
	CHECK(path_same(a, b) == path_same(b, a));
	CHECK(path_same(a, b) == span_equal_nocase(slashes, normal(&f, b, '/')));
	fuzz_end(&f);
	return 0;
}
