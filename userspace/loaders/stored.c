/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "stored.h"
#include "wishes.h"

int stored_check(const struct change *c, const char *variable, const char *wanted)
{
	const char *current = wish_stored(&c->set, variable);

	if (c->variables || !current || (wanted && strcmp(current, wanted) == 0))
		return 0;
	complain("%s is set to %s and would win, but cannot be changed: %s", variable, current, c->why_not);
	return -EROFS;
}

int stored_check_file(const struct change *c, const char *path)
{
	_cleanup_free_ char *file = path_join(places_folder(&c->places, VOLUME_OWN), path);

	if (access(file, W_OK) == 0)
		return 0;
	int r = -errno;
	complain("%s: a default in it would win, and it cannot be changed: %s", file, strerror(-r));
	return r;
}

int stored_set(struct change *c, const char *variable, const char *key, const char *value)
{
	if (c->variables)
		return wish_variable(&c->actions, &c->set, variable, value);
	return wish_conf(&c->actions, &c->set, &c->places, key, value);
}

int stored_clear(struct change *c, const char *variable, const char *key)
{
	const char *current = wish_stored(&c->set, variable);
	int r = 0;

	if (current && !c->variables) {
		complain("%s is set to %s and would win, but cannot be cleared: %s", variable, current,
			 c->why_not);
		return -EROFS;
	}
	if (current)
		r = wish_variable(&c->actions, &c->set, variable, NULL);
	if (r == 0 && key)
		r = wish_conf(&c->actions, &c->set, &c->places, key, NULL);
	return r;
}

const char *stored_oneshot_obstacle(const struct change *c)
{
	if (c->set.features & FEATURE_ENTRY_ONESHOT)
		return NULL;
	if (c->set.loader)
		return "it says that it does not know one-shots";
	if (!c->set.running_system)
		return "which loader starts that system is not known";
	return "the loader that started this system does not take part in the Boot Loader Interface and "
	       "would "
	       "ignore it; run 'granule install' and reboot";
}

const char *stored_others_key(const struct change *c, const char *key, struct span pattern)
{
	if (!pattern.n)
		return key;
	complain("%s %.*s stays in loader.conf: it is %s that goes by it now", key, (int)pattern.n, pattern.p,
		 c->set.loader);
	return NULL;
}

const char *stored_variable_obstacle(const struct change *c)
{
	const char *why = stored_oneshot_obstacle(c);

	return why || c->variables ? why : c->why_not;
}

int stored_arm_variable(struct change *c, const char *id)
{
	if (c->variables)
		return wish_variable(&c->actions, &c->set, "LoaderEntryOneShot", id);
	complain("a one-shot cannot be armed: %s", c->why_not);
	return -EROFS;
}

int stored_disarm_variable(struct change *c)
{
	return stored_clear(c, "LoaderEntryOneShot", NULL);
}
