/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's configuration. Input: ROOM|PATH|TEXT; ROOM is a letter: memory of as many bytes as its code, or all
 * that is ever needed if the field is empty. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/grub_cfg.h>

struct place {
	struct span text, memory;
	unsigned depth;
	size_t index[GRUB_CFG_MAX_DEPTH + 1];
};

static void check_span(const struct place *p, struct span s)
{
	CHECK(fuzz_inside(p->memory, s) || fuzz_inside(p->text, s));
	CHECK(!fuzz_has(s, '\r') && !fuzz_has(s, 0));
}

/* A submenu is followed by what is in it, so that the depth grows by one at a time, behind a submenu alone.
 */
static void check_item(struct place *p, const struct grub_item *item)
{
	CHECK(item->depth <= p->depth && item->depth <= GRUB_CFG_MAX_DEPTH);
	p->depth = item->depth;
	/* But for a submenu that is dropped in the middle, whose number another gets. */
	CHECK(item->index == p->index[p->depth] || (!p->depth && item->index < p->index[0]));
	p->index[p->depth] = item->index + 1;
	if (item->submenu) {
		CHECK(p->depth < GRUB_CFG_MAX_DEPTH);
		p->index[++p->depth] = 0;
	}

	check_span(p, item->title);
	check_span(p, item->id);
	CHECK(span_equal(item->users, SPAN("-")) || (check_span(p, item->users), true));
	check_span(p, item->linux);
	check_span(p, item->options);
	check_span(p, item->initrd);
	check_span(p, item->devicetree);
	check_span(p, item->chainloader);
	check_span(p, item->fs_uuid);
	if (item->submenu)
		CHECK(!item->linux.n && !item->options.n && !item->initrd.n && !item->variables);
	CHECK(item->offset < p->text.n && !char_is_space(p->text.p[item->offset]));
}

static void check_facts(const struct place *p, const struct grub_cfg_facts *f)
{
	CHECK(!f->default_word.n || !f->default_from.n);
	CHECK(!f->saved_entry || f->default_from.n);
	check_span(p, f->default_word);
	check_span(p, f->default_from);
	check_span(p, f->env_block);
	check_span(p, f->prefix_uuid);
	check_span(p, f->granule_version);
	check_span(p, f->granule_env_uuid);
	check_span(p, f->granule_env_path);
	for (size_t i = 0; i <= PAGE_SIZE_64K; i++)
		check_span(p, f->granule_policy[i]);
	CHECK(f->n_sourced <= 8);
	for (unsigned i = 0; i < f->n_sourced; i++)
		check_span(p, f->sourced[i]);
}

static void check_same_item(const struct grub_item *a, const struct grub_item *b)
{
	CHECK(span_equal(a->title, b->title) && span_equal(a->id, b->id) && span_equal(a->users, b->users));
	CHECK(span_equal(a->linux, b->linux) && span_equal(a->options, b->options));
	CHECK(span_equal(a->initrd, b->initrd) && span_equal(a->devicetree, b->devicetree));
	CHECK(span_equal(a->chainloader, b->chainloader) && span_equal(a->fs_uuid, b->fs_uuid));
	CHECK(a->depth == b->depth && a->index == b->index && a->submenu == b->submenu);
	CHECK(a->variables == b->variables && a->conditional == b->conditional);
}

static void check_end(struct grub_cfg *cfg, struct span text, int error)
{
	struct grub_item item;
	int again = 1;

	CHECK(cfg->pos <= text.n);
	CHECK(error == 0 || error == ERROR_SYNTAX || error == ERROR_TOO_MANY || error == ERROR_SPACE);
	CHECK(error || cfg->pos == text.n);
	CHECK(!grub_cfg_next(cfg, &item, &again) && again == error);
}

/* GRUB drops carriage returns before it looks at anything else. Only the name of a variable ends at one here.
 */
static struct span without_returns(struct fuzz *f, struct span text)
{
	char *copy = fuzz_alloc(f, text.n);
	size_t n = 0;

	if (fuzz_has(text, '$'))
		return text;
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\r')
			copy[n++] = text.p[i];
	return (struct span){ copy, n };
}

/* Reads the text, and once more without carriage returns: all is the same but for the offsets. Given less
 * room, what is read up to there is the same. */
static void check_reading(struct fuzz *f, struct span text, size_t room)
{
	size_t size = GRUB_CFG_MEMORY(text.n);
	struct place p = { .text = text, .memory = { fuzz_alloc(f, size), size } };
	char *other = fuzz_alloc(f, size), *small = fuzz_alloc(f, room);
	struct grub_cfg cfg, twin, tight;
	struct grub_item item, same;
	int error, twin_error, tight_error = 0;

	grub_cfg_open(text, (char *)p.memory.p, size, &cfg);
	grub_cfg_open(without_returns(f, text), other, size, &twin);
	grub_cfg_open(text, small, room, &tight);
	for (size_t n = 0; grub_cfg_next(&cfg, &item, &error); n++) {
		CHECK(n < text.n);
		check_item(&p, &item);
		CHECK(grub_cfg_next(&twin, &same, &twin_error));
		check_same_item(&item, &same);
		if (!tight_error && grub_cfg_next(&tight, &same, &tight_error))
			check_same_item(&item, &same);
		else
			CHECK(tight_error == ERROR_SPACE);
	}
	CHECK(error != ERROR_SPACE);
	CHECK(!grub_cfg_next(&twin, &same, &twin_error) && twin_error == error);
	check_facts(&p, &cfg.facts);
	check_end(&cfg, text, error);
	if (tight_error != ERROR_SPACE)
		CHECK(!grub_cfg_next(&tight, &same, &tight_error) &&
		      (tight_error == error || tight_error == ERROR_SPACE));
}

static void check_path(struct fuzz *f, struct span path)
{
	struct text part = fuzz_text(f, path.n + 1), small = fuzz_text(f, path.n / 2);
	struct text joined = fuzz_text(f, 2 * path.n + 2);
	size_t pos = 0, before = 0;

	for (size_t n = 0; grub_path_next(path, &pos, &part); n++, before = pos) {
		size_t at = 0;
		CHECK(pos > before && pos <= path.n && !part.full);
		fuzz_check_text(&part);
		if (n)
			text_add(&joined, SPAN(">"));
		grub_path_escape(text_span(&part), &joined);
		/* A part alone, written as one, is one. */
		struct text alone = fuzz_text(f, 2 * part.n + 1), back = fuzz_text(f, part.n + 1);
		grub_path_escape(text_span(&part), &alone);
		CHECK(!alone.full);
		CHECK(grub_path_next(text_span(&alone), &at, &back) == (part.n > 0));
		CHECK(at == alone.n && span_equal(text_span(&back), text_span(&part)));
		if (f->n_blocks > FUZZ_MAX_BLOCKS - 8)
			return;
	}
	CHECK(pos == path.n && !joined.full);
	/* Together they are the path again; a sign at the very end stands for nothing. */
	struct span want = path;
	if (joined.n + 1 == want.n)
		want.n--;
	CHECK(span_equal(text_span(&joined), want));
	pos = 0;
	while (grub_path_next(path, &pos, &small))
		fuzz_check_text(&small);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span room = fuzz_field(&f), path = fuzz_field(&f), text = fuzz_rest(&f);

	check_path(&f, path);
	check_reading(&f, text, room.n ? (unsigned char)room.p[0] : GRUB_CFG_MEMORY(text.n));
	fuzz_end(&f);
	return 0;
}
