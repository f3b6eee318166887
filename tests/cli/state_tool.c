/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the state as commands do: state-tool ROOT CALL...; each CALL is one of
 *
 *   open | lock         begins to read, or to change
 *   verified | trial    reads the record and prints what it says
 *   verify=ENTRY        makes ENTRY the verified one, the one before the previous
 *   try=ENTRY           writes a trial of ENTRY
 *   untry               removes the trial
 *   add=TEXT            adds a line to the history
 *   history             prints it
 *   wait                until standard input ends
 *
 * The exit code is 1 if one of them failed. */
#include <errno.h>
#include <string.h>

#include "history.h"
#include "records.h"
#include "report.h"

static int print_verified(struct state *s)
{
	struct verified v;
	int r = verified_read(s, &v);

	if (r == 0)
		printf("verified %s %s %d %lld, before %s, baseline %d %zu %zu %zu\n",
		       v.current.entry ? v.current.entry : "-", page_size_word(v.current.page_size),
		       (int)v.current.wish, (long long)v.current.time,
		       v.previous.entry ? v.previous.entry : "-", v.baseline.known, v.baseline.failed.n,
		       v.baseline.swaps.n, v.baseline.mounts.n);
	verified_free(&v);
	return r;
}

static int verify(struct state *s, const char *entry)
{
	struct verified v;
	int r = verified_read(s, &v);

	if (r < 0)
		return r;
	choice_copy(&v.previous, &v.current);
	choice_free(&v.current);
	v.current = (struct choice){
		.entry = xstrdup(entry), .page_size = PAGE_SIZE_64K, .wish = WISH_POLICY, .time = 1700000000
	};
	baseline_free(&v.baseline);
	v.baseline.known = true;
	strings_add(&v.baseline.swaps, xstrdup("UUID=1"));
	r = verified_write(s, &v);
	verified_free(&v);
	return r;
}

static int print_trial(struct state *s)
{
	struct trial t;
	int r = trial_read(s, &t);

	if (r == -ENOENT)
		puts("no trial");
	else if (r == 0)
		printf("trial %d %s %s %s %d %s %u %u %u %zu %lld\n", (int)t.stage, t.target, t.entry,
		       t.file ? t.file : "-", (int)t.volume, page_size_word(t.page_size), t.tries, t.used,
		       t.deadline_s, t.dumps.n, (long long)t.time);
	trial_free(&t);
	return r == -ENOENT ? 0 : r;
}

static int try(struct state *s, const char *entry)
{
	struct trial t = {
		.target = xstrdup(entry),
		.entry = xprintf("trial-%s", entry),
		.file = xstrdup("a-trial+0.conf"),
		.volume = VOLUME_XBOOTLDR,
		.page_size = PAGE_SIZE_16K,
		.tries = 3,
		.deadline_s = 600,
		.time = -5,
	};

	strings_add(&t.dumps, xstrdup("dmesg-1"));
	int r = trial_write(s, &t);
	trial_free(&t);
	return r;
}

static int print_history(struct state *s)
{
	size_t damaged;
	json_object *lines = history_read(s, &damaged);

	for (size_t i = 0; i < json_object_array_length(lines); i++)
		puts(json_object_to_json_string_ext(json_object_array_get_idx(lines, i),
						    JSON_C_TO_STRING_PLAIN));
	printf("damaged %zu\n", damaged);
	json_object_put(lines);
	return 0;
}

static int add(struct state *s, const char *text)
{
	return history_write(s, &(struct history_line){ .kind = "boot", .verdict = "ok", .reason = text });
}

static int call(const struct options *o, struct state *s, const char *word)
{
	const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : NULL;
	struct span name = value ? (struct span){ word, (size_t)(value - word) } : span_of(word);

	if (span_equal(name, SPAN("open")) || span_equal(name, SPAN("lock")))
		state_close(s);
	if (span_equal(name, SPAN("open"))) {
		state_open(o, s);
		return 0;
	}
	if (span_equal(name, SPAN("lock")))
		return state_open_locked(o, s);
	if (span_equal(name, SPAN("verified")))
		return print_verified(s);
	if (span_equal(name, SPAN("verify=")))
		return verify(s, value);
	if (span_equal(name, SPAN("trial")))
		return print_trial(s);
	if (span_equal(name, SPAN("try=")))
		return try(s, value);
	if (span_equal(name, SPAN("untry")))
		return trial_remove(s);
	if (span_equal(name, SPAN("add=")))
		return add(s, value);
	if (span_equal(name, SPAN("history")))
		return print_history(s);
	if (span_equal(name, SPAN("wait"))) {
		puts("waiting");
		fflush(stdout);
		while (getchar() != EOF)
			;
		return 0;
	}
	fprintf(stderr, "state-tool: %s: no such call\n", word);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct options o = { .root = argc > 1 ? argv[1] : "/", .dry_run = getenv("DRY_RUN") };
	struct state s = { .lock = -1 };
	int r = 0;

	for (int i = 2; i < argc && r == 0; i++)
		r = call(&o, &s, argv[i]);
	state_close(&s);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
