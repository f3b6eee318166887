/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line that grub-mkconfig would write, from the files that it reads. They are shell; they are
 * read without one, and what takes a shell is refused. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include <granule/cmdline.h>
#include <granule/keyval.h>
#include <granule/shell_vars.h>

#include "cmdline_source.h"

#define FILE_MAX (64 << 10)
#define VALUE_MAX 4096

enum { LINUX, LINUX_DEFAULT, DISABLE_UUID, N_VARS };

struct grub_default {
	char values[N_VARS][VALUE_MAX], scratch[VALUE_MAX];
	struct shell_var vars[N_VARS];
};

/* False after one printed line. */
static bool read_one(struct grub_default *g, const char *path)
{
	_cleanup_free_ char *text = NULL;
	struct text scratch = text_in(g->scratch, sizeof(g->scratch));
	size_t size, offset = 0;
	int r = read_file(path, FILE_MAX, &text, &size);

	if (r < 0) {
		complain("%s: %s", path, strerror(-r));
		return false;
	}
	if (shell_vars_read((struct span){ text, size }, g->vars, N_VARS, &scratch, &offset) == 0)
		return true;
	complain("%s: line %zu: what it comes to takes a shell; write the kernel command line to "
		 "/etc/kernel/cmdline",
		 path, keyval_line_number((struct span){ text, size }, offset));
	return false;
}

static int is_config(const struct dirent *d)
{
	return d->d_name[0] != '.' && span_ends_nocase(span_of(d->d_name), SPAN(".cfg"));
}

static bool read_folder(struct grub_default *g, const struct options *o)
{
	_cleanup_free_ char *folder = path_join(o->root, "etc/default/grub.d");
	struct dirent **names;
	int n = scandir(folder, &names, is_config, alphasort);
	bool good = true;

	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = path_join(folder, names[i]->d_name);
		good = good && read_one(g, path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return good;
}

static bool is_true(const struct shell_var *var)
{
	return span_equal(text_span(&var->value), SPAN("true"));
}

static char *compose(const struct options *o, const struct grub_default *g, const char *path)
{
	_cleanup_free_ char *own =
		xprintf("%s%s%s", g->values[LINUX], *g->values[LINUX] && *g->values[LINUX_DEFAULT] ? " " : "",
			g->values[LINUX_DEFAULT]);
	_cleanup_free_ char *problem = NULL, *root = NULL;
	struct span value;

	if (cmdline_get(span_of(own), SPAN("root"), &value))
		root = xstrdup("ro");
	else
		root = cmdline_root_words(o, is_true(&g->vars[DISABLE_UUID]), &problem);
	if (!root) {
		complain("%s: %s; write the kernel command line to /etc/kernel/cmdline", path, problem);
		return NULL;
	}
	return xprintf("%s%s%s", root, *own ? " " : "", own);
}

bool cmdline_from_grub_default(const struct options *o, char **ret)
{
	static const struct span names[N_VARS] = {
		[LINUX] = { "GRUB_CMDLINE_LINUX", 18 },
		[LINUX_DEFAULT] = { "GRUB_CMDLINE_LINUX_DEFAULT", 26 },
		[DISABLE_UUID] = { "GRUB_DISABLE_LINUX_UUID", 23 },
	};
	_cleanup_free_ char *path = path_join(o->root, "etc/default/grub");
	_cleanup_free_ struct grub_default *g = xalloc(sizeof(*g));

	*ret = NULL;
	if (!path_exists(path))
		return false;
	for (size_t i = 0; i < N_VARS; i++)
		g->vars[i] = (struct shell_var){ names[i], text_in(g->values[i], VALUE_MAX), false };
	if (read_one(g, path) && read_folder(g, o))
		*ret = compose(o, g, path);
	if (*ret && !o->json)
		say(stdout, "kernel command line: from %s", path);
	return true;
}
