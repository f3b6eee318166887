/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of files that a power cut cannot leave half done: write a new file, sync it, rename it over the old
 * one, sync the folder. Before the rename the old file stands, after it the new one. */
#ifndef GRANULE_SAFE_FILE_H
#define GRANULE_SAFE_FILE_H

#include "util.h"

struct safe_file {
	char *path, *temporary;
	int fd; /* of the temporary file; write to it */
};

/* Starts to replace `path`; missing folders are made. Returns 0 or -errno. */
int safe_file_open(const char *path, struct safe_file *ret);
/* Completes it: the file stands under its name and is on the disk. Returns 0 or -errno; on error the old file
 * is untouched. Ends the use of `file` either way. */
int safe_file_commit(struct safe_file *file);
/* Gives up: removes the temporary file. */
void safe_file_abandon(struct safe_file *file);

/* All of the above for content that is in memory. */
int safe_file_write(const char *path, const void *data, size_t size);
/* Writes a buffer to a descriptor, all of it. Returns 0 or -errno. */
int write_all(int fd, const void *data, size_t size);
/* Copies an open file to another. Returns 0 or -errno. */
int copy_all(int from, int to);

/* Removes a file and syncs its folder. Returns 0 or -errno. */
int safe_file_remove(const char *path);
/* Removes a folder if it is empty; anything else is not an error. */
void remove_if_empty(const char *path);

#endif
