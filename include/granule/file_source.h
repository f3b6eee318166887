/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that core/ looks into, piece by piece. Whoever opened it does the reading. */
#ifndef GRANULE_FILE_SOURCE_H
#define GRANULE_FILE_SOURCE_H

#include <granule/span.h>

struct file_source {
	/* Reads `size` bytes at an offset; *ret_n is less only at the end of the file. Returns NULL, or a
	 * phrase that says why it failed; it has to live as long as the entry. */
	const char *(*read)(void *context, uint64_t offset, void *buffer, size_t size, size_t *ret_n);
	void *context;
	uint64_t size; /* of the file, in bytes */
};

#endif
