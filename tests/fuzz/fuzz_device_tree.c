/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device trees and overlays. Input: size of the tree (two bytes, the low one first), the tree, an overlay.
 * Without a tree (size 0) the overlay meets a good one, with a bus that has a label and a phandle. */
#include "fuzz.h"
#include <libfdt.h>

#include <granule/boot_record.h>
#include <granule/device_tree.h>
#include <granule/error.h>

#define RECORD SPAN("entry=a.conf\npage-size=64k\nreason=policy\nexplain=because\n")

static struct span good_tree(struct fuzz *f)
{
	char t[1024];

	CHECK(!fdt_create(t, sizeof(t)) && !fdt_finish_reservemap(t) && !fdt_begin_node(t, ""));
	CHECK(!fdt_begin_node(t, "bus") && !fdt_property_u32(t, "phandle", 7));
	CHECK(!fdt_begin_node(t, "fan") && !fdt_property_string(t, "status", "disabled"));
	CHECK(!fdt_end_node(t) && !fdt_end_node(t));
	CHECK(!fdt_begin_node(t, "aliases") && !fdt_property_string(t, "loop", "loop") && !fdt_end_node(t));
	CHECK(!fdt_begin_node(t, "__symbols__") && !fdt_property_string(t, "bus", "/bus"));
	CHECK(!fdt_property(t, "open", "/bus", 4) && !fdt_end_node(t));
	CHECK(!fdt_end_node(t) && !fdt_finish(t));
	return fuzz_copy(f, t, fdt_totalsize(t));
}

static bool passes(const void *tree, size_t size)
{
	int error = device_tree_check(tree, size);

	CHECK(error == 0 || error == ERROR_MAGIC || error == ERROR_TRUNCATED || error == ERROR_SYNTAX ||
	      error == ERROR_TOO_MANY || error == ERROR_SPACE);
	return !error;
}

static struct span chosen(const void *tree, const char *name)
{
	int n;
	const char *p = fdt_getprop(tree, fdt_path_offset(tree, "/chosen"), name, &n);

	CHECK(p && n > 0 && !p[n - 1]);
	return (struct span){ p, (size_t)n - 1 };
}

/* What was recorded is read back, and the tree stays one. */
static void check_record(struct fuzz *f, const char *tree)
{
	size_t room = device_tree_room(device_tree_size(tree), 0);
	char *t = fuzz_alloc(f, room);

	CHECK(device_tree_copy(tree, t, room) == 0 && passes(t, room));
	int error = device_tree_record(t, RECORD, SPAN("4k 64k"));
	CHECK(error == 0 || error == ERROR_SYNTAX || error == ERROR_SPACE);
	CHECK(passes(t, room));
	if (!error) {
		CHECK(span_equal(chosen(t, DEVICE_TREE_BOOT), RECORD));
		CHECK(span_equal(chosen(t, DEVICE_TREE_CPU), SPAN("4k 64k")));
		CHECK(span_equal(chosen(t, DEVICE_TREE_ENTRY), SPAN("a.conf")));
		CHECK(span_equal(chosen(t, DEVICE_TREE_PAGE_SIZE), SPAN("64k")));
		CHECK(span_equal(chosen(t, DEVICE_TREE_REASON), SPAN("policy")));
	}
	size_t n = device_tree_pack(t);
	CHECK(n <= room && passes(t, n));
}

static void check_overlay(struct fuzz *f, struct span tree, struct span overlay)
{
	size_t room = device_tree_room(tree.n, overlay.n);
	struct span before = fuzz_copy(f, tree.p, tree.n);
	char *t = fuzz_alloc(f, room), *tight = fuzz_alloc(f, tree.n);
	struct span again = fuzz_copy(f, overlay.p, overlay.n);

	int error = device_tree_apply(tree.p, (char *)overlay.p, overlay.n, t, room);
	CHECK(span_equal(tree, before));
	if (!error) {
		CHECK(passes(t, room));
		check_record(f, t);
	} else {
		CHECK(*device_tree_error_text(error));
	}
	/* With no room to grow. */
	int other = device_tree_apply(tree.p, (char *)again.p, again.n, tight, tree.n);
	CHECK(span_equal(tree, before));
	CHECK(other == error || other == ERROR_SPACE);
	CHECK(other || passes(tight, tree.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t n = fuzz_byte(&f);

	n |= (size_t)fuzz_byte(&f) << 8;
	if (n > f.n)
		n = f.n;
	struct span tree = n ? fuzz_copy(&f, f.p, n) : good_tree(&f);
	f.p += n;
	f.n -= n;
	if (passes(tree.p, tree.n)) {
		check_record(&f, tree.p);
		/* The tree alone, without what may lie behind it. */
		tree.n = device_tree_size(tree.p);
		if (f.n)
			check_overlay(&f, fuzz_copy(&f, tree.p, tree.n), fuzz_rest(&f));
	}
	fuzz_end(&f);
	return 0;
}
