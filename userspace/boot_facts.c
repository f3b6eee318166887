/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <string.h>

#include <granule/boot_counter.h>

#include "boot_facts.h"
#include "loaders/loader.h"
#include "variables.h"

static char *field(struct span record, const char *key)
{
	struct span value;

	return boot_record_get(record, span_of(key), &value) ? xstrndup(value) : NULL;
}

/* Up to version 257 systemd-boot takes the boot counter for a part of the id. */
static void strip_counter(char *id)
{
	struct boot_counter counter;
	char without[NAME_MAX + 1];
	struct text t = text_in(without, sizeof(without) - 1);

	if (!boot_counter_parse(span_of(id), &counter) || !counter.present)
		return;
	boot_counter_id(&counter, &t);
	without[t.n] = 0;
	/* It only gets shorter. */
	strcpy(id, without);
}

void boot_facts_read(struct boot_facts *ret)
{
	struct span key, value;

	*ret = (struct boot_facts){
		.record = variable_get(VENDOR_GRANULE, "GranuleBoot"),
		.loader = variable_get(VENDOR_LOADER, "LoaderInfo"),
		.entry = variable_get(VENDOR_LOADER, "LoaderEntrySelected"),
	};
	if (ret->entry && ret->loader && loader_by_info(ret->loader) == &loader_systemd_boot)
		strip_counter(ret->entry);
	struct span record = span_of(ret->record);
	if (!record.p)
		return;

	ret->has_entry = boot_record_get(record, SPAN("entry"), &value);
	ret->explain = field(record, "explain");
	ret->memory_map = field(record, BOOT_RECORD_MEMORY_MAP);
	if (boot_record_get(record, SPAN("page-size"), &value))
		ret->asked = page_size_parse(value);
	if (boot_record_get(record, SPAN("kind"), &value))
		for (enum image_kind k = IMAGE_UNKNOWN; k <= IMAGE_SELECTABLE; k++)
			if (span_equal(value, span_of(image_kind_name(k))))
				ret->kind = k;
	for (size_t pos = 0; boot_record_next(record, &pos, &key, &value);) {
		if (span_equal(key, SPAN("failed")))
			strings_add(&ret->failures, xstrndup(value));
		else if (span_equal(key, SPAN("left-out")))
			strings_add(&ret->left_out, xstrndup(value));
	}
}

void boot_facts_free(struct boot_facts *facts)
{
	free(facts->record);
	free(facts->loader);
	free(facts->entry);
	free(facts->explain);
	free(facts->memory_map);
	strings_free(&facts->failures);
	strings_free(&facts->left_out);
	*facts = (struct boot_facts){ 0 };
}
