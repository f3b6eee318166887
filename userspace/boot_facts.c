/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include <granule/boot_counter.h>

#include "boot_facts.h"
#include "variables.h"

static char *field(struct span record, const char *key)
{
	struct span value;

	return boot_record_get(record, span_of(key), &value) ? xstrndup(value) : NULL;
}

/* Up to version 257 systemd-boot takes the boot counter for a part of the id. In ids of others, what looks
 * like a counter belongs to the name. */
static bool has_counters_in_ids(const char *loader)
{
	const char *name = "systemd-boot ";

	return loader && strncmp(loader, name, strlen(name)) == 0 &&
	       strtoul(loader + strlen(name), NULL, 10) <= 257;
}

char *boot_facts_entry(void)
{
	_cleanup_free_ char *loader = variable_get(VENDOR_LOADER, "LoaderInfo");
	char *id = variable_get(VENDOR_LOADER, "LoaderEntrySelected");
	struct boot_counter counter;

	if (!id || !has_counters_in_ids(loader))
		return id;
	size_t file = strcspn(id, "@");
	if (boot_counter_parse((struct span){ id, file }, &counter) && counter.present) {
		char *end = id + counter.name.n;
		memmove(end, counter.suffix.p, strlen(counter.suffix.p) + 1);
	}
	return id;
}

void boot_facts_read(struct boot_facts *ret)
{
	struct span key, value;

	*ret = (struct boot_facts){
		.record = variable_get(VENDOR_GRANULE, "GranuleBoot"),
		.loader = variable_get(VENDOR_LOADER, "LoaderInfo"),
		.entry = boot_facts_entry(),
	};
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
