/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/grub_cfg.h>

void grub_path_escape(struct span part, struct text *ret)
{
	for (size_t i = 0; i < part.n; i++) {
		text_add(ret, span_cut(part, i, i + 1));
		if (part.p[i] == '>')
			text_add(ret, SPAN(">"));
	}
}

bool grub_path_next(struct span path, size_t *pos, struct text *ret_part)
{
	*ret_part = text_in(ret_part->p, ret_part->size);
	if (*pos >= path.n)
		return false;
	for (; *pos < path.n; ++*pos) {
		if (path.p[*pos] == '>') {
			++*pos;
			if (*pos == path.n || path.p[*pos] != '>')
				return true;
		}
		text_add(ret_part, span_cut(path, *pos, *pos + 1));
	}
	return true;
}
