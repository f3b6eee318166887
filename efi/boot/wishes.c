/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was asked for: loader.conf and variables. */
#include <granule/keyval.h>
#include <granule/variables.h>

#include "boot.h"
#include "efi_files.h"
#include "efi_measure.h"
#include "efi_vars.h"

#define CONF_MAX (64u << 10)
#define CONF_PATH SPAN("/loader/loader.conf")

static void read_conf(struct boot *b)
{
	struct span text = SPAN_NONE;
	EFI_STATUS status = efi_read_text(b->volumes[VOLUME_OWN].root, CONF_PATH, CONF_MAX, &text);

	if (EFI_ERROR(status) && status != EFI_NOT_FOUND)
		efi_message(CONF_PATH, span_of(efi_status_text(status)));
	if (!EFI_ERROR(status))
		efi_measure_conf(text);
	loader_conf_parse(text, &b->conf);
	if (b->conf.has_bad) {
		char line[80];
		struct text t = text_in(line, sizeof(line));

		text_add(&t, SPAN("value not understood, skipped line "));
		text_add_number(&t, keyval_line_number(text, b->conf.bad_offset), 1);
		efi_message(CONF_PATH, text_span(&t));
	}
}

static void read_timeout(struct boot *b)
{
	struct span oneshot = efi_var_get(&efi_loader_guid, L"LoaderConfigTimeoutOneShot");

	/* One that cannot be deleted would show the menu at every boot. */
	if (oneshot.p && !efi_var_delete(&efi_loader_guid, L"LoaderConfigTimeoutOneShot"))
		oneshot = SPAN_NONE;
	loader_conf_apply_timeout(&b->conf, efi_var_get(&efi_loader_guid, L"LoaderConfigTimeout"), oneshot);
}

static void read_variables(struct boot *b)
{
	struct choose_input *in = &b->input;

	in->oneshot = efi_var_get(&efi_loader_guid, L"LoaderEntryOneShot");
	if (in->oneshot.p)
		in->oneshot_not_cleared = !efi_var_delete(&efi_loader_guid, L"LoaderEntryOneShot");
	in->preferred = efi_var_get(&efi_loader_guid, L"LoaderEntryPreferred");
	in->default_variable = efi_var_get(&efi_loader_guid, L"LoaderEntryDefault");
	in->preferred_config = b->conf.preferred_pattern;
	in->default_config = b->conf.default_pattern;
	in->policy = loader_conf_policy(&b->conf, efi_var_get(&efi_granule_guid, L"GranulePolicy"));
	in->cpu = b->cpu;
	env_read(b);
	if (choose_wants_saved(in))
		in->last_booted = efi_var_get(&efi_loader_guid, L"LoaderEntryLastBooted");
}

void wishes_read(struct boot *b)
{
	read_conf(b);
	read_timeout(b);
	read_variables(b);
}
