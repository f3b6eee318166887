/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes type 1 entries. For each kernel: first its files, each complete before it has its name; then the
 * entries, each by one rename; then what no entry names any more is removed. Wherever power is cut, every
 * entry names files that are there. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <granule/bls.h>
#include <granule/path.h>

#include "cmdline_source.h"
#include "image_file.h"
#include "kernels.h"
#include "loaders/loader.h"
#include "protection.h"
#include "registered.h"
#include "registry.h"
#include "safe_file.h"
#include "settings.h"
#include "system.h"

struct work {
	const struct options *o;
	struct change c; /* the set as it was before, until all is written */
	struct identity identity;
	struct protection protection;
	const char *token, *machine_id; /* of it */
	char *title, *options;
	enum entry_volume volume; /* that is written to */
	page_size_set sizes;      /* wanted for selectable kernels */
	bool unwritten;           /* something of the kernel at hand could not be written */
	bool half_way;            /* and it has an entry, which may not go with its modules any more */
	enum page_size first;     /* class that sorts first */
	const char *others;       /* what makes entries, where register does not; NULL */
};

/* ---- files ---- */

/* Path on the partition of a file that lies on it; NULL if it does not. */
static char *path_on_partition(const struct work *w, const char *path)
{
	char real[PATH_MAX], boot[PATH_MAX];

	if (!realpath(path, real) || !realpath(w->c.places.boot, boot))
		return NULL;
	size_t n = strlen(boot);
	return strncmp(real, boot, n) == 0 && real[n] == '/' ? xstrdup(real + n) : NULL;
}

/* For folders and entries. */
#define SPACE_MARGIN (64u << 10)

static int check_space(const struct work *w, const char *path, size_t size)
{
	struct statvfs st;

	if (statvfs(w->c.places.boot, &st) < 0 || (uint64_t)st.f_bavail * st.f_frsize >= size + SPACE_MARGIN)
		return 0;
	complain("%s: no room on %s: %zu KiB are needed, %llu KiB are free; 'granule unregister' makes room",
		 path, w->c.places.boot, (size + SPACE_MARGIN) >> 10,
		 (unsigned long long)((uint64_t)st.f_bavail * st.f_frsize >> 10));
	return -ENOSPC;
}

/* Stores content on the partition unless it is there. Returns 0 or -errno after one printed line. */
static int store(struct work *w, const char *source, const char *target, const void *data, size_t size)
{
	_cleanup_free_ char *path = path_join(w->c.places.boot, target);
	struct stat st;

	if (stat(path, &st) == 0 && (size_t)st.st_size == size)
		return 0;
	int r = w->o->dry_run ? 0 : check_space(w, source, size);
	if (r == 0 && !w->o->dry_run) {
		r = safe_file_write(path, data, size);
		if (r < 0)
			complain("%s: cannot be written: %s", path, strerror(-r));
	}
	if (r < 0) {
		w->unwritten = true;
		return r;
	}
	action(&w->c.actions, "copied %s to %s", source, path);
	return 0;
}

/* Puts a kernel where firmware can start it. *ret is its path on the partition. */
static int place_kernel(struct work *w, const char *path, const char *name, const struct image_file *image,
			char **ret)
{
	_cleanup_free_ char *problem = NULL, *data = NULL;
	size_t size;

	if (image->head.has_pe) {
		*ret = path_on_partition(w, path);
		if (*ret)
			return 0;
	}
	/* Compressed kernels (Ubuntu's are) are stored unpacked: firmware cannot start them as they are. */
	int r = image_file_startable(path, &data, &size, &problem);
	if (r < 0) {
		complain("%s: %s", path, problem);
		return r;
	}
	*ret = registry_content_path(w->token, name, "linux", data, size);
	return store(w, path, *ret, data, size);
}

static int place_initrd(struct work *w, const char *path, const char *name, struct strings *ret)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	char *target = path_on_partition(w, path);

	if (!target) {
		int r = read_file(path, 0, &data, &size);
		if (r < 0) {
			complain("%s: %s", path, strerror(-r));
			return r;
		}
		target = registry_content_path(w->token, name, "initrd", data, size);
		r = store(w, path, target, data, size);
		if (r < 0) {
			free(target);
			return r;
		}
	}
	strings_add(ret, target);
	return 0;
}

static int place_initrds(struct work *w, const char *name, struct strings *ret)
{
	_cleanup_free_ char *expected = NULL, *found = NULL;

	for (size_t i = 0; i < w->o->initrds.n; i++) {
		int r = place_initrd(w, w->o->initrds.items[i], name, ret);
		if (r < 0)
			return r;
	}
	if (w->o->initrds.n)
		return 0;
	found = kernels_initrd(w->o, name, &expected);
	if (found)
		return place_initrd(w, found, name, ret);
	if (w->o->no_initrd)
		return 0;
	complain("%s: no initrd for it (such as %s); skipped. Name one with --initrd, or, if it needs none, "
		 "give --no-initrd",
		 name, expected);
	return -ENOENT;
}

/* ---- entries ---- */

/* What runs, and what was verified last: during a trial the two differ. */
static bool is_known_good(const struct work *w, const struct entry *e)
{
	const char *verified = w->protection.verified.current.entry;

	return (w->protection.selected && protection_runs(&w->protection, e)) ||
	       (verified && span_equal_nocase(e->id, span_of(verified)));
}

/* The entry that runs is known to boot. A new command line, which may hold a mistake, does not replace its
 * own unless that is insisted on; other entries show first whether it works. */
static bool keeps_options(const struct work *w, const struct entry *there, const char *text)
{
	size_t size = strlen(text) + 1, offset;
	_cleanup_free_ char *options = xalloc(size);
	struct bls_entry fresh;

	return !w->o->force && is_known_good(w, there) &&
	       bls_parse(span_of(text), options, size, &fresh, &offset) == 0 &&
	       !span_equal(fresh.options, there->bls.options);
}

/* Text for an entry in place of the one that is there (NULL: none). NULL after one printed line. *ret_kept:
 * with the old command line. */
static char *new_text(const struct work *w, const struct registration *r, const struct entry *there,
		      bool *ret_kept)
{
	char *text = registry_text(r, w->first);

	*ret_kept = false;
	if (text && there && keeps_options(w, there, text)) {
		_cleanup_free_ char *options = xstrndup(there->bls.options);
		struct registration kept = *r;

		/* Its kernel and initrd change together with the modules all the same. */
		kept.options = options;
		*ret_kept = true;
		free(text);
		text = registry_text(&kept, w->first);
		if (text && !w->o->json)
			say(stdout, "%s is known to boot: it keeps its command line (--force rewrites it)",
			    loaded(there)->id);
	}
	return text && there ? registry_keep_lines(text, loaded(there)->text) : text;
}

/* Whether an entry that is there may be replaced; says why not. */
static bool may_replace(const struct work *w, const struct entry *there)
{
	if (!identity_owns(&w->identity, there))
		complain("%s: belongs to another system, left alone; write another word to "
			 "/etc/kernel/entry-token",
			 loaded(there)->source);
	else if (!there->bls.from_granule && !w->o->force)
		complain("%s: exists and was not written by granule; --force replaces it",
			 loaded(there)->source);
	else
		return true;
	return false;
}

static int write_entry(struct work *w, const struct registration *r)
{
	_cleanup_free_ char *file_name = registry_file_name(w->token, r->name, r->page_size);
	_cleanup_free_ char *path = xprintf("%s/loader/entries/%s", w->c.places.boot, file_name);
	/* The same entry may stand there with a boot counter in its name. */
	const struct entry *there = entry_set_by_id(&w->c.set, file_name);

	if (there && !may_replace(w, there))
		return -EEXIST;
	bool kept, in_place = there && there->volume == w->volume;
	_cleanup_free_ char *text = new_text(w, r, there, &kept);
	if (!text)
		return -EINVAL;
	/* What is known to boot does not move to another partition at such a moment. */
	if (kept && !in_place)
		return 0;
	if (in_place && strcmp(loaded(there)->text, text) == 0)
		return 0;
	int error = w->o->dry_run ? 0 : safe_file_write(path, text, strlen(text));
	if (error < 0) {
		complain("%s: cannot be written: %s", path, strerror(-error));
		w->unwritten = true;
		return error;
	}
	action(&w->c.actions, "wrote %s", path);
	/* It has a counter in its name, or is on the other partition. */
	if (there && (!in_place || strcmp(loaded(there)->file_name, file_name) != 0)) {
		const char *twin = loaded(there)->source;
		error = w->o->dry_run ? 0 : safe_file_remove(twin);
		if (error < 0)
			complain("%s: cannot be removed: %s", twin, strerror(-error));
		else
			action(&w->c.actions, "removed %s", twin);
	}
	return 0;
}

/* Whether kernel-install wrote an entry, or a unified image, for a kernel: TOKEN-NAME. */
static bool is_from_kernel_install(const struct work *w, const struct entry *e, const char *name)
{
	_cleanup_free_ char *stem = xprintf("%s-%s", w->token, name);

	return span_equal_nocase(e->counter.name, span_of(stem));
}

/* An entry of somebody else that starts the same fixed kernel: another one would only be its double.
 * linux_path is its path on the partition; NULL if it is not there yet. */
static const struct entry *foreign_twin(const struct work *w, const struct registration *r,
					const char *linux_path)
{
	for (size_t i = 0; r->kind != IMAGE_SELECTABLE && i < w->c.set.n; i++) {
		const struct entry *e = w->c.set.entries[i];
		if (e->bls.from_granule || e->bls.trial || e->unusable || e->page_size != r->image_page_size)
			continue;
		if (is_from_kernel_install(w, e, r->name) ||
		    (linux_path && e->volume == w->volume && path_same(e->bls.path, span_of(linux_path))))
			return e;
	}
	return NULL;
}

/* Whether a kernel has such an entry, and so needs none of ours. */
static bool has_twin(const struct work *w, const char *kernel, const struct registration *r,
		     const char *linux_path)
{
	const struct entry *twin = w->o->force ? NULL : foreign_twin(w, r, linux_path);

	if (twin && !w->o->json)
		say(stdout, "%s has the entry %.*s already", kernel, (int)twin->id.n, twin->id.p);
	return twin;
}

static int write_entries(struct work *w, struct registration *r)
{
	int result = 0;

	if (r->kind != IMAGE_SELECTABLE) {
		r->page_size = r->image_page_size;
		return write_entry(w, r);
	}
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K && result == 0; s++) {
		r->page_size = s;
		if (page_size_in(s, w->sizes))
			result = write_entry(w, r);
	}
	return result;
}

static bool wanted(const struct work *w, const struct image_file *image)
{
	return !w->o->page_sizes.n || image->kind == IMAGE_SELECTABLE ||
	       page_size_in(image->page_size, w->sizes);
}

/* A kernel that was named, with sizes that it does not have: nothing would come of it without a word. */
static void say_unwanted(const struct work *w, const char *path, const struct image_file *image)
{
	char sizes[32];
	struct text t = text_in(sizes, sizeof(sizes));

	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
		if (!page_size_in(s, w->sizes))
			continue;
		text_add(&t, t.n ? SPAN(", ") : SPAN_NONE);
		text_add(&t, span_of(page_size_title(s)));
	}
	if (image->page_size == PAGE_SIZE_UNKNOWN)
		complain("%s: its page size is not known, it may have no %s", path, sizes);
	else
		complain("%s: compiled for %s pages, has no %s", path, page_size_title(image->page_size),
			 sizes);
}

/* Whether a kernel is one for this machine; says why not. */
static bool acceptable(const struct work *w, const char *path, const struct image_file *image)
{
	const char *machine = pe_machine_name(system_machine(w->o));

	if (image->head.container == CONTAINER_UNKNOWN)
		complain("%s: not a kernel; skipped", path);
	else if (strcmp(image->architecture, machine) != 0)
		complain("%s: made for %s, this machine is %s; skipped", path, image->architecture, machine);
	else if (image->head.container == CONTAINER_RAW && !image->head.has_pe)
		complain("%s: built without an EFI stub, firmware cannot start it; skipped", path);
	else
		return true;
	return false;
}

/* Writes files and entries for a kernel whose facts are known. `initrds` is to be freed by the caller. */
static int register_image(struct work *w, const struct kernel_file *kernel, const struct image_file *image,
			  struct strings *initrds)
{
	const char *name = kernel->name ? kernel->name : image->release;
	_cleanup_free_ char *linux_path = NULL, *trial = NULL, *file_name = NULL;
	struct registration reg = {
		.name = name,
		.version = image->release ? image->release : name,
		.title = w->title,
		.machine_id = w->machine_id,
		.architecture = pe_machine_efi_name(system_machine(w->o)),
		.linux_path = "",
		.initrd_paths = initrds,
		.options = w->options,
		.kind = image->kind,
		.image_page_size = image->page_size,
		.page_size = image->kind == IMAGE_SELECTABLE ? PAGE_SIZE_64K : image->page_size,
	};

	if (!name) {
		complain("%s: its release is not known; call the file vmlinuz-RELEASE; skipped",
			 kernel->path);
		return -EINVAL;
	}
	/* Name and command line are checked before anything is copied. */
	file_name = registry_file_name(w->token, name, reg.page_size);
	if (!bls_file_name_valid(span_of(file_name)) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		complain("%s: not a name for an entry (ASCII letters, digits and +-_. only, at most 255); "
			 "skipped",
			 file_name);
		return -EINVAL;
	}
	trial = registry_text(&reg, w->first);
	if (trial && has_twin(w, kernel->path, &reg, NULL))
		return 0;
	int r = trial ? place_initrds(w, name, initrds) : -EINVAL;
	if (r == 0)
		r = place_kernel(w, kernel->path, name, image, &linux_path);
	if (r < 0)
		return r;
	if (has_twin(w, kernel->path, &reg, linux_path))
		return 0;
	reg.linux_path = linux_path;
	return write_entries(w, &reg);
}

static bool has_entry(const struct work *w, const char *name)
{
	for (enum page_size s = PAGE_SIZE_UNKNOWN; s <= PAGE_SIZE_64K; s++) {
		_cleanup_free_ char *file_name = registry_file_name(w->token, name, s);
		if (entry_set_by_id(&w->c.set, file_name))
			return true;
	}
	return false;
}

static int register_kernel(struct work *w, const struct kernel_file *kernel)
{
	struct strings initrds = { 0 };
	struct image_file image;
	_cleanup_free_ char *problem = NULL;
	int r = image_file_read(kernel->path, w->o->root, 0, &image, &problem);

	w->unwritten = false;

	if (r < 0)
		complain("%s: %s; skipped", kernel->path, problem);
	else if (!acceptable(w, kernel->path, &image))
		r = -EINVAL;
	else if (wanted(w, &image))
		r = register_image(w, kernel, &image, &initrds);
	else if (w->o->kernel) {
		say_unwanted(w, kernel->path, &image);
		r = -EINVAL;
	}
	if (w->unwritten && has_entry(w, kernel->name ? kernel->name : image.release))
		w->half_way = true;
	strings_free(&initrds);
	image_file_free(&image);
	return r;
}

/* ---- the command ---- */

/* The specification asks for a file that says what kind of entries the folder holds. */
static int write_srel(struct work *w)
{
	_cleanup_free_ char *path = path_join(w->c.places.boot, "loader/entries.srel");
	int r;

	if (path_exists(path))
		return 0;
	r = w->o->dry_run ? 0 : safe_file_write(path, "type1\n", 6);
	if (r < 0)
		complain("%s: cannot be written: %s", path, strerror(-r));
	else
		action(&w->c.actions, "wrote %s", path);
	return r;
}

static int read_sizes(const struct options *o, page_size_set cpu, page_size_set *ret)
{
	if (!o->page_sizes.n) {
		struct settings settings;

		settings_read(o, &settings);
		*ret = settings.sizes & (cpu == PAGE_SIZE_SET_UNKNOWN ? PAGE_SIZE_SET_ALL : cpu);
		settings_free(&settings);
		if (!*ret)
			complain("page-sizes of granule.conf: the CPU has none of them, kernels that can "
				 "choose get no "
				 "entry");
		return 0;
	}
	*ret = 0;
	for (size_t i = 0; i < o->page_sizes.n; i++) {
		enum page_size size = page_size_parse_typed(span_of(o->page_sizes.items[i]));
		if (size == PAGE_SIZE_UNKNOWN) {
			complain("--page-size %s: not a page size (4k, 16k, 64k)", o->page_sizes.items[i]);
			return -EINVAL;
		}
		*ret |= (page_size_set)(1u << size);
	}
	return 0;
}

/* Whether a kernel in /boot is the one that an entry of ours was written for. */
static bool is_source(const struct work *w, const struct kernel_file *kernel, const struct entry *e)
{
	for (enum page_size s = PAGE_SIZE_UNKNOWN; kernel->name && s <= PAGE_SIZE_64K; s++) {
		_cleanup_free_ char *name = registry_file_name(w->token, kernel->name, s);
		if (span_equal_nocase(e->id, span_of(name)))
			return true;
	}
	return false;
}

static void say_stale(const struct work *w, const struct kernel_files *kernels)
{
	for (size_t i = 0; i < w->c.set.n && !w->o->json; i++) {
		const struct entry *e = w->c.set.entries[i];
		bool found = !e->bls.from_granule || e->bls.trial || !identity_owns(&w->identity, e);

		for (size_t k = 0; k < kernels->n; k++)
			found = found || is_source(w, &kernels->items[k], e);
		if (!found)
			say(stdout, "%s: its kernel is not in /boot; 'granule unregister %s' removes it",
			    loaded(e)->id, loaded(e)->id);
	}
}

/* The class that sorts first. Without a policy it stays what it is: what runs now may be there for this boot
 * only. */
static enum page_size leading_class(const struct work *w)
{
	struct next_boot by_default;
	bool any = false;

	if (w->c.set.policy != PAGE_SIZE_UNKNOWN)
		return w->c.set.policy;
	for (size_t i = 0; i < w->c.set.n; i++) {
		const struct entry *e = w->c.set.entries[i];
		bool ours = e->bls.from_granule && !e->bls.trial && identity_owns(&w->identity, e);
		_cleanup_free_ char *key = registry_sort_key(e->page_size, e->page_size);

		any = any || ours;
		if (ours && span_equal(e->bls.sort_key, span_of(key)))
			return e->page_size;
	}
	if (any)
		return PAGE_SIZE_UNKNOWN;
	/* The first entries of ours: like the default, or like what runs where there is none. */
	default_boot(&w->c.set, &by_default);
	if (by_default.entry)
		return by_default.entry->page_size;
	return system_is_other(w->o) ? PAGE_SIZE_UNKNOWN : page_size_from_bytes(system_page_size());
}

/* Whether the owner uses granule at all: a package's hook does not begin with it. */
static bool in_use(const struct work *w)
{
	static const char *const programs[] = { "EFI/granule/granule-bootaa64.efi",
						"EFI/granule/granule-bootx64.efi" };

	for (size_t i = 0; i < w->c.set.n; i++)
		if (w->c.set.entries[i]->bls.from_granule && identity_owns(&w->identity, w->c.set.entries[i]))
			return true;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		_cleanup_free_ char *path = path_join(places_folder(&w->c.places, VOLUME_OWN), programs[i]);
		if (path_exists(path))
			return true;
	}
	return w->c.set.policy != PAGE_SIZE_UNKNOWN;
}

static int work_start(const struct options *o, struct work *w)
{
	int r = change_start(o, &w->c);

	if (r < 0)
		return r;
	/* Entries for granule-boot, which is to be installed, are asked for by --force. */
	w->others = o->force ? NULL : registered_by(&w->c.set);
	if (w->others)
		return 0;
	w->volume = w->c.places.xbootldr ? VOLUME_XBOOTLDR : VOLUME_OWN;
	protection_read(o, &w->c.set, &w->protection);
	identity_read(o, &w->identity);
	w->token = w->identity.token;
	w->machine_id = w->identity.machine_id;
	if (o->hook && !in_use(w)) {
		complain("not in use on this system: no entry of it, no boot manager, no page size that is "
			 "set; nothing to do");
		return -ENOENT;
	}
	r = read_sizes(o, w->c.set.cpu, &w->sizes);
	if (r < 0)
		return r;
	w->options = cmdline_source_find(o, &w->c.set, &w->identity);
	if (!w->token)
		complain("no name for this system: write one word to /etc/kernel/entry-token");
	if (!w->token || !w->options)
		return -ENOENT;
	w->title = o->title ? xstrdup(o->title) : system_os_release(o, "PRETTY_NAME");
	if (!w->title)
		w->title = xstrdup("Linux");
	w->first = leading_class(w);
	return 0;
}

static void work_free(struct work *w)
{
	change_free(&w->c);
	protection_free(&w->protection);
	identity_free(&w->identity);
	free(w->title);
	free(w->options);
}

/* Content that was replaced: its old files have no entry now. `before` are the entries as they were. */
static void collect(struct work *w, const struct entry_set *before)
{
	for (enum entry_volume v = VOLUME_OWN; v < N_VOLUMES; v++) {
		const char *partition = places_folder(&w->c.places, v);
		struct mentions mentions;

		if (!partition)
			continue;
		mentions_read(partition, &mentions);
		for (size_t i = 0; i < before->n; i++) {
			const struct entry *e = before->entries[i];
			if (e->volume == v && identity_owns(&w->identity, e))
				registry_collect(&w->c.actions, partition, &mentions, e->bls.path);
		}
		mentions_free(&mentions);
	}
}

/* After the entries were written. */
static int finish(struct work *w)
{
	struct entry_set before = w->c.set;
	int r = entry_set_load(w->o, &w->c.places, &w->c.set);

	if (r == 0)
		r = loader_follow_policy(&w->c);
	if (r == 0)
		collect(w, &before);
	entry_set_free(&before);
	return r;
}

/* Release of the kernel that is named; NULL. */
static char *release_of_kernel(const struct options *o)
{
	struct kernel_files kernels = { 0 };
	char *release = NULL;

	if (o->kernel)
		kernels_from_option(o, &kernels);
	if (kernels.n && kernels.items[0].name)
		release = xstrdup(kernels.items[0].name);
	kernels_free(&kernels);
	return release;
}

static int leave_to_others(struct work *w)
{
	_cleanup_free_ char *release = release_of_kernel(w->o);

	/* An initrd is made before the entry that names it. */
	if (w->o->hook && getenv("GRANULE_INITRD_HOOK"))
		return EXIT_DONE;
	int r = registered_follow(&w->c, release);

	if (!w->o->hook && !w->o->json)
		say(stdout, "%s ('granule register --force' writes entries for granule-boot)", w->others);
	w->c.actions.failed = r < 0;
	if (w->o->hook && !w->c.actions.done.n)
		return EXIT_DONE;
	int exit_code = actions_finish(&w->c.actions, &w->c.set);
	return w->o->hook ? EXIT_DONE : exit_code;
}

/* A package is not left unconfigured for a kernel that merely is not registered. */
static int exit_code_of(const struct work *w, int exit_code)
{
	return w->o->hook && !w->half_way ? EXIT_DONE : exit_code;
}

int cmd_register(const struct options *o)
{
	struct kernel_files kernels = { 0 };
	struct work w = { .o = o };
	int exit_code = EXIT_FAILED;

	if (work_start(o, &w) < 0)
		goto out;
	if (w.others) {
		exit_code = leave_to_others(&w);
		goto out;
	}
	if (o->kernel)
		kernels_from_option(o, &kernels);
	else if (kernels_find(o, &kernels) < 0)
		goto out;

	if (write_srel(&w) < 0)
		goto out;
	for (size_t i = 0; i < kernels.n; i++)
		if (register_kernel(&w, &kernels.items[i]) < 0)
			w.c.actions.failed = true;
	if (!o->kernel)
		say_stale(&w, &kernels);
	if (!o->dry_run && finish(&w) < 0) {
		w.half_way = true;
		goto out;
	}
	/* What was not written cannot be booted: no word about the next boot then. */
	exit_code = actions_finish(&w.c.actions, o->dry_run ? NULL : &w.c.set);
out:
	exit_code = exit_code_of(&w, exit_code);
	kernels_free(&kernels);
	work_free(&w);
	return exit_code;
}
