/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's files as commands see them: grub-tool ROOT CALL...; each CALL is one of
 *
 *   show                what is found, as one JSON document
 *   own:NAME=VALUE,...  changes granule's block, env:... grubenv; without '=' the variable is removed
 *   obstacle:PATH       what keeps GRUB from writing there
 *   resolve:PATH        where a path of that system is
 *   rpm:SIZE:RELEASE    what is said of the next kernel update, when the default is a kernel of this release
 *
 * A call before "find" finds nothing: "show", "own" and "env" find GRUB first. The exit code is 1 if one of them
 * failed, 3 if there is no GRUB. */
#include <errno.h>
#include <string.h>

#include "grub/grub.h"
#include "grub/rpm_default.h"
#include "report.h"
#include "root_path.h"

static json_object *json_flag(bool value)
{
	return json_object_new_boolean(value);
}

static json_object *json_block(const struct grub_block *b)
{
	static const char *const kinds[] = { "none", "file", "btrfs" };
	json_object *doc = json_object_new_object(), *values = json_object_new_object();
	struct span name, value;

	for (size_t pos = 0; b->exists && !b->problem && env_block_next(b->block, &pos, &name, &value);) {
		_cleanup_free_ char *key = xstrndup(name), *text = grub_block_get(b, name);
		json_object_object_add(values, key, json_text(text));
	}
	for (size_t pos = 0; b->kind == GRUB_BLOCK_BTRFS && env_block_next(b->area, &pos, &name, &value);) {
		_cleanup_free_ char *key = xstrndup(name), *text = grub_block_get(b, name);
		json_object_object_add(values, key, json_text(text));
	}
	json_object_object_add(doc, "kind", json_text(kinds[b->kind]));
	json_object_object_add(doc, "path", json_text(b->path));
	json_object_object_add(doc, "exists", json_flag(b->exists));
	json_object_object_add(doc, "values", values);
	json_object_object_add(doc, "problem", json_text(b->problem));
	json_object_object_add(doc, "obstacle", json_text(b->obstacle));
	return doc;
}

static json_object *json_default(const struct grub_default *d)
{
	json_object *doc = json_object_new_object();

	json_object_object_add(doc, "value", json_text(d->value));
	json_object_object_add(doc, "file", json_text(d->file));
	json_object_object_add(doc, "problem", json_text(d->problem));
	json_object_object_add(doc, "save_default", json_flag(d->save_default));
	json_object_object_add(doc, "bls_disabled", json_flag(d->bls_disabled));
	json_object_object_add(doc, "flavour_order", json_text(d->flavour_order));
	return doc;
}

static void show(struct grub *grub)
{
	json_object *doc = json_object_new_object();

	json_object_object_add(doc, "folder", json_text(grub->folder));
	json_object_object_add(doc, "cfg", json_text(grub->cfg_path));
	json_object_object_add(doc, "size", json_object_new_int64((int64_t)grub->cfg_size));
	json_object_object_add(doc, "tools", json_text(grub->tools));
	json_object_object_add(doc, "mkconfig", json_text(grub->mkconfig));
	json_object_object_add(doc, "bls", json_flag(grub->bls));
	json_object_object_add(doc, "bls_entries", json_text(grub->bls_entries));
	json_object_object_add(doc, "bls_files", json_text(grub->bls_files));
	json_object_object_add(doc, "own", json_block(&grub->own));
	json_object_object_add(doc, "env", json_block(&grub->env));
	json_object_object_add(doc, "wishes", json_text(grub_wishes(grub) == &grub->own ? "own" : "env"));
	json_object_object_add(doc, "default", json_default(&grub->def));
	json_print(doc);
}

static int change(const struct options *o, struct grub_block *b, char *words)
{
	struct grub_setting settings[16];
	size_t n = 0;
	bool changed;

	for (char *word = strtok(words, ","); word && n < 16; word = strtok(NULL, ",")) {
		char *equals = strchr(word, '=');
		if (equals)
			*equals = 0;
		settings[n++] = (struct grub_setting){ span_of(word), equals ? equals + 1 : NULL };
	}
	int r = grub_block_change(o, b, settings, n, &changed);
	if (r == 0)
		puts(changed ? "changed" : "same");
	return r;
}

static void print_conflict(const struct options *o, const char *words)
{
	const char *release = strchr(words, ':') ? strchr(words, ':') + 1 : "";
	struct entry e = { .id = span_of(release), .bls.version = span_of(release) };
	enum page_size size = page_size_parse_typed((struct span){ words, strcspn(words, ":") });
	_cleanup_free_ char *text = rpm_default_conflict(o, size, &e);

	puts(text ? text : "none");
}

static int call(const struct options *o, struct grub *grub, bool found, char *word)
{
	char *value = strchr(word, ':') ? strchr(word, ':') + 1 : word;
	_cleanup_free_ char *path = NULL, *text = NULL;

	if (strncmp(word, "resolve:", 8) == 0) {
		path = root_path_resolve(o->root, value);
		puts(path ? path : strerror(errno));
		return 0;
	}
	if (strncmp(word, "obstacle:", 9) == 0) {
		text = grub_write_obstacle(o, value);
		puts(text ? text : "none");
		return 0;
	}
	if (strncmp(word, "rpm:", 4) == 0) {
		print_conflict(o, value);
		return 0;
	}
	if (!found)
		exit(EXIT_NOTHING_ASKED);
	if (strcmp(word, "show") == 0)
		show(grub);
	else if (strncmp(word, "own:", 4) == 0)
		return change(o, &grub->own, value);
	else if (strncmp(word, "env:", 4) == 0)
		return change(o, &grub->env, value);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .root = argc > 1 ? argv[1] : "/", .dry_run = getenv("DRY_RUN") };
	struct places places = { .lock = -1 };
	struct grub grub = { 0 };
	bool known = places_find(&o, &places) == 0;
	int r = grub_find(&o, known ? &places : NULL, &grub);
	bool found = r == 0;

	r = r == -ENOENT ? 0 : r;
	for (int i = 2; i < argc && r == 0; i++)
		r = call(&o, &grub, found, argv[i]);
	if (found)
		grub_free(&grub);
	places_free(&places);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
