/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel command lines: reading and editing one ordinary parameter, and the page-size parameter exactly as
 * the early parser of arm64 kernels with boot-time page size selection reads it. */
#ifndef GRANULE_CMDLINE_H
#define GRANULE_CMDLINE_H

#include <granule/page_size.h>

#define PARAM_PAGE_SIZE "arm64.pagesize"
/* The field that the parameter is an alias of; a raw word works as well and overrides it. */
#define PARAM_PAGE_SHIFT "arm64_sw.pageshift"

/* Bytes of a command line that reach the kernel: the EFI stub truncates what is longer. */
#define CMDLINE_MAX 2039
/* Bytes of a word that the early parser reads; the rest of a longer one is taken for the next word. */
#define EARLY_WORD_MAX 255

/* ---- ordinary parameters: the rules of next_arg() in the kernel's lib/cmdline.c ---- */

struct cmdline_word {
	struct span text;  /* as written */
	struct span name;  /* up to '=' */
	struct span value; /* after it, quotes around it removed; empty without '=' */
	bool has_value;
};

/* Next word at or after *pos (start with 0); double quotes keep blanks inside a word. False at the end. */
bool cmdline_next(struct span line, size_t *pos, struct cmdline_word *ret);

/* Last value of a parameter; '-' and '_' in names are the same. False if it is not there. Words after "--"
 * belong to init and are not looked at. */
bool cmdline_get(struct span line, struct span name, struct span *ret);

/* Copies the line with `name` set to `value` ("name=value"; quoted if there are blanks): the first occurrence
 * is replaced, others are removed, a new one goes to the end, before "--" if there is one. SPAN_NONE as value
 * writes the bare name. ERROR_SPACE; ERROR_SYNTAX when the value holds a double quote or a
 * line end, or the line a quote that is not closed. */
int cmdline_set(struct span line, struct span name, struct span value, struct text *ret);

/* Copies the line without the parameter. ERROR_SPACE. */
int cmdline_remove(struct span line, struct span name, struct text *ret);

/* ---- the page size ---- */

/* Why a word had no effect, or more than it seems. */
enum param_note_kind {
	PARAM_MISSPELT,      /* arm64.pagesize with something else than 4k, 16k, 64k */
	PARAM_LOOKALIKE,     /* a name that the kernel does not know, such as page-size= */
	PARAM_QUOTED,        /* quotes are part of the word for the early parser: ignored */
	PARAM_INSIDE_QUOTES, /* stands inside another word's quotes, and is obeyed all the same */
	PARAM_AFTER_DASHES,  /* after "--": belongs to init */
	PARAM_AFTER_NEWLINE, /* after a line end: the EFI stub drops it */
	PARAM_TRUNCATED,     /* beyond CMDLINE_MAX: the EFI stub drops it */
	PARAM_SUPERSEDED,    /* a later word decides */
	PARAM_NOT_ON_CPU,    /* a size that the CPU lacks; cancels earlier words too */
	PARAM_RAW_FIELD,     /* arm64_sw.pageshift: sets or cancels the size */
	PARAM_CUT_WORD,      /* part of a word longer than EARLY_WORD_MAX */
};

struct param_note {
	enum param_note_kind kind;
	size_t offset, length; /* of the word in the line */
};

#define PARAM_MAX_NOTES 8

struct page_size_param {
	enum page_size asked; /* by the word that decides; unknown if none, or if it was cancelled */
	enum page_size
		effective;   /* that a selectable kernel will have; unknown if that takes knowing the CPU */
	unsigned words;      /* accepted arm64.pagesize words */
	size_t first_offset; /* of the first of them */
	bool truncated;      /* the line is longer than what reaches the kernel */
	unsigned n_notes;    /* of those in notes[]; further ones are dropped */
	struct param_note notes[PARAM_MAX_NOTES];
};

/* Tells which page size a selectable kernel takes from this line on a CPU with these sizes (or an unknown
 * one), and what is ignored and why. Observed behaviour of RFC v1 of October 2024; see
 * docs/page-size-parameter.md. */
void cmdline_page_size(struct span line, page_size_set cpu, struct page_size_param *ret);

/* A sentence part for a note, such as "is ignored: only 4k, 16k and 64k are understood". */
const char *param_note_text(enum param_note_kind kind);

/* Copies the line with exactly one arm64.pagesize word, placed first; plain ones before are removed. The
 * result is what the kernel will obey, or an error: ERROR_CONFLICT when another word remains that would set,
 * cancel or resemble it (*ret_note tells which, in `line`); ERROR_SPACE when it would be longer than
 * CMDLINE_MAX or than the buffer; ERROR_SYNTAX for a line end. PAGE_SIZE_UNKNOWN removes the word. */
int cmdline_set_page_size(struct span line, enum page_size size, struct text *ret,
			  struct param_note *ret_note);

#endif
