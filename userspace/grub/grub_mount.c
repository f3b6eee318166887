/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <libmount/libmount.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../health_parts.h"
#include "../root_path.h"
#include "../system.h"
#include "grub_mount.h"

static void take_over(struct libmnt_fs *fs, bool here, struct grub_mount *ret)
{
	const char *mount_options = mnt_fs_get_vfs_options(fs), *fs_options = mnt_fs_get_fs_options(fs);

	ret->type = xstrdup(mnt_fs_get_fstype(fs));
	ret->source = mnt_fs_get_source(fs) ? xstrdup(mnt_fs_get_source(fs)) : NULL;
	ret->options = xprintf("%s,%s", mount_options ? mount_options : "", fs_options ? fs_options : "");
	ret->device = mnt_fs_get_devno(fs);
	ret->here = here;
}

/* The mount that a path is below, by name alone: libmount's own function asks the running system. */
static struct libmnt_fs *mount_above(struct libmnt_table *table, const char *path)
{
	_cleanup_free_ char *target = xstrdup(path);

	for (;;) {
		struct libmnt_fs *fs =
			mnt_table_find_target(table, *target ? target : "/", MNT_ITER_BACKWARD);
		char *slash = strrchr(target, '/');

		if (fs || !slash)
			return fs;
		*slash = 0;
	}
}

/* Looked up by path as it is here, and then as that system has it. */
static bool look_up(struct libmnt_table *table, const struct options *o, const char *path,
		    struct grub_mount *ret)
{
	struct libmnt_fs *fs = mount_above(table, path);
	const char *target = fs ? mnt_fs_get_target(fs) : NULL;

	/* What is mounted above --root tells nothing of a tree whose /proc is a copy. */
	bool here = target && (!system_is_other(o) || root_path_is_below(o, target));
	if (!here && root_path_is_below(o, path))
		fs = mount_above(table, root_path_shown(o, path));
	else if (!here)
		fs = NULL;
	if (!fs || !mnt_fs_get_fstype(fs))
		return false;
	take_over(fs, here, ret);
	return true;
}

void grub_mount_find(const struct options *o, const char *path, struct grub_mount *ret)
{
	_cleanup_free_ char *file = path_join(o->root, "proc/self/mountinfo");
	struct libmnt_table *table = path_exists(file) ? mnt_new_table_from_file(file) : NULL;

	*ret = (struct grub_mount){ 0 };
	if (table)
		look_up(table, o, path, ret);
	mnt_unref_table(table);
}

void grub_mount_free(struct grub_mount *mount)
{
	free(mount->type);
	free(mount->source);
	free(mount->options);
	*mount = (struct grub_mount){ 0 };
}

/* ---- what it is stacked on ---- */

static bool has(const char *folder, const char *name)
{
	_cleanup_free_ char *path = path_join(folder, name);

	return path_exists(path);
}

static bool is_empty(const char *folder)
{
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			return false;
	return true;
}

/* Kinds of mapped devices, by the word that their UUID begins with. Several paths to a disk are one disk to
 * GRUB. */
static char *mapped_kind(const char *folder)
{
	static const struct {
		const char *prefix, *text;
	} kinds[] = {
		{ "LVM-", "a logical volume (LVM)" },
		{ "CRYPT-", "an encrypted volume" },
		{ "mpath-", NULL },
		{ "DMRAID-", "a RAID of the firmware (dmraid)" },
		{ "stratis-", "a Stratis pool" },
	};
	_cleanup_free_ char *file = path_join(folder, "dm/uuid"), *line = read_line(file);
	const char *uuid = line ? line : "";

	/* "part1-mpath-...": a partition, as kpartx makes them. */
	if (strncmp(uuid, "part", 4) == 0 && strchr(uuid, '-'))
		uuid = strchr(uuid, '-') + 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(uuid, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return kinds[i].text ? xstrdup(kinds[i].text) : NULL;
	return xstrdup("a mapped device of a kind not known (device mapper)");
}

static char *device_kind(const char *folder)
{
	_cleanup_free_ char *slaves = path_join(folder, "slaves");

	if (has(folder, "dm"))
		return mapped_kind(folder);
	if (has(folder, "md"))
		return xstrdup("a software RAID (md)");
	if (has(folder, "bcache"))
		return xstrdup("a cached device (bcache)");
	if (has(folder, "loop"))
		return xstrdup("a file (loop device)");
	if (!is_empty(slaves))
		return xstrdup("a device made of others");
	return NULL;
}

/* Of a device that sysfs does not tell about. */
static char *content_kind(const char *source)
{
	static const struct {
		const char *type, *text;
	} kinds[] = {
		{ "LVM2_member", "a physical volume of LVM" },
		{ "linux_raid_member", "a member of a RAID (md)" },
		{ "crypto_LUKS", "an encrypted volume (LUKS)" },
		{ "bcache", "a cached device (bcache)" },
	};
	struct content content = { 0 };
	char *found = NULL;

	content_probe(source, &content);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (content.type && strcmp(content.type, kinds[i].type) == 0)
			found = xstrdup(kinds[i].text);
	content_free(&content);
	return found;
}

char *grub_mount_stack(const struct options *o, const struct grub_mount *mount)
{
	_cleanup_free_ char *name =
		xprintf("sys/dev/block/%u:%u", major(mount->device), minor(mount->device));
	_cleanup_free_ char *folder = path_join(o->root, name);

	if (!path_exists(folder))
		return mount->source && mount->source[0] == '/' ? content_kind(mount->source) : NULL;
	/* A partition is on its disk, which may be a RAID. */
	if (has(folder, "partition")) {
		_cleanup_free_ char *disk = path_join(folder, "..");
		return device_kind(disk);
	}
	return device_kind(folder);
}

/* ---- which one it is ---- */

char *grub_mount_uuid(const struct grub_mount *mount)
{
	struct content content = { 0 };

	if (!mount->source || mount->source[0] != '/')
		return NULL;
	content_probe(mount->source, &content);
	char *uuid = content.uuid;
	content.uuid = NULL;
	content_free(&content);
	return uuid;
}

int grub_mount_has_uuid(const struct grub_mount *mount, struct span uuid)
{
	_cleanup_free_ char *wanted = xstrndup(uuid), *link = xprintf("/dev/disk/by-uuid/%s", wanted);
	struct stat st;

	if (!mount->type || !*wanted || strchr(wanted, '/'))
		return -1;
	/* Anybody may ask udev's links; reading the device takes more. */
	if (mount->here && stat(link, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == mount->device)
		return 1;
	_cleanup_free_ char *found = grub_mount_uuid(mount);
	return found ? strcasecmp(found, wanted) == 0 : -1;
}
