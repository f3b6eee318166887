/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <string.h>

#include "report.h"

/* Length of the UTF-8 character at p (RFC 3629); 0 if there is none. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80                   ? 1
		   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		   : (p[0] & 0xf0) == 0xe0       ? 3
		   : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						 : 0;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Files may hold anything, JSON only UTF-8: other bytes become U+FFFD. */
json_object *json_span(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t out = 0;

	if (!p)
		return NULL;
	_cleanup_free_ char *text = xalloc(3 * s.n + 1);
	for (size_t i = 0; i < s.n;) {
		size_t n = utf8_length(p + i, s.n - i);
		memcpy(text + out, n ? s.p + i : "\xef\xbf\xbd", n ? n : 3);
		out += n ? n : 3;
		i += n ? n : 1;
	}
	return json_object_new_string_len(text, (int)out);
}

json_object *json_text(const char *s)
{
	return json_span(span_of(s));
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

json_object *json_strings(const struct strings *list)
{
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < list->n; i++)
		json_object_array_add(array, json_text(list->items[i]));
	return array;
}

bool json_strings_read(json_object *array, struct strings *ret)
{
	if (!json_object_is_type(array, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		json_object *item = json_object_array_get_idx(array, i);

		if (!json_object_is_type(item, json_type_string))
			return false;
		strings_add(ret, xstrdup(json_object_get_string(item)));
	}
	return true;
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

char *boots_text(const struct entry *e)
{
	/* What the loader made itself is no kernel of this machine. */
	return e->type == ENTRY_AUTO ? xstrndup(e->bls.title)
				     : xprintf("%s pages", page_size_title(e->page_size));
}

json_object *json_next_boot(const struct next_boot *next)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "id", next->entry ? json_span(next->entry->id) : NULL);
	json_object_object_add(o, "page_size", next->entry ? json_page_size(next->entry->page_size) : NULL);
	json_object_object_add(o, "reason", json_text(next->explanation));
	return o;
}

const char *next_boot_condition(const struct entry_set *set)
{
	return set->running_system && !set->loader && !set->grub ? ", if granule-boot is started" : "";
}

void action(struct actions *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *line = xvprintf(format, args);
	va_end(args);
	if (!a->options->json)
		say(stdout, "%s%s", a->options->dry_run ? "would have: " : "", line);
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
		if (a->findings)
			json_object_object_add(o, "findings", a->findings);
		json_print(o);
	} else {
		if (!a->done.n && !a->failed)
			puts("nothing to change");
		if (set && next.entry) {
			_cleanup_free_ char *what = boots_text(next.entry);
			say(stdout, "next boot%s: %s, %s", next_boot_condition(set), what, next.explanation);
			say(stdout, "%11s%.*s", "", (int)next.entry->id.n, next.entry->id.p);
		} else if (set) {
			puts("next boot: no entry can be started");
		}
	}
	strings_free(&a->done);
	return a->failed ? EXIT_FAILED : EXIT_DONE;
}
