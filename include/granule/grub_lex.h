/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of GRUB's script language, taken apart as GRUB does: see grub_cfg.h for what is made of them. */
#ifndef GRANULE_GRUB_LEX_H
#define GRANULE_GRUB_LEX_H

#include <granule/span.h>

enum grub_token {
	GRUB_TOKEN_END,
	GRUB_TOKEN_WORD,
	GRUB_TOKEN_LINE_END,
	GRUB_TOKEN_SEMICOLON,
	GRUB_TOKEN_OPEN,  /* '{' */
	GRUB_TOKEN_CLOSE, /* '}' */
	GRUB_TOKEN_ERROR,
};

/* Variables that a word was seen to ask about. */
enum grub_variable {
	GRUB_VARIABLE_NEXT_ENTRY = 1 << 0,
	GRUB_VARIABLE_SAVED_ENTRY = 1 << 1,
	GRUB_VARIABLE_BOOT_COUNTER = 1 << 2,
	GRUB_VARIABLE_BOOT_SUCCESS = 1 << 3,
	GRUB_VARIABLE_ID_OPTION = 1 << 4, /* menuentry_id_option, which stands for --id */
};

struct grub_word {
	struct span value; /* without quotes and backslashes; variables stay as they are written */
	size_t offset;     /* where it begins in the text */
	bool stored;       /* lies in memory, at its end, and not in the text */
	bool bare;         /* of plain characters alone: only such a word can be a keyword */
	bool nothing;      /* of a continued line alone: no word when the command is run */
	bool variable;     /* something in it comes from a variable */
	unsigned asks;     /* enum grub_variable */
};

/* Words without quotes and backslashes are spans of the text, others are put together in `memory`. */
struct grub_lexer {
	struct span text;
	size_t pos;
	char *memory; /* of the caller's */
	size_t used, size;
	int error; /* of the last GRUB_TOKEN_ERROR: ERROR_SYNTAX, ERROR_SPACE */
	size_t error_pos;
};

/* Next token; fills *ret for a word. A caller that has no use for a word may set `used` back to what it was.
 */
enum grub_token grub_lex(struct grub_lexer *lexer, struct grub_word *ret);

/* Makes the word that was read last the next one of a list that lies in memory, behind one blank; *list is
 * empty at first, and nothing else may be kept between two words of a list. With `quote` the word is written
 * as GRUB writes it on the command line of a kernel: in double quotes if there is a blank in it, and
 * backslashes before quotes and backslashes. Returns 0 or ERROR_SPACE. */
int grub_lex_join(struct grub_lexer *lexer, const struct grub_word *word, bool quote, struct span *list);

#endif
