/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of fuzzer input, for what reads through struct file_source. */
#ifndef GRANULE_FUZZ_MEMORY_SOURCE_H
#define GRANULE_FUZZ_MEMORY_SOURCE_H

#include "fuzz.h"
#include <granule/file_source.h>

#define FUZZ_READ_ERROR "cannot be read"

struct memory_source {
	struct span bytes;
	uint64_t size;   /* that is claimed */
	unsigned reads;  /* so far */
	unsigned broken; /* number of the read that fails; 0: none */
};

static const char *memory_read(void *context, uint64_t offset, void *buffer, size_t size, size_t *ret_n)
{
	struct memory_source *s = context;

	*ret_n = 0;
	if (++s->reads == s->broken)
		return FUZZ_READ_ERROR;
	/* Nobody has a reason to ask for what is not there. */
	CHECK(offset <= s->size && size <= s->size + (1 << 16));
	if (offset < s->bytes.n) {
		*ret_n = size < s->bytes.n - offset ? size : s->bytes.n - (size_t)offset;
		memcpy(buffer, s->bytes.p + offset, *ret_n);
	}
	return NULL;
}

static inline struct file_source memory_source(struct memory_source *s)
{
	return (struct file_source){ .read = memory_read, .context = s, .size = s->size };
}

#endif
