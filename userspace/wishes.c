/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "safe_file.h"
#include "wishes.h"

static const struct {
	const char *name;
	enum variable_vendor vendor;
	size_t offset; /* of its copy in struct entry_set */
} known[] = {
	{ "GranulePolicy", VENDOR_GRANULE, offsetof(struct entry_set, policy_variable) },
	{ "LoaderEntryOneShot", VENDOR_LOADER, offsetof(struct entry_set, oneshot) },
	{ "LoaderEntryPreferred", VENDOR_LOADER, offsetof(struct entry_set, preferred) },
	{ "LoaderEntryDefault", VENDOR_LOADER, offsetof(struct entry_set, default_variable) },
};

static void remember(struct entry_set *set, char **place, const char *value)
{
	free(*place);
	*place = value ? xstrdup(value) : NULL;
	entry_set_input(set);
}

int wish_variable(struct actions *a, struct entry_set *set, const char *name, const char *value)
{
	size_t i = 0;

	while (strcmp(known[i].name, name) != 0)
		i++;
	char **place = (char **)((char *)set + known[i].offset);
	if (value ? *place && strcmp(*place, value) == 0 : !*place)
		return 0;

	int r = 0;
	if (!a->options->dry_run)
		r = value ? variable_set(known[i].vendor, name, value)
			  : variable_delete(known[i].vendor, name);
	if (r < 0) {
		complain("%s: cannot be %s: %s", name, value ? "written" : "deleted", variable_error_text(r));
		return r;
	}
	if (value)
		action(a, "set %s to %s", name, value);
	else
		action(a, "cleared %s (was %s)", name, *place);
	remember(set, place, value);
	return 0;
}

/* The whole of loader.conf with one key changed. */
static char *changed_conf(const char *old, const char *key, const char *value)
{
	size_t size = strlen(old) + strlen(key) + (value ? strlen(value) : 0) + 8;
	char *out = xalloc(size);
	struct text t = text_in(out, size);

	loader_conf_set(span_of(old), span_of(key), span_of(value), &t);
	return out;
}

int wish_conf(struct actions *a, struct entry_set *set, const struct places *places, const char *key,
	      const char *value)
{
	const char *old = set->conf_text ? set->conf_text : "";
	_cleanup_free_ char *path = path_join(places->boot, "loader/loader.conf");
	_cleanup_free_ char *text = changed_conf(old, key, value);

	if (strcmp(text, old) == 0)
		return 0;
	int r = a->options->dry_run ? 0 : safe_file_write(path, text, strlen(text));
	if (r < 0) {
		complain("%s: cannot be written: %s", path, strerror(-r));
		return r;
	}
	if (value)
		action(a, "set %s to %s in %s", key, value, path);
	else
		action(a, "removed %s from %s", key, path);
	remember(set, &set->conf_text, text);
	return 0;
}
