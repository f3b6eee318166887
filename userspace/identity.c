/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "identity.h"
#include "system.h"

#define MACHINE_ID_DIGITS 32

static char *read_token(const struct options *o)
{
	const char *told = o->hook ? getenv("KERNEL_INSTALL_ENTRY_TOKEN") : NULL;

	if (told && *told)
		return xstrdup(told);
	static const char *const files[] = { "etc/kernel/entry-token", "etc/machine-id" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, files[i]);
		char *token = read_line(path);
		/* A fresh image has the word "uninitialized" instead of an id. */
		if (token && strcmp(token, "uninitialized") != 0)
			return token;
		free(token);
	}
	return system_os_release(o, "ID");
}

static bool is_machine_id(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!char_is_digit(s.p[i]) && (char_lower(s.p[i]) < 'a' || char_lower(s.p[i]) > 'f'))
			return false;
	return s.n == MACHINE_ID_DIGITS;
}

void identity_read(const struct options *o, struct identity *ret)
{
	_cleanup_free_ char *path = path_join(o->root, "etc/machine-id");

	*ret = (struct identity){ .token = read_token(o), .machine_id = read_line(path) };
	if (ret->machine_id && !is_machine_id(span_of(ret->machine_id))) {
		free(ret->machine_id);
		ret->machine_id = NULL;
	}
	ret->os_id = system_os_release(o, "IMAGE_ID");
	if (!ret->os_id)
		ret->os_id = system_os_release(o, "ID");
}

void identity_free(struct identity *identity)
{
	free(identity->token);
	free(identity->machine_id);
	free(identity->os_id);
	*identity = (struct identity){ 0 };
}

/* "TOKEN-..." */
static bool begins_with_token(struct span id, struct span token)
{
	return token.n && id.n > token.n && id.p[token.n] == '-' &&
	       span_equal_nocase(span_cut(id, 0, token.n), token);
}

bool identity_owns(const struct identity *identity, const struct entry *e)
{
	if (e->type == ENTRY_AUTO)
		return false;
	if (e->bls.machine_id.n && identity->machine_id)
		return span_equal_nocase(e->bls.machine_id, span_of(identity->machine_id));
	if (begins_with_token(e->id, span_of(identity->token)))
		return true;
	/* Names that granule and kernel-install give, for another token. */
	if (e->bls.from_granule || (e->id.n > MACHINE_ID_DIGITS && e->id.p[MACHINE_ID_DIGITS] == '-' &&
				    is_machine_id(span_cut(e->id, 0, MACHINE_ID_DIGITS))))
		return false;
	/* Their sort key is the IMAGE_ID or ID of the system in them. */
	if (e->type == ENTRY_TYPE2 && e->bls.sort_key.n && identity->os_id)
		return span_equal(e->bls.sort_key, span_of(identity->os_id));
	return true;
}
