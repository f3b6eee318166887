/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot counters in entry file names, "NAME+LEFT-DONE.conf" (Boot Loader Specification, "Boot counting";
 * Automatic Boot Assessment). */
#ifndef GRANULE_BOOT_COUNTER_H
#define GRANULE_BOOT_COUNTER_H

#include <granule/span.h>

enum entry_state {
	STATE_GOOD,          /* no counter */
	STATE_INDETERMINATE, /* tries left */
	STATE_BAD,           /* no tries left */
};

struct boot_counter {
	bool present;
	uint32_t left, done;               /* tries; at most 2^31-1 */
	struct span name;                  /* file name before the counter (or before the suffix) */
	struct span suffix;                /* ".conf" or ".efi" as spelled in the file name */
	unsigned left_digits, done_digits; /* done_digits is 0 when "-DONE" is missing */
};

/* Splits a file name. Returns false when it has neither suffix (then it is no entry's file name). The counter
 * is the text after the last '+' if it is all of "LEFT" or "LEFT-DONE" up to the suffix; else there is none.
 */
bool boot_counter_parse(struct span file_name, struct boot_counter *ret);

/* Name of the same file after one more boot was started: LEFT-1 (not below 0), DONE+1. Numbers keep their
 * count of digits by zero padding, so that the name keeps its length; DONE stays at all nines. A missing
 * "-DONE" is added, with as many digits as LEFT. Without a counter the name itself. */
void boot_counter_next(const struct boot_counter *counter, struct text *ret);

/* Entry id: the name without counter, in lower case, with suffix. */
void boot_counter_id(const struct boot_counter *counter, struct text *ret);

enum entry_state boot_counter_state(const struct boot_counter *counter);

/* "good", "indeterminate", "bad". */
const char *entry_state_name(enum entry_state state);

#endif
