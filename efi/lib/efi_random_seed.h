/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A random seed for the kernel (Boot Loader Interface; systemd.io/RANDOM_SEEDS): loader/random-seed and the
 * variable LoaderSystemToken, mixed with what firmware has. */
#ifndef GRANULE_EFI_RANDOM_SEED_H
#define GRANULE_EFI_RANDOM_SEED_H

#include "efi_util.h"

/* Renews the file in place and hands a seed to the kernel, in that order: a seed that could come again in the
 * next boot is not handed out. Without a usable file nothing is done; the file is never created here, so
 * nothing on the partition changes but the bytes of that one file. */
void efi_random_seed_process(EFI_FILE_HANDLE root);

#endif
