/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loader tells the running system about its choice: the content of the variable GranuleBoot, lines
 * of "key=value" (UTF-16 in the variable, UTF-8 here).
 *
 *   entry=ID            that was started
 *   page-size=64k       that it should have; "unknown" if the loader cannot tell
 *   kind=selectable     fixed, selectable, unknown
 *   reason=policy       choose_rule_name()
 *   explain=TEXT        choose_explain()
 *   asked.RULE=WORD     what a rule asked for, one line for each rule that is set
 *   outcome.RULE=WORD   what came of it, choose_outcome_name()
 *   memory-map=TEXT     "ok", or what in firmware's memory map does not suit 64K kernels (memory_map.h)
 *   failed=ID: TEXT     an entry that could not be started in this boot, and why; may repeat
 *   left-out=ID: TEXT   a part of an entry (an overlay) that it was started without, and why; may repeat
 */
#ifndef GRANULE_BOOT_RECORD_H
#define GRANULE_BOOT_RECORD_H

#include <granule/choose.h>

#define BOOT_RECORD_ASKED_MAX 255 /* bytes of a wish; an id has no more */
#define BOOT_RECORD_MEMORY_MAP "memory-map"
#define BOOT_RECORD_MAX 4096 /* bytes; volatile variables are kept small */

/* Writes all lines but `memory-map`, `failed` and `left-out`. `entry` is NULL when none could be started:
 * then the lines about it are missing. */
void boot_record_format(const struct entry *entry, const struct choose_input *input,
			const struct choose_result *result, struct text *ret);

/* Adds one line, with line breaks in the value turned into blanks; a line that does not fit is left out
 * whole. */
void boot_record_add(struct text *record, struct span key, struct span value);

/* Next line at or after *pos (start with 0). Lines without '=' are skipped. False at the end. */
bool boot_record_next(struct span record, size_t *pos, struct span *ret_key, struct span *ret_value);

/* First value of a key; false if it is not there. */
bool boot_record_get(struct span record, struct span key, struct span *ret);

/* Reads asked.RULE and outcome.RULE. False if the rule was not set. */
bool boot_record_rule(struct span record, enum choose_rule rule, struct span *ret_asked,
		      enum choose_outcome *ret_outcome);

#endif
