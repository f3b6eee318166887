/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few functions of the C library that static archives of the distribution (libfdt, zlib) ask for, and
 * that compilers call on their own. */
#ifndef GRANULE_EFI_LIBC_H
#define GRANULE_EFI_LIBC_H

/* Sets the canary of those archives' stack protector from the machine's counter. No secret to somebody who
 * can measure the start of the machine; it only must not be the same value everywhere. To be called before
 * them. */
void efi_libc_start(void);

#endif
