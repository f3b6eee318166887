/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems that are there at every boot. Those of containers, of sticks, and what programs mount for
 * themselves come and go; unless fstab asks for them they do not count. */
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "health_parts.h"

static bool below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]);
}

/* ---- fstab ---- */

static struct libmnt_fs *fstab_line(struct libmnt_table *fstab, const char *target)
{
	return fstab ? mnt_table_find_target(fstab, target, MNT_ITER_BACKWARD) : NULL;
}

/* The line of fstab that mounts something there at boot. */
static struct libmnt_fs *in_fstab(struct libmnt_table *fstab, const char *target)
{
	struct libmnt_fs *fs = fstab_line(fstab, target);

	return fs && mnt_fs_get_option(fs, "noauto", NULL, NULL) != 0 ? fs : NULL;
}

/* Mounted when somebody looks, which may not have happened yet. */
static bool on_demand(struct libmnt_table *table, struct libmnt_table *fstab, const char *target)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *line = in_fstab(fstab, target), *fs;
	bool found = line && mnt_fs_get_option(line, "x-systemd.automount", NULL, NULL) == 0;

	while (iter && !found && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *type = mnt_fs_get_fstype(fs), *at = mnt_fs_get_target(fs);
		found = type && at && strcmp(type, "autofs") == 0 && strcmp(at, target) == 0;
	}
	mnt_free_iter(iter);
	return found;
}

/* ---- what is mounted ---- */

static bool is_removable(const struct options *o, dev_t device)
{
	/* Of a partition the disk around it says so. */
	static const char *const names[] = { "removable", "../removable" };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *name =
			xprintf("sys/dev/block/%u:%u/%s", major(device), minor(device), names[i]);
		_cleanup_free_ char *path = path_join(o->root, name), *value = read_line(path);
		if (value)
			return strcmp(value, "1") == 0;
	}
	return false;
}

/* Folders of one mounted file system that are shown elsewhere too; a subvolume of btrfs is not one. */
static bool is_bind(struct libmnt_fs *fs)
{
	const char *root = mnt_fs_get_root(fs);
	size_t n = 0;
	char *subvolume;

	if (!root || strcmp(root, "/") == 0)
		return false;
	return mnt_fs_get_option(fs, "subvol", &subvolume, &n) != 0 || strlen(root) != n ||
	       strncmp(root, subvolume, n) != 0;
}

/* Whether a mounted file system is one that stays. */
static bool is_lasting(const struct options *o, struct libmnt_fs *fs)
{
	static const char *const passing[] = { "/run", "/tmp", "/media", "/mnt", "/var/run", "/var/tmp" };
	/* Below them, but not they themselves. */
	static const char *const containers[] = {
		"/var/lib/docker",  "/var/lib/containerd", "/var/lib/containers",
		"/var/lib/kubelet", "/var/lib/machines",   "/var/lib/lxc",
		"/var/lib/lxd",     "/var/snap",           "/snap"
	};
	const char *target = mnt_fs_get_target(fs), *source = mnt_fs_get_source(fs);

	/* What users mount for themselves. */
	if (strncmp(mnt_fs_get_fstype(fs), "fuse.", 5) == 0)
		return false;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (below(target, passing[i]))
			return false;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
		if (below(target, containers[i]) && strcmp(target, containers[i]) != 0)
			return false;
	return !(source && strncmp(source, "/dev/loop", 9) == 0) && !is_bind(fs) &&
	       !is_removable(o, mnt_fs_get_devno(fs));
}

static bool counts(const struct options *o, struct libmnt_table *table, struct libmnt_table *fstab,
		   struct libmnt_fs *fs)
{
	const char *type = mnt_fs_get_fstype(fs), *target = mnt_fs_get_target(fs);

	if (!type || !target || mnt_fs_is_pseudofs(fs) || strcmp(type, "overlay") == 0 ||
	    on_demand(table, fstab, target))
		return false;
	/* What fstab has for use by hand only does not count either. */
	return fstab_line(fstab, target) ? in_fstab(fstab, target) != NULL : is_lasting(o, fs);
}

/* Place of the item with this target; the length of the list if there is none. */
static size_t find_target(const struct strings *list, const char *target)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		struct item item;
		bool same = item_parse(list->items[i], &item) && strcmp(item.target, target) == 0;

		item_free(&item);
		if (same)
			break;
	}
	return i;
}

static void list_mounts(const struct options *o, struct libmnt_table *table, struct libmnt_table *fstab,
			struct strings *ret)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	while (iter && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *source = mnt_fs_get_source(fs), *target = mnt_fs_get_target(fs);

		if (!counts(o, table, fstab, fs))
			continue;
		_cleanup_free_ char *stable = stable_source(o, source && *source ? source : "none");
		struct item item = { in_fstab(fstab, target) != NULL, stable, (char *)(uintptr_t)target };
		/* The last one of a place hides those before. */
		size_t at = find_target(ret, target);
		if (at < ret->n) {
			free(ret->items[at]);
			ret->items[at] = item_text(&item);
		} else
			strings_add(ret, item_text(&item));
	}
	mnt_free_iter(iter);
}

/* ---- what is missed ---- */

/* Whether the kernel has a file system; after somebody has tried to mount one it would be there. */
static bool kernel_knows(const struct options *o, const char *type)
{
	_cleanup_free_ char *path = path_join(o->root, "proc/filesystems"), *text = NULL;
	size_t size;

	if (read_file(path, 64 << 10, &text, &size) < 0)
		return true;
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *tab = strrchr(line, '\t');
		if (strcmp(tab ? tab + 1 : line, type) == 0)
			return true;
	}
	return false;
}

/* What speaks for itself about a mount that is missing: ": " and a phrase, or NULL. */
static char *cause(const struct options *o, const char *source)
{
	_cleanup_free_ char *path = source_path(source);
	struct content content = { 0 };
	char *text = NULL;

	if (!path && (source[0] == '/' || source_is_tag(source)))
		return xprintf(": %s is not there", source);
	if (path)
		content_probe(path, &content);
	if (content.type && !kernel_knows(o, content.type))
		text = xprintf(": this kernel has no %s", content.type);
	content_free(&content);
	return text;
}

/* Where the system itself lies, another slot of it may run, and fstab may name a new file system on purpose.
 */
static bool may_differ(const struct options *o, struct libmnt_table *fstab, const struct item *now)
{
	struct libmnt_fs *line = in_fstab(fstab, now->target);
	const char *asked = line ? mnt_fs_get_source(line) : NULL;
	_cleanup_free_ char *path = asked && source_is_tag(asked) ? source_path(asked) : NULL;
	_cleanup_free_ char *stable = path ? stable_source(o, path) : NULL;

	return strcmp(now->target, "/") == 0 || strcmp(now->target, "/usr") == 0 ||
	       (stable && strcmp(stable, now->source) == 0);
}

static void compare(const struct options *o, struct libmnt_table *table, struct libmnt_table *fstab,
		    const struct item *was, const struct strings *mounts, struct strings *problems)
{
	size_t at = find_target(mounts, was->target);
	struct item now;

	if (at == mounts->n) {
		bool given_up = was->fstab && !in_fstab(fstab, was->target);
		if (given_up || on_demand(table, fstab, was->target))
			return;
		_cleanup_free_ char *why = cause(o, was->source);
		problem_add(problems, xprintf("mount %s: missing%s", was->target, why ? why : ""));
		return;
	}
	if (!item_parse(mounts->items[at], &now))
		return;
	if (strcmp(now.source, was->source) != 0 && !may_differ(o, fstab, &now))
		problem_add(problems, xprintf("mount %s: %s is there instead of %s", was->target, now.source,
					      was->source));
	item_free(&now);
}

void health_mounts(const struct options *o, const struct baseline *before, struct strings *ret_mounts,
		   struct strings *problems)
{
	_cleanup_free_ char *file = path_join(o->root, "proc/self/mountinfo");
	struct libmnt_table *fstab = fstab_read(o);
	struct libmnt_table *table = path_exists(file) ? mnt_new_table_from_file(file) : NULL;

	if (table) {
		list_mounts(o, table, fstab, ret_mounts);
		for (size_t i = 0; before->known && i < before->mounts.n; i++) {
			struct item was;

			if (item_parse(before->mounts.items[i], &was))
				compare(o, table, fstab, &was, ret_mounts, problems);
			item_free(&was);
		}
	} else if (path_exists(file))
		complain("%s: cannot be read; mounts are not compared", file);
	mnt_unref_table(table);
	mnt_unref_table(fstab);
}
