/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <granule/error.h>

#include "env_file.h"
#include "loaders/loader.h"
#include "safe_file.h"
#include "settle.h"

#define SECTOR 512u

static char *env_path(const struct places *places)
{
	return path_join(places_folder(places, VOLUME_OWN), ENV_PATH.p);
}

void env_file_read(const struct places *places, struct entry_set *set)
{
	_cleanup_free_ char *path = env_path(places), *block = NULL;
	size_t size, offset;
	int error;

	int r = read_file(path, ENV_BLOCK_SIZE, &block, &size);
	if (r == -ENOENT)
		return;
	set->env_problem = r < 0 ? strerror(-r) : NULL;
	if (r == 0 && (error = env_block_check(block, size, &offset)) != 0)
		set->env_problem = error_text(error);
	if (set->env_problem) {
		complain("%s: %s; passed over", path, set->env_problem);
		return;
	}
	set->env = block;
	block = NULL;
}

bool env_file_usable(const struct entry_set *set, const char **ret_why)
{
	*ret_why = NULL;
	if (!set->backend->env_block)
		*ret_why = "the loader does not read the environment block of granule-boot";
	else if (!set->conf.env_block)
		*ret_why = "the environment block is switched off (env-block in loader.conf)";
	else if (set->env_problem)
		*ret_why = "the environment block EFI/granule/grubenv is damaged, remove it";
	return !*ret_why;
}

/* Whether all bytes that differ lie in one sector, which a disk writes whole or not at all. */
static bool change_is_atomic(const char *old, const char *new)
{
	size_t first = 0, last = ENV_BLOCK_SIZE - 1;

	while (first < last && old[first] == new[first])
		first++;
	while (last > first && old[last] == new[last])
		last--;
	return first / SECTOR == last / SECTOR;
}

/* Overwrites the file where it lies: names and clusters of the partition stay as they are, so a power cut
 * leaves the old or the new block. GRUB writes it by sector as well, and wants it to keep its size. */
static int write_in_place(const char *path, const char *block)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	ssize_t n = pwrite(fd, block, ENV_BLOCK_SIZE, 0);
	if (n != ENV_BLOCK_SIZE)
		return n < 0 ? -errno : -EIO;
	return fsync(fd) < 0 ? -errno : 0;
}

int env_file_write(const char *path, const char *old, const char *block)
{
	if (old && change_is_atomic(old, block))
		return write_in_place(path, block);
	int r = safe_file_write(path, block, ENV_BLOCK_SIZE);
	if (r == 0)
		settle(path);
	return r;
}

/* Makes `taken` the block, on the partition and in memory. */
static int store(struct actions *a, struct entry_set *set, const struct places *places, char *taken)
{
	_cleanup_free_ char *path = env_path(places), *block = taken;
	int r = 0;

	if (!a->options->dry_run)
		r = env_file_write(path, set->env, block);
	if (r < 0) {
		complain("%s: cannot be written: %s", path, strerror(-r));
		return r;
	}
	free(set->env);
	set->env = block;
	block = NULL;
	entry_set_input(set);
	return 0;
}

static char *copy_block(const struct entry_set *set)
{
	char *block = xalloc(ENV_BLOCK_SIZE);

	if (set->env)
		memcpy(block, set->env, ENV_BLOCK_SIZE);
	else
		env_block_init(block);
	return block;
}

static char *value_of(const struct entry_set *set, struct span name)
{
	char *value = xalloc(ENV_BLOCK_SIZE);
	struct text t = text_in(value, ENV_BLOCK_SIZE);

	if (set->env && env_block_get(set->env, name, &t) == 0)
		return value;
	free(value);
	return NULL;
}

int wish_env_oneshot(struct actions *a, struct entry_set *set, const struct places *places, const char *id)
{
	_cleanup_free_ char *path = env_path(places), *old = value_of(set, ENV_ONESHOT);
	char *block = copy_block(set);

	if (old && strcmp(old, id) == 0) {
		free(block);
		return 0;
	}
	if (env_block_set(block, ENV_ONESHOT, span_of(id)) < 0) {
		complain("%s: is full, remove variables from it", path);
		free(block);
		return -ENOSPC;
	}
	int r = store(a, set, places, block);
	if (r == 0)
		action(a, "set %s to %s in %s", ENV_ONESHOT.p, id, path);
	return r;
}

int wish_env_clear(struct actions *a, struct entry_set *set, const struct places *places, unsigned rules)
{
	const struct {
		enum choose_rule rule;
		struct span name;
	} wishes[] = {
		{ RULE_ONESHOT, ENV_ONESHOT },
		{ RULE_DEFAULT, ENV_DEFAULT },
		{ RULE_POLICY, ENV_POLICY },
	};
	_cleanup_free_ char *path = env_path(places);
	const char *why;

	/* What the loader does not read stays as it is. */
	if (!set->env || !env_file_usable(set, &why))
		return 0;
	char *block = copy_block(set), *old[N_RULES] = { NULL };
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (!(rules & 1u << wishes[i].rule))
			continue;
		old[i] = value_of(set, wishes[i].name);
		env_block_unset(block, wishes[i].name);
	}
	bool same = memcmp(block, set->env, ENV_BLOCK_SIZE) == 0;
	int r = same ? 0 : store(a, set, places, block);
	if (same)
		free(block);
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (r == 0 && old[i])
			action(a, "removed %s from %s (was %s)", wishes[i].name.p, path, old[i]);
		free(old[i]);
	}
	return r;
}
