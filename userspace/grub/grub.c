/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds GRUB's files, as GRUB itself would come to them. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <granule/bls.h>

#include "../root_path.h"
#include "../system.h"
#include "grub_parts.h"

#define CFG_MAX (64u << 20)
/* A grub.cfg that only leads to another is a few lines long. */
#define STUB_MAX (8u << 10)
#define ENTRY_MAX (64u << 10)

/* ---- which grub.cfg ---- */

/* Whether a text has no menu of its own, and names another file to go on with. */
static bool is_stub(struct span text)
{
	bool leads = memmem(text.p, text.n, "configfile", 10) || memmem(text.p, text.n, "source ", 7);

	return text.n <= STUB_MAX && leads && !memmem(text.p, text.n, "menuentry", 9) &&
	       !memmem(text.p, text.n, "blscfg", 6);
}

struct on_esp {
	bool own;     /* what is said here is of this system's own folder, and of no other */
	char *file;   /* a whole grub.cfg; NULL */
	bool leads;   /* there is one that leads elsewhere */
	bool to_grub; /* to a folder named grub, not grub2 */
};

/* The folder of the distribution's loader, by ID of os-release; others are named as their ID. */
static bool is_own_folder(const char *os_id, const char *name)
{
	static const char *const names[][2] = { { "rhel", "redhat" }, { "ol", "redhat" } };

	if (!os_id)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(os_id, names[i][0]) == 0 && span_equal_nocase(span_of(name), span_of(names[i][1])))
			return true;
	/* "opensuse-leap" has its files in "opensuse". */
	size_t n = strlen(name);
	return strncasecmp(os_id, name, n) == 0 && (!os_id[n] || os_id[n] == '-');
}

static void look_at(const struct options *o, const char *name, bool own, struct on_esp *ret)
{
	_cleanup_free_ char *path = root_path_real(o, name), *text = NULL;
	struct stat st;
	size_t size;

	if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || (ret->own && !own))
		return;
	/* This system's own folder counts alone. */
	if (own && !ret->own) {
		free(ret->file);
		*ret = (struct on_esp){ .own = true };
	}
	if (st.st_size > 0 && st.st_size <= STUB_MAX && read_file(path, STUB_MAX, &text, &size) == 0 &&
	    is_stub((struct span){ text, size })) {
		ret->leads = true;
		ret->to_grub = !strstr(text, "/grub2");
	} else if (st.st_size > 0 && !ret->file) {
		ret->file = xstrdup(path);
	}
}

/* EFI/NAME/grub.cfg. */
static void look_on_esp(const struct options *o, const char *esp, struct on_esp *ret)
{
	_cleanup_free_ char *folder = path_join(esp, "EFI"), *os_id = system_os_release(o, "ID");
	struct dirent **names;

	*ret = (struct on_esp){ 0 };
	int n = scandir(folder, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *below = path_join(folder, names[i]->d_name);
		_cleanup_free_ char *path = path_join(below, "grub.cfg");

		if (names[i]->d_name[0] != '.')
			look_at(o, path, is_own_folder(os_id, names[i]->d_name), ret);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* Path of boot/FOLDER/grub.cfg, symlinks resolved; NULL if it is not there. One that may not be looked at is
 * there: some distributions keep all of the folder to root. */
static char *in_boot(const struct options *o, const char *folder)
{
	_cleanup_free_ char *name = xprintf("/boot/%s/grub.cfg", folder);
	char *path = root_path_resolve(o->root, name);

	if (path ? path_exists(path) : errno == EACCES)
		return path ? path : path_join(o->root, name);
	free(path);
	return NULL;
}

/* GRUB begins with the file beside it on the ESP, which is the whole menu, or leads to one in /boot. Where
 * none is known to be this system's, the one in /boot is taken, and then what there is. */
static char *find_cfg(const struct options *o, const struct places *places)
{
	const char *esp = places ? places->esp : NULL;
	struct on_esp on_esp = { 0 };

	if (esp)
		look_on_esp(o, esp, &on_esp);
	bool grub_first = on_esp.leads && on_esp.to_grub;
	char *found = on_esp.file && on_esp.own && !on_esp.leads ? xstrdup(on_esp.file) : NULL;
	if (!found)
		found = in_boot(o, grub_first ? "grub" : "grub2");
	if (!found)
		found = in_boot(o, grub_first ? "grub2" : "grub");
	if (!found && on_esp.file)
		found = xstrdup(on_esp.file);
	free(on_esp.file);
	return found;
}

/* ---- its tools ---- */

static bool is_there(const struct options *o, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *path = path_join(o->root, names[i]);
		if (path_exists(path))
			return true;
	}
	return false;
}

static void find_tools(const struct options *o, struct grub *grub)
{
	static const char *const grub2[] = { "usr/sbin/grub2-mkconfig", "usr/bin/grub2-mkconfig" };
	static const char *const grub1[] = { "usr/sbin/grub-mkconfig", "usr/bin/grub-mkconfig" };
	static const char *const update[] = { "usr/sbin/update-grub" };
	bool in_grub = span_ends_nocase(span_of(grub->folder), SPAN("/grub"));
	_cleanup_free_ char *id = system_os_release(o, "ID"), *like = system_os_release(o, "ID_LIKE");
	bool debian = is_there(o, update, 1) || (id && strcmp(id, "debian") == 0) ||
		      (like && strstr(like, "debian"));

	if (is_there(o, grub2, 2))
		grub->tools = "grub2";
	else if (is_there(o, grub1, 2) || in_grub || debian)
		grub->tools = "grub";
	else
		grub->tools = "grub2";
	if (debian)
		grub->mkconfig = xstrdup("update-grub");
	else
		grub->mkconfig =
			xprintf("%s-mkconfig -o %s", grub->tools, root_path_shown(o, grub->cfg_path));
}

/* ---- what it says ---- */

/* The facts that are needed before the menu is read. Granule's lines stand before its entries, and these
 * before most others: reading ends there, unless entries come from elsewhere. */
static void read_facts(struct grub *grub)
{
	struct span text = { grub->cfg_text, grub->cfg_size };
	bool bls = memmem(text.p, text.n, "blscfg", 6);
	struct grub_cfg cfg;
	struct grub_item item;
	int error;

	if (!bls && !memmem(text.p, text.n, "granule_env_path", 16))
		return;
	grub_cfg_open(text, grub->cfg_memory, GRUB_CFG_MEMORY(grub->cfg_size), &cfg);
	while (grub_cfg_next(&cfg, &item, &error) && (bls || !cfg.facts.granule_env_path.n))
		;
	grub->facts = cfg.facts;
	grub->bls = cfg.facts.blscfg;
}

/* Kernel path of an entry's file; NULL. */
static char *kernel_of(const struct options *o, const char *name)
{
	_cleanup_free_ char *path = root_path_real(o, name), *text = NULL, *options = NULL;
	struct bls_entry e;
	size_t size, offset;

	if (!path || read_file(path, ENTRY_MAX, &text, &size) < 0)
		return NULL;
	options = xalloc(size + 1);
	if (bls_parse((struct span){ text, size }, options, size + 1, &e, &offset) != 0 || !e.path.n)
		return NULL;
	return xstrndup(e.path);
}

static bool is_mount_point(const struct options *o, const char *folder)
{
	struct stat above, below;

	return stat(o->root, &above) == 0 && stat(folder, &below) == 0 && above.st_dev != below.st_dev;
}

/* Paths in entries begin at the file system that holds /boot: what they name tells whether that is one of its
 * own. */
static char *find_bls_files(const struct options *o, const char *entries)
{
	_cleanup_free_ char *boot = root_path_resolve(o->root, "/boot");
	_cleanup_dir_ DIR *dir = opendir(entries);
	unsigned in_boot = 0, in_root = 0;
	struct dirent *d;

	if (!boot)
		return xstrdup(o->root);
	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *path = path_join(entries, d->d_name);
		_cleanup_free_ char *kernel =
			bls_file_name_is_entry(span_of(d->d_name)) ? kernel_of(o, path) : NULL;
		_cleanup_free_ char *below_boot = kernel ? path_join(boot, kernel) : NULL;
		_cleanup_free_ char *below_root = kernel ? path_join(o->root, kernel) : NULL;

		in_boot += kernel && path_exists(below_boot);
		in_root += kernel && path_exists(below_root);
	}
	bool own = in_boot != in_root ? in_boot > in_root : is_mount_point(o, boot);
	return xstrdup(own ? boot : o->root);
}

static void find_bls(const struct options *o, struct grub *grub)
{
	char *entries = root_path_resolve(o->root, "/boot/loader/entries");

	if (entries && path_exists(entries))
		grub->bls_entries = entries;
	else
		free(entries);
	grub->bls_files = grub->bls_entries ? find_bls_files(o, grub->bls_entries) : xstrdup(o->root);
}

static int read_cfg(struct grub *grub)
{
	struct stat st;
	int r = 0;

	if (stat(grub->cfg_path, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode)) {
		complain("%s: is no plain file", grub->cfg_path);
		return -EINVAL;
	}
	if (r == 0)
		r = read_file(grub->cfg_path, CFG_MAX, &grub->cfg_text, &grub->cfg_size);
	if (r == -EFBIG)
		complain("%s: is larger than 64 MiB", grub->cfg_path);
	else if (r < 0)
		complain("%s: %s", grub->cfg_path, strerror(-r));
	/* Without the file there would be no menu at all, and nothing is to be said of a loader that is not
	 * there. */
	return r == -ENOENT ? -EIO : r;
}

int grub_find(const struct options *o, const struct places *places, struct grub *ret)
{
	*ret = (struct grub){ 0 };
	ret->cfg_path = find_cfg(o, places);
	if (!ret->cfg_path)
		return -ENOENT;
	int r = read_cfg(ret);
	if (r < 0) {
		grub_free(ret);
		return r;
	}
	ret->cfg_memory = xalloc(GRUB_CFG_MEMORY(ret->cfg_size));
	ret->folder = xstrndup(
		(struct span){ ret->cfg_path, (size_t)(strrchr(ret->cfg_path, '/') - ret->cfg_path) });
	find_tools(o, ret);
	read_facts(ret);
	find_bls(o, ret);
	grub_default_read(o, &ret->def);
	grub_block_read_env(o, ret);
	grub_block_read_own(o, places, ret);
	return 0;
}

struct grub_block *grub_wishes(struct grub *grub)
{
	return grub->own.kind != GRUB_BLOCK_NONE ? &grub->own : &grub->env;
}

void grub_free(struct grub *grub)
{
	free(grub->folder);
	free(grub->cfg_path);
	free(grub->cfg_text);
	free(grub->cfg_memory);
	free(grub->mkconfig);
	free(grub->bls_entries);
	free(grub->bls_files);
	grub_block_free(&grub->own);
	grub_block_free(&grub->env);
	grub_default_free(&grub->def);
	*grub = (struct grub){ 0 };
}
