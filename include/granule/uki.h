/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a unified kernel image keeps its parts, profile by profile (UAPI.5 Unified Kernel Image,
 * "Multi-Profile UKIs", and systemd-stub where that leaves something open). Sections before the first
 * .profile are the base; each .profile begins the next profile, whose sections replace those of the base. An
 * image that declares none has one profile, number 0.
 */
#ifndef GRANULE_UKI_H
#define GRANULE_UKI_H

#include <granule/pe.h>

enum uki_section {
	UKI_PROFILE,
	UKI_OSREL,
	UKI_UNAME,
	UKI_CMDLINE,
	UKI_LINUX,
	UKI_INITRD,
	UKI_DTB, /* the first one, if there are several */
	UKI_N_SECTIONS,
};

/* More profiles than this are left out, as systemd does. */
#define UKI_MAX_PROFILES 256u
/* Most bytes that are read of a section of text. */
#define UKI_TEXT_MAX (64u << 10)

/* A part of the file, in bytes; size 0: there is none, or it is empty, which takes away the base's. */
struct uki_part {
	uint32_t offset, size;
};

struct uki_profile {
	struct uki_part parts[UKI_N_SECTIONS];
};

/* Number of profiles in *ret_n, at least 1. Returns 0, or ERROR_TOO_MANY when there are more than
 * UKI_MAX_PROFILES; *ret_n is then that many. `head` and `pe` are as pe_parse() accepted them. */
int uki_count_profiles(const void *head, const struct pe *pe, uint32_t *ret_n);

/* Where the parts of a profile are. ERROR_NOT_FOUND when the image has no profile of that number; *ret is the
 * base then. That parts lie within the file is what pe_check_complete() checks. */
int uki_find_profile(const void *head, const struct pe *pe, uint32_t profile, struct uki_profile *ret);

/* The text of .cmdline or .uname as a stub takes it: up to the first NUL, control characters made blanks,
 * none at the ends. Changed in place. */
struct span uki_clean_text(struct span text);

#endif
