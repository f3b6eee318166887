/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's environment block: 1024 bytes of "name=value" lines, padded with '#', overwritten in place. */
#ifndef GRANULE_ENV_BLOCK_H
#define GRANULE_ENV_BLOCK_H

#include <granule/span.h>

#define ENV_BLOCK_SIZE 1024

/* 0 if this is an environment block of the right size and each line has a name and an end; else
 * ERROR_TRUNCATED (wrong size), ERROR_MAGIC (no signature) or ERROR_SYNTAX with *ret_offset the byte at
 * fault. */
int env_block_check(const void *block, size_t size, size_t *ret_offset);

/* Writes an empty block of ENV_BLOCK_SIZE bytes. */
void env_block_init(void *block);

/* Next variable at or after *pos (start with 0) of a checked block. The value is as stored, escapes included.
 */
bool env_block_next(const void *block, size_t *pos, struct span *ret_name, struct span *ret_value);

/* Value of a variable with escapes resolved. ERROR_NOT_FOUND, ERROR_SPACE. */
int env_block_get(const void *block, struct span name, struct text *ret);

/* Sets a variable, in place. ERROR_SPACE if it does not fit, ERROR_SYNTAX for a name that is empty or holds
 * '=',
 * '#' at its start, or a line end; the block is then unchanged. */
int env_block_set(void *block, struct span name, struct span value);

/* Removes a variable; nothing happens if it is not there. */
void env_block_unset(void *block, struct span name);

#endif
