/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <libsmartcols/libsmartcols.h>

#include "image_file.h"
#include "report.h"
#include "tables.h"

struct output {
	const struct options *options;
	struct libscols_table *table;
	json_object *array;
};

static json_object *facts(const char *path, uint32_t profile, const struct image_file *image)
{
	json_object *o = json_object_new_object();
	bool is_uki = image->head.container == CONTAINER_UKI;

	json_object_object_add(o, "path", json_text(path));
	json_object_object_add(o, "arch", json_text(image->architecture));
	json_object_object_add(o, "container", json_text(image_container_name(image->head.container)));
	json_object_object_add(o, "profile", is_uki ? json_object_new_int64(profile) : NULL);
	json_object_object_add(o, "page_size", json_page_size(image->page_size));
	json_object_object_add(o, "kind", json_text(image_kind_name(image->kind)));
	json_object_object_add(o, "evidence", json_text(image_evidence_name(image->evidence)));
	json_object_object_add(o, "release", json_text(image->release));
	return o;
}

/* Adds what is in a file, or one profile of it. False after one printed line when there is no kernel. */
static bool inspect(const struct output *out, const char *path, uint32_t profile, uint32_t *ret_profiles)
{
	struct image_file image;
	_cleanup_free_ char *problem = NULL;
	_cleanup_free_ char *shown = profile ? xprintf("%s@%u", path, profile) : xstrdup(path);
	bool found = image_file_read(path, out->options->root, profile, &image, &problem) == 0;

	*ret_profiles = image.n_profiles;
	if (found) {
		const char *row[] = {
			page_size_title(image.page_size),
			image_kind_name(image.kind),
			image_evidence_name(image.evidence),
			image.architecture,
			image_container_name(image.head.container),
			image.release,
			shown,
		};
		json_object_array_add(out->array, facts(path, profile, &image));
		found = image.head.container != CONTAINER_UNKNOWN;
		if (found)
			table_add(out->table, row);
	}
	if (!found)
		complain("%s: %s", shown, problem ? problem : "not a kernel");
	image_file_free(&image);
	return found;
}

int cmd_inspect(const struct options *o)
{
	static const char *const columns[] = { "SIZE",      "KIND",    "EVIDENCE", "ARCH",
					       "CONTAINER", "RELEASE", "FILE",     NULL };
	struct output out = { o, table_new(columns), json_object_new_array() };
	int exit_code = EXIT_DONE;

	for (int i = 0; i < o->n_arguments; i++) {
		uint32_t n = 1;

		for (uint32_t profile = 0; profile < n; profile++)
			if (!inspect(&out, o->arguments[i], profile, &n))
				exit_code = EXIT_FAILED;
	}
	if (o->json)
		json_print(out.array);
	else {
		table_print(out.table);
		json_object_put(out.array);
	}
	scols_unref_table(out.table);
	return exit_code;
}
