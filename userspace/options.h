/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `granule`, and the table of its commands. */
#ifndef GRANULE_OPTIONS_H
#define GRANULE_OPTIONS_H

#include "util.h"

struct options {
	bool json, dry_run, force, all, once, removable, no_variables, no_initrd, hook;
	bool reboot, keep, boot, watch;
	bool bad;         /* a value was not acceptable */
	const char *root; /* "/" if not given; no final slash otherwise */
	const char *esp_path, *boot_path, *expect, *kernel, *kernel_options, *title;
	const char *tries, *deadline, *lines;
	struct strings initrds, page_sizes; /* as given */
	char **arguments;                   /* behind the command, NULL-terminated */
	int n_arguments;
};

struct command {
	const char *name;
	const char *arguments;            /* as shown in the help */
	const char *summary;              /* NULL: not in the help */
	int min_arguments, max_arguments; /* max -1: any number */
	const char *accepts;              /* letters of the options that it takes, see options.c */
	int (*run)(const struct options *o);
};

extern const struct command commands[]; /* ends with a NULL name */

int cmd_status(const struct options *o);
int cmd_list(const struct options *o);
int cmd_inspect(const struct options *o);
int cmd_set(const struct options *o);
int cmd_once(const struct options *o);
int cmd_try(const struct options *o);
int cmd_verify(const struct options *o);
int cmd_rollback(const struct options *o);
int cmd_why(const struct options *o);
int cmd_history(const struct options *o);
int cmd_grub(const struct options *o);
int cmd_disarm(const struct options *o);
int cmd_register(const struct options *o);
int cmd_unregister(const struct options *o);
int cmd_install(const struct options *o);

/* Reads the command line. Returns the command, or NULL with *ret_exit set when there is nothing to run (help,
 * version, or a usage error that has been printed). */
const struct command *options_parse(int argc, char **argv, struct options *ret, int *ret_exit);

/* "32k" means a page size, and no entry: that is said, before a partition is looked for. */
bool options_other_page_size(const char *word);

#endif
