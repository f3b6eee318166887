/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot.h"
#include "efi_device_tree.h"
#include "efi_initrd.h"
#include "efi_measure.h"
#include "efi_trust.h"

/* Load options for the kernel, UTF-16 with a final NUL. Kernels older than v5.8 (PE image version 0) know no
 * LoadFile2: they get the files by name, behind our own words so that the page-size word stays first. */
static CHAR16 *load_options(const struct entry *e, bool by_name, UINTN *ret_bytes)
{
	struct span options = efi_copy(e->bls.options);

	for (unsigned i = 0; by_name && i < e->bls.n_initrd; i++) {
		struct span more = efi_join(options, options.n ? " initrd=" : "initrd=", e->bls.initrd[i]);
		char *p = (char *)more.p;

		for (size_t k = options.n; k < more.n; k++)
			if (p[k] == '/')
				p[k] = '\\';
		efi_free((void *)options.p);
		options = more;
	}
	CHAR16 *text = efi_to_utf16(options, ret_bytes);
	efi_free((void *)options.p);
	return text;
}

static void fail_status(struct boot *b, struct entry *e, struct span object, EFI_STATUS status)
{
	struct span why = efi_join(object, ": ", span_of(efi_status_text(status)));

	entry_fail(b, e, why);
	efi_free((void *)why.p);
}

void entry_start(struct boot *b, struct entry *e, const struct choose_result *result)
{
	struct efi_initrd *initrd = NULL;
	struct efi_device_tree *tree = NULL;
	EFI_HANDLE kernel = NULL;
	EFI_LOADED_IMAGE *loaded = NULL;
	unsigned failed_initrd;
	EFI_STATUS status;

	status = efi_load_image(b->image, b->loaded->DeviceHandle, e->bls.path, &kernel);
	if (EFI_ERROR(status)) {
		fail_status(b, e, e->bls.path, status);
		goto out;
	}
	status = BS->HandleProtocol(kernel, &LoadedImageProtocol, (VOID **)&loaded);
	if (EFI_ERROR(status)) {
		fail_status(b, e, e->bls.path, status);
		goto out;
	}

	efi_measure_choice(e->id, e->page_size);
	if (e->bls.start == BLS_START_LINUX && e->bls.n_initrd) {
		status = efi_initrd_offer(b->root, e->bls.initrd, e->bls.n_initrd, &initrd, &failed_initrd);
		if (EFI_ERROR(status)) {
			fail_status(b, e,
				    failed_initrd < e->bls.n_initrd ? e->bls.initrd[failed_initrd]
								    : SPAN("initrd"),
				    status);
			goto out;
		}
	}

	if (!tree_install(b, e, result, &tree))
		goto out;

	UINTN bytes;
	CHAR16 *options = load_options(e, e->initrd_by_name, &bytes);
	loaded->LoadOptions = options;
	loaded->LoadOptionsSize = (UINT32)bytes;
	efi_measure_options(options, bytes);

	publish_selected(b, e, result);
	status = BS->StartImage(kernel, NULL, NULL);
	kernel = NULL; /* firmware unloads an application that came back */
	publish_none(b, NULL);
	efi_free(options);
	struct span what = efi_join(e->bls.path, " came back: ", span_of(efi_status_text(status)));
	entry_fail(b, e, what);
	efi_free((void *)what.p);
out:
	if (kernel)
		BS->UnloadImage(kernel);
	efi_device_tree_withdraw(tree);
	efi_initrd_withdraw(initrd);
}
