/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether GRUB can overwrite a file. It does so by blocks: it notes where on the disk the file's bytes came
 * from when it read it, and writes there, around the file system. So the file must lie on the disk as it is,
 * byte by byte, in one place, with nothing that vouches for its content. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "../root_path.h"
#include "grub.h"
#include "grub_mount.h"

#define MAX_EXTENTS 8

enum fit { FITS, FITS_NOT, NOT_KNOWN };

static enum fit fit_of(const char *type)
{
	static const char *const good[] = { "ext2", "ext3", "ext4", "xfs", "vfat", "msdos" };
	/* Copy on write, checksums, small files inside of the inode, no disk at all. */
	static const char *const bad[] = { "btrfs",    "zfs",       "f2fs",   "bcachefs", "nilfs2",
					   "overlay",  "squashfs",  "erofs",  "iso9660",  "udf",
					   "nfs",      "nfs4",      "cifs",   "9p",       "virtiofs",
					   "tmpfs",    "ramfs",     "rootfs", "ceph",     "ubifs",
					   "jffs2",    "ntfs",      "ntfs3",  "autofs",   "aufs",
					   "ecryptfs", "fuse.sshfs" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (strcmp(type, good[i]) == 0)
			return FITS;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strcmp(type, bad[i]) == 0)
			return FITS_NOT;
	return NOT_KNOWN;
}

static bool has_option(const char *options, const char *option)
{
	size_t n = strlen(option);

	for (const char *p = options; (p = strstr(p, option)); p += n)
		if ((p == options || p[-1] == ',') && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static const char *extent_problem(uint32_t flags)
{
	if (flags & FIEMAP_EXTENT_DATA_ENCRYPTED)
		return "is encrypted, which GRUB cannot write";
	/* The mark of data that another kind of container holds stands for compression as well. */
	if (flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
		return "is stored inside of its inode, which GRUB cannot write";
	if (flags & FIEMAP_EXTENT_ENCODED)
		return "is compressed, which GRUB cannot write";
	if (flags & (FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC))
		return "has bytes without a place on the disk, which GRUB cannot write";
	if (flags & FIEMAP_EXTENT_SHARED)
		return "shares its place on the disk with another file, which GRUB would change as well";
	return NULL;
}

/* What about an open file is in the way; NULL. A file system that does not tell where its files lie, such as
 * FAT, has none of these. */
static const char *placement_problem(int fd, uint64_t size)
{
	struct {
		struct fiemap head;
		struct fiemap_extent extents[MAX_EXTENTS];
	} map = { .head = { .fm_length = FIEMAP_MAX_OFFSET,
			    .fm_flags = FIEMAP_FLAG_SYNC,
			    .fm_extent_count = MAX_EXTENTS } };
	uint64_t end = 0;
	int attributes = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &attributes) == 0 && (attributes & FS_COMPR_FL))
		return "is compressed, which GRUB cannot write";
	if (ioctl(fd, FS_IOC_FIEMAP, &map) < 0)
		return NULL;
	for (uint32_t i = 0; i < map.head.fm_mapped_extents && i < MAX_EXTENTS; i++) {
		const struct fiemap_extent *e = &map.head.fm_extents[i];
		const char *problem = extent_problem(e->fe_flags);

		if (problem)
			return problem;
		if (e->fe_logical != end)
			break;
		end = e->fe_logical + e->fe_length;
	}
	return end < size ? "has holes (is sparse), which GRUB cannot write" : NULL;
}

/* The same by path, as a phrase; a file that is not there yet will be a plain one. */
static char *file_problem(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode))
		return xprintf("%s is no plain file", path);
	const char *problem = placement_problem(fd, (uint64_t)st.st_size);
	return problem ? xprintf("%s %s", path, problem) : NULL;
}

static char *mount_problem(const struct options *o, const char *path, const struct grub_mount *mount)
{
	enum fit fit = fit_of(mount->type);

	if (fit == FITS_NOT)
		return xprintf("%s lies on %s, which GRUB cannot write", path, mount->type);
	if (fit == NOT_KNOWN)
		return xprintf("%s lies on %s, and whether GRUB can write that is not known", path,
			       mount->type);
	/* The journal holds the file's bytes for a while: after a crash it would be played back over what
	 * GRUB wrote, and what GRUB cleared would be there again. */
	if (has_option(mount->options, "data=journal"))
		return xprintf("%s lies on %s with data=journal, which would bring back what GRUB clears",
			       path, mount->type);
	_cleanup_free_ char *stack = grub_mount_stack(o, mount);
	return stack ? xprintf("%s lies on %s, which GRUB cannot write", path, stack) : NULL;
}

char *grub_write_obstacle(const struct options *o, const char *path)
{
	struct grub_mount mount;

	grub_mount_find(o, path, &mount);
	char *problem = mount.type ? mount_problem(o, path, &mount) : NULL;
	/* What a copied tree's files lie on says nothing of that system's. */
	if (!problem && mount.here)
		problem = file_problem(path);
	grub_mount_free(&mount);
	return problem;
}
