/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page-size parameter as kernels with boot-time page size selection were observed to read it. */
#include "unit.h"

#include <granule/cmdline.h>
#include <granule/error.h>

#define ALL PAGE_SIZE_SET_ALL
#define NO_16K ((page_size_set)(1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_64K)) /* Cortex-A72 */
#define NOT_KNOWN PAGE_SIZE_SET_UNKNOWN

/* Note kinds counted from one, so that zero ends a list. */
#define K(kind) ((int)(kind) + 1)
#define MISSPELT K(PARAM_MISSPELT)
#define LOOKALIKE K(PARAM_LOOKALIKE)
#define QUOTED K(PARAM_QUOTED)
#define INSIDE K(PARAM_INSIDE_QUOTES)
#define DASHES K(PARAM_AFTER_DASHES)
#define NEWLINE K(PARAM_AFTER_NEWLINE)
#define TRUNCATED K(PARAM_TRUNCATED)
#define SUPERSEDED K(PARAM_SUPERSEDED)
#define NOT_ON_CPU K(PARAM_NOT_ON_CPU)
#define RAW K(PARAM_RAW_FIELD)
#define CUT K(PARAM_CUT_WORD)
#define N_KINDS (K(PARAM_CUT_WORD) + 1)

#define P "arm64.pagesize"
#define F "arm64_sw.pageshift"

struct vector {
	const char *line;
	page_size_set cpu;
	enum page_size effective;
	int notes[6];
};

static void check_notes(const struct vector *v, const struct page_size_param *got)
{
	int balance[N_KINDS] = { 0 };

	for (size_t i = 0; i < COUNT(v->notes) && v->notes[i]; i++)
		balance[v->notes[i]]++;
	for (unsigned i = 0; i < got->n_notes; i++)
		balance[K(got->notes[i].kind)]--;
	for (int k = 0; k < N_KINDS; k++)
		check(balance[k] == 0, "\"%.99s\" (set %u): note of kind %d %s", v->line, v->cpu, k - 1,
		      balance[k] > 0 ? "is missing" : "is too much");
}

static void check_vectors(const struct vector *vectors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct vector *v = &vectors[i];
		struct page_size_param got;
		struct span line = exact(v->line);

		cmdline_page_size(line, v->cpu, &got);
		check(got.effective == v->effective, "\"%.99s\" (set %u): %s instead of %s", v->line, v->cpu,
		      page_size_word(got.effective), page_size_word(v->effective));
		check_notes(v, &got);
		release(line);
	}
}

/* Table "The parameter", left column. */
static void every_row_on_a_cpu_with_all_sizes(void **state)
{
	static const struct vector vectors[] = {
		{ P "=4k", ALL, PAGE_SIZE_4K, { 0 } },
		{ P "=16k", ALL, PAGE_SIZE_16K, { 0 } },
		{ P "=64k", ALL, PAGE_SIZE_64K, { 0 } },
		{ "", ALL, PAGE_SIZE_64K, { 0 } },
		{ "root=/dev/vda quiet", ALL, PAGE_SIZE_64K, { 0 } },
		{ P "=64K", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4K", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=65536", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4096", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4kb", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=8k", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=04k", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4k,64k", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=", ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ P, ALL, PAGE_SIZE_64K, { MISSPELT } },
		{ "page-size=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "arm64_pagesize=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "arm64_pagesize", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "ARM64.PAGESIZE=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "xarm64.pagesize=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ P "=16k " P "=4k", ALL, PAGE_SIZE_4K, { SUPERSEDED } },
		{ P "=64k " P "=4k", ALL, PAGE_SIZE_4K, { SUPERSEDED } },
		{ P "=4k " P "=64k", ALL, PAGE_SIZE_64K, { SUPERSEDED } },
		{ P "=64k " P "=16k " P "=4k", ALL, PAGE_SIZE_4K, { SUPERSEDED, SUPERSEDED } },
		{ P "=4k " P "=64K", ALL, PAGE_SIZE_4K, { MISSPELT } },
		{ P "=64K " P "=4k", ALL, PAGE_SIZE_4K, { MISSPELT } },
		{ P "=16k " P, ALL, PAGE_SIZE_16K, { MISSPELT } },
		{ P "=4k " P "=16k", ALL, PAGE_SIZE_16K, { SUPERSEDED } },
		{ "\"" P "=4k\"", ALL, PAGE_SIZE_64K, { QUOTED } },
		{ P "=\"4k\"", ALL, PAGE_SIZE_64K, { QUOTED } },
		{ "foo=\"a " P "=4k b\"", ALL, PAGE_SIZE_4K, { INSIDE } },
		{ "-- " P "=4k", ALL, PAGE_SIZE_64K, { DASHES } },
		{ F "=1", ALL, PAGE_SIZE_4K, { RAW } },
		{ F "=2", ALL, PAGE_SIZE_16K, { RAW } },
		{ F "=3", ALL, PAGE_SIZE_64K, { RAW } },
		{ F "=0", ALL, PAGE_SIZE_64K, { RAW } },
		{ F "=4", ALL, PAGE_SIZE_64K, { RAW } },
		{ F "=7", ALL, PAGE_SIZE_64K, { RAW } },
		{ P "=4k " F "=0", ALL, PAGE_SIZE_64K, { SUPERSEDED, RAW } },
		{ P "=4k " F "=4", ALL, PAGE_SIZE_64K, { SUPERSEDED, RAW } },
		{ P "=4k " F "=7", ALL, PAGE_SIZE_64K, { SUPERSEDED, RAW } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

/* Table "The parameter", right column. */
static void every_row_on_a_cpu_without_16k(void **state)
{
	static const struct vector vectors[] = {
		{ P "=4k", NO_16K, PAGE_SIZE_4K, { 0 } },
		{ P "=16k", NO_16K, PAGE_SIZE_64K, { NOT_ON_CPU } },
		{ P "=64k", NO_16K, PAGE_SIZE_64K, { 0 } },
		{ "", NO_16K, PAGE_SIZE_64K, { 0 } },
		{ P "=64K", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4K", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=65536", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4096", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4kb", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=8k", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=04k", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=4k,64k", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P "=", NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ P, NO_16K, PAGE_SIZE_64K, { MISSPELT } },
		{ "page-size=4k", NO_16K, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "arm64_pagesize=4k", NO_16K, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "ARM64.PAGESIZE=4k", NO_16K, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "xarm64.pagesize=4k", NO_16K, PAGE_SIZE_64K, { LOOKALIKE } },
		{ P "=64k " P "=4k", NO_16K, PAGE_SIZE_4K, { SUPERSEDED } },
		{ P "=4k " P "=64k", NO_16K, PAGE_SIZE_64K, { SUPERSEDED } },
		{ P "=4k " P "=64K", NO_16K, PAGE_SIZE_4K, { MISSPELT } },
		{ P "=64K " P "=4k", NO_16K, PAGE_SIZE_4K, { MISSPELT } },
		{ P "=4k " P "=16k", NO_16K, PAGE_SIZE_64K, { SUPERSEDED, NOT_ON_CPU } },
		{ P "=16k " P "=4k", NO_16K, PAGE_SIZE_4K, { SUPERSEDED, NOT_ON_CPU } },
		{ "\"" P "=4k\"", NO_16K, PAGE_SIZE_64K, { QUOTED } },
		{ P "=\"4k\"", NO_16K, PAGE_SIZE_64K, { QUOTED } },
		/* Not observed, but what the same rules give. */
		{ F "=2", NO_16K, PAGE_SIZE_64K, { RAW, NOT_ON_CPU } },
		{ P "=4k " F "=2", NO_16K, PAGE_SIZE_64K, { SUPERSEDED, RAW, NOT_ON_CPU } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void without_knowing_the_cpu_only_a_word_tells_the_size(void **state)
{
	static const struct vector vectors[] = {
		{ P "=4k", NOT_KNOWN, PAGE_SIZE_4K, { 0 } },
		{ P "=16k", NOT_KNOWN, PAGE_SIZE_16K, { 0 } },
		{ P "=64k", NOT_KNOWN, PAGE_SIZE_64K, { 0 } },
		{ "", NOT_KNOWN, PAGE_SIZE_UNKNOWN, { 0 } },
		{ P "=64K", NOT_KNOWN, PAGE_SIZE_UNKNOWN, { MISSPELT } },
		{ P "=4k " F "=7", NOT_KNOWN, PAGE_SIZE_UNKNOWN, { SUPERSEDED, RAW } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void a_cpu_with_4k_only_always_gets_4k(void **state)
{
	static const struct vector vectors[] = {
		{ "", 1u << PAGE_SIZE_4K, PAGE_SIZE_4K, { 0 } },
		{ P "=64k", 1u << PAGE_SIZE_4K, PAGE_SIZE_4K, { NOT_ON_CPU } },
		{ P "=16k", 1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_16K, PAGE_SIZE_16K, { 0 } },
		{ "", 1u << PAGE_SIZE_4K | 1u << PAGE_SIZE_16K, PAGE_SIZE_16K, { 0 } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void blanks_tabs_and_line_ends(void **state)
{
	static const struct vector vectors[] = {
		{ "a\t" P "=4k\tb", ALL, PAGE_SIZE_4K, { 0 } },
		{ "   " P "=4k   ", ALL, PAGE_SIZE_4K, { 0 } },
		{ "quiet\n" P "=4k", ALL, PAGE_SIZE_64K, { NEWLINE } },
		{ P "=4k\n" P "=16k", ALL, PAGE_SIZE_4K, { NEWLINE } },
		{ P "=4k\nquiet", ALL, PAGE_SIZE_4K, { 0 } },
		{ "foo=\"a\n" P "=4k\"", ALL, PAGE_SIZE_64K, { NEWLINE } },
		{ "-- a\n" P "=4k", ALL, PAGE_SIZE_64K, { NEWLINE } },
		{ "\n" P "=4k", ALL, PAGE_SIZE_64K, { NEWLINE } },
		{ "a\n" P "=4k\n" P "=16k", ALL, PAGE_SIZE_64K, { NEWLINE, NEWLINE } },
		{ "-- " P "=4k\n" P "=16k", ALL, PAGE_SIZE_64K, { DASHES, NEWLINE } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void a_nul_byte_ends_the_line_like_a_newline(void **state)
{
	struct page_size_param got;

	(void)state;
	cmdline_page_size(SPAN(P "=4k\0" P "=16k"), ALL, &got);
	assert_int_equal(got.effective, PAGE_SIZE_4K);
	assert_int_equal(got.n_notes, 1);
	assert_int_equal(got.notes[0].kind, PARAM_AFTER_NEWLINE);
	assert_int_equal(got.notes[0].offset, strlen(P "=4k") + 1);
}

static void dashes_and_quotes_beyond_the_table(void **state)
{
	static const struct vector vectors[] = {
		{ P "=4k -- " P "=16k", ALL, PAGE_SIZE_4K, { DASHES } },
		{ P "=4k -- " F "=0", ALL, PAGE_SIZE_4K, { DASHES } },
		{ "--x " P "=4k", ALL, PAGE_SIZE_4K, { 0 } },
		{ "a--  " P "=4k", ALL, PAGE_SIZE_4K, { 0 } },
		{ "--- " P "=4k", ALL, PAGE_SIZE_4K, { 0 } },
		/* The early parser does not see that these dashes are quoted. */
		{ "foo=\"a -- b\" " P "=4k", ALL, PAGE_SIZE_64K, { DASHES } },
		{ "foo=\"a\" " P "=4k", ALL, PAGE_SIZE_4K, { 0 } },
		{ "foo=\"a b\" bar=\"c " P "=4k d\"", ALL, PAGE_SIZE_4K, { INSIDE } },
		{ "foo=\"a " P "=4k\"", ALL, PAGE_SIZE_64K, { QUOTED } },
		{ "foo=\"" P "=4k b\"", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "foo=\"a " P "=4k b\" " P "=16k", ALL, PAGE_SIZE_16K, { INSIDE, SUPERSEDED } },
		{ P "=4k\"", ALL, PAGE_SIZE_64K, { QUOTED } },
		{ "\"a " P "=4k b\"", ALL, PAGE_SIZE_4K, { INSIDE } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void names_that_only_resemble_the_parameter(void **state)
{
	static const struct vector vectors[] = {
		{ "foo." P "=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "arm64.page_size=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "pagesize=4k", ALL, PAGE_SIZE_64K, { LOOKALIKE } },
		{ "arm64.pagesizes", ALL, PAGE_SIZE_64K, { 0 } },
		{ "hugepagesz=2M default_hugepagesz=2M hugepages=4", ALL, PAGE_SIZE_64K, { 0 } },
		{ "arm64.nosve arm64.nomte", ALL, PAGE_SIZE_64K, { 0 } },
		{ "page", ALL, PAGE_SIZE_64K, { 0 } },
		{ "agesize=4k", ALL, PAGE_SIZE_64K, { 0 } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void the_raw_field_takes_numbers_of_any_base(void **state)
{
	static const struct vector vectors[] = {
		{ "arm64-sw.pageshift=1", ALL, PAGE_SIZE_4K, { RAW } },
		{ F "=0x1", ALL, PAGE_SIZE_4K, { RAW } },
		{ F "=0X2", ALL, PAGE_SIZE_16K, { RAW } },
		{ F "=01", ALL, PAGE_SIZE_4K, { RAW } },
		{ F "=0x10", ALL, PAGE_SIZE_64K, { RAW } },
		{ F "=0x0000000000000001", ALL, PAGE_SIZE_4K, { RAW } },
		{ P "=4k " F "=0xa", ALL, PAGE_SIZE_64K, { RAW, SUPERSEDED } },
		{ P "=4k " F "=0xF", ALL, PAGE_SIZE_64K, { RAW, SUPERSEDED } },
		{ P "=4k " F "=0xff", ALL, PAGE_SIZE_64K, { RAW, SUPERSEDED } },
		{ P "=4k " F "=010", ALL, PAGE_SIZE_64K, { RAW, SUPERSEDED } },
		{ F "=1 " P "=16k", ALL, PAGE_SIZE_16K, { RAW, SUPERSEDED } },
		/* No numbers: the earlier word stands. */
		{ P "=4k " F "=", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=x", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=08", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=0x", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=0xg", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=3k", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=a", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k " F "=-1", ALL, PAGE_SIZE_4K, { LOOKALIKE } },
		{ P "=4k x" F "=1", ALL, PAGE_SIZE_4K, { 0 } },
		{ P "=4k xrm64_sw.pageshift=1", ALL, PAGE_SIZE_4K, { 0 } },
		{ P "=4k arm64_sx.pageshift=1", ALL, PAGE_SIZE_4K, { 0 } },
		{ P "=4k ARM64_SW.PAGESHIFT=2", ALL, PAGE_SIZE_4K, { 0 } },
		{ P "=4k " F, ALL, PAGE_SIZE_4K, { 0 } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

/* kstrtou64() lets one '+' stand before the digits, and any number of zeros. */
static void the_raw_field_takes_a_plus_sign_and_leading_zeros(void **state)
{
	static const struct vector vectors[] = {
		{ F "=+1", ALL, PAGE_SIZE_4K, { RAW } },
		{ P "=4k " F "=+0x3", ALL, PAGE_SIZE_64K, { RAW, SUPERSEDED } },
		{ F "=000000000000000000001", ALL, PAGE_SIZE_4K, { RAW } },
	};

	(void)state;
	check_vectors(vectors, COUNT(vectors));
}

static void fill(char *buffer, size_t n, const char *end)
{
	memset(buffer, 'x', n);
	strcpy(buffer + n, end);
}

static void a_word_is_cut_at_255_bytes(void **state)
{
	char at_254[400], at_255[400], at_256[400], at_510[800], blank[400], dashes[400], behind[400];
	const struct vector vectors[] = {
		{ at_254, ALL, PAGE_SIZE_64K, { LOOKALIKE } }, { at_255, ALL, PAGE_SIZE_4K, { CUT } },
		{ at_256, ALL, PAGE_SIZE_64K, { LOOKALIKE } }, { at_510, ALL, PAGE_SIZE_4K, { CUT } },
		{ blank, ALL, PAGE_SIZE_4K, { 0 } },           { dashes, ALL, PAGE_SIZE_64K, { DASHES } },
		{ behind, ALL, PAGE_SIZE_64K, { MISSPELT } },
	};

	(void)state;
	fill(at_254, 254, P "=4k");
	fill(at_255, 255, P "=4k");
	fill(at_256, 256, P "=4k");
	fill(at_510, 510, P "=4k");
	fill(blank, 255, " " P "=4k");
	fill(dashes, 255, "-- " P "=4k");
	strcpy(behind, P "=4k");
	fill(behind + strlen(behind), 300, "");
	check_vectors(vectors, COUNT(vectors));
}

/* A line of `total` bytes: first, filler without blanks longer than 255 bytes in one go, last. */
static const char *line_of(char *buffer, size_t total, const char *first, const char *last)
{
	size_t at = strlen(first), end = total - strlen(last);

	memcpy(buffer, first, at);
	for (; at < end; at++)
		buffer[at] = at % 100 ? 'y' : ' ';
	memcpy(buffer + end, last, strlen(last) + 1);
	return buffer;
}

static void a_line_over_2039_bytes_loses_its_end(void **state)
{
	char fits[CMDLINE_MAX + 2], too_long[CMDLINE_MAX + 2], first[3000], both[3000], quotes[3000],
		dropped[3000];
	const struct vector vectors[] = {
		{ line_of(fits, CMDLINE_MAX, "quiet", " " P "=4k"), ALL, PAGE_SIZE_4K, { 0 } },
		{ line_of(too_long, CMDLINE_MAX + 1, "quiet", " " P "=4k"),
		  ALL,
		  PAGE_SIZE_64K,
		  { TRUNCATED } },
		{ line_of(first, 2900, P "=4k ", " quiet"), ALL, PAGE_SIZE_4K, { 0 } },
		{ line_of(both, 2900, P "=4k ", " " P "=16k"), ALL, PAGE_SIZE_4K, { TRUNCATED } },
		{ line_of(dropped, 2900, P "=4k ", " " P "=4K page-size=4k"),
		  ALL,
		  PAGE_SIZE_4K,
		  { TRUNCATED, TRUNCATED } },
		/* The stub goes back to a blank outside quotes, and so before the word that is quoted. */
		{ line_of(quotes, 2900, P "=4k b=\"c " P "=16k ", " d\""), ALL, PAGE_SIZE_4K, { TRUNCATED } },
	};
	struct page_size_param got;

	(void)state;
	check_vectors(vectors, COUNT(vectors));
	cmdline_page_size(span_of(fits), ALL, &got);
	assert_false(got.truncated);
	cmdline_page_size(span_of(too_long), ALL, &got);
	assert_true(got.truncated);
	cmdline_page_size(span_of(first), ALL, &got);
	assert_true(got.truncated);
	/* A newline before the limit comes first. */
	too_long[10] = '\n';
	cmdline_page_size(span_of(too_long), ALL, &got);
	assert_false(got.truncated);
	assert_int_equal(got.n_notes, 1);
	assert_int_equal(got.notes[0].kind, PARAM_AFTER_NEWLINE);
	/* And one right at the limit as well. */
	fits[CMDLINE_MAX] = '\n';
	cmdline_page_size((struct span){ fits, CMDLINE_MAX + 1 }, ALL, &got);
	assert_false(got.truncated);
	assert_int_equal(got.effective, PAGE_SIZE_4K);
}

static void counts_and_places_of_words(void **state)
{
	struct span line = SPAN("quiet " P "=4K " P "=16k " P "=4k -- " P "=64k\n" P "=4k");
	static const struct {
		enum param_note_kind kind;
		const char *word;
		size_t offset;
	} want[] = {
		{ PARAM_MISSPELT, P "=4K", 6 },
		{ PARAM_SUPERSEDED, P "=16k", 24 },
		{ PARAM_AFTER_DASHES, P "=64k", 64 },
		{ PARAM_AFTER_NEWLINE, P "=4k", 83 },
	};
	struct page_size_param got;

	(void)state;
	cmdline_page_size(line, ALL, &got);
	assert_int_equal(got.asked, PAGE_SIZE_4K);
	assert_int_equal(got.words, 2);
	assert_int_equal(got.first_offset, 24);
	assert_false(got.truncated);
	assert_int_equal(got.n_notes, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_int_equal(got.notes[i].kind, want[i].kind);
		assert_int_equal(got.notes[i].offset, want[i].offset);
		assert_span_equal(
			span_cut(line, got.notes[i].offset, got.notes[i].offset + got.notes[i].length),
			want[i].word);
	}
}

static void a_size_the_cpu_lacks_is_still_what_was_asked(void **state)
{
	struct page_size_param got;

	(void)state;
	cmdline_page_size(SPAN(P "=16k"), NO_16K, &got);
	assert_int_equal(got.asked, PAGE_SIZE_16K);
	assert_int_equal(got.words, 1);
	cmdline_page_size(SPAN(P "=16k " F "=0"), NO_16K, &got);
	assert_int_equal(got.asked, PAGE_SIZE_UNKNOWN);
	assert_int_equal(got.words, 1);
}

static void notes_beyond_eight_are_dropped(void **state)
{
	char line[1000] = "";
	struct page_size_param got;

	(void)state;
	for (int i = 0; i < 12; i++)
		strcat(line, P "=4K ");
	strcat(line, P "=4k");
	cmdline_page_size(span_of(line), ALL, &got);
	assert_int_equal(got.n_notes, PARAM_MAX_NOTES);
	assert_int_equal(got.effective, PAGE_SIZE_4K);
}

static void every_note_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (int a = PARAM_MISSPELT; a <= PARAM_CUT_WORD; a++) {
		assert_true(strlen(param_note_text((enum param_note_kind)a)) > 10);
		for (int b = PARAM_MISSPELT; b < a; b++)
			assert_string_not_equal(param_note_text((enum param_note_kind)a),
						param_note_text((enum param_note_kind)b));
	}
}

/* ---- the same from a model, over random lines ---- */

static const char *const fragments[] = {
	P "=4k",         P "=16k", P "=64k",       P "=4K",        P,           F "=1",      F "=2",
	F "=3",          F "=0",   F "=9",         "--",           "quiet",     "root=/dev", "foo=\"a b",
	"c\" bar=\"d\"", "\n",     "page-size=4k", "\"" P "=4k\"", "x" P "=4k", "--x",       F "=z",
};

/* A random line of these fragments between blanks; some are rarer than others. */
static void random_line(uint32_t *seed, char *line)
{
	line[0] = 0;
	for (uint32_t n = random_below(seed, 8); n--;) {
		const char *f = fragments[random_below(seed, COUNT(fragments))];

		if ((f[0] == '\n' || !strcmp(f, "--")) && random_below(seed, 3))
			f = "quiet";
		strcat(line, f);
		strcat(line, random_below(seed, 4) ? " " : "\t");
	}
}

static enum page_size model_effective(const char *text, page_size_set cpu)
{
	static const struct {
		const char *word;
		enum page_size size;
	} obeyed[] = {
		{ P "=4k", PAGE_SIZE_4K },     { P "=16k", PAGE_SIZE_16K },   { P "=64k", PAGE_SIZE_64K },
		{ F "=1", PAGE_SIZE_4K },      { F "=2", PAGE_SIZE_16K },     { F "=3", PAGE_SIZE_64K },
		{ F "=0", PAGE_SIZE_UNKNOWN }, { F "=9", PAGE_SIZE_UNKNOWN },
	};
	static const enum page_size from_largest[] = { PAGE_SIZE_64K, PAGE_SIZE_16K, PAGE_SIZE_4K };
	enum page_size size = PAGE_SIZE_UNKNOWN;
	char line[1000];

	strcpy(line, text);
	line[strcspn(line, "\n")] = 0;
	for (char *w = strtok(line, " \t"); w && strcmp(w, "--"); w = strtok(NULL, " \t"))
		for (size_t i = 0; i < COUNT(obeyed); i++)
			if (!strcmp(w, obeyed[i].word))
				size = obeyed[i].size;
	if (size != PAGE_SIZE_UNKNOWN && (!cpu || cpu >> size & 1))
		return size;
	for (size_t i = 0; i < COUNT(from_largest); i++)
		if (cpu >> from_largest[i] & 1)
			return from_largest[i];
	return PAGE_SIZE_UNKNOWN;
}

static void random_lines_agree_with_a_model(void **state)
{
	static const page_size_set cpus[] = { ALL, NO_16K, NOT_KNOWN, 1u << PAGE_SIZE_4K };
	uint32_t seed = 20241014;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		page_size_set cpu = cpus[round % COUNT(cpus)];
		struct page_size_param got;
		char line[1000];

		random_line(&seed, line);
		cmdline_page_size(span_of(line), cpu, &got);
		check(got.effective == model_effective(line, cpu), "\"%.99s\" (set %u): %s", line, cpu,
		      page_size_word(got.effective));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_on_a_cpu_with_all_sizes),
		cmocka_unit_test(every_row_on_a_cpu_without_16k),
		cmocka_unit_test(without_knowing_the_cpu_only_a_word_tells_the_size),
		cmocka_unit_test(a_cpu_with_4k_only_always_gets_4k),
		cmocka_unit_test(blanks_tabs_and_line_ends),
		cmocka_unit_test(a_nul_byte_ends_the_line_like_a_newline),
		cmocka_unit_test(dashes_and_quotes_beyond_the_table),
		cmocka_unit_test(names_that_only_resemble_the_parameter),
		cmocka_unit_test(the_raw_field_takes_numbers_of_any_base),
		cmocka_unit_test(the_raw_field_takes_a_plus_sign_and_leading_zeros),
		cmocka_unit_test(a_word_is_cut_at_255_bytes),
		cmocka_unit_test(a_line_over_2039_bytes_loses_its_end),
		cmocka_unit_test(counts_and_places_of_words),
		cmocka_unit_test(a_size_the_cpu_lacks_is_still_what_was_asked),
		cmocka_unit_test(notes_beyond_eight_are_dropped),
		cmocka_unit_test(every_note_has_a_text_of_its_own),
		cmocka_unit_test(random_lines_agree_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
