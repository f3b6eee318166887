/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Additional resources of an entry (key `extra`) as pieces of an initramfs: archives in the `newc` format
 * (Linux, driver-api/early-userspace/buffer-format), placed where systemd in an initrd looks for them
 * (systemd-stub(7)):
 *
 *   NAME.cred                  /.extra/credentials
 *   NAME.confext.raw           /.extra/confext
 *   NAME.sysext.raw, NAME.raw  /.extra/sysext
 */
#ifndef GRANULE_CPIO_H
#define GRANULE_CPIO_H

#include <granule/span.h>

/* Room for the heads of one resource with the longest name, and for the end of an archive. */
#define CPIO_HEAD_MAX 1024

/* Adds all that goes before the content of a resource: its folders, and its own header. The content and zeros
 * up to a multiple of 4 bytes follow. `path` is its file, of which the last part is the name; `inode` is a
 * number of its own, at least 1. ERROR_NOT_FOUND for a name of no known kind; ERROR_RANGE for 4 GiB and more.
 */
int cpio_add_head(struct span path, uint64_t size, uint32_t inode, struct text *ret);

/* Adds the record that ends an archive. */
void cpio_add_end(struct text *ret);

#endif
