/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of version strings: UAPI Group Version Format Specification. */
#ifndef GRANULE_VERSION_ORDER_H
#define GRANULE_VERSION_ORDER_H

#include <granule/span.h>

/* <0 when a is older than b, 0 when they are equal, >0 when a is newer. */
int version_compare(struct span a, struct span b);

#endif
