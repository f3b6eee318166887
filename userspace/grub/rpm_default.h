/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What updates of kernel packages do to the default on systems of Red Hat's family. */
#ifndef GRANULE_RPM_DEFAULT_H
#define GRANULE_RPM_DEFAULT_H

#include <granule/entry.h>

#include "../options.h"

/* Whether the next update of a kernel package moves the default (saved_entry of grubenv) away from what is
 * wanted, by UPDATEDEFAULT and DEFAULTKERNEL of /etc/sysconfig/kernel. Only of interest where saved_entry
 * decides, and not where grub.cfg has lines of granule.
 *
 * size    of the policy; PAGE_SIZE_UNKNOWN if this one entry is the default
 * entry   the default, or what the policy stands for; NULL: nothing is known
 *
 * Returns one line that ends with what to write where, to be freed; NULL if there is no conflict. */
char *rpm_default_conflict(const struct options *o, enum page_size size, const struct entry *entry);

#endif
