/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Environment blocks: reading and changing them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <granule/env_wishes.h>
#include <granule/error.h>

#include "../env_file.h"
#include "../report.h"
#include "../root_path.h"
#include "grub_area.h"
#include "grub_mount.h"
#include "grub_parts.h"

/* ---- reading ---- */

static char *damage(size_t size, const char *block)
{
	size_t offset;
	int error = env_block_check(block, size, &offset);

	if (!error)
		return NULL;
	if (size != ENV_BLOCK_SIZE)
		return xprintf("%zu bytes instead of %d", size, ENV_BLOCK_SIZE);
	if (error == ERROR_MAGIC)
		return xstrdup("is no environment block (no signature)");
	return xprintf("is damaged at byte %zu", offset);
}

/* Fills in path, block, exists and problem. A link that leads nowhere leads to no other system's file.
 * Returns whether a problem would be gone with a new block. */
static bool read_block(const struct options *o, const char *path, struct grub_block *b)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t size;

	b->path = root_path_real(o, path);
	if (!b->path) {
		int error = errno;
		b->path = xstrdup(path);
		/* In a folder that is not there either. */
		if (error == ENOENT && lstat(path, &st) < 0 && errno == ENOENT)
			return true;
		b->problem = xprintf("leads nowhere: %s", strerror(error));
		b->exists = true;
		return true;
	}
	if (stat(b->path, &st) < 0) {
		if (errno != ENOENT)
			b->problem = xstrdup(strerror(errno));
		b->exists = errno != ENOENT;
		return false;
	}
	b->exists = true;
	if (!S_ISREG(st.st_mode)) {
		b->problem = xstrdup("is no plain file");
		return false;
	}
	if (st.st_size > ENV_BLOCK_SIZE) {
		b->problem = xprintf("%lld bytes instead of %d", (long long)st.st_size, ENV_BLOCK_SIZE);
		return true;
	}
	int r = read_file(b->path, ENV_BLOCK_SIZE, &text, &size);
	if (r < 0) {
		b->problem = xstrdup(strerror(-r));
		return false;
	}
	b->problem = damage(size, text);
	if (!b->problem)
		memcpy(b->block, text, ENV_BLOCK_SIZE);
	return true;
}

/* What a person types to make a block anew. */
static void add_help(const struct options *o, const struct grub *grub, struct grub_block *b)
{
	char *problem = b->problem;

	if (!problem)
		return;
	b->problem = xprintf("%s; '%s-editenv %s create' makes it anew", problem, grub->tools,
			     root_path_shown(o, b->path));
	free(problem);
}

void grub_block_read_env(const struct options *o, struct grub *grub)
{
	struct grub_block *b = &grub->env;
	_cleanup_free_ char *path = path_join(grub->folder, "grubenv");

	b->kind = GRUB_BLOCK_FILE;
	bool helps = read_block(o, path, b);
	if (!b->exists && !b->problem) {
		b->problem = xstrdup("is missing");
		helps = true;
	}
	if (helps)
		add_help(o, grub, b);
	b->obstacle = grub_write_obstacle(o, b->path);
	grub_area_find(o, grub);
}

/* ---- granule's own ---- */

static bool ends_with(struct span s, struct span end)
{
	return s.n >= end.n && span_equal(span_cut(s, s.n - end.n, s.n), end);
}

/* On the ESP. */
#define OWN_FILE "/EFI/granule/grubenv"

/* Where the file is here, and false if it is neither on the ESP nor beside grub.cfg: nothing else is written,
 * whatever grub.cfg says. GRUB's path begins at its file system. */
static bool own_path(const struct places *places, const struct grub *grub, struct span path, char **ret)
{
	const char *esp = places ? places_folder(places, VOLUME_OWN) : NULL;

	*ret = NULL;
	if (ends_with(path, SPAN("/granule.env")))
		*ret = path_join(grub->folder, "granule.env");
	else if (!span_ends_nocase(path, SPAN(OWN_FILE)))
		return false;
	else if (esp)
		*ret = path_join(esp, OWN_FILE);
	return true;
}

/* The block that GRUB reads must be the one that is written here. */
static void check_file_system(const struct options *o, struct grub *grub, struct grub_block *b)
{
	struct span uuid = grub->facts.granule_env_uuid;
	struct grub_mount mount;

	grub_mount_find(o, b->path, &mount);
	if (uuid.n && grub_mount_has_uuid(&mount, uuid) == 0) {
		_cleanup_free_ char *found = grub_mount_uuid(&mount);
		free(b->problem);
		b->problem = xprintf("grub.cfg reads the block of another file system (UUID %.*s, here it is "
				     "%s); run '%s'",
				     (int)uuid.n, uuid.p, found ? found : "another", grub->mkconfig);
		b->exists = true;
	}
	grub_mount_free(&mount);
}

void grub_block_read_own(const struct options *o, const struct places *places, struct grub *grub)
{
	struct grub_block *b = &grub->own;
	struct span path = grub->facts.granule_env_path;
	_cleanup_free_ char *file = NULL;

	if (!path.n)
		return;
	b->kind = GRUB_BLOCK_FILE;
	if (!own_path(places, grub, path, &file)) {
		b->path = xstrndup(path);
		b->exists = true;
		b->problem = xprintf("is named by %s, and is no place for granule's block; run '%s'",
				     grub->cfg_path, grub->mkconfig);
		b->obstacle = xprintf("%s is no place for granule's block", b->path);
		return;
	}
	if (!file) {
		b->path = xstrndup(path);
		b->exists = true;
		b->problem = xstrdup("its file system is not mounted; mount the EFI system partition");
		b->obstacle = xprintf("%s is on a file system that is not mounted", b->path);
		return;
	}
	if (read_block(o, file, b))
		add_help(o, grub, b);
	check_file_system(o, grub, b);
	b->obstacle = grub_write_obstacle(o, b->path);
}

void grub_block_free(struct grub_block *b)
{
	free(b->path);
	free(b->problem);
	free(b->obstacle);
	free(b->device);
	*b = (struct grub_block){ 0 };
}

/* ---- values ---- */

static char *value_in(const char *block, struct span name)
{
	char value[ENV_BLOCK_SIZE];
	struct text t = text_in(value, sizeof(value));

	return env_block_get(block, name, &t) == 0 ? xstrdup(value) : NULL;
}

static bool is_readable(const struct grub_block *b)
{
	return b->kind != GRUB_BLOCK_NONE && b->exists && !b->problem;
}

char *grub_block_get(const struct grub_block *b, struct span name)
{
	char *value = NULL;

	if (!is_readable(b))
		return NULL;
	/* GRUB reads the area last. */
	if (b->kind == GRUB_BLOCK_BTRFS)
		value = value_in(b->area, name);
	return value ? value : value_in(b->block, name);
}

/* ---- changing ---- */

/* What is kept in the area: what GRUB has to clear. */
static bool belongs_to_area(struct span name)
{
	return span_equal(name, ENV_ONESHOT);
}

/* Returns ERROR_SPACE if it does not fit. */
static int apply(char *block, const struct grub_setting *s)
{
	struct text old;
	char buffer[ENV_BLOCK_SIZE];

	if (!s->value) {
		env_block_unset(block, s->name);
		return 0;
	}
	/* What is there already keeps its place. */
	old = text_in(buffer, sizeof(buffer));
	if (env_block_get(block, s->name, &old) == 0 && span_equal(text_span(&old), span_of(s->value)))
		return 0;
	return env_block_set(block, s->name, span_of(s->value));
}

static int apply_all(const struct grub_block *b, const struct grub_setting *settings, size_t n, char *block,
		     char *area)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		const struct grub_setting *s = &settings[i];
		struct grub_setting none = { s->name, NULL };

		if (b->kind != GRUB_BLOCK_BTRFS) {
			error = apply(block, s);
			continue;
		}
		/* What GRUB wrote into the area would win over the file. */
		bool in_area = belongs_to_area(s->name);
		error = apply(area, in_area ? s : &none);
		if (!error)
			error = apply(block, in_area ? &none : s);
	}
	if (!error && b->kind == GRUB_BLOCK_BTRFS && !grub_area_fits(b, area))
		error = ERROR_SPACE;
	return error;
}

static int refuse(const struct grub_block *b, int error)
{
	if (error == ERROR_SPACE) {
		complain("%s: is full, remove variables from it", b->path);
		return -ENOSPC;
	}
	complain("%s: cannot hold the value: %s", b->path, error_text(error));
	return -EINVAL;
}

static bool holds_any(const char *block)
{
	struct span name, value;
	size_t pos = 0;

	return env_block_next(block, &pos, &name, &value);
}

int grub_block_change(const struct options *o, struct grub_block *b, const struct grub_setting *settings,
		      size_t n, bool *ret_changed)
{
	char block[ENV_BLOCK_SIZE], area[ENV_BLOCK_SIZE];
	int r = 0;

	if (ret_changed)
		*ret_changed = false;
	if (b->kind == GRUB_BLOCK_NONE || (b->exists && b->problem)) {
		complain("%s: %s", b->path ? b->path : "grubenv", b->problem ? b->problem : "is missing");
		return b->problem ? -EBADMSG : -ENOENT;
	}
	if (b->exists)
		memcpy(block, b->block, sizeof(block));
	else
		env_block_init(block);
	memcpy(area, b->area, sizeof(area));
	int error = apply_all(b, settings, n, block, area);
	if (error)
		return refuse(b, error);
	bool area_differs = b->kind == GRUB_BLOCK_BTRFS && memcmp(area, b->area, sizeof(area)) != 0;
	/* No file is made to hold nothing. */
	bool differs = b->exists ? memcmp(block, b->block, sizeof(block)) != 0 : holds_any(block);
	/* What is in the area wins as long as it is there: until it is written, nothing has changed. */
	if (differs && !o->dry_run)
		r = env_file_write(b->path, b->exists ? b->block : NULL, block);
	if (r == 0 && area_differs && !o->dry_run)
		r = grub_area_write(b, area);
	if (r < 0) {
		complain("%s: cannot be written: %s", b->path, strerror(-r));
		return r;
	}
	if (differs) {
		memcpy(b->block, block, sizeof(block));
		b->exists = true;
		free(b->problem);
		b->problem = NULL;
	}
	memcpy(b->area, area, sizeof(area));
	if (ret_changed)
		*ret_changed = differs || area_differs;
	return 0;
}
