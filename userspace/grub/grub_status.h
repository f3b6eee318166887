/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `granule status` says of GRUB: which file decides about the default, and what may surprise. */
#ifndef GRANULE_GRUB_STATUS_H
#define GRANULE_GRUB_STATUS_H

#include <json-c/json.h>

#include "grub_menu.h"

/* The default that GRUB has by its own files, and what decides about it: "0 (GRUB_DEFAULT in FILE); a number
 * ...". To be freed. */
char *grub_status_default(const struct options *o, const struct entry_set *set);

/* What may surprise: one sentence part each. */
void grub_status_notes(const struct options *o, const struct entry_set *set, struct strings *ret);

/* {config, lines, block, default, default_file, notes} */
json_object *grub_status_json(const struct options *o, const struct entry_set *set);

#endif
