/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot Loader Specification entries, type 1: the text of loader/entries/NAME.conf. */
#ifndef GRANULE_BLS_H
#define GRANULE_BLS_H

#include <granule/page_size.h>

#define BLS_MAX_INITRD 16
#define BLS_MAX_EXTRA 16
#define BLS_MAX_OVERLAY 16

/* What `granule register` writes so that a loader need not decompress: the image's own page size. */
#define BLS_KEY_IMAGE "granule-image"
#define BLS_IMAGE_SELECTABLE "selectable"

/* What `granule try` writes into its copy of an entry; the value is "yes". */
#define BLS_KEY_TRIAL "granule-trial"

enum bls_start {
	BLS_START_NONE,
	BLS_START_LINUX,
	BLS_START_EFI,
	BLS_START_UKI,
	BLS_START_UKI_URL, /* from the network: known, not supported */
};

/* Values are spans of the text that was parsed, except options, which lies in the caller's buffer. */
struct bls_entry {
	struct span title, version, machine_id, sort_key, architecture;
	enum bls_start start;
	struct span path; /* of the kernel or program: as written, with '/' */
	struct span devicetree;
	struct span options; /* all options lines joined by one blank */
	struct span initrd[BLS_MAX_INITRD];
	struct span extra[BLS_MAX_EXTRA];
	struct span overlay[BLS_MAX_OVERLAY];
	unsigned n_initrd, n_extra, n_overlay;
	uint32_t profile;
	/* granule-image: the size of a fixed image, or selectable; unknown and false when absent */
	enum page_size image_page_size;
	bool image_selectable;
	bool from_granule; /* granule-image is present: `granule register` wrote the file */
	bool trial; /* granule-trial is "yes": a copy for one boot, that nothing but a one-shot may name */
};

/* Parses an entry. `options` is a buffer for the joined options; a size of text.n + 1 always suffices.
 * Repeated keys: options join, initrd, extra and devicetree-overlay append, of the others the last counts. A
 * line devicetree-overlay names several, parted by blanks; so its paths, and no others, cannot have any.
 * Unknown keys are skipped. Errors: ERROR_SYNTAX (a NUL byte, a path with "..", a profile that is no number),
 * ERROR_TOO_MANY, ERROR_SPACE, ERROR_NO_KERNEL, ERROR_TWO_KERNELS; *ret_offset is the byte at fault. */
int bls_parse(struct span text, char *options, size_t options_size, struct bls_entry *ret,
	      size_t *ret_offset);

/* Whether a file of this name in loader/entries is read as an entry: ends in ".conf", does not begin with "."
 * or "auto-", has no control characters. Every loader takes names such as "debian-6.19~rc1.conf". */
bool bls_file_name_is_entry(struct span file_name);

/* Whether it is one that the specification allows, as every tool reads it: on top of that ASCII letters,
 * digits and "+-_." only, at most 255 of them. */
bool bls_file_name_valid(struct span file_name);

#endif
