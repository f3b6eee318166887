/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of "key value", the syntax that Boot Loader Specification entries and loader.conf share.
 * Lines end in CR, LF or both; blanks around are cut; a first '#' makes a comment; key and value are parted
 * by the first run of blanks; one pair of double quotes around the value is removed. */
#ifndef GRANULE_KEYVAL_H
#define GRANULE_KEYVAL_H

#include <granule/span.h>

struct keyval {
	struct span key, value;      /* both not empty */
	size_t offset;               /* of the key in the text */
	size_t line_start, line_end; /* the line in the text, without its line end */
};

/* Next line with key and value at or after *pos; skips comments, empty lines and keys without value.
 * False at the end. Start with *pos = 0. */
bool keyval_next(struct span text, size_t *pos, struct keyval *ret);

/* Number, from 1 on, of the line that holds the byte at `offset`, as editors count. */
size_t keyval_line_number(struct span text, size_t offset);

#endif
