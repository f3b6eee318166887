/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <libmount/libmount.h>
#include <string.h>

#include "health_parts.h"
#include "system.h"

/* "SWAPSPACE2" and its like end where the first page does. */
#define MAGIC_SIZE 10

/* Whether fstab has this swap switched on at boot. `path` is where it is now, or NULL. */
static bool in_fstab(const struct options *o, struct libmnt_table *fstab, const char *stable,
		     const char *path)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	bool found = false;

	while (fstab && iter && !found && mnt_table_next_fs(fstab, iter, &fs) == 0) {
		const char *source = mnt_fs_get_source(fs);

		if (!mnt_fs_is_swaparea(fs) || !source || mnt_fs_get_option(fs, "noauto", NULL, NULL) == 0)
			continue;
		_cleanup_free_ char *there = source_path(source);
		_cleanup_free_ char *name = stable_source(o, there ? there : source);
		found = strcmp(source, stable) == 0 || strcmp(name, stable) == 0 ||
			(path && strcmp(source, path) == 0);
	}
	mnt_free_iter(iter);
	return found;
}

static void list_swaps(const struct options *o, struct libmnt_table *fstab, struct strings *ret)
{
	_cleanup_free_ char *file = path_join(o->root, "proc/swaps");
	struct libmnt_table *table = mnt_new_table();
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	if (table && iter && path_exists(file) && mnt_table_parse_swaps(table, file) == 0) {
		while (mnt_table_next_fs(table, iter, &fs) == 0) {
			const char *source = mnt_fs_get_source(fs);
			if (!source)
				continue;
			struct item item = { .source = stable_source(o, source), .target = "" };

			item.fstab = in_fstab(o, fstab, item.source, source);
			strings_add(ret, item_text(&item));
			free(item.source);
		}
	}
	mnt_free_iter(iter);
	mnt_unref_table(table);
}

/* Why a swap that is there is not in use, from what is in its first pages: a sentence part that begins with
 * ": ", or NULL. */
static char *cause(const char *path)
{
	uint64_t running = system_page_size();
	enum page_size size = page_size_from_bytes(running);
	struct content content;
	char *text = NULL;

	content_probe(path, &content);
	uint64_t made_for = content.magic_offset + MAGIC_SIZE;
	bool swap = content.type && strcmp(content.type, "swap") == 0;
	bool image = content.type && strcmp(content.type, "swsuspend") == 0;

	if (!content.magic_offset)
		made_for = running;
	if (image)
		text = xprintf(": %s holds a hibernated system of a kernel with %lluK pages; start that "
			       "kernel, or give the image up: mkswap %s",
			       path, (unsigned long long)made_for >> 10, path);
	else if (swap && made_for != running)
		text = xprintf(
			": %s was made for %lluK pages and %s run, which cannot use it; make it again: "
			"mkswap -p %llu%s%s %s",
			path, (unsigned long long)made_for >> 10,
			size == PAGE_SIZE_UNKNOWN ? "others" : page_size_title(size),
			(unsigned long long)running, content.uuid ? " -U " : "",
			content.uuid ? content.uuid : "", path);
	else if (!swap)
		text = xprintf(": %s holds no swap", path);
	content_free(&content);
	return text;
}

static bool has_source(const struct strings *list, const char *source)
{
	for (size_t i = 0; i < list->n; i++) {
		struct item item;
		bool same = item_parse(list->items[i], &item) && strcmp(item.source, source) == 0;

		item_free(&item);
		if (same)
			return true;
	}
	return false;
}

void health_swaps(const struct options *o, const struct baseline *before, struct strings *ret_swaps,
		  struct strings *problems)
{
	struct libmnt_table *fstab = fstab_read(o);

	list_swaps(o, fstab, ret_swaps);
	for (size_t i = 0; before->known && i < before->swaps.n; i++) {
		struct item item;

		if (!item_parse(before->swaps.items[i], &item))
			continue;
		_cleanup_free_ char *path = source_path(item.source);
		bool given_up = item.fstab && !in_fstab(o, fstab, item.source, path);
		if (!given_up && !has_source(ret_swaps, item.source)) {
			_cleanup_free_ char *why = path ? cause(path) : xstrdup(": it is not there");
			problem_add(problems, xprintf("swap %s: not in use%s", item.source, why ? why : ""));
		}
		item_free(&item);
	}
	mnt_unref_table(fstab);
}
