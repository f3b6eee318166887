/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of boot this is: the trial that was armed, something else in its place, or an ordinary one. */
#ifndef GRANULE_BOOT_KIND_H
#define GRANULE_BOOT_KIND_H

#include "history.h"
#include "trial.h"
#include "verdict.h"

enum boot_kind {
	BOOT_ORDINARY,
	BOOT_TRIAL,         /* the trial that was armed */
	BOOT_INSTEAD,       /* a trial was armed, and something else runs */
	BOOT_ARMING,        /* it was to be armed again in this boot, and that was cut short */
	BOOT_PASSED_BEFORE, /* a trial passed, and what follows was cut short */
	BOOT_FAILED_BEFORE, /* a trial failed, or did not come up, and so on */
	BOOT_TRIAL_AGAIN,   /* the entry of a trial that was judged in another boot, or has no record */
};

/* This boot, with all that is known of it. */
struct boot {
	const struct options *o;
	struct settings settings;
	struct state state; /* locked, but for the time that the system is looked at */
	struct verified verified;
	struct trial trial;
	bool has_trial;
	struct boot_facts facts;
	bool from_kexec;
	char *boot_id, *release;
	struct change change; /* only with the ESP at hand */
	bool has_change;
	enum boot_kind kind;

	char *judged; /* verdict of an earlier run in this boot; NULL: none */
	char *judged_reason;
	bool judged_trial;

	struct verdict verdict;
	struct baseline now;
	struct strings problems;
	char *note;  /* to be said of a boot that is fine */
	bool reboot; /* when all is closed */
};

/* Whether a boot is of an entry, or of one that starts the same. `set` may be NULL. */
bool boot_is_of(const struct boot_facts *facts, const struct entry_set *set, const char *id);

/* Whether a boot is of the entry of a trial; where that has none of its own, whether it was armed for it. */
bool boot_is_of_trial(const struct boot_facts *facts, const struct entry_set *set, const struct trial *t);

/* Whether this boot is of its trial, whatever came of that. */
bool boot_runs_trial(const struct boot *b);

/* Reads everything, with the state and the partitions locked. Returns 0 or -errno after one printed line; to
 * be closed either way. */
int boot_open(const struct options *o, struct boot *ret);
void boot_unlock(struct boot *b);
/* Reads the state and the entries anew; -EALREADY after one printed line if this boot was judged meanwhile.
 */
int boot_lock_again(struct boot *b);
void boot_close(struct boot *b);

/* Why a trial that was armed does not run: what can be known, to be freed. *ret_final: another try would end
 * in the same way. */
char *boot_absence_reason(const struct boot *b, bool *ret_final);

/* Whether a verdict on a trial stands in the history, given in the boot with this id. */
bool history_has_verdict(struct state *s, const char *boot_id, const char *verdict);

#endif
