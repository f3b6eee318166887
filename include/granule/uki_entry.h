/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot Loader Specification entries, type 2: unified kernel images in EFI/Linux, one entry per profile. */
#ifndef GRANULE_UKI_ENTRY_H
#define GRANULE_UKI_ENTRY_H

#include <granule/entry.h>
#include <granule/file_source.h>
#include <granule/uki.h>

/* Where these images are on their partition. */
#define UKI_FOLDER "/EFI/Linux"

/* Whether a file of this name in EFI/Linux can be an entry: ends in ".efi", does not begin with "." or
 * "auto-". */
bool uki_file_name_valid(struct span file_name);

/* Bytes of memory that uki_entry() needs for a profile. */
size_t uki_entry_memory(struct span file_name, const struct uki_profile *profile);

/* Makes the entry of the profile numbered `n`. Texts are read from the file into `memory`, which has
 * uki_entry_memory() bytes; the entry points into it, and into file_name.
 *
 * Title, version and sort key come from .osrel: PRETTY_NAME, IMAGE_ID, NAME or ID; IMAGE_VERSION, VERSION,
 * VERSION_ID or BUILD_ID; IMAGE_ID or ID. TITLE or ID of .profile goes behind the title. The options are
 * .cmdline, the release is .uname. The id is the file name in lower case without counter, of a profile above
 * 0 with "@ID", or "@n" if .profile has no ID.
 *
 * Returns NULL; or a phrase why there is no such entry: no name in .osrel, a section that is too long, or
 * what the reader says. */
const char *uki_entry(const struct file_source *file, struct span file_name,
		      const struct uki_profile *profile, uint32_t n, char *memory, struct entry *ret);

#endif
