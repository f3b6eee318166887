/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of the command line that name the root file system, as grub-mkconfig makes them. */
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cmdline_source.h"
#include "health_parts.h"
#include "system.h"

/* File systems on one device that the kernel finds by its superblock. */
static bool is_plain(const char *type)
{
	static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs" };

	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* Logical volumes are named by path: a snapshot has the UUID of what it is one of. */
static bool is_logical_volume(const char *device)
{
	struct stat st;

	if (stat(device, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	_cleanup_free_ char *file =
		xprintf("/sys/dev/block/%u:%u/dm/uuid", major(st.st_rdev), minor(st.st_rdev));
	_cleanup_free_ char *uuid = read_line(file);
	return uuid && strncmp(uuid, "LVM-", 4) == 0;
}

/* *ret is the subvolume, without the first slash; NULL for none. False if it is one of a moment. */
static bool subvolume_of(const char *root, char **ret)
{
	*ret = NULL;
	if (!root || strcmp(root, "/") == 0)
		return true;
	*ret = xstrdup(root + (root[0] == '/'));
	return !strstr(root, ".snapshots") && !strchr(root, ' ');
}

static char *words(const char *device, const char *subvolume)
{
	return xprintf("root=%s ro%s%s", device, subvolume ? " rootflags=subvol=" : "",
		       subvolume ? subvolume : "");
}

static char *from_mounted(struct libmnt_fs *fs, struct libmnt_fs *in_fstab, bool by_path, char **ret_problem)
{
	const char *source = mnt_fs_get_source(fs), *type = mnt_fs_get_fstype(fs);
	const char *asked = in_fstab ? mnt_fs_get_source(in_fstab) : NULL;
	_cleanup_free_ char *subvolume = NULL, *device = NULL;
	struct content content = { 0 };

	if (!is_plain(type) || !source || source[0] != '/') {
		*ret_problem = xprintf("the root file system is %s on %s, and how the kernel finds it is not "
				       "known",
				       type ? type : "?", source ? source : "?");
		return NULL;
	}
	if (!subvolume_of(strcmp(type, "btrfs") == 0 ? mnt_fs_get_root(fs) : NULL, &subvolume)) {
		*ret_problem = xprintf("the root file system is the snapshot %s", subvolume);
		return NULL;
	}
	content_probe(source, &content);
	if (by_path || is_logical_volume(source))
		device = xstrdup(source);
	else if (content.uuid)
		device = xprintf("UUID=%s", content.uuid);
	else
		*ret_problem = xprintf("%s, with the root file system, has no UUID that can be read", source);
	if (device && content.uuid && asked && strncmp(asked, "UUID=", 5) == 0 &&
	    strcasecmp(asked + 5, content.uuid) != 0) {
		*ret_problem = xprintf("fstab has %s as the root file system, mounted is UUID=%s", asked,
				       content.uuid);
		free(device);
		device = NULL;
	}
	content_free(&content);
	return device ? words(device, subvolume) : NULL;
}

/* Of a system that does not run. */
static char *from_fstab(struct libmnt_fs *fs, char **ret_problem)
{
	const char *source = fs ? mnt_fs_get_source(fs) : NULL, *type = fs ? mnt_fs_get_fstype(fs) : NULL;
	_cleanup_free_ char *subvolume = NULL;
	char *option = NULL;
	size_t n = 0;

	if (!source || !is_plain(type) ||
	    (strncmp(source, "UUID=", 5) != 0 && strncmp(source, "PARTUUID=", 9) != 0)) {
		*ret_problem = xstrdup("fstab does not name the root file system by UUID");
		return NULL;
	}
	if (mnt_fs_get_option(fs, "subvol", &option, &n) == 0 && option) {
		_cleanup_free_ char *root = xstrndup((struct span){ option, n });
		if (!subvolume_of(root, &subvolume)) {
			*ret_problem = xprintf("the root file system is the snapshot %s", subvolume);
			return NULL;
		}
	}
	return words(source, subvolume);
}

char *cmdline_root_words(const struct options *o, bool by_path, char **ret_problem)
{
	_cleanup_free_ char *mountinfo = path_join(o->root, "proc/self/mountinfo");
	struct libmnt_table *mounted = path_exists(mountinfo) ? mnt_new_table_from_file(mountinfo) : NULL;
	struct libmnt_table *fstab = fstab_read(o);
	struct libmnt_fs *in_fstab = fstab ? mnt_table_find_target(fstab, "/", MNT_ITER_BACKWARD) : NULL;
	struct libmnt_fs *fs = mounted ? mnt_table_find_target(mounted, "/", MNT_ITER_BACKWARD) : NULL;
	char *result = NULL;

	*ret_problem = NULL;
	if (fs)
		result = from_mounted(fs, in_fstab, by_path, ret_problem);
	else if (system_is_other(o) && !by_path)
		result = from_fstab(in_fstab, ret_problem);
	else
		*ret_problem = xstrdup("what is mounted as the root file system cannot be read");
	mnt_unref_table(mounted);
	mnt_unref_table(fstab);
	return result;
}
