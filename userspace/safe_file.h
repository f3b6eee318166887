/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of files that a power cut cannot leave half done: write a new file, sync it, rename it over the old
 * one, sync the folder, and only then give up what the old one consisted of. Before the rename the old file
 * stands, after it the new one; on FAT too, which has no journal. */
#ifndef GRANULE_SAFE_FILE_H
#define GRANULE_SAFE_FILE_H

#include "util.h"

/* Replaces a file, or makes it; missing folders are made. Returns 0 or -errno; on error the old file is
 * untouched. */
int safe_file_write(const char *path, const void *data, size_t size);

/* Makes a folder and those above it. Returns 0 (also if it is there) or -errno. */
int safe_folder_make(const char *folder);

/* Removes a file and syncs its folder. Returns 0 or -errno. */
int safe_file_remove(const char *path);
/* Removes a folder if it is empty; anything else is not an error. */
void remove_if_empty(const char *path);

#endif
