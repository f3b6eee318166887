/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded with LD_PRELOAD: counts the calls that change files. At call number FAULT_AT it ends the program at
 * once, as a power cut would (FAULT_KIND=cut; writes get half of their bytes out first), or fails with ENOSPC
 * (FAULT_KIND=full). Calls on standard output and error do not count. Ends with 77, so that a test can tell
 * that the point was reached. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fault_now(int *ret_full)
{
	static long count, at = -1;

	if (at < 0) {
		const char *text = getenv("FAULT_AT");
		at = text ? atol(text) : 0;
	}
	const char *kind = getenv("FAULT_KIND");
	*ret_full = kind && strcmp(kind, "full") == 0;
	return ++count == at;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define GUARD(call)                \
	int full;                  \
	if (fault_now(&full)) {    \
		if (!full)         \
			_exit(77); \
		errno = ENOSPC;    \
		return -1;         \
	}                          \
	return call

ssize_t write(int fd, const void *data, size_t size)
{
	int full;

	if (fd > 2 && fault_now(&full)) {
		if (!full) {
			NEXT(write)(fd, data, size / 2);
			_exit(77);
		}
		errno = ENOSPC;
		return -1;
	}
	return NEXT(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	int full;

	if (fault_now(&full)) {
		if (!full) {
			NEXT(pwrite)(fd, data, size / 2, at);
			_exit(77);
		}
		errno = ENOSPC;
		return -1;
	}
	return NEXT(pwrite)(fd, data, size, at);
}

int rename(const char *from, const char *to)
{
	GUARD(NEXT(rename)(from, to));
}

int unlink(const char *path)
{
	GUARD(NEXT(unlink)(path));
}

int fsync(int fd)
{
	GUARD(NEXT(fsync)(fd));
}

int mkdir(const char *path, mode_t mode)
{
	GUARD(NEXT(mkdir)(path, mode));
}

int rmdir(const char *path)
{
	GUARD(NEXT(rmdir)(path));
}
