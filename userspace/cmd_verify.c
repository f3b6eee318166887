/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `verify`: whether what runs is what was asked for. With --boot, what granule-verify.service does. */
#include <granule/cmdline.h>

#include "boot_judge.h"
#include "report.h"
#include "system.h"
#include "verdict.h"

static void print_verdict(const struct options *o, const struct boot_facts *facts, const struct verdict *v)
{
	if (!o->json) {
		if (v->broken_link)
			say(stdout, "FAILED (%s): %s", v->broken_link, v->message);
		else
			say(stdout, "%s: %s", v->asked ? "ok" : "nothing asked", v->message);
		return;
	}
	json_object *root = json_object_new_object();
	uint32_t expected = page_size_bytes(v->expected);
	json_object_object_add(root, "ok", json_object_new_boolean(v->asked && !v->broken_link));
	json_object_object_add(root, "page_size", json_object_new_int64((int64_t)v->running));
	json_object_object_add(root, "expected", expected ? json_object_new_int64(expected) : NULL);
	json_object_object_add(root, "entry", json_text(facts->entry));
	json_object_object_add(root, "entry_expected",
			       v->entry_expected.n ? json_span(v->entry_expected) : NULL);
	json_object_object_add(root, "broken_link", json_text(v->broken_link));
	json_object_object_add(root, "message", json_text(v->message));
	json_print(root);
}

/* What GRUB booted can be told only by its entries. */
static void complete(const struct options *o, struct boot_facts *facts)
{
	_cleanup_free_ char *cmdline = system_cmdline(o);
	struct places places;
	struct entry_set set;
	struct span image;

	if (!facts->from_words && (facts->record || facts->entry || !cmdline ||
				   !cmdline_get(span_of(cmdline), SPAN("BOOT_IMAGE"), &image)))
		return;
	if (places_find(o, &places) < 0)
		return;
	if (entry_set_load(o, &places, &set) == 0) {
		boot_facts_complete(o, &set, facts);
		entry_set_free(&set);
	}
	places_free(&places);
}

static int look_only(const struct options *o)
{
	struct boot_facts facts;
	struct verdict v;
	int exit_code;

	boot_facts_read(o, &facts);
	complete(o, &facts);
	verdict_judge(o, &facts, o->expect ? page_size_parse_typed(span_of(o->expect)) : PAGE_SIZE_UNKNOWN,
		      &v);
	if (!v.asked) {
		v.message = xprintf("no page size or entry was asked for; %llu-byte pages run",
				    (unsigned long long)v.running);
		exit_code = EXIT_NOTHING_ASKED;
	} else if (v.broken_link) {
		exit_code = EXIT_FAILED;
	} else {
		v.message = xprintf("%llu-byte pages run as asked for%s%s", (unsigned long long)v.running,
				    facts.entry ? ", entry " : "", facts.entry ? facts.entry : "");
		exit_code = EXIT_DONE;
	}
	print_verdict(o, &facts, &v);
	verdict_free(&v);
	boot_facts_free(&facts);
	return exit_code;
}

int cmd_verify(const struct options *o)
{
	if (o->expect && page_size_parse_typed(span_of(o->expect)) == PAGE_SIZE_UNKNOWN) {
		complain("--expect %s: not a page size (4k, 16k, 64k)", o->expect);
		return EXIT_USAGE;
	}
	if (o->boot + o->watch + !!o->expect > 1) {
		complain("verify: --boot, --watch and --expect exclude each other");
		return EXIT_USAGE;
	}
	if (o->force && !o->boot) {
		complain("verify: --force goes with --boot only");
		return EXIT_USAGE;
	}
	if (!system_page_size_below(o)) {
		complain("verify looks at the running system; there is none below --root (no proc is "
			 "mounted)");
		return EXIT_USAGE;
	}
	if (o->watch)
		return boot_watch_deadline(o);
	return o->boot ? boot_judge(o) : look_only(o);
}
