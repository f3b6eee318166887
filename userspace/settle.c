/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "settle.h"
#include "util.h"

static bool is_root_file_system(int fd)
{
	struct stat here, root;

	return fstat(fd, &here) < 0 || stat("/", &root) < 0 || here.st_dev == root.st_dev;
}

/* XFS empties its log only when it is unmounted or frozen. Nothing may stop us in between: what is frozen
 * stays so when we die, so the root file system, from which we run, is left alone. */
static void empty_log(int fd)
{
	sigset_t all, before;

	if (is_root_file_system(fd))
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (ioctl(fd, FIFREEZE, 0) == 0)
		while (ioctl(fd, FITHAW, 0) < 0 && errno == EINTR)
			;
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void settle(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return;
	if (fs.f_type == XFS_SUPER_MAGIC)
		empty_log(fd);
}
