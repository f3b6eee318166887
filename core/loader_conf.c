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

void loader_conf_apply_timeout(struct loader_conf *conf, struct span variable, struct span oneshot)
{
	enum menu_mode mode;

	if (menu_mode_parse(variable, &mode, &conf->timeout_s))
		conf->menu = mode;
	if (menu_mode_parse(oneshot, &mode, &conf->timeout_s))
		conf->menu = mode == MENU_HIDDEN ? MENU_FORCE : mode;
}

bool switch_parse(struct span value, bool *ret)
{
	static const char *const words[] = { "yes", "no", "true", "false", "on", "off",
					     "1",   "0",  "y",    "n",     "t",  "f" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (span_equal_nocase(value, span_of(words[i]))) {
			*ret = i % 2 == 0;
			return true;
		}
	}
	return false;
}

static bool parse_on_error(struct span value, enum on_error *ret)
{
	bool yes;

	if (span_equal(value, SPAN("auto")))
		*ret = ON_ERROR_COUNT;
	else if (switch_parse(value, &yes))
		*ret = yes ? ON_ERROR_REBOOT : ON_ERROR_NEXT;
	else
		return false;
	return true;
}

static bool parse_policy(struct span value, enum page_size *ret)
{
	enum page_size size = page_size_parse(value);

	if (size != PAGE_SIZE_UNKNOWN)
		*ret = size;
	return size != PAGE_SIZE_UNKNOWN;
}

/* False for a value that is not understood. */
static bool set_key(struct loader_conf *conf, struct span key, struct span value)
{
	const struct {
		struct span key;
		bool *field;
	} switches[] = {
		{ SPAN("editor"), &conf->editor },
		{ SPAN("auto-entries"), &conf->auto_entries },
		{ SPAN("auto-firmware"), &conf->auto_firmware },
		{ SPAN("auto-reboot"), &conf->auto_reboot },
		{ SPAN("auto-poweroff"), &conf->auto_poweroff },
		{ SPAN("boot-counting"), &conf->count_boots },
		{ SPAN("random-seed"), &conf->random_seed },
		{ SPAN("env-block"), &conf->env_block },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (span_equal(key, switches[i].key))
			return switch_parse(value, switches[i].field);
	if (span_equal(key, SPAN("timeout")))
		return menu_mode_parse(value, &conf->menu, &conf->timeout_s);
	if (span_equal(key, SPAN("page-size")))
		return parse_policy(value, &conf->page_size);
	if (span_equal(key, SPAN("reboot-on-error")))
		return parse_on_error(value, &conf->on_error);
	if (span_equal(key, SPAN("default")))
		conf->default_pattern = value;
	else if (span_equal(key, SPAN("preferred")))
		conf->preferred_pattern = value;
	return true;
}

void loader_conf_parse(struct span text, struct loader_conf *ret)
{
	struct keyval kv;
	size_t pos = 0;

	*ret = (struct loader_conf){
		.menu = MENU_HIDDEN,
		.editor = true,
		.auto_entries = true,
		.auto_firmware = true,
		.count_boots = true,
		.random_seed = true,
		.env_block = true,
	};
	while (keyval_next(text, &pos, &kv)) {
		if (!set_key(ret, kv.key, kv.value) && !ret->has_bad) {
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
