/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /etc/grub.d/09_granule has to know, in one call: kernels, page sizes, what a policy stands for, where
 * the environment block is, and the owner's kernel command line as words of a GRUB script. Lines of fields
 * with tabs between them; a field that has nothing to say is "-". Described in granule(1). */
#include <string.h>

#include "entry_set.h"
#include "env_file.h"
#include "grub/grub.h"
#include "grub/grub_kernels.h"
#include "grub/grub_words.h"
#include "records.h"
#include "report.h"
#include "variables.h"

struct answer {
	const struct options *o;
	bool bls;
	struct places places;
	bool has_places;
	char *block;           /* file of the environment block; NULL if GRUB can write none */
	const char *block_in;  /* "esp", "folder" */
	char *reason;          /* why it is not on the ESP; NULL */
	enum page_size policy; /* PAGE_SIZE_UNKNOWN: none */
	struct grub_kernels kernels;
	struct entry_set set; /* with `bls` */
	bool has_set;
	char *by_size[PAGE_SIZE_64K + 1]; /* ids; NULL */
};

/* ---- the environment block ---- */

/* A place for the block, unless GRUB could not write there. */
static bool try_block(struct answer *a, char *taken_path, const char *where)
{
	char *obstacle = grub_write_obstacle(a->o, taken_path);

	if (!obstacle) {
		a->block = taken_path;
		a->block_in = where;
		return true;
	}
	_cleanup_free_ char *before = a->reason;
	a->reason = before ? xprintf("%s; %s", before, obstacle) : xstrdup(obstacle);
	free(obstacle);
	free(taken_path);
	return false;
}

static char *grub_folder(const struct options *o)
{
	char *folder = path_join(o->root, "boot/grub2");

	if (path_exists(folder))
		return folder;
	free(folder);
	return path_join(o->root, "boot/grub");
}

static void find_block(struct answer *a)
{
	_cleanup_free_ char *folder = grub_folder(a->o);

	if (!a->has_places || !a->places.esp)
		a->reason = xstrdup("no EFI system partition was found");
	else if (try_block(a, path_join(a->places.esp, ENV_PATH.p + 1), "esp"))
		return;
	try_block(a, path_join(folder, "granule.env"), "folder");
}

/* The policy that GRUB finds in the block; where it will not find one that of the variable, which commands of
 * other loaders keep. */
static void read_policy(struct answer *a)
{
	_cleanup_free_ char *block = NULL, *variable = NULL;
	char buffer[ENV_BLOCK_SIZE];
	struct text t = text_in(buffer, sizeof(buffer));
	size_t size, offset;

	if (a->block && read_file(a->block, ENV_BLOCK_SIZE, &block, &size) == 0 &&
	    env_block_check(block, size, &offset) == 0) {
		if (env_block_get(block, ENV_POLICY, &t) == 0)
			a->policy = page_size_parse(text_span(&t));
		return;
	}
	variable = variable_get(VENDOR_GRANULE, "GranulePolicy");
	a->policy = page_size_parse(span_of(variable));
}

/* ---- kernels ---- */

/* Somebody made it the default all the same, and it was found in order. */
static bool verified_since(struct state *state, const struct trial *trial)
{
	struct verified v;
	bool since = verified_read(state, &v) == 0 && v.current.entry &&
		     strcmp(v.current.entry, trial->target) == 0 && v.current.time >= trial->time;

	verified_free(&v);
	return since;
}

/* What failed its trial, or still has to pass it, is no page size's entry. */
static char *id_to_avoid(const struct options *o)
{
	struct state state;
	struct trial trial;
	char *id = NULL;

	state_open(o, &state);
	if (trial_read(&state, &trial) == 0) {
		if (trial.stage != TRIAL_PASSED && trial.target && !verified_since(&state, &trial))
			id = xstrdup(trial.target);
		trial_free(&trial);
	}
	state_close(&state);
	return id;
}

static int read_bls(struct answer *a, const char *avoid)
{
	struct choose_input input;
	enum choose_outcome why;
	int r = a->has_places ? entry_set_load(a->o, &a->places, &a->set) : -1;

	if (r < 0)
		return r;
	a->has_set = true;
	_cleanup_free_ const struct entry **entries = xalloc((a->set.n + 1) * sizeof(*entries));
	input = a->set.input;
	input.entries = entries;
	input.n_entries = 0;
	for (size_t i = 0; i < a->set.n; i++)
		if (!avoid || !span_equal(a->set.entries[i]->id, span_of(avoid)))
			entries[input.n_entries++] = a->set.entries[i];
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++) {
		size_t i = choose_newest(&input, s, NULL, &why);
		a->by_size[s] = i == SIZE_MAX ? NULL : xstrndup(entries[i]->id);
	}
	return 0;
}

static void read_kernels(struct answer *a, const char *avoid)
{
	grub_kernels_find(a->o, a->has_places ? a->places.esp : NULL, a->policy, avoid, &a->kernels);
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (a->kernels.by_size[s])
			a->by_size[s] = xstrdup(a->kernels.by_size[s]->id);
}

/* ---- as lines ---- */

/* A value that cannot stand in a field is none; who reads the lines would take it for two. */
static const char *field(const char *value)
{
	return value && *value && !value[strcspn(value, "\t\n")] ? value : "-";
}

static void print_words(const char *name, const char *variable)
{
	const char *text = getenv(variable);
	struct grub_words words;

	if (!text)
		return;
	grub_words_quote(text, &words);
	if (words.open)
		complain("%s: a quote is not closed; it was taken to reach to the end", variable);
	printf("%s\t%s\t%s\t%s\n", name, field(words.all), field(words.without_size), field(words.behind));
	grub_words_free(&words);
}

static const char *size_or_none(enum page_size size)
{
	return size == PAGE_SIZE_UNKNOWN ? "-" : page_size_word(size);
}

static void print_lines(const struct answer *a)
{
	printf("granule-grub\t1\n");
	printf("policy\t%s\n", size_or_none(a->policy));
	printf("block\t%s\t%s\t%s\n", field(a->block_in), field(a->block), field(a->reason));
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		if (a->by_size[s])
			printf("class\t%s\t%s\n", page_size_word(s), a->by_size[s]);
	print_words("options", "GRANULE_CMDLINE");
	print_words("recovery", "GRANULE_CMDLINE_RECOVERY");
	for (size_t i = 0; i < a->kernels.n; i++) {
		const struct grub_kernel *k = a->kernels.items[i];
		printf("entry\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k->id, page_size_word(k->entry.page_size),
		       k->image ? "image" : image_kind_name(k->entry.kind), field(k->folder), k->file,
		       k->name, field(k->initrd), k->built_in ? "built-in" : "-");
	}
	if (a->bls)
		printf("count\t%zu\n", a->set.n);
	/* So that a reader knows that it has all of it. */
	printf("end\n");
}

/* ---- as JSON ---- */

static json_object *json_kernel(const struct grub_kernel *k)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_text(k->id));
	json_object_object_add(o, "page_size", json_page_size(k->entry.page_size));
	json_object_object_add(o, "kind", json_text(image_kind_name(k->entry.kind)));
	json_object_object_add(o, "image", json_object_new_boolean(k->image));
	json_object_object_add(o, "folder", json_text(k->folder));
	json_object_object_add(o, "file", json_text(k->file));
	json_object_object_add(o, "name", json_text(k->name));
	json_object_object_add(o, "release", json_text(k->release));
	json_object_object_add(o, "initrd", json_text(k->initrd));
	json_object_object_add(o, "initramfs_built_in", json_object_new_boolean(k->built_in));
	json_object_object_add(o, "spare", json_object_new_boolean(k->spare));
	return o;
}

static void print_json(const struct answer *a)
{
	json_object *o = json_object_new_object(), *block = json_object_new_object(),
		    *classes = json_object_new_object(), *entries = json_object_new_array();

	json_object_object_add(o, "policy", a->policy ? json_text(page_size_word(a->policy)) : NULL);
	json_object_object_add(block, "in", json_text(a->block_in));
	json_object_object_add(block, "path", json_text(a->block));
	json_object_object_add(block, "reason", json_text(a->reason));
	json_object_object_add(o, "block", block);
	for (enum page_size s = PAGE_SIZE_4K; s <= PAGE_SIZE_64K; s++)
		json_object_object_add(classes, page_size_word(s), json_text(a->by_size[s]));
	json_object_object_add(o, "classes", classes);
	json_object_object_add(o, "bls", json_object_new_boolean(a->bls));
	for (size_t i = 0; i < a->kernels.n; i++)
		json_object_array_add(entries, json_kernel(a->kernels.items[i]));
	json_object_object_add(o, "entries", entries);
	json_print(o);
}

int cmd_grub(const struct options *o)
{
	struct answer a = { .o = o };
	int r = 0;

	if (o->n_arguments) {
		a.bls = strcmp(o->arguments[0], "bls") == 0;
		if (!a.bls && strcmp(o->arguments[0], "menu") != 0) {
			complain("grub: %s: menu or bls is expected", o->arguments[0]);
			return EXIT_USAGE;
		}
	}
	a.has_places = places_find(o, &a.places) == 0;
	find_block(&a);
	read_policy(&a);
	_cleanup_free_ char *avoid = id_to_avoid(o);
	if (a.bls)
		r = read_bls(&a, avoid);
	else
		read_kernels(&a, avoid);
	if (r == 0 && o->json)
		print_json(&a);
	else if (r == 0)
		print_lines(&a);
	grub_found_free(&a.kernels);
	if (a.has_set)
		entry_set_free(&a.set);
	if (a.has_places)
		places_free(&a.places);
	for (enum page_size s = PAGE_SIZE_UNKNOWN; s <= PAGE_SIZE_64K; s++)
		free(a.by_size[s]);
	free(a.block);
	free(a.reason);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
