/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GUID partition tables (UEFI 2.10, 5.3): enough to find a partition by its type. */
#ifndef GRANULE_GPT_H
#define GRANULE_GPT_H

#include <granule/span.h>

#define GPT_GUID_SIZE 16
#define GPT_HEADER_SIZE 92
/* Extended boot loader partition (Discoverable Partitions Specification), bytes as on disk */
#define GPT_TYPE_XBOOTLDR "\xff\xc2\x13\xbc\xe6\x59\x62\x42\xa3\x52\xb2\x75\xfd\x6f\x71\x72"

struct gpt {
	uint64_t entries_lba; /* block of the first partition entry */
	uint32_t n_entries, entry_size;
	uint32_t entries_bytes; /* of all of them */
	uint32_t entries_crc;   /* what their checksum has to be */
};

/* Reads the header, which is block 1 of the disk, or its copy in the last block, from its first `size` bytes.
 * ERROR_MAGIC when there is none; ERROR_TRUNCATED; ERROR_RANGE when its numbers cannot be. Its own checksum
 * is not looked at: when that of the entries fits, the header led to them. */
int gpt_parse(const void *header, size_t size, struct gpt *ret);

/* Unique GUID of the first partition of a type. `entries` are gpt->entries_bytes bytes. NULL if there is
 * none. */
const unsigned char *gpt_find(const void *entries, const struct gpt *gpt, const void *type);

#endif
