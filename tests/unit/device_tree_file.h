/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes small device trees for the unit tests, with libfdt's sequential writer. */
#ifndef GRANULE_TESTS_DEVICE_TREE_FILE_H
#define GRANULE_TESTS_DEVICE_TREE_FILE_H

#include "unit.h"

#include <libfdt.h>

#define SIZE 4096

/* A tree that is being written; on the heap, so that a byte too far is noticed. */
static inline void *begin(void)
{
	void *t = calloc(1, SIZE);

	assert_non_null(t);
	assert_int_equal(fdt_create(t, SIZE), 0);
	assert_int_equal(fdt_finish_reservemap(t), 0);
	assert_int_equal(fdt_begin_node(t, ""), 0);
	return t;
}

static inline void node(void *t, const char *name)
{
	assert_int_equal(fdt_begin_node(t, name), 0);
}

static inline void leave(void *t)
{
	assert_int_equal(fdt_end_node(t), 0);
}

static inline void text(void *t, const char *name, const char *value)
{
	assert_int_equal(fdt_property_string(t, name, value), 0);
}

static inline void bytes(void *t, const char *name, const void *value, int n)
{
	assert_int_equal(fdt_property(t, name, value, n), 0);
}

static inline void number(void *t, const char *name, uint32_t value)
{
	assert_int_equal(fdt_property_u32(t, name, value), 0);
}

/* Closes the root; the copy has not a byte to spare. */
static inline void *finish(void *t)
{
	leave(t);
	assert_int_equal(fdt_finish(t), 0);
	struct span copy = exact_bytes(t, fdt_totalsize(t));
	free(t);
	return (void *)copy.p;
}

/* A property with all its bytes; empty if it is not there. */
static inline struct span property(const void *t, const char *path, const char *name)
{
	int n = 0;
	const char *p = fdt_getprop(t, fdt_path_offset(t, path), name, &n);

	return (struct span){ p, p ? (size_t)n : 0 };
}

#endif
