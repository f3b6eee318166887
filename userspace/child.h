/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program with a time limit, and keeps the end of what it says. */
#ifndef GRANULE_CHILD_H
#define GRANULE_CHILD_H

#include "util.h"

struct child {
	const char *const *arguments;   /* the program first; searched for in PATH if it has no slash */
	const char *const *environment; /* NULL: our own */
	double timeout_s;
	size_t keep;       /* bytes of output to keep, from the end */
	bool only_results; /* errors are kept apart from output, see child_result */

	/* Results. */
	int error;      /* errno for what could not be started at all; 0 */
	int status;     /* as of waitpid() */
	bool timed_out; /* it was killed, or could not even be killed */
	char *output;   /* standard output, and standard error unless only_results; ends in NUL */
	bool cut;       /* there was more before it */
	char *errors;   /* end of standard error with only_results; NULL otherwise */
};

/* Runs it in a session of its own, in /, with standard input from /dev/null, and returns when it has ended or
 * its time is over: then it gets SIGTERM, and SIGKILL 5 seconds later, with all processes of its group. What
 * it left behind in other groups is not waited for. Returns whether it ended by itself with exit code 0. */
bool child_run(struct child *c);

void child_free(struct child *c);

/* Last line of a text that is not blank, at most `max` bytes of it; empty if there is none. */
char *last_line(const char *text, size_t max);

/* What became of it: "exit code 3", "killed by signal 11 (Segmentation fault)", "took longer than 60 s",
 * "cannot be started: REASON". */
char *child_fate(const struct child *c);

/* Seconds of a clock that nobody sets. */
double seconds_now(void);

#endif
