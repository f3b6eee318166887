/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands print: JSON documents, sentences about the next boot, and the list of things that a command
 * did. */
#ifndef GRANULE_REPORT_H
#define GRANULE_REPORT_H

#include <json-c/json.h>

#include "entry_set.h"

/* ---- JSON ---- */

/* A JSON string, or null for NULL. */
json_object *json_text(const char *s);
json_object *json_span(struct span s);
/* The word of a page size, null for unknown if `or_null`. */
json_object *json_page_size(enum page_size size);
/* ["4k", ...], or null for an unknown set. */
json_object *json_page_size_set(page_size_set set);
/* ["...", ...] */
json_object *json_strings(const struct strings *list);
/* Adds the strings of such an array; false if it is none. */
bool json_strings_read(json_object *array, struct strings *ret);
/* Prints the document and frees it. */
void json_print(json_object *taken);

/* ---- the next boot ---- */

/* Where the answer ends up: entry (NULL: none), the rule, and a sentence part. */
struct next_boot {
	const struct entry *entry;
	struct choose_result result;
	char explanation[600];
};

void next_boot(const struct entry_set *set, struct next_boot *ret);
/* The same without the one-shot: what boots from then on. */
void default_boot(const struct entry_set *set, struct next_boot *ret);
/* Empty, or what the prediction depends on: a loader that does not say what it is decides for itself. */
const char *next_boot_condition(const struct entry_set *set);
/* What an entry boots, for a sentence: "64K pages", or the title of what is no kernel. To be freed. */
char *boots_text(const struct entry *e);
/* {id, page_size, reason} */
json_object *json_next_boot(const struct next_boot *next);

/* ---- what a command does ---- */

struct actions {
	const struct options *options;
	struct strings done;
	json_object *findings; /* goes into the JSON document, which takes it; NULL if there is none */
	bool failed;
};

/* Notes one thing that was done (with --dry-run: would be), and prints it unless JSON is asked for. */
__attribute__((format(printf, 2, 3))) void action(struct actions *a, const char *format, ...);
/* Prints (or puts into the JSON document) what was done and what the next boot will be, and frees the list.
 * Returns the exit code. `set` may be NULL. */
int actions_finish(struct actions *a, const struct entry_set *set);

#endif
