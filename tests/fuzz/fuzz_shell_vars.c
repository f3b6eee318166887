/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables of shell files. Input: room for values | the text. */
#include "fuzz.h"
#include <granule/error.h>
#include <granule/shell_vars.h>

/* Bytes of a value come from the text, in their order, unless a variable was put in. */
static bool is_part(struct span text, struct span value)
{
	size_t at = 0;

	for (size_t i = 0; i < text.n && at < value.n; i++)
		at += text.p[i] == value.p[at];
	return at == value.n;
}

static int read_with(struct fuzz *f, struct span text, size_t room, struct shell_var *vars,
		     size_t *ret_offset)
{
	struct text scratch = fuzz_text(f, room);
	int error;

	vars[0] = (struct shell_var){ .name = SPAN("A"), .value = fuzz_text(f, room) };
	vars[1] = (struct shell_var){ .name = SPAN("AB"), .value = fuzz_text(f, room) };
	error = shell_vars_read(text, vars, 2, &scratch, ret_offset);
	CHECK(error == 0 || error == ERROR_SYNTAX || error == ERROR_SPACE);
	for (size_t i = 0; i < 2; i++)
		fuzz_check_text(&vars[i].value);
	return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = fuzz_start(data, size);
	size_t room = fuzz_byte(&f), offset = 0, again = 0;
	struct span text = fuzz_rest(&f);
	struct shell_var vars[2], more[2];
	int error = read_with(&f, text, room, vars, &offset);

	if (error) {
		/* The line at fault: it begins at the offset, and without it and what follows all is well. */
		CHECK(offset < text.n);
		CHECK(read_with(&f, span_cut(text, 0, offset), room, more, &again) == 0);
	} else {
		CHECK(!fuzz_has(text, 0));
		for (size_t i = 0; i < 2; i++) {
			struct span value = text_span(&vars[i].value);
			CHECK(!fuzz_has(value, '\n') && (vars[i].set || !value.n));
			if (!fuzz_has(text, '$') && !fuzz_has(text, '+'))
				CHECK(is_part(text, value));
		}
		/* More room changes nothing. */
		CHECK(read_with(&f, text, room + 100, more, &again) == 0);
		CHECK(span_equal(text_span(&vars[0].value), text_span(&more[0].value)));
	}
	fuzz_end(&f);
	return 0;
}
