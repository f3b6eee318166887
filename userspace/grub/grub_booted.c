/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entry of GRUB's was booted. GRUB does not say: the kernel's command line is compared with those of
 * the entries. */
#include <string.h>

#include <granule/cmdline.h>

#include "../boot_words.h"
#include "grub_menu.h"

/* "(hd0,gpt2)/vmlinuz" without the device, and without the slashes in front. */
static struct span without_device(struct span path)
{
	size_t at = 0;

	if (path.n && path.p[0] == '(')
		while (at < path.n && path.p[at++] != ')')
			;
	while (at < path.n && path.p[at] == '/')
		at++;
	return span_cut(path, at, path.n);
}

/* `part` is the end of `whole`, from a slash on: a path below the file system, and below the root. */
static bool is_end_of(struct span part, struct span whole)
{
	if (!part.n || part.n > whole.n)
		return false;
	size_t at = whole.n - part.n;
	return span_equal(part, span_cut(whole, at, whole.n)) && (at == 0 || whole.p[at - 1] == '/');
}

static bool same_file(struct span a, struct span b)
{
	a = without_device(a);
	b = without_device(b);
	return is_end_of(a, b) || is_end_of(b, a);
}

enum likeness {
	DIFFERENT,
	SAME_FILE,    /* with other options */
	SAME_BUT_FOR, /* a variable, whose value GRUB knew */
	SAME,
};

/* Next word that is not GRUB's own. */
static bool next_running(struct span line, size_t *pos, struct cmdline_word *ret)
{
	while (cmdline_next(line, pos, ret))
		if (!span_equal(ret->name, SPAN("BOOT_IMAGE")))
			return true;
	return false;
}

/* What stands for a variable may be any number of words. */
static enum likeness compare_options(struct span running, struct span options)
{
	struct cmdline_word here, there;
	size_t at = 0, from = 0;
	bool variable = false, more = next_running(running, &at, &here);

	while (cmdline_next(options, &from, &there)) {
		if (memchr(there.text.p, '$', there.text.n)) {
			variable = true;
			continue;
		}
		while (variable && more && !span_equal(here.text, there.text))
			more = next_running(running, &at, &here);
		if (!more || !span_equal(here.text, there.text))
			return SAME_FILE;
		more = next_running(running, &at, &here);
	}
	return variable ? SAME_BUT_FOR : more ? SAME_FILE : SAME;
}

static bool has_kernel(const struct entry *e, struct span image)
{
	return e->bls.start == BLS_START_LINUX &&
	       (same_file(image, loaded(e)->written) || same_file(image, e->bls.path));
}

static enum likeness compare(const struct entry *e, struct span image, struct span running)
{
	return e->type != ENTRY_AUTO && has_kernel(e, image) ? compare_options(running, e->bls.options)
							     : DIFFERENT;
}

/* The entry whose command line is most like that which runs. */
static const struct entry *most_like(const struct entry_set *set, struct span image, struct span running)
{
	struct span word;
	bool words = cmdline_get(running, SPAN(GRUB_WORD_ENTRY), &word), several = false;
	/* An entry of ours has all its words, or was not started. */
	enum likeness likeness = words ? SAME_FILE : DIFFERENT;
	const struct entry *best = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];
		enum likeness found = compare(e, image, running);

		if (found == SAME_FILE && cmdline_get(e->bls.options, SPAN(GRUB_WORD_ENTRY), &word))
			continue;
		if (found > likeness) {
			best = e;
			several = false;
			likeness = found;
		} else if (best && found == likeness && found < SAME && !grub_boots_same(best, e)) {
			/* Of those that do the same it is the first: GRUB shows many twice. */
			several = true;
		}
	}
	return several ? NULL : best;
}

const struct entry *grub_booted(const struct entry_set *set, const char *cmdline)
{
	struct span running = span_of(cmdline), image;
	_cleanup_free_ char *id = boot_words_entry(cmdline);
	const struct entry *named = entry_set_by_id(set, id);

	/* A command line that was taken over names an entry with another kernel. */
	if (!cmdline_get(running, SPAN("BOOT_IMAGE"), &image) ||
	    (named && (named->bls.start != BLS_START_LINUX || has_kernel(named, image))))
		return named;
	return most_like(set, image, running);
}

bool grub_boots_same(const struct entry *a, const struct entry *b)
{
	if (a == b)
		return true;
	return a->type == b->type && a->bls.trial == b->bls.trial && a->bls.start == b->bls.start &&
	       a->page_size == b->page_size && span_equal(a->bls.path, b->bls.path) &&
	       span_equal(a->bls.options, b->bls.options);
}
