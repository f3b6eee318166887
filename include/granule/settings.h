/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule.conf, the owner's settings: lines of "key = value". Blanks around key and value are cut, one pair
 * of double quotes around the value is removed; lines that begin with '#' and empty ones say nothing. */
#ifndef GRANULE_SETTINGS_H
#define GRANULE_SETTINGS_H

#include <granule/page_size.h>

/* A week: longer times are mistakes. */
#define DURATION_MAX 604800u

struct settings_values {
	page_size_set sizes; /* page-sizes */
	bool reboot_on_failure;
	uint32_t tries;
	uint32_t panic_s, verify_timeout_s, check_timeout_s; /* at least 1 */
	uint32_t deadline_s;                                 /* 0: none */
	struct span trial_options;                           /* in the text that set it last, or empty */
};

enum settings_fault {
	SETTINGS_NO_EQUALS,   /* a line without '=', or with nothing before it */
	SETTINGS_UNKNOWN_KEY, /* `meant` is a key that is spelled much like it, or NULL */
	SETTINGS_BAD_VALUE,   /* `expected` is a phrase: what the value may be */
};

struct settings_problem {
	enum settings_fault fault;
	size_t offset;          /* of the line's first word in the text */
	struct span key, value; /* as far as there are any */
	const char *expected, *meant;
};

/* What holds when no file says anything. */
void settings_default(struct settings_values *ret);

/* Reads lines at or after *pos (start with 0) into `values` until one is not understood. Returns true with
 * that problem, the line being passed over: an earlier value of the key stands. Returns false at the end of
 * the text. The last of repeated keys counts; an empty value brings the default back. */
bool settings_next_problem(struct span text, size_t *pos, struct settings_values *values,
			   struct settings_problem *ret);

/* Name of the i-th key; NULL behind the last. */
const char *settings_key(size_t i);

/* A duration in seconds: "90", "90s", "10m", "2h", "1d", "1h 30m"; "infinity" is 0, as is "0". False if it is
 * none, or longer than DURATION_MAX. */
bool settings_duration(struct span text, uint32_t *ret_s);

#endif
