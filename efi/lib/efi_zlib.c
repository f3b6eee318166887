/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for parts of zlib that gzip_head() cannot come to, and that would be pulled in with the rest. */
#define Z_SOLO
#include <zlib.h>

#include <granule/gzip_head.h>

#include "efi_util.h"

extern EFI_HANDLE LibImageHandle;

voidpf zcalloc(voidpf opaque, unsigned items, unsigned size);
void zcfree(voidpf opaque, voidpf p);
void inflate_fast(z_streamp stream, unsigned start);

/* Memory is asked for through the functions in z_stream. */
voidpf zcalloc(voidpf opaque, unsigned items, unsigned size)
{
	(void)opaque;
	(void)items;
	(void)size;
	return NULL;
}

void zcfree(voidpf opaque, voidpf p)
{
	(void)opaque;
	(void)p;
}

/* Is called when the window has room for the longest match of the format, 258 bytes: ours never has. */
_Static_assert(GZIP_HEAD_MAX < 258, "the fast path of inflate is not there");

void inflate_fast(z_streamp stream, unsigned start)
{
	(void)stream;
	(void)start;
	BS->Exit(LibImageHandle, EFI_ABORTED, 0, NULL);
}
