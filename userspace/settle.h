/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for boot loaders that read no journal. */
#ifndef GRANULE_SETTLE_H
#define GRANULE_SETTLE_H

/* Makes a file that safe_file_write() has written stand where GRUB looks for it after a power cut, which is
 * in the file system itself. ext4 writes its metadata there in a sync of the whole file system; XFS keeps a
 * new name in its log, where GRUB would find what was there before until Linux has mounted it again. That it
 * did not succeed is no error: what was written is safe, GRUB only may see it later. */
void settle(const char *path);

#endif
