/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <granule/entry_look.h>
#include <granule/error.h>
#include <granule/keyval.h>
#include <granule/path.h>
#include <granule/uki_entry.h>

#include "entry_read.h"
#include "variables.h"

#define LOOK_MEMORY (1u << 20)

/* What the functions here share while a set is read. */
struct reader {
	const struct places *places;
	struct entry_set *set;
	uint16_t machine;
	enum entry_volume volume; /* that is read */
	char *memory;             /* LOOK_MEMORY bytes */
};

void entry_free(struct loaded_entry *e)
{
	free(e->file_name);
	free(e->source);
	free(e->id);
	free(e->text);
	free(e->options);
	free(e->problem);
	free(e->note);
	free(e->path);
	free(e);
}

static void add_entry(struct entry_set *set, struct loaded_entry *e)
{
	set->entries = xgrow(set->entries, set->n, sizeof(*set->entries));
	e->entry.position = set->n;
	set->entries[set->n++] = &e->entry;
}

/* ---- a look at the files that an entry names ---- */

static const char *read_piece(void *context, uint64_t offset, void *buffer, size_t size, size_t *ret_n)
{
	const int *fd = context;

	for (*ret_n = 0; *ret_n < size;) {
		ssize_t n = pread(*fd, (char *)buffer + *ret_n, size - *ret_n, (off_t)(offset + *ret_n));
		if (n < 0)
			return strerror(errno);
		if (n == 0)
			break;
		*ret_n += (size_t)n;
	}
	return NULL;
}

/* Opens a regular file. Returns the descriptor, or -1 with a phrase. */
static int open_source(const char *path, struct file_source *ret, int *fd, const char **ret_wrong)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, &st) < 0) {
		*ret_wrong = errno == ENOENT ? "not found" : strerror(errno);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		*ret_wrong = "is a folder";
		return -1;
	}
	*ret = (struct file_source){ .read = read_piece, .context = fd, .size = (uint64_t)st.st_size };
	return 0;
}

/* Path of an entry on its partition, found on the mounted one. FAT does not care about case, nor does
 * firmware. */
static char *mounted_path(const struct places *places, const struct entry *e, struct span path)
{
	_cleanup_free_ char *relative = xstrndup(path);

	for (char *p = relative; *p; p++)
		if (*p == '\\')
			*p = '/';
	return path_join(places_folder(places, e->volume), relative);
}

static char *problem_of(struct span path, const char *wrong)
{
	return xprintf("%.*s: %s", (int)path.n, path.p, wrong);
}

/* The same look at the kernel as the boot manager takes. Returns a phrase when it cannot be started. */
static char *look_at_image(const struct reader *r, struct loaded_entry *e)
{
	_cleanup_free_ char *path = mounted_path(r->places, &e->entry, e->entry.bls.path);
	_cleanup_close_ int fd = -1;
	struct file_source source;
	struct image_head head;
	const char *wrong;

	if (open_source(path, &source, &fd, &wrong) == 0)
		wrong = entry_look(&e->entry, &source, r->machine, r->set->cpu, r->memory, LOOK_MEMORY,
				   &head);
	return wrong ? problem_of(e->entry.bls.path, wrong) : NULL;
}

/* Whether files that are handed to the kernel are there. */
static char *look_at_parts(const struct reader *r, const struct entry *e, const struct span *paths,
			   unsigned n, uint64_t *ret_total)
{
	for (unsigned i = 0; i < n; i++) {
		_cleanup_free_ char *path = mounted_path(r->places, e, paths[i]);
		struct stat st;

		if (stat(path, &st) < 0)
			return problem_of(paths[i], errno == ENOENT ? "not found" : strerror(errno));
		if (S_ISDIR(st.st_mode))
			return problem_of(paths[i], "is a folder");
		*ret_total += (uint64_t)st.st_size;
	}
	return NULL;
}

/* What the boot manager would find wrong with an entry, and its page size on the way. */
static char *find_problem(const struct reader *r, struct loaded_entry *e)
{
	const struct bls_entry *b = &e->entry.bls;
	const char *feature = entry_unsupported_feature(&e->entry), *own = r->set->own_path;
	uint64_t total = 0, extra = 0;

	if (feature)
		return xstrdup(feature);
	if (b->start == BLS_START_EFI && e->entry.volume == VOLUME_OWN && own &&
	    path_same(b->path, span_of(own)))
		return xstrdup("starts the boot manager itself");
	/* Programs get neither, unified images bring their own initrd. */
	unsigned n_initrd = b->start == BLS_START_LINUX ? b->n_initrd : 0;
	unsigned n_extra = b->start == BLS_START_EFI ? 0 : b->n_extra;
	char *problem = look_at_parts(r, &e->entry, b->initrd, n_initrd, &total);
	if (!problem)
		problem = look_at_parts(r, &e->entry, b->extra, n_extra, &extra);
	if (!problem && n_initrd && !total)
		problem = problem_of(b->initrd[0], "file is empty");
	return problem ? problem : look_at_image(r, e);
}

static void look_and_add(const struct reader *r, struct loaded_entry *e)
{
	e->entry.volume = r->volume;
	e->problem = find_problem(r, e);
	e->entry.unusable = e->problem != NULL;
	add_entry(r->set, e);
}

/* ---- type 1 ---- */

static void read_type1(struct reader *r, const char *folder, const char *name)
{
	struct strings *skipped = &r->set->skipped;
	struct loaded_entry *e;
	size_t size, offset;
	char *text;

	if (!bls_file_name_is_entry(span_of(name)))
		return;
	_cleanup_free_ char *path = path_join(folder, name);
	int error = read_file(path, ENTRY_FILE_MAX, &text, &size);
	if (error < 0) {
		strings_add(skipped, xprintf("%s: %s", name,
					     error == -EFBIG ? "larger than 64 KiB" : strerror(-error)));
		return;
	}
	e = xalloc(sizeof(*e));
	e->text = text;
	e->source = xstrdup(path);
	e->file_name = xstrdup(name);
	e->entry.file_name = span_of(e->file_name);
	boot_counter_parse(e->entry.file_name, &e->entry.counter);
	e->id = xalloc(strlen(name) + 1);
	struct text id = text_in(e->id, strlen(name) + 1);
	boot_counter_id(&e->entry.counter, &id);
	e->entry.id = text_span(&id);

	e->options = xalloc(size + 1);
	error = bls_parse((struct span){ text, size }, e->options, size + 1, &e->entry.bls, &offset);
	struct span architecture = e->entry.bls.architecture;
	const char *ours = pe_machine_efi_name(r->machine);
	if (error == ERROR_NO_KERNEL) {
		strings_add(skipped, xprintf("%s: %s", name, error_text(error)));
		entry_free(e);
	} else if (error) {
		strings_add(skipped, xprintf("%s: line %zu: %s", name,
					     keyval_line_number((struct span){ text, size }, offset),
					     error_text(error)));
		entry_free(e);
	} else if (architecture.n && !span_equal_nocase(architecture, span_of(ours))) {
		entry_free(e); /* for another machine: not listed, as in every loader */
	} else {
		look_and_add(r, e);
	}
}

/* ---- type 2 ---- */

static void add_profile(struct reader *r, const struct file_source *source, const char *path,
			const char *name, const struct uki_profile *profile, uint32_t n)
{
	struct loaded_entry *e = xalloc(sizeof(*e));

	e->file_name = xstrdup(name);
	e->source = xstrdup(path);
	e->text = xalloc(uki_entry_memory(span_of(name), profile));
	const char *wrong = uki_entry(source, span_of(e->file_name), profile, n, e->text, &e->entry);
	if (wrong) {
		strings_add(&r->set->skipped, xprintf("%s: %s", name, wrong));
		entry_free(e);
		return;
	}
	e->id = xstrndup(e->entry.id);
	look_and_add(r, e);
}

static void read_type2(struct reader *r, const char *folder, const char *name)
{
	_cleanup_free_ char *path = path_join(folder, name), *head_memory = NULL;
	_cleanup_close_ int fd = -1;
	struct file_source source;
	struct image_head head;
	const char *wrong;
	uint32_t n;

	if (!uki_file_name_valid(span_of(name)))
		return;
	head_memory = xalloc(ENTRY_LOOK_MEMORY);
	if (open_source(path, &source, &fd, &wrong) == 0)
		wrong = image_head_read(&source, head_memory, ENTRY_LOOK_MEMORY, &head);
	if (wrong) {
		strings_add(&r->set->skipped, xprintf("%s: %s", name, wrong));
		return;
	}
	/* Programs that are no unified kernel images, and those of other machines, are none of our entries.
	 */
	if (head.container != CONTAINER_UKI || head.pe.machine != r->machine)
		return;
	if (uki_count_profiles(head_memory, &head.pe, &n) < 0)
		strings_add(&r->set->skipped, xprintf("%s: profiles above number %u", name, n - 1));
	for (uint32_t i = 0; i < n; i++) {
		struct uki_profile profile;

		if (uki_find_profile(head_memory, &head.pe, i, &profile) == 0)
			add_profile(r, &source, path, name, &profile, i);
	}
}

/* ---- entries of the loader's own ---- */

/* The loader says which there are. */
static void read_auto(struct entry_set *set)
{
	static const struct {
		const char *id, *title;
	} titles[] = {
		{ "auto-efi-shell", "EFI Shell" },
		{ "auto-efi-default", "EFI Default Loader" },
		{ "auto-reboot-to-firmware-setup", "Reboot Into Firmware Interface" },
		{ "auto-poweroff", "Power Off The System" },
		{ "auto-reboot", "Reboot The System" },
	};
	struct strings ids = { 0 };

	variable_get_list(VENDOR_LOADER, "LoaderEntries", &ids);
	for (size_t i = 0; i < ids.n; i++) {
		const char *id = ids.items[i], *title = id;

		if (!span_starts(span_of(id), SPAN("auto-")))
			continue;
		for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
			if (strcmp(id, titles[k].id) == 0)
				title = titles[k].title;
		struct loaded_entry *e = xalloc(sizeof(*e));
		e->id = xstrdup(id);
		e->text = xstrdup(title);
		e->entry.type = ENTRY_AUTO;
		e->entry.id = e->entry.file_name = e->entry.counter.name = span_of(e->id);
		e->entry.bls.title = span_of(e->text);
		add_entry(set, e);
	}
	strings_free(&ids);
}

/* ---- all of them ---- */

static int read_folder(struct reader *r, const char *name,
		       void (*read)(struct reader *r, const char *folder, const char *name))
{
	_cleanup_free_ char *folder = path_join(places_folder(r->places, r->volume), name);
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	if (!dir) {
		if (errno == ENOENT)
			return 0;
		int error = -errno;
		complain("%s: %s", folder, strerror(errno));
		return error;
	}
	while ((d = readdir(dir)))
		read(r, folder, d->d_name);
	return 0;
}

int entry_read_all(const struct places *places, uint16_t machine, struct entry_set *set)
{
	_cleanup_free_ char *memory = xalloc(LOOK_MEMORY);
	struct reader r = { .places = places, .set = set, .machine = machine, .memory = memory };
	int error = 0;

	for (r.volume = VOLUME_OWN; r.volume < N_VOLUMES && error == 0; r.volume++) {
		if (!places_folder(places, r.volume))
			continue;
		error = read_folder(&r, "loader/entries", read_type1);
		if (error == 0)
			error = read_folder(&r, UKI_FOLDER + 1, read_type2);
	}
	if (error == 0 && set->running_system)
		read_auto(set);
	return error;
}
