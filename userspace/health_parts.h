/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of health.c: one file for each kind of thing that is looked at. Each fills its list of what is
 * there now, and adds a line to `problems` for what was fine in `before` and is not. */
#ifndef GRANULE_HEALTH_PARTS_H
#define GRANULE_HEALTH_PARTS_H

#include "health.h"

void health_units(const struct options *o, const struct baseline *before, struct strings *ret_failed,
		  struct strings *problems);
void health_swaps(const struct options *o, const struct baseline *before, struct strings *ret_swaps,
		  struct strings *problems);
void health_mounts(const struct options *o, const struct baseline *before, struct strings *ret_mounts,
		   struct strings *problems);

/* Runs the executables of verify.d. */
void health_checks(const struct options *o, const struct settings *s, struct strings *problems);

/* Adds a line unless it is there. */
void problem_add(struct strings *problems, char *taken);

/* ---- devices, for swaps and mounts ---- */

/* What a device or a file holds, as far as libblkid can tell; members are NULL if it cannot. */
struct content {
	char *type, *uuid, *part_uuid;
	uint64_t magic_offset;
};

void content_probe(const char *path, struct content *ret);
void content_free(struct content *c);

/* The name of a source of data that stays the same over boots, without blanks (they are \040): "UUID=...",
 * "PARTUUID=...", /dev/mapper/NAME, or what was given. */
char *stable_source(const struct options *o, const char *source);

/* Whether a name is one of a label or UUID. */
bool source_is_tag(const char *source);

/* Path of what such a name means now; NULL if it is not there. */
char *source_path(const char *stable);

/* An item of the baseline: "fstab SOURCE" or "other SOURCE" for a swap, with " TARGET" behind it for a mount.
 * The first word says who asked for it: what the owner has taken out of fstab is not missed. */
struct item {
	bool fstab;
	char *source, *target; /* target "" if it has none */
};

char *item_text(const struct item *item);
bool item_parse(const char *text, struct item *ret);
void item_free(struct item *item);

/* fstab below --root as libmount's table; NULL if it cannot be read. */
struct libmnt_table *fstab_read(const struct options *o);

#endif
