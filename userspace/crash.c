/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <linux/watchdog.h>
#include <string.h>
#include <sys/stat.h>

#include <granule/crash_dump.h>
#include <granule/sha256.h>

#include "crash.h"

#define REASON_MAX 200
#define DUMP_MAX (1u << 20)
#define DUMPS_MAX 512
#define DEPTH_MAX 3
/* Parts of one dump are written within this time. */
#define SET_S 60

struct dump {
	char *path, *id;
	char *text;
	size_t size;
	int64_t time;
	struct crash_head head;
	bool has_head, console;
};

struct dumps {
	struct dump *items;
	size_t n;
};

/* ---- finding them ---- */

/* "NAME HASH". Of two different files with the same text one would do. */
static char *identity(const char *name, const struct dump *d)
{
	unsigned char digest[SHA256_SIZE];
	struct sha256 h;
	char hex[17];

	sha256_start(&h);
	sha256_add(&h, d->text, d->size);
	sha256_finish(&h, digest);
	for (size_t i = 0; i < 8; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return xprintf("%s %s", name, hex);
}

/* EFI names a dump by the second, 2 digits of the part, 3 of the dump; moving the file changes its time. */
static int64_t time_in_name(const char *name)
{
	struct span digits = span_of(strrchr(name, '-') ? strrchr(name, '-') + 1 : "");
	uint64_t number;

	if (strncmp(name, "dmesg-efi", 9) != 0 || digits.n < 14 ||
	    !span_to_number(digits, INT64_MAX, &number))
		return 0;
	return (int64_t)(number / 100000);
}

static bool starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static void add_file(const char *path, const char *name, const struct stat *st, struct dumps *ret)
{
	struct dump d = { .console = starts(name, "console-") };

	if (ret->n >= DUMPS_MAX || read_file(path, DUMP_MAX, &d.text, &d.size) < 0)
		return;
	d.path = xstrdup(path);
	d.id = identity(name, &d);
	d.time = time_in_name(name);
	if (!d.time)
		d.time = st->st_mtime;
	d.has_head = crash_head_parse((struct span){ d.text, d.size }, &d.head);
	ret->items = xrealloc(ret->items, sizeof(d) * (ret->n + 1));
	ret->items[ret->n++] = d;
}

static void search(const char *folder, unsigned depth, struct dumps *ret)
{
	_cleanup_dir_ DIR *dir = opendir(folder);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		struct stat st;

		if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		_cleanup_free_ char *path = path_join(folder, d->d_name);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			search(path, depth + 1, ret);
		else if (S_ISREG(st.st_mode) &&
			 (starts(d->d_name, "dmesg-") || starts(d->d_name, "console-")))
			add_file(path, d->d_name, &st, ret);
	}
}

static void find_dumps(const struct options *o, struct dumps *ret)
{
	static const char *const folders[] = { "sys/fs/pstore", "var/lib/systemd/pstore" };

	*ret = (struct dumps){ 0 };
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]);
		search(folder, 0, ret);
	}
}

static void dumps_free(struct dumps *dumps)
{
	for (size_t i = 0; i < dumps->n; i++) {
		free(dumps->items[i].path);
		free(dumps->items[i].id);
		free(dumps->items[i].text);
	}
	free(dumps->items);
}

void crash_list(const struct options *o, struct strings *ret)
{
	struct dumps dumps;

	find_dumps(o, &dumps);
	for (size_t i = 0; i < dumps.n; i++)
		strings_add(ret, xstrdup(dumps.items[i].id));
	dumps_free(&dumps);
}

/* ---- what they tell ---- */

static bool is_new(const struct dump *d, const struct strings *known)
{
	for (size_t i = 0; known && i < known->n; i++)
		if (strcmp(known->items[i], d->id) == 0)
			return false;
	return true;
}

/* A kernel can be told to dump its log at each shutdown as well. */
static bool is_crash(const struct dump *d)
{
	return !d->has_head || span_equal(d->head.reason, SPAN("Panic")) ||
	       span_equal(d->head.reason, SPAN("Oops"));
}

static bool same_set(const struct dump *a, const struct dump *b)
{
	return a->console == b->console && a->has_head == b->has_head && a->head.count == b->head.count &&
	       span_equal(a->head.reason, b->head.reason) && a->time - b->time <= SET_S &&
	       b->time - a->time <= SET_S;
}

/* Newest dump; of those of the same time a panic comes before an oops. */
static const struct dump *newest(const struct dumps *dumps, const struct strings *known, bool console)
{
	const struct dump *best = NULL;

	for (size_t i = 0; i < dumps->n; i++) {
		const struct dump *d = &dumps->items[i];

		if (d->console != console || !is_new(d, known) || !is_crash(d))
			continue;
		bool panic = d->has_head && span_equal(d->head.reason, SPAN("Panic"));
		if (!best || d->time > best->time + (panic ? -SET_S : SET_S))
			best = d;
	}
	return best;
}

/* Most telling line in a set of dumps. Of equal ones it is the one in the part with the highest number, which
 * is the earliest. */
static enum crash_kind find_in_set(const struct dumps *dumps, const struct strings *known,
				   const struct dump *one, enum crash_kind most, struct span *ret_line)
{
	enum crash_kind best = CRASH_NONE;
	uint32_t best_part = 0;

	for (size_t i = 0; i < dumps->n; i++) {
		const struct dump *d = &dumps->items[i];
		struct span line;

		if (!is_new(d, known) || !same_set(d, one))
			continue;
		enum crash_kind kind = crash_find((struct span){ d->text, d->size }, most, &line);
		if (kind > best || (kind && kind == best && d->head.part > best_part)) {
			best = kind;
			best_part = d->head.part;
			*ret_line = line;
		}
	}
	return best;
}

/* A sentence part from a set of dumps; false if there is no new one. */
static bool tell(const struct dumps *dumps, const struct strings *known, bool console, struct text *ret)
{
	const struct dump *one = newest(dumps, known, console);
	struct span line, cause;

	if (!one)
		return false;
	enum crash_kind kind = find_in_set(dumps, known, one, CRASH_PANIC, &line);
	if (kind == CRASH_NONE) {
		/* A console is kept of boots that ended well, too. */
		if (console)
			return false;
		text_add(ret, SPAN("the kernel crashed, its last messages are in "));
		crash_line_clean(span_of(one->path), REASON_MAX - ret->n, ret);
		return true;
	}
	crash_line_clean(line, REASON_MAX, ret);
	if (kind == CRASH_PANIC && crash_is_sequel(line) &&
	    find_in_set(dumps, known, one, CRASH_LOCKUP, &cause) && ret->n + 20 < REASON_MAX) {
		text_add(ret, SPAN(" ("));
		crash_line_clean(cause, REASON_MAX - ret->n - 1, ret);
		text_add(ret, SPAN(")"));
	}
	return true;
}

/* Whether a watchdog says that it was what started the machine anew. */
static bool watchdog_tells(const struct options *o)
{
	_cleanup_free_ char *folder = path_join(o->root, "sys/class/watchdog");
	_cleanup_dir_ DIR *dir = opendir(folder);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		_cleanup_free_ char *path = xprintf("%s/%s/bootstatus", folder, d->d_name);
		_cleanup_free_ char *value = read_line(path);
		uint64_t status;

		/* -1 is from drivers that do not know. */
		if (span_to_number(span_of(value), INT32_MAX, &status) && (status & WDIOF_CARDRESET))
			return true;
	}
	return false;
}

char *crash_reason(const struct options *o, const struct strings *known)
{
	char buffer[REASON_MAX + 1];
	struct text reason = text_in(buffer, sizeof(buffer));
	struct dumps dumps;

	find_dumps(o, &dumps);
	bool told = tell(&dumps, known, false, &reason) || tell(&dumps, known, true, &reason);
	dumps_free(&dumps);
	if (told)
		return xstrdup(buffer);
	return watchdog_tells(o) ? xstrdup("the watchdog reset the machine") : NULL;
}
