/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule.conf. Input: DURATION|TEXT. */
#include "fuzz.h"
#include <granule/cmdline.h>
#include <granule/settings.h>

static void check_values(struct span text, const struct settings_values *v)
{
	struct page_size_param param;
	struct span value;

	CHECK(v->sizes && !(v->sizes & ~PAGE_SIZE_SET_ALL));
	CHECK(v->tries >= 1 && v->tries <= 99);
	CHECK(v->panic_s >= 1 && v->panic_s <= 3600);
	CHECK(v->verify_timeout_s >= 1 && v->verify_timeout_s <= DURATION_MAX);
	CHECK(v->check_timeout_s >= 1 && v->check_timeout_s <= DURATION_MAX);
	CHECK(v->deadline_s <= DURATION_MAX);
	CHECK(fuzz_inside(text, v->trial_options));

	/* Behind other options they still set neither page size nor panic. */
	CHECK(!cmdline_get(v->trial_options, SPAN("panic"), &value));
	cmdline_page_size(v->trial_options, PAGE_SIZE_SET_ALL, &param);
	CHECK(param.words == 0 && param.asked == PAGE_SIZE_UNKNOWN);
}

static void check_problem(struct span text, const struct settings_problem *p)
{
	CHECK(p->offset < text.n && !char_is_blank(text.p[p->offset]));
	CHECK(fuzz_inside(text, p->key) && fuzz_inside(text, p->value));
	CHECK((p->fault == SETTINGS_BAD_VALUE) == (p->expected != NULL));
	CHECK(!p->meant || p->fault == SETTINGS_UNKNOWN_KEY);
	CHECK(!p->meant || !span_equal(p->key, span_of(p->meant)));
}

static void check_text(struct span text)
{
	struct settings_values values, again;
	struct settings_problem problem;
	size_t last = 0, n = 0;

	settings_default(&values);
	for (size_t pos = 0; settings_next_problem(text, &pos, &values, &problem); n++) {
		check_problem(text, &problem);
		check_values(text, &values);
		CHECK(pos > last && problem.offset >= last && problem.offset < pos);
		last = pos;
	}
	check_values(text, &values);

	/* Reading it once more over what came of it changes nothing. */
	again = values;
	for (size_t pos = 0; settings_next_problem(text, &pos, &again, &problem); n--)
		;
	CHECK(n == 0 && again.tries == values.tries && again.sizes == values.sizes &&
	      again.reboot_on_failure == values.reboot_on_failure && again.panic_s == values.panic_s &&
	      again.verify_timeout_s == values.verify_timeout_s &&
	      again.check_timeout_s == values.check_timeout_s && again.deadline_s == values.deadline_s &&
	      span_equal(again.trial_options, values.trial_options));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	struct span duration = fuzz_field(&f), text = fuzz_rest(&f);
	uint32_t seconds = 77;

	if (settings_duration(duration, &seconds))
		CHECK(seconds <= DURATION_MAX);
	else
		CHECK(seconds == 77);
	check_text(text);
	fuzz_end(&f);
	return 0;
}
