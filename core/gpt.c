/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/gpt.h>

/* Offsets in the header */
#define ENTRIES_LBA 72
#define N_ENTRIES 80
#define ENTRY_SIZE 84
#define ENTRIES_CRC 88
/* Smallest entry, and more of them than any table has */
#define MIN_ENTRY_SIZE 128u
#define MAX_ENTRIES_BYTES (1u << 20)
/* Offset of the unique GUID in an entry; the type comes first */
#define UNIQUE_GUID 16

int gpt_parse(const void *header, size_t size, struct gpt *ret)
{
	const unsigned char *h = header;

	if (size < GPT_HEADER_SIZE)
		return ERROR_TRUNCATED;
	if (!span_equal((struct span){ header, 8 }, SPAN("EFI PART")))
		return ERROR_MAGIC;
	ret->entries_lba = read_le64(h + ENTRIES_LBA);
	ret->n_entries = read_le32(h + N_ENTRIES);
	ret->entry_size = read_le32(h + ENTRY_SIZE);
	ret->entries_crc = read_le32(h + ENTRIES_CRC);
	if (ret->entry_size < MIN_ENTRY_SIZE || ret->entries_lba < 2 ||
	    ret->n_entries > MAX_ENTRIES_BYTES / ret->entry_size)
		return ERROR_RANGE;
	ret->entries_bytes = ret->n_entries * ret->entry_size;
	return 0;
}

const unsigned char *gpt_find(const void *entries, const struct gpt *gpt, const void *type)
{
	const unsigned char *e = entries;

	for (uint32_t i = 0; i < gpt->n_entries; i++, e += gpt->entry_size)
		if (span_equal((struct span){ (const char *)e, GPT_GUID_SIZE },
			       (struct span){ type, GPT_GUID_SIZE }))
			return e + UNIQUE_GUID;
	return NULL;
}
