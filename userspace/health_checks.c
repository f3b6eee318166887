/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The owner's own checks. They run as root, so nobody else may be able to write them. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "child.h"
#include "health_parts.h"
#include "system.h"

#define OUTPUT_KEEP 4096
#define LINE_MAX_BYTES 200

static const char *const folders[] = { "etc/granule/verify.d", "usr/lib/granule/verify.d" };
#define N_FOLDERS (sizeof(folders) / sizeof(folders[0]))

/* ---- which ---- */

/* As run-parts(8) has it. */
static bool is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!char_is_alpha(*p) && !char_is_digit(*p) && *p != '_' && *p != '-')
			return false;
	return *name;
}

/* What editors and package managers leave lying about. */
static bool is_leftover(const char *name)
{
	static const char *const ends[] = { "~",         ".bak",       ".orig",     ".swp",     ".tmp",
					    ".dpkg-old", ".dpkg-dist", ".dpkg-new", ".ucf-old", ".ucf-dist",
					    ".rpmsave",  ".rpmnew",    ".rpmorig" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (span_ends_nocase(span_of(name), span_of(ends[i])))
			return true;
	return name[0] == '.';
}

/* Whether somebody who is not root can change it. */
static bool is_open_to_others(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_gid != 0) ||
	       (st->st_uid != 0 && st->st_uid != geteuid());
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool in(const struct strings *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], name) == 0)
			return true;
	return false;
}

static void list_folder(const char *folder, struct strings *names)
{
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct stat st;

	if (!dir) {
		if (errno != ENOENT)
			complain("%s: cannot be read, its checks are not run: %s", folder, strerror(errno));
		return;
	}
	if (fstat(dirfd(dir), &st) == 0 && is_open_to_others(&st)) {
		complain("%s: others than root can write there, its checks are not run", folder);
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		if (is_name(d->d_name)) {
			if (!in(names, d->d_name))
				strings_add(names, xstrdup(d->d_name));
		} else if (!is_leftover(d->d_name) && fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
			   S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR))
			complain("%s/%s: not run: names of checks have letters, digits, '-' and '_' only",
				 folder, d->d_name);
	}
}

/* Path of a check; NULL if it is not to be run. A name in /etc stands for the one in /usr. */
static char *find_check(const struct options *o, const char *name)
{
	struct stat st;

	for (size_t i = 0; i < N_FOLDERS; i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]), *path = path_join(folder, name);

		if (lstat(path, &st) < 0)
			continue;
		if (stat(path, &st) < 0)
			complain("%s: not run: %s", path, strerror(errno));
		else if (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0))
			return NULL; /* masked */
		else if (!S_ISREG(st.st_mode))
			complain("%s: not run: not a file", path);
		else if (is_open_to_others(&st))
			complain("%s: not run: others than root can write it", path);
		else if (!(st.st_mode & 0111))
			complain("%s: not run: not executable", path);
		else
			return realpath(path, NULL);
		return NULL;
	}
	return NULL;
}

/* ---- running ---- */

static void run_check(const char *path, const char *name, double seconds, struct strings *problems)
{
	const char *entry = getenv("GRANULE_ENTRY"), *trial = getenv("GRANULE_TRIAL");
	_cleanup_free_ char *size = xprintf("GRANULE_PAGE_SIZE=%llu", (unsigned long long)system_page_size());
	_cleanup_free_ char *entry_is = xprintf("GRANULE_ENTRY=%s", entry ? entry : "");
	_cleanup_free_ char *trial_is = xprintf("GRANULE_TRIAL=%s", trial ? trial : "0");
	const char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
		size,
		entry_is,
		trial_is,
		NULL,
	};
	const char *const arguments[] = { path, NULL };
	struct child c = {
		.arguments = arguments, .environment = environment, .timeout_s = seconds, .keep = OUTPUT_KEEP
	};

	if (!child_run(&c)) {
		_cleanup_free_ char *fate = child_fate(&c), *said = last_line(c.output, LINE_MAX_BYTES);
		problem_add(problems, xprintf("check %s: %s%s%s", name, fate, *said ? ": " : "", said));
	}
	child_free(&c);
}

void health_checks(const struct options *o, const struct settings *s, struct strings *problems)
{
	double until = seconds_now() + s->verify_timeout_s;
	struct strings names = { 0 };

	for (size_t i = 0; i < N_FOLDERS; i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]);
		list_folder(folder, &names);
	}
	if (names.n)
		qsort(names.items, names.n, sizeof(names.items[0]), by_name);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = find_check(o, names.items[i]);
		double left = until - seconds_now();

		if (path && left <= 0)
			problem_add(problems, xprintf("check %s: not run: those before it took all %u s of "
						      "verify-timeout",
						      names.items[i], s->verify_timeout_s));
		else if (path)
			run_check(path, names.items[i], left < s->check_timeout_s ? left : s->check_timeout_s,
				  problems);
	}
	strings_free(&names);
}
