/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the running system, or of the one below --root. */
#ifndef GRANULE_SYSTEM_H
#define GRANULE_SYSTEM_H

#include <granule/page_size.h>

#include "options.h"

/* Whether --root names another system than the running one. */
bool system_is_other(const struct options *o);

/* Base page size of the running kernel, in bytes. */
uint64_t system_page_size(void);

/* The same, or that of the kernel whose /proc is mounted below --root; 0 if there is none. */
uint64_t system_page_size_below(const struct options *o);

/* Random id of this boot: it stays the same over a soft reboot, and is new after kexec. NULL if it is not
 * known. */
char *system_boot_id(const struct options *o);

/* Seconds since the kernel was started, with those of suspend; negative if not known. */
double system_uptime(const struct options *o);

/* Whether another kernel started this one (kexec): what the loader says is of an earlier boot then. */
bool system_from_kexec(const struct options *o);

/* Page sizes of the CPU as the boot manager published them (GranuleCpu); unknown if it did not. */
page_size_set system_cpu(void);

/* Machine type (enum pe_machine) that entries must be made for: of the running kernel, or of the programs
 * below
 * --root, where arm64 is assumed if there are none. */
uint16_t system_machine(const struct options *o);

/* Release of the running kernel; NULL for another system, unless its /proc is mounted. */
char *system_release(const struct options *o);

/* Command line of the running kernel; NULL as above. */
char *system_cmdline(const struct options *o);

/* A value of os-release, quotes removed; NULL if it is not there. */
char *system_os_release(const struct options *o, const char *key);

#endif
