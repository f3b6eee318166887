/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/env_block.h>

#include "boot_words.h"
#include "cmdline_source.h"
#include "system.h"

#define TEXT_MAX (64 << 10)

/* One command line of a file: lines become blanks, those that begin with '#' go, as in kernel-install. */
static char *one_line(const char *text)
{
	char *line = xalloc(strlen(text) + 1);
	size_t n = 0;

	for (size_t length; *text; text += length + (text[length] != 0)) {
		length = strcspn(text, "\r\n");
		struct span part = span_trim((struct span){ text, length });
		if (!part.n || part.p[0] == '#')
			continue;
		if (n)
			line[n++] = ' ';
		memcpy(line + n, part.p, part.n);
		n += part.n;
	}
	return line;
}

/* Drops words that belong to one boot by one loader; says so unless `quiet`. */
static char *without_loader_words(char *taken, bool quiet)
{
	struct strings gone = { 0 };
	char *line = boot_words_remove(taken, &gone);

	for (size_t i = 0; i < gone.n && !quiet; i++)
		complain("%s is left out of the command line: it belongs to one boot", gone.items[i]);
	strings_free(&gone);
	free(taken);
	return line;
}

static char *no_options(const struct options *o)
{
	char *running = system_cmdline(o);

	complain("no command line for the entries: write it to %s%s, or give --options",
		 o->root[1] ? o->root : "", "/etc/kernel/cmdline");
	if (running) {
		running = without_loader_words(running, true);
		fprintf(stderr, "The running kernel's, for comparison: %s\n", running);
		free(running);
	}
	return NULL;
}

/* ---- the owner's file ---- */

/* False if there is none. */
static bool from_kernel_cmdline(const struct options *o, char **ret)
{
	static const char *const files[] = { "etc/kernel/cmdline", "usr/lib/kernel/cmdline" };

	*ret = NULL;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, files[i]), *text = NULL;
		size_t size;
		int r = read_file(path, TEXT_MAX, &text, &size);

		if (r == -ENOENT)
			continue;
		if (r < 0) {
			complain("%s: %s", path, strerror(-r));
			return true;
		}
		*ret = one_line(text);
		if (**ret)
			return true;
		/* A kernel without a word about its root file system boots nowhere. */
		complain("%s: is empty; write the kernel command line to it", path);
		free(*ret);
		*ret = NULL;
		return true;
	}
	return false;
}

/* ---- the distribution's files ---- */

static void say_source(const struct options *o, const char *source)
{
	if (!o->json)
		say(stdout, "kernel command line: from %s", source);
}

/* What a line refers to GRUB would put in. $tuned_params, which tuned adds to on its own, goes. False if
 * another reference is left. */
static bool drop_references(char *line)
{
	static const char tuned[] = "$tuned_params";
	char *found = strstr(line, tuned);

	if (found) {
		char *behind = found + strlen(tuned);
		while (found > line && found[-1] == ' ')
			found--;
		memmove(found, behind, strlen(behind) + 1);
	}
	return !strchr(line, '$');
}

static bool from_kernelopts(const struct options *o, char **ret)
{
	_cleanup_free_ char *path = path_join(o->root, "boot/grub2/grubenv"), *block = NULL;
	char value[ENV_BLOCK_SIZE];
	struct text t = text_in(value, sizeof(value));
	size_t size, offset;

	*ret = NULL;
	if (read_file(path, ENV_BLOCK_SIZE, &block, &size) < 0 || env_block_check(block, size, &offset) < 0 ||
	    env_block_get(block, SPAN("kernelopts"), &t) < 0 || !t.n)
		return false;
	if (!drop_references(value)) {
		complain("%s: kernelopts holds a '$'; write the kernel command line to /etc/kernel/cmdline",
			 path);
		return true;
	}
	*ret = xstrdup(value);
	say_source(o, path);
	return true;
}

/* What the entries of this system say. */
struct agreement {
	char *options, *source; /* of the first; NULL */
	char *other;            /* file of one that says something else; NULL */
};

static void agree(struct agreement *a, struct span options, const char *source)
{
	_cleanup_free_ char *line = xstrndup(options);

	if (!drop_references(line) || !*line)
		return;
	if (!a->options) {
		a->options = xstrdup(line);
		a->source = xstrdup(source);
	} else if (!a->other && strcmp(a->options, line) != 0) {
		a->other = xstrdup(source);
	}
}

static bool begins_with(const char *name, const char *word)
{
	size_t n = word ? strlen(word) : 0;

	return n && strncasecmp(name, word, n) == 0 && name[n] == '-';
}

/* Named as kernel-install and the kernels of Red Hat name them; a rescue kernel's is not like the others. */
static bool is_entry_name(const struct identity *identity, const char *name)
{
	return (begins_with(name, identity->machine_id) || begins_with(name, identity->token)) &&
	       !strstr(name, "-0-rescue");
}

/* Those in /boot that only GRUB reads. */
static void read_boot_entries(const struct options *o, const struct identity *identity, struct agreement *a)
{
	_cleanup_free_ char *folder = path_join(o->root, "boot/loader/entries");
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *path = path_join(folder, d->d_name), *text = NULL, *options = NULL;
		struct bls_entry e;
		size_t size, offset;

		if (!bls_file_name_is_entry(span_of(d->d_name)) || !is_entry_name(identity, d->d_name) ||
		    read_file(path, TEXT_MAX, &text, &size) < 0)
			continue;
		options = xalloc(size + 1);
		if (bls_parse((struct span){ text, size }, options, size + 1, &e, &offset) == 0 &&
		    !e.from_granule && !e.trial)
			agree(a, e.options, path);
	}
}

static bool from_entries(const struct options *o, const struct entry_set *set,
			 const struct identity *identity, char **ret)
{
	struct agreement a = { 0 };

	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];
		if (e->type == ENTRY_TYPE1 && e->bls.start == BLS_START_LINUX && !e->bls.from_granule &&
		    !e->bls.trial && identity_owns(identity, e) &&
		    is_entry_name(identity, loaded(e)->file_name))
			agree(&a, e->bls.options, loaded(e)->source);
	}
	read_boot_entries(o, identity, &a);
	*ret = NULL;
	if (a.other) {
		complain("%s and %s have different command lines; write the one for new entries to "
			 "/etc/kernel/cmdline",
			 a.source, a.other);
	} else if (a.options) {
		*ret = xstrdup(a.options);
		say_source(o, a.source);
	}
	bool found = a.options;
	free(a.options);
	free(a.source);
	free(a.other);
	return found;
}

/* Words of a first boot that has not come yet. */
static bool is_for_first_boot(struct span line)
{
	static const char *const words[] = { "init", "systemd.run" };
	struct span value;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (cmdline_get(line, span_of(words[i]), &value))
			return true;
	return false;
}

static bool from_raspberry_pi(const struct options *o, char **ret)
{
	static const char *const folders[] = { "boot/firmware", "boot" };

	*ret = NULL;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		_cleanup_free_ char *folder = path_join(o->root, folders[i]);
		_cleanup_free_ char *path = path_join(folder, "cmdline.txt");
		_cleanup_free_ char *config = path_join(folder, "config.txt");
		struct span value;

		/* The file of that name beside the firmware's own. */
		if (!path_exists(config) || !path_exists(path))
			continue;
		char *line = read_line(path);
		if (!line || !cmdline_get(span_of(line), SPAN("root"), &value)) {
			complain("%s: names no root file system; write the kernel command line to "
				 "/etc/kernel/cmdline",
				 path);
		} else if (is_for_first_boot(span_of(line))) {
			complain("%s: is one for the first boot; register after that", path);
		} else {
			say_source(o, path);
			*ret = line;
			return true;
		}
		free(line);
		return true;
	}
	return false;
}

char *cmdline_source_find(const struct options *o, const struct entry_set *set,
			  const struct identity *identity)
{
	char *line;

	if (o->kernel_options)
		line = xstrdup(o->kernel_options);
	else if (!from_kernel_cmdline(o, &line) && !from_kernelopts(o, &line) &&
		 !from_entries(o, set, identity, &line) && !cmdline_from_grub_default(o, &line) &&
		 !from_raspberry_pi(o, &line))
		return no_options(o);
	return line ? without_loader_words(line, false) : NULL;
}
