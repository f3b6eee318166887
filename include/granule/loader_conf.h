/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader/loader.conf, shared with systemd-boot, and our key `page-size` in it. */
#ifndef GRANULE_LOADER_CONF_H
#define GRANULE_LOADER_CONF_H

#include <granule/page_size.h>

enum menu_mode {
	MENU_HIDDEN,   /* shown when a key is pressed; the default */
	MENU_TIMEOUT,  /* shown for timeout_s seconds */
	MENU_FORCE,    /* shown until somebody chooses */
	MENU_DISABLED, /* never shown */
};

/* What to do when an entry comes back or cannot be loaded. */
enum on_error {
	ON_ERROR_NEXT,   /* start the next choice; the default */
	ON_ERROR_COUNT,  /* reboot when the entry has tries left, else as above */
	ON_ERROR_REBOOT, /* as ON_ERROR_COUNT, and reboot when no entry is left */
};

struct loader_conf {
	enum menu_mode menu;
	uint32_t timeout_s; /* with MENU_TIMEOUT, at least 1 */
	struct span default_pattern, preferred_pattern;
	enum page_size page_size; /* policy; unknown when not set */
	enum on_error on_error;
	bool editor;        /* options may be edited in the menu */
	bool auto_entries;  /* EFI shell and the default program of the partition */
	bool auto_firmware; /* an entry for firmware's setup */
	bool auto_reboot, auto_poweroff;
	/* Writes, each of which can be switched off. */
	bool count_boots;  /* boot counters in file names are counted down */
	bool random_seed;  /* loader/random-seed is used and renewed */
	bool env_block;    /* EFI/granule/grubenv is read, and its one-shot cleared */
	size_t bad_offset; /* of the first line whose value was not understood; such lines are skipped */
	bool has_bad;
};

/* Reads the file's text; never fails. The last of repeated keys counts. Keys: timeout (seconds, menu-force,
 * menu-hidden, menu-disabled), default, preferred, page-size (4k, 16k, 64k), reboot-on-error (no, auto, yes),
 * and of yes or no: editor, auto-entries, auto-firmware (these three are on), auto-reboot, auto-poweroff
 * (off), boot-counting, random-seed, env-block (on). Others are systemd-boot's. */
void loader_conf_parse(struct span text, struct loader_conf *ret);

/* The page size that is wanted: of the variable GranulePolicy if it holds one, else of the file. */
enum page_size loader_conf_policy(const struct loader_conf *conf, struct span variable);

/* Applies the variables LoaderConfigTimeout and LoaderConfigTimeoutOneShot (empty: not set) to what the file
 * says. The one-shot shows the menu: 0 means until somebody chooses. What is not understood is passed over.
 */
void loader_conf_apply_timeout(struct loader_conf *conf, struct span variable, struct span oneshot);

/* Reads the value of `timeout` or LoaderConfigTimeout. False if it is none. */
bool menu_mode_parse(struct span value, enum menu_mode *ret, uint32_t *ret_timeout_s);

/* Reads yes, no, and their other spellings: true, on, 1, y, t and their opposites, in any case. False if it
 * is none of them; *ret is then left alone. */
bool switch_parse(struct span value, bool *ret);

/* Copies the text with all lines of `key` removed and, if value is not empty, one line "key value" in place
 * of the first (or at the end). Comments and other lines stay as they are. ERROR_SPACE if it does not fit,
 * ERROR_SYNTAX for a line end in the value. */
int loader_conf_set(struct span text, struct span key, struct span value, struct text *ret);

#endif
