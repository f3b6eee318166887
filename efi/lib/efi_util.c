/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/path.h>
#include <granule/utf8.h>
#include <granule/variables.h>

#include "efi_util.h"

extern EFI_HANDLE LibImageHandle; /* of gnu-efi, set by InitializeLib() */

void *efi_alloc_unset(UINTN size)
{
	VOID *p = NULL;

	if (EFI_ERROR(BS->AllocatePool(EfiLoaderData, size ? size : 1, &p))) {
		if (ST->ConOut)
			ST->ConOut->OutputString(ST->ConOut, L"granule-boot: out of memory\r\n");
		BS->Exit(LibImageHandle, EFI_OUT_OF_RESOURCES, 0, NULL);
	}
	return p;
}

void *efi_alloc(UINTN size)
{
	VOID *p = efi_alloc_unset(size);

	BS->SetMem(p, size, 0);
	return p;
}

/* Bytes taken from pool at once. */
#define KEEP_CHUNK (256u << 10)

void *efi_keep(UINTN size)
{
	static char *chunk;
	static UINTN left;

	size = (size + 15) & ~(UINTN)15;
	if (size > KEEP_CHUNK / 4)
		return efi_alloc(size);
	if (size > left) {
		chunk = efi_alloc(KEEP_CHUNK);
		left = KEEP_CHUNK;
	}
	char *p = chunk;
	chunk += size;
	left -= size;
	return p;
}

void efi_free(void *p)
{
	if (p)
		BS->FreePool(p);
}

struct span efi_copy(struct span s)
{
	char *p = efi_new(char, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = s.p[i];
	return (struct span){ p, s.n };
}

UINTN efi_utf16_into(struct span s, CHAR16 *out)
{
	UINTN n = 0;

	for (size_t i = 0; i < s.n;) {
		UINT32 c = utf8_decode(s, &i);
		if (c >= 0x10000) {
			out[n++] = (CHAR16)(0xd800 + ((c - 0x10000) >> 10));
			out[n++] = (CHAR16)(0xdc00 + ((c - 0x10000) & 0x3ff));
		} else {
			out[n++] = (CHAR16)c;
		}
	}
	out[n] = 0;
	return n;
}

CHAR16 *efi_to_utf16(struct span s, UINTN *ret_bytes)
{
	CHAR16 *out = efi_new(CHAR16, s.n + 1);
	UINTN n = efi_utf16_into(s, out);

	if (ret_bytes)
		*ret_bytes = (n + 1) * sizeof(CHAR16);
	return out;
}

static UINTN utf16_length(const CHAR16 *s, UINTN max)
{
	UINTN units = 0;

	while (units < max && s[units])
		units++;
	return units;
}

/* `out` has room for three bytes a unit. */
static struct span utf8_into(const CHAR16 *s, UINTN units, char *out)
{
	size_t n = 0;

	for (UINTN i = 0; i < units; i++) {
		UINT32 c = s[i];
		if (c >= 0xd800 && c < 0xdc00 && i + 1 < units && s[i + 1] >= 0xdc00 && s[i + 1] < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (s[++i] - 0xdc00u);
		if (c < 0x80) {
			out[n++] = (char)c;
		} else if (c < 0x800) {
			out[n++] = (char)(0xc0 | c >> 6);
			out[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			out[n++] = (char)(0xe0 | c >> 12);
			out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (char)(0x80 | (c & 0x3f));
		} else {
			out[n++] = (char)(0xf0 | c >> 18);
			out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
			out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (char)(0x80 | (c & 0x3f));
		}
	}
	return (struct span){ out, n };
}

struct span efi_to_utf8(const CHAR16 *s, UINTN max)
{
	UINTN units = utf16_length(s, max);

	return utf8_into(s, units, efi_new(char, units * 3 + 1));
}

struct span efi_to_utf8_kept(const CHAR16 *s, UINTN max)
{
	UINTN units = utf16_length(s, max);

	return utf8_into(s, units, efi_keep(units * 3 + 1));
}

CHAR16 *efi_path(struct span path, UINTN *ret_bytes)
{
	char *buffer = efi_new(char, path.n + 2);
	struct text normal = text_in(buffer, path.n + 2);

	path_normal(path, '\\', &normal);
	CHAR16 *p = efi_to_utf16(text_span(&normal), ret_bytes);
	efi_free(buffer);
	return p;
}

struct span efi_join(struct span a, const char *between, struct span b)
{
	size_t size = a.n + text_length(between) + b.n + 1;
	struct text t = text_in(efi_new(char, size), size);

	text_add(&t, a);
	text_add(&t, span_of(between));
	text_add(&t, b);
	return text_span(&t);
}

static void print_span(struct span s)
{
	CHAR16 *p = efi_to_utf16(s, NULL);

	/* Names and paths come from anywhere: they must not command the terminal. */
	for (CHAR16 *c = p; *c; c++)
		if (*c < ' ' || (*c >= 0x7f && *c < 0xa0))
			*c = '?';
	ST->ConOut->OutputString(ST->ConOut, p);
	efi_free(p);
}

void efi_message(struct span subject, struct span text)
{
	if (!ST->ConOut)
		return;
	print_span(SPAN(GRANULE_BOOT_NAME ": "));
	if (subject.n) {
		print_span(subject);
		print_span(SPAN(": "));
	}
	print_span(text);
	ST->ConOut->OutputString(ST->ConOut, L"\r\n");
}

const char *efi_status_text(EFI_STATUS status)
{
	switch (status) {
	case EFI_SUCCESS:
		return "returned without an error";
	case EFI_NOT_FOUND:
		return "not found";
	case EFI_ACCESS_DENIED:
		return "access denied";
	case EFI_SECURITY_VIOLATION:
		return "refused by Secure Boot: not signed by a trusted key";
	case EFI_UNSUPPORTED:
		return "unsupported format, architecture or page size";
	case EFI_LOAD_ERROR:
		return "load error (damaged image)";
	case EFI_INVALID_PARAMETER:
		return "invalid parameter, or a folder";
	case EFI_OUT_OF_RESOURCES:
		return "out of memory";
	case EFI_DEVICE_ERROR:
		return "device error";
	case EFI_VOLUME_CORRUPTED:
		return "file system is damaged";
	case EFI_BAD_BUFFER_SIZE:
		return "too large";
	case EFI_END_OF_FILE:
		return "file is empty";
	case EFI_NO_MEDIA:
	case EFI_MEDIA_CHANGED:
		return "medium is gone";
	case EFI_WRITE_PROTECTED:
		return "write protected";
	case EFI_INCOMPATIBLE_VERSION:
		return "no kind of resource that the system looks for (.cred, .raw)";
	case EFI_ALREADY_STARTED:
		return "somebody else already offers an initrd";
	case EFI_ABORTED:
		return "aborted";
	default:
		return "firmware error";
	}
}

UINT64 efi_now_us(void)
{
#if defined(__aarch64__)
	UINT64 count, frequency;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count));
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
	if (!frequency)
		return 0;
	/* Split, so that the product cannot overflow. */
	return count / frequency * 1000000 + count % frequency * 1000000 / frequency;
#elif defined(__x86_64__)
	static UINT64 per_us;
	UINT32 low, high;

	if (!per_us) {
		UINT64 before;
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		before = (UINT64)high << 32 | low;
		BS->Stall(1000);
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		per_us = (((UINT64)high << 32 | low) - before) / 1000;
		if (!per_us)
			per_us = 1;
	}
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return ((UINT64)high << 32 | low) / per_us;
#else
	return 0;
#endif
}
