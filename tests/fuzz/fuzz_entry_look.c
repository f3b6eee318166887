/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look at the file of an entry. Input: a byte of page sizes of the CPU, a byte that says which read
 * fails, the text of the entry, then the file. */
#include "fuzz.h"
#include "memory_source.h"
#include <granule/entry_look.h>

static const char *look(struct fuzz *f, struct span file, uint64_t size, unsigned broken,
			const struct bls_entry *bls, page_size_set cpu, uint16_t machine, size_t memory_size,
			struct entry *ret)
{
	struct memory_source s = { .bytes = file, .size = size, .broken = broken };
	const struct file_source source = memory_source(&s);
	struct image_head head;
	void *memory = fuzz_alloc(f, memory_size);

	*ret = (struct entry){ .bls = *bls, .kind = IMAGE_FIXED, .page_size = PAGE_SIZE_16K };
	const char *wrong = entry_look(ret, &source, machine, cpu, memory, memory_size, &head);
	CHECK(!memcmp(&ret->bls, bls, sizeof(*bls)));
	CHECK(s.reads >= 1 && s.reads <= 8);
	if (wrong) {
		CHECK(*wrong && ret->kind == IMAGE_UNKNOWN && ret->page_size == PAGE_SIZE_UNKNOWN);
		return wrong;
	}
	CHECK(head.has_pe && head.pe.machine == machine);
	CHECK(ret->page_size <= PAGE_SIZE_64K && ret->kind <= IMAGE_SELECTABLE);
	CHECK((ret->kind == IMAGE_UNKNOWN) <= (ret->page_size == PAGE_SIZE_UNKNOWN));
	if (ret->kind == IMAGE_FIXED)
		CHECK(ret->page_size != PAGE_SIZE_UNKNOWN);
	if (head.has_arm64 && head.arm64.page_size != PAGE_SIZE_UNKNOWN)
		CHECK(ret->page_size == (machine == PE_MACHINE_X64 ? PAGE_SIZE_4K : head.arm64.page_size));
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	page_size_set cpu = fuzz_byte(&f) & PAGE_SIZE_SET_ALL;
	unsigned how = fuzz_byte(&f), broken = how % 8;
	struct span text = fuzz_field(&f), file = fuzz_rest(&f);
	uint64_t claimed = file.n + (how >> 6) * 40000;
	struct bls_entry bls;
	struct entry e, same;
	size_t offset;

	bls_parse(text, fuzz_alloc(&f, text.n + 1), text.n + 1, &bls, &offset);
	const char *wrong = look(&f, file, claimed, 0, &bls, cpu, PE_MACHINE_AA64, ENTRY_LOOK_MEMORY, &e);
	/* More memory makes no difference. */
	const char *again =
		look(&f, file, claimed, 0, &bls, cpu, PE_MACHINE_AA64, 2 * ENTRY_LOOK_MEMORY, &same);
	CHECK(wrong == again && e.kind == same.kind && e.page_size == same.page_size &&
	      e.initrd_by_name == same.initrd_by_name);
	look(&f, file, claimed, 0, &bls, cpu, PE_MACHINE_X64, ENTRY_LOOK_MEMORY, &same);
	/* A failure to read is handed on, unless there were fewer reads. */
	again = look(&f, file, claimed, broken, &bls, cpu, PE_MACHINE_AA64, ENTRY_LOOK_MEMORY, &same);
	CHECK(again == wrong || (again && !strcmp(again, FUZZ_READ_ERROR)));

	fuzz_end(&f);
	return 0;
}
