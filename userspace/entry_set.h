/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a machine as the boot manager sees them, and the decision about them. */
#ifndef GRANULE_ENTRY_SET_H
#define GRANULE_ENTRY_SET_H

#include <granule/choose.h>
#include <granule/loader_conf.h>

#include "places.h"

/* An entry with what it points into. */
struct loaded_entry {
	struct entry entry; /* first */
	char *file_name, *id, *text, *options;
	char *source;        /* its file, where it is mounted; NULL for one that the loader makes itself */
	char *problem;       /* why it is unusable; NULL if it is not */
	char *note;          /* what is not known of it, or of use to know; NULL */
	char *path;          /* behind bls.path of an entry of GRUB's; NULL */
	struct span written; /* path of its kernel as GRUB has it, for BOOT_IMAGE=; empty */
};

struct loader;
struct grub;

struct entry_set {
	struct entry **entries; /* in menu order; each is a struct loaded_entry */
	size_t n;
	struct strings skipped; /* files that are no entries, with the reason */

	/* what the loader goes by */
	page_size_set cpu;
	bool running_system;          /* not one below --root */
	char *loader;                 /* LoaderInfo; NULL if not known */
	char *own_path;               /* LoaderImageIdentifier; NULL if not known */
	const struct loader *backend; /* what that loader takes, loaders/loader.h */
	struct grub *grub;            /* its files; NULL unless GRUB picks what boots */
	bool has_preferred;           /* it knows preferred entries */
	uint64_t features;            /* LoaderFeatures; 0 if not known */
	char *oneshot, *preferred, *default_variable, *policy_variable; /* variables; NULL if not set */
	char *last_booted; /* LoaderEntryLastBooted; NULL if not set */
	char *conf_text;   /* of loader.conf; never NULL once loaded */
	size_t conf_size;
	const char *conf_problem; /* why loader.conf cannot be rewritten; NULL */
	char *env;                /* environment block as the loader reads it; NULL if there is none */
	char *env_values;         /* behind the spans of `input` that come from it */
	const char *env_problem;  /* why a block is passed over; NULL */
	struct loader_conf conf;
	enum page_size policy; /* that is stored, whoever makes it hold */
	struct choose_input input;
};

static inline struct loaded_entry *loaded(const struct entry *e)
{
	return (struct loaded_entry *)e;
}

/* Reads entries, loader.conf and variables. Returns 0 or -errno after one printed line. */
int entry_set_load(const struct options *o, struct places *places, struct entry_set *ret);
void entry_set_free(struct entry_set *set);

/* Fills set->input anew, after a wish was changed in memory. */
void entry_set_input(struct entry_set *set);

/* One line when loader.conf has a line that is not understood. */
void entry_set_complain_conf(const struct entry_set *set);

/* The entry with this id, as LoaderEntrySelected has it: of systemd-boot up to version 257 with the counter;
 * NULL. */
const struct entry *entry_set_by_id(const struct entry_set *set, const char *id);

/* Finds the one entry that a person means: "64k" is the newest entry of that size, anything else an id, with
 * or without suffix and counter, or a kernel release; a trial entry only by its whole id. Prints one line and
 * the candidates, and returns NULL, when none or several fit. */
const struct entry *entry_set_resolve(const struct entry_set *set, const char *word,
				      enum page_size *ret_size);

/* "64K"; "?" if it is not known, "-" for what is no kernel. */
const char *entry_size_title(const struct entry *e);

/* Whether it starts this kernel release. */
bool entry_has_release(const struct entry *e, const char *release);

/* What makes entries for new kernels, as a sentence part. */
const char *entry_set_maker(const struct entry_set *set);

/* What keeps an entry from running, as a phrase; NULL. */
const char *entry_obstacle(const struct entry_set *set, const struct entry *e);

/* Lists entries on standard error, as candidates. */
void entry_set_print_candidates(const struct entry_set *set, bool (*fits)(const struct entry *, const void *),
				const void *context);

#endif
