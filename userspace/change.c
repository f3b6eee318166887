/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "change.h"
#include "variables.h"

int change_start(const struct options *o, struct change *ret)
{
	*ret = (struct change){ .o = o, .actions = { .options = o } };
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

void change_free(struct change *c)
{
	strings_free(&c->actions.done);
	entry_set_free(&c->set);
	places_free(&c->places);
}

int change_end(struct change *c, int r)
{
	c->actions.failed = c->actions.failed || r < 0;
	/* After an error the line about it is enough, unless something was changed before it. */
	bool silent = r < 0 && !c->o->json && !c->actions.done.n;
	int exit_code = silent ? EXIT_FAILED : actions_finish(&c->actions, &c->set);

	change_free(c);
	return exit_code;
}
