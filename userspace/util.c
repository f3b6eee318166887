/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

static void *checked(void *p)
{
	if (!p) {
		fputs("granule: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	return p;
}

void *xalloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size));
}

void *xgrow(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || n == 1)
		return array;
	return xrealloc(array, (n ? 2 * n : 2) * size);
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(struct span s)
{
	char *p = xalloc(s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	return p;
}

char *xvprintf(const char *format, va_list args)
{
	char *p = NULL;

	if (vasprintf(&p, format, args) < 0)
		p = NULL;
	return checked(p);
}

char *xprintf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *p = xvprintf(format, args);
	va_end(args);
	return p;
}

/* File names and texts of entries may hold anything: one line stays one line, and a terminal gets no orders.
 */
static char *make_harmless(char *line)
{
	for (char *p = line; *p; p++) {
		/* U+0080 to U+009F in UTF-8 are control characters, too. */
		bool two = p[0] == '\xc2' && (p[1] & '\xe0') == '\x80';

		if ((unsigned char)*p < ' ' || *p == 0x7f || two)
			*p = '?';
		if (two)
			*++p = '?';
	}
	return line;
}

void say(FILE *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	_cleanup_free_ char *line = xvprintf(format, args);
	va_end(args);
	fprintf(to, "%s\n", make_harmless(line));
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	_cleanup_free_ char *line = xvprintf(format, args);
	va_end(args);
	say(stderr, "granule: %s", line);
}

int read_file(const char *path, size_t max, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : read_descriptor(fd, max, ret, ret_size);
}

int read_descriptor(int fd, size_t max, char **ret, size_t *ret_size)
{
	size_t size = 0, room = 4096;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (max && st.st_size > 0 && (size_t)st.st_size > max)
		return -EFBIG;
	if (st.st_size > 0)
		room = (size_t)st.st_size + 1;

	_cleanup_free_ char *data = xalloc(room + 1);
	for (;;) {
		/* Files of /proc and /sys do not tell their size: grow as needed. */
		if (size == room) {
			room *= 2;
			data = xrealloc(data, room + 1);
		}
		ssize_t n = read(fd, data + size, room - size);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		size += (size_t)n;
		if (max && size > max)
			return -EFBIG;
	}
	data[size] = 0;
	*ret = data;
	*ret_size = size;
	data = NULL;
	return 0;
}

char *read_line(const char *path)
{
	char *text;
	size_t size;

	if (read_file(path, 1 << 20, &text, &size) < 0)
		return NULL;
	text[strcspn(text, "\n")] = 0;
	if (!*text) {
		free(text);
		return NULL;
	}
	return text;
}

char *path_join(const char *folder, const char *name)
{
	size_t n = strlen(folder);

	while (n && folder[n - 1] == '/')
		n--;
	while (*name == '/')
		name++;
	return xprintf("%.*s/%s", (int)n, folder, name);
}

bool path_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

void strings_add(struct strings *list, char *taken)
{
	list->items = xrealloc(list->items, sizeof(char *) * (list->n + 1));
	list->items[list->n++] = taken;
}

void strings_free(struct strings *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strings){ 0 };
}
