/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `set` and `once`: what boots from now on, what boots next time only.
 *
 * Order of writes: the new wish first, then what would win over it is cleared. If power fails in between, the
 * old wish still wins, and the machine boots as before. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "env_file.h"
#include "registry.h"
#include "wishes.h"

struct job {
	const struct options *o;
	struct places places;
	struct entry_set set;
	struct actions actions;
	bool variables; /* can be written */
	const char *why_not;
};

static int job_start(const struct options *o, struct job *ret)
{
	*ret = (struct job){ .o = o, .actions = { .options = o } };
	if (places_find(o, &ret->places) < 0)
		return -ENOENT;
	int r = places_lock(&ret->places);
	if (r == 0)
		r = entry_set_load(o, &ret->places, &ret->set);
	if (r < 0) {
		places_free(&ret->places);
		return r;
	}
	ret->variables = variables_writable(&ret->why_not);
	return 0;
}

static int job_end(struct job *j, int r)
{
	int exit_code;

	j->actions.failed = j->actions.failed || r < 0;
	/* After an error the line about it is enough, unless something was changed before it. */
	bool silent = r < 0 && !j->o->json && !j->actions.done.n;
	exit_code = silent ? EXIT_FAILED : actions_finish(&j->actions, &j->set);
	entry_set_free(&j->set);
	places_free(&j->places);
	return exit_code;
}

/* What has to be changed on the partition must be possible before any variable is touched. */
static int check_files(const struct job *j)
{
	bool in_conf =
		j->set.has_policy && (j->set.conf.default_pattern.n || j->set.conf.preferred_pattern.n);
	bool in_env = j->set.input.from_env & (1u << RULE_ONESHOT | 1u << RULE_DEFAULT);
	_cleanup_free_ char *path =
		path_join(places_folder(&j->places, VOLUME_OWN), in_conf ? "loader/loader.conf" : ENV_PATH.p);

	if ((!in_conf && !in_env) || access(path, W_OK) == 0)
		return 0;
	int r = -errno;
	complain("%s: a default in it would win, and it cannot be changed: %s", path, strerror(-r));
	return r;
}

/* A wish that is stored in a variable or, where these cannot be written, as a line of loader.conf. */
static int store(struct job *j, const char *variable, const char *key, const char *value)
{
	if (j->variables)
		return wish_variable(&j->actions, &j->set, variable, value);
	return wish_conf(&j->actions, &j->set, &j->places, key, value);
}

/* Clears a wish in both places, since either would win. A variable that cannot be cleared is an error. */
static int clear(struct job *j, const char *variable, const char *current, const char *key)
{
	int r = 0;

	if (current && !j->variables) {
		complain("%s is set to %s and would win, but cannot be cleared: %s", variable, current,
			 j->why_not);
		return -EROFS;
	}
	if (current)
		r = wish_variable(&j->actions, &j->set, variable, NULL);
	if (r == 0 && key)
		r = wish_conf(&j->actions, &j->set, &j->places, key, NULL);
	return r;
}

/* loader.conf is shared. What it says to a loader that goes by it now, and that does not know our policy, is
 * not ours to remove on the way. */
static const char *own_key(const struct job *j, const char *key, struct span pattern)
{
	if (j->set.has_policy || !pattern.n)
		return key;
	complain("%s %.*s stays in loader.conf: it is %s that goes by it now", key, (int)pattern.n, pattern.p,
		 j->set.loader);
	return NULL;
}

/* Clears what wins over a default, and with `default_too` what wins over a policy. */
static int clear_rivals(struct job *j, bool default_too)
{
	int r = 0;

	if (default_too)
		r = clear(j, "LoaderEntryDefault", j->set.default_variable,
			  own_key(j, "default", j->set.conf.default_pattern));
	if (r == 0)
		r = clear(j, "LoaderEntryPreferred", j->set.preferred,
			  default_too ? own_key(j, "preferred", j->set.conf.preferred_pattern) : "preferred");
	if (r == 0)
		r = clear(j, "LoaderEntryOneShot", j->set.oneshot, NULL);
	/* A policy or default of the block would win over one in loader.conf. */
	if (r == 0)
		r = wish_env_clear(&j->actions, &j->set, &j->places,
				   1u << RULE_ONESHOT | 1u << RULE_DEFAULT |
					   (default_too ? 1u << RULE_POLICY : 0));
	return r;
}

/* A variable that stands in the way of a wish in loader.conf cannot be overruled. */
static int check_overrule(const struct job *j, const char *variable, const char *current, const char *wanted)
{
	if (j->variables || !current || strcmp(current, wanted) == 0)
		return 0;
	complain("%s is set to %s and would win, but cannot be changed: %s", variable, current, j->why_not);
	return -EROFS;
}

/* Tells whether the next boots will be as wished, and why not. */
static int confirm(struct job *j, enum page_size size, const struct entry *entry)
{
	struct next_boot by_default;

	default_boot(&j->set, &by_default);
	const struct entry *e = by_default.entry;
	if (e && (entry ? e == entry : e->page_size == size))
		return 0;
	complain("stored, but the next boots will not be so: %s", by_default.explanation);
	j->actions.failed = true;
	return 0;
}

static int set_size(struct job *j, enum page_size size)
{
	const char *word = page_size_word(size);
	enum choose_outcome why;
	int r;

	if (!j->set.has_policy && !j->o->force) {
		complain("%s does not know page-size policies; run 'granule install --once' and reboot, or "
			 "set "
			 "an entry by its id",
			 j->set.loader);
		return -ENOTSUP;
	}
	if (choose_newest(&j->set.input, size, NULL, &why) == SIZE_MAX && !j->o->force) {
		complain(why == OUTCOME_UNSUPPORTED
				 ? "this CPU lacks %s pages (--force stores it all the same)"
				 : "no entry with %s pages can boot (--force stores it all the same)",
			 page_size_title(size));
		entry_set_print_candidates(&j->set, NULL, NULL);
		return -ENOENT;
	}
	r = check_overrule(j, "GranulePolicy", j->set.policy_variable, word);
	if (r == 0)
		r = check_files(j);
	if (r == 0)
		r = store(j, "GranulePolicy", "page-size", word);
	if (r == 0)
		r = clear_rivals(j, true);
	/* Loaders that only know sort keys follow as well. The policy does not depend on it. */
	if (r == 0 && registry_sort(&j->actions, &j->set, size) < 0)
		complain("the order of entries in other loaders stays as it was");
	if (r == 0)
		r = confirm(j, size, NULL);
	return r;
}

/* What makes an entry a bad default. */
static const char *default_obstacle(const struct job *j, const struct entry *e)
{
	if (!entry_starts_system(e))
		return "starts no system, as a default it is passed over";
	return entry_obstacle(&j->set, e);
}

static int set_entry(struct job *j, const struct entry *e)
{
	const char *id = loaded(e)->id, *obstacle = default_obstacle(j, e);
	int r;

	if (obstacle && !j->o->force) {
		complain("%s: %s (--force stores it all the same)", id, obstacle);
		return -EINVAL;
	}
	r = check_overrule(j, "LoaderEntryDefault", j->set.default_variable, id);
	if (r == 0)
		r = store(j, "LoaderEntryDefault", "default", id);
	if (r == 0)
		r = clear_rivals(j, false);
	if (r == 0)
		r = confirm(j, PAGE_SIZE_UNKNOWN, e);
	return r;
}

static int set_none(struct job *j)
{
	int r = clear(j, "GranulePolicy", j->set.policy_variable, "page-size");

	if (r == 0)
		r = clear_rivals(j, true);
	return r;
}

/* "32k" means a page size, and no entry: that is said before a partition is looked for. */
static bool is_other_size(const char *word)
{
	size_t digits = strspn(word, "0123456789");

	if (!digits || (strcasecmp(word + digits, "k") != 0 && strcasecmp(word + digits, "kb") != 0) ||
	    page_size_parse_typed(span_of(word)) != PAGE_SIZE_UNKNOWN)
		return false;
	complain("%s: page sizes are 4k, 16k, 64k", word);
	return true;
}

int cmd_set(const struct options *o)
{
	const char *word = o->arguments[0];
	enum page_size size = page_size_parse_typed(span_of(word));
	struct job j;
	int r;

	if (is_other_size(word))
		return EXIT_USAGE;
	if (job_start(o, &j) < 0)
		return EXIT_FAILED;
	if (strcmp(word, "none") == 0) {
		r = set_none(&j);
	} else if (size != PAGE_SIZE_UNKNOWN) {
		r = set_size(&j, size);
	} else {
		const struct entry *e = entry_set_resolve(&j.set, word, &size);
		r = e ? set_entry(&j, e) : -ENOENT;
	}
	return job_end(&j, r);
}

/* Whether the loader that will read the one-shot is known to obey it. */
static int check_loader(const struct job *j)
{
	if (j->o->force || (j->set.features & FEATURE_ENTRY_ONESHOT))
		return 0;
	if (!j->set.running_system && !j->set.loader)
		complain("which loader starts that system is not known (--force writes the one-shot "
			 "for " GRANULE_BOOT_NAME ")");
	else if (!j->set.loader)
		complain("the loader that started this system does not take part in the Boot Loader "
			 "Interface: it would "
			 "ignore a one-shot; run 'granule install' and reboot, or use --force");
	else
		complain("%s says that it does not know one-shots (--force writes it all the same)",
			 j->set.loader);
	return -ENOTSUP;
}

/* A one-shot waits in the variable or, where that cannot be written, in the environment block. */
static int arm(struct job *j, const char *id)
{
	const char *why;

	if (j->variables)
		return wish_variable(&j->actions, &j->set, "LoaderEntryOneShot", id);
	if (env_file_usable(&j->set, &why))
		return wish_env_oneshot(&j->actions, &j->set, &j->places, id);
	complain("a one-shot cannot be armed: %s; and %s", j->why_not, why);
	return -EROFS;
}

static int once_entry(struct job *j, const struct entry *e)
{
	const char *obstacle = entry_obstacle(&j->set, e);
	struct next_boot next;
	/* A one-shot is the owner's own word: a bad entry may be tried again. */
	bool may = !obstacle || (!e->unusable && entry_supported(e, j->set.cpu));

	if (!may) {
		complain("%s: %s", loaded(e)->id, obstacle);
		return -EINVAL;
	}
	int r = check_loader(j);
	if (r == 0)
		r = arm(j, loaded(e)->id);
	if (r < 0)
		return r;
	next_boot(&j->set, &next);
	if (next.entry != e) {
		complain("armed, but the next boot will not be so: %s", next.explanation);
		j->actions.failed = true;
	}
	return 0;
}

static int once_none(struct job *j)
{
	int r = clear(j, "LoaderEntryOneShot", j->set.oneshot, NULL);

	return r < 0 ? r : wish_env_clear(&j->actions, &j->set, &j->places, 1u << RULE_ONESHOT);
}

int cmd_once(const struct options *o)
{
	const char *word = o->arguments[0];
	const struct entry *e;
	enum page_size size;
	struct job j;
	int r;

	if (is_other_size(word))
		return EXIT_USAGE;
	if (job_start(o, &j) < 0)
		return EXIT_FAILED;
	if (strcmp(word, "none") == 0) {
		r = once_none(&j);
	} else {
		e = entry_set_resolve(&j.set, word, &size);
		r = e ? once_entry(&j, e) : -ENOENT;
	}
	return job_end(&j, r);
}
