/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between boot loaders: where a one-shot, a default and a policy are kept, and who makes a
 * policy hold. One file per loader; nothing else in the command asks which loader it is.
 *
 * Functions that write note actions, change the set in memory alike, honour --dry-run, and return 0 or -errno
 * after one printed line. */
#ifndef GRANULE_LOADER_H
#define GRANULE_LOADER_H

#include "../change.h"

struct loader {
	const char *name; /* as in LoaderInfo */

	/* The loader itself finds the entry of a page-size policy at each boot. Otherwise the policy is kept
	 * for us, and the default is set anew whenever entries change: loader_follow_policy(). */
	bool policies;

	/* It reads the environment block of granule-boot. */
	bool env_block;

	/* Why a one-shot cannot be armed so that it is obeyed once and only once: it cannot be stored, or the
	 * loader does not know or does not clear them. A phrase (good until the next call), or NULL. */
	const char *(*oneshot_obstacle)(const struct change *c);

	/* Stores the entry that boots once, in front of whatever else is stored. */
	int (*arm)(struct change *c, const char *id);

	/* The same for a trial, with words that the loader puts at the end of the kernel command line of that
	 * boot: the trial needs no entry of its own. NULL: the loader cannot. */
	int (*arm_with)(struct change *c, const char *id, const char *words);

	/* Removes the one-shot wherever it may wait; nothing there is success. */
	int (*disarm)(struct change *c);

	/* Stores a policy and clears what would win over it. A loader with which no policy can hold refuses,
	 * unless --force is given. */
	int (*set_policy)(struct change *c, enum page_size size);

	/* Stores a default entry and clears what would win over it. */
	int (*set_default)(struct change *c, const struct entry *e);

	/* Removes policy, default, preferred and one-shot. */
	int (*set_none)(struct change *c);

	/* Makes the policy of the set, for which this entry stands now, hold again; NULL if there is nothing
	 * to do for it. */
	int (*follow_policy)(struct change *c, const struct entry *e);

	/* This boot of an entry was found in order: it need not be counted any more, and is what to fall back
	 * on. NULL: nothing to do for it. */
	int (*verified)(struct change *c, const char *id);

	/* What makes entries for new kernels, where `granule register` does not: a sentence part,
	 * "'update-grub' makes entries for new kernels"; NULL. */
	const char *(*registered_by)(const struct entry_set *set);
};

extern const struct loader loader_granule_boot, loader_systemd_boot, loader_other;
/* GRUB whose grub.cfg has granule's lines; without them; and with entries in loader/entries. */
extern const struct loader loader_grub, loader_grub_given;

/* The one that started this system; granule-boot, which is to be installed, where none is known. */
const struct loader *loader_of(const struct entry_set *set);
/* The same by LoaderInfo, which may be NULL. */
const struct loader *loader_by_info(const char *info);

/* The entry of this system's own that a policy stands for: the newest usable one; NULL. Where the loader does
 * not find it anew at each boot, it is a good one: a default that still counts its tries would go on to boot
 * when it has none left. */
const struct entry *loader_policy_entry(const struct change *c, enum page_size size);

/* After entries have changed: with a loader that does not know policies, makes the newest usable entry of the
 * policy, of this system's own, the default again. Nothing to do is success. While a trial is pending nothing
 * is changed; an entry that failed its trial is not taken. */
int loader_follow_policy(struct change *c);

#endif
