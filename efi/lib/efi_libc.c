/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_libc.h"
#include "efi_util.h"

extern EFI_HANDLE LibImageHandle; /* set by InitializeLib() */

/* Compilers call these four on their own, and when programs are optimized as a whole that is found out too
 * late. */
#define KEPT __attribute__((used))

/* The C library's own declarations would come with headers that firmware's world does not have. */
KEPT void *memcpy(void *to, const void *from, size_t n);
KEPT void *memset(void *p, int c, size_t n);
KEPT void *memmove(void *to, const void *from, size_t n);
KEPT int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *p, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
unsigned long strtoul(const char *s, char **end, int base);
void __stack_chk_fail(void);

extern UINT64 __stack_chk_guard;
UINT64 __stack_chk_guard;

void efi_libc_start(void)
{
	/* The low byte stays 0, so that a text that runs over cannot copy the value. */
	__stack_chk_guard = (efi_now_us() * 0x9e3779b97f4a7c15u ^ (UINTN)BS) << 8;
}

void __stack_chk_fail(void)
{
	if (ST->ConOut)
		ST->ConOut->OutputString(ST->ConOut, L"granule-boot: stack is damaged, back to firmware\r\n");
	BS->Exit(LibImageHandle, EFI_ABORTED, 0, NULL);
	for (;;)
		;
}

void *memcpy(void *to, const void *from, size_t n)
{
	BS->CopyMem(to, (VOID *)from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	BS->CopyMem(to, (VOID *)from, n); /* minds overlaps */
	return to;
}

void *memset(void *p, int c, size_t n)
{
	BS->SetMem(p, n, (UINT8)c);
	return p;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void *memchr(const void *p, int c, size_t n)
{
	const unsigned char *x = p;

	for (; n; n--, x++)
		if (*x == (unsigned char)c)
			return (void *)x;
	return NULL;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

size_t strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
	return memchr(s, c, strlen(s) + 1);
}

char *strrchr(const char *s, int c)
{
	for (size_t n = strlen(s) + 1; n > 0; n--)
		if (s[n - 1] == (char)c)
			return (char *)s + n - 1;
	return NULL;
}

/* Decimal numbers only, and no signs: libfdt reads nothing else. */
unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long v = 0;

	for (; base == 10 && char_is_digit(*s); s++)
		v = v * 10 + (unsigned long)(*s - '0');
	*end = (char *)s;
	return v;
}
