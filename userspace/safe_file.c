/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "safe_file.h"

/* Readers of the folder pass over such a name: it does not end in .conf or .efi. */
#define TEMPORARY_PREFIX ".granule-"
#define TEMPORARY_SUFFIX ".tmp"

static char *folder_of(const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);

	return xstrdup(dirname(copy));
}

static int sync_folder(const char *folder)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* vfat syncs a folder only with the whole file system, but empties the disk's cache only for a file
	 * or folder. */
	if (syncfs(fd) < 0)
		return -errno;
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* What is to lose its name, held for as long as the descriptor is open. FAT has no journal: were clusters
 * given up together with the name, a power cut could leave the name with clusters that are free, and of which
 * other files are made next. So the change of names is synced first. */
static int hold(const char *path)
{
	return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Names of this boot begin with it. */
static const char *boot_prefix(void)
{
	static char prefix[32];

	if (!*prefix) {
		_cleanup_free_ char *id = read_line("/proc/sys/kernel/random/boot_id");
		snprintf(prefix, sizeof(prefix), TEMPORARY_PREFIX "%.8s-", id ? id : "0");
	}
	return prefix;
}

static char *temporary_name(const char *folder)
{
	return xprintf("%s/%s%d" TEMPORARY_SUFFIX, folder, boot_prefix(), (int)getpid());
}

int safe_folder_make(const char *folder)
{
	struct stat st;

	if (stat(folder, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (errno != ENOENT)
		return -errno;
	_cleanup_free_ char *parent = folder_of(folder), *temporary = temporary_name(parent);
	int r = safe_folder_make(parent);
	if (r < 0)
		return r;
	/* As with files: what has the name is whole. On FAT a folder is a file with content as well. */
	if (mkdir(temporary, 0755) < 0)
		return -errno;
	r = sync_folder(temporary);
	if (r == 0 && rename(temporary, folder) < 0)
		r = -errno;
	if (r < 0)
		rmdir(temporary);
	if (r == -ENOTEMPTY || r == -EEXIST) /* somebody else made it meanwhile */
		return 0;
	return r < 0 ? r : sync_folder(parent);
}

static bool is_fat(int folder)
{
	struct statfs st;

	return fstatfs(folder, &st) == 0 && st.f_type == MSDOS_SUPER_MAGIC;
}

/* Removes what interrupted runs left in a folder. Nobody else writes there now: changes are made under a
 * lock.
 *
 * On FAT, not what is from an earlier boot. A power cut may have left such a name with clusters that are free
 * (Linux then takes the whole file system for damaged and stops writing to it) or that a complete file has
 * too. That is for fsck.fat to mend. */
static void remove_leftovers(const char *folder)
{
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	if (!dir)
		return;
	struct span prefix = span_of(is_fat(dirfd(dir)) ? boot_prefix() : TEMPORARY_PREFIX);
	while ((d = readdir(dir))) {
		struct span name = span_of(d->d_name);
		if (span_starts(name, prefix) && span_ends_nocase(name, SPAN(TEMPORARY_SUFFIX)) &&
		    unlinkat(dirfd(dir), d->d_name, 0) < 0)
			unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR);
	}
}

struct safe_file {
	char *path, *temporary;
	int fd; /* of the temporary file; write to it */
};

/* Starts to replace `path`; missing folders are made. Returns 0 or -errno. */
static int safe_file_open(const char *path, struct safe_file *ret)
{
	_cleanup_free_ char *folder = folder_of(path);
	int r = safe_folder_make(folder);

	*ret = (struct safe_file){ .fd = -1 };
	if (r < 0)
		return r;
	remove_leftovers(folder);
	ret->temporary = temporary_name(folder);
	ret->fd = open(ret->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (ret->fd < 0) {
		r = -errno;
		free(ret->temporary);
		return r;
	}
	ret->path = xstrdup(path);
	return 0;
}

static void release(struct safe_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->temporary);
	*file = (struct safe_file){ .fd = -1 };
}

/* The owner may have kept others from reading the file. Where modes are not kept, as on FAT, there is nothing
 * to keep. */
static void keep_mode(int fd, const char *replaced)
{
	struct stat old, new;

	if (lstat(replaced, &old) == 0 && S_ISREG(old.st_mode) && fstat(fd, &new) == 0 &&
	    (old.st_mode & 07777) != (new.st_mode & 07777) && fchmod(fd, old.st_mode & 07777) < 0)
		return;
}

/* Completes it: the file stands under its name and is on the disk. Returns 0 or -errno; on error the old file
 * is untouched. Ends the use of `file` either way. */
static int safe_file_commit(struct safe_file *file)
{
	_cleanup_free_ char *folder = folder_of(file->path);
	_cleanup_close_ int replaced = hold(file->path);
	int r = 0;

	keep_mode(file->fd, file->path);
	if (fsync(file->fd) < 0)
		r = -errno;
	/* Full disks show up here on some file systems. */
	if (close(file->fd) < 0 && r == 0)
		r = -errno;
	file->fd = -1;
	if (r == 0 && rename(file->temporary, file->path) < 0)
		r = -errno;
	if (r < 0)
		unlink(file->temporary);
	else
		r = sync_folder(folder);
	release(file);
	return r;
}

/* Gives up: removes the temporary file. */
static void safe_file_abandon(struct safe_file *file)
{
	if (file->temporary)
		unlink(file->temporary);
	release(file);
}

/* Writes a buffer to a descriptor, all of it. Returns 0 or -errno. */
static int write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int safe_file_write(const char *path, const void *data, size_t size)
{
	struct safe_file file;
	int r = safe_file_open(path, &file);

	if (r < 0)
		return r;
	r = write_all(file.fd, data, size);
	if (r < 0) {
		safe_file_abandon(&file);
		return r;
	}
	return safe_file_commit(&file);
}

int safe_file_remove(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	_cleanup_close_ int removed = hold(path);

	if (unlink(path) < 0)
		return -errno;
	return sync_folder(folder);
}

void remove_if_empty(const char *path)
{
	_cleanup_close_ int removed = hold(path);

	if (rmdir(path) == 0) {
		_cleanup_free_ char *parent = folder_of(path);
		sync_folder(parent);
	}
}
