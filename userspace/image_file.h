/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of a kernel file, in whatever container it comes; libarchive looks into compressed ones. */
#ifndef GRANULE_IMAGE_FILE_H
#define GRANULE_IMAGE_FILE_H

#include <granule/arm64_image.h>

#include "util.h"

enum image_evidence {
	EVIDENCE_NONE,
	EVIDENCE_HEADER,
	EVIDENCE_CONFIG,          /* config file beside the kernel, in /boot or in the modules folder */
	EVIDENCE_EMBEDDED_CONFIG, /* the image's own CONFIG_IKCONFIG */
	EVIDENCE_STRINGS,
};

struct image_file {
	struct image_head head;   /* of the file as it is */
	const char *architecture; /* "arm64", "x86_64", ...; "unknown" */
	enum image_kind kind;
	enum page_size page_size;
	enum image_evidence evidence;
	uint32_t n_profiles; /* of a unified kernel image; 1 of others */
	char *release;       /* "6.12.0-211.el10_2.aarch64+64k"; NULL if not found */
	int panic_timeout; /* seconds after which it reboots when it panicked, by its configuration; negative:
			      at once; 0: never, or not known */
};

/* Reads a kernel file; of a unified kernel image, the kernel of this profile. `root` is where configs of the
 * system are looked for. Returns 0 also for a file that is no kernel (all unknown); -errno if it cannot be
 * read; -EBADMSG if it is damaged; -ENOENT for a profile without kernel. *ret_problem is then a phrase for
 * people, to be freed. */
int image_file_read(const char *path, const char *root, uint32_t profile, struct image_file *ret,
		    char **ret_problem);
void image_file_free(struct image_file *image);

/* "none", "header", "config", "embedded-config", "strings". */
const char *image_evidence_name(enum image_evidence evidence);

/* Reads a kernel into memory in a form that firmware can start: gzip, zstd, xz and lz4 are unpacked, all else
 * is as in the file. Returns 0 or -errno; *ret_problem as above. */
int image_file_startable(const char *path, char **ret, size_t *ret_size, char **ret_problem);

#endif
