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

/* Adds the names of checks, and to `unusable` a line for each thing that is meant to be one and cannot be
 * run: what the owner relies on and nobody asked is not in order. */
static void list_folder(const char *folder, struct strings *names, struct strings *unusable)
{
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct stat st;

	if (!dir) {
		if (errno != ENOENT)
			problem_add(unusable,
				    xprintf("check folder %s: not run: %s", folder, strerror(errno)));
		return;
	}
	if (fstat(dirfd(dir), &st) == 0 && is_open_to_others(&st)) {
		problem_add(unusable,
			    xprintf("check folder %s: not run: others than root can write there", folder));
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		if (is_name(d->d_name)) {
			if (!in(names, d->d_name))
				strings_add(names, xstrdup(d->d_name));
		} else if (!is_leftover(d->d_name) && fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
			   S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR))
			problem_add(unusable,
				    xprintf("check %s: not run: names of checks have letters, digits, "
					    "'-' and '_' only",
					    d->d_name));
	}
}

/* Path of a check; NULL if it is not to be run, with *ret_why if that is no wish of the owner's. A name in
 * /etc stands for the one in /usr. */
static char *find_check(const struct options *o, const char *name, const char **ret_why)
{
	struct stat st;

	for (size_t i = 0; i < N_FOLDERS; i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]), *path = path_join(folder, name);

		if (lstat(path, &st) < 0)
			continue;
		if (stat(path, &st) < 0)
			*ret_why = strerror(errno);
		else if (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0))
			return NULL; /* masked */
		else if (!S_ISREG(st.st_mode))
			*ret_why = "not a file";
		else if (is_open_to_others(&st))
			*ret_why = "others than root can write it";
		else if (!(st.st_mode & 0111))
			*ret_why = "not executable";
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

static void list_checks(const struct options *o, struct strings *names, struct strings *unusable)
{
	for (size_t i = 0; i < N_FOLDERS; i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]);
		list_folder(folder, names, unusable);
	}
	if (names->n)
		qsort(names->items, names->n, sizeof(names->items[0]), by_name);
}

void health_checks_unusable(const struct options *o, struct strings *ret)
{
	struct strings names = { 0 };

	list_checks(o, &names, ret);
	for (size_t i = 0; i < names.n; i++) {
		const char *why = NULL;
		_cleanup_free_ char *path = find_check(o, names.items[i], &why);

		if (why)
			strings_add(ret, xprintf("check %s: not run: %s", names.items[i], why));
	}
	strings_free(&names);
}

void health_checks(const struct options *o, const struct settings *s, struct strings *problems)
{
	double until = seconds_now() + s->verify_timeout_s;
	struct strings names = { 0 };

	list_checks(o, &names, problems);
	for (size_t i = 0; i < names.n; i++) {
		const char *why = NULL;
		_cleanup_free_ char *path = find_check(o, names.items[i], &why);
		double left = until - seconds_now();

		if (why)
			problem_add(problems, xprintf("check %s: not run: %s", names.items[i], why));
		else if (path && left <= 0)
			problem_add(problems, xprintf("check %s: not run: those before it took all %u s of "
						      "verify-timeout",
						      names.items[i], s->verify_timeout_s));
		else if (path)
			run_check(path, names.items[i], left < s->check_timeout_s ? left : s->check_timeout_s,
				  problems);
	}
	strings_free(&names);
}
