/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <libfdt.h>

#include <granule/boot_record.h>
#include <granule/device_tree.h>
#include <granule/error.h>

/* Every property or node that libfdt writes is a multiple of this. */
#define TAG_SIZE 4u
/* Bytes of a property's name with its NUL; the specification allows 32, real trees do not keep to that. */
#define PROPERTY_NAME_MAX 256u
/* For each thing in an overlay libfdt walks through all that is there by then. At this product of sizes the
 * worst that fits takes about ten seconds. A tree of 512 KiB may have overlays of 113 KiB; real ones have a
 * tenth. */
#define WORK_MAX (1ull << 36)

static uint32_t read_be32(const void *p)
{
	return __builtin_bswap32(read_le32(p));
}

/* Bytes of the text at p with its NUL; 0 if none of the n bytes is one. */
static size_t terminated(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!p[i])
			return i + 1;
	return 0;
}

size_t device_tree_room(size_t tree_size, size_t overlay_size)
{
	/* An overlay grows in the tree where its symbols become longer paths. Of the record each byte is
	 * there twice at most; the last summand is for the rest of the properties. */
	return tree_size + 4 * overlay_size + 2 * BOOT_RECORD_MAX + 512;
}

size_t device_tree_size(const void *tree)
{
	return fdt_magic(tree) == FDT_MAGIC ? fdt_totalsize(tree) : 0;
}

/* Walks the structure block. libfdt 1.6.1 can be sent round in circles by the length of a property, and it
 * follows nodes by recursion. */
static int check_structure(const void *tree)
{
	const char *p = (const char *)tree + fdt_off_dt_struct(tree);
	const char *strings = (const char *)tree + fdt_off_dt_strings(tree);
	size_t size = fdt_size_dt_struct(tree), strings_size = fdt_size_dt_strings(tree), at = 0, n;
	unsigned depth = 0;
	bool had_root = false;

	while (size - at >= TAG_SIZE) {
		uint32_t tag = read_be32(p + at);

		at += TAG_SIZE;
		switch (tag) {
		case FDT_BEGIN_NODE:
			n = terminated(p + at, size - at);
			/* One root, and it alone has no name. */
			if (!n || (n == 1) != !depth || (!depth && had_root))
				return ERROR_SYNTAX;
			if (++depth > DEVICE_TREE_MAX_DEPTH)
				return ERROR_TOO_MANY;
			had_root = true;
			break;
		case FDT_PROP:
			if (!depth || size - at < 8)
				return ERROR_SYNTAX;
			n = read_be32(p + at);
			size_t name = read_be32(p + at + 4);
			at += 8;
			if (name >= strings_size)
				return ERROR_SYNTAX;
			size_t rest = strings_size - name;
			if (terminated(strings + name, rest < PROPERTY_NAME_MAX ? rest : PROPERTY_NAME_MAX) <
			    2)
				return ERROR_SYNTAX;
			break;
		case FDT_END_NODE:
			if (!depth)
				return ERROR_SYNTAX;
			depth--;
			n = 0;
			break;
		case FDT_NOP:
			n = 0;
			break;
		case FDT_END:
			return depth || !had_root ? ERROR_SYNTAX : 0;
		default:
			return ERROR_SYNTAX;
		}
		n = (n + TAG_SIZE - 1) & ~(size_t)(TAG_SIZE - 1);
		if (n > size - at)
			return ERROR_SYNTAX;
		at += n;
	}
	return ERROR_SYNTAX;
}

int device_tree_check(const void *blob, size_t size)
{
	if (size < sizeof(struct fdt_header))
		return ERROR_TRUNCATED;
	/* Older versions have other headers; dtc writes 17 since 2007. */
	if (fdt_magic(blob) != FDT_MAGIC || fdt_version(blob) < 17 || fdt_last_comp_version(blob) > 17)
		return ERROR_MAGIC;
	if (fdt_totalsize(blob) > size)
		return ERROR_TRUNCATED;
	if (fdt_totalsize(blob) > DEVICE_TREE_MAX)
		return ERROR_SPACE;
	if (fdt_check_header(blob) || fdt_off_mem_rsvmap(blob) % 8 || fdt_off_dt_struct(blob) % TAG_SIZE ||
	    fdt_num_mem_rsv(blob) < 0)
		return ERROR_SYNTAX;
	return check_structure(blob);
}

static int from_libfdt(int error)
{
	switch (-error) {
	case FDT_ERR_NOSPACE:
		return ERROR_SPACE;
	case FDT_ERR_NOTFOUND:
		return ERROR_NOT_FOUND;
	default:
		return error < 0 ? ERROR_SYNTAX : 0;
	}
}

int device_tree_copy(const void *tree, void *ret_copy, size_t room)
{
	return from_libfdt(fdt_open_into(tree, ret_copy, (int)room));
}

/* Whether a value is one text that is an absolute path. An alias would be followed without end when it leads
 * to itself, and the overlay may bring such a one. */
static bool is_path(const char *value, int length)
{
	return length > 0 && value[0] == '/' && terminated(value, (size_t)length) == (size_t)length;
}

/* Whether a phandle at this offset of a property lies in it. */
static bool reference_fits(uint64_t offset, int length)
{
	return length >= 4 && offset <= (uint64_t)length - 4;
}

/* /__local_fixups__ mirrors the overlay's nodes; its properties list offsets in those of the same name. */
static int check_local_fixups(const void *overlay)
{
	int mirrored[DEVICE_TREE_MAX_DEPTH + 1] = { 0 };
	int node = fdt_path_offset(overlay, "/__local_fixups__"), depth = 0, property, length, own;

	while (node >= 0 && depth >= 0) {
		if (depth > 0) {
			mirrored[depth] = fdt_subnode_offset(overlay, mirrored[depth - 1],
							     fdt_get_name(overlay, node, NULL));
			if (mirrored[depth] < 0)
				return ERROR_SYNTAX;
		}
		fdt_for_each_property_offset(property, overlay, node)
		{
			const char *name;
			const char *offsets = fdt_getprop_by_offset(overlay, property, &name, &length);

			if (!offsets || !fdt_getprop(overlay, mirrored[depth], name, &own))
				return ERROR_SYNTAX;
			for (int i = 0; i + 4 <= length; i += 4)
				if (!reference_fits(read_be32(offsets + i), own))
					return ERROR_SYNTAX;
		}
		node = fdt_next_node(overlay, node, &depth);
	}
	return 0;
}

/* One "PATH:PROPERTY:OFFSET" of /__fixups__. */
static bool fixup_fits(const void *overlay, struct span fixup)
{
	size_t path = 0, name, length = 0;
	uint64_t offset;
	int own = 0;

	while (path < fixup.n && fixup.p[path] != ':')
		path++;
	for (name = path + 1; name + length < fixup.n && fixup.p[name + length] != ':';)
		length++;
	if (name + length >= fixup.n || fixup.p[0] != '/' ||
	    !span_to_number(span_cut(fixup, name + length + 1, fixup.n), DEVICE_TREE_MAX, &offset))
		return false;

	int node = fdt_path_offset_namelen(overlay, fixup.p, (int)path);
	return node >= 0 && fdt_getprop_namelen(overlay, node, fixup.p + name, (int)length, &own) &&
	       reference_fits(offset, own);
}

/* /__fixups__ has a property for each label of the tree, which lists the places where its phandle goes. */
static int check_fixups(const void *tree, const void *overlay)
{
	int node = fdt_path_offset(overlay, "/__fixups__"), symbols = fdt_path_offset(tree, "/__symbols__");
	int property, length, symbol_length;

	fdt_for_each_property_offset(property, overlay, node)
	{
		const char *label;
		const char *places = fdt_getprop_by_offset(overlay, property, &label, &length);
		const char *symbol = fdt_getprop(tree, symbols, label, &symbol_length);
		size_t n;

		if (!symbol)
			return ERROR_NOT_FOUND;
		if (!is_path(symbol, symbol_length) || length <= 0)
			return ERROR_SYNTAX;
		for (size_t at = 0, end = (size_t)length; at < end; at += n) {
			n = terminated(places + at, end - at);
			if (!n || !fixup_fits(overlay, (struct span){ places + at, n - 1 }))
				return ERROR_SYNTAX;
		}
	}
	return 0;
}

static int check_targets(const void *overlay)
{
	int fragment, length;

	fdt_for_each_subnode(fragment, overlay, 0)
	{
		const char *path = fdt_getprop(overlay, fragment, "target-path", &length);

		if (path && !is_path(path, length))
			return ERROR_SYNTAX;
	}
	return 0;
}

static uint64_t work(const void *tree, const void *overlay)
{
	uint64_t size = (uint64_t)fdt_size_dt_struct(overlay) + fdt_size_dt_strings(overlay);

	return size * (size + fdt_size_dt_struct(tree) + fdt_size_dt_strings(tree));
}

int device_tree_apply(const void *tree, void *overlay, size_t overlay_size, void *ret_copy, size_t room)
{
	int error = device_tree_check(overlay, overlay_size);

	if (!error && work(tree, overlay) > WORK_MAX)
		error = ERROR_SPACE;
	if (!error)
		error = check_local_fixups(overlay);
	if (!error)
		error = check_fixups(tree, overlay);
	if (!error)
		error = check_targets(overlay);
	if (!error)
		error = device_tree_copy(tree, ret_copy, room);
	if (!error)
		error = from_libfdt(fdt_overlay_apply(ret_copy, overlay));
	if (error)
		return error;
	/* Two trees that are neither too deep nor too large can be so together. */
	if (fdt_off_dt_strings(ret_copy) + fdt_size_dt_strings(ret_copy) > DEVICE_TREE_MAX)
		return ERROR_SPACE;
	return check_structure(ret_copy);
}

static int set_text(void *tree, int node, const char *name, struct span value)
{
	void *data;
	int error;

	if (!value.n) {
		error = fdt_delprop(tree, node, name);
		return error == -FDT_ERR_NOTFOUND ? 0 : error;
	}
	error = fdt_setprop_placeholder(tree, node, name, (int)value.n + 1, &data);
	if (error)
		return error;
	struct text t = text_in(data, value.n + 1);
	text_add(&t, value);
	return 0;
}

int device_tree_record(void *tree, struct span record, struct span cpu)
{
	static const char keys[][10] = { "entry", "page-size", "reason" };
	static const char names[][18] = { DEVICE_TREE_ENTRY, DEVICE_TREE_PAGE_SIZE, DEVICE_TREE_REASON };
	int chosen = fdt_path_offset(tree, "/chosen"), error;

	if (chosen == -FDT_ERR_NOTFOUND)
		chosen = fdt_add_subnode(tree, 0, "chosen");
	if (chosen < 0)
		return from_libfdt(chosen);
	error = set_text(tree, chosen, DEVICE_TREE_BOOT, record);
	if (!error)
		error = set_text(tree, chosen, DEVICE_TREE_CPU, cpu);
	for (size_t i = 0; !error && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct span value = SPAN_NONE;

		boot_record_get(record, span_of(keys[i]), &value);
		error = set_text(tree, chosen, names[i], value);
	}
	return from_libfdt(error);
}

size_t device_tree_pack(void *tree)
{
	fdt_pack(tree);
	return fdt_totalsize(tree);
}

const char *device_tree_error_text(int error)
{
	switch (error) {
	case ERROR_MAGIC:
		return "no device tree";
	case ERROR_SYNTAX:
		return "damaged device tree";
	case ERROR_TOO_MANY:
		return "nodes of the device tree are too deep";
	case ERROR_SPACE:
		return "device tree is too large";
	case ERROR_NOT_FOUND:
		return "names a node or label that the device tree lacks";
	}
	return error_text(error);
}
