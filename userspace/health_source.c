/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of what swaps and file systems are on. The kernel numbers disks anew at each boot. */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <granule/utf8.h>

#include "health_parts.h"

static char *value_of(blkid_probe probe, const char *name)
{
	const char *value;

	return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? xstrdup(value) : NULL;
}

void content_probe(const char *path, struct content *ret)
{
	blkid_probe probe = blkid_new_probe_from_filename(path);

	*ret = (struct content){ 0 };
	if (!probe)
		return;
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID | BLKID_SUBLKS_MAGIC);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_ENTRY_DETAILS);
	if (blkid_do_safeprobe(probe) >= 0) {
		_cleanup_free_ char *offset = value_of(probe, "SBMAGIC_OFFSET");

		ret->type = value_of(probe, "TYPE");
		ret->uuid = value_of(probe, "UUID");
		ret->part_uuid = value_of(probe, "PART_ENTRY_UUID");
		ret->magic_offset = offset ? strtoull(offset, NULL, 10) : 0;
	}
	blkid_free_probe(probe);
}

void content_free(struct content *c)
{
	free(c->type);
	free(c->uuid);
	free(c->part_uuid);
	*c = (struct content){ 0 };
}

static bool is_utf8(const char *text)
{
	struct span s = span_of(text);

	for (size_t pos = 0; pos < s.n;)
		if (utf8_decode(s, &pos) == UTF8_REPLACEMENT)
			return false;
	return true;
}

/* Octal, as in fstab. What is no text for JSON is escaped as well; `blanks` says whether blanks are. */
static char *escape(const char *text, bool blanks)
{
	char *escaped = xalloc(4 * strlen(text) + 1), *p = escaped;
	bool is_text = is_utf8(text);

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == '\\' || c == 0x7f || (c == ' ' && blanks) || (c >= 0x80 && !is_text))
			p += sprintf(p, "\\%03o", c);
		else
			*p++ = *text;
	}
	return escaped;
}

static char *unescape(const char *text)
{
	char *plain = xstrdup(text), *to = plain;

	for (const char *p = plain; *p; to++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
		    p[3] <= '7') {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else
			*to = *p++;
	}
	*to = 0;
	return plain;
}

/* Of a mapped device: its UUID may be as new as the key that it is encrypted with. */
static char *mapper_name(const struct options *o, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return NULL;
	_cleanup_free_ char *file =
		xprintf("sys/dev/block/%u:%u/dm/name", major(st.st_rdev), minor(st.st_rdev));
	_cleanup_free_ char *path_of_name = path_join(o->root, file), *name = read_line(path_of_name);
	return name ? xprintf("/dev/mapper/%s", name) : NULL;
}

char *stable_source(const struct options *o, const char *source)
{
	_cleanup_free_ char *mapped = source[0] == '/' ? mapper_name(o, source) : NULL;
	struct content content = { 0 };
	struct stat st;
	char *stable;

	if (source[0] == '/' && stat(source, &st) == 0 && (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode)))
		content_probe(source, &content);
	else
		st.st_mode = 0;
	/* A file has its name. A compressed disk in memory is made anew at each boot. */
	if (mapped)
		stable = escape(mapped, true);
	else if (S_ISBLK(st.st_mode) && content.uuid && strncmp(source, "/dev/zram", 9) != 0)
		stable = xprintf("UUID=%s", content.uuid);
	else if (S_ISBLK(st.st_mode) && content.part_uuid)
		stable = xprintf("PARTUUID=%s", content.part_uuid);
	else
		stable = escape(source, true);
	content_free(&content);
	return stable;
}

bool source_is_tag(const char *source)
{
	static const char *const tags[] = { "UUID=", "PARTUUID=", "LABEL=", "PARTLABEL=" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (strncmp(source, tags[i], strlen(tags[i])) == 0)
			return true;
	return false;
}

char *source_path(const char *stable)
{
	if (source_is_tag(stable))
		/* Takes it apart itself: in fstab there may be quotes. */
		return blkid_evaluate_tag(stable, NULL, NULL);
	char *path = unescape(stable);
	if (path_exists(path))
		return path;
	free(path);
	return NULL;
}

/* ---- items of the baseline ---- */

char *item_text(const struct item *item)
{
	_cleanup_free_ char *target = escape(item->target, false);

	return xprintf("%s %s%s%s", item->fstab ? "fstab" : "other", item->source, *target ? " " : "",
		       target);
}

bool item_parse(const char *text, struct item *ret)
{
	bool fstab = strncmp(text, "fstab ", 6) == 0;

	*ret = (struct item){ 0 };
	if (!fstab && strncmp(text, "other ", 6) != 0)
		return false;
	const char *source = text + 6, *end = strchrnul(source, ' ');
	if (end == source)
		return false;
	*ret = (struct item){
		.fstab = fstab,
		.source = xstrndup((struct span){ source, (size_t)(end - source) }),
		.target = unescape(*end ? end + 1 : ""),
	};
	return true;
}

void item_free(struct item *item)
{
	free(item->source);
	free(item->target);
	*item = (struct item){ 0 };
}

struct libmnt_table *fstab_read(const struct options *o)
{
	_cleanup_free_ char *path = path_join(o->root, "etc/fstab");

	return path_exists(path) ? mnt_new_table_from_file(path) : NULL;
}
