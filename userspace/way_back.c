/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include <granule/cmdline.h>

#include "firmware_next.h"
#include "grub/grub_menu.h"
#include "identity.h"
#include "image_file.h"
#include "loaders/loader.h"
#include "reset_facts.h"
#include "system.h"
#include "variables.h"
#include "way_back.h"

struct check {
	const struct change *c;
	const struct verified *v;
	const struct entry *target;
	struct findings *found;
};

enum weight {
	NOTE,
	WARNING, /* --force goes on */
	REFUSAL,
};

__attribute__((format(printf, 4, 5))) static void add(const struct check *k, enum weight weight,
						      const char *id, const char *format, ...)
{
	struct findings *f = k->found;
	va_list args;

	f->items = xrealloc(f->items, sizeof(*f->items) * (f->n + 1));
	va_start(args, format);
	f->items[f->n++] = (struct finding){
		.blocks = weight != NOTE,
		.forceable = weight == WARNING,
		.id = xstrdup(id),
		.text = xvprintf(format, args),
	};
	va_end(args);
}

static char *below_root(const struct check *k, const char *path)
{
	return path_join(k->c->o->root, path);
}

/* ---- the default: what boots when the trial does not come up ---- */

static bool is_choice(const struct choice *choice, const struct entry *e)
{
	return choice->entry && span_equal_nocase(e->id, span_of(choice->entry));
}

/* An entry that was verified and can still boot, to be made the default by hand. */
static const struct entry *usable_verified(const struct check *k)
{
	const struct choice *choices[] = { &k->v->current, &k->v->previous };

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		const struct entry *e = entry_set_by_id(&k->c->set, choices[i]->entry);
		if (e && !entry_obstacle(&k->c->set, e))
			return e;
	}
	return NULL;
}

static const struct choice *verified_as(const struct check *k, const struct entry *e)
{
	return is_choice(&k->v->current, e)    ? &k->v->current
	       : is_choice(&k->v->previous, e) ? &k->v->previous
					       : NULL;
}

static void check_unverified(const struct check *k, const struct entry *e)
{
	const struct entry *other = usable_verified(k);

	if (e == k->target)
		add(k, WARNING, "target-is-default",
		    "%s is what boots by default already, and nothing is known to be good if it fails: make "
		    "a verified "
		    "entry the default first ('granule set ID')",
		    loaded(e)->id);
	else if (other)
		add(k, WARNING, "unverified-default",
		    "%s boots by default, but only %s was verified: boot it once and let 'granule verify "
		    "--boot' "
		    "(granule-verify.service) record it, or make the verified one the default ('granule set "
		    "%s')",
		    loaded(e)->id, loaded(other)->id, loaded(other)->id);
	else
		add(k, WARNING, "unverified-default",
		    "%s boots by default, and %s: boot it once and let 'granule verify --boot' "
		    "(granule-verify.service) record it",
		    loaded(e)->id,
		    k->v->current.entry ? "no entry that was verified can boot"
					: "nothing has been verified yet");
}

/* The owner's wish is passed over, which has to be known before it matters. */
static bool wish_failed(const struct choose_result *result)
{
	for (enum choose_rule rule = RULE_PREFERRED; rule <= RULE_POLICY; rule++)
		if (result->outcome[rule] != OUTCOME_NOT_SET && result->outcome[rule] != OUTCOME_CHOSEN &&
		    result->outcome[rule] != OUTCOME_NOT_ASKED)
			return true;
	return false;
}

static void check_default(const struct check *k)
{
	const struct entry_set *set = &k->c->set;
	struct next_boot by_default;

	default_boot(set, &by_default);
	const struct entry *e = by_default.entry;
	if (!e) {
		add(k, REFUSAL, "no-default",
		    "there is no entry to fall back on: %s ('granule register' writes entries)",
		    by_default.explanation);
		return;
	}
	const char *obstacle = entry_obstacle(set, e);
	if (obstacle) {
		/* Anything better would have been chosen instead. */
		add(k, REFUSAL, "bad-default",
		    "%s boots by default, but %s, and no other entry is better: repair or register one first",
		    loaded(e)->id, obstacle);
		return;
	}
	const struct choice *known = verified_as(k, e);
	if (!known)
		check_unverified(k, e);
	else if (known->page_size != PAGE_SIZE_UNKNOWN && e->page_size != PAGE_SIZE_UNKNOWN &&
		 known->page_size != e->page_size)
		add(k, WARNING, "unverified-default",
		    "%s boots by default and was verified with %s pages, but has %s pages now: boot it once "
		    "and let "
		    "'granule verify --boot' (granule-verify.service) record it",
		    loaded(e)->id, page_size_title(known->page_size), page_size_title(e->page_size));
	if (wish_failed(&by_default.result))
		add(k, NOTE, "wish-passed-over", "%s is what boots by default: %s", loaded(e)->id,
		    by_default.explanation);
}

/* ---- the one-shot ---- */

static void check_oneshot(const struct check *k)
{
	const char *obstacle = loader_of(&k->c->set)->oneshot_obstacle(k->c);

	if (obstacle)
		add(k, REFUSAL, "no-one-shot", "a trial boots by a one-shot, which is not possible here: %s",
		    obstacle);
}

/* ---- a kernel that GRUB cannot load ---- */

static const char *mkconfig(const struct check *k)
{
	return k->c->set.grub->mkconfig ? k->c->set.grub->mkconfig : "update-grub";
}

/* What makes grub.cfg lead back, and take words. Good until the next call. */
static const char *how_to_have_lines(const struct check *k)
{
	static char text[300];
	_cleanup_free_ char *script = below_root(k, "etc/grub.d/09_granule");

	if (k->c->set.grub->facts.granule_version.n)
		snprintf(text, sizeof(text),
			 "try the entry of granule's that starts this kernel ('granule list')");
	else if (access(script, X_OK) == 0)
		snprintf(text, sizeof(text), "run '%s', which takes up /etc/grub.d/09_granule", mkconfig(k));
	else
		snprintf(text, sizeof(text), "install /etc/grub.d/09_granule and run '%s'", mkconfig(k));
	return text;
}

/* GRUB goes on with what `fallback` names, and without it waits at its menu. */
static void check_fallback(const struct check *k)
{
	const struct grub *grub = k->c->set.grub;

	if (!grub || !grub->cfg_text || strstr(grub->cfg_text, "fallback=") || has_screen(k->c->o))
		return;
	add(k, WARNING, "no-fallback",
	    "nobody sits in front of this machine, and %s names no fallback: if GRUB cannot load the kernel "
	    "it "
	    "waits at its menu for ever; %s",
	    grub->cfg_path, how_to_have_lines(k));
}

/* Then every reset ends at the menu, that after a panic as well. */
static void check_timeout(const struct check *k)
{
	const struct grub *grub = k->c->set.grub;

	if (!grub || !grub->cfg_text || !strstr(grub->cfg_text, "set timeout=-1") || has_screen(k->c->o))
		return;
	add(k, WARNING, "menu-waits",
	    "nobody sits in front of this machine, and by %s GRUB waits at its menu for ever (timeout=-1): "
	    "write GRUB_TIMEOUT=5 to /etc/default/grub and run '%s'",
	    grub->cfg_path, mkconfig(k));
}

/* What passes is to be the default, where grub.cfg asks for one that is stored. */
static void check_promotion(const struct check *k)
{
	const struct grub *grub = k->c->set.grub;

	if (!grub || k->c->o->keep || grub_has_block(grub) || grub->facts.saved_entry)
		return;
	add(k, WARNING, "no-stored-default",
	    "if it passes it cannot become the default: %s goes by a fixed one; %s, or write "
	    "GRUB_DEFAULT=saved to /etc/default/grub and run '%s', or try it with --keep",
	    grub->cfg_path, how_to_have_lines(k), mkconfig(k));
}

/* ---- a kernel that panics ---- */

static char *image_path(const struct check *k, const struct entry *e)
{
	const char *folder = places_folder(&k->c->places, e->volume);

	if (e->type == ENTRY_TYPE2)
		return loaded(e)->source ? xstrdup(loaded(e)->source) : NULL;
	_cleanup_free_ char *path = xstrndup(e->bls.path);
	return folder && *path ? path_join(folder, path) : NULL;
}

/* What the kernel was built with, if it can be found out: 0 otherwise. */
static int built_panic_timeout(const struct check *k)
{
	_cleanup_free_ char *path = image_path(k, k->target), *problem = NULL;
	struct image_file image;

	if (!path)
		return 0;
	int r = image_file_read(path, k->c->o->root, k->target->bls.profile, &image, &problem);
	int timeout = r == 0 ? image.panic_timeout : 0;
	image_file_free(&image);
	return timeout;
}

static void check_panic(const struct check *k, bool own_entry)
{
	struct span value;
	bool given = cmdline_get(k->target->bls.options, SPAN("panic"), &value);
	_cleanup_free_ char *text = given ? xstrndup(value) : NULL;

	if (own_entry || (given ? strtol(text, NULL, 0) != 0 : built_panic_timeout(k) != 0))
		return;
	if (k->target->type == ENTRY_MENU) {
		add(k, WARNING, "no-panic-reboot",
		    "%s: its kernel stands still after a panic, and nothing can be added to its command line "
		    "for a trial: %s, or add panic=10 to GRUB_CMDLINE_LINUX and run '%s'",
		    loaded(k->target)->id, how_to_have_lines(k), mkconfig(k));
		return;
	}
	add(k, WARNING, "no-panic-reboot",
	    "%s: its kernel stands still after a panic, and the command line of an image cannot be changed "
	    "for a trial: "
	    "build it with panic=10 on its command line",
	    loaded(k->target)->id);
}

/* What sysctl sets wins over the command line as soon as the system starts. */
static void check_sysctl(const struct check *k)
{
	_cleanup_free_ char *value = sysctl_panic(k->c->o);

	if (value && *value && strtol(value, NULL, 0) == 0)
		add(k, WARNING, "sysctl-panic",
		    "sysctl.d sets kernel.panic to 0: from then on a kernel that panics stands still, "
		    "whatever its "
		    "command line says; remove that line, or write kernel.panic=10");
}

/* ---- a kernel that hangs ---- */

static void check_watchdog(const struct check *k)
{
	bool armed;
	_cleanup_free_ char *watchdog = find_watchdog(k->c->o, &armed);

	if (armed || has_screen(k->c->o))
		return;
	if (watchdog)
		add(k, WARNING, "watchdog-off",
		    "nobody sits in front of this machine, and nothing arms its watchdog %s: a trial that "
		    "hangs would "
		    "hang until somebody resets it; write RuntimeWatchdogSec=60 (and "
		    "RebootWatchdogSec=10min, which "
		    "covers the time of a reboot) below [Manager] in /etc/systemd/system.conf and run "
		    "'systemctl "
		    "daemon-reexec', or start watchdog(8)",
		    watchdog);
	else
		add(k, WARNING, "no-watchdog",
		    "nobody sits in front of this machine, and it has no watchdog: a trial that hangs would "
		    "hang until "
		    "somebody resets it; load the driver of its watchdog (sbsa_gwdt on Arm servers), and "
		    "write "
		    "RuntimeWatchdogSec=60 below [Manager] in /etc/systemd/system.conf");
}

/* ---- ways past the loader ---- */

static void check_detours(const struct check *k)
{
	_cleanup_free_ char *loaded_path = below_root(k, "sys/kernel/kexec_loaded");
	_cleanup_free_ char *next_root = below_root(k, "run/nextroot");
	_cleanup_free_ char *kexec = read_line(loaded_path);
	struct firmware_detour detour;

	if (kexec && strcmp(kexec, "1") == 0)
		add(k, WARNING, "kexec-loaded",
		    "a kernel is loaded for kexec: a reboot may start it past the loader, which would leave "
		    "the trial "
		    "waiting for a later boot; unload it ('kexec -u')");
	if (path_exists(next_root))
		add(k, WARNING, "soft-reboot",
		    "/run/nextroot is there: 'systemctl reboot' may switch to it without a boot, which would "
		    "leave the "
		    "trial waiting for a later one; remove it");
	firmware_detour_find(k->c->o, &k->c->places, k->c->set.own_path, &detour);
	if (detour.what)
		add(k, WARNING, detour.once ? "boot-next" : "boot-order",
		    detour.once ? "firmware starts %s next time (BootNext), not the loader that started this "
				  "system: reboot "
				  "first, or clear it ('efibootmgr -N')"
				: "firmware starts %s first (BootOrder), not the loader that started this "
				  "system: put that one "
				  "first ('efibootmgr -o')",
		    detour.what);
	firmware_detour_free(&detour);
}

/* ---- where the verdict will be looked for ---- */

/* What is mounted at an absolute path; the library's own search asks the running system. */
static struct libmnt_fs *mount_of(struct libmnt_table *table, const char *path)
{
	_cleanup_free_ char *folder = xstrdup(path);
	struct libmnt_fs *fs;

	while (!(fs = mnt_table_find_target(table, *folder ? folder : "/", MNT_ITER_BACKWARD)) && *folder) {
		char *slash = strrchr(folder, '/');
		*(slash ? slash : folder) = 0;
	}
	return fs;
}

static bool is_memory(const char *type)
{
	return strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0 || strcmp(type, "rootfs") == 0;
}

/* Whether what is written to a mount is gone after a reboot; *ret_type is its type. */
static bool is_volatile(struct libmnt_table *table, struct libmnt_fs *fs, const char **ret_type)
{
	char *upper = NULL;
	size_t n;

	*ret_type = mnt_fs_get_fstype(fs);
	if (!*ret_type || strcmp(*ret_type, "overlay") != 0)
		return *ret_type && is_memory(*ret_type);
	/* An overlay is as lasting as its upper layer, if that can be seen from here. */
	if (mnt_fs_get_option(fs, "upperdir", &upper, &n) != 0 || !upper)
		return true;
	_cleanup_free_ char *path = xstrndup((struct span){ upper, n });
	struct libmnt_fs *layer = mount_of(table, path);
	const char *type = layer ? mnt_fs_get_fstype(layer) : NULL;
	return !type || is_memory(type) || strcmp(type, "overlay") == 0;
}

/* The path of the state without links, as far as it is there. */
static char *state_path(const struct check *k)
{
	char *path = xstrdup("/" STATE_FOLDER);

	if (system_is_other(k->c->o))
		return path;
	_cleanup_free_ char *existing = xstrdup(path);
	for (char *slash; !path_exists(existing) && (slash = strrchr(existing, '/')) && slash > existing;)
		*slash = 0;
	char *real = realpath(existing, NULL);
	if (!real)
		return path;
	free(path);
	return real;
}

static void check_state(const struct check *k)
{
	_cleanup_free_ char *mounts = below_root(k, "proc/self/mountinfo"), *path = state_path(k);
	struct libmnt_table *table = path_exists(mounts) ? mnt_new_table_from_file(mounts) : NULL;
	struct libmnt_fs *fs = table ? mount_of(table, path) : NULL;
	const char *type;

	if (fs && is_volatile(table, fs, &type))
		add(k, REFUSAL, "volatile-state",
		    "/" STATE_FOLDER
		    " lies in memory (%s), so after a reboot nobody would know of the trial: mount "
		    "something there that lasts",
		    type);
	mnt_unref_table(table);
}

/* Another system records its verdict elsewhere. What says nothing of a system may still have another root=.
 */
static void check_same_system(const struct check *k)
{
	_cleanup_free_ char *path = below_root(k, "proc/cmdline"), *running = read_line(path);
	struct span here, there;
	struct identity own;

	identity_read(k->c->o, &own);
	bool other = !identity_owns(&own, k->target);
	identity_free(&own);
	if (!other && running && cmdline_get(span_of(running), SPAN("root"), &here) &&
	    cmdline_get(k->target->bls.options, SPAN("root"), &there))
		other = !span_equal(here, there);
	if (other)
		add(k, WARNING, "other-system",
		    "%s starts another system than this one (by its machine-id, its name or root=): its "
		    "verdict would "
		    "be recorded there, not here; try it from that system",
		    loaded(k->target)->id);
}

static void check_esp(const struct check *k)
{
	_cleanup_free_ char *said = variable_get(VENDOR_LOADER, "LoaderDevicePartUUID");
	struct partition p;

	/* What is on no partition that can be told, such as a RAID, is the owner's own affair. */
	if (!said || !k->c->places.esp || partition_of(k->c->places.esp, &p) < 0)
		return;
	if (strcasecmp(p.uuid, said) != 0)
		add(k, REFUSAL, "other-esp",
		    "%s (PARTUUID %s) is not the partition that the loader came from (%s), so it would not "
		    "find the "
		    "trial: mount that one",
		    k->c->places.esp, p.uuid, said);
	partition_free(&p);
}

/* ---- all of it ---- */

/* ---- the owner's checks ---- */

static void check_checks(const struct check *k)
{
	struct strings unusable = { 0 };

	health_checks_unusable(k->c->o, &unusable);
	for (size_t i = 0; i < unusable.n; i++)
		add(k, WARNING, "check-not-run", "%s: the trial would fail; repair it (verify.d)",
		    unusable.items[i]);
	strings_free(&unusable);
}

void way_back_check(const struct change *c, const struct verified *v, const struct settings *s,
		    const struct entry *target, bool own_entry, struct findings *ret)
{
	const struct check k = { c, v, target, ret };

	(void)s;
	*ret = (struct findings){ 0 };
	check_default(&k);
	check_oneshot(&k);
	check_esp(&k);
	check_state(&k);
	check_same_system(&k);
	check_fallback(&k);
	check_timeout(&k);
	check_promotion(&k);
	check_panic(&k, own_entry);
	check_sysctl(&k);
	check_watchdog(&k);
	check_detours(&k);
	check_checks(&k);
}

static bool refuses(const struct finding *f, bool force)
{
	return f->blocks && !(force && f->forceable);
}

bool findings_refuse(const struct findings *f, bool force)
{
	for (size_t i = 0; i < f->n; i++)
		if (refuses(&f->items[i], force))
			return true;
	return false;
}

void findings_print(const struct findings *f, bool force)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *item = &f->items[i];
		complain("%s%s: %s%s", item->blocks ? refuses(item, force) ? "no trial: " : "" : "", item->id,
			 item->text,
			 !item->blocks          ? ""
			 : !item->forceable     ? ""
			 : refuses(item, force) ? " (--force goes on without it)"
						: " (going on: --force)");
	}
}

json_object *findings_json(const struct findings *f)
{
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < f->n; i++) {
		json_object *o = json_object_new_object();
		json_object_object_add(o, "id", json_text(f->items[i].id));
		json_object_object_add(o, "blocks", json_object_new_boolean(f->items[i].blocks));
		json_object_object_add(o, "forceable", json_object_new_boolean(f->items[i].forceable));
		json_object_object_add(o, "text", json_text(f->items[i].text));
		json_object_array_add(array, o);
	}
	return array;
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->items[i].id);
		free(f->items[i].text);
	}
	free(f->items);
	*f = (struct findings){ 0 };
}
