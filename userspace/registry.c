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
#define STEM_MAX 7 /* "initrd-" */

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

/* Whether a line of an entry is one that is written anew, or means nothing. */
static bool is_own_line(struct span line)
{
	static const char *const keys[] = { "title",   "version", "machine-id",  "sort-key",   "architecture",
					    "linux",   "initrd",  "options",     "efi",        "uki",
					    "uki-url", "profile", BLS_KEY_IMAGE, BLS_KEY_TRIAL };
	size_t n = 0;

	while (n < line.n && !char_is_space(line.p[n]))
		n++;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (span_equal(span_cut(line, 0, n), span_of(keys[i])))
			return true;
	return n == line.n && line.p[0] != '#';
}

char *registry_keep_lines(char *taken, const char *old)
{
	_cleanup_free_ char *text = taken, *result = xalloc(strlen(taken) + strlen(old) + 2);
	struct text t = text_in(result, strlen(taken) + strlen(old) + 2);

	text_add(&t, span_of(text));
	for (size_t length; *old; old += length + (old[length] != 0)) {
		length = strcspn(old, "\r\n");
		struct span line = span_trim((struct span){ old, length });
		if (!line.n || is_own_line(line))
			continue;
		text_add(&t, line);
		text_add(&t, SPAN("\n"));
	}
	result[t.n] = 0;
	char *kept = result;
	result = NULL;
	return kept;
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
		if (set->entries[i]->bls.from_granule && !set->entries[i]->bls.trial &&
		    identity_owns(&identity, set->entries[i]))
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

/* What comes behind the last slash of a path of ours. */
static bool is_stem(const char *at)
{
	return strncmp(at, "linux-", 6) == 0 || strncmp(at, "initrd-", 7) == 0;
}

static int by_text(const void *a, const void *b)
{
	return strncmp(*(const char *const *)a, *(const char *const *)b, STEM_MAX + HASH_DIGITS);
}

static void add_text(struct mentions *m, const char *text, size_t size)
{
	m->text = xrealloc(m->text, m->size + size + 2);
	memcpy(m->text + m->size, text, size);
	unify(m->text + m->size, size);
	m->size += strlen(m->text + m->size);
	m->text[m->size++] = '\n';
	m->text[m->size] = 0;
}

void mentions_read(const char *partition, struct mentions *ret)
{
	_cleanup_free_ char *folder = path_join(partition, "loader/entries");
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	*ret = (struct mentions){ .all = !dir && errno != ENOENT };
	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *file = path_join(folder, d->d_name);
		_cleanup_free_ char *text = NULL;
		size_t size;

		if (d->d_name[0] == '.')
			continue;
		if (read_file(file, 0, &text, &size) < 0)
			ret->all = true;
		else
			add_text(ret, text, size);
	}
	for (size_t i = 1; i < ret->size; i++) {
		if (ret->text[i - 1] != '/' || !is_stem(ret->text + i))
			continue;
		if (!(ret->n & (ret->n - 1)))
			ret->at = xrealloc(ret->at, (ret->n ? 2 * ret->n : 1) * sizeof(*ret->at));
		ret->at[ret->n++] = ret->text + i;
	}
	if (ret->n)
		qsort(ret->at, ret->n, sizeof(*ret->at), by_text);
}

void mentions_free(struct mentions *m)
{
	free(m->text);
	free(m->at);
	*m = (struct mentions){ 0 };
}

/* Whether "/FOLDER/FILE", of ours, is mentioned, whatever comes before and behind it. */
static bool is_named(const struct mentions *m, const char *path)
{
	_cleanup_free_ char *wanted = xstrdup(path);
	size_t low = 0, high = m->n;

	if (m->all)
		return true;
	unify(wanted, strlen(wanted));
	const char *name = strrchr(wanted, '/') + 1, *start = wanted + (wanted[0] == '/');
	size_t before = (size_t)(name - start);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strncmp(m->at[middle], name, strlen(name)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < m->n && strncmp(m->at[low], name, strlen(name)) == 0; low++)
		if ((size_t)(m->at[low] - m->text) >= before &&
		    memcmp(m->at[low] - before, start, before) == 0)
			return true;
	return false;
}

void registry_collect(struct actions *a, const char *partition, const struct mentions *mentions,
		      struct span path)
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
		if (!owns_name(d->d_name) || is_named(mentions, candidate))
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
