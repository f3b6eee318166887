/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <libsmartcols/libsmartcols.h>

#include "image_file.h"
#include "report.h"
#include "tables.h"

static json_object *facts(const char *path, const struct image_file *image)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "path", json_text(path));
	json_object_object_add(o, "arch", json_text(image->architecture));
	json_object_object_add(o, "container", json_text(image_container_name(image->head.container)));
	json_object_object_add(o, "page_size", json_page_size(image->page_size));
	json_object_object_add(o, "kind", json_text(image_kind_name(image->kind)));
	json_object_object_add(o, "evidence", json_text(image_evidence_name(image->evidence)));
	json_object_object_add(o, "release", json_text(image->release));
	return o;
}

int cmd_inspect(const struct options *o)
{
	static const char *const columns[] = { "SIZE",      "KIND",    "EVIDENCE", "ARCH",
					       "CONTAINER", "RELEASE", "FILE",     NULL };
	struct libscols_table *table = table_new(columns);
	json_object *array = json_object_new_array();
	int exit_code = EXIT_DONE;

	for (int i = 0; i < o->n_arguments; i++) {
		struct image_file image;
		_cleanup_free_ char *problem = NULL;
		const char *path = o->arguments[i];

		if (image_file_read(path, o->root, &image, &problem) < 0) {
			complain("%s: %s", path, problem);
			exit_code = EXIT_FAILED;
			image_file_free(&image);
			continue;
		}
		const char *row[] = {
			page_size_title(image.page_size),
			image_kind_name(image.kind),
			image_evidence_name(image.evidence),
			image.architecture,
			image_container_name(image.head.container),
			image.release,
			path,
		};
		table_add(table, row);
		json_object_array_add(array, facts(path, &image));
		if (image.head.container == CONTAINER_UNKNOWN) {
			complain("%s: not a kernel", path);
			exit_code = EXIT_FAILED;
		}
		image_file_free(&image);
	}
	if (o->json)
		json_print(array);
	else {
		table_print(table);
		json_object_put(array);
	}
	scols_unref_table(table);
	return exit_code;
}
