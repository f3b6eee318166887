/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at the file that an entry starts: what is wrong with it, and which page size it has. Loader and
 * command take the same look. */
#ifndef GRANULE_ENTRY_LOOK_H
#define GRANULE_ENTRY_LOOK_H

#include <granule/entry.h>
#include <granule/file_source.h>

/* Least working memory. With more (1 MiB), reading through an image takes fewer calls. */
#define ENTRY_LOOK_MEMORY (64u << 10)

/* Reads the headers of a file into `memory` and tells what it is, with as many reads as its section table
 * needs; memory_size bounds it. Returns NULL or a phrase; *ret as image_head_parse() has it. */
const char *image_head_read(const struct file_source *file, void *memory, size_t memory_size,
			    struct image_head *ret);

/* Looks at the file of an entry, and sets its kind, page size and initrd_by_name.
 *
 * machine    that firmware runs on (enum pe_machine)
 * cpu        its page sizes, or PAGE_SIZE_SET_UNKNOWN
 * memory     ENTRY_LOOK_MEMORY bytes or more; nothing points into it afterwards
 * ret        what the headers say; `arm64` is of the kernel inside, when there is a way to see it
 *
 * The header is that of the image itself; of the profile's .linux in a unified kernel image; of what a zboot
 * image holds if that is compressed with gzip. Where it cannot be seen or leaves the size open,
 * entry_set_page_size() goes on. Options of a unified kernel image are those of the entry, or its own.
 *
 * Returns NULL, or a phrase why it cannot be started; kind and page size are unknown then. */
const char *entry_look(struct entry *entry, const struct file_source *file, uint16_t machine,
		       page_size_set cpu, void *memory, size_t memory_size, struct image_head *ret);

#endif
