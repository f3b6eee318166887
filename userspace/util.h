/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small things that every file of the command uses: cleanup, text, files, messages. */
#ifndef GRANULE_UTIL_H
#define GRANULE_UTIL_H

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <granule/span.h>

/* Exit codes, documented in granule(1). */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING_ASKED = 3,
};

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_dir_ __attribute__((cleanup(cleanup_dir)))
#define _cleanup_file_ __attribute__((cleanup(cleanup_file)))

/* Memory that is always there: running out of it ends the command, before anything was half-written. */
void *xalloc(size_t size);
void *xrealloc(void *p, size_t size);

/* Room for one more in an array of n items of `size` bytes, which is made longer by this alone: its room
 * doubles when it is used up. */
void *xgrow(void *array, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(struct span s);
__attribute__((format(printf, 1, 2))) char *xprintf(const char *format, ...);

char *xvprintf(const char *format, va_list args);

/* One line, without what would be an order to a terminal. */
__attribute__((format(printf, 2, 3))) void say(FILE *to, const char *format, ...);

/* "granule: " and one line on standard error. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Reads a file of at most `max` bytes (0: no bound) into new memory with a NUL behind it.
 * Returns 0 or -errno; -EFBIG if it is larger. */
int read_file(const char *path, size_t max, char **ret, size_t *ret_size);

/* The same for what is open already. */
int read_descriptor(int fd, size_t max, char **ret, size_t *ret_size);

/* First line of a small file without its end; NULL if it cannot be read or is empty. */
char *read_line(const char *path);

/* Joins folder and name with exactly one slash. */
char *path_join(const char *folder, const char *name);

bool path_exists(const char *path);

/* A grown list of strings that it owns. */
struct strings {
	char **items;
	size_t n;
};

void strings_add(struct strings *list, char *taken);
void strings_free(struct strings *list);

#endif
