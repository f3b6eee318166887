/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "root_path.h"

#define MAX_LINKS 40

static size_t root_length(const char *root)
{
	size_t n = strlen(root);

	while (n && root[n - 1] == '/')
		n--;
	return n;
}

/* Drops the last part, but nothing of root. */
static void cut_last(char *path, size_t root)
{
	size_t n = strlen(path);

	while (n > root && path[n - 1] != '/')
		n--;
	path[n > root ? n - 1 : root] = 0;
}

/* What a symlink leads to, with what came behind it; NULL with errno set. */
static char *link_target(const char *path, const char *rest)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	if ((size_t)n == sizeof(target) - 1 || strlen(rest) > PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	target[n] = 0;
	return xprintf("%s/%s", target, rest);
}

/* Goes one part further: *done gets it, or, where it is a link, *left what it stands for. Returns 0 or
 * -errno. */
static int step(char **done, size_t root, char **left, const char *part, const char *rest, unsigned *links)
{
	_cleanup_free_ char *next = xprintf("%s/%s", *done, part);
	struct stat st;

	if (lstat(next, &st) < 0) {
		if (errno != ENOENT || rest[strspn(rest, "/")])
			return -errno;
		st.st_mode = 0;
	}
	if (!S_ISLNK(st.st_mode)) {
		free(*done);
		*done = next;
		next = NULL;
		return 0;
	}
	if (++*links > MAX_LINKS)
		return -ELOOP;
	char *target = link_target(next, rest);
	if (!target)
		return -errno;
	if (target[0] == '/')
		(*done)[root] = 0;
	free(*left);
	*left = target;
	return 0;
}

char *root_path_resolve(const char *root, const char *path)
{
	size_t n_root = root_length(root);
	_cleanup_free_ char *left = xstrdup(path);
	char *done = xstrndup((struct span){ root, n_root });
	unsigned links = 0;
	int r = 0;

	while (r == 0) {
		const char *start = left + strspn(left, "/");
		size_t n = strcspn(start, "/");
		if (!n)
			break;
		_cleanup_free_ char *part = xstrndup((struct span){ start, n });
		_cleanup_free_ char *rest = xstrdup(start + n);
		if (strcmp(part, "..") == 0)
			cut_last(done, n_root);
		if (strcmp(part, "..") == 0 || strcmp(part, ".") == 0) {
			free(left);
			left = rest;
			rest = NULL;
			continue;
		}
		/* A link puts what it stands for into `left`; otherwise what is behind this part is left. */
		unsigned before = links;
		r = step(&done, n_root, &left, part, rest, &links);
		if (r == 0 && links == before) {
			free(left);
			left = rest;
			rest = NULL;
		}
	}
	if (r < 0) {
		free(done);
		errno = -r;
		return NULL;
	}
	if (*done)
		return done;
	free(done);
	return xstrdup("/");
}

bool root_path_is_below(const struct options *o, const char *path)
{
	size_t n = root_length(o->root);

	return strncmp(path, o->root, n) == 0 && (path[n] == '/' || !path[n]);
}

const char *root_path_shown(const struct options *o, const char *path)
{
	const char *shown = root_path_is_below(o, path) ? path + root_length(o->root) : path;

	return *shown ? shown : "/";
}

char *root_path_real(const struct options *o, const char *path)
{
	return root_path_is_below(o, path) ? root_path_resolve(o->root, root_path_shown(o, path))
					   : xstrdup(path);
}
