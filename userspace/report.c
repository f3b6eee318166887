/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <string.h>

#include "report.h"

json_object *json_text(const char *s)
{
	return s ? json_object_new_string(s) : NULL;
}

json_object *json_span(struct span s)
{
	return s.p ? json_object_new_string_len(s.p, (int)s.n) : NULL;
}

json_object *json_page_size(enum page_size size)
{
	return json_object_new_string(page_size_word(size));
}

json_object *json_page_size_set(page_size_set set)
{
	if (set == PAGE_SIZE_SET_UNKNOWN)
		return NULL;
	json_object *array = json_object_new_array();
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (page_size_in(s, set))
			json_object_array_add(array, json_page_size(s));
	return array;
}

void json_print(json_object *taken)
{
	puts(json_object_to_json_string_ext(taken, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							   JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(taken);
}

static void decide(const struct choose_input *input, struct next_boot *ret)
{
	struct text t = text_in(ret->explanation, sizeof(ret->explanation));

	choose(input, &ret->result);
	ret->entry = ret->result.index == SIZE_MAX ? NULL : input->entries[ret->result.index];
	choose_explain(input, &ret->result, &t);
}

void next_boot(const struct entry_set *set, struct next_boot *ret)
{
	decide(&set->input, ret);
}

void default_boot(const struct entry_set *set, struct next_boot *ret)
{
	struct choose_input without = set->input;

	without.oneshot = SPAN_NONE;
	decide(&without, ret);
}

json_object *json_next_boot(const struct next_boot *next)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "id", next->entry ? json_span(next->entry->id) : NULL);
	json_object_object_add(o, "page_size", next->entry ? json_page_size(next->entry->page_size) : NULL);
	json_object_object_add(o, "reason", json_text(next->explanation));
	return o;
}

void action(struct actions *a, const char *format, ...)
{
	va_list args;
	char *line = NULL;

	va_start(args, format);
	int n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0)
		return;
	if (!a->options->json)
		printf("%s%s\n", a->options->dry_run ? "would have: " : "", line);
	strings_add(&a->done, line);
}

int actions_finish(struct actions *a, const struct entry_set *set)
{
	struct next_boot next;

	if (set)
		next_boot(set, &next);
	if (a->options->json) {
		json_object *o = json_object_new_object(), *done = json_object_new_array();

		for (size_t i = 0; i < a->done.n; i++)
			json_object_array_add(done, json_text(a->done.items[i]));
		json_object_object_add(o, "ok", json_object_new_boolean(!a->failed));
		json_object_object_add(o, "dry_run", json_object_new_boolean(a->options->dry_run));
		json_object_object_add(o, "actions", done);
		json_object_object_add(o, "next", set ? json_next_boot(&next) : NULL);
		json_print(o);
	} else if (set && next.entry) {
		printf("next boot: %.*s, %s pages (%s)\n", (int)next.entry->id.n, next.entry->id.p,
		       page_size_title(next.entry->page_size), next.explanation);
	} else if (set) {
		puts("next boot: no entry can be started");
	}
	strings_free(&a->done);
	return a->failed ? EXIT_FAILED : EXIT_DONE;
}
