/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device tree of an entry that is about to start. */
#include "boot.h"
#include "efi_device_tree.h"
#include "efi_trust.h"

struct place {
	struct boot *b;
	struct entry *e;
};

static void left_out(struct span path, const char *why, void *context)
{
	struct place *at = context;
	struct span text = efi_join(path, " left out: ", span_of(why));

	entry_left_out(at->b, at->e, text);
	efi_free((void *)text.p);
}

bool tree_install(struct boot *b, struct entry *e, const struct choose_result *result,
		  struct efi_device_tree **ret)
{
	struct place at = { b, e };
	const struct device_tree_wish wish = {
		.root = entry_root(b, e),
		.base = e->bls.devicetree,
		.overlays = e->bls.overlay,
		.n_overlays = e->bls.n_overlay,
		.files_allowed = !efi_secure_boot(),
		.left_out = left_out,
		.context = &at,
	};
	char cpu[32];
	struct text t = text_in(cpu, sizeof(cpu));
	const char *why = efi_device_tree_make(&wish, ret);

	/* The record tells what was left out, so it comes second. */
	if (!why && *ret) {
		struct span record = boot_record_text(b, e, result);

		page_size_set_format(b->cpu, &t);
		why = efi_device_tree_install(*ret, record, text_span(&t));
		efi_free((void *)record.p);
	}
	if (why)
		entry_fail_object(b, e, e->bls.devicetree, why);
	return !why;
}
