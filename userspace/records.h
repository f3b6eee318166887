/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of the state: the trial that is under way, and what has been verified. */
#ifndef GRANULE_RECORDS_H
#define GRANULE_RECORDS_H

#include <granule/entry.h>

#include "health.h"
#include "state.h"

/* How a choice is expressed to the loader. */
enum choice_wish {
	WISH_NONE,    /* nothing stored: it was first in the menu */
	WISH_POLICY,  /* a page size */
	WISH_DEFAULT, /* an entry */
};

/* Something that was booted and found in order. */
struct choice {
	char *entry; /* id; NULL: there is no such choice */
	enum page_size page_size;
	char *release;
	enum choice_wish wish; /* that led to it */
	char *boot_id;         /* of the boot that was judged */
	int64_t time;          /* seconds since 1970 */
};

struct verified {
	struct choice current, previous;
	struct baseline baseline; /* of the boot of `current` */
};

/* Returns 0 (also if there is no record: everything empty) or -errno after one printed line. */
int verified_read(struct state *s, struct verified *ret);
int verified_write(struct state *s, const struct verified *v);
void verified_free(struct verified *v);
void choice_copy(struct choice *to, const struct choice *from);
void choice_free(struct choice *c);
/* Whether an entry has been verified, now or before. */
bool verified_has(const struct verified *v, struct span id);

enum trial_stage {
	TRIAL_ARMED,  /* recorded; the one-shot is being armed, or is */
	TRIAL_PASSED, /* judged; what follows from it is being done */
	TRIAL_FAILED, /* judged, or it did not come up; kept until the next trial, so that no boot of it
		       * counts again
		       */
};

struct trial {
	enum trial_stage stage;
	char *target; /* id of the entry that is tried, and promoted */
	char *entry;  /* id that the one-shot names: its trial entry, or itself */
	char *file;   /* of the trial entry, on its partition; NULL if it has none of its own */
	char *words;  /* that the loader adds to the command line of its boot, trial_words_mark() among them;
			 NULL  if it adds none */
	enum entry_volume volume; /* of it */
	enum page_size page_size;
	char *release;
	bool by_size;         /* a page size was asked for: the policy is promoted */
	bool keep;            /* the default stays as it is, whatever comes of it */
	unsigned tries;       /* that there may be, at least 1 */
	unsigned used;        /* armed so often */
	unsigned deadline_s;  /* 0: none */
	char *boot_id;        /* of the boot in which it was armed last */
	char *judged_in;      /* boot in which it was judged; NULL */
	char *esp;            /* partition UUID of the ESP; NULL if not known */
	struct strings dumps; /* what was in pstore when it was armed */
	int64_t time;         /* of arming, by the clock of that boot */
	char *verdict;        /* as the history has it; NULL: none yet */
	char *reason;         /* of the verdict; NULL */
	bool unfinished;      /* what follows from this record is still to be done */
	bool rebooted;        /* the reboot that follows a failure has been started */
};

/* Returns 0, -ENOENT if there is none, or -errno after one printed line. */
int trial_read(struct state *s, struct trial *ret);
int trial_write(struct state *s, const struct trial *t);
int trial_remove(struct state *s);
void trial_free(struct trial *t);

#endif
