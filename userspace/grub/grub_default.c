/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that grub-mkconfig reads set. */
#include <errno.h>
#include <string.h>

#include <granule/keyval.h>
#include <granule/shell_vars.h>

#include "../root_path.h"
#include "grub.h"

#define FILE_MAX (64 << 10)
#define VALUE_MAX 4096
#define DROP_INS "etc/default/grub.d"

struct reader {
	const struct options *o;
	struct grub_mkconfig_var *settings;
	struct shell_var *vars;
	size_t n;
	char *values, *scratch;
	char *problem;
};

static bool read_one(struct reader *reader, const char *path)
{
	_cleanup_free_ char *real = root_path_real(reader->o, path), *text = NULL;
	struct text scratch = text_in(reader->scratch, VALUE_MAX);
	size_t size, offset = 0;
	int r = real ? read_file(real, FILE_MAX, &text, &size) : -errno;

	if (r < 0) {
		reader->problem = xprintf("%s: %s", path, strerror(-r));
		return false;
	}
	for (size_t i = 0; i < reader->n; i++)
		reader->vars[i].set = false;
	if (shell_vars_read((struct span){ text, size }, reader->vars, reader->n, &scratch, &offset) != 0) {
		reader->problem = xprintf("%s: line %zu: what it comes to takes a shell", path,
					  keyval_line_number((struct span){ text, size }, offset));
		return false;
	}
	for (size_t i = 0; i < reader->n; i++) {
		if (!reader->vars[i].set)
			continue;
		free(reader->settings[i].file);
		reader->settings[i].file = xstrdup(path);
	}
	return true;
}

static int is_config(const struct dirent *d)
{
	return d->d_name[0] != '.' && span_ends_nocase(span_of(d->d_name), SPAN(".cfg"));
}

static bool read_folder(struct reader *reader, const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, is_config, alphasort);
	bool good = true;

	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = path_join(folder, names[i]->d_name);
		good = good && read_one(reader, path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return good;
}

/* GRUB's own grub-mkconfig knows no drop-ins, Debian's does. */
static bool drop_ins_are_read(const struct options *o)
{
	static const char *const programs[] = { "usr/sbin/grub-mkconfig", "usr/sbin/grub2-mkconfig",
						"usr/bin/grub-mkconfig", "usr/bin/grub2-mkconfig" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, programs[i]), *text = NULL;
		size_t size;

		if (read_file(path, 1 << 20, &text, &size) == 0)
			return strstr(text, "default/grub.d");
	}
	return true;
}

bool grub_mkconfig_vars_read(const struct options *o, struct grub_mkconfig_var *settings, size_t n,
			     char **ret_problem)
{
	_cleanup_free_ char *path = path_join(o->root, "etc/default/grub");
	_cleanup_free_ char *folder = path_join(o->root, DROP_INS);
	_cleanup_free_ char *values = xalloc(n * VALUE_MAX), *scratch = xalloc(VALUE_MAX);
	_cleanup_free_ struct shell_var *vars = xalloc(n * sizeof(*vars));
	struct reader reader = { o, settings, vars, n, values, scratch, NULL };

	for (size_t i = 0; i < n; i++) {
		settings[i].value = settings[i].file = NULL;
		vars[i] = (struct shell_var){ span_of(settings[i].name),
					      text_in(values + i * VALUE_MAX, VALUE_MAX), false };
	}
	bool good = (!path_exists(path) || read_one(&reader, path)) &&
		    (!drop_ins_are_read(o) || read_folder(&reader, folder));
	for (size_t i = 0; good && i < n; i++)
		if (settings[i].file)
			settings[i].value = xstrndup(text_span(&vars[i].value));
	if (!good)
		grub_mkconfig_vars_free(settings, n);
	*ret_problem = reader.problem;
	return good;
}

void grub_mkconfig_vars_free(struct grub_mkconfig_var *settings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(settings[i].value);
		free(settings[i].file);
		settings[i].value = settings[i].file = NULL;
	}
}

void grub_default_read(const struct options *o, struct grub_default *ret)
{
	enum { DEFAULT, SAVEDEFAULT, BLSCFG, FLAVOURS, N };
	struct grub_mkconfig_var s[N] = {
		[DEFAULT] = { .name = "GRUB_DEFAULT" },
		[SAVEDEFAULT] = { .name = "GRUB_SAVEDEFAULT" },
		[BLSCFG] = { .name = "GRUB_ENABLE_BLSCFG" },
		[FLAVOURS] = { .name = "GRUB_FLAVOUR_ORDER" },
	};

	*ret = (struct grub_default){ 0 };
	if (!grub_mkconfig_vars_read(o, s, N, &ret->problem))
		return;
	/* An empty one is as good as none. */
	ret->value = xstrdup(s[DEFAULT].value && *s[DEFAULT].value ? s[DEFAULT].value : "0");
	ret->file = s[DEFAULT].file;
	s[DEFAULT].file = NULL;
	ret->save_default = s[SAVEDEFAULT].value && strcmp(s[SAVEDEFAULT].value, "true") == 0;
	ret->bls_disabled = s[BLSCFG].value && *s[BLSCFG].value && strcmp(s[BLSCFG].value, "true") != 0;
	if (s[FLAVOURS].value && *s[FLAVOURS].value) {
		ret->flavour_order = s[FLAVOURS].value;
		s[FLAVOURS].value = NULL;
	}
	grub_mkconfig_vars_free(s, N);
}

void grub_default_free(struct grub_default *def)
{
	free(def->value);
	free(def->file);
	free(def->problem);
	free(def->flavour_order);
	*def = (struct grub_default){ 0 };
}
