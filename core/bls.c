/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/bls.h>
#include <granule/error.h>
#include <granule/keyval.h>

#define FILE_NAME_MAX 255

bool bls_file_name_is_entry(struct span file_name)
{
	if (!span_ends_nocase(file_name, SPAN(".conf")) || file_name.p[0] == '.' ||
	    span_equal_nocase(span_cut(file_name, 0, 5), SPAN("auto-")))
		return false;
	for (size_t i = 0; i < file_name.n; i++)
		if ((unsigned char)file_name.p[i] < ' ' || file_name.p[i] == '/' || file_name.p[i] == '\\')
			return false;
	return true;
}

bool bls_file_name_valid(struct span file_name)
{
	if (file_name.n > FILE_NAME_MAX || !bls_file_name_is_entry(file_name))
		return false;
	for (size_t i = 0; i < file_name.n; i++) {
		char c = file_name.p[i];
		if (!char_is_alpha(c) && !char_is_digit(c) && c != '+' && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

/* A path must stay on its partition: no ".." component. */
static bool path_valid(struct span path)
{
	for (size_t i = 0; i < path.n;) {
		size_t end = i;
		while (end < path.n && path.p[end] != '/' && path.p[end] != '\\')
			end++;
		if (span_equal(span_cut(path, i, end), SPAN("..")))
			return false;
		i = end + 1;
	}
	return true;
}

static int append(struct span *list, unsigned *n, unsigned max, struct span value)
{
	if (*n == max)
		return ERROR_TOO_MANY;
	list[(*n)++] = value;
	return path_valid(value) ? 0 : ERROR_SYNTAX;
}

/* The one list whose items stand in one line, parted by blanks. */
static int append_overlays(struct bls_entry *e, struct span value)
{
	int error = 0;

	for (size_t i = 0, end; !error && i < value.n; i = end + 1) {
		for (end = i; end < value.n && !char_is_blank(value.p[end]);)
			end++;
		if (end > i)
			error = append(e->overlay, &e->n_overlay, BLS_MAX_OVERLAY, span_cut(value, i, end));
	}
	return error;
}

static int set_start(struct bls_entry *e, enum bls_start start, struct span value)
{
	if (e->start != BLS_START_NONE && e->start != start)
		return ERROR_TWO_KERNELS;
	e->start = start;
	e->path = value;
	return path_valid(value) ? 0 : ERROR_SYNTAX;
}

static void set_image(struct bls_entry *e, struct span value)
{
	e->from_granule = true;
	e->image_selectable = span_equal(value, SPAN(BLS_IMAGE_SELECTABLE));
	e->image_page_size = page_size_parse(value);
}

static int set_key(struct bls_entry *e, struct text *options, const struct keyval *kv)
{
	static const struct {
		struct span key;
		size_t offset;
	} plain[] = {
		{ { "title", 5 }, offsetof(struct bls_entry, title) },
		{ { "version", 7 }, offsetof(struct bls_entry, version) },
		{ { "machine-id", 10 }, offsetof(struct bls_entry, machine_id) },
		{ { "sort-key", 8 }, offsetof(struct bls_entry, sort_key) },
		{ { "architecture", 12 }, offsetof(struct bls_entry, architecture) },
	};
	struct span key = kv->key, value = kv->value;
	uint64_t number;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (span_equal(key, plain[i].key)) {
			*(struct span *)((char *)e + plain[i].offset) = value;
			return 0;
		}
	}
	if (span_equal(key, SPAN("options"))) {
		if (options->n)
			text_add(options, SPAN(" "));
		text_add(options, value);
		return options->full ? ERROR_SPACE : 0;
	}
	if (span_equal(key, SPAN("linux")))
		return set_start(e, BLS_START_LINUX, value);
	if (span_equal(key, SPAN("efi")))
		return set_start(e, BLS_START_EFI, value);
	if (span_equal(key, SPAN("uki")))
		return set_start(e, BLS_START_UKI, value);
	if (span_equal(key, SPAN("uki-url")))
		return set_start(e, BLS_START_UKI_URL, value);
	if (span_equal(key, SPAN("initrd")))
		return append(e->initrd, &e->n_initrd, BLS_MAX_INITRD, value);
	if (span_equal(key, SPAN("extra")))
		return append(e->extra, &e->n_extra, BLS_MAX_EXTRA, value);
	if (span_equal(key, SPAN("devicetree-overlay")))
		return append_overlays(e, value);
	if (span_equal(key, SPAN("devicetree"))) {
		e->devicetree = value;
		return path_valid(value) ? 0 : ERROR_SYNTAX;
	}
	if (span_equal(key, SPAN("profile"))) {
		if (!span_to_number(value, UINT32_MAX, &number))
			return ERROR_SYNTAX;
		e->profile = (uint32_t)number;
		return 0;
	}
	if (span_equal(key, SPAN(BLS_KEY_IMAGE)))
		set_image(e, value);
	if (span_equal(key, SPAN(BLS_KEY_TRIAL)))
		e->trial = span_equal(value, SPAN("yes"));
	return 0;
}

int bls_parse(struct span text, char *options, size_t options_size, struct bls_entry *ret, size_t *ret_offset)
{
	struct text joined = text_in(options, options_size);
	struct keyval kv;
	size_t pos = 0;

	*ret = (struct bls_entry){ 0 };
	*ret_offset = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (!text.p[i]) {
			*ret_offset = i;
			return ERROR_SYNTAX;
		}
	}
	while (keyval_next(text, &pos, &kv)) {
		int error = set_key(ret, &joined, &kv);
		if (error) {
			*ret_offset = kv.offset;
			return error;
		}
	}
	ret->options = text_span(&joined);
	return ret->start == BLS_START_NONE ? ERROR_NO_KERNEL : 0;
}
