/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include <granule/keyval.h>
#include <granule/shell_vars.h>

#include "grub.h"
#include "rpm_default.h"

#define FILE_MAX (64 << 10)
#define VALUE_MAX 256
#define SYSCONFIG "etc/sysconfig/kernel"
#define SYSCONFIG_SHOWN "/etc/sysconfig/kernel"

struct sysconfig {
	bool exists, moves;     /* UPDATEDEFAULT=yes */
	char update[VALUE_MAX]; /* UPDATEDEFAULT */
	char kernel[VALUE_MAX]; /* DEFAULTKERNEL; empty if not set */
	size_t bad_line;        /* where it takes a shell to tell; 0 */
};

static void read_sysconfig(const struct options *o, struct sysconfig *ret)
{
	_cleanup_free_ char *path = path_join(o->root, SYSCONFIG), *text = NULL;
	char buffer[VALUE_MAX];
	struct text scratch = text_in(buffer, sizeof(buffer));
	size_t size, offset = 0;

	*ret = (struct sysconfig){ 0 };
	struct shell_var vars[] = {
		{ SPAN("UPDATEDEFAULT"), text_in(ret->update, VALUE_MAX), false },
		{ SPAN("DEFAULTKERNEL"), text_in(ret->kernel, VALUE_MAX), false },
	};
	if (read_file(path, FILE_MAX, &text, &size) < 0)
		return;
	ret->exists = true;
	if (shell_vars_read((struct span){ text, size }, vars, 2, &scratch, &offset) != 0)
		ret->bad_line = keyval_line_number((struct span){ text, size }, offset);
	else
		ret->moves = strcasecmp(ret->update, "yes") == 0;
}

/* The same, as it may be written for grub-mkconfig. */
static bool moves_by_grub(const struct options *o)
{
	struct grub_mkconfig_var update = { .name = "GRUB_UPDATE_DEFAULT_KERNEL" };
	_cleanup_free_ char *problem = NULL;
	bool moves = grub_mkconfig_vars_read(o, &update, 1, &problem) && update.value &&
		     strcmp(update.value, "true") == 0;

	grub_mkconfig_vars_free(&update, 1);
	return moves;
}

/* The package that a kernel of this release comes from: the flavour is behind a '+' ("...aarch64+64k"),
 * Oracle's kernels have it in the release ("...el9uek64k.aarch64"). NULL if it cannot be told. */
static char *package_of(const struct entry *e)
{
	struct span release = e->release.n ? e->release : e->bls.version;
	_cleanup_free_ char *text = xstrndup(release);
	char *plus = strrchr(text, '+'), *uek = strstr(text, "uek");

	if (!*text || strstr(text, ".elrepo"))
		return NULL;
	if (plus && plus[1])
		return xprintf("kernel-%s-core", plus + 1);
	if (uek) {
		uek[strcspn(uek, ".+")] = 0;
		return xprintf("kernel-%s-core", uek);
	}
	return xstrdup("kernel-core");
}

/* "kernel" means "kernel-core". */
static bool is_same_package(const char *a, const char *b)
{
	struct span x = span_of(a), y = span_of(b), core = SPAN("-core");

	if (span_ends_nocase(x, core))
		x.n -= core.n;
	if (span_ends_nocase(y, core))
		y.n -= core.n;
	return span_equal(x, y);
}

char *rpm_default_conflict(const struct options *o, enum page_size size, const struct entry *entry)
{
	struct sysconfig s;

	read_sysconfig(o, &s);
	if (s.bad_line)
		return xprintf(
			SYSCONFIG_SHOWN
			": line %zu: takes a shell to tell, so whether a kernel update moves "
			"the default is not known; write plain UPDATEDEFAULT= and DEFAULTKERNEL= lines",
			s.bad_line);
	if (!s.exists || !entry || !(s.moves || moves_by_grub(o)))
		return NULL;
	const char *why = s.moves ? "UPDATEDEFAULT=yes" : "GRUB_UPDATE_DEFAULT_KERNEL=true";
	if (size == PAGE_SIZE_UNKNOWN)
		return xprintf("%s: the next kernel update moves the default away from %.*s; set %s in %s",
			       why, (int)entry->id.n, entry->id.p,
			       s.moves ? "UPDATEDEFAULT=no" : "GRUB_UPDATE_DEFAULT_KERNEL=false",
			       s.moves ? SYSCONFIG_SHOWN : "/etc/default/grub");
	_cleanup_free_ char *package = package_of(entry);
	const char *updated = *s.kernel ? s.kernel : "kernel-core";
	if (!package || is_same_package(package, updated))
		return NULL;
	return xprintf("%s and %s%s: the next %s update moves the default away from %s; set DEFAULTKERNEL=%s "
		       "in " SYSCONFIG_SHOWN,
		       why, *s.kernel ? "DEFAULTKERNEL=" : "no DEFAULTKERNEL", s.kernel, updated,
		       page_size_title(size), package);
}
