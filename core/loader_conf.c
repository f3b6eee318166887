/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>
#include <granule/keyval.h>
#include <granule/loader_conf.h>

bool menu_mode_parse(struct span value, enum menu_mode *ret, uint32_t *ret_timeout_s)
{
	uint64_t seconds;

	if (span_equal(value, SPAN("menu-force")))
		*ret = MENU_FORCE;
	else if (span_equal(value, SPAN("menu-hidden")))
		*ret = MENU_HIDDEN;
	else if (span_equal(value, SPAN("menu-disabled")))
		*ret = MENU_DISABLED;
	else if (span_to_number(value, UINT32_MAX, &seconds)) {
		/* All ones is the older spelling of menu-force. */
		*ret = seconds == UINT32_MAX ? MENU_FORCE : seconds ? MENU_TIMEOUT : MENU_HIDDEN;
		if (*ret == MENU_TIMEOUT)
			*ret_timeout_s = (uint32_t)seconds;
	} else
		return false;
	return true;
}

void loader_conf_parse(struct span text, struct loader_conf *ret)
{
	struct keyval kv;
	size_t pos = 0;

	*ret = (struct loader_conf){ .menu = MENU_HIDDEN };
	while (keyval_next(text, &pos, &kv)) {
		bool good = true;

		if (span_equal(kv.key, SPAN("timeout")))
			good = menu_mode_parse(kv.value, &ret->menu, &ret->timeout_s);
		else if (span_equal(kv.key, SPAN("default")))
			ret->default_pattern = kv.value;
		else if (span_equal(kv.key, SPAN("preferred")))
			ret->preferred_pattern = kv.value;
		else if (span_equal(kv.key, SPAN("page-size"))) {
			enum page_size size = page_size_parse(kv.value);
			good = size != PAGE_SIZE_UNKNOWN;
			if (good)
				ret->page_size = size;
		}
		if (!good && !ret->has_bad) {
			ret->has_bad = true;
			ret->bad_offset = kv.offset;
		}
	}
}

enum page_size loader_conf_policy(const struct loader_conf *conf, struct span variable)
{
	enum page_size size = page_size_parse(variable);

	return size != PAGE_SIZE_UNKNOWN ? size : conf->page_size;
}

int loader_conf_set(struct span text, struct span key, struct span value, struct text *ret)
{
	struct keyval kv;
	size_t pos = 0, copied = 0;
	bool written = value.n == 0;

	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == '\n' || value.p[i] == '\r')
			return ERROR_SYNTAX;
	while (keyval_next(text, &pos, &kv)) {
		if (!span_equal(kv.key, key))
			continue;
		text_add(ret, span_cut(text, copied, kv.line_start));
		if (!written) {
			text_add(ret, key);
			text_add(ret, SPAN(" "));
			text_add(ret, value);
			written = true;
			copied = kv.line_end;
		} else {
			copied = pos < text.n ? pos : text.n;
			if (copied < text.n && text.p[copied] == '\n' && text.p[copied - 1] == '\r')
				copied++;
		}
	}
	text_add(ret, span_cut(text, copied, text.n));
	if (!written) {
		if (ret->n && ret->p[ret->n - 1] != '\n')
			text_add(ret, SPAN("\n"));
		text_add(ret, key);
		text_add(ret, SPAN(" "));
		text_add(ret, value);
		text_add(ret, SPAN("\n"));
	}
	return ret->full ? ERROR_SPACE : 0;
}
