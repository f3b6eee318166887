/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line that grub-mkconfig would write, from the files that it reads. */
#include <string.h>

#include <granule/cmdline.h>

#include "cmdline_source.h"
#include "grub/grub.h"

enum { LINUX, LINUX_DEFAULT, DISABLE_UUID, N_SETTINGS };

static char *compose(const struct options *o, const struct grub_mkconfig_var *s, const char *path)
{
	const char *words = s[LINUX].value ? s[LINUX].value : "";
	const char *ordinary = s[LINUX_DEFAULT].value ? s[LINUX_DEFAULT].value : "";
	_cleanup_free_ char *own = xprintf("%s%s%s", words, *words && *ordinary ? " " : "", ordinary);
	_cleanup_free_ char *problem = NULL, *root = NULL;
	bool by_path = s[DISABLE_UUID].value && strcmp(s[DISABLE_UUID].value, "true") == 0;
	struct span value;

	if (cmdline_get(span_of(own), SPAN("root"), &value))
		root = xstrdup("ro");
	else
		root = cmdline_root_words(o, by_path, &problem);
	if (!root) {
		complain("%s: %s; write the kernel command line to /etc/kernel/cmdline", path, problem);
		return NULL;
	}
	return xprintf("%s%s%s", root, *own ? " " : "", own);
}

bool cmdline_from_grub_default(const struct options *o, char **ret)
{
	struct grub_mkconfig_var settings[N_SETTINGS] = {
		[LINUX] = { .name = "GRUB_CMDLINE_LINUX" },
		[LINUX_DEFAULT] = { .name = "GRUB_CMDLINE_LINUX_DEFAULT" },
		[DISABLE_UUID] = { .name = "GRUB_DISABLE_LINUX_UUID" },
	};
	_cleanup_free_ char *path = path_join(o->root, "etc/default/grub"), *problem = NULL;

	*ret = NULL;
	if (!path_exists(path))
		return false;
	if (grub_mkconfig_vars_read(o, settings, N_SETTINGS, &problem))
		*ret = compose(o, settings, path);
	else
		complain("%s; write the kernel command line to /etc/kernel/cmdline", problem);
	grub_mkconfig_vars_free(settings, N_SETTINGS);
	if (*ret && !o->json)
		say(stdout, "kernel command line: from %s", path);
	return true;
}
