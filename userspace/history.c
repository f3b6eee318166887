/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history: JSON lines that are only ever appended. Whatever a power cut or a bad disk did to one line,
 * the others can be read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "state.h"

#define HISTORY_NAME "history.jsonl"
/* More than that was not written by us. */
#define HISTORY_READ_MAX (64u << 20)

/* The file that is written to, or the n-th older one. */
static char *history_path(const struct state *s, unsigned n)
{
	return n ? xprintf("%s/" HISTORY_NAME ".%u", s->folder, n) : path_join(s->folder, HISTORY_NAME);
}

static int sync_folder(const struct state *s)
{
	_cleanup_close_ int fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* What has the name of a file of the history and is none is set aside. Returns 0 or -errno. */
static int make_way(const char *path)
{
	_cleanup_free_ char *new = NULL;
	struct stat st;

	if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	int r = state_rename_damaged(path, &new);
	if (r == 0)
		complain("%s: damaged: it is no file; renamed to %s", path, strrchr(new, '/') + 1);
	return r;
}

/* Moves the files up by one, from the oldest that has to move: each rename leaves every line under a name
 * that is read, and the next run goes on from the gap that a cut left. Only the oldest file of a full set
 * goes. */
static int rotate(const struct state *s)
{
	struct stat st;
	unsigned gap = 1;

	for (; gap < HISTORY_FILES; gap++) {
		_cleanup_free_ char *path = history_path(s, gap);
		if (lstat(path, &st) < 0)
			break;
	}
	for (unsigned n = gap; n > 0; n--) {
		_cleanup_free_ char *from = history_path(s, n - 1), *to = history_path(s, n);
		int r = make_way(to);
		if (r < 0)
			return r;
		if (rename(from, to) < 0)
			return -errno;
	}
	return sync_folder(s);
}

/* Opens the file that is written to, and tells its size. */
static int open_for_append(const char *path, off_t *ret_size)
{
	struct stat st;
	int r = make_way(path);

	if (r < 0)
		return r;
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_size = st.st_size;
	return fd;
}

/* Appends a line in one write. What came of it only in part is taken away again; if even that fails, the next
 * line closes it. */
static int append(int fd, off_t size, const char *text)
{
	char last = '\n';

	errno = 0;
	if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
		return errno ? -errno : -EIO;
	_cleanup_free_ char *line = xprintf("%s%s\n", last == '\n' ? "" : "\n", text);
	size_t n = strlen(line);
	ssize_t written = write(fd, line, n);
	int r = written < 0 ? -errno : (size_t)written < n ? -ENOSPC : 0;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0 && ftruncate(fd, size) < 0)
		return r;
	return r;
}

static int add_line(const struct state *s, const char *path, const char *text)
{
	off_t size;
	int fd = open_for_append(path, &size), full = 0;

	if (fd >= 0 && size > 0 && size + (off_t)strlen(text) >= HISTORY_MAX) {
		/* A line matters more than the bound: it is written even if this fails. */
		full = rotate(s);
		close(fd);
		fd = open_for_append(path, &size);
	}
	if (fd < 0)
		return fd;
	int r = append(fd, size, text);
	close(fd);
	/* A file of no length may be new. */
	if (r == 0 && size == 0)
		r = sync_folder(s);
	return r < 0 ? r : full;
}

int history_add(struct state *s, json_object *line)
{
	_cleanup_free_ char *path = history_path(s, 0);

	if (s->o->dry_run)
		return 0;
	/* Anybody may read it, whatever the umask. */
	mode_t before = umask(022);
	int r = add_line(s, path,
			 json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
								      JSON_C_TO_STRING_NOSLASHESCAPE));
	umask(before);
	if (r < 0)
		complain("%s: cannot be written: %s", path, strerror(-r));
	return r;
}

static void read_lines(struct span text, json_object *lines, size_t *damaged)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		struct span line = span_cut(text, 0, end ? (size_t)(end - text.p) : text.n);

		text = span_cut(text, line.n + (end ? 1 : 0), text.n);
		if (!line.n)
			continue;
		json_object *object = state_parse_line(line);
		if (object)
			json_object_array_add(lines, object);
		else
			++*damaged;
	}
}

json_object *history_read(struct state *s, size_t *ret_damaged)
{
	struct stat seen[HISTORY_FILES + 1] = { 0 };
	struct span texts[HISTORY_FILES + 1] = { 0 };
	json_object *lines = json_object_new_array();

	*ret_damaged = 0;
	/* From the newest to the oldest: a file that is rotated meanwhile is met twice then, and never
	 * missed. */
	for (unsigned n = 0; n <= HISTORY_FILES; n++) {
		_cleanup_free_ char *path = history_path(s, n);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		char *data;
		bool known = false;
		int r = fd < 0 || fstat(fd, &seen[n]) < 0 ? -errno : 0;

		if (r == -ENOENT)
			continue;
		for (unsigned i = 0; r == 0 && i < n; i++)
			known = known ||
				(seen[i].st_ino == seen[n].st_ino && seen[i].st_dev == seen[n].st_dev);
		if (known)
			continue;
		if (r == 0)
			r = read_descriptor(fd, HISTORY_READ_MAX, &data, &texts[n].n);
		if (r < 0)
			complain("%s: cannot be read: %s", path, strerror(-r));
		else
			texts[n].p = data;
	}
	for (unsigned n = HISTORY_FILES + 1; n-- > 0;) {
		read_lines(texts[n], lines, ret_damaged);
		free((char *)texts[n].p);
	}
	return lines;
}
