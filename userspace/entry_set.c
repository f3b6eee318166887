/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/keyval.h>

#include "entry_read.h"
#include "env_file.h"
#include "grub/grub_menu.h"
#include "loaders/loader.h"
#include "system.h"
#include "variables.h"

#define CONF_FILE_MAX (64 << 10)

void entry_set_input(struct entry_set *set)
{
	if (set->grub) {
		grub_input(set);
		return;
	}
	loader_conf_parse((struct span){ set->conf_text, set->conf_size }, &set->conf);
	set->input = (struct choose_input){
		.entries = (const struct entry *const *)set->entries,
		.n_entries = set->n,
		.cpu = set->cpu,
		.last_booted = span_of(set->last_booted),
		.oneshot = span_of(set->oneshot),
		.preferred = set->has_preferred ? span_of(set->preferred) : SPAN_NONE,
		.preferred_config = set->has_preferred ? set->conf.preferred_pattern : SPAN_NONE,
		.default_variable = span_of(set->default_variable),
		.default_config = set->conf.default_pattern,
		.policy = loader_conf_policy(&set->conf, span_of(set->policy_variable)),
	};
	if (set->env && set->backend->env_block && set->conf.env_block)
		env_wishes_apply(set->env, span_of(set->policy_variable), set->env_values, &set->input);
	set->policy = set->input.policy;
	if (!set->backend->policies)
		set->input.policy = PAGE_SIZE_UNKNOWN;
}

static bool is_loader(const char *info, const char *name)
{
	return info && strncmp(info, name, strlen(name)) == 0;
}

/* What the loader can do. A loader that is not known is taken for granule-boot, which is to be installed. */
static void read_loader(struct entry_set *set)
{
	set->loader = variable_get(VENDOR_LOADER, "LoaderInfo");
	set->features = variable_get_u64(VENDOR_LOADER, "LoaderFeatures", 0);
	/* As the interface has it for versions that did not tell yet. */
	if (!set->features && is_loader(set->loader, "systemd-boot"))
		set->features = FEATURE_CONFIG_TIMEOUT | FEATURE_ENTRY_DEFAULT | FEATURE_ENTRY_ONESHOT;
	/* Read from the device tree, which does not hold it. */
	if (!set->features && is_loader(set->loader, GRANULE_BOOT_NAME))
		set->features = FEATURE_ENTRY_DEFAULT | FEATURE_ENTRY_ONESHOT | FEATURE_PREFERRED;
	set->backend = loader_by_info(set->loader);
	set->has_preferred = !set->loader || (set->features & FEATURE_PREFERRED);
}

static bool has_granule_boot(const struct places *places)
{
	static const char *const files[] = { "EFI/granule/granule-bootaa64.efi",
					     "EFI/granule/granule-bootx64.efi" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = path_join(places_folder(places, VOLUME_OWN), files[i]);
		if (path_exists(path))
			return true;
	}
	return false;
}

/* Whether GRUB picks what boots. Up to version 2.06 it takes no part in the Boot Loader Interface; it puts a
 * word on the command line. Another loader that says so started this system, or is to be installed. */
static bool grub_picks(const struct options *o, const struct places *places, const struct entry_set *set)
{
	_cleanup_free_ char *running = set->running_system ? system_cmdline(o) : NULL;
	struct span value;

	if (is_loader(set->loader, "GRUB"))
		return true;
	if (set->loader || has_granule_boot(places))
		return false;
	return !running || cmdline_get(span_of(running), SPAN("BOOT_IMAGE"), &value);
}

static int read_grub(const struct options *o, struct places *places, struct entry_set *set)
{
	struct grub *grub = grub_picks(o, places, set) ? xalloc(sizeof(*grub)) : NULL;
	int r = grub ? grub_find(o, places, grub) : -ENOENT;

	if (r < 0) {
		free(grub);
		return r == -ENOENT ? 0 : r;
	}
	set->grub = grub;
	free(places->system);
	places->system = xstrdup(grub->bls ? grub->bls_files : o->root);
	return 0;
}

/* As the boot manager does, a file that cannot be read is passed over, with a word. */
static void read_conf(const struct places *places, struct entry_set *set)
{
	_cleanup_free_ char *path = path_join(places_folder(places, VOLUME_OWN), "loader/loader.conf");
	int r = read_file(path, CONF_FILE_MAX, &set->conf_text, &set->conf_size);

	if (r < 0) {
		set->conf_text = xstrdup("");
		set->conf_size = 0;
	}
	if (r < 0 && r != -ENOENT) {
		set->conf_problem = r == -EFBIG ? "larger than 64 KiB" : strerror(-r);
		complain("%s: %s; passed over", path, set->conf_problem);
	} else if (memchr(set->conf_text, 0, set->conf_size)) {
		set->conf_problem = "holds a NUL byte; repair it first";
	}
}

void entry_set_complain_conf(const struct entry_set *set)
{
	if (set->conf.has_bad)
		complain("loader.conf: line %zu: value not understood, line skipped",
			 keyval_line_number((struct span){ set->conf_text, set->conf_size },
					    set->conf.bad_offset));
}

int entry_set_load(const struct options *o, struct places *places, struct entry_set *ret)
{
	*ret = (struct entry_set){ .cpu = system_cpu(), .running_system = !system_is_other(o) };
	read_loader(ret);
	ret->oneshot = variable_get(VENDOR_LOADER, "LoaderEntryOneShot");
	ret->preferred = variable_get(VENDOR_LOADER, "LoaderEntryPreferred");
	ret->default_variable = variable_get(VENDOR_LOADER, "LoaderEntryDefault");
	ret->last_booted = variable_get(VENDOR_LOADER, "LoaderEntryLastBooted");
	ret->policy_variable = variable_get(VENDOR_GRANULE, "GranulePolicy");
	ret->own_path = variable_get(VENDOR_LOADER, "LoaderImageIdentifier");
	int r = read_grub(o, places, ret);
	if (r < 0) {
		entry_set_free(ret);
		return r;
	}
	read_conf(places, ret);
	env_file_read(places, ret);
	ret->env_values = xalloc(ENV_BLOCK_SIZE);

	r = ret->grub ? grub_menu_read(o, ret->grub, system_machine(o), ret)
		      : entry_read_all(places, system_machine(o), ret);
	if (r < 0) {
		entry_set_free(ret);
		return r;
	}
	/* Without granule's lines grub.cfg hands no words to a kernel, and nothing stands for a policy in it.
	 */
	if (ret->grub)
		ret->backend =
			!ret->grub->bls && grub_has_block(ret->grub) ? &loader_grub : &loader_grub_given;
	_cleanup_free_ struct entry **scratch = xalloc(ret->n * sizeof(*scratch));
	/* GRUB shows them in the order of its file. */
	if (!ret->grub)
		entry_sort(ret->entries, scratch, ret->n);
	entry_set_input(ret);
	return 0;
}

void entry_set_free(struct entry_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		entry_free(loaded(set->entries[i]));
	free(set->entries);
	free(set->loader);
	free(set->oneshot);
	free(set->preferred);
	free(set->default_variable);
	free(set->policy_variable);
	free(set->last_booted);
	free(set->own_path);
	free(set->conf_text);
	free(set->env);
	free(set->env_values);
	if (set->grub) {
		grub_menu_free(set->grub->menu);
		grub_free(set->grub);
	}
	free(set->grub);
	strings_free(&set->skipped);
	*set = (struct entry_set){ 0 };
}

/* Of entries in loader/entries GRUB's id is the name without ".conf"; people and other tools write it with
 * that. */
static struct span id_for_grub(const struct entry_set *set, struct span id)
{
	return set->grub && set->grub->bls && span_ends_nocase(id, SPAN(".conf"))
		       ? span_cut(id, 0, id.n - strlen(".conf"))
		       : id;
}

static const struct entry *find_id(const struct entry_set *set, struct span id)
{
	id = id_for_grub(set, id);
	for (size_t i = 0; i < set->n; i++)
		if (span_equal_nocase(set->entries[i]->id, id))
			return set->entries[i];
	return NULL;
}

const struct entry *entry_set_by_id(const struct entry_set *set, const char *id)
{
	struct boot_counter counter;
	const struct entry *e = id ? find_id(set, span_of(id)) : NULL;

	if (e || !id || !boot_counter_parse(span_of(id), &counter) || !counter.present)
		return e;
	_cleanup_free_ char *without = xalloc(strlen(id) + 1);
	struct text t = text_in(without, strlen(id) + 1);
	boot_counter_id(&counter, &t);
	return find_id(set, text_span(&t));
}

const char *entry_size_title(const struct entry *e)
{
	bool no_kernel = e->type == ENTRY_AUTO || (e->type == ENTRY_MENU && e->bls.start == BLS_START_NONE);

	return no_kernel ? "-" : page_size_title(e->page_size);
}

bool entry_has_release(const struct entry *e, const char *release)
{
	return span_equal(e->release.n ? e->release : e->bls.version, span_of(release));
}

const char *entry_obstacle(const struct entry_set *set, const struct entry *e)
{
	if (e->unusable)
		return loaded(e)->problem;
	if (!entry_supported(e, set->cpu))
		return "this CPU lacks its page size";
	/* Bad as well, as long as nobody takes its counter away. */
	if (e->bls.trial)
		return "it is the entry of a trial, for one boot only";
	if (boot_counter_state(&e->counter) == STATE_BAD)
		return "it is bad: no tries are left";
	return NULL;
}

/* ---- names that people give ---- */

const char *entry_set_maker(const struct entry_set *set)
{
	const struct loader *loader = set->backend;

	return loader->registered_by ? loader->registered_by(set)
				     : "'granule register' writes entries for the kernels in /boot";
}

void entry_set_print_candidates(const struct entry_set *set, bool (*fits)(const struct entry *, const void *),
				const void *context)
{
	bool any = false;

	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];
		/* Nobody who asks for a kernel means what the loader makes itself, a trial that waits, or
		 * another entry for a kernel that has one. */
		bool meant = e->type != ENTRY_AUTO && !e->bls.trial && !e->twin &&
			     !(e->type == ENTRY_MENU && e->bls.start == BLS_START_NONE);
		if (fits ? !fits(e, context) : !meant)
			continue;
		const char *obstacle = entry_obstacle(set, e);
		if (!any)
			fputs("Candidates:\n", stderr);
		say(stderr, "  %-4s %.*s%s%s%s", entry_size_title(e), (int)e->id.n, e->id.p,
		    obstacle ? " (" : "", obstacle ? obstacle : "", obstacle ? ")" : "");
		any = true;
	}
	if (!any)
		say(stderr, "There are no entries; %s.", entry_set_maker(set));
}

struct newest {
	enum page_size size;
	const struct entry *best;
};

static bool is_newest(const struct entry *e, const void *context)
{
	const struct newest *n = context;

	return e->page_size == n->size && !e->unusable && !e->twin &&
	       span_equal(e->bls.version, n->best->bls.version);
}

/* By id, or by kernel release. Nobody means a trial's copy of an entry who does not say so, or one of several
 * entries that GRUB has for a kernel. */
static bool is_match(const struct entry *e, const void *context)
{
	if (e->twin)
		return entry_matches(e, span_of(context));
	if (e->bls.trial)
		return span_equal_nocase(e->id, span_of(context));
	return entry_matches(e, span_of(context)) || entry_has_release(e, context);
}

static const struct entry *resolve_size(const struct entry_set *set, enum page_size size)
{
	enum choose_outcome why;
	size_t equals;
	size_t i = choose_newest(&set->input, size, &equals, &why);

	if (i == SIZE_MAX) {
		if (why == OUTCOME_UNSUPPORTED)
			complain("this CPU lacks %s pages", page_size_title(size));
		else if (why == OUTCOME_NO_ENTRY)
			complain("no entry has %s pages; %s", page_size_title(size), entry_set_maker(set));
		else
			complain("no entry with %s pages can be used", page_size_title(size));
		entry_set_print_candidates(set, NULL, NULL);
		return NULL;
	}
	if (equals > 1) {
		struct newest n = { size, set->entries[i] };
		complain("several entries with %s pages are equally new, name one", page_size_title(size));
		entry_set_print_candidates(set, is_newest, &n);
		return NULL;
	}
	return set->entries[i];
}

const struct entry *entry_set_resolve(const struct entry_set *set, const char *word, enum page_size *ret_size)
{
	const struct entry *found = NULL;
	size_t n = 0;

	*ret_size = page_size_parse_typed(span_of(word));
	if (*ret_size != PAGE_SIZE_UNKNOWN)
		return resolve_size(set, *ret_size);

	_cleanup_free_ char *id = xstrndup(id_for_grub(set, span_of(word)));
	if (set->grub && (found = find_id(set, span_of(id))))
		return found;
	for (size_t i = 0; i < set->n; i++) {
		if (!is_match(set->entries[i], id))
			continue;
		found = set->entries[i];
		n++;
	}
	if (n == 1)
		return found;
	if (n == 0) {
		complain("%s: no entry has this id or release, and it is no page size (4k, 16k, 64k)", word);
		entry_set_print_candidates(set, NULL, NULL);
	} else {
		complain("%s: fits several entries, name one", word);
		entry_set_print_candidates(set, is_match, word);
	}
	return NULL;
}
