/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>

#include "history.h"
#include "report.h"
#include "tables.h"

/* Of the columns before the last one, with the blanks between them. */
#define WIDTH_BEFORE_LAST 49
#define WIDTH_MIN 80

static char *seconds_text(json_object *line)
{
	json_object *value;
	double seconds =
		json_object_object_get_ex(line, "boot_seconds", &value) ? json_object_get_double(value) : 0;

	/* Minutes are told where the tenth of a second no longer counts. */
	if (!(seconds > 0))
		return NULL;
	return seconds < 100 ? xprintf("%.1fs", seconds)
			     : xprintf("%.0fs", seconds < 99999 ? seconds : 99999);
}

/* A boot that only failed, and a trial that did, are not the same. */
static char *verdict_text(json_object *line)
{
	const char *verdict = history_text(line, "verdict");

	if (!verdict)
		return xstrdup("?");
	return xprintf("%s%s", history_is_trial(line) && strcmp(verdict, "failed") == 0 ? "trial " : "",
		       verdict);
}

/* Breaks text into lines of at most `width` characters: at blanks, and where there is none inside of a word.
 */
static char *wrap(const char *text, size_t width)
{
	char *out = xalloc(2 * strlen(text) + 1);
	size_t n = 0, used = 0, blank = 0; /* characters of this line; byte of its last blank, 0 if none */

	for (; *text; text++) {
		bool starts = ((unsigned char)*text & 0xc0) != 0x80;

		if (starts && used == width) {
			if (*text == ' ') {
				out[n++] = '\n';
				used = blank = 0;
				continue;
			}
			if (blank) {
				out[blank] = '\n';
				used = 0;
				for (size_t i = blank + 1; i < n; i++)
					used += ((unsigned char)out[i] & 0xc0) != 0x80;
			} else {
				out[n++] = '\n';
				used = 0;
			}
			blank = 0;
		}
		if (*text == ' ')
			blank = n;
		out[n++] = *text == '\n' ? ' ' : *text;
		used += starts;
	}
	return out;
}

static size_t last_width(void)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < WIDTH_MIN)
		w.ws_col = WIDTH_MIN;
	return w.ws_col - WIDTH_BEFORE_LAST;
}

static void add_row(struct libscols_table *table, json_object *line, size_t width)
{
	const char *release = history_text(line, "release"), *entry = history_text(line, "entry"),
		   *reason = history_text(line, "reason");
	const char *what = release ? release : entry ? entry : "-";
	_cleanup_free_ char *time = history_time(line), *seconds = seconds_text(line),
			    *verdict = verdict_text(line);
	_cleanup_free_ char *text = reason ? xprintf("%s: %s", what, reason) : xstrdup(what);
	_cleanup_free_ char *wrapped = wrap(text, width);
	const char *cells[] = { time,
				history_size(line, "page_size"),
				history_size(line, "page_size_asked"),
				verdict,
				seconds,
				wrapped };

	table_add(table, cells);
}

static void print_table(json_object *lines, size_t first)
{
	static const char *const columns[] = { "TIME", "SIZE",           "ASKED", "VERDICT",
					       "BOOT", "KERNEL, REASON", NULL };
	struct libscols_table *table = table_new(columns);
	size_t width = last_width();

	/* A check of the owner's may have failed in any language. */
	setlocale(LC_CTYPE, "");
	table_wrap_last(table);
	for (size_t i = first; i < json_object_array_length(lines); i++)
		add_row(table, json_object_array_get_idx(lines, i), width);
	table_print(table);
	scols_unref_table(table);
}

int cmd_history(const struct options *o)
{
	struct state state;
	uint64_t wanted = UINT64_MAX;
	size_t damaged;

	if (o->lines && !span_to_number(span_of(o->lines), UINT32_MAX, &wanted)) {
		complain("--lines %s: not a number", o->lines);
		return EXIT_USAGE;
	}
	state_open(o, &state);
	json_object *lines = history_read(&state, &damaged);
	size_t n = json_object_array_length(lines), first = n > wanted ? n - wanted : 0;

	if (o->json) {
		json_object *root = json_object_new_object(), *shown = json_object_new_array();

		for (size_t i = first; i < n; i++)
			json_object_array_add(shown, json_object_get(json_object_array_get_idx(lines, i)));
		json_object_object_add(root, "lines", shown);
		json_object_object_add(root, "damaged", json_object_new_int64((int64_t)damaged));
		json_print(root);
	} else if (n) {
		print_table(lines, first);
	} else {
		puts("There is no history yet.");
	}
	if (damaged)
		complain(damaged == 1 ? "%s/history.jsonl: %zu line is damaged; passed over"
				      : "%s/history.jsonl: %zu lines are damaged; passed over",
			 state.folder, damaged);
	json_object_put(lines);
	state_close(&state);
	return EXIT_DONE;
}
