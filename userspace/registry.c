/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/error.h>

#include "identity.h"
#include "registry.h"
#include "safe_file.h"
#include "system.h"

#define HASH_DIGITS 16

char *registry_file_name(const char *token, const char *name, enum page_size size)
{
	return xprintf("%s-%s-%s.conf", token, name, page_size_word(size));
}

char *registry_sort_key(enum page_size size, enum page_size first)
{
	unsigned rank = size == PAGE_SIZE_UNKNOWN ? 9 : size == first ? 0 : (unsigned)size;

	return xprintf("granule-%u-%s", rank, page_size_word(size));
}

/* ---- text of an entry ---- */

static const char *image_word(const struct registration *r)
{
	return r->kind == IMAGE_SELECTABLE ? BLS_IMAGE_SELECTABLE : page_size_word(r->image_page_size);
}

/* The command line, with exactly one page-size word if the kernel reads it. */
static char *options_text(const struct registration *r)
{
	enum page_size word = r->kind == IMAGE_SELECTABLE ? r->page_size : PAGE_SIZE_UNKNOWN;
	size_t size = strlen(r->options) + 64;
	char *line = xalloc(size);
	struct text t = text_in(line, size);
	struct param_note note;

	int error = cmdline_set_page_size(span_of(r->options), word, &t, &note);
	if (!error && strchr(line, '$')) {
		complain("%s: the options hold a '$', which GRUB would expand; remove it", r->name);
		free(line);
		return NULL;
	}
	if (!error)
		return line;
	if (error == ERROR_CONFLICT)
		complain("%s: in the options, '%.*s' %s; remove it", r->name, (int)note.length,
			 r->options + note.offset, param_note_text(note.kind));
	else if (error == ERROR_SPACE)
		complain("%s: the options have %zu bytes with the page size, the kernel takes %d and would "
			 "drop the rest; "
			 "shorten them",
			 r->name, strlen(r->options) + strlen(" " PARAM_PAGE_SIZE "=64k"), CMDLINE_MAX);
	else
		complain("%s: the options hold a line break at byte %zu; remove it", r->name, note.offset);
	free(line);
	return NULL;
}

static bool is_one_line(const char *s)
{
	return !strpbrk(s, "\r\n");
}

char *registry_text(const struct registration *r, enum page_size first)
{
	_cleanup_free_ char *options = options_text(r), *sort_key = registry_sort_key(r->page_size, first),
			    *text = NULL;
	size_t size;

	if (!options)
		return NULL;
	if (!is_one_line(r->title)) {
		complain("the title holds a line break; give another with --title");
		return NULL;
	}
	FILE *f = open_memstream(&text, &size);
	if (!f) {
		complain("out of memory");
		return NULL;
	}
	fprintf(f, "title %s (%s, %s pages)\n", r->title, r->version, page_size_title(r->page_size));
	fprintf(f, "version %s\n", r->version);
	if (r->machine_id)
		fprintf(f, "machine-id %s\n", r->machine_id);
	fprintf(f, "sort-key %s\n", sort_key);
	if (r->architecture)
		fprintf(f, "architecture %s\n", r->architecture);
	fprintf(f, "linux %s\n", r->linux_path);
	for (size_t i = 0; i < r->initrd_paths->n; i++)
		fprintf(f, "initrd %s\n", r->initrd_paths->items[i]);
	if (*options)
		fprintf(f, "options %s\n", options);
	fprintf(f, BLS_KEY_IMAGE " %s\n", image_word(r));
	fclose(f);

	char *result = text;
	text = NULL;
	return result;
}

/* ---- sort keys ---- */

static int resort(struct actions *a, struct loaded_entry *e, enum page_size first)
{
	_cleanup_free_ char *key = registry_sort_key(e->entry.page_size, first);
	size_t size = strlen(e->text) + strlen(key) + 16;
	_cleanup_free_ char *text = xalloc(size);
	struct text t = text_in(text, size);

	if (span_equal(e->entry.bls.sort_key, span_of(key)))
		return 0;
	loader_conf_set(span_of(e->text), SPAN("sort-key"), span_of(key), &t);
	int r = a->options->dry_run ? 0 : safe_file_write(e->source, text, t.n);
	if (r < 0) {
		complain("%s: cannot be written: %s", e->source, strerror(-r));
		return r;
	}
	action(a, "gave %s the sort key %s", e->id, key);
	return 0;
}

int registry_sort(struct actions *a, struct entry_set *set, enum page_size first)
{
	struct identity identity;
	int r = 0;

	identity_read(a->options, &identity);
	for (size_t i = 0; i < set->n && r == 0; i++)
		if (set->entries[i]->bls.from_granule && identity_owns(&identity, set->entries[i]))
			r = resort(a, loaded(set->entries[i]), first);
	identity_free(&identity);
	return r;
}

/* ---- files ---- */

/* FNV-1a, 64 bits: names content, protects nothing. */
static uint64_t hash(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

char *registry_content_path(const char *token, const char *name, const char *stem, const void *data,
			    size_t size)
{
	return xprintf("/%s/%s/%s-%0*" PRIx64, token, name, stem, HASH_DIGITS, hash(data, size));
}

static bool owns_name(const char *name)
{
	size_t n = strlen(name);

	if (n <= HASH_DIGITS || strspn(name + n - HASH_DIGITS, "0123456789abcdef") != HASH_DIGITS)
		return false;
	struct span stem = { name, n - HASH_DIGITS };
	return span_equal(stem, SPAN("linux-")) || span_equal(stem, SPAN("initrd-"));
}

bool registry_owns_path(struct span path)
{
	_cleanup_free_ char *p = xstrndup(path);
	const char *slash = strrchr(p, '/');
	size_t slashes = 0;

	for (const char *c = p; *c; c++)
		slashes += *c == '/';
	return slash && slashes == 3 && owns_name(slash + 1);
}

/* Text of an entry with every path in one spelling: lower case, single slashes. */
static void unify(char *text, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < size; i++) {
		char c = text[i] == '\\' ? '/' : char_lower(text[i]);
		if (c == '/' && out && text[out - 1] == '/')
			continue;
		text[out++] = c ? c : ' ';
	}
	text[out] = 0;
}

/* Whether any file in loader/entries mentions "FOLDER/FILE", whatever it is otherwise: written by hand, for
 * another machine, or not understood. A file that cannot be read may mention it. */
static bool is_named(const char *partition, const char *path)
{
	_cleanup_free_ char *folder = path_join(partition, "loader/entries");
	_cleanup_free_ char *wanted = xstrdup(path);
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	unify(wanted, strlen(wanted));
	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *file = path_join(folder, d->d_name);
		_cleanup_free_ char *text = NULL;
		size_t size;

		if (d->d_name[0] == '.')
			continue;
		if (read_file(file, 0, &text, &size) < 0)
			return true;
		unify(text, size);
		if (strstr(text, wanted[0] == '/' ? wanted + 1 : wanted))
			return true;
	}
	return !dir && errno != ENOENT;
}

void registry_collect(struct actions *a, const char *partition, struct span path)
{
	_cleanup_free_ char *folder = xstrndup(path);
	struct dirent *d;

	if (!registry_owns_path(path))
		return;
	*strrchr(folder, '/') = 0;
	_cleanup_free_ char *real = path_join(partition, folder);
	_cleanup_dir_ DIR *dir = opendir(real);
	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *candidate = xprintf("%s/%s", folder, d->d_name);
		if (!owns_name(d->d_name) || is_named(partition, candidate))
			continue;
		_cleanup_free_ char *file = path_join(real, d->d_name);
		int r = safe_file_remove(file);
		if (r < 0)
			complain("%s: cannot be removed: %s", file, strerror(-r));
		else
			action(a, "removed %s", file);
	}
	if (dir) {
		remove_if_empty(real);
		*strrchr(real, '/') = 0;
		remove_if_empty(real);
	}
}
