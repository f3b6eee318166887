/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <json-c/linkhash.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <granule/cmdline.h>
#include <granule/entry_look.h>

#include "../identity.h"
#include "../image_file.h"
#include "../root_path.h"
#include "grub_kernel.h"
#include "grub_mount.h"

#define LOOK_MEMORY (1u << 20)

/* A kernel file as entries write it. */
struct file {
	char *key;  /* path and UUID, as written */
	char *path; /* below the folder, begins with '/'; NULL if it was not found */
	struct real *real;
	char *problem; /* why it cannot be started; NULL */
	bool elsewhere;
};

/* A kernel file as it is found, under whatever names. */
struct real {
	char *path;
	char *problem;
	struct image_head head;
	bool strings; /* of the boot-time parameter are in it */
	struct loaded_entry *best[PAGE_SIZE_64K + 1];
	unsigned rank[PAGE_SIZE_64K + 1];
};

/* What an entry starts, until twins are found. */
struct start {
	struct loaded_entry *e;
	struct real *real;
};

struct grub_kernels {
	const struct options *o;
	char *folder;
	struct span own_uuid;
	uint16_t machine;
	struct entry_set *set;
	char *memory;                   /* LOOK_MEMORY bytes */
	struct lh_table *files, *reals; /* by `key` and by `path` */
	struct start *starts;
	size_t n_starts;
	struct identity identity;
};

static void free_file(struct lh_entry *entry)
{
	struct file *f = lh_entry_v(entry);

	free(f->key);
	free(f->path);
	free(f->problem);
	free(f);
}

static void free_real(struct lh_entry *entry)
{
	struct real *r = lh_entry_v(entry);

	free(r->path);
	free(r->problem);
	free(r);
}

struct grub_kernels *grub_kernels_new(const struct options *o, const char *folder, uint16_t machine,
				      struct entry_set *set)
{
	struct grub_kernels *k = xalloc(sizeof(*k));

	*k = (struct grub_kernels){
		.o = o,
		.folder = xstrdup(folder),
		.machine = machine,
		.set = set,
		.memory = xalloc(LOOK_MEMORY),
		.files = lh_kchar_table_new(64, free_file),
		.reals = lh_kchar_table_new(64, free_real),
	};
	if (!k->files || !k->reals) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	identity_read(o, &k->identity);
	return k;
}

void grub_kernels_free(struct grub_kernels *k)
{
	lh_table_free(k->files);
	lh_table_free(k->reals);
	identity_free(&k->identity);
	free(k->starts);
	free(k->memory);
	free(k->folder);
	free(k);
}

void grub_kernels_own_uuid(struct grub_kernels *k, struct span uuid)
{
	k->own_uuid = uuid;
}

/* ---- finding a file ---- */

struct span grub_path_without_device(struct span path)
{
	size_t end = 0;

	if (!path.n || path.p[0] != '(')
		return path;
	while (end < path.n && path.p[end] != ')')
		end++;
	return end < path.n ? span_cut(path, end + 1, path.n) : path;
}

/* Opens what a path is below the folder; links in it do not lead out of it. *ret_path is without them. -1
 * with errno.
 */
static int open_below(const struct grub_kernels *k, const char *path, char **ret_path)
{
	_cleanup_free_ char *real = root_path_resolve(k->folder, path);
	int fd = real ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	size_t n = strlen(k->folder);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	*ret_path = n > 1 && strncmp(real, k->folder, n) == 0 ? xstrdup(real + n) : xstrdup(real);
	return fd;
}

/* GRUB's path begins at the root of a file system, which may be mounted at /boot, or be a subvolume's parent:
 * "/vmlinuz" is /boot/vmlinuz, "/@/boot/vmlinuz" and "/root/boot/vmlinuz" are /boot/vmlinuz. */
static int find(const struct grub_kernels *k, struct span written, char **ret_path)
{
	_cleanup_free_ char *path = xstrndup(written);
	int error = ENOENT;

	for (const char *at = path; at && *at; at = strchr(at + 1, '/')) {
		bool below_boot = strncmp(at, "/boot/", strlen("/boot/")) == 0;
		_cleanup_free_ char *in_boot = below_boot ? NULL : path_join("/boot", at);
		const char *tried[] = { in_boot, at };

		for (size_t i = 0; i < 2; i++) {
			int fd = tried[i] ? open_below(k, tried[i], ret_path) : -1;
			if (fd >= 0)
				return fd;
			if (tried[i] && errno != ENOENT && errno != ENOTDIR)
				error = errno;
		}
	}
	errno = error;
	return -1;
}

/* Whether a file that was found is on another file system than the entry means: only where that can be told.
 */
static bool is_elsewhere(const struct grub_kernels *k, const char *path, struct span fs_uuid)
{
	_cleanup_free_ char *whole = path_join(k->folder, path);
	struct grub_mount mount;

	if (!fs_uuid.n || !k->set->running_system)
		return false;
	grub_mount_find(k->o, whole, &mount);
	bool other = grub_mount_has_uuid(&mount, fs_uuid) == 0;
	grub_mount_free(&mount);
	return other;
}

/* ---- looking at it ---- */

/* GRUB unpacks what is compressed with gzip, and zlib reads either. */
struct unpacked {
	gzFile file;
};

static const char *read_piece(void *context, uint64_t offset, void *buffer, size_t size, size_t *ret_n)
{
	struct unpacked *u = context;

	*ret_n = 0;
	if (gzseek(u->file, (z_off_t)offset, SEEK_SET) < 0)
		return "cannot be decompressed";
	while (*ret_n < size) {
		size_t left = size - *ret_n;
		int n = gzread(u->file, (char *)buffer + *ret_n, left > 1 << 20 ? 1 << 20 : (unsigned)left);
		if (n < 0)
			return "cannot be read, or decompressed";
		if (n == 0)
			break;
		*ret_n += (size_t)n;
	}
	return NULL;
}

/* Bytes that a file has when it is unpacked; gzip has them at the end. */
static uint64_t unpacked_size(int fd)
{
	unsigned char magic[2], end[4];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	if (pread(fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b || st.st_size < 18 ||
	    pread(fd, end, 4, st.st_size - 4) != 4)
		return (uint64_t)st.st_size;
	return read_le32(end);
}

/* What the usual look does not see: `granule inspect` unpacks what is compressed otherwise, all of it. */
static bool look_closer(const struct grub_kernels *k, struct real *r)
{
	_cleanup_free_ char *path = path_join(k->folder, r->path), *problem = NULL;
	struct image_file image;
	bool known =
		image_file_read(path, k->o->root, 0, &image, &problem) == 0 && image.kind != IMAGE_UNKNOWN;

	if (known) {
		r->head = image.head;
		r->head.has_arm64 = image.kind == IMAGE_FIXED;
		r->head.arm64.page_size = image.page_size;
		r->strings = image.kind == IMAGE_SELECTABLE;
	}
	image_file_free(&image);
	return known;
}

static void look(struct grub_kernels *k, struct real *r, int fd)
{
	struct entry e = { .type = ENTRY_MENU };
	struct unpacked u;

	uint64_t size = unpacked_size(fd);
	int copy = dup(fd);
	u.file = copy < 0 ? NULL : gzdopen(copy, "rb");
	if (!u.file) {
		if (copy >= 0)
			close(copy);
		r->problem = xstrdup("cannot be read");
		return;
	}
	struct file_source source = { .read = read_piece, .context = &u, .size = size };
	const char *wrong =
		entry_look(&e, &source, k->machine, PAGE_SIZE_SET_UNKNOWN, k->memory, LOOK_MEMORY, &r->head);
	gzclose(u.file);
	r->strings = e.kind == IMAGE_SELECTABLE;
	if (wrong && !look_closer(k, r))
		r->problem = xstrdup(wrong);
}

/* ---- one look for all entries ---- */

static struct real *real_of(struct grub_kernels *k, const char *path, int fd)
{
	struct lh_entry *found = lh_table_lookup_entry(k->reals, path);

	if (found)
		return lh_entry_v(found);
	struct real *r = xalloc(sizeof(*r));
	r->path = xstrdup(path);
	lh_table_insert(k->reals, r->path, r);
	look(k, r, fd);
	return r;
}

static void find_file(struct grub_kernels *k, struct file *f, struct span path, struct span fs_uuid)
{
	bool other = fs_uuid.n && k->own_uuid.n && !span_equal_nocase(fs_uuid, k->own_uuid);
	int fd = find(k, path, &f->path);

	if (fd < 0 && other)
		f->elsewhere = true;
	else if (fd < 0)
		f->problem = xprintf("%.*s: %s", (int)path.n, path.p,
				     errno == ENOENT ? "not found" : strerror(errno));
	else if (is_elsewhere(k, f->path, fs_uuid))
		f->elsewhere = true;
	else
		f->real = real_of(k, f->path, fd);
	if (f->real && f->real->problem)
		f->problem = xprintf("%.*s: %s", (int)path.n, path.p, f->real->problem);
	if (fd >= 0)
		close(fd);
}

static const struct file *file_of(struct grub_kernels *k, struct span path, struct span fs_uuid)
{
	_cleanup_free_ char *key = xprintf("%.*s\n%.*s", (int)path.n, path.p, (int)fs_uuid.n, fs_uuid.p);
	struct lh_entry *found = lh_table_lookup_entry(k->files, key);

	if (found)
		return lh_entry_v(found);
	struct file *f = xalloc(sizeof(*f));
	f->key = key;
	key = NULL;
	lh_table_insert(k->files, f->key, f);
	find_file(k, f, path, fs_uuid);
	return f;
}

/* The release in the name of a kernel file: what stands behind "vmlinuz-". */
static struct span version_in_name(struct span path)
{
	static const char *const names[] = {
		"vmlinuz-", "vmlinux-", "Image-", "image-", "kernel-", "linux-"
	};
	size_t start = path.n;

	while (start > 0 && path.p[start - 1] != '/')
		start--;
	struct span name = span_cut(path, start, path.n);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_starts(name, span_of(names[i])))
			return span_cut(name, strlen(names[i]), name.n);
	return SPAN_NONE;
}

static void remember_start(struct grub_kernels *k, struct loaded_entry *e, struct real *real)
{
	k->starts = xgrow(k->starts, k->n_starts, sizeof(*k->starts));
	k->starts[k->n_starts++] = (struct start){ e, real };
}

void grub_kernels_look(struct grub_kernels *k, struct loaded_entry *e, struct span path, struct span fs_uuid)
{
	struct span plain = grub_path_without_device(path);
	struct entry *entry = &e->entry;

	if (memchr(path.p, '$', path.n) && !span_starts(path, SPAN("($root)/")) &&
	    !span_starts(path, SPAN("(${root})/"))) {
		e->note = xstrdup("its kernel is named by a variable, which GRUB knows only when it boots");
		return;
	}
	const struct file *f = file_of(k, plain, fs_uuid);
	if (f->path) {
		/* Trees go before entries do. */
		e->path = xstrdup(f->path);
		entry->bls.path = span_of(e->path);
	}
	if (!entry->bls.version.n)
		entry->bls.version = version_in_name(entry->bls.path);
	if (!entry->bls.version.n)
		entry->bls.version = version_in_name(plain);
	if (f->elsewhere)
		e->note = xstrdup("its kernel is on another file system, and was not looked at");
	if (f->problem) {
		e->problem = xstrdup(f->problem);
		entry->unusable = true;
	}
	bool head = f->real && !f->real->problem;
	entry_set_page_size(entry, head ? &f->real->head : NULL, head && f->real->strings, k->set->cpu);
	if (f->real)
		remember_start(k, e, f->real);
}

/* A file that is handed to a kernel; it is not looked into. */
static const struct file *part_of(struct grub_kernels *k, struct span path)
{
	_cleanup_free_ char *key = xprintf("initrd\n%.*s", (int)path.n, path.p);
	struct lh_entry *found = lh_table_lookup_entry(k->files, key);

	if (found)
		return lh_entry_v(found);
	struct file *f = xalloc(sizeof(*f));
	f->key = key;
	key = NULL;
	lh_table_insert(k->files, f->key, f);
	int fd = find(k, grub_path_without_device(path), &f->path);
	if (fd >= 0)
		close(fd);
	else
		f->problem = xprintf("%.*s: %s", (int)path.n, path.p,
				     errno == ENOENT ? "not found" : strerror(errno));
	return f;
}

void grub_kernels_look_at_initrds(struct grub_kernels *k, struct loaded_entry *e)
{
	if (e->problem || e->note)
		return;
	for (unsigned i = 0; i < e->entry.bls.n_initrd; i++) {
		struct span path = e->entry.bls.initrd[i];
		const struct file *f = memchr(path.p, '$', path.n) ? NULL : part_of(k, path);

		if (!f || !f->problem)
			continue;
		e->problem = xstrdup(f->problem);
		e->entry.unusable = true;
		return;
	}
}

/* ---- twins ---- */

static bool has_word(struct span line, const char *const *words)
{
	struct cmdline_word word;
	size_t pos = 0;

	while (cmdline_next(line, &pos, &word))
		for (size_t i = 0; words[i]; i++)
			if (span_equal(word.text, span_of(words[i])))
				return true;
	return false;
}

static bool is_recovery(const struct entry *e)
{
	static const char *const words[] = { "single",
					     "recovery",
					     "emergency",
					     "rescue",
					     "1",
					     "s",
					     "systemd.unit=rescue.target",
					     "systemd.unit=emergency.target",
					     NULL };

	return span_ends_nocase(e->id, SPAN("-recovery")) || has_word(e->bls.options, words);
}

/* The lower, the sooner it is what a page size means. */
static unsigned rank_of(const struct grub_kernels *k, const struct entry *e)
{
	return (e->bls.trial ? 4 : 0) + (identity_owns(&k->identity, e) ? 0 : 2) + (is_recovery(e) ? 1 : 0);
}

void grub_kernels_find_twins(struct grub_kernels *k)
{
	for (size_t i = 0; i < k->n_starts; i++) {
		struct start s = k->starts[i];
		enum page_size size = s.e->entry.page_size;
		unsigned rank = rank_of(k, &s.e->entry);
		struct loaded_entry *before = s.real->best[size];

		if (before && s.real->rank[size] <= rank) {
			s.e->entry.twin = true;
			continue;
		}
		if (before)
			before->entry.twin = true;
		s.real->best[size] = s.e;
		s.real->rank[size] = rank;
	}
}
