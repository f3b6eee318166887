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

/* Words that stand for a variable may be any number of words; ours at the end depend on the boot. */
static enum likeness compare_options(struct span running, struct span options)
{
	struct cmdline_word here, there;
	size_t at = 0, from = 0;
	bool variable = false, more = cmdline_next(running, &at, &here);

	while (cmdline_next(options, &from, &there)) {
		if (memchr(there.text.p, '$', there.text.n)) {
			variable = true;
			continue;
		}
		while (variable && more && !span_equal(here.text, there.text))
			more = cmdline_next(running, &at, &here);
		if (!more || !span_equal(here.text, there.text))
			return SAME_FILE;
		more = cmdline_next(running, &at, &here);
	}
	if (!more)
		return variable ? SAME_BUT_FOR : SAME;
	return variable ? SAME_BUT_FOR : SAME_FILE;
}

/* The running line without what the loader and this boot added to it. */
static char *running_options(const char *cmdline)
{
	return boot_words_remove(cmdline, NULL);
}

static bool has_kernel(const struct entry *e, struct span image)
{
	return e->bls.start == BLS_START_LINUX &&
	       (same_file(image, loaded(e)->written) || same_file(image, e->bls.path));
}

static enum likeness compare(const struct entry *e, struct span image, struct span running)
{
	struct span word;

	if (e->type == ENTRY_AUTO || !has_kernel(e, image))
		return DIFFERENT;
	/* One of ours would have been named. A package's may have its command line from the boot of a trial.
	 */
	if ((e->type == ENTRY_MENU || e->bls.trial) &&
	    cmdline_get(e->bls.options, SPAN(GRUB_WORD_ENTRY), &word))
		return DIFFERENT;
	_cleanup_free_ char *line = xstrndup(e->bls.options), *options = boot_words_remove(line, NULL);
	return compare_options(running, span_of(options));
}

const struct entry *grub_booted(const struct entry_set *set, const char *cmdline)
{
	_cleanup_free_ char *record = boot_words_record(cmdline), *running = running_options(cmdline);
	struct span image, value;
	const struct entry *named = NULL, *best = NULL;
	enum likeness likeness = DIFFERENT;
	bool several = false;

	if (record && boot_record_get(span_of(record), SPAN("entry"), &value)) {
		_cleanup_free_ char *id = xstrndup(value);
		named = entry_set_by_id(set, id);
	}
	if (!cmdline_get(span_of(cmdline), SPAN("BOOT_IMAGE"), &image))
		return named;
	/* A command line that was taken over from another kernel names that one's entry. */
	if (named && (named->bls.start != BLS_START_LINUX || has_kernel(named, image)))
		return named;
	for (size_t i = 0; i < set->n; i++) {
		enum likeness found = compare(set->entries[i], image, span_of(running));

		if (found == DIFFERENT || found < likeness)
			continue;
		if (found > likeness) {
			best = set->entries[i];
			several = false;
		} else if (found < SAME && !grub_boots_same(best, set->entries[i])) {
			/* Of those that do the same it is the first: GRUB shows many twice. */
			several = true;
		}
		likeness = found;
	}
	return several ? NULL : best;
}

bool grub_boots_same(const struct entry *a, const struct entry *b)
{
	if (a == b)
		return true;
	return a->type == b->type && a->bls.trial == b->bls.trial && a->bls.start == b->bls.start &&
	       a->page_size == b->page_size && span_equal(a->bls.path, b->bls.path) &&
	       span_equal(a->bls.options, b->bls.options);
}
