/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts granule-boot on the ESP, and tells firmware about it. Whatever somebody else put there stays. */
#include <efivar/efiboot.h>
#include <efivar/efivar.h>
#include <errno.h>
#include <string.h>

#include <granule/pe.h>

#include "loaders/loader.h"
#include "safe_file.h"
#include "system.h"
#include "variables.h"

#define LABEL "granule"
#define OWN_FOLDER "EFI/granule"
#define LOAD_OPTION_MAX 4096
#define LOAD_OPTION_ACTIVE 1u /* UEFI 3.1.3 */

static const uint32_t nv_attributes =
	EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS | EFI_VARIABLE_RUNTIME_ACCESS;

/* "aa64" or "x64" in lower or upper case, as file names have it. */
static const char *efi_name(const struct options *o)
{
	return pe_machine_efi_name(system_machine(o));
}

static bool is_ours(const char *data, size_t size)
{
	return memmem(data, size, "#### LoaderInfo: " GRANULE_BOOT_NAME " ",
		      17 + sizeof(GRANULE_BOOT_NAME)) != NULL;
}

/* ---- files ---- */

static int install_file(struct actions *a, const struct places *places, const char *name, const char *data,
			size_t size)
{
	_cleanup_free_ char *path = path_join(places->esp, name);
	_cleanup_free_ char *old = NULL;
	size_t old_size = 0;
	int r = read_file(path, 0, &old, &old_size);

	if (r < 0 && r != -ENOENT) {
		complain("%s: %s", path, strerror(-r));
		return r;
	}
	if (r == 0 && !is_ours(old, old_size)) {
		complain("%s: was not written by granule, left alone", path);
		return -EEXIST;
	}
	if (r == 0 && old_size == size && memcmp(old, data, size) == 0)
		return 0;
	r = a->options->dry_run ? 0 : safe_file_write(path, data, size);
	if (r < 0) {
		complain("%s: cannot be written: %s", path, strerror(-r));
		return r;
	}
	action(a, "wrote %s", path);
	return 0;
}

/* The program's file as it lies beside this command, whatever prefix both were installed with; or where the
 * build was told that it would be. */
static char *installed_program(const char *name)
{
	_cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;

	if (slash) {
		*slash = 0;
		char *beside = xprintf("%s/../lib/granule/granule-boot%s.efi", self, name);
		if (path_exists(beside))
			return beside;
		free(beside);
	}
	return xprintf(GRANULE_LIBDIR "/granule-boot%s.efi", name);
}

static int read_program(const struct options *o, char **ret, size_t *ret_size)
{
	const char *name = efi_name(o);
	/* A file below the root comes from that system's own package, if it has one. */
	_cleanup_free_ char *below =
		xprintf("%s" GRANULE_LIBDIR "/granule-boot%s.efi", o->root[1] ? o->root : "", name);
	_cleanup_free_ char *here = installed_program(name);
	const char *given = getenv("GRANULE_BOOT_FILE");
	const char *source = given ? given : system_is_other(o) && path_exists(below) ? below : here;

	int r = read_file(source, 0, ret, ret_size);
	if (r < 0)
		complain("%s: %s; 'make install' puts it there", source, strerror(-r));
	else if (!is_ours(*ret, *ret_size)) {
		complain("%s: is not granule-boot", source);
		r = -EINVAL;
	}
	return r;
}

/* Firmware with Secure Boot starts only what is signed, and granule-boot is not. */
static int check_secure_boot(const struct options *o)
{
	uint8_t *data = NULL;
	size_t size = 0;
	uint32_t attributes;

	if (o->force || system_is_other(o) || !variables_present() ||
	    efi_get_variable(efi_guid_global, "SecureBoot", &data, &size, &attributes) < 0)
		return 0;
	bool on = size == 1 && data[0] == 1;
	free(data);
	if (!on)
		return 0;
	complain("Secure Boot is on, and granule-boot is not signed: firmware would refuse it. Sign the file "
		 "and use "
		 "--force, or turn Secure Boot off");
	return -EPERM;
}

/* ---- Boot#### ---- */

/* The load option: our file on the partition of the ESP. */
static ssize_t make_load_option(const struct options *o, const struct places *places, uint8_t *buffer)
{
	uint8_t device_path[LOAD_OPTION_MAX / 2];
	struct partition p;
	efi_guid_t guid;
	_cleanup_free_ char *file = xprintf("\\EFI\\granule\\granule-boot%s.efi", efi_name(o));

	int r = partition_of(places->esp, &p);
	if (r < 0) {
		complain("%s: is not on a partition that firmware could name: %s", places->esp, strerror(-r));
		return r;
	}
	ssize_t n = -1, total = 0;
	if (efi_str_to_guid(p.uuid, &guid) == 0) {
		n = efidp_make_hd(device_path, sizeof(device_path), p.number, p.start, p.size,
				  (uint8_t *)&guid, 2, 2);
		total = n;
	}
	if (n > 0) {
		n = efidp_make_file(device_path + total, (ssize_t)sizeof(device_path) - total, file);
		total += n;
	}
	if (n > 0) {
		n = efidp_make_end_entire(device_path + total, (ssize_t)sizeof(device_path) - total);
		total += n;
	}
	partition_free(&p);
	if (n > 0)
		n = efi_loadopt_create(buffer, LOAD_OPTION_MAX, LOAD_OPTION_ACTIVE, (efidp)device_path, total,
				       (unsigned char *)LABEL, NULL, 0);
	if (n <= 0) {
		complain("%s: the boot entry could not be made", places->esp);
		return -EIO;
	}
	return n;
}

/* Number of a Boot#### that holds this very option; -1 if there is none. *ret_free is one that is not in use.
 */
static int find_boot_entry(const uint8_t *option, size_t size, int *ret_free)
{
	efi_guid_t *guid = NULL;
	char *name = NULL;
	uint8_t used[65536 / 8] = { 0 };
	int found = -1;

	while (efi_get_next_variable_name(&guid, &name) > 0) {
		unsigned number;
		uint8_t *data = NULL;
		size_t n = 0;
		uint32_t attributes;
		int end = 0;

		if (efi_guid_cmp(guid, &efi_guid_global) != 0 ||
		    sscanf(name, "Boot%4x%n", &number, &end) != 1 || end != 8 || name[8])
			continue;
		used[number / 8] |= (uint8_t)(1u << number % 8);
		if (efi_get_variable(*guid, name, &data, &n, &attributes) == 0 && n == size &&
		    memcmp(data, option, n) == 0)
			found = (int)number;
		free(data);
	}
	*ret_free = 0;
	while (*ret_free < 65535 && (used[*ret_free / 8] & 1u << *ret_free % 8))
		(*ret_free)++;
	return found;
}

/* Puts our number first in BootOrder; the others keep their order behind it. */
static int put_first(struct actions *a, uint16_t number)
{
	uint8_t *old = NULL;
	size_t old_size = 0, n = 0;
	uint32_t attributes = nv_attributes;
	uint16_t *order;

	errno = 0;
	if (efi_get_variable(efi_guid_global, "BootOrder", &old, &old_size, &attributes) < 0) {
		/* Only a variable that is not there is an empty order: others must not be lost. */
		if (errno != ENOENT) {
			int error = errno ? -errno : -EIO;
			complain("BootOrder: cannot be read: %s", strerror(-error));
			return error;
		}
		old_size = 0;
	}
	order = xalloc(old_size + sizeof(*order));
	order[n++] = number;
	for (size_t i = 0; i + 1 < old_size; i += 2)
		if (read_le16(old + i) != number)
			order[n++] = read_le16(old + i);
	bool same = old_size == n * 2 && memcmp(old, order, old_size) == 0;
	free(old);

	int r = 0;
	if (!same && !a->options->dry_run &&
	    efi_set_variable(efi_guid_global, "BootOrder", (uint8_t *)order, n * 2, nv_attributes, 0644) < 0)
		r = errno ? -errno : -EIO;
	free(order);
	if (r < 0)
		complain("BootOrder: cannot be written: %s", variable_error_text(r));
	else if (!same)
		action(a, "put Boot%04X first in BootOrder", number);
	return r;
}

/* Firmware starts this one next time, and forgets it before it does. */
static int set_boot_next(struct actions *a, uint16_t number)
{
	uint8_t value[2] = { (uint8_t)number, (uint8_t)(number >> 8) };

	errno = 0;
	if (!a->options->dry_run &&
	    efi_set_variable(efi_guid_global, "BootNext", value, sizeof(value), nv_attributes, 0644) < 0) {
		int r = errno ? -errno : -EIO;
		complain("BootNext: cannot be written: %s", variable_error_text(r));
		return r;
	}
	action(a, "set BootNext to Boot%04X", number);
	return 0;
}

static int add_boot_entry(struct actions *a, const struct options *o, const struct places *places)
{
	uint8_t option[LOAD_OPTION_MAX];
	const char *why_not;
	int number, unused;

	if (!variables_writable(&why_not)) {
		complain("no boot entry was added: %s%s", why_not,
			 o->removable ? "" : " (--removable puts the file where firmware looks by itself)");
		return o->removable && !o->once ? 0 : -EROFS;
	}
	ssize_t size = make_load_option(o, places, option);
	if (size < 0)
		return (int)size;
	number = find_boot_entry(option, (size_t)size, &unused);
	if (number < 0) {
		char name[16];

		number = unused;
		snprintf(name, sizeof(name), "Boot%04X", (unsigned)number);
		int r = 0;
		errno = 0;
		if (!o->dry_run &&
		    efi_set_variable(efi_guid_global, name, option, (size_t)size, nv_attributes, 0644) < 0)
			r = errno ? -errno : -EIO;
		if (r < 0) {
			complain("%s: cannot be written: %s", name, variable_error_text(r));
			return r;
		}
		action(a, "added the boot entry %s (%s)", name, LABEL);
	}
	return o->once ? set_boot_next(a, (uint16_t)number) : put_first(a, (uint16_t)number);
}

int cmd_install(const struct options *o)
{
	struct actions actions = { .options = o };
	struct places places;
	struct entry_set set;

	if (places_find(o, &places) < 0)
		return EXIT_FAILED;
	if (!places.esp) {
		complain("install needs the EFI system partition: give --esp-path");
		places_free(&places);
		return EXIT_FAILED;
	}
	_cleanup_free_ char *program = NULL;
	_cleanup_free_ char *own = xprintf(OWN_FOLDER "/granule-boot%s.efi", efi_name(o));
	_cleanup_free_ char *fallback =
		xprintf("EFI/BOOT/BOOT%s.EFI", strcmp(efi_name(o), "x64") ? "AA64" : "X64");
	size_t size;

	int r = places_lock(&places);
	if (r == 0)
		r = check_secure_boot(o);
	if (r == 0)
		r = read_program(o, &program, &size);
	/* The file first: a boot entry must never name what is not there. */
	if (r == 0)
		r = install_file(&actions, &places, own, program, size);
	if (r == 0 && !o->no_variables && !system_is_other(o))
		r = add_boot_entry(&actions, o, &places);
	if (r == 0 && o->removable)
		r = install_file(&actions, &places, fallback, program, size);
	actions.failed = r < 0;

	bool have_set = entry_set_load(o, &places, &set) == 0;
	if (have_set) {
		/* From now on it is granule-boot that chooses. */
		set.backend = &loader_granule_boot;
		set.has_preferred = true;
		entry_set_input(&set);
		if (!set.n && !o->json)
			puts("There are no entries yet; 'granule register' writes them.");
	}
	int exit_code = actions_finish(&actions, have_set ? &set : NULL);
	if (have_set)
		entry_set_free(&set);
	places_free(&places);
	return exit_code;
}
