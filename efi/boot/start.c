/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/variables.h>

#include "boot.h"
#include "efi_device_tree.h"
#include "efi_initrd.h"
#include "efi_measure.h"
#include "efi_power.h"
#include "efi_trust.h"
#include "efi_vars.h"

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

/* What is set up for one start, and taken down when it fails. */
struct start {
	EFI_HANDLE image;
	EFI_LOADED_IMAGE *loaded;
	struct efi_initrd *initrd;
	struct efi_device_tree *tree;
	CHAR16 *options;
};

static struct span add_word(struct span line, const char *before, struct span word)
{
	struct span more = efi_join(line, line.n ? before : before + 1, word);

	efi_free((void *)line.p);
	return more;
}

/* Load options, UTF-16 with a final NUL.
 *
 * A stub takes "@N" in front for the number of its profile. Kernels older than v5.8 (PE image version 0) know
 * no LoadFile2: they get the initrds by name, behind our own words so that the page-size word stays first. */
static CHAR16 *load_options(const struct entry *e, UINTN *ret_bytes)
{
	struct span options = efi_copy(e->options_implied ? SPAN_NONE : e->bls.options);
	char number[16];
	struct text n = text_in(number, sizeof(number));

	if (e->bls.profile) {
		text_add(&n, SPAN("@"));
		text_add_number(&n, e->bls.profile, 1);
		struct span with = efi_join(text_span(&n), options.n ? " " : "", options);
		efi_free((void *)options.p);
		options = with;
	}
	if (e->bls.start == BLS_START_LINUX && e->initrd_by_name) {
		for (unsigned i = 0; i < e->bls.n_initrd; i++) {
			CHAR16 *path = efi_path(e->bls.initrd[i], NULL);
			struct span shown = efi_to_utf8(path, (UINTN)-1);

			options = add_word(options, " initrd=", shown);
			efi_free((void *)shown.p);
			efi_free(path);
		}
	}
	CHAR16 *text = efi_to_utf16(options, ret_bytes);
	*ret_bytes = options.n ? *ret_bytes : 0;
	efi_free((void *)options.p);
	return text;
}

/* Loads the program, which takes most of the loader's time. */
static BOOLEAN load(struct boot *b, struct entry *e, struct start *s)
{
	EFI_STATUS status = efi_load_image(b->image, b->volumes[e->volume].device, e->bls.path, &s->image);

	if (EFI_ERROR(status))
		s->image = NULL;
	else
		status = BS->HandleProtocol(s->image, &loaded_image_guid, (VOID **)&s->loaded);
	if (EFI_ERROR(status))
		entry_fail_object(b, e, e->bls.path, efi_status_text(status));
	return !EFI_ERROR(status);
}

/* A unified image brings its own initrd and joins what we offer to it (systemd-stub 258 and later). */
static BOOLEAN offer_initrd(struct boot *b, struct entry *e, struct start *s)
{
	const struct initrd_wish wish = {
		.root = entry_root(b, e),
		.initrds = e->bls.initrd,
		.n_initrds = e->bls.start == BLS_START_LINUX ? e->bls.n_initrd : 0,
		.extras = e->bls.extra,
		.n_extras = e->bls.start == BLS_START_EFI ? 0 : e->bls.n_extra,
	};
	struct span failed;
	EFI_STATUS status = efi_initrd_offer(&wish, &s->initrd, &failed);

	if (EFI_ERROR(status))
		entry_fail_object(b, e, failed, efi_status_text(status));
	return !EFI_ERROR(status);
}

static BOOLEAN prepare(struct boot *b, struct entry *e, struct start *s, const struct choose_result *result)
{
	UINTN bytes;

	efi_measure_choice(e->id, e->page_size);
	if (!offer_initrd(b, e, s))
		return FALSE;
	if (!tree_install(b, e, result, &s->tree))
		return FALSE;
	s->options = load_options(e, &bytes);
	s->loaded->LoadOptions = s->options;
	s->loaded->LoadOptionsSize = (UINT32)bytes;
	efi_measure_options(s->options, bytes);
	return TRUE;
}

/* Remembers the entry where somebody asked for that. One that boots once is not what "@saved" means. */
static void save_last_booted(const struct boot *b, const struct entry *e, const struct choose_result *result)
{
	if (choose_wants_saved(&b->input) && result->rule != RULE_ONESHOT)
		efi_var_store(&efi_loader_guid, L"LoaderEntryLastBooted", e->id);
}

static void run(struct boot *b, struct entry *e, struct start *s, const struct choose_result *result)
{
	struct span record = boot_record_text(b, e, result);

	save_last_booted(b, e, result);
	publish_selected(e, record);
	/* Known to another run of us, should the program start one: leave_out_running(). */
	BS->InstallProtocolInterface(&b->image, &efi_granule_guid, EFI_NATIVE_INTERFACE, &e->id);
	EFI_STATUS status = BS->StartImage(s->image, NULL, NULL);
	BS->UninstallProtocolInterface(b->image, &efi_granule_guid, &e->id);
	s->image = NULL; /* firmware unloads an application that came back */
	efi_free((void *)record.p);
	struct span what = efi_join(e->bls.path, " came back: ", span_of(efi_status_text(status)));
	entry_fail(b, e, what);
	efi_free((void *)what.p);
}

/* Entries that start nothing. Comes back only if firmware does not do it. */
static void act(struct boot *b, struct entry *e)
{
	EFI_STATUS status = EFI_UNSUPPORTED;

	if (e->action == ACTION_FIRMWARE_SETUP)
		status = efi_reboot_to_firmware();
	else if (e->action == ACTION_POWER_OFF)
		efi_power_off();
	else
		efi_reboot();
	entry_fail_object(b, e, SPAN("firmware"), efi_status_text(status));
}

BOOLEAN entry_start(struct boot *b, struct entry *e, const struct choose_result *result)
{
	struct start s = { 0 };
	BOOLEAN interrupted = FALSE;

	if (e->action != ACTION_START) {
		act(b, e);
		return TRUE;
	}
	/* Before all else: what goes wrong from here on was a try. */
	count_boot(b, e);
	if (load(b, e, &s)) {
		interrupted = menu_is_asked_for(b);
		if (!interrupted && prepare(b, e, &s, result))
			run(b, e, &s, result);
	}
	publish_none(b, NULL);
	if (s.image)
		BS->UnloadImage(s.image);
	efi_device_tree_withdraw(s.tree);
	efi_initrd_withdraw(s.initrd);
	efi_free(s.options);
	return !interrupted;
}
