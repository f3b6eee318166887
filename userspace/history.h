/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a line of the history says. Fields that do not apply are left 0 and become null. */
#ifndef GRANULE_HISTORY_H
#define GRANULE_HISTORY_H

#include <granule/page_size.h>

#include "state.h"

struct history_line {
	int64_t time;        /* seconds since 1970; 0: now */
	const char *boot_id; /* of the boot in which it is written */
	const char *kind;  /* "boot": one that was judged; "trial": one that did not come up or was given up;
			      "request": a trial was armed, or rollback called */
	const char *entry; /* that was booted, or is to be */
	const char *entry_asked;
	const char *release;
	uint64_t page_size; /* in bytes */
	enum page_size page_size_asked;
	bool trial;
	const char *verdict; /* "passed", "failed", "ok", "not-come-up", "canceled", "nothing-asked", "armed",
				"rolled-back" */
	const char *reason;
	double boot_seconds; /* from the kernel's start to the verdict */
	const char *loader;  /* as in LoaderInfo */
};

/* As a new object, as documented in granule(1). */
json_object *history_line_json(const struct history_line *line);

/* Adds it to the history. Returns 0 or -errno after one printed line. */
int history_write(struct state *s, const struct history_line *line);

/* ---- reading a line, which a newer granule may have written ---- */

/* Text of a field; NULL if it is null or no text. */
const char *history_text(json_object *line, const char *name);
/* A page size as prose has it ("64K"); a word that is not known as it is; NULL as above. */
const char *history_size(json_object *line, const char *name);
/* The minute, by the clock of whoever reads it, to be freed. */
char *history_time(json_object *line);
/* Whether it is about a trial. */
bool history_is_trial(json_object *line);

#endif
