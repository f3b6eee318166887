/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry: one bootable choice, as the decision and every listing see it; and the order of the menu. */
#ifndef GRANULE_ENTRY_H
#define GRANULE_ENTRY_H

#include <granule/arm64_image.h>
#include <granule/bls.h>
#include <granule/boot_counter.h>
#include <granule/page_size.h>

enum entry_type {
	ENTRY_TYPE1, /* a file in loader/entries */
	ENTRY_TYPE2, /* a unified kernel image in EFI/Linux, or one profile of it */
	ENTRY_AUTO,  /* made by the loader itself: something else than a kernel of this machine */
	ENTRY_MENU,  /* a menuentry of GRUB's */
};

/* Partitions that entries come from. */
enum entry_volume {
	VOLUME_OWN,      /* that the loader was started from, the EFI system partition */
	VOLUME_XBOOTLDR, /* the extended boot loader partition of the same disk */
	N_VOLUMES,
	VOLUME_SYSTEM = N_VOLUMES, /* file systems of the running system, which GRUB reads itself */
};

/* What an entry of the loader's own does. */
enum entry_action {
	ACTION_START, /* starts a program, like every other entry */
	ACTION_FIRMWARE_SETUP,
	ACTION_POWER_OFF,
	ACTION_REBOOT,
};

struct entry {
	enum entry_type type;
	enum entry_action action;
	enum entry_volume volume;
	struct span
		id; /* as in LoaderEntries: file name in lower case, without counter; "@PROFILE" may follow */
	struct span file_name;
	struct span profile_name; /* ID of the profile of a type 2 entry, if it has one */
	struct span release;      /* of the kernel, where a type 2 entry tells it apart from the version */
	struct boot_counter counter;
	struct bls_entry bls;
	enum image_kind kind;
	enum page_size page_size; /* that it boots with, or asks for; entry_set_page_size() */
	bool unusable;            /* cannot be started: kernel missing, damaged, or it failed in this boot */
	bool options_implied;     /* bls.options are the image's own, and not handed over */
	bool counted;             /* the boot that goes on is counted in the file name */
	bool edited;              /* the options were changed in the menu, for this boot */
	bool initrd_by_name;      /* the kernel predates LoadFile2 (v5.8) and wants initrd= words */
	bool twin;                /* boots the same kernel as an entry before it; never found by page size */
	size_t position;          /* where it was found; parts entries that are equal in all else */
};

/* Words of enum entry_type: "type1", "type2", "auto", "menu". */
const char *entry_type_name(enum entry_type type);

/* Makes an entry of nothing but an id, to ask entry_matches() about it. An id is not searched for a counter:
 * what looks like one in it belongs to the name. */
void entry_from_id(struct span id, struct entry *ret);

/* Sets kind and page size from what is known of the image and from the options.
 *
 * head       of the kernel file; NULL if it could not be read
 * strings    whether the image holds the strings of the boot-time parameter (selectable_scan)
 * cpu        page sizes of the CPU, or PAGE_SIZE_SET_UNKNOWN
 *
 * The header decides; then the entry's granule-image line; then the strings. A selectable image gets the size
 * its options ask for, and without an accepted word the largest that the CPU has, since such kernels do that.
 */
void entry_set_page_size(struct entry *entry, const struct image_head *head, bool strings, page_size_set cpu);

/* Sets the page size of a selectable image anew when its options have changed; that of others stays. */
void entry_update_page_size(struct entry *entry, page_size_set cpu);

/* What the entry asks for that granule-boot cannot do, as a phrase; NULL if nothing. */
const char *entry_unsupported_feature(const struct entry *entry);

/* Whether the CPU can run the entry: false only if both its size and the CPU's set are known. */
bool entry_supported(const struct entry *entry, page_size_set cpu);

/* Whether a machine comes up with the entry: false for reboot, power off and firmware setup. */
bool entry_starts_system(const struct entry *entry);

/* Whether a default, preferred or one-shot pattern names the entry: a glob on the id, also accepted without
 * suffix, with a boot counter, and with the name of a first profile ("IMAGE.efi@NAME", as bootctl 257 has
 * it). What the loader made
 * itself is named by its whole id alone: a pattern for systems must not lead to a shell that waits for ever.
 */
bool entry_matches(const struct entry *entry, struct span pattern);

/* Menu order of the Boot Loader Specification: exhausted entries last; with sort-key before without;
 * sort-key, machine-id ascending, version descending; id by version descending; profile; more tries left,
 * fewer done first. <0 when a comes first. 0 only for an entry and itself. */
int entry_compare(const struct entry *a, const struct entry *b);

/* Sorts into menu order, in n log n steps. `scratch` has room for as many. */
void entry_sort(struct entry **entries, struct entry **scratch, size_t n);

#endif
