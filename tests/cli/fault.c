/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded with LD_PRELOAD: stands between a program and what it does to files, and counts the calls that
 * change something. What happens at call number FAULT_AT (at every call if that is not set):
 *
 *   FAULT_KIND=cut     the program ends at once with 77, as in a power cut; a write gets half of its bytes
 * out FAULT_KIND=kill    the same by SIGKILL, before the call FAULT_KIND=short   a write gets half of its
 * bytes out, and from then on there is no room: ENOSPC FAULT_KIND=full, io, readonly   the call fails with
 * ENOSPC, EIO or EROFS
 *
 * With FAULT_BELOW=FOLDER only calls on files below it count. FAULT_MARK=FILE is made when it has happened.
 * Calls on standard input, output and error do not count. Nothing is synced: that makes no difference here,
 * but for the time. Variables below EFIVARFS_PATH are written whole or not at all, as firmware does it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum verdict { GO_ON, FAIL, HALF };

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *kind(void)
{
	const char *k = getenv("FAULT_KIND");

	return k ? k : "cut";
}

static int is_below(const char *path, const char *folder)
{
	size_t n = folder ? strlen(folder) : 0;

	while (n && folder[n - 1] == '/')
		n--;
	return n && path && strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/');
}

/* Path of a descriptor, or of a name below one. */
static const char *path_of(int fd, const char *name, char buffer[PATH_MAX])
{
	char link[64], folder[PATH_MAX];
	ssize_t n;

	if (name && (fd == AT_FDCWD || name[0] == '/'))
		return name;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, folder, sizeof(folder) - 1);
	if (n < 0)
		return "";
	folder[n] = 0;
	if (snprintf(buffer, PATH_MAX, "%s%s%s", folder, name ? "/" : "", name ? name : "") >= PATH_MAX)
		return "";
	return buffer;
}

static void leave_mark(void)
{
	const char *mark = getenv("FAULT_MARK");
	long fd = mark ? syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		syscall(SYS_close, fd);
}

static void end_now(void)
{
	if (strcmp(kind(), "kill") == 0)
		raise(SIGKILL);
	_exit(77);
}

enum call { WRITES, MAKES, OTHER };

static enum verdict decide(const char *path, enum call call)
{
	static long count;
	static int no_room;
	const char *at = getenv("FAULT_AT"), *below = getenv("FAULT_BELOW");

	if (!getenv("FAULT_KIND") || (below && !is_below(path, below)))
		return GO_ON;
	if (no_room && call != OTHER) {
		errno = ENOSPC;
		return FAIL;
	}
	count++;
	if (at && count != atol(at))
		return GO_ON;
	/* A place that is full for ever still lets go of things. */
	if (!at && call == OTHER && strcmp(kind(), "full") == 0)
		return GO_ON;
	leave_mark();
	int is_variable = is_below(path, getenv("EFIVARFS_PATH"));
	if (strcmp(kind(), "short") == 0 || strcmp(kind(), "full") == 0) {
		errno = ENOSPC;
		no_room = strcmp(kind(), "short") == 0 && !is_variable;
		return call == WRITES && no_room ? HALF : FAIL;
	}
	if (strcmp(kind(), "io") == 0 || strcmp(kind(), "readonly") == 0) {
		errno = strcmp(kind(), "io") == 0 ? EIO : EROFS;
		return FAIL;
	}
	if (call == WRITES && strcmp(kind(), "cut") == 0 && !is_variable)
		return HALF;
	end_now();
	return FAIL;
}

/* What a call does, unless something else happens to it. */
#define GUARD(sort, path, call)            \
	char buffer[PATH_MAX];             \
	(void)buffer;                      \
	if (decide((path), sort) != GO_ON) \
		return -1;                 \
	return call

ssize_t write(int fd, const void *data, size_t size)
{
	char buffer[PATH_MAX];
	enum verdict v = fd > 2 ? decide(path_of(fd, NULL, buffer), WRITES) : GO_ON;

	if (v == FAIL)
		return -1;
	ssize_t n = NEXT(write)(fd, data, v == HALF ? size / 2 : size);
	if (v == HALF && strcmp(kind(), "cut") == 0)
		end_now();
	return n;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	char buffer[PATH_MAX];
	enum verdict v = decide(path_of(fd, NULL, buffer), WRITES);

	if (v == FAIL)
		return -1;
	ssize_t n = NEXT(pwrite)(fd, data, v == HALF ? size / 2 : size, at);
	if (v == HALF && strcmp(kind(), "cut") == 0)
		end_now();
	return n;
}

/* Only what may change something counts. */
static int opens_to_change(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

int openat(int folder, const char *name, int flags, ...)
{
	char buffer[PATH_MAX];
	va_list args;

	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	if (opens_to_change(flags) &&
	    decide(path_of(folder, name, buffer), flags & O_CREAT ? MAKES : OTHER) != GO_ON)
		return -1;
	return NEXT(openat)(folder, name, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;

	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	if (opens_to_change(flags) && decide(path, flags & O_CREAT ? MAKES : OTHER) != GO_ON)
		return -1;
	return NEXT(open)(path, flags, mode);
}

int rename(const char *from, const char *to)
{
	GUARD(OTHER, to, NEXT(rename)(from, to));
}

int unlink(const char *path)
{
	GUARD(OTHER, path, NEXT(unlink)(path));
}

int unlinkat(int folder, const char *name, int flags)
{
	GUARD(OTHER, path_of(folder, name, buffer), NEXT(unlinkat)(folder, name, flags));
}

int fsync(int fd)
{
	GUARD(OTHER, path_of(fd, NULL, buffer), 0);
}

int fdatasync(int fd)
{
	GUARD(OTHER, path_of(fd, NULL, buffer), 0);
}

int syncfs(int fd)
{
	GUARD(OTHER, path_of(fd, NULL, buffer), 0);
}

int ftruncate(int fd, off_t size)
{
	GUARD(OTHER, path_of(fd, NULL, buffer), NEXT(ftruncate)(fd, size));
}

int flock(int fd, int operation)
{
	char buffer[PATH_MAX];

	/* No place is so full or read-only that this fails. */
	if (getenv("FAULT_AT") && decide(path_of(fd, NULL, buffer), OTHER) != GO_ON)
		return -1;
	return NEXT(flock)(fd, operation);
}

int mkdir(const char *path, mode_t mode)
{
	GUARD(MAKES, path, NEXT(mkdir)(path, mode));
}

int rmdir(const char *path)
{
	GUARD(OTHER, path, NEXT(rmdir)(path));
}
