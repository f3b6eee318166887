/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first bytes of a gzip stream, unpacked with zlib: enough for the header of a compressed kernel. */
#ifndef GRANULE_GZIP_HEAD_H
#define GRANULE_GZIP_HEAD_H

#include <granule/span.h>

/* Most bytes that can be unpacked. Nothing before them exists that a stream could refer to, so a window of
 * this size serves any stream. */
#define GZIP_HEAD_MAX 256u
/* Working memory that zlib 1.2 and 1.3 do with. */
#define GZIP_HEAD_SCRATCH (10u << 10)

/* Unpacks up to `room` bytes (at most GZIP_HEAD_MAX) of a stream (RFC 1952) of which the first `size` bytes
 * are given; 2 KiB of them are plenty. *ret_n is how many there are. Returns 0 when `room` bytes came out or
 * the stream ends before; ERROR_TRUNCATED when more input is needed for them; ERROR_MAGIC when it is no gzip
 * stream; ERROR_SYNTAX when it is damaged; ERROR_SPACE when zlib wants more working memory. */
int gzip_head(const void *data, size_t size, void *out, size_t room, void *scratch, size_t scratch_size,
	      size_t *ret_n);

#endif
