/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <granule/os_release.h>
#include <granule/pe.h>

#include "system.h"
#include "variables.h"

#define OS_RELEASE_MAX (64 << 10)

bool system_is_other(const struct options *o)
{
	return strcmp(o->root, "/") != 0;
}

uint64_t system_page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

page_size_set system_cpu(void)
{
	_cleanup_free_ char *words = variable_get(VENDOR_GRANULE, "GranuleCpu");

	return page_size_set_parse(span_of(words));
}

static uint16_t machine_of_elf(uint16_t machine)
{
	switch (machine) {
	case EM_AARCH64:
		return PE_MACHINE_AA64;
	case EM_X86_64:
		return PE_MACHINE_X64;
	default:
		return 0;
	}
}

uint16_t system_machine(const struct options *o)
{
	static const char *const programs[] = { "usr/bin/env", "bin/sh", "usr/bin/bash",
						"usr/lib/systemd/systemd" };
	struct utsname u;

	if (!system_is_other(o)) {
		if (uname(&u) == 0 && strcmp(u.machine, "x86_64") == 0)
			return PE_MACHINE_X64;
		return PE_MACHINE_AA64;
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, programs[i]);
		_cleanup_file_ FILE *f = fopen(path, "re");
		Elf64_Ehdr header;

		if (f && fread(&header, sizeof(header), 1, f) == 1 &&
		    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
			uint16_t machine = machine_of_elf(read_le16(&header.e_machine));
			if (machine)
				return machine;
		}
	}
	return PE_MACHINE_AA64;
}

static char *line_below(const struct options *o, const char *name)
{
	_cleanup_free_ char *path = path_join(o->root, name);

	return read_line(path);
}

char *system_release(const struct options *o)
{
	struct utsname u;

	if (system_is_other(o))
		return line_below(o, "proc/sys/kernel/osrelease");
	return uname(&u) == 0 ? xstrdup(u.release) : NULL;
}

char *system_cmdline(const struct options *o)
{
	return line_below(o, "proc/cmdline");
}

char *system_boot_id(const struct options *o)
{
	return line_below(o, "proc/sys/kernel/random/boot_id");
}

double system_uptime(const struct options *o)
{
	struct timespec now;

	if (!system_is_other(o) && clock_gettime(CLOCK_BOOTTIME, &now) == 0)
		return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	_cleanup_free_ char *line = line_below(o, "proc/uptime");
	return line ? strtod(line, NULL) : -1;
}

/* The kernel hands the value to programs as AT_PAGESZ, and shows it in their auxv files. */
uint64_t system_page_size_below(const struct options *o)
{
	_cleanup_free_ char *path = path_join(o->root, "proc/self/auxv"), *data = NULL;
	Elf64_auxv_t pair;
	size_t size;

	if (!system_is_other(o))
		return system_page_size();
	if (read_file(path, 0, &data, &size) < 0)
		return 0;
	for (size_t at = 0; at + sizeof(pair) <= size; at += sizeof(pair)) {
		memcpy(&pair, data + at, sizeof(pair));
		if (pair.a_type == AT_PAGESZ)
			return pair.a_un.a_val;
	}
	return 0;
}

/* kexec leaves a mark in the device tree that it makes for the next kernel, on machines with ACPI too; that
 * tree is shown as it was handed over. Firmware's own has no such property. */
bool system_from_kexec(const struct options *o)
{
	static const char mark[] = "linux,booted-from-kexec";
	_cleanup_free_ char *path = path_join(o->root, "sys/firmware/fdt"), *tree = NULL;
	size_t size;

	return read_file(path, 0, &tree, &size) == 0 && memmem(tree, size, mark, sizeof(mark));
}

char *system_os_release(const struct options *o, const char *key)
{
	static const char *const files[] = { "etc/os-release", "usr/lib/os-release" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = path_join(o->root, files[i]), *text = NULL;
		struct span k, value, found = SPAN_NONE;
		size_t size, pos = 0;

		if (read_file(path, OS_RELEASE_MAX, &text, &size) < 0)
			continue;
		while (os_release_next(text, size, &pos, &k, &value))
			if (span_equal(k, span_of(key)))
				found = value;
		if (found.n)
			return xstrndup(found);
	}
	return NULL;
}
