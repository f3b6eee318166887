/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "kernels.h"
#include "system.h"

static const char *const kernel_prefixes[] = { "vmlinuz-", "vmlinux-", "Image-", "kernel-" };

/* Part of a file name behind a kernel's prefix; NULL if it is no kernel's. */
static const char *release_part(const char *file_name)
{
	for (size_t i = 0; i < sizeof(kernel_prefixes) / sizeof(kernel_prefixes[0]); i++) {
		size_t n = strlen(kernel_prefixes[i]);
		if (strncmp(file_name, kernel_prefixes[i], n) == 0 && file_name[n])
			return file_name + n;
	}
	return NULL;
}

bool kernels_is_spare(const char *release)
{
	static const char *const endings[] = { ".old",      ".bak",     ".dpkg-new", ".dpkg-old", ".dpkg-tmp",
					       ".dpkg-bak", ".rpmsave", ".rpmnew",   ".rpmorig",  ".tmp" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (span_ends_nocase(span_of(release), span_of(endings[i])))
			return true;
	return strncmp(release, "0-rescue", 8) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kernel_file *)a)->path, ((const struct kernel_file *)b)->path);
}

static void add(struct kernel_files *list, char *taken_path, const char *name)
{
	list->items = xrealloc(list->items, sizeof(*list->items) * (list->n + 1));
	list->items[list->n++] = (struct kernel_file){ taken_path, name ? xstrdup(name) : NULL };
}

int kernels_find(const struct options *o, struct kernel_files *ret)
{
	_cleanup_free_ char *folder = path_join(o->root, "boot");
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	*ret = (struct kernel_files){ 0 };
	if (!dir) {
		int r = -errno;
		complain("%s: %s", folder, strerror(-r));
		return r;
	}
	while ((d = readdir(dir))) {
		const char *release = release_part(d->d_name);
		if (release && !kernels_is_spare(release))
			add(ret, path_join(folder, d->d_name), release);
	}
	if (!ret->n) {
		complain("%s: no kernels there (vmlinuz-*, vmlinux-*, Image-*); name one with --kernel",
			 folder);
		return -ENOENT;
	}
	qsort(ret->items, ret->n, sizeof(*ret->items), by_name);
	return 0;
}

void kernels_from_option(const struct options *o, struct kernel_files *ret)
{
	const char *slash = strrchr(o->kernel, '/');

	*ret = (struct kernel_files){ 0 };
	add(ret, xstrdup(o->kernel), release_part(slash ? slash + 1 : o->kernel));
}

void kernels_free(struct kernel_files *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].path);
		free(list->items[i].name);
	}
	free(list->items);
	*list = (struct kernel_files){ 0 };
}

char *kernels_initrd(const struct options *o, const char *name, char **ret_expected)
{
	/* Debian and Ubuntu; Fedora, RHEL, openEuler; SUSE; Arch-like */
	static const char *const patterns[] = { "initrd.img-%s", "initramfs-%s.img", "initrd-%s",
						"initramfs-%s" };
	_cleanup_free_ char *folder = path_join(o->root, "boot");

	*ret_expected = xprintf("%s/initrd.img-%s", folder, name);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const char *percent = strchr(patterns[i], '%');
		char *path = xprintf("%s/%.*s%s%s", folder, (int)(percent - patterns[i]), patterns[i], name,
				     percent + 2);
		if (path_exists(path))
			return path;
		free(path);
	}
	return NULL;
}
