/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "../root_path.h"
#include "../system.h"
#include "grub_area.h"
#include "grub_mount.h"

#define SECTOR 512u
#define BTRFS_MAGIC_OFFSET 0x10040
#define BTRFS_MAGIC "_BHRfS_M"
/* What mkfs.btrfs leaves to boot loaders; the superblock is in it. */
#define RESERVED (1u << 20)
#define SUPERBLOCK_END (68u << 10)

/* "512+1", in sectors; only a place that no file system structure uses, and one sector, which is written
 * whole or not at all. */
static bool parse_place(const char *text, uint64_t *ret_offset)
{
	struct span s = span_of(text);
	uint64_t start, count;
	size_t plus = 0;

	while (plus < s.n && s.p[plus] != '+')
		plus++;
	if (plus == s.n || !span_to_number(span_cut(s, 0, plus), RESERVED / SECTOR - 1, &start) ||
	    !span_to_number(span_cut(s, plus + 1, s.n), 1, &count) || count != 1)
		return false;
	*ret_offset = start * SECTOR;
	return *ret_offset >= SUPERBLOCK_END;
}

static bool holds_btrfs(int fd)
{
	char magic[sizeof(BTRFS_MAGIC) - 1];

	return pread(fd, magic, sizeof(magic), BTRFS_MAGIC_OFFSET) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, BTRFS_MAGIC, sizeof(magic)) == 0;
}

/* Returns a phrase why it cannot be used, or NULL. */
static char *read_area(const char *device, uint64_t offset, char *area)
{
	_cleanup_close_ int fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t where;

	if (fd < 0)
		return xprintf("%s cannot be read: %s", device, strerror(errno));
	if (!holds_btrfs(fd))
		return xprintf("%s holds no btrfs", device);
	memset(area, '#', ENV_BLOCK_SIZE);
	if (pread(fd, area, SECTOR, (off_t)offset) != (ssize_t)SECTOR)
		return xprintf("%s cannot be read at byte %llu", device, (unsigned long long)offset);
	if (env_block_check(area, ENV_BLOCK_SIZE, &where) != 0)
		return xprintf("%s holds no environment block at byte %llu", device,
			       (unsigned long long)offset);
	return NULL;
}

static bool is_on_one_device(const char *folder)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct btrfs_ioctl_fs_info_args info = { 0 };

	return fd >= 0 && ioctl(fd, BTRFS_IOC_FS_INFO, &info) == 0 && info.num_devices == 1;
}

/* The device by name: the file system itself has none of its own. */
static char *stack_of(const struct options *o, const struct grub_mount *mount)
{
	struct grub_mount source = { .source = mount->source };
	struct stat st;

	if (stat(mount->source, &st) < 0 || !S_ISBLK(st.st_mode))
		return NULL;
	source.device = st.st_rdev;
	return grub_mount_stack(o, &source);
}

/* Whether the name of the device can be relied on. What another system's /proc calls a disk may be any here;
 * an image in a file is what its path says. */
static bool is_known(const struct grub_mount *mount)
{
	struct stat st;

	return mount->source && mount->source[0] == '/' && stat(mount->source, &st) == 0 &&
	       (mount->here ? S_ISBLK(st.st_mode) : S_ISREG(st.st_mode));
}

static char *find_area(const struct options *o, const struct grub *grub, const struct grub_mount *mount,
		       const char *place, struct grub_block *b)
{
	if (!is_known(mount))
		return xstrdup("its device is not known");
	if (mount->here && !is_on_one_device(grub->folder))
		return xstrdup("it is on several devices");
	_cleanup_free_ char *stack = stack_of(o, mount);
	if (stack)
		return xprintf("it is on %s", stack);
	if (!place)
		return xprintf("it is not there, '%s-editenv - unset next_entry' makes it", grub->tools);
	if (!parse_place(place, &b->offset))
		return xprintf("'env_block=%s' is not understood", place);
	char *problem = read_area(mount->source, b->offset, b->area);
	if (problem)
		return problem;
	b->kind = GRUB_BLOCK_BTRFS;
	b->device = xstrdup(mount->source);
	b->size = SECTOR;
	return NULL;
}

static void say_no(struct grub_block *b, const char *why)
{
	free(b->obstacle);
	b->obstacle =
		xprintf("%s lies on btrfs, which GRUB cannot write, and the area for that is not usable (%s)",
			b->path, why);
}

/* Whether grub.cfg asks for an area at all. */
static bool is_asked_for(const struct grub *grub)
{
	return grub->cfg_text && memmem(grub->cfg_text, grub->cfg_size, "${env_block}", 12);
}

/* Whether grub.cfg puts something else into env_block than what grubenv has, with the device before it:
 * somebody has moved the block. */
static bool is_moved(const struct grub *grub)
{
	static const char set[] = "env_block=", own[] = "${env_block}";
	const char *end = grub->cfg_text + grub->cfg_size, *p = grub->cfg_text;

	while ((p = memmem(p, (size_t)(end - p), set, sizeof(set) - 1))) {
		p += sizeof(set) - 1;
		const char *line = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((line ? line : end) - p);
		if (!memmem(p, n, own, sizeof(own) - 1))
			return true;
	}
	return false;
}

void grub_area_find(const struct options *o, struct grub *grub)
{
	struct grub_block *b = &grub->env;
	_cleanup_free_ char *place = is_asked_for(grub) ? grub_block_get(b, SPAN("env_block")) : NULL;
	_cleanup_free_ char *why = NULL;
	struct grub_mount mount;

	if (!is_asked_for(grub) || !b->exists || b->problem)
		return;
	if (is_moved(grub)) {
		free(b->obstacle);
		b->obstacle = xprintf("%s has GRUB keep its variables elsewhere than in %s (by env_block)",
				      grub->cfg_path, b->path);
		return;
	}
	grub_mount_find(o, b->path, &mount);
	bool is_btrfs = mount.type && strcmp(mount.type, "btrfs") == 0;
	if (is_btrfs) {
		why = find_area(o, grub, &mount, place, b);
		if (why)
			say_no(b, why);
	} else if (place && mount.type) {
		/* Left by an installer: GRUB would clear a one-shot there, and not in the file. */
		free(b->obstacle);
		b->obstacle =
			xprintf("%s has 'env_block=%s' ('%s-editenv - unset env_block' removes it), and GRUB "
				"writes there instead",
				b->path, place, grub->tools);
	}
	if (b->kind == GRUB_BLOCK_BTRFS) {
		free(b->obstacle);
		b->obstacle = NULL;
	}
	grub_mount_free(&mount);
}

bool grub_area_fits(const struct grub_block *b, const char *area)
{
	for (size_t i = b->size; i < ENV_BLOCK_SIZE; i++)
		if (area[i] != '#')
			return false;
	return true;
}

int grub_area_write(const struct grub_block *b, const char *area)
{
	_cleanup_close_ int fd = open(b->device, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ssize_t n = pwrite(fd, area, b->size, (off_t)b->offset);
	if (n != (ssize_t)b->size)
		return n < 0 ? -errno : -EIO;
	return fsync(fd) < 0 ? -errno : 0;
}
