/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include <granule/cmdline.h>
#include <granule/error.h>
#include <granule/keyval.h>

#include "grub_kernel.h"
#include "grub_menu.h"

#define OUR_SUBMENU SPAN("granule")
#define OUR_PREFIX SPAN("granule-")
#define OUR_AGAIN SPAN("granule-again")

/* A kernel that is still to be looked at: whose file system is GRUB's own is known when all is read. */
struct pending {
	struct loaded_entry *e;
	struct span path, fs_uuid;
	bool conditional;
};

/* What the functions here share while a menu is read. */
struct reader {
	struct grub *grub;
	struct grub_menu *menu;
	struct entry_set *set;
	size_t open[GRUB_CFG_MAX_DEPTH + 1]; /* node of the submenu at each depth */
	struct pending *pending;
	size_t n_pending;
};

bool grub_has_lines(const struct grub *grub)
{
	return grub->facts.granule_version.n > 0;
}

bool grub_has_block(const struct grub *grub)
{
	return grub_has_lines(grub) && grub->own.kind != GRUB_BLOCK_NONE;
}

void grub_menu_free(struct grub_menu *menu)
{
	if (!menu)
		return;
	for (size_t i = 0; i < menu->n; i++)
		free(menu->nodes[i].path);
	free(menu->nodes);
	strings_free(&menu->values);
	free(menu->first_title);
	free(menu);
}

size_t grub_menu_add(struct grub_menu *menu, struct grub_node node)
{
	menu->nodes = xgrow(menu->nodes, menu->n, sizeof(*menu->nodes));
	if (node.index == SIZE_MAX)
		node.index = menu->n_top;
	menu->n_top += node.parent == SIZE_MAX;
	menu->nodes[menu->n] = node;
	return menu->n++;
}

void grub_menu_add_entry(struct entry_set *set, struct loaded_entry *e)
{
	set->entries = xgrow(set->entries, set->n, sizeof(*set->entries));
	e->entry.position = set->n;
	set->entries[set->n++] = &e->entry;
}

/* ---- ids ---- */

/* "PARENT>NAME", each with '>' written twice. */
static char *path_of(const struct grub_menu *menu, size_t parent, struct span name)
{
	const char *above = parent == SIZE_MAX ? NULL : menu->nodes[parent].path;
	size_t size = (above ? strlen(above) : 0) + 2 * name.n + 2;
	char *path = xalloc(size);
	struct text t = text_in(path, size);

	if (above) {
		text_add(&t, span_of(above));
		text_add(&t, SPAN(">"));
	}
	grub_path_escape(name, &t);
	return path;
}

static bool is_alias(struct span name)
{
	for (enum page_size size = PAGE_SIZE_4K; size <= PAGE_SIZE_64K; size++) {
		struct span word = span_of(page_size_word(size));
		if (name.n == OUR_PREFIX.n + word.n && span_equal(span_cut(name, OUR_PREFIX.n, name.n), word))
			return true;
	}
	return false;
}

/* What granule's lines make: their entries stand in one submenu, or at the top level where submenus are
 * switched off. */
static void tell_ours(const struct grub_menu *menu, struct grub_node *node, bool submenu)
{
	const struct grub_node *above = node->parent == SIZE_MAX ? NULL : &menu->nodes[node->parent];

	if (submenu) {
		node->ours = !above && span_equal(node->name, OUR_SUBMENU);
		return;
	}
	if (!span_starts(node->name, OUR_PREFIX))
		return;
	node->ours = !above || (above->ours && above->parent == SIZE_MAX);
	if (!above && span_equal(node->name, OUR_AGAIN))
		node->kind = GRUB_NODE_AGAIN;
	else if (!above && is_alias(node->name))
		node->kind = GRUB_NODE_ALIAS;
}

/* ---- classic: menuentry ---- */

void grub_menu_take_initrds(struct span paths, struct bls_entry *bls)
{
	size_t i = 0;

	while (i < paths.n) {
		while (i < paths.n && char_is_space(paths.p[i]))
			i++;
		size_t start = i;
		while (i < paths.n && !char_is_space(paths.p[i]))
			i++;
		if (i > start && bls->n_initrd < BLS_MAX_INITRD)
			bls->initrd[bls->n_initrd++] = span_cut(paths, start, i);
	}
}

static void note(struct loaded_entry *e, const char *text)
{
	if (!e->note && !e->problem)
		e->note = xstrdup(text);
}

static struct loaded_entry *new_entry(const struct grub_item *item, const char *id)
{
	struct loaded_entry *e = xalloc(sizeof(*e));
	struct bls_entry *bls = &e->entry.bls;

	e->id = xstrdup(id);
	e->entry.type = ENTRY_MENU;
	e->entry.volume = VOLUME_SYSTEM;
	e->entry.id = e->entry.file_name = e->entry.counter.name = span_of(e->id);
	bls->title = item->title;
	bls->options = item->options;
	bls->devicetree = grub_path_without_device(item->devicetree);
	bls->start = item->linux.n ? BLS_START_LINUX : item->chainloader.n ? BLS_START_EFI : BLS_START_NONE;
	bls->path = grub_path_without_device(item->linux.n ? item->linux : item->chainloader);
	e->written = item->linux;
	grub_menu_take_initrds(item->initrd, bls);
	return e;
}

static void postpone(struct reader *r, struct loaded_entry *e, const struct grub_item *item)
{
	r->pending = xgrow(r->pending, r->n_pending, sizeof(*r->pending));
	r->pending[r->n_pending++] = (struct pending){
		.e = e, .path = item->linux, .fs_uuid = item->fs_uuid, .conditional = item->conditional
	};
}

static void look_at_kernels(struct reader *r, struct grub_kernels *kernels)
{
	for (size_t i = 0; i < r->n_pending; i++) {
		struct pending p = r->pending[i];

		grub_kernels_look(kernels, p.e, p.path, p.fs_uuid);
		grub_kernels_look_at_initrds(kernels, p.e);
		if (p.conditional)
			note(p.e, "stands below a condition in grub.cfg: only GRUB knows whether it is in "
				  "the menu");
	}
	free(r->pending);
}

/* An image that granule's lines start as an EFI program lies on the ESP; the generator looked at it, and says
 * in a word which page size it is given. */
static void take_size_of_image(struct loaded_entry *e)
{
	struct span word;
	size_t comma = 0;

	if (!cmdline_get(e->entry.bls.options, SPAN(GRUB_WORD_ENTRY), &word))
		return;
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == ',')
			comma = i + 1;
	e->entry.page_size = page_size_parse(span_cut(word, comma, word.n));
	if (e->entry.page_size != PAGE_SIZE_UNKNOWN)
		e->entry.kind = IMAGE_SELECTABLE;
}

static void add_item(struct reader *r, const struct grub_item *item)
{
	struct grub_node node = {
		.kind = item->submenu ? GRUB_NODE_SUBMENU : GRUB_NODE_ENTRY,
		.parent = item->depth ? r->open[item->depth - 1] : SIZE_MAX,
		.index = r->grub->bls && !item->depth ? SIZE_MAX : item->index,
		.name = item->id.n ? item->id : item->title,
		.title = item->title,
		.position = SIZE_MAX,
	};

	node.path = path_of(r->menu, node.parent, node.name);
	tell_ours(r->menu, &node, item->submenu);
	if (node.kind == GRUB_NODE_ENTRY) {
		_cleanup_free_ char *plain = node.ours ? xstrndup(node.name) : NULL;
		struct loaded_entry *e = new_entry(item, plain ? plain : node.path);

		if (item->linux.n)
			postpone(r, e, item);
		else if (node.ours && item->chainloader.n)
			take_size_of_image(e);
		if (item->users.n && !span_equal(item->users, SPAN("-")))
			note(e, "GRUB asks for a password before it boots it");
		node.position = r->set->n;
		grub_menu_add_entry(r->set, e);
	}
	size_t number = grub_menu_add(r->menu, node);
	if (item->submenu && item->depth <= GRUB_CFG_MAX_DEPTH)
		r->open[item->depth] = number;
}

static void read_cfg(struct reader *r)
{
	struct grub *grub = r->grub;
	struct span text = { grub->cfg_text, grub->cfg_size };
	struct grub_item item;
	struct grub_cfg cfg;
	int error;

	if (!grub->cfg_text)
		return;
	/* It may have been read before, for its facts: the words in it are the same again. */
	if (!grub->cfg_memory)
		grub->cfg_memory = xalloc(GRUB_CFG_MEMORY(grub->cfg_size));
	grub_cfg_open(text, grub->cfg_memory, GRUB_CFG_MEMORY(grub->cfg_size), &cfg);
	while (grub_cfg_next(&cfg, &item, &error))
		add_item(r, &item);
	grub->facts = cfg.facts;
	if (error)
		strings_add(&r->set->skipped,
			    xprintf("%s: line %zu: %s; %s", grub->cfg_path, keyval_line_number(text, cfg.pos),
				    error_text(error),
				    error == ERROR_SYNTAX ? "GRUB leaves out the command or block around it"
							  : "what follows is not listed"));
}

int grub_menu_read(const struct options *o, struct grub *grub, uint16_t machine, struct entry_set *set)
{
	const char *folder = grub->bls && grub->bls_files ? grub->bls_files : o->root;
	struct reader r = { .grub = grub, .menu = xalloc(sizeof(*r.menu)), .set = set };
	int error = 0;

	*r.menu = (struct grub_menu){ 0 };
	grub->menu = r.menu;
	/* blscfg stands in front of what other scripts make. */
	struct grub_kernels *kernels = grub_kernels_new(o, folder, machine, set);
	if (grub->bls)
		error = grub_bls_read(o, grub, kernels, set);
	if (error == 0)
		read_cfg(&r);
	grub_kernels_own_uuid(kernels, grub->facts.prefix_uuid);
	look_at_kernels(&r, kernels);
	if (error == 0)
		grub_kernels_find_twins(kernels);
	grub_kernels_free(kernels);
	return error;
}
