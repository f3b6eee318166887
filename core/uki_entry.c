/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/os_release.h>
#include <granule/uki_entry.h>

/* The texts of a profile that an entry is made of. */
enum text_section { OSREL, PROFILE, CMDLINE, UNAME, N_TEXTS };

static const enum uki_section sections[N_TEXTS] = {
	[OSREL] = UKI_OSREL,
	[PROFILE] = UKI_PROFILE,
	[CMDLINE] = UKI_CMDLINE,
	[UNAME] = UKI_UNAME,
};

bool uki_file_name_valid(struct span file_name)
{
	static const struct span automatic = { "auto-", 5 };

	return file_name.n > 4 && span_ends_nocase(file_name, SPAN(".efi")) && file_name.p[0] != '.' &&
	       !(file_name.n > automatic.n &&
		 span_equal_nocase(span_cut(file_name, 0, automatic.n), automatic));
}

static size_t text_size(const struct uki_profile *profile, enum text_section text)
{
	uint32_t size = profile->parts[sections[text]].size;

	return size < UKI_TEXT_MAX ? size : UKI_TEXT_MAX;
}

size_t uki_entry_memory(struct span file_name, const struct uki_profile *profile)
{
	/* Path, id and title: the file name twice, words of .osrel and .profile, blanks and numbers. */
	size_t n = 2 * file_name.n + text_size(profile, OSREL) + 2 * text_size(profile, PROFILE) + 64;

	for (enum text_section i = 0; i < N_TEXTS; i++)
		n += text_size(profile, i);
	return n;
}

/* Values of the keys, by their order; a later assignment of the same key counts. */
static void read_keys(struct span text, const struct span *keys, size_t n, struct span *ret)
{
	struct span key, value;
	size_t pos = 0;

	while (os_release_next((char *)text.p, text.n, &pos, &key, &value))
		for (size_t i = 0; i < n; i++)
			if (span_equal(key, keys[i]))
				ret[i] = value;
}

static struct span first_of(const struct span *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i].n)
			return values[i];
	return SPAN_NONE;
}

enum os_key {
	PRETTY_NAME,
	IMAGE_ID,
	NAME,
	ID,
	IMAGE_VERSION,
	VERSION,
	VERSION_ID,
	BUILD_ID,
	N_OS_KEYS,
};

enum profile_key { PROFILE_TITLE, PROFILE_ID, N_PROFILE_KEYS };

static void set_names(struct span text, struct bls_entry *ret)
{
	static const struct span keys[N_OS_KEYS] = {
		[PRETTY_NAME] = { "PRETTY_NAME", 11 },
		[IMAGE_ID] = { "IMAGE_ID", 8 },
		[NAME] = { "NAME", 4 },
		[ID] = { "ID", 2 },
		[IMAGE_VERSION] = { "IMAGE_VERSION", 13 },
		[VERSION] = { "VERSION", 7 },
		[VERSION_ID] = { "VERSION_ID", 10 },
		[BUILD_ID] = { "BUILD_ID", 8 },
	};
	struct span values[N_OS_KEYS] = { 0 };

	read_keys(text, keys, N_OS_KEYS, values);
	ret->title = first_of(values + PRETTY_NAME, IMAGE_VERSION - PRETTY_NAME);
	ret->version = first_of(values + IMAGE_VERSION, N_OS_KEYS - IMAGE_VERSION);
	ret->sort_key = values[IMAGE_ID].n ? values[IMAGE_ID] : values[ID];
}

/* Reads the texts one behind the other; *ret_end is where memory is free again. */
static const char *read_texts(const struct file_source *file, const struct uki_profile *profile, char *memory,
			      struct span *ret, size_t *ret_end)
{
	size_t at = 0;

	for (enum text_section i = 0; i < N_TEXTS; i++) {
		struct uki_part part = profile->parts[sections[i]];

		ret[i] = (struct span){ memory + at, 0 };
		if (part.size > UKI_TEXT_MAX)
			return "a section of text is larger than 64 KiB";
		const char *wrong =
			part.size ? file->read(file->context, part.offset, memory + at, part.size, &ret[i].n)
				  : NULL;
		if (wrong)
			return wrong;
		at += ret[i].n;
	}
	*ret_end = at;
	return NULL;
}

/* Adds what tells profiles apart: the number of one that has no name. */
static void add_profile_name(struct text *t, struct span name, uint32_t n)
{
	if (name.n) {
		text_add(t, name);
	} else {
		text_add(t, SPAN("@"));
		text_add_number(t, n, 1);
	}
}

/* What was added to the text since `from`, which moves on. */
static struct span added(const struct text *t, size_t *from)
{
	struct span s = span_cut(text_span(t), *from, t->n);

	*from = t->n;
	return s;
}

static struct span make_id(const struct boot_counter *counter, struct span profile_id, uint32_t n,
			   struct text *t, size_t *from)
{
	size_t start = *from;

	boot_counter_id(counter, t);
	if (n && profile_id.n)
		text_add(t, SPAN("@"));
	if (n)
		add_profile_name(t, profile_id, n);
	for (size_t i = start; i < t->n; i++)
		t->p[i] = char_lower(t->p[i]);
	return added(t, from);
}

static struct span make_title(struct span name, const struct span *profile_names, uint32_t n, struct text *t,
			      size_t *from)
{
	text_add(t, name);
	text_add(t, SPAN(" ("));
	add_profile_name(t, first_of(profile_names, N_PROFILE_KEYS), n);
	text_add(t, SPAN(")"));
	return added(t, from);
}

const char *uki_entry(const struct file_source *file, struct span file_name,
		      const struct uki_profile *profile, uint32_t n, char *memory, struct entry *ret)
{
	static const struct span profile_keys[N_PROFILE_KEYS] = { { "TITLE", 5 }, { "ID", 2 } };
	struct span read[N_TEXTS], names[N_PROFILE_KEYS] = { 0 };
	size_t end, from = 0;

	*ret = (struct entry){ .type = ENTRY_TYPE2, .file_name = file_name };
	const char *wrong = read_texts(file, profile, memory, read, &end);
	if (wrong)
		return wrong;
	set_names(read[OSREL], &ret->bls);
	if (!ret->bls.title.n)
		return "names no operating system in a section .osrel";
	read_keys(read[PROFILE], profile_keys, N_PROFILE_KEYS, names);
	ret->bls.options = uki_clean_text(read[CMDLINE]);
	ret->release = uki_clean_text(read[UNAME]);
	ret->profile_name = names[PROFILE_ID];
	ret->bls.start = BLS_START_UKI;
	ret->bls.profile = n;
	boot_counter_parse(file_name, &ret->counter);

	struct text t = text_in(memory + end, uki_entry_memory(file_name, profile) - end);
	text_add(&t, SPAN(UKI_FOLDER "/"));
	text_add(&t, file_name);
	ret->bls.path = added(&t, &from);
	ret->id = make_id(&ret->counter, names[PROFILE_ID], n, &t, &from);
	if (n || names[PROFILE_TITLE].n)
		ret->bls.title = make_title(ret->bls.title, names, n, &t, &from);
	return NULL;
}
