/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries in loader/entries as GRUB's blscfg makes a menu of them (RHEL, Fedora, openEuler). It knows neither
 * sort keys nor boot counters nor architectures, and expands variables. */
#include <errno.h>
#include <string.h>

#include <granule/error.h>
#include <granule/keyval.h>

#include "../entry_read.h"
#include "grub_kernel.h"
#include "grub_menu.h"

#define SUFFIX ".conf"

/* ---- order ---- */

static bool is_alnum(char c)
{
	return char_is_digit(c) || char_is_alpha(c);
}

/* Run of digits, or of letters, that begins at i. */
static struct span run_at(struct span s, size_t i, bool digits)
{
	size_t end = i;

	while (end < s.n && (digits ? char_is_digit(s.p[end]) : char_is_alpha(s.p[end])))
		end++;
	return span_cut(s, i, end);
}

static size_t skip_signs(struct span s, size_t i)
{
	while (i < s.n && !is_alnum(s.p[i]) && s.p[i] != '~')
		i++;
	return i;
}

static int compare_numbers(struct span a, struct span b)
{
	while (a.n && a.p[0] == '0')
		a = span_cut(a, 1, a.n);
	while (b.n && b.p[0] == '0')
		b = span_cut(b, 1, b.n);
	return a.n != b.n ? (a.n > b.n ? 1 : -1) : span_compare(a, b);
}

/* The order of rpm: runs of digits and of letters in turn, '~' before all else. */
static int compare_versions(struct span a, struct span b)
{
	size_t i = 0, k = 0;

	for (;;) {
		i = skip_signs(a, i);
		k = skip_signs(b, k);
		bool tilde_a = i < a.n && a.p[i] == '~', tilde_b = k < b.n && b.p[k] == '~';
		if (tilde_a != tilde_b)
			return tilde_a ? -1 : 1;
		if (tilde_a) {
			i++;
			k++;
			continue;
		}
		if (i == a.n || k == b.n)
			return (i < a.n) - (k < b.n);
		bool digits = char_is_digit(a.p[i]);
		struct span x = run_at(a, i, digits), y = run_at(b, k, digits);
		if (!y.n)
			return digits ? 1 : -1;
		int order = digits ? compare_numbers(x, y) : span_compare(x, y);
		if (order != 0)
			return order;
		i += x.n;
		k += y.n;
	}
}

/* Cuts off what stands behind the last '-', which goes to *ret_last; all of it if there is none. */
static struct span cut_last(struct span s, struct span *ret_last)
{
	size_t at = s.n;

	while (at > 0 && s.p[at - 1] != '-')
		at--;
	*ret_last = span_cut(s, at, s.n);
	return at ? span_cut(s, 0, at - 1) : SPAN_NONE;
}

/* By name, version and release, as rpm parts the name of a package. */
static int compare_ids(struct span a, struct span b)
{
	struct span release_a, release_b, version_a, version_b;
	struct span name_a = cut_last(cut_last(a, &release_a), &version_a);
	struct span name_b = cut_last(cut_last(b, &release_b), &version_b);
	int order = compare_versions(name_a, name_b);

	if (order == 0)
		order = compare_versions(version_a, version_b);
	return order ? order : compare_versions(release_a, release_b);
}

static int newest_first(const void *a, const void *b)
{
	const struct loaded_entry *x = *(struct loaded_entry *const *)a,
				  *y = *(struct loaded_entry *const *)b;
	int order = compare_ids(y->entry.id, x->entry.id);

	/* GRUB shows one of two that are equal to it, and which one is open. */
	return order ? order : span_compare(y->entry.id, x->entry.id);
}

/* ---- variables ---- */

/* `set NAME=VALUE` of grub.cfg, VALUE without its quotes; NULL. */
static char *value_in_cfg(const struct grub *grub, struct span name)
{
	_cleanup_free_ char *wanted = xprintf("set %.*s=", (int)name.n, name.p);
	const char *p = grub->cfg_text ? strstr(grub->cfg_text, wanted) : NULL;

	if (!p)
		return NULL;
	p += strlen(wanted);
	char quote = *p == '"' || *p == '\'' ? *p++ : 0;
	size_t n = strcspn(p, quote == '"' ? "\"\n" : quote ? "'\n" : " \t;\n");
	return xstrndup((struct span){ p, n });
}

static char *value_of(const struct grub *grub, struct span name)
{
	char *value = grub_block_get(&grub->env, name);

	return value ? value : value_in_cfg(grub, name);
}

static size_t name_length(struct span s)
{
	size_t n = 0;

	while (n < s.n && (is_alnum(s.p[n]) || s.p[n] == '_'))
		n++;
	return n;
}

/* Replaces $name and ${name}; one that is not set is nothing, as for GRUB. */
static char *expand(const struct grub *grub, struct span s)
{
	char *out = xalloc(1), *value;
	size_t n = 0;

	for (size_t i = 0; i < s.n;) {
		struct span piece = span_cut(s, i, i + 1);
		value = NULL;
		if (s.p[i] == '$') {
			bool brace = i + 1 < s.n && s.p[i + 1] == '{';
			size_t start = i + 1 + brace;
			struct span name = span_cut(s, start, s.n);
			name.n = name_length(name);
			size_t end = start + name.n + brace;
			if (name.n && end <= s.n && (!brace || s.p[end - 1] == '}')) {
				value = value_of(grub, name);
				piece = span_of(value);
				i = end - 1;
			}
		}
		out = xrealloc(out, n + piece.n + 1);
		if (piece.n)
			memcpy(out + n, piece.p, piece.n);
		n += piece.n;
		free(value);
		i++;
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = 0;
	return out;
}

/* ---- files ---- */

/* GRUB stops reading at a line without a value, and so at an empty one. */
static bool ends_early(struct span text)
{
	bool empty = false;

	for (size_t i = 0; i < text.n;) {
		size_t start = i;
		while (i < text.n && text.p[i] != '\n')
			i++;
		struct span line = span_trim(span_cut(text, start, i));
		i++;
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n && empty)
			return true;
		empty = empty || !line.n;
	}
	return false;
}

static struct loaded_entry *read_one(const struct grub *grub, struct entry_set *set, const char *name)
{
	_cleanup_free_ char *path = path_join(grub->bls_entries, name), *text = NULL;
	size_t size, offset;

	int r = read_file(path, ENTRY_FILE_MAX, &text, &size);
	if (r < 0) {
		strings_add(&set->skipped,
			    xprintf("%s: %s", name, r == -EFBIG ? "larger than 64 KiB" : strerror(-r)));
		return NULL;
	}
	_cleanup_free_ char *options = xalloc(size + 1);
	struct bls_entry bls;
	r = bls_parse((struct span){ text, size }, options, size + 1, &bls, &offset);
	if (r == 0 && bls.start != BLS_START_LINUX)
		r = ERROR_NO_KERNEL;
	if (r != 0) {
		strings_add(&set->skipped,
			    r == ERROR_NO_KERNEL
				    ? xprintf("%s: GRUB starts 'linux' entries only", name)
				    : xprintf("%s: line %zu: %s", name,
					      keyval_line_number((struct span){ text, size }, offset),
					      error_text(r)));
		return NULL;
	}
	if (ends_early((struct span){ text, size }))
		strings_add(
			&set->skipped,
			xprintf("%s: what follows its empty line, which GRUB does not read; remove that line",
				name));
	struct loaded_entry *e = xalloc(sizeof(*e));
	e->source = xstrdup(path);
	e->file_name = xstrdup(name);
	e->id = xstrndup((struct span){ name, strlen(name) - strlen(SUFFIX) });
	e->text = text;
	text = NULL;
	e->entry.type = ENTRY_TYPE1;
	e->entry.volume = VOLUME_SYSTEM;
	e->entry.bls = bls;
	e->entry.bls.n_initrd = 0;
	for (unsigned i = 0; i < bls.n_initrd; i++)
		grub_menu_take_initrds(bls.initrd[i], &e->entry.bls);
	e->written = bls.path;
	e->entry.file_name = span_of(e->file_name);
	e->entry.id = e->entry.counter.name = span_of(e->id);
	e->options = expand(grub, bls.options);
	e->entry.bls.options = span_of(e->options);
	return e;
}

static bool is_entry_file(const char *name)
{
	return bls_file_name_is_entry(span_of(name)) && span_ends_nocase(span_of(name), SPAN(SUFFIX)) &&
	       strlen(name) > strlen(SUFFIX);
}

int grub_bls_read(const struct options *o, struct grub *grub, struct grub_kernels *kernels,
		  struct entry_set *set)
{
	_cleanup_dir_ DIR *dir = grub->bls_entries ? opendir(grub->bls_entries) : NULL;
	_cleanup_free_ struct loaded_entry **found = NULL;
	struct dirent *d;
	size_t n = 0;

	(void)o;
	if (!dir && grub->bls_entries && errno != ENOENT) {
		int r = -errno;
		complain("%s: %s", grub->bls_entries, strerror(-r));
		return r;
	}
	while (dir && (d = readdir(dir))) {
		struct loaded_entry *e = is_entry_file(d->d_name) ? read_one(grub, set, d->d_name) : NULL;
		if (!e)
			continue;
		found = xrealloc(found, (n + 1) * sizeof(*found));
		found[n++] = e;
	}
	if (n)
		qsort(found, n, sizeof(*found), newest_first);
	for (size_t i = 0; i < n; i++) {
		grub_kernels_look(kernels, found[i], found[i]->written, SPAN_NONE);
		grub_kernels_look_at_initrds(kernels, found[i]);
		grub_menu_add(grub->menu, (struct grub_node){
						  .kind = GRUB_NODE_ENTRY,
						  .parent = SIZE_MAX,
						  .index = i,
						  .name = found[i]->entry.id,
						  .title = found[i]->entry.bls.title,
						  .position = set->n,
					  });
		grub_menu_add_entry(set, found[i]);
	}
	return 0;
}
