/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EFI variables of text, through libefivar. */
#ifndef GRANULE_USERSPACE_VARIABLES_H
#define GRANULE_USERSPACE_VARIABLES_H

#include <granule/variables.h>

#include "util.h"

enum variable_vendor {
	VENDOR_LOADER, /* Boot Loader Interface */
	VENDOR_GRANULE,
};

/* From here on there are no variables: for another system than the running one, whose firmware they are. */
void variables_switch_off(void);

/* Whether there is an efivarfs at all. */
bool variables_present(void);
/* Whether it can be written to; if not *ret_why is a phrase. */
bool variables_writable(const char **ret_why);

/* UTF-8 text of a variable; NULL if it is not there. What granule-boot says of the running boot may come from
 * the device tree instead, when firmware has no variables for a running system. */
char *variable_get(enum variable_vendor vendor, const char *name);
/* Adds the texts of a variable that holds several, each with a NUL behind it. */
void variable_get_list(enum variable_vendor vendor, const char *name, struct strings *ret);
/* Value of a variable of exactly 8 bytes, little endian; `otherwise` if it is none. */
uint64_t variable_get_u64(enum variable_vendor vendor, const char *name, uint64_t otherwise);

/* Sets a non-volatile variable, unless it holds that text already. Returns 0 or -errno. */
int variable_set(enum variable_vendor vendor, const char *name, const char *text);
/* Deletes; not there is success. Returns 0 or -errno. */
int variable_delete(enum variable_vendor vendor, const char *name);

/* What -errno of a failed write means, and what to do, as a phrase. */
const char *variable_error_text(int error);

/* Whether firmware starts granule-boot in the next boot, and only then. */
bool variable_boot_next_is_own(void);

#endif
