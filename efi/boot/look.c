/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the files of entries. Many entries share a kernel or an initrd: each file is looked at once. */
#include <granule/entry_look.h>
#include <granule/path.h>

#include "boot.h"
#include "efi_cpu.h"
#include "efi_files.h"
#include "efi_source.h"

#define BUCKETS 256u
#define LOOK_MEMORY (1u << 20)

struct look {
	struct look *next;
	enum entry_volume volume;
	struct span path;
	const char *wrong; /* why it cannot be opened or started */
	UINT64 size;
	BOOLEAN examined; /* `head` and what follows are known: it is a kernel */
	struct image_head head;
	enum image_kind kind;
	BOOLEAN initrd_by_name;
};

struct looks {
	struct look *buckets[BUCKETS];
	char *memory;
};

/* The same for all spellings that path_same() takes for one. */
static unsigned hash(struct span path)
{
	unsigned h = 0;

	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] != '/' && path.p[i] != '\\')
			h = h * 31 + (unsigned char)char_lower(path.p[i]);
	return h % BUCKETS;
}

static struct looks *looks_of(struct boot *b)
{
	if (!b->looks) {
		b->looks = efi_new(struct looks, 1);
		b->looks->memory = efi_alloc_unset(LOOK_MEMORY);
	}
	return b->looks;
}

/* What is known of a file; new when `size` and `wrong` are still to be found out. */
static struct look *find(struct boot *b, enum entry_volume volume, struct span path, BOOLEAN *ret_new)
{
	struct look **bucket = &looks_of(b)->buckets[hash(path)];

	for (struct look *l = *bucket; l; l = l->next) {
		if (l->volume == volume && path_same(l->path, path)) {
			*ret_new = FALSE;
			return l;
		}
	}
	struct look *l = efi_new(struct look, 1);
	*l = (struct look){ .next = *bucket, .volume = volume, .path = path };
	*bucket = l;
	*ret_new = TRUE;
	return l;
}

/* Opens a file for the first look at it; NULL with l->wrong set. */
static EFI_FILE_HANDLE open_first(struct boot *b, struct look *l)
{
	EFI_STATUS status;
	EFI_FILE_HANDLE file = efi_open(b->volumes[l->volume].root, l->path, &status);

	if (file)
		status = efi_file_size(file, &l->size);
	if (!EFI_ERROR(status))
		return file;
	l->wrong = efi_status_text(status);
	efi_close(file);
	return NULL;
}

/* Whether files that are handed to the kernel are there. What cannot be read to its end is found out when the
 * entry is started. */
static BOOLEAN look_at_parts(struct boot *b, struct entry *e, const struct span *paths, unsigned n,
			     UINT64 *ret_total)
{
	for (unsigned i = 0; i < n; i++) {
		BOOLEAN is_new;
		struct look *l = find(b, e->volume, paths[i], &is_new);

		if (is_new)
			efi_close(open_first(b, l));
		if (l->wrong && !l->examined) {
			entry_fail_object(b, e, paths[i], l->wrong);
			return FALSE;
		}
		*ret_total += l->size;
	}
	return TRUE;
}

static void examine(struct boot *b, struct look *l, struct entry *e)
{
	EFI_FILE_HANDLE file = open_first(b, l);

	if (!file)
		return;
	struct file_source source = efi_source(file, l->size);
	l->wrong =
		entry_look(e, &source, EFI_NATIVE_MACHINE, b->cpu, b->looks->memory, LOOK_MEMORY, &l->head);
	l->kind = e->kind;
	l->initrd_by_name = e->initrd_by_name;
	l->examined = TRUE;
	efi_close(file);
}

static void look_at_image(struct boot *b, struct entry *e)
{
	BOOLEAN is_new;
	struct look *l = find(b, e->volume, e->bls.path, &is_new);

	/* What a unified image says depends on the profile as well. */
	if (is_new || !l->examined || l->head.container == CONTAINER_UKI) {
		examine(b, l, e);
	} else if (!l->wrong) {
		entry_set_page_size(e, &l->head, l->kind == IMAGE_SELECTABLE, b->cpu);
		e->initrd_by_name = l->initrd_by_name;
	}
	if (l->wrong)
		entry_fail_object(b, e, e->bls.path, l->wrong);
}

void look_at_entry(struct boot *b, struct entry *e)
{
	const struct bls_entry *bls = &e->bls;
	const char *feature = entry_unsupported_feature(e);
	UINT64 total = 0, extra = 0;

	if (feature) {
		entry_fail(b, e, span_of(feature));
		return;
	}
	/* Programs get neither, unified images bring their own initrd. */
	unsigned n_initrd = bls->start == BLS_START_LINUX ? bls->n_initrd : 0;
	unsigned n_extra = bls->start == BLS_START_EFI ? 0 : bls->n_extra;
	if (!look_at_parts(b, e, bls->initrd, n_initrd, &total) ||
	    !look_at_parts(b, e, bls->extra, n_extra, &extra))
		return;
	if (n_initrd && !total) {
		entry_fail_object(b, e, bls->initrd[0], efi_status_text(EFI_END_OF_FILE));
		return;
	}
	look_at_image(b, e);
}
