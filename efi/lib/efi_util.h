/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory, text and messages for our EFI programs. Text is UTF-8 spans inside, UTF-16 only at the calls of
 * firmware. */
#ifndef GRANULE_EFI_UTIL_H
#define GRANULE_EFI_UTIL_H

#include <efi.h>
#include <efilib.h>

#include <granule/span.h>

/* Calls into firmware go directly through typed pointers; gnu-efi's header gives EFIAPI the right convention.
 */

/* Zeroed pool memory. There is no way on without the few bytes that this is asked for: on failure it says so
 * and returns to firmware, which tries its next boot option. Large buffers are allocated elsewhere, with
 * checks. */
void *efi_alloc(UINTN size);

#define efi_new(type, n) ((type *)efi_alloc(sizeof(type) * (n)))

/* The same with anything in it, for large buffers, where zeros would take time. */
void *efi_alloc_unset(UINTN size);

/* Zeroed memory that is never freed, for what is wanted in many small pieces: cheaper than a piece of pool
 * each. */
void *efi_keep(UINTN size);

#define efi_keep_new(type, n) ((type *)efi_keep(sizeof(type) * (n)))

/* Frees pool memory; NULL is allowed. */
void efi_free(void *p);

/* Copy of a span with a final NUL. */
struct span efi_copy(struct span s);

/* UTF-8 to UTF-16 with a final NUL; what is no UTF-8 becomes U+FFFD. To be freed. `ret_bytes` may be NULL; it
 * is the size with the NUL. */
CHAR16 *efi_to_utf16(struct span s, UINTN *ret_bytes);

/* The same into a buffer of s.n + 1 units. Returns the units without the NUL. */
UINTN efi_utf16_into(struct span s, CHAR16 *buffer);

/* UTF-16 of at most `max` units, up to a NUL, to UTF-8. To be freed (the span's p). */
struct span efi_to_utf8(const CHAR16 *s, UINTN max);
/* The same in memory that is kept. */
struct span efi_to_utf8_kept(const CHAR16 *s, UINTN max);

/* A path of a configuration file ("/a/b") as firmware wants it ("\a\b"), always with a first backslash.
 * `ret_bytes` may be NULL; it is the size with the NUL. */
CHAR16 *efi_path(struct span path, UINTN *ret_bytes);

/* "A: B" in new memory. */
struct span efi_join(struct span a, const char *between, struct span b);

/* Prints one line for people: "granule-boot: SUBJECT: TEXT". */
void efi_message(struct span subject, struct span text);

/* Text of a status for people, such as "not found". */
const char *efi_status_text(EFI_STATUS status);

/* Microseconds since the machine's counter started. */
UINT64 efi_now_us(void);

#endif
