/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <granule/choose.h>
#include <granule/version_order.h>

#include "../image_file.h"
#include "../kernels.h"
#include "../settings.h"
#include "../system.h"
#include "grub_kernels.h"

/* The kernels that grub-mkconfig looks for. */
static const struct {
	const char *folder, *prefix;
} places[] = {
	{ "/boot", "vmlinuz-" }, { "/boot", "vmlinux-" }, { "/boot", "Image-" },
	{ "/boot", "kernel-" },  { "/", "vmlinuz-" },     { "/", "vmlinux-" },
};

/* Left beside kernels by packages: never offered. */
static bool is_garbage(const char *file)
{
	static const char *const endings[] = { ".rpmsave", ".rpmnew", ".sig" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (span_ends_nocase(span_of(file), span_of(endings[i])))
			return true;
	return strstr(file, ".dpkg-");
}

static bool is_safe_name(const char *file)
{
	for (; *file; file++)
		if (!char_is_alpha(*file) && !char_is_digit(*file) && !strchr("._+-", *file))
			return false;
	return true;
}

static char *below_root(const struct options *o, const char *folder, const char *file)
{
	_cleanup_free_ char *path = path_join(folder, file);

	return path_join(o->root, path + 1);
}

/* "6.1.0" of "6.1.0.old" */
static char *without_old(const char *name)
{
	struct span s = span_of(name);

	return xstrndup(span_ends_nocase(s, SPAN(".old")) ? span_cut(s, 0, s.n - 4) : s);
}

/* ---- what belongs to a kernel ---- */

static const char *machine_name(uint16_t machine)
{
	return machine == PE_MACHINE_AA64 ? "aarch64" : "x86_64";
}

/* Name of its initrd in the folder; NULL. Of all distributions, those of the very name before those of the
 * name without ".old". */
static char *find_initrd(const struct options *o, const char *folder, const char *name)
{
	static const char *const patterns[] = {
		"initrd.img-%s",    "initrd-%s.img", "initrd-%s.gz",           "initrd-%s",
		"initramfs-%s.img", "initramfs-%s",  "initramfs-genkernel-%s",
	};
	_cleanup_free_ char *plain = without_old(name);
	const char *names[] = { name, plain };

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			const char *percent = strchr(patterns[i], '%');
			char *file = xprintf("%.*s%s%s", (int)(percent - patterns[i]), patterns[i], names[k],
					     percent + 2);
			_cleanup_free_ char *path = below_root(o, folder, file);
			if (path_exists(path))
				return file;
			free(file);
		}
		_cleanup_free_ char *genkernel =
			xprintf("initramfs-genkernel-%s-%s", machine_name(system_machine(o)), names[k]);
		_cleanup_free_ char *path = below_root(o, folder, genkernel);
		if (path_exists(path))
			return xstrdup(genkernel);
	}
	return NULL;
}

/* Whether its configuration names an initramfs to build in. */
static bool has_initramfs(const struct options *o, const char *folder, const char *name)
{
	static const char key[] = "CONFIG_INITRAMFS_SOURCE=\"";
	_cleanup_free_ char *file = xprintf("config-%s", name);
	_cleanup_free_ char *path = below_root(o, folder, file);
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (read_file(path, 16 << 20, &text, &size) < 0)
		return false;
	const char *line = strstr(text, key);
	return line && (line == text || line[-1] == '\n') && line[sizeof(key) - 1] != '"';
}

/* ---- the list ---- */

static bool is_there(const struct grub_kernels *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i]->id, id) == 0)
			return true;
	return false;
}

static void add_entry(struct grub_kernels *list, const struct grub_kernel *kernel, enum page_size size)
{
	struct grub_kernel *k = xalloc(sizeof(*k));

	*k = *kernel;
	k->id = xprintf("granule-%s-%s", kernel->name, page_size_word(size));
	k->folder = xstrdup(kernel->folder);
	k->file = xstrdup(kernel->file);
	k->release = kernel->release ? xstrdup(kernel->release) : NULL;
	k->initrd = kernel->initrd ? xstrdup(kernel->initrd) : NULL;
	k->name = xstrdup(kernel->name);
	k->entry.type = ENTRY_MENU;
	k->entry.volume = VOLUME_SYSTEM;
	k->entry.page_size = size;
	k->entry.id = span_of(k->id);
	k->entry.bls.version = span_of(k->name);
	k->entry.release = span_of(k->release);
	k->entry.unusable = k->spare;
	if (is_there(list, k->id)) {
		complain("%s/%s: another file has the same name and page size; left out of GRUB's menu",
			 strcmp(k->folder, "/") == 0 ? "" : k->folder, k->file);
		free(k->id);
		free(k->folder);
		free(k->file);
		free(k->release);
		free(k->initrd);
		free(k->name);
		free(k);
		return;
	}
	list->items = xrealloc(list->items, sizeof(*list->items) * (list->n + 1));
	list->items[list->n++] = k;
}

/* What the image says. False for what is surely no kernel. */
static bool look(const struct options *o, const char *path, struct grub_kernel *k)
{
	struct image_file image;
	_cleanup_free_ char *problem = NULL;
	int r = image_file_read(path, o->root, 0, &image, &problem);
	bool ours = r == 0 && strcmp(image.architecture, pe_machine_name(system_machine(o))) == 0;

	k->entry.kind = ours ? image.kind : IMAGE_UNKNOWN;
	k->entry.page_size = ours ? image.page_size : PAGE_SIZE_UNKNOWN;
	k->release = image.release;
	image.release = NULL;
	if (r < 0)
		complain("%s: %s; its page size is not known", path, problem);
	else if (!ours && image.head.container != CONTAINER_UNKNOWN)
		complain("%s: made for %s; its page size does not count", path, image.architecture);
	/* ELF files, which are there for debuggers, have the names of kernels. */
	bool kernel =
		r < 0 || image.head.container != CONTAINER_UNKNOWN || strncmp(k->file, "vmlinux-", 8) != 0;
	image_file_free(&image);
	return kernel;
}

static void add_file(const struct options *o, const struct settings *settings, const char *folder,
		     const char *file, const char *name, struct grub_kernels *list)
{
	_cleanup_free_ char *path = below_root(o, folder, file);
	_cleanup_free_ char *plain = without_old(name);
	_cleanup_free_ char *file_copy = xstrdup(file), *folder_copy = xstrdup(folder);
	_cleanup_free_ char *name_copy = xstrdup(name);
	struct grub_kernel k = { .folder = folder_copy, .file = file_copy };
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || is_garbage(file))
		return;
	if (!is_safe_name(file)) {
		complain("%s: a name for GRUB has ASCII letters, digits and ._+- only; left out of its menu",
			 path);
		return;
	}
	k.name = name_copy;
	k.spare = kernels_is_spare(name);
	if (look(o, path, &k)) {
		k.initrd = find_initrd(o, folder, name);
		k.built_in = has_initramfs(o, folder, name) || has_initramfs(o, folder, plain);
		if (k.entry.kind != IMAGE_SELECTABLE)
			add_entry(list, &k, k.entry.page_size);
		/* Without a word it takes the largest size that the CPU has. */
		for (enum page_size s = PAGE_SIZE_64K; k.entry.kind == IMAGE_SELECTABLE && s > 0; s--)
			if (page_size_in(s, settings->sizes))
				add_entry(list, &k, s);
	}
	free(k.initrd);
	free(k.release);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in a folder, sorted; none of it if it cannot be read. */
static void files_with_prefix(const char *folder, const char *prefix, struct strings *ret)
{
	_cleanup_dir_ DIR *dir = opendir(folder);
	size_t n = strlen(prefix);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (strncmp(d->d_name, prefix, n) == 0 && d->d_name[n])
			strings_add(ret, xstrdup(d->d_name));
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), by_name);
}

static void add_folder(const struct options *o, const struct settings *settings, const char *folder,
		       const char *prefix, struct grub_kernels *list)
{
	_cleanup_free_ char *path = path_join(o->root, folder + 1);
	struct strings files = { 0 };

	files_with_prefix(path, prefix, &files);
	for (size_t i = 0; i < files.n; i++)
		add_file(o, settings, folder, files.items[i], files.items[i] + strlen(prefix), list);
	strings_free(&files);
}

/* ---- images ---- */

#define IMAGE_PREFIX "granule-"

/* One entry for each page size that a profile of the image has. */
static void add_image(const struct options *o, const char *folder, const char *file,
		      struct grub_kernels *list)
{
	_cleanup_free_ char *path = path_join(folder, file);
	_cleanup_free_ char *folder_copy = xstrdup(folder), *file_copy = xstrdup(file);
	_cleanup_free_ char *name = xstrndup(span_cut(span_of(file), strlen(IMAGE_PREFIX), strlen(file) - 4));
	page_size_set seen = 0;
	uint32_t n = 1;

	if (!is_safe_name(file)) {
		complain("%s: a name for GRUB has ASCII letters, digits and ._+- only; left out of its menu",
			 path);
		return;
	}
	for (uint32_t profile = 0; profile < n; profile++) {
		struct grub_kernel k = {
			.folder = folder_copy, .file = file_copy, .name = name, .image = true, .spare = true
		};
		struct image_file image;
		_cleanup_free_ char *problem = NULL;
		int r = image_file_read(path, o->root, profile, &image, &problem);

		n = r == -ENOENT || r == 0 ? image.n_profiles : 0;
		k.entry.kind = image.kind;
		if (r == 0 && image.head.container == CONTAINER_UKI && !page_size_in(image.page_size, seen) &&
		    strcmp(image.architecture, pe_machine_name(system_machine(o))) == 0) {
			seen |= (page_size_set)(1u << image.page_size);
			add_entry(list, &k, image.page_size);
		} else if (r < 0 && r != -ENOENT) {
			complain("%s: %s; left out of GRUB's menu", path, problem);
		}
		image_file_free(&image);
	}
}

static void add_images(const struct options *o, const char *esp, struct grub_kernels *list)
{
	_cleanup_free_ char *folder = path_join(esp, "EFI/Linux");
	struct strings files = { 0 };

	files_with_prefix(folder, IMAGE_PREFIX, &files);
	for (size_t i = 0; i < files.n; i++) {
		size_t n = strlen(files.items[i]);
		if (n > strlen(IMAGE_PREFIX) + 4 && span_ends_nocase(span_of(files.items[i]), SPAN(".efi")))
			add_image(o, folder, files.items[i], list);
	}
	strings_free(&files);
}

/* ---- order ---- */

static struct span age(const struct grub_kernel *k)
{
	return k->entry.release.n && !k->spare ? k->entry.release : k->entry.bls.version;
}

/* The wanted page size first, then newest first; spare ones last. */
static int by_menu_order(const void *a, const void *b)
{
	const struct grub_kernel *x = *(struct grub_kernel *const *)a;
	const struct grub_kernel *y = *(struct grub_kernel *const *)b;

	if (x->spare != y->spare)
		return x->spare - y->spare;
	if (x->wanted != y->wanted)
		return y->wanted - x->wanted;
	int order = version_compare(age(y), age(x));
	/* Builds of one release: the higher name is the first, and so the one that is meant. */
	if (!order)
		order = version_compare(y->entry.bls.version, x->entry.bls.version);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order
		     : (x->entry.position > y->entry.position) - (x->entry.position < y->entry.position);
}

static void sort(struct grub_kernels *list, enum page_size first)
{
	for (size_t i = 0; i < list->n; i++) {
		list->items[i]->entry.position = i;
		list->items[i]->wanted = first && list->items[i]->entry.page_size == first;
	}
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), by_menu_order);
	for (size_t i = 0; i < list->n; i++)
		list->items[i]->entry.position = i;
}

static void resolve(struct grub_kernels *list, const char *avoid)
{
	_cleanup_free_ const struct entry **entries = xalloc((list->n + 1) * sizeof(*entries));
	struct choose_input input = { .entries = entries, .cpu = system_cpu() };
	enum choose_outcome why;

	for (size_t i = 0; i < list->n; i++)
		if (!avoid || strcmp(list->items[i]->id, avoid) != 0)
			entries[input.n_entries++] = &list->items[i]->entry;
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
		size_t i = choose_newest(&input, s, NULL, &why);
		list->by_size[s] = i == SIZE_MAX ? NULL : (struct grub_kernel *)entries[i];
	}
}

void grub_kernels_find(const struct options *o, const char *esp, enum page_size first, const char *avoid,
		       struct grub_kernels *ret)
{
	struct settings settings;

	*ret = (struct grub_kernels){ 0 };
	settings_read(o, &settings);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_folder(o, &settings, places[i].folder, places[i].prefix, ret);
	settings_free(&settings);
	if (esp)
		add_images(o, esp, ret);
	sort(ret, first);
	resolve(ret, avoid);
}

void grub_found_free(struct grub_kernels *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct grub_kernel *k = list->items[i];
		free(k->id);
		free(k->folder);
		free(k->file);
		free(k->release);
		free(k->initrd);
		free(k->name);
		free(k);
	}
	free(list->items);
	*list = (struct grub_kernels){ 0 };
}
