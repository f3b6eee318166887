/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <linux/magic.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "places.h"
#include "variables.h"

#define ESP_TYPE "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
#define XBOOTLDR_TYPE "bc13c2ff-59e6-4262-a352-b275fd6f7172"

static char *probed(blkid_probe probe, const char *name)
{
	const char *value;

	return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? xstrdup(value) : NULL;
}

static uint64_t probed_number(blkid_probe probe, const char *name)
{
	const char *value;

	return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? strtoull(value, NULL, 10) : 0;
}

static int probe_device(dev_t device, struct partition *ret)
{
	char disk[64];
	dev_t whole = 0;
	int r = -ENODEV;

	ret->device = blkid_devno_to_devname(device);
	if (!ret->device)
		return -ENODEV;
	blkid_probe probe = blkid_new_probe_from_filename(ret->device);
	if (!probe)
		return errno ? -errno : -ENODEV;
	blkid_probe_enable_superblocks(probe, 0);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_ENTRY_DETAILS);
	if (blkid_do_safeprobe(probe) >= 0) {
		ret->uuid = probed(probe, "PART_ENTRY_UUID");
		ret->type = probed(probe, "PART_ENTRY_TYPE");
		ret->number = (uint32_t)probed_number(probe, "PART_ENTRY_NUMBER");
		ret->start = probed_number(probe, "PART_ENTRY_OFFSET");
		ret->size = probed_number(probe, "PART_ENTRY_SIZE");
		if (ret->uuid && ret->type &&
		    blkid_devno_to_wholedisk(device, disk, sizeof(disk), &whole) == 0) {
			ret->disk = xprintf("/dev/%s", disk);
			r = 0;
		}
	}
	blkid_free_probe(probe);
	return r;
}

int partition_of(const char *path, struct partition *ret)
{
	struct stat st;

	*ret = (struct partition){ 0 };
	if (stat(path, &st) < 0)
		return -errno;
	int r = probe_device(st.st_dev, ret);
	if (r < 0)
		partition_free(ret);
	return r;
}

void partition_free(struct partition *p)
{
	free(p->device);
	free(p->disk);
	free(p->uuid);
	free(p->type);
	*p = (struct partition){ 0 };
}

/* Mounted ESP. When the loader said where it came from, it is that partition and no other: another one's
 * entries are not what boots. */
static char *mounted_esp(bool *ret_said)
{
	_cleanup_free_ char *loader_uuid = variable_get(VENDOR_LOADER, "LoaderDevicePartUUID");
	struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	char *found = NULL;
	bool sure = false, denied = false;

	/* A look inside makes systemd mount what it mounts on demand. */
	static const char *const usual[] = { "/efi/.", "/boot/efi/.", "/boot/." };
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		(void)path_exists(usual[i]);

	while (table && iter && !sure && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *type = mnt_fs_get_fstype(fs), *target = mnt_fs_get_target(fs);
		struct partition p;

		if (!type || !target || strcmp(type, "vfat") != 0)
			continue;
		int r = partition_of(target, &p);
		denied = denied || r == -EACCES || r == -EPERM;
		if (r < 0)
			continue;
		sure = loader_uuid && strcasecmp(p.uuid, loader_uuid) == 0;
		if (sure || (!found && strcasecmp(p.type, ESP_TYPE) == 0)) {
			free(found);
			found = xstrdup(target);
		}
		partition_free(&p);
	}
	mnt_free_iter(iter);
	mnt_unref_table(table);
	if (denied && !sure) {
		complain("mounted partitions cannot be examined: permission denied, be root, or use "
			 "--esp-path");
		free(found);
		*ret_said = true;
		return NULL;
	}
	if (loader_uuid && !sure) {
		complain("the partition that the boot loader came from (PARTUUID %s) is not mounted; mount "
			 "it, or name a "
			 "folder with --esp-path",
			 loader_uuid);
		free(found);
		*ret_said = true;
		return NULL;
	}
	return found;
}

static char *esp_below(const char *root)
{
	static const char *const usual[] = { "efi", "boot/efi", "boot" };
	static const char *const signs[] = { "EFI", "loader" };

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		char *folder = path_join(root, usual[i]);

		for (size_t k = 0; k < sizeof(signs) / sizeof(signs[0]); k++) {
			_cleanup_free_ char *sign = path_join(folder, signs[k]);
			if (path_exists(sign))
				return folder;
		}
		free(folder);
	}
	return NULL;
}

static char *given_folder(const char *path, const char *option)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		complain("%s %s: %s", option, path, strerror(errno));
		return NULL;
	}
	if (!S_ISDIR(st.st_mode)) {
		complain("%s %s: not a folder", option, path);
		return NULL;
	}
	return xstrdup(path);
}

/* Whether an XBOOTLDR of this disk is mounted here, in a form that firmware reads. */
static bool is_xbootldr(const char *folder, const char *disk)
{
	struct statfs fs;
	struct partition p;

	if (statfs(folder, &fs) < 0 || fs.f_type != MSDOS_SUPER_MAGIC || partition_of(folder, &p) < 0)
		return false;
	bool result = strcasecmp(p.type, XBOOTLDR_TYPE) == 0 && strcmp(p.disk, disk) == 0;
	partition_free(&p);
	return result;
}

static bool is_fat(const char *disk, int64_t start, int64_t size)
{
	_cleanup_close_ int fd = open(disk, O_RDONLY | O_CLOEXEC);
	blkid_probe probe = fd < 0 ? NULL : blkid_new_probe();
	const char *type;
	bool result = false;

	if (!probe)
		return false;
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE);
	if (blkid_probe_set_device(probe, fd, start * 512, size * 512) == 0 && blkid_do_safeprobe(probe) == 0)
		result = blkid_probe_lookup_value(probe, "TYPE", &type, NULL) == 0 &&
			 strcmp(type, "vfat") == 0;
	blkid_free_probe(probe);
	return result;
}

/* What the boot manager reads and we do not has to be said. */
static void warn_unmounted(const char *disk)
{
	blkid_probe probe = blkid_new_probe_from_filename(disk);
	blkid_partlist list = probe ? blkid_probe_get_partitions(probe) : NULL;
	int n = list ? blkid_partlist_numof_partitions(list) : 0;

	for (int i = 0; i < n; i++) {
		blkid_partition p = blkid_partlist_get_partition(list, i);
		const char *type = blkid_partition_get_type_string(p);

		if (type && strcasecmp(type, XBOOTLDR_TYPE) == 0 &&
		    is_fat(disk, blkid_partition_get_start(p), blkid_partition_get_size(p)))
			complain("partition %d of %s is an extended boot loader partition (XBOOTLDR) that is "
				 "not "
				 "mounted; its entries are not seen",
				 blkid_partition_get_partno(p), disk);
	}
	blkid_free_probe(probe);
}

/* The folder where it is mounted; NULL if there is none. */
static char *find_xbootldr(const struct options *o, const char *esp)
{
	struct libmnt_table *table = NULL;
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	struct partition p;
	char *found = NULL;

	if (partition_of(esp, &p) < 0) {
		mnt_free_iter(iter);
		return NULL;
	}
	if (strcmp(o->root, "/") == 0) {
		table = mnt_new_table_from_file("/proc/self/mountinfo");
		while (table && iter && !found && mnt_table_next_fs(table, iter, &fs) == 0) {
			const char *type = mnt_fs_get_fstype(fs), *target = mnt_fs_get_target(fs);

			if (type && target && strcmp(type, "vfat") == 0 && is_xbootldr(target, p.disk))
				found = xstrdup(target);
		}
		if (!found)
			warn_unmounted(p.disk);
	} else {
		found = path_join(o->root, "boot");
		if (!is_xbootldr(found, p.disk)) {
			free(found);
			found = NULL;
		}
	}
	mnt_free_iter(iter);
	mnt_unref_table(table);
	partition_free(&p);
	return found;
}

/* An entry where the loader does not look would not boot. One that is not known is taken for granule-boot. */
static bool loader_reads_xbootldr(void)
{
	uint64_t features = variable_get_u64(VENDOR_LOADER, "LoaderFeatures", 0);

	return !features || (features & FEATURE_XBOOTLDR);
}

static bool is_same_folder(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int find_partitions(const struct options *o, struct places *ret)
{
	bool said = false;

	if (o->esp_path) {
		ret->esp = given_folder(o->esp_path, "--esp-path");
		if (!ret->esp)
			return -ENOENT;
	} else {
		ret->esp = strcmp(o->root, "/") == 0 ? mounted_esp(&said) : esp_below(o->root);
	}
	if (o->boot_path) {
		ret->boot = given_folder(o->boot_path, "--boot-path");
		if (!ret->boot)
			return -ENOENT;
		if (ret->esp && !is_same_folder(ret->esp, ret->boot))
			ret->xbootldr = xstrdup(ret->boot);
	} else if (ret->esp) {
		if (loader_reads_xbootldr())
			ret->xbootldr = find_xbootldr(o, ret->esp);
		ret->boot = xstrdup(ret->xbootldr ? ret->xbootldr : ret->esp);
	} else if (!said) {
		complain("no EFI system partition is mounted%s%s; mount it, or name its folder with "
			 "--esp-path",
			 o->root[1] ? " below " : "", o->root[1] ? o->root : "");
	}
	return ret->boot ? 0 : -ENOENT;
}

int places_find(const struct options *o, struct places *ret)
{
	*ret = (struct places){ .lock = -1 };
	int r = find_partitions(o, ret);
	if (r < 0)
		places_free(ret);
	return r;
}

const char *places_folder(const struct places *places, enum entry_volume volume)
{
	if (volume == VOLUME_XBOOTLDR)
		return places->xbootldr;
	if (volume == VOLUME_SYSTEM)
		return places->system;
	return places->esp ? places->esp : places->boot;
}

int places_lock(struct places *places)
{
	/* One lock for both partitions. */
	const char *folder = places_folder(places, VOLUME_OWN);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX) < 0) {
		int r = -errno;
		complain("%s: cannot be locked: %s", folder, strerror(-r));
		if (fd >= 0)
			close(fd);
		return r;
	}
	places->lock = fd;
	return 0;
}

void places_free(struct places *places)
{
	free(places->esp);
	free(places->xbootldr);
	free(places->boot);
	free(places->system);
	if (places->lock >= 0)
		close(places->lock);
	*places = (struct places){ .lock = -1 };
}
