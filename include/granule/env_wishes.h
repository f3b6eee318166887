/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the environment block on the EFI system partition asks for. It serves machines whose running system
 * cannot write variables, and it is GRUB's own format, so that one block can serve both loaders. */
#ifndef GRANULE_ENV_WISHES_H
#define GRANULE_ENV_WISHES_H

#include <granule/choose.h>
#include <granule/env_block.h>

#define ENV_PATH SPAN("/EFI/granule/grubenv")

#define ENV_ONESHOT SPAN("next_entry")       /* as in GRUB: boots once, cleared before it is obeyed */
#define ENV_DEFAULT SPAN("saved_entry")      /* as in GRUB */
#define ENV_POLICY SPAN("granule_page_size") /* 4k, 16k, 64k */

/* Takes over what a checked block asks for, where no variable asks for something: a variable wins over the
 * block, and the block over loader.conf. So *in holds the wishes of variables and file already.
 *
 * variable   text of the variable GranulePolicy, empty if it is not set
 * buffer     of ENV_BLOCK_SIZE bytes, keeps the values
 */
void env_wishes_apply(const void *block, struct span variable, char *buffer, struct choose_input *in);

#endif
