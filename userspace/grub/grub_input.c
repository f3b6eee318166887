/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision as GRUB would make it: what grub.cfg does with the values of its environment blocks. */
#include <string.h>

#include <granule/env_wishes.h>

#include "grub_menu.h"

/* Numbers up to this one are moved by granule's lines, whose entries stand in front. */
#define MOVED_MAX 15

/* How ids of entries of granule's begin. */
#define OWN_PREFIX "granule-"

/* ---- what a default means ---- */

static bool is_child(const struct grub_node *node, size_t parent)
{
	return node->parent == parent;
}

static size_t child_by_name(const struct grub_menu *menu, size_t parent, struct span name)
{
	for (size_t i = 0; i < menu->n; i++)
		if (is_child(&menu->nodes[i], parent) && span_equal(menu->nodes[i].name, name))
			return i;
	for (size_t i = 0; i < menu->n; i++)
		if (is_child(&menu->nodes[i], parent) && span_equal(menu->nodes[i].title, name))
			return i;
	return SIZE_MAX;
}

static size_t child_by_number(const struct grub_menu *menu, size_t parent, uint64_t number)
{
	for (size_t i = 0; i < menu->n; i++)
		if (is_child(&menu->nodes[i], parent) && menu->nodes[i].index == number)
			return i;
	return SIZE_MAX;
}

/* Items at the top level that granule's lines put in front of those of other scripts. */
static uint64_t items_in_front(const struct grub_menu *menu)
{
	uint64_t n = 0;

	for (size_t i = 0; i < menu->n; i++) {
		if (!is_child(&menu->nodes[i], SIZE_MAX))
			continue;
		if (n && !menu->nodes[i].ours)
			break;
		n += menu->nodes[i].ours;
	}
	return n;
}

static size_t find_child(const struct grub *grub, size_t parent, struct span part)
{
	size_t found = child_by_name(grub->menu, parent, part);
	uint64_t number;

	if (found != SIZE_MAX || !span_to_number(part, UINT32_MAX, &number))
		return found;
	if (parent == SIZE_MAX && grub_has_lines(grub) && number <= MOVED_MAX)
		number += items_in_front(grub->menu);
	return child_by_number(grub->menu, parent, number);
}

/* What boots when a submenu is started without saying what in it: its first item, and so on. */
static size_t into_submenus(const struct grub_menu *menu, size_t node)
{
	while (node != SIZE_MAX && menu->nodes[node].kind == GRUB_NODE_SUBMENU)
		node = child_by_number(menu, node, 0);
	return node;
}

static const struct entry *entry_at(const struct entry_set *set, size_t position)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->entries[i]->position == position)
			return set->entries[i];
	return NULL;
}

static const struct entry *entry_by_id(const struct entry_set *set, struct span id)
{
	for (size_t i = 0; i < set->n; i++)
		if (span_equal(set->entries[i]->id, id))
			return set->entries[i];
	return NULL;
}

/* "granule-64k" */
static const struct entry *alias_entry(const struct entry_set *set, const struct grub_node *node)
{
	for (enum page_size size = PAGE_SIZE_4K; size <= PAGE_SIZE_64K; size++) {
		_cleanup_free_ char *name = xprintf("granule-%s", page_size_word(size));
		if (span_equal(node->name, span_of(name)))
			return entry_by_id(set, set->grub->facts.granule_policy[size]);
	}
	return NULL;
}

static const struct entry *entry_of_node(const struct entry_set *set, size_t node)
{
	const struct grub_menu *menu = set->grub->menu;

	node = into_submenus(menu, node);
	if (node == SIZE_MAX)
		return NULL;
	if (menu->nodes[node].kind == GRUB_NODE_ALIAS)
		return alias_entry(set, &menu->nodes[node]);
	return menu->nodes[node].position == SIZE_MAX ? NULL : entry_at(set, menu->nodes[node].position);
}

const struct entry *grub_resolve(const struct entry_set *set, struct span spec)
{
	const struct grub_menu *menu = set->grub->menu;
	_cleanup_free_ char *memory = xalloc(spec.n + 1);
	size_t node = SIZE_MAX, pos = 0;
	bool first = true;

	for (;;) {
		struct text part = text_in(memory, spec.n + 1);
		if (!grub_path_next(spec, &pos, &part))
			break;
		size_t child = find_child(set->grub, node, text_span(&part));
		if (child == SIZE_MAX && first)
			return NULL;
		/* What is not found in a submenu leaves its first item. */
		if (child == SIZE_MAX)
			break;
		node = child;
		first = false;
		if (menu->nodes[node].kind != GRUB_NODE_SUBMENU)
			break;
	}
	return first ? NULL : entry_of_node(set, node);
}

char *grub_path_of_id(const struct entry_set *set, const char *id)
{
	const struct grub_menu *menu = set->grub->menu;
	const struct entry *e = entry_by_id(set, span_of(id));

	for (size_t i = 0; e && i < menu->n; i++)
		if (menu->nodes[i].position == e->position && menu->nodes[i].path)
			return xstrdup(menu->nodes[i].path);
	return xstrdup(id);
}

/* ---- the wishes ---- */

struct job {
	struct entry_set *set;
	struct grub *grub;
	struct choose_input *in;
};

static struct span keep(const struct job *j, char *taken)
{
	strings_add(&j->grub->menu->values, taken);
	return span_of(taken);
}

/* An id as a pattern that names it alone. */
static struct span pattern(const struct job *j, struct span id)
{
	char *out = xalloc(2 * id.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < id.n; i++) {
		if (memchr("*?[]\\", id.p[i], 5))
			out[n++] = '\\';
		out[n++] = id.p[i];
	}
	out[n] = 0;
	return keep(j, out);
}

/* What a value means; as it is written if it means nothing. */
static struct span pattern_of(const struct job *j, const char *value, const struct entry *e)
{
	return pattern(j, e ? e->id : span_of(value));
}

static bool is_readable(const struct grub_block *block)
{
	return block->kind != GRUB_BLOCK_NONE && block->exists && !block->problem;
}

static char *value_of(const struct grub_block *block, struct span name)
{
	char *value = is_readable(block) ? grub_block_get(block, name) : NULL;

	if (value && !*value) {
		free(value);
		value = NULL;
	}
	return value;
}

static const struct entry *first_of_menu(const struct job *j)
{
	return entry_of_node(j->set, child_by_number(j->grub->menu, SIZE_MAX, 0));
}

static void set_first(const struct job *j, const struct entry *e, char *taken_title)
{
	struct grub_menu *menu = j->grub->menu;

	free(menu->first_title);
	menu->first_title = taken_title;
	j->in->first_title = taken_title;
	j->in->first = e ? pattern(j, e->id) : SPAN_NONE;
}

/* Fedora counts boots that nobody called a success, and then takes the second entry, whatever is asked for.
 */
static bool is_counted_down(const struct grub *grub)
{
	_cleanup_free_ char *counter = value_of(&grub->env, SPAN("boot_counter"));
	_cleanup_free_ char *success = value_of(&grub->env, SPAN("boot_success"));

	return grub->facts.fallback_counting && counter && success && strcmp(success, "0") == 0 &&
	       (strcmp(counter, "0") == 0 || strcmp(counter, "-1") == 0);
}

/* The value that `default` has by grub.cfg, and which block or file it comes from. */
static char *owner_default(const struct grub *grub, bool *ret_saved)
{
	char *saved = grub->facts.saved_entry ? value_of(&grub->env, ENV_DEFAULT) : NULL;

	*ret_saved = saved != NULL;
	if (saved)
		return saved;
	return grub->facts.default_word.n ? xstrndup(grub->facts.default_word) : xstrdup("0");
}

static void apply_owner_default(const struct job *j, bool as_wish)
{
	bool saved;
	_cleanup_free_ char *value = owner_default(j->grub, &saved);
	const struct entry *e = grub_resolve(j->set, span_of(value));

	if (is_counted_down(j->grub)) {
		set_first(j, grub_resolve(j->set, SPAN("1")),
			  xstrdup("second entry, since boot_counter of grubenv is used up"));
		return;
	}
	if (saved && as_wish) {
		j->in->default_variable = pattern_of(j, value, e);
		j->in->from_env |= 1u << RULE_DEFAULT;
	}
	if (!saved && j->grub->facts.saved_entry)
		/* Granule's lines move an empty default past their own entries, as they do with 0. */
		set_first(j, grub_resolve(j->set, SPAN("0")),
			  xstrdup("first entry of the menu, since none is saved in grubenv"));
	else if (e)
		set_first(j, e,
			  saved ? xprintf("default of grubenv, %s", value)
				: xprintf("default of grub.cfg, %s", value));
	else
		set_first(j, first_of_menu(j), xprintf("first entry of the menu, since it has no %s", value));
}

/* A one-shot of the owner's, by grub-reboot: it goes before all others. Where it names nothing, GRUB boots
 * the first entry, not the default. Returns whether there is one. */
static bool apply_owner_oneshot(const struct job *j)
{
	_cleanup_free_ char *value = j->grub->facts.next_entry ? value_of(&j->grub->env, ENV_ONESHOT) : NULL;

	if (!value)
		return false;
	const struct entry *e = grub_resolve(j->set, span_of(value));
	j->in->oneshot = pattern_of(j, value, e ? e : first_of_menu(j));
	j->in->from_env |= 1u << RULE_ONESHOT;
	return true;
}

/* An entry by a value of granule's block: ours by their plain ids alone, those of other scripts by their
 * paths. */
static const struct entry *own_entry(const struct job *j, const char *value)
{
	const struct entry *e = entry_by_id(j->set, span_of(value));
	bool ours = strncmp(value, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;

	return e || ours ? e : grub_resolve(j->set, span_of(value));
}

/* Granule's lines know which of their own entries are there. What has another name is handed to GRUB, which
 * boots the first entry if nothing in the menu is called so. */
static bool leads_to_first(const struct job *j, const char *value)
{
	return value && strncmp(value, OWN_PREFIX, strlen(OWN_PREFIX)) != 0 && !own_entry(j, value);
}

static void take_first(const struct job *j, const char *value)
{
	set_first(j, first_of_menu(j), xprintf("first entry of the menu, since it has no %s", value));
}

/* Returns whether nothing else is looked at. */
static bool apply_own_oneshot(const struct job *j)
{
	_cleanup_free_ char *value = value_of(&j->grub->own, ENV_ONESHOT);

	if (!value)
		return false;
	j->in->oneshot = pattern_of(j, value, own_entry(j, value));
	j->in->from_env |= 1u << RULE_ONESHOT;
	/* GRUB obeys it only once it has cleared it. */
	j->in->oneshot_not_cleared = j->grub->own.obstacle != NULL;
	if (j->in->oneshot_not_cleared || !leads_to_first(j, value))
		return false;
	take_first(j, value);
	return true;
}

/* The page size that granule's lines take where their block cannot be read. */
static enum page_size policy_without_block(const struct grub *grub)
{
	static const char setting[] = "set granule_page_size=";
	const char *found = grub_has_lines(grub) ? strstr(grub->cfg_text, setting) : NULL;
	struct span word = { found ? found + strlen(setting) : NULL, 0 };

	while (word.p && (char_is_digit(word.p[word.n]) || char_is_alpha(word.p[word.n])))
		word.n++;
	return page_size_parse(word);
}

/* Whether the boots that an unverified default has are used up; GRUB has to count them, or does not choose
 * it. */
static bool tries_used_up(const struct grub *grub)
{
	_cleanup_free_ char *tries = value_of(&grub->own, GRUB_ENV_TRIES);

	/* It counts from "9" to "0", and takes nothing else for a number. */
	return tries && (strlen(tries) != 1 || tries[0] < '1' || tries[0] > '9' || grub->own.obstacle);
}

/* The default or the policy of granule's block, what it falls back on, and then the owner's. */
static void apply_own_default(const struct job *j)
{
	_cleanup_free_ char *saved = value_of(&j->grub->own, ENV_DEFAULT);
	_cleanup_free_ char *word = value_of(&j->grub->own, ENV_POLICY);
	_cleanup_free_ char *good = value_of(&j->grub->own, GRUB_ENV_GOOD);
	enum page_size policy =
		is_readable(&j->grub->own) ? page_size_parse(span_of(word)) : policy_without_block(j->grub);
	const struct entry *fallback = good ? own_entry(j, good) : NULL;
	bool used_up = tries_used_up(j->grub);

	if (!used_up && saved) {
		j->in->default_variable = pattern_of(j, saved, own_entry(j, saved));
		j->in->from_env |= 1u << RULE_DEFAULT;
	} else if (!used_up && policy != PAGE_SIZE_UNKNOWN) {
		struct span id = j->grub->facts.granule_policy[policy];

		j->in->policy = policy;
		j->in->policy_entry = id.n ? pattern(j, id) : span_of("no entry of that size");
	}
	if (!used_up && leads_to_first(j, saved))
		take_first(j, saved);
	else if ((saved || word || policy != PAGE_SIZE_UNKNOWN) && fallback)
		set_first(j, fallback,
			  used_up ? xstrdup("verified last, since the tries of the default are used up")
				  : xstrdup("verified last"));
}

void grub_input(struct entry_set *set)
{
	struct grub *grub = set->grub;
	struct job j = { .set = set, .grub = grub, .in = &set->input };
	_cleanup_free_ char *own_policy = value_of(&grub->own, ENV_POLICY);
	bool lines = grub_has_block(grub);

	strings_free(&grub->menu->values);
	grub->menu->values = (struct strings){ 0 };
	set->input = (struct choose_input){
		.entries = (const struct entry *const *)set->entries,
		.n_entries = set->n,
		.cpu = PAGE_SIZE_SET_UNKNOWN,
	};
	set->policy = lines && own_policy ? page_size_parse(span_of(own_policy))
					  : page_size_parse(span_of(set->policy_variable));
	if (lines && own_policy)
		set->input.from_env |= 1u << RULE_POLICY;
	apply_owner_default(&j, !grub_has_lines(grub));
	if (is_counted_down(grub))
		return;
	bool to_first = !apply_owner_oneshot(&j) && lines && apply_own_oneshot(&j);
	if (grub_has_lines(grub) && !to_first)
		apply_own_default(&j);
}
