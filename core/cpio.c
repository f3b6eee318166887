/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/cpio.h>
#include <granule/error.h>

#define MODE_FOLDER 0040000u
#define MODE_FILE 0100000u
/* Inodes of folders are apart from those of files. */
#define FOLDER_INODES 0x10000u

static const struct kind {
	const char *suffix, *folder;
	uint32_t folder_mode, file_mode;
} kinds[] = {
	/* Secrets of the machine are for root alone. */
	{ ".cred", ".extra/credentials", 0500, 0400 },
	{ ".confext.raw", ".extra/confext", 0555, 0444 },
	{ ".raw", ".extra/sysext", 0555, 0444 },
};

static void add_hex(struct text *t, uint64_t v)
{
	for (unsigned shift = 32; shift; shift -= 4)
		text_add(t, (struct span){ &"0123456789abcdef"[v >> (shift - 4) & 15], 1 });
}

static void add_zeros(struct text *t, size_t n)
{
	text_add(t, (struct span){ "\0\0\0", n });
}

/* A header with its name, padded: file names are counted from the start of the archive, which is aligned. */
static void add_record(struct text *t, uint32_t inode, uint32_t mode, uint64_t size, struct span folder,
		       struct span name)
{
	size_t name_size = folder.n + (folder.n ? 1 : 0) + name.n + 1;
	const uint64_t fields[] = { inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0 };

	text_add(t, SPAN("070701"));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		add_hex(t, fields[i]);
	text_add(t, folder);
	if (folder.n)
		text_add(t, SPAN("/"));
	text_add(t, name);
	add_zeros(t, 1);
	/* 6 + 13 * 8 bytes come before the name. */
	add_zeros(t, -(110 + name_size) & 3);
}

static struct span last_part(struct span path)
{
	size_t start = path.n;

	while (start && path.p[start - 1] != '/' && path.p[start - 1] != '\\')
		start--;
	return span_cut(path, start, path.n);
}

int cpio_add_head(struct span path, uint64_t size, uint32_t inode, struct text *ret)
{
	struct span name = last_part(path);

	if (size > UINT32_MAX)
		return ERROR_RANGE;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];

		if (!span_ends_nocase(name, span_of(k->suffix)) || name.n == text_length(k->suffix))
			continue;
		/* A folder that is there already is not made again. */
		add_record(ret, FOLDER_INODES, MODE_FOLDER | 0555, 0, SPAN_NONE, SPAN(".extra"));
		add_record(ret, FOLDER_INODES + 1 + (uint32_t)i, MODE_FOLDER | k->folder_mode, 0, SPAN_NONE,
			   span_of(k->folder));
		add_record(ret, inode, MODE_FILE | k->file_mode, size, span_of(k->folder), name);
		return ret->full ? ERROR_SPACE : 0;
	}
	return ERROR_NOT_FOUND;
}

void cpio_add_end(struct text *ret)
{
	add_record(ret, 0, 0, 0, SPAN_NONE, SPAN("TRAILER!!!"));
}
