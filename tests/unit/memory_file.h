/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file in memory, for what reads through struct file_source. */
#ifndef GRANULE_TESTS_MEMORY_FILE_H
#define GRANULE_TESTS_MEMORY_FILE_H

#include "unit.h"

#include <granule/file_source.h>

#define MEMORY_FILE_ERROR "the disk is on fire"

struct memory_file {
	const unsigned char *bytes;
	uint64_t size;
	uint64_t broken_from; /* reading from here on fails; UINT64_MAX: nowhere */
	unsigned reads;
};

static inline const char *memory_file_read(void *context, uint64_t offset, void *buffer, size_t size,
					   size_t *ret_n)
{
	struct memory_file *f = context;

	f->reads++;
	*ret_n = 0;
	if (offset + size > f->broken_from)
		return MEMORY_FILE_ERROR;
	if (offset < f->size) {
		*ret_n = size < f->size - offset ? size : (size_t)(f->size - offset);
		memcpy(buffer, f->bytes + offset, *ret_n);
	}
	return NULL;
}

static inline struct file_source memory_file_source(struct memory_file *f)
{
	return (struct file_source){ .read = memory_file_read, .context = f, .size = f->size };
}

#endif
