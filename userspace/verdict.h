/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what runs with what was asked for, along the chain from the wish to the kernel, and names the
 * first link that broke: loader, menu, cpu, entry, command_line, kernel. */
#ifndef GRANULE_VERDICT_H
#define GRANULE_VERDICT_H

#include "boot_facts.h"

struct verdict {
	bool asked;                 /* something was asked for */
	enum page_size expected;    /* unknown: any size, the entry counts */
	enum choose_rule rule;      /* that asked; N_RULES if the caller did */
	struct span entry_expected; /* pattern, in the facts; empty if a page size was asked for */
	uint64_t running;           /* page size of the running kernel, in bytes */
	const char *broken_link;    /* NULL if all is well */
	char *message;              /* about that link; NULL if all is well */
};

/* Judges the running system. `expected` is the page size that it should have, or unknown: then it is what the
 * facts say was asked for. */
void verdict_judge(const struct options *o, const struct boot_facts *facts, enum page_size expected,
		   struct verdict *ret);
void verdict_free(struct verdict *v);

/* "ID: TEXT" that the loader said about an entry that it could not start; NULL. */
const char *verdict_failure_of(const struct boot_facts *facts, struct span id);

#endif
