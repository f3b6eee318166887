/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flattened device trees (Devicetree Specification 0.4, chapter 5), over libfdt: overlays, and what the
 * kernel is told in /chosen. A blob starts at a multiple of 8 bytes.
 *
 * libfdt trusts much of what an overlay says about itself; here a blob is looked through before libfdt sees
 * it.
 */
#ifndef GRANULE_DEVICE_TREE_H
#define GRANULE_DEVICE_TREE_H

#include <granule/span.h>

#define DEVICE_TREE_MAX (2u << 20) /* bytes; Linux takes no larger tree on arm64 */
#define DEVICE_TREE_MAX_DEPTH 64   /* nodes, one in the other; as Linux */

/* Properties of /chosen, each a text with its NUL. The first is the content of the variable GranuleBoot
 * (boot_record.h), the second that of GranuleCpu; the others repeat one line of the first for people. */
#define DEVICE_TREE_BOOT "granule,boot"
#define DEVICE_TREE_CPU "granule,cpu"
#define DEVICE_TREE_ENTRY "granule,entry"
#define DEVICE_TREE_PAGE_SIZE "granule,page-size"
#define DEVICE_TREE_REASON "granule,reason"

/* Room in bytes that a tree needs so that device_tree_record() and an overlay of this size (0: none) fit. */
size_t device_tree_room(size_t tree_size, size_t overlay_size);

/* Size in bytes that a tree says it has, for one that lies in memory; 0 if there is no tree. Reads 8 bytes.
 */
size_t device_tree_size(const void *tree);

/* Looks through a blob of `size` bytes, which may be more than the tree has. Errors: ERROR_MAGIC (no device
 * tree, or none of version 17), ERROR_TRUNCATED, ERROR_SYNTAX (damaged), ERROR_TOO_MANY (nodes too deep),
 * ERROR_SPACE (larger than DEVICE_TREE_MAX). The functions below take only trees that passed. */
int device_tree_check(const void *blob, size_t size);

/* Copies a tree, with all of `room` for it to grow. ERROR_SPACE if the room does not do. */
int device_tree_copy(const void *tree, void *ret_copy, size_t room);

/* Copies a tree and applies an overlay to the copy; the tree stays as it is. On errors the copy is rubbish.
 * The overlay is used up in any case; it need not be checked before. Errors: those of device_tree_check() for
 * the overlay; ERROR_NOT_FOUND (the tree has no such node or label); ERROR_SYNTAX also for references that
 * lead out of the overlay, and for target paths that begin with an alias; ERROR_SPACE, also when the two are
 * so large that it would take too long. */
int device_tree_apply(const void *tree, void *overlay, size_t overlay_size, void *ret_copy, size_t room);

/* Sets our properties in /chosen, which is made if need be. What is empty or not in the record is removed.
 * Errors: ERROR_SPACE, ERROR_SYNTAX; the tree is good in any case, but may have some of the properties only.
 */
int device_tree_record(void *tree, struct span record, struct span cpu);

/* Gives up the room to grow; returns the size that is left. */
size_t device_tree_pack(void *tree);

/* What is wrong, in the words of device trees; never NULL. */
const char *device_tree_error_text(int error);

#endif
