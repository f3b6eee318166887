/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `set` and `once`: what boots from now on, what boots next time only. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "loaders/loader.h"
#include "trial.h"

/* Tells whether the next boots will be as wished, and why not. */
static int confirm(struct change *c, enum page_size size, const struct entry *entry)
{
	struct next_boot by_default;

	default_boot(&c->set, &by_default);
	const struct entry *e = by_default.entry;
	if (e && (entry ? e == entry : e->page_size == size))
		return 0;
	complain("stored, but the next boots will not be so: %s", by_default.explanation);
	c->actions.failed = true;
	return 0;
}

/* Whether a policy for a size would lead to an entry of this system; says why not. */
static bool policy_leads_somewhere(const struct change *c, enum page_size size)
{
	const struct entry *own = loader_policy_entry(c, size);
	enum choose_outcome why;
	size_t i = choose_newest(&c->set.input, size, NULL, &why);
	const struct entry *newest = i == SIZE_MAX ? NULL : c->set.entries[i];

	if (own && (own == newest || !loader_of(&c->set)->policies))
		return true;
	if (newest && !own && newest->counter.present)
		complain("%s: counts its tries, which %s does not heed in a default; boot it with 'granule "
			 "once' and let systemd-bless-boot take the counter away (--force stores the policy "
			 "all the same)",
			 loaded(newest)->id, c->set.loader);
	else if (newest)
		complain(
			"%s: is the newest entry with %s pages, and another system's; set one of this system "
			"by its id (--force stores the policy all the same)",
			loaded(newest)->id, page_size_title(size));
	else
		complain(why == OUTCOME_UNSUPPORTED
				 ? "this CPU lacks %s pages (--force stores it all the same)"
				 : "no entry with %s pages can boot (--force stores it all the same)",
			 page_size_title(size));
	entry_set_print_candidates(&c->set, NULL, NULL);
	return false;
}

static int set_size(struct change *c, enum page_size size)
{
	if (!c->o->force && !policy_leads_somewhere(c, size))
		return -ENOENT;
	int r = loader_of(&c->set)->set_policy(c, size);
	return r < 0 ? r : confirm(c, size, NULL);
}

/* What makes an entry a bad default. */
static const char *default_obstacle(const struct change *c, const struct entry *e)
{
	if (!entry_starts_system(e))
		return "starts no system, as a default it is passed over";
	if (e->type == ENTRY_MENU && e->bls.start == BLS_START_NONE)
		return "it has no kernel, what it starts is not known";
	return entry_obstacle(&c->set, e);
}

static int set_entry(struct change *c, const struct entry *e)
{
	const char *id = loaded(e)->id, *obstacle = default_obstacle(c, e);
	int r;

	if (obstacle && (!c->o->force || e->bls.trial)) {
		complain("%s: %s%s", id, obstacle, e->bls.trial ? "" : " (--force stores it all the same)");
		return -EINVAL;
	}
	r = loader_of(&c->set)->set_default(c, e);
	return r < 0 ? r : confirm(c, PAGE_SIZE_UNKNOWN, e);
}

/* Runs one of the two commands. A trial that waits for its boot is given up when its one-shot goes. */
static int run(const struct options *o, const char *command, bool new_default,
	       int (*store)(struct change *c, const char *word))
{
	const char *word = o->arguments[0];
	_cleanup_free_ char *whole = xprintf("granule %s %s", command, word);
	struct waiting waiting;
	struct change c;

	if (options_other_page_size(word))
		return EXIT_USAGE;
	if (waiting_open(o, &waiting) < 0 || change_start(o, &c) < 0) {
		waiting_close(&waiting);
		return EXIT_FAILED;
	}
	waiting_look(&waiting, &c);
	int r = store(&c, word);
	int settled = waiting_settle(&waiting, &c, whole, new_default && r == 0);
	waiting_close(&waiting);
	return change_end(&c, r < 0 ? r : settled);
}

static int set_word(struct change *c, const char *word)
{
	enum page_size size = page_size_parse_typed(span_of(word));

	if (strcmp(word, "none") == 0)
		return loader_of(&c->set)->set_none(c);
	if (size != PAGE_SIZE_UNKNOWN)
		return set_size(c, size);
	const struct entry *e = entry_set_resolve(&c->set, word, &size);
	return e ? set_entry(c, e) : -ENOENT;
}

int cmd_set(const struct options *o)
{
	return run(o, "set", true, set_word);
}

static int once_entry(struct change *c, const struct entry *e)
{
	const struct loader *loader = loader_of(&c->set);
	const char *obstacle = entry_obstacle(&c->set, e);
	struct next_boot next;
	/* A one-shot is the owner's own word: a bad entry may be tried again. */
	bool may = !obstacle || (!e->unusable && entry_supported(e, c->set.cpu));

	if (!may) {
		complain("%s: %s", loaded(e)->id, obstacle);
		return -EINVAL;
	}
	const char *why = loader->oneshot_obstacle(c);
	if (why && !c->o->force) {
		complain("%s: a one-shot cannot be armed: %s (--force arms it all the same)",
			 c->set.loader ? c->set.loader : loader->name, why);
		return -ENOTSUP;
	}
	int r = loader->arm(c, loaded(e)->id);
	if (r < 0)
		return r;
	next_boot(&c->set, &next);
	if (next.entry != e) {
		complain("armed, but the next boot will not be so: %s", next.explanation);
		c->actions.failed = true;
	}
	return 0;
}

static int once_word(struct change *c, const char *word)
{
	enum page_size size;

	if (strcmp(word, "none") == 0)
		return loader_of(&c->set)->disarm(c);
	const struct entry *e = entry_set_resolve(&c->set, word, &size);
	return e ? once_entry(c, e) : -ENOENT;
}

int cmd_once(const struct options *o)
{
	return run(o, "once", false, once_word);
}
