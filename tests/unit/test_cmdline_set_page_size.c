/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the page-size parameter: exactly one word, first, obeyed; or an error that names what is in the
 * way. */
#include "unit.h"

#include <granule/cmdline.h>
#include <granule/error.h>

#define P "arm64.pagesize"
#define F "arm64_sw.pageshift"

static void one_word_is_written_first(void **state)
{
	static const struct {
		const char *line;
		enum page_size size;
		const char *want;
	} vectors[] = {
		{ "", PAGE_SIZE_4K, P "=4k" },
		{ "", PAGE_SIZE_16K, P "=16k" },
		{ "", PAGE_SIZE_64K, P "=64k" },
		{ "root=/dev/vda quiet", PAGE_SIZE_64K, P "=64k root=/dev/vda quiet" },
		{ P "=64k root=/dev/vda", PAGE_SIZE_64K, P "=64k root=/dev/vda" },
		{ "quiet " P "=4k root=/dev/vda", PAGE_SIZE_64K, P "=64k quiet root=/dev/vda" },
		{ P "=4k quiet " P "=16k", PAGE_SIZE_4K, P "=4k quiet" },
		{ "quiet " P "=64K", PAGE_SIZE_64K, P "=64k quiet" },
		{ "quiet " P, PAGE_SIZE_64K, P "=64k quiet" },
		{ P "= quiet", PAGE_SIZE_64K, P "=64k quiet" },
		{ "dyndbg=\"file a.c +p\" quiet", PAGE_SIZE_16K, P "=16k dyndbg=\"file a.c +p\" quiet" },
		{ "quiet -- --x single", PAGE_SIZE_4K, P "=4k quiet -- --x single" },
		{ "foo=\"a -- b\" quiet", PAGE_SIZE_4K, P "=4k foo=\"a -- b\" quiet" },
		{ "hugepagesz=2M default_hugepagesz=512M", PAGE_SIZE_64K,
		  P "=64k hugepagesz=2M default_hugepagesz=512M" },
		{ "", PAGE_SIZE_UNKNOWN, "" },
		{ P "=4k", PAGE_SIZE_UNKNOWN, "" },
		{ "quiet " P "=4k root=/dev/vda", PAGE_SIZE_UNKNOWN, "quiet root=/dev/vda" },
		{ P "=4K quiet", PAGE_SIZE_UNKNOWN, "quiet" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char buffer[200];
		struct text t = text_in(buffer, sizeof(buffer));
		struct param_note note;
		struct span line = exact(vectors[i].line);
		int error = cmdline_set_page_size(line, vectors[i].size, &t, &note);

		check(error == 0, "\"%s\": error %d, note %d", vectors[i].line, error, (int)note.kind);
		assert_span_equal(text_span(&t), vectors[i].want);
		release(line);
	}
}

static void words_that_stay_and_interfere_are_a_conflict(void **state)
{
	static const struct {
		const char *line;
		enum param_note_kind kind;
		const char *word;
	} vectors[] = {
		{ "quiet \"" P "=4k\"", PARAM_QUOTED, "\"" P "=4k\"" },
		{ "quiet " P "=\"4k\" x", PARAM_QUOTED, P "=\"4k\"" },
		{ "foo=\"a " P "=4k b\"", PARAM_INSIDE_QUOTES, P "=4k" },
		{ "a -- " P "=4k", PARAM_AFTER_DASHES, P "=4k" },
		{ "foo=\"a -- b\" " P "=4k", PARAM_AFTER_DASHES, P "=4k" },
		{ "a " F "=1 b", PARAM_RAW_FIELD, F "=1" },
		{ "a " F "=0", PARAM_RAW_FIELD, F "=0" },
		{ "page-size=4k", PARAM_LOOKALIKE, "page-size=4k" },
		{ "x foo." P "=4k", PARAM_LOOKALIKE, "foo." P "=4k" },
		{ P "=4K " P "=16k " P "=4k ARM64.PAGESIZE=4k", PARAM_LOOKALIKE, "ARM64.PAGESIZE=4k" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		for (enum page_size size = PAGE_SIZE_UNKNOWN; size <= PAGE_SIZE_64K; size++) {
			char buffer[200];
			struct text t = text_in(buffer, sizeof(buffer));
			struct param_note note;
			struct span line = exact(vectors[i].line);
			int error = cmdline_set_page_size(line, size, &t, &note);

			check(error == ERROR_CONFLICT, "\"%s\": %d", vectors[i].line, error);
			check(note.kind == vectors[i].kind, "\"%s\": note %d", vectors[i].line,
			      (int)note.kind);
			assert_span_equal(span_cut(line, note.offset, note.offset + note.length),
					  vectors[i].word);
			release(line);
		}
	}
}

static void a_word_after_255_bytes_of_another_is_a_conflict(void **state)
{
	char line[300], buffer[400];
	struct text t = text_in(buffer, sizeof(buffer));
	struct param_note note;

	(void)state;
	memset(line, 'x', 255);
	strcpy(line + 255, P "=4k");
	assert_int_equal(cmdline_set_page_size(span_of(line), PAGE_SIZE_64K, &t, &note), ERROR_CONFLICT);
	assert_int_equal(note.kind, PARAM_CUT_WORD);
	assert_int_equal(note.offset, 255);
	assert_int_equal(note.length, strlen(P "=4k"));
}

static void the_conflict_is_named_however_many_notes_precede_it(void **state)
{
	char text[600] = "", buffer[600];
	struct text t = text_in(buffer, sizeof(buffer));
	struct param_note note;
	struct span line;

	(void)state;
	for (int i = 0; i < PARAM_MAX_NOTES + 2; i++)
		strcat(text, P "=4K ");
	strcat(text, F "=1");
	line = span_of(text);
	assert_int_equal(cmdline_set_page_size(line, PAGE_SIZE_64K, &t, &note), ERROR_CONFLICT);
	assert_int_equal(note.kind, PARAM_RAW_FIELD);
	assert_span_equal(span_cut(line, note.offset, note.offset + note.length), F "=1");
}

/* What the stub drops of the old line can reach the kernel once removed words have made room for it. */
static void a_conflict_that_only_the_shorter_line_shows_is_named(void **state)
{
	char text[3000], buffer[3000];
	struct text t = text_in(buffer, sizeof(buffer));
	struct param_note note;
	struct span line;

	(void)state;
	strcpy(text, "quiet");
	while (strlen(text) < CMDLINE_MAX)
		strcat(text, " " P "=4k");
	strcat(text, " " F "=1");
	line = span_of(text);
	assert_int_equal(cmdline_set_page_size(line, PAGE_SIZE_64K, &t, &note), ERROR_CONFLICT);
	assert_span_equal(span_cut(line, note.offset, note.offset + note.length), F "=1");
}

static void line_ends_are_refused_where_they_stand(void **state)
{
	static const char *const ends[] = { "quiet\nx", "quiet\rx", "quiet\n" };
	char buffer[200];
	struct param_note note;

	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++) {
		struct text t = text_in(buffer, sizeof(buffer));

		assert_int_equal(cmdline_set_page_size(span_of(ends[i]), PAGE_SIZE_4K, &t, &note),
				 ERROR_SYNTAX);
		assert_int_equal(note.offset, 5);
	}
	struct text t = text_in(buffer, sizeof(buffer));
	assert_int_equal(cmdline_set_page_size(SPAN("\nab"), PAGE_SIZE_4K, &t, &note), ERROR_SYNTAX);
	assert_int_equal(note.offset, 0);
	t = text_in(buffer, sizeof(buffer));
	assert_int_equal(cmdline_set_page_size(SPAN("ab\0c"), PAGE_SIZE_4K, &t, &note), ERROR_SYNTAX);
	assert_int_equal(note.offset, 2);
}

static void a_result_over_2039_bytes_is_refused(void **state)
{
	const size_t added = strlen(P "=64k ");
	char line[CMDLINE_MAX + 1], buffer[2 * CMDLINE_MAX];
	struct param_note note;

	(void)state;
	for (size_t i = 0; i < CMDLINE_MAX; i++)
		line[i] = i % 50 == 49 ? ' ' : 'x';
	for (size_t n = CMDLINE_MAX - added - 1; n <= CMDLINE_MAX; n++) {
		struct text t = text_in(buffer, sizeof(buffer));
		struct span s = { line, n };
		int error;

		if (line[n - 1] == ' ')
			continue;
		error = cmdline_set_page_size(s, PAGE_SIZE_64K, &t, &note);
		check(error == (n + added > CMDLINE_MAX ? ERROR_SPACE : 0), "%zu bytes: %d", n, error);
	}
}

static void a_line_that_is_too_long_may_become_short_enough(void **state)
{
	char line[3000] = "", buffer[3000];
	struct text t = text_in(buffer, sizeof(buffer));
	struct param_note note;

	(void)state;
	for (int i = 0; i < 130; i++)
		strcat(line, P "=4k ");
	strcat(line, "quiet");
	assert_true(strlen(line) > CMDLINE_MAX);
	assert_int_equal(cmdline_set_page_size(span_of(line), PAGE_SIZE_16K, &t, &note), 0);
	assert_span_equal(text_span(&t), P "=16k quiet");
}

static void a_result_that_does_not_fit_the_buffer_is_refused(void **state)
{
	struct span line = SPAN("root=/dev/vda quiet");
	const size_t needed = strlen(P "=4k ") + line.n + 1;
	struct param_note note;

	(void)state;
	for (size_t size = 0; size <= needed; size++) {
		char *buffer = malloc(size);
		struct text t = text_in(buffer, size);
		int error = cmdline_set_page_size(line, PAGE_SIZE_4K, &t, &note);

		check(error == (size < needed ? ERROR_SPACE : 0), "%zu bytes: %d", size, error);
		free(buffer);
	}
}

/* Words as the early parser sees them; `n_raw` counts those of the raw field. */
static unsigned count_words(const char *text, const char **ret_first, unsigned *ret_raw)
{
	static char line[1000];
	unsigned n = 0;

	strcpy(line, text);
	*ret_first = "";
	*ret_raw = 0;
	for (char *w = strtok(line, " \t"); w; w = strtok(NULL, " \t")) {
		if (!**ret_first)
			*ret_first = w;
		n += strstr(w, "pagesize") != NULL;
		*ret_raw += strstr(w, "pageshift") != NULL;
	}
	return n;
}

static void whatever_is_written_is_read_back_as_asked(void **state)
{
	static const char *const fragments[] = {
		P "=4k",
		P "=16k",
		P "=64k",
		P "=64K",
		P,
		F "=1",
		"--",
		"quiet",
		"foo=\"a b\"",
		"bar=\"a " P "=4k b\"",
		"\"" P "=4k\"",
		"root=/dev/vda",
		"page-size=4k",
		"console=ttyAMA0,115200",
		"x=\"",
		"\"q r\"",
		"a=\"--\"",
	};
	unsigned written = 0, refused = 0;
	uint32_t seed = 77;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		enum page_size size = (enum page_size)(round % 4);
		char line[600] = "", buffer[700];
		struct text t = text_in(buffer, sizeof(buffer));
		struct page_size_param read;
		struct param_note note;
		const char *first;
		unsigned raw;

		for (uint32_t n = random_below(&seed, 6); n--;) {
			/* Half of the words are harmless, or nearly all lines would be refused. */
			uint32_t f = random_below(&seed, COUNT(fragments));
			strcat(line, random_below(&seed, 2) ? fragments[f] : fragments[f % 3]);
			strcat(line, " ");
		}
		if (cmdline_set_page_size(span_of(line), size, &t, &note)) {
			refused++;
			continue;
		}
		written++;
		cmdline_page_size(text_span(&t), PAGE_SIZE_SET_ALL, &read);
		check(read.asked == size && read.n_notes == 0, "\"%s\" became \"%s\"", line, buffer);
		check(read.effective == (size ? size : PAGE_SIZE_64K), "\"%s\" became \"%s\"", line, buffer);
		check(read.words == (size != PAGE_SIZE_UNKNOWN), "\"%s\" became \"%s\"", line, buffer);
		check(count_words(buffer, &first, &raw) == read.words && raw == 0, "\"%s\" became \"%s\"",
		      line, buffer);
		if (size != PAGE_SIZE_UNKNOWN)
			assert_string_equal(strchr(first, '=') + 1, page_size_word(size));
	}
	assert_true(written > 1000 && refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_word_is_written_first),
		cmocka_unit_test(words_that_stay_and_interfere_are_a_conflict),
		cmocka_unit_test(a_word_after_255_bytes_of_another_is_a_conflict),
		cmocka_unit_test(the_conflict_is_named_however_many_notes_precede_it),
		cmocka_unit_test(a_conflict_that_only_the_shorter_line_shows_is_named),
		cmocka_unit_test(line_ends_are_refused_where_they_stand),
		cmocka_unit_test(a_result_over_2039_bytes_is_refused),
		cmocka_unit_test(a_line_that_is_too_long_may_become_short_enough),
		cmocka_unit_test(a_result_that_does_not_fit_the_buffer_is_refused),
		cmocka_unit_test(whatever_is_written_is_read_back_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
