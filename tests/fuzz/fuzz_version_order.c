/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of versions: it must be an order, whatever the strings. Input: A|B|C. */
#include "fuzz.h"
#include <granule/version_order.h>

static int sign(int r)
{
	return r < 0 ? -1 : r > 0;
}

static void check_transitive(struct span a, struct span b, struct span c)
{
	int ab = sign(version_compare(a, b)), bc = sign(version_compare(b, c)),
	    ac = sign(version_compare(a, c));

	if (ab == 0)
		CHECK(ac == bc);
	else if (bc == 0 || ab == bc)
		CHECK(ac == ab);
}

/* Noise in front is skipped. At the end it may count: what follows a '~' is compared before noise is skipped.
 */
static void check_noise(struct fuzz *f, struct span a)
{
	char *noisy = fuzz_alloc(f, a.n + 1);

	noisy[0] = '_';
	memcpy(noisy + 1, a.p, a.n);
	CHECK(version_compare(a, (struct span){ noisy, a.n + 1 }) == 0);
	CHECK(version_compare((struct span){ noisy, a.n + 1 }, a) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span s[3];

	for (size_t i = 0; i < 3; i++)
		s[i] = fuzz_field(&f);
	for (size_t i = 0; i < 3; i++) {
		CHECK(version_compare(s[i], fuzz_copy(&f, s[i].p, s[i].n)) == 0);
		check_noise(&f, s[i]);
		for (size_t k = 0; k < 3; k++) {
			CHECK(sign(version_compare(s[i], s[k])) == -sign(version_compare(s[k], s[i])));
			if (i != k)
				check_transitive(s[i], s[k], s[3 - i - k]);
		}
	}
	fuzz_end(&f);
	return 0;
}
