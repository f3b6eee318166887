/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps of a kernel that died: which line tells why. */
#include "unit.h"

#include <granule/crash_dump.h>

static void heads(void **state)
{
	static const struct {
		const char *text;
		bool good;
		const char *reason;
		uint32_t count, part;
	} vectors[] = {
		{ "Panic#1 Part2\n<6>[ 1.0] x", true, "Panic", 1, 2 },
		{ "Oops#12 Part1", true, "Oops", 12, 1 },
		{ "Panic#4294967295 Part4294967295\r\n", true, "Panic", 4294967295u, 4294967295u },
		{ "Panic#4294967296 Part1\n", false, NULL, 0, 0 },
		{ "Panic#1 Part\n", false, NULL, 0, 0 },
		{ "Panic# Part1\n", false, NULL, 0, 0 },
		{ "Panic#1 Part1 x\n", false, NULL, 0, 0 },
		{ "#1 Part1\n", false, NULL, 0, 0 },
		{ "Panic#1", false, NULL, 0, 0 },
		{ "Panic", false, NULL, 0, 0 },
		{ "<6>[    1.000000] text\n", false, NULL, 0, 0 },
		{ "", false, NULL, 0, 0 },
		{ "\n\n", false, NULL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span text = exact(vectors[i].text);
		struct crash_head head;

		check(crash_head_parse(text, &head) == vectors[i].good, "\"%s\"", vectors[i].text);
		if (vectors[i].good) {
			assert_span_equal(head.reason, vectors[i].reason);
			assert_int_equal(head.count, vectors[i].count);
			assert_int_equal(head.part, vectors[i].part);
		}
		release(text);
	}
}

static void lines_that_tell_why(void **state)
{
	static const struct {
		const char *log;
		enum crash_kind kind;
		const char *line;
	} vectors[] = {
		{ "", CRASH_NONE, "" },
		{ "<6>[    0.000000] Kernel command line: panic=10 oops=panic\n", CRASH_NONE, "" },
		{ "<0>[    1.234567] Kernel panic - not syncing: VFS: Unable to mount root fs\n", CRASH_PANIC,
		  "Kernel panic - not syncing: VFS: Unable to mount root fs" },
		{ "<0>[    1.2][    T1] Kernel panic - not syncing: x", CRASH_PANIC,
		  "Kernel panic - not syncing: x" },
		{ "[    1.2][ C3] Kernel panic - not syncing: x", CRASH_PANIC,
		  "Kernel panic - not syncing: x" },
		{ "---[ end Kernel panic - not syncing: late ]---\n", CRASH_PANIC,
		  "Kernel panic - not syncing: late ]---" },
		{ "a\nKernel panic - not syncing: first\nKernel panic - not syncing: second\n", CRASH_PANIC,
		  "Kernel panic - not syncing: first" },
		{ "<1>[ 3.0] Unable to handle kernel NULL pointer dereference at virtual address 0\n"
		  "<0>[ 3.1] Internal error: Oops: 96000004 [#1] SMP\n",
		  CRASH_OOPS, "Unable to handle kernel NULL pointer dereference at virtual address 0" },
		{ "<0>[ 3.1] Internal error: Oops: 1\n<0>[3.2] Kernel panic - not syncing: Fatal exception\n",
		  CRASH_PANIC, "Kernel panic - not syncing: Fatal exception" },
		{ "<0>[ 30.1] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [sh:1]\n", CRASH_LOCKUP,
		  "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [sh:1]" },
		{ "<3>[ 30.1] rcu: INFO: rcu_sched self-detected stall on CPU\n", CRASH_LOCKUP,
		  "rcu: INFO: rcu_sched self-detected stall on CPU" },
		{ "<3>[ 130.1] INFO: task mount:12 blocked for more than 120 seconds.\n<1>[ 9.] BUG: x\n",
		  CRASH_OOPS, "BUG: x" },
		{ "<3>[ 130.1] INFO: task mount:12 blocked for more than 120 seconds.\n", CRASH_HUNG_TASK,
		  "INFO: task mount:12 blocked for more than 120 seconds." },
		{ "<3>[ 130.1] INFO: task mount:12 is fine\n", CRASH_NONE, "" },
		{ "<0>[ 1.0] kernel BUG at mm/slub.c:1!\r\nnext", CRASH_OOPS, "kernel BUG at mm/slub.c:1!" },
		{ "the driver has a BUG: no\n", CRASH_NONE, "" },
		{ "<0>[1", CRASH_NONE, "" },
		{ "<><>[][] BUG: x", CRASH_NONE, "" },
		{ "<0>[] BUG: x", CRASH_OOPS, "BUG: x" },
		{ "[systemd] Kernel panic - not syncing", CRASH_PANIC, "Kernel panic - not syncing" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span log = exact(vectors[i].log), line;

		enum crash_kind kind = crash_find(log, CRASH_PANIC, &line);
		check(kind == vectors[i].kind, "\"%s\": %d", vectors[i].log, (int)kind);
		assert_span_equal(line, vectors[i].line);
		release(log);
	}
}

static void less_can_be_asked_for(void **state)
{
	struct span log =
		SPAN("<1>[1.0] INFO: task x blocked for more than 1 s\n<1>[2.0] BUG: a\n"
		     "<0>[3.0] watchdog: BUG: soft lockup\n<0>[4.0] Kernel panic - not syncing: b\n");
	struct span line;

	(void)state;
	assert_int_equal(crash_find(log, CRASH_LOCKUP, &line), CRASH_LOCKUP);
	assert_span_equal(line, "watchdog: BUG: soft lockup");
	assert_int_equal(crash_find(log, CRASH_OOPS, &line), CRASH_OOPS);
	assert_span_equal(line, "BUG: a");
	assert_int_equal(crash_find(log, CRASH_NONE, &line), CRASH_NONE);
}

static void a_panic_that_follows_from_something_else(void **state)
{
	(void)state;
	assert_true(crash_is_sequel(SPAN("Kernel panic - not syncing: Oops: Fatal exception in interrupt")));
	assert_true(crash_is_sequel(SPAN("Kernel panic - not syncing: softlockup: hung tasks")));
	assert_true(crash_is_sequel(SPAN("Kernel panic - not syncing: hung_task: blocked tasks")));
	assert_false(crash_is_sequel(SPAN("Kernel panic - not syncing: Attempted to kill init!")));
	assert_false(crash_is_sequel(SPAN_NONE));
}

static void lines_are_made_fit_to_print(void **state)
{
	static const struct {
		const char *line;
		size_t max;
		const char *want;
	} vectors[] = {
		{ "plain", 200, "plain" },
		{ "  a \t  b  ", 200, "a b" },
		{ "\x1b[31mred\x07\xff\x80", 200, "?[31mred???" },
		{ "abcdef", 3, "abc" },
		{ "abc def", 4, "abc" },
		{ "abc def", 5, "abc d" },
		{ "", 200, "" },
		{ "   ", 200, "" },
		{ "abc", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span line = exact(vectors[i].line);
		char buffer[64];
		struct text t = text_in(buffer, sizeof(buffer));

		crash_line_clean(line, vectors[i].max, &t);
		assert_string_equal(buffer, vectors[i].want);
		release(line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),
		cmocka_unit_test(lines_that_tell_why),
		cmocka_unit_test(less_can_be_asked_for),
		cmocka_unit_test(a_panic_that_follows_from_something_else),
		cmocka_unit_test(lines_are_made_fit_to_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
