/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "reset_facts.h"

#define CONF_MAX ((size_t)1 << 20)

/* ---- a screen ---- */

/* Whether a connector of some graphics card has a display. */
static bool has_display(const struct options *o)
{
	_cleanup_free_ char *folder = path_join(o->root, "sys/class/drm");
	_cleanup_dir_ DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *d; dir && !found && (d = readdir(dir));) {
		_cleanup_free_ char *status = xprintf("%s/%s/status", folder, d->d_name);
		_cleanup_free_ char *word = d->d_name[0] == '.' ? NULL : read_line(status);
		found = word && strcmp(word, "connected") == 0;
	}
	return found;
}

/* The last console that is named is the one that /dev/console stands for. */
static bool has_screen_console(const struct options *o)
{
	_cleanup_free_ char *active = path_join(o->root, "sys/class/tty/console/active");
	_cleanup_free_ char *frame_buffer = path_join(o->root, "sys/class/graphics/fb0");
	_cleanup_free_ char *names = read_line(active);
	const char *last = names ? strrchr(names, ' ') : NULL;

	last = last ? last + 1 : names;
	/* A virtual terminal without a frame buffer goes nowhere. */
	return last && strncmp(last, "tty", 3) == 0 && char_is_digit(last[3]) && path_exists(frame_buffer);
}

bool has_screen(const struct options *o)
{
	return has_display(o) || has_screen_console(o);
}

/* ---- settings of others: lines "key = value" in a file and its drop-ins ---- */

/* Keeps the last value of the key in a file. As in sysctl.d, "-" before a key and "/" in it are allowed. */
static void read_value(const char *path, const char *key, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (read_file(path, CONF_MAX, &text, &size) < 0)
		return;
	for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t-");
		size_t n = 0;
		while (key[n] && (line[n] == key[n] || (key[n] == '.' && line[n] == '/')))
			n++;
		line += n;
		line += strspn(line, " \t");
		if (key[n] || *line != '=')
			continue;
		free(*ret);
		*ret = xstrndup(span_trim(span_of(line + 1)));
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of names, wherever they are; of two with the same name the one of /etc counts, then /run. */
static void read_drop_ins(const struct options *o, const char *folder, const char *key, char **ret)
{
	static const char *const places[] = { "etc", "run", "usr/lib" };
	struct strings names = { 0 };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_free_ char *path = xprintf("%s/%s/%s", o->root, places[i], folder);
		_cleanup_dir_ DIR *dir = opendir(path);

		for (struct dirent *d; dir && (d = readdir(dir));) {
			size_t n = strlen(d->d_name);
			if (n > 5 && strcmp(d->d_name + n - 5, ".conf") == 0)
				strings_add(&names, xstrdup(d->d_name));
		}
	}
	if (names.n)
		qsort(names.items, names.n, sizeof(names.items[0]), by_name);
	for (size_t i = 0; i < names.n; i++) {
		for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
			_cleanup_free_ char *path =
				xprintf("%s/%s/%s/%s", o->root, places[k], folder, names.items[i]);
			if (!path_exists(path))
				continue;
			read_value(path, key, ret);
			break;
		}
	}
	strings_free(&names);
}

char *sysctl_panic(const struct options *o)
{
	_cleanup_free_ char *last = path_join(o->root, "etc/sysctl.conf");
	char *value = NULL;

	read_drop_ins(o, "sysctl.d", "kernel.panic", &value);
	read_value(last, "kernel.panic", &value);
	return value;
}

/* ---- the watchdog ---- */

static bool systemd_arms_watchdog(const struct options *o)
{
	static const char *const files[] = { "usr/lib/systemd/system.conf", "etc/systemd/system.conf" };
	static const char key[] = "RuntimeWatchdogSec";
	_cleanup_free_ char *value = NULL;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, files[i]);
		read_value(path, key, &value);
	}
	read_drop_ins(o, "systemd/system.conf.d", key, &value);
	return value && *value && strcmp(value, "0") != 0 && strcmp(value, "off") != 0 &&
	       strcmp(value, "infinity") != 0;
}

char *find_watchdog(const struct options *o, bool *ret_armed)
{
	_cleanup_free_ char *folder = path_join(o->root, "sys/class/watchdog");
	_cleanup_dir_ DIR *dir = opendir(folder);
	char *found = NULL;

	*ret_armed = false;
	for (struct dirent *d; dir && !*ret_armed && (d = readdir(dir));) {
		_cleanup_free_ char *state = xprintf("%s/%s/state", folder, d->d_name);
		_cleanup_free_ char *identity = xprintf("%s/%s/identity", folder, d->d_name);
		_cleanup_free_ char *is = read_line(state), *name = read_line(identity);

		if (d->d_name[0] == '.' || (name && strcmp(name, "Software Watchdog") == 0))
			continue;
		*ret_armed = is && strcmp(is, "active") == 0;
		free(found);
		found = xprintf("%s%s%s%s", d->d_name, name ? " (" : "", name ? name : "", name ? ")" : "");
	}
	*ret_armed = *ret_armed || (found && systemd_arms_watchdog(o));
	return found;
}
