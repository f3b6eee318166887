/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the command by themselves, for tests that want no whole trial around them:
 *
 *   probe look ROOT [BASELINE]  what is there now, and the problems against a baseline in a file
 *   probe settle ROOT UNIT      waits for the end of booting
 *   probe crash ROOT [ID...]    dumps, and the reason that those tell which are not named
 *
 * The answer is one JSON object on standard output. */
#include <string.h>

#include "crash.h"
#include "health.h"
#include "report.h"

static void add_strings(json_object *object, const char *key, const struct strings *list)
{
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < list->n; i++)
		json_object_array_add(array, json_text(list->items[i]));
	json_object_object_add(object, key, array);
}

static int look(const struct options *o, const char *file)
{
	json_object *stored = file ? json_object_from_file(file) : NULL, *answer = json_object_new_object();
	struct baseline before, now;
	struct strings problems = { 0 };
	struct settings settings;

	settings_read(o, &settings);
	if (!baseline_from_json(stored, &before))
		return EXIT_FAILED;
	health_look(o, &settings, &before, &now, &problems);
	json_object_object_add(answer, "now", baseline_to_json(&now));
	add_strings(answer, "problems", &problems);
	json_print(answer);
	json_object_put(stored);
	baseline_free(&before);
	baseline_free(&now);
	strings_free(&problems);
	settings_free(&settings);
	return EXIT_DONE;
}

static int settle(const struct options *o, const char *unit)
{
	json_object *answer = json_object_new_object();
	struct strings problems = { 0 };
	struct settings settings;

	settings_read(o, &settings);
	health_settle(o, &settings, unit, &problems);
	add_strings(answer, "problems", &problems);
	json_print(answer);
	strings_free(&problems);
	settings_free(&settings);
	return EXIT_DONE;
}

static int crash(const struct options *o, int n, char **ids)
{
	json_object *answer = json_object_new_object();
	struct strings dumps = { 0 }, known = { ids, (size_t)n };
	_cleanup_free_ char *reason = crash_reason(o, &known);

	crash_list(o, &dumps);
	add_strings(answer, "dumps", &dumps);
	json_object_object_add(answer, "reason", json_text(reason));
	json_print(answer);
	strings_free(&dumps);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct options o = { .root = argc > 2 ? argv[2] : "/" };

	if (argc > 2 && strcmp(argv[1], "look") == 0)
		return look(&o, argv[3]);
	if (argc > 3 && strcmp(argv[1], "settle") == 0)
		return settle(&o, argv[3]);
	if (argc > 2 && strcmp(argv[1], "crash") == 0)
		return crash(&o, argc - 3, argv + 3);
	return EXIT_USAGE;
}
