/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the Boot Loader Specification. Input: the text. */
#include "fuzz.h"
#include <granule/bls.h>
#include <granule/error.h>
#include <granule/keyval.h>

static bool climbs(struct span path)
{
	for (size_t i = 0; i + 2 <= path.n; i++) {
		bool begins = i == 0 || path.p[i - 1] == '/' || path.p[i - 1] == '\\';
		bool ends = i + 2 == path.n || path.p[i + 2] == '/' || path.p[i + 2] == '\\';

		if (begins && ends && path.p[i] == '.' && path.p[i + 1] == '.')
			return true;
	}
	return false;
}

/* Last value of a key in the text. */
static struct span last_of(struct span text, const char *key)
{
	struct span last = SPAN_NONE;
	struct keyval kv;

	for (size_t pos = 0; keyval_next(text, &pos, &kv);)
		if (span_equal(kv.key, span_of(key)))
			last = kv.value;
	return last;
}

static void check_list(struct span text, const char *key, const struct span *list, unsigned n, unsigned max)
{
	struct keyval kv;
	unsigned i = 0;

	CHECK(n <= max);
	for (size_t pos = 0; keyval_next(text, &pos, &kv);) {
		if (!span_equal(kv.key, span_of(key)))
			continue;
		CHECK(i < n && list[i].p == kv.value.p && list[i].n == kv.value.n);
		CHECK(!climbs(list[i]));
		i++;
	}
	CHECK(i == n);
}

/* Overlays are words of their lines. */
static void check_overlays(struct span text, const struct bls_entry *e)
{
	struct keyval kv;
	unsigned i = 0;

	CHECK(e->n_overlay <= BLS_MAX_OVERLAY);
	for (size_t pos = 0; keyval_next(text, &pos, &kv);) {
		if (!span_equal(kv.key, SPAN("devicetree-overlay")))
			continue;
		for (size_t k = 0; k < kv.value.n; k++) {
			if (char_is_blank(kv.value.p[k]) || (k && !char_is_blank(kv.value.p[k - 1])))
				continue;
			CHECK(i < e->n_overlay && e->overlay[i].p == kv.value.p + k && e->overlay[i].n);
			CHECK(!climbs(e->overlay[i]) && !fuzz_has(e->overlay[i], ' '));
			i++;
		}
	}
	CHECK(i == e->n_overlay);
}

static void check_entry(struct span text, const struct bls_entry *e)
{
	static const char *const start_keys[] = {
		[BLS_START_LINUX] = "linux",
		[BLS_START_EFI] = "efi",
		[BLS_START_UKI] = "uki",
		[BLS_START_UKI_URL] = "uki-url",
	};

	CHECK(!fuzz_has(text, 0));
	CHECK(e->start > BLS_START_NONE && e->start <= BLS_START_UKI_URL);
	for (enum bls_start s = BLS_START_LINUX; s <= BLS_START_UKI_URL; s++)
		CHECK(span_equal(last_of(text, start_keys[s]), s == e->start ? e->path : SPAN_NONE));
	CHECK(e->path.n && !climbs(e->path) && !climbs(e->devicetree));
	CHECK(span_equal(e->title, last_of(text, "title")));
	CHECK(span_equal(e->version, last_of(text, "version")));
	CHECK(span_equal(e->machine_id, last_of(text, "machine-id")));
	CHECK(span_equal(e->sort_key, last_of(text, "sort-key")));
	CHECK(span_equal(e->architecture, last_of(text, "architecture")));
	CHECK(span_equal(e->devicetree, last_of(text, "devicetree")));
	CHECK(fuzz_inside(text, e->title) && fuzz_inside(text, e->version) && fuzz_inside(text, e->path));
	check_list(text, "initrd", e->initrd, e->n_initrd, BLS_MAX_INITRD);
	check_list(text, "extra", e->extra, e->n_extra, BLS_MAX_EXTRA);
	check_overlays(text, e);

	struct span image = last_of(text, BLS_KEY_IMAGE);
	CHECK(e->from_granule == (image.n > 0));
	CHECK(e->image_selectable == span_equal(image, SPAN(BLS_IMAGE_SELECTABLE)));
	CHECK(e->image_page_size == page_size_parse(image));
	CHECK(e->trial == span_equal(last_of(text, BLS_KEY_TRIAL), SPAN("yes")));
}

/* The options, put together once more by another road. */
static void check_options(struct fuzz *f, struct span text, struct span options)
{
	struct text want = fuzz_text(f, text.n + 1);
	struct keyval kv;

	for (size_t pos = 0; keyval_next(text, &pos, &kv);) {
		if (!span_equal(kv.key, SPAN("options")))
			continue;
		if (want.n)
			text_add(&want, SPAN(" "));
		text_add(&want, kv.value);
	}
	CHECK(!want.full && span_equal(options, text_span(&want)));
}

static void check_error(struct span text, int error, size_t offset)
{
	struct keyval kv;
	bool at_key = false;

	CHECK(error == ERROR_SYNTAX || error == ERROR_TOO_MANY || error == ERROR_NO_KERNEL ||
	      error == ERROR_TWO_KERNELS);
	if (error == ERROR_NO_KERNEL) {
		CHECK(offset == 0 && !fuzz_has(text, 0) && !last_of(text, "linux").n &&
		      !last_of(text, "efi").n);
		return;
	}
	CHECK(offset < text.n);
	CHECK(!fuzz_has(text, 0) || (error == ERROR_SYNTAX && !text.p[offset]));
	for (size_t pos = 0; keyval_next(text, &pos, &kv);)
		at_key = at_key || kv.offset == offset;
	CHECK(at_key || (error == ERROR_SYNTAX && !text.p[offset]));
}

static void check_file_name(struct span name)
{
	bool good = name.n > 5 && name.n <= 255 && name.p[0] != '.' &&
		    span_ends_nocase(name, SPAN(".conf")) &&
		    !(span_equal_nocase(span_cut(name, 0, 5), SPAN("auto-")));

	for (size_t i = 0; i < name.n; i++)
		good = good && (char_is_alpha(name.p[i]) || char_is_digit(name.p[i]) ||
				(name.p[i] && strchr("+-_.", name.p[i])));
	CHECK(bls_file_name_valid(name) == good);
}

/* Reads once more with an options buffer of this size. */
static int parse_with(struct fuzz *f, struct span text, size_t size, size_t *ret_offset)
{
	struct bls_entry e;

	*ret_offset = SIZE_MAX;
	return bls_parse(text, fuzz_alloc(f, size), size, &e, ret_offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span text = fuzz_rest(&f);
	struct bls_entry e;
	size_t offset = SIZE_MAX;

	char *options = fuzz_alloc(&f, text.n + 1);
	int error = bls_parse(text, options, text.n + 1, &e, &offset);
	if (error) {
		check_error(text, error, offset);
		int other = parse_with(&f, text, text.n / 8, &offset);
		CHECK(other == error || other == ERROR_SPACE);
	} else {
		check_entry(text, &e);
		CHECK(e.options.p == options);
		check_options(&f, text, e.options);
		/* A buffer that just holds the options is enough, and one byte less is not. */
		CHECK(parse_with(&f, text, e.options.n + 1, &offset) == 0);
		if (e.options.n) {
			CHECK(parse_with(&f, text, e.options.n, &offset) == ERROR_SPACE);
			CHECK(span_starts(span_cut(text, offset, text.n), SPAN("options")));
		}
	}
	check_file_name(text);
	fuzz_end(&f);
	return 0;
}
