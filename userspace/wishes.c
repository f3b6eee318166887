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

static size_t find(const char *name)
{
	size_t i = 0;

	while (strcmp(known[i].name, name) != 0)
		i++;
	return i;
}

const char *wish_stored(const struct entry_set *set, const char *name)
{
	return *(char *const *)((const char *)set + known[find(name)].offset);
}

int wish_variable(struct actions *a, struct entry_set *set, const char *name, const char *value)
{
	size_t i = find(name);
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

int wish_conf(struct actions *a, struct entry_set *set, const struct places *places, const char *key,
	      const char *value)
{
	_cleanup_free_ char *path = path_join(places_folder(places, VOLUME_OWN), "loader/loader.conf");
	size_t size = set->conf_size + strlen(key) + (value ? strlen(value) : 0) + 8;
	_cleanup_free_ char *text = xalloc(size);
	struct text t = text_in(text, size);
	struct span old = { set->conf_text, set->conf_size };

	int error = loader_conf_set(old, span_of(key), span_of(value), &t);
	if (!error && span_equal(text_span(&t), old))
		return 0;
	int r = error ? -EINVAL : set->conf_problem ? -EIO : 0;
	if (r == 0 && !a->options->dry_run)
		r = safe_file_write(path, text, t.n);
	if (r < 0) {
		complain("%s: cannot be written: %s", path,
			 set->conf_problem ? set->conf_problem : strerror(-r));
		return r;
	}
	if (value)
		action(a, "set %s to %s in %s", key, value, path);
	else
		action(a, "removed %s from %s", key, path);
	free(set->conf_text);
	set->conf_text = text;
	set->conf_size = t.n;
	text = NULL;
	entry_set_input(set);
	return 0;
}
