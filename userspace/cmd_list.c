/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "boot_facts.h"
#include "report.h"
#include "trial_entry.h"
#include "variables.h"

static json_object *json_supported(const struct entry *e, page_size_set cpu)
{
	if (cpu == PAGE_SIZE_SET_UNKNOWN || e->page_size == PAGE_SIZE_UNKNOWN)
		return NULL;
	return json_object_new_boolean(entry_supported(e, cpu));
}

static json_object *json_tries(const struct entry *e, uint32_t tries)
{
	return e->counter.present ? json_object_new_int64(tries) : NULL;
}

static json_object *json_volume(const struct entry *e)
{
	if (e->type == ENTRY_AUTO)
		return NULL;
	return json_text(e->volume == VOLUME_SYSTEM     ? "system"
			 : e->volume == VOLUME_XBOOTLDR ? "xbootldr"
							: "esp");
}

/* Only unified images have profiles. */
static json_object *json_profile(const struct entry *e)
{
	return e->bls.start == BLS_START_UKI ? json_object_new_int64(e->bls.profile) : NULL;
}

/* A trial is told apart from an entry that failed too often, though the counter is the same. */
static const char *entry_state(const struct entry *e)
{
	return e->bls.trial ? "trial" : entry_state_name(boot_counter_state(&e->counter));
}

static json_object *json_entry(const struct entry_set *set, const struct entry *e,
			       const struct entry *running, const struct entry *by_default,
			       const struct entry *next)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_span(e->id));
	json_object_object_add(o, "type", json_text(entry_type_name(e->type)));
	json_object_object_add(o, "source", json_text(loaded(e)->source));
	json_object_object_add(o, "volume", json_volume(e));
	json_object_object_add(o, "profile", json_profile(e));
	json_object_object_add(o, "title", json_span(e->bls.title));
	json_object_object_add(o, "version", json_span(e->bls.version));
	json_object_object_add(o, "release", json_span(e->release));
	json_object_object_add(o, "page_size", json_page_size(e->page_size));
	json_object_object_add(o, "kind", json_text(image_kind_name(e->kind)));
	json_object_object_add(o, "image", json_span(e->bls.path));
	json_object_object_add(o, "options", json_span(e->bls.options));
	json_object_object_add(o, "state", json_text(entry_state(e)));
	json_object_object_add(o, "tries_left", json_tries(e, e->counter.left));
	json_object_object_add(o, "tries_done", json_tries(e, e->counter.done));
	json_object_object_add(o, "running", json_object_new_boolean(e == running));
	json_object_object_add(o, "default", json_object_new_boolean(e == by_default));
	json_object_object_add(o, "next", json_object_new_boolean(e == next));
	json_object_object_add(o, "supported", json_supported(e, set->cpu));
	json_object_object_add(o, "problem", json_text(loaded(e)->problem));
	json_object_object_add(o, "note", json_text(loaded(e)->note));
	json_object_object_add(o, "twin", json_object_new_boolean(e->twin));
	return o;
}

static char *state_text(const struct entry_set *set, const struct entry *e)
{
	if (e->type == ENTRY_AUTO)
		return xstrdup("auto");
	if (e->unusable)
		return xstrdup("broken");
	if (!entry_supported(e, set->cpu))
		return xstrdup("not on this CPU");
	if (e->bls.trial)
		return xstrdup(entry_state(e));
	if (boot_counter_state(&e->counter) == STATE_INDETERMINATE)
		return xprintf(e->counter.left == 1 ? "%u try left" : "%u tries left", e->counter.left);
	return xstrdup(entry_state(e));
}

/* One row for each entry; nothing is cut, and the id, which may be long, stands last. Menus of GRUB's can
 * have thousands, for which libsmartcols takes longer than all the rest. */
static void print_table(const struct entry_set *set, const struct entry *running,
			const struct entry *by_default, const struct entry *next)
{
	_cleanup_free_ char **states = xalloc((set->n + 1) * sizeof(*states));
	size_t width = strlen("STATE");

	for (size_t i = 0; i < set->n; i++) {
		states[i] = state_text(set, set->entries[i]);
		if (strlen(states[i]) > width)
			width = strlen(states[i]);
	}
	if (set->n)
		say(stdout, "    SIZE %-*s ID", (int)width, "STATE");
	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];

		say(stdout, "%c%c%c %-4s %-*s %s", e == running ? '*' : ' ', e == by_default ? 'd' : ' ',
		    e == next ? '>' : ' ', entry_size_title(e), (int)width, states[i], loaded(e)->id);
		free(states[i]);
	}
	if (!set->n) {
		say(stdout, "There are no entries; %s.", entry_set_maker(set));
		return;
	}
	puts("\n* running   d default   > next boot");
	for (size_t i = 0; i < set->n; i++) {
		const struct loaded_entry *e = loaded(set->entries[i]);
		if (e->problem || e->note)
			say(stdout, "%s: %s", e->id, e->problem ? e->problem : e->note);
	}
}

int cmd_list(const struct options *o)
{
	struct places places;
	struct entry_set set;
	struct next_boot next, by_default;

	if (places_find(o, &places) < 0)
		return EXIT_FAILED;
	if (entry_set_load(o, &places, &set) < 0) {
		places_free(&places);
		return EXIT_FAILED;
	}
	_cleanup_free_ char *selected = boot_facts_entry(o, &set);
	const struct entry *running = entry_set_by_id(&set, selected);
	/* The copy that a trial booted goes when it is over; the kernel that runs is the same. */
	_cleanup_free_ char *target = running ? NULL : trial_entry_target(selected);
	if (target)
		running = entry_set_by_id(&set, target);
	next_boot(&set, &next);
	default_boot(&set, &by_default);

	if (o->json) {
		json_object *root = json_object_new_object(), *array = json_object_new_array();

		for (size_t i = 0; i < set.n; i++)
			json_object_array_add(array, json_entry(&set, set.entries[i], running,
								by_default.entry, next.entry));
		json_object_object_add(root, "entries", array);
		json_print(root);
	} else {
		print_table(&set, running, by_default.entry, next.entry);
	}
	entry_set_complain_conf(&set);
	for (size_t i = 0; i < set.skipped.n; i++)
		complain("skipped %s", set.skipped.items[i]);
	entry_set_free(&set);
	places_free(&places);
	return EXIT_DONE;
}
