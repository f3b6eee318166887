/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel leaves in pstore when it dies: the end of its log, in parts, each beginning with a line
 * such as "Panic#1 Part2" (fs/pstore/platform.c). Anything may be in there: it comes from a machine that was
 * failing. */
#ifndef GRANULE_CRASH_DUMP_H
#define GRANULE_CRASH_DUMP_H

#include <granule/span.h>

/* From what tells least to what tells most. */
enum crash_kind {
	CRASH_NONE,
	CRASH_HUNG_TASK, /* a task that waits for too long */
	CRASH_OOPS,      /* a fault in the kernel, after which it may have gone on */
	CRASH_LOCKUP,    /* a CPU that does nothing else any more */
	CRASH_PANIC,
};

/* First line of a dump. Returns false if it is none; the dump may be good all the same. */
struct crash_head {
	struct span reason; /* "Panic", "Oops", ... */
	uint32_t count;     /* of the dump, in that boot */
	uint32_t part;      /* 1 is the end of the log, 2 what came before it, ... */
};
bool crash_head_parse(struct span dump, struct crash_head *ret);

/* Finds the line of a log, or part of one, that tells why: the first of those that tell most, but not more
 * than `most`. *ret_line is the line without level and time of the kernel, in `log`. */
enum crash_kind crash_find(struct span log, enum crash_kind most, struct span *ret_line);

/* Whether a panic is only the end of a fault, whose own line tells more: "Fatal exception" and the like. */
bool crash_is_sequel(struct span panic_line);

/* Appends at most `max` bytes of a line: bytes that are not printable ASCII become '?', blanks at the ends
 * and double ones are left out. */
void crash_line_clean(struct span line, size_t max, struct text *ret);

#endif
