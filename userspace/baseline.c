/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "health.h"
#include "report.h"

/* The lists of a baseline and their names in JSON. */
#define N_LISTS 3
static const char *const list_names[N_LISTS] = { "failed_units", "swaps", "mounts" };

static struct strings *list_of(struct baseline *b, size_t i)
{
	struct strings *const lists[N_LISTS] = { &b->failed, &b->swaps, &b->mounts };

	return lists[i];
}

void baseline_free(struct baseline *b)
{
	for (size_t i = 0; i < N_LISTS; i++)
		strings_free(list_of(b, i));
	b->known = false;
}

json_object *baseline_to_json(const struct baseline *b)
{
	json_object *o = json_object_new_object();

	for (size_t i = 0; i < N_LISTS; i++)
		json_object_object_add(o, list_names[i], json_strings(list_of((struct baseline *)b, i)));
	return o;
}

bool baseline_from_json(json_object *json, struct baseline *ret)
{
	*ret = (struct baseline){ .known = json };
	for (size_t i = 0; json && i < N_LISTS; i++) {
		json_object *array;

		if (!json_object_object_get_ex(json, list_names[i], &array) ||
		    !json_strings_read(array, list_of(ret, i))) {
			baseline_free(ret);
			return false;
		}
	}
	return true;
}
