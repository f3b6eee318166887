/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The menu of a grub.cfg, and what it says of the default. */
#define _GNU_SOURCE
#include "unit.h"

#include <stdio.h>
#include <time.h>

#include <granule/error.h>
#include <granule/grub_cfg.h>

#define MAX_ITEMS 24

/* A text that was read to its end. Copies live as long as the test. */
struct reading {
	struct span text, memory;
	struct grub_item items[MAX_ITEMS];
	size_t n;
	int error;
	struct grub_cfg cfg;
};

static struct reading *readings[64];
static size_t n_readings;

static struct reading *read_in(const char *text, size_t size)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct grub_item item;

	assert_true(n_readings < COUNT(readings));
	readings[n_readings++] = r;
	r->text = exact(text);
	r->memory = (struct span){ malloc(size), size };
	grub_cfg_open(r->text, (char *)r->memory.p, size, &r->cfg);
	while (grub_cfg_next(&r->cfg, &item, &r->error)) {
		assert_true(r->n < MAX_ITEMS);
		r->items[r->n++] = item;
	}
	return r;
}

static int teardown(void **state)
{
	(void)state;
	while (n_readings) {
		struct reading *r = readings[--n_readings];
		release(r->text);
		release(r->memory);
		free(r);
	}
	return 0;
}

/* Without an error. */
static struct reading *read_cfg(const char *text)
{
	struct reading *r = read_in(text, GRUB_CFG_MEMORY(strlen(text)));

	check(!r->error, "error %d at %zu of:\n%s", r->error, r->cfg.pos, text);
	return r;
}

static struct grub_item read_entry(const char *text)
{
	struct reading *r = read_cfg(text);

	check(r->n == 1, "%zu entries in:\n%s", r->n, text);
	return r->items[0];
}

/* The only entry of `menuentry a { COMMANDS }`. */
static struct grub_item read_body(const char *commands)
{
	char text[1000];

	assert_true((size_t)snprintf(text, sizeof(text), "menuentry a {\n%s\n}\n", commands) < sizeof(text));
	return read_entry(text);
}

/* ---- words ---- */

static void words_are_taken_apart_as_grub_does(void **state)
{
	static const struct {
		const char *words, *want;
	} vectors[] = {
		{ "a", "a" },
		{ "a  b\tc ", "a b c" },
		{ "'a'b\"c\"d", "abcd" },
		{ "a#b 'c'#d", "a#b c#d" },
		{ "a #b c", "a" },
		{ "a;#b", "a" },
		{ "'#a' \\#b", "#a #b" },
		{ "a; b", "a" },
		{ "a\\;b", "a;b" },
		{ "\\; \\' b", "; \\' b" },
		{ "a\\{b\\}c", "a{b}c" },
		{ "'{' \"}\"", "{ }" },
		/* a backslash without quotes, in double quotes, in single ones */
		{ "a\\b\\$c", "ab$c" },
		{ "\"a\\$b\" \"c\\`d\"", "a$b c\\\\`d" },
		{ "\"a\\\\n\" \"b\\n\"", "a\\\\n b\\\\n" },
		{ "'a\\b'", "a\\\\b" },
		{ "'it'\\''s'", "it\\'s" },
		/* lines */
		{ "a \\\n b", "a b" },
		{ "a\\\nb", "ab" },
		{ "a \\\n \\\n\\\n b", "a b" },
		{ "\"a\\\nb\"", "ab" },
		{ "'a\\\nb'", "a\\\\\nb" },
		{ "'a\nb'", "a\nb" },
		{ "\"a\nb\"", "a\nb" },
		{ "a \\\n#b\n c", "a c" },
		{ "'a\n#b'\nc'", "a\nc" },
		{ "\"a\n#\"\n#\nc\"", "a\nc" },
		{ "'a\n #b'", "\"a\n #b\"" },
		/* GRUB drops carriage returns wherever they are */
		{ "a\r b\r", "a b" },
		{ "a\rb 'c\rd' \"e\r\"", "ab cd e" },
		{ "a\\\r\n b\\\r\nc", "a bc" },
		{ "'a\r\n\r#b\r\nc'", "a\nc" },
		/* variables stay */
		{ "$a ${b} x$c.y \"$d ${e}\"", "$a ${b} x$c.y \"$d ${e}\"" },
		{ "$1a $? $# $* $@ ${12}", "$1a $? $# $* $@ ${12}" },
		{ "'$a' \"\\$b\" \\$c", "$a $b $c" },
		{ "$\"a $ b\" c", "\"a $ b\" c" },
		{ "$\"a\\\"b\"", "a\\\"b" },
		/* keywords are words where no command begins */
		{ "if then else fi do done for function", "if then else fi do done for function" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char body[200];
		snprintf(body, sizeof(body), "linux /k %s", vectors[i].words);
		struct grub_item item = read_body(body);
		check(span_is(item.options, vectors[i].want), "<%s>: <%.*s> instead of <%s>",
		      vectors[i].words, (int)item.options.n, item.options.p, vectors[i].want);
		assert_span_equal(item.linux, "/k");
	}
}

static void options_are_quoted_as_the_kernel_is_to_get_them(void **state)
{
	(void)state;
	assert_span_equal(read_body("linux /k 'a b' c").options, "\"a b\" c");
	assert_span_equal(read_body("linux /k a\\ b").options, "\"a b\"");
	assert_span_equal(read_body("linux /k dyndbg=\\\"file a +p\\\"").options, "dyndbg=\\\"file a +p\\\"");
	assert_span_equal(read_body("linux /k 'dyndbg=\"file a\"'").options, "\"dyndbg=\\\"file a\\\"\"");
	assert_span_equal(read_body("linux /k '\"\"\"\"\"\"'").options, "\\\"\\\"\\\"\\\"\\\"\\\"");
	assert_span_equal(read_body("linux /k '\\x41\\xg1\\x4'").options, "\\x41\\\\xg1\\\\x4");
	assert_span_equal(read_body("linux /k '\\x41\"'").options, "\\x41\\\"");
}

static void a_variable_is_told_of_unless_it_is_quoted(void **state)
{
	(void)state;
	assert_true(read_body("linux /k a $b").variables);
	assert_true(read_body("linux /k \"a${b}\"").variables);
	assert_true(read_body("linux ($root)/k").variables);
	assert_true(read_body("initrd $a").variables);
	assert_true(read_body("devicetree ${a}").variables);
	assert_true(read_body("linux /k $\"a $b\"").variables);
	assert_false(read_body("linux /k 'a$b' \\$c \"\\$d\"").variables);
	assert_false(read_body("echo $a\nlinux /k").variables);
}

/* ---- entries ---- */

static void title_id_and_users_are_found_among_the_options(void **state)
{
	static const struct {
		const char *words, *title, *id, *users;
	} vectors[] = {
		{ "'a b'", "a b", "", "" },
		{ "a b c", "a", "", "" },
		{ "'it'\\''s \"x\" > y'", "it's \"x\" > y", "", "" },
		{ "'a' --id b", "a", "b", "" },
		{ "'a' --id=b", "a", "b", "" },
		{ "'a' --id='b c' x", "a", "b c", "" },
		{ "--id b 'a'", "a", "b", "" },
		{ "'a' $menuentry_id_option 'b'", "a", "b", "" },
		{ "'a' ${menuentry_id_option} \"b\"", "a", "b", "" },
		{ "'a' '$menuentry_id_option' 'b'", "a", "", "" },
		{ "'a' --class x --class=y $menuentry_id_option 'b' {x;}", "a", "b", "" },
		{ "'a' --class x --users \"\" --unrestricted --hotkey=k --id 'y' arg", "a", "y", "-" },
		{ "--hotkey k --users root,joe 'a'", "a", "", "root,joe" },
		{ "--users=root --unrestricted 'a'", "a", "", "root" },
		{ "'a' --unrestricted", "a", "", "-" },
		{ "--unknown 'a'", "--unknown", "", "" },
		{ "-- --id --class", "--id", "", "" },
		/* the last one counts, and an option is no value */
		{ "a --id b --id c", "a", "c", "" },
		{ "a --id --unrestricted", "a", "", "-" },
		{ "a --id '' b", "a", "", "" },
		{ "\"a $b\" --id x$c", "a $b", "x$c", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		char text[200];
		size_t n = strlen(vectors[i].words);
		bool block = n > 2 && !strcmp(vectors[i].words + n - 2, ";}");
		snprintf(text, sizeof(text), "menuentry %s%s", vectors[i].words, block ? "" : "{ x\n}");
		struct grub_item item = read_entry(text);
		check(span_is(item.title, vectors[i].title) && span_is(item.id, vectors[i].id) &&
			      span_is(item.users, vectors[i].users),
		      "<%s>: title <%.*s>, id <%.*s>, users <%.*s>", vectors[i].words, (int)item.title.n,
		      item.title.p, (int)item.id.n, item.id.p, (int)item.users.n, item.users.p);
	}
}

static void the_last_command_of_each_kind_counts(void **state)
{
	(void)state;
	struct grub_item item = read_body("linux /one a b\nlinux /two c\n"
					  "initrd /i1\ninitrd /i2 /i3\ndevicetree /d1\ndevicetree /d2 x");
	assert_span_equal(item.linux, "/two");
	assert_span_equal(item.options, "c");
	assert_span_equal(item.initrd, "/i2 /i3");
	assert_span_equal(item.devicetree, "/d2");

	item = read_body("linuxefi\t($root)/vmlinuz ro\ninitrdefi (hd0,gpt2)/i");
	assert_span_equal(item.linux, "($root)/vmlinuz");
	assert_span_equal(item.initrd, "(hd0,gpt2)/i");
	item = read_body("if a; then linux16 /k; else linux /l x; fi; initrd16 /i");
	assert_span_equal(item.linux, "/l");
	assert_span_equal(item.options, "x");
	assert_span_equal(item.initrd, "/i");
	assert_span_equal(read_body("echo linux /a").linux, "");
	assert_span_equal(read_body("'linux' /a").linux, "/a");
}

static void chainloaded_programs_have_options_too(void **state)
{
	(void)state;
	struct grub_item item = read_body("chainloader --force (hd0,gpt1)/EFI/a.efi one 'two three' --four");
	assert_span_equal(item.chainloader, "(hd0,gpt1)/EFI/a.efi");
	assert_span_equal(item.options, "one \"two three\" --four");
	assert_span_equal(read_body("linux /k a\nchainloader /b c").options, "a");
	assert_span_equal(read_body("chainloader /b c\nlinux /k a").options, "a");
}

static void the_file_system_is_the_one_searched_by_uuid(void **state)
{
	static const struct {
		const char *command, *want;
	} vectors[] = {
		{ "search --no-floppy --fs-uuid --set=root 1-2", "1-2" },
		{ "search --no-floppy --fs-uuid --set=root --hint-bios=hd0,gpt2 --hint-efi=hd0,gpt2 1-2",
		  "1-2" },
		{ "search --fs-uuid 1-2 --set root", "1-2" },
		{ "search --fs-uuid --set root 1-2", "1-2" },
		{ "search --fs-uuid --set 1-2", "1-2" },
		{ "search --fs-uuid --hint hd0,gpt2 --set=root 1-2", "1-2" },
		{ "search --fs-uuid --hint='hd0,gpt2' --set=root '1-2'", "1-2" },
		{ "search -u -s root 1-2", "1-2" },
		{ "search -nu 1-2", "1-2" },
		{ "search.fs_uuid 1-2 root hd0,gpt2", "1-2" },
		{ "search --label --set=root BOOT", "" },
		{ "search --file /x", "" },
		{ "search --fs-uuid 3\nsearch --set=root --fs-uuid 1-2", "1-2" },
		{ "search --fs-uuid 1-2\nsearch -l -s root x", "1-2" },
		{ "if a; then search --fs-uuid --hint=x 1-2; else search --fs-uuid 1-2; fi", "1-2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		assert_span_equal(read_body(vectors[i].command).fs_uuid, vectors[i].want);
		assert_span_equal(read_cfg(vectors[i].command)->cfg.facts.prefix_uuid, vectors[i].want);
		teardown(NULL);
	}
}

static void entries_are_counted_among_their_siblings(void **state)
{
	static const char text[] = "menuentry a { x\n}\n"
				   "submenu b --id B {\n"
				   "	menuentry c { x; }\n"
				   "	submenu d { menuentry e { x\n} }\n"
				   "	menuentry f { x\n}\n"
				   "}\n"
				   "menuentry g { x\n}\n"
				   "submenu h { menuentry i { x\n}; }\n";
	static const struct {
		const char *title;
		unsigned depth;
		size_t index;
		bool submenu;
	} want[] = {
		{ "a", 0, 0, false }, { "b", 0, 1, true },  { "c", 1, 0, false },
		{ "d", 1, 1, true },  { "e", 2, 0, false }, { "f", 1, 2, false },
		{ "g", 0, 2, false }, { "h", 0, 3, true },  { "i", 1, 0, false },
	};
	struct reading *r = read_cfg(text);

	(void)state;
	assert_int_equal(r->n, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++) {
		struct grub_item *item = &r->items[i];
		assert_span_equal(item->title, want[i].title);
		assert_int_equal(item->depth, want[i].depth);
		assert_int_equal(item->index, want[i].index);
		assert_int_equal(item->submenu, want[i].submenu);
		assert_false(item->conditional);
		assert_true(!strncmp(text + item->offset, item->submenu ? "submenu" : "menuentry", 7));
	}
}

static void entries_below_a_condition_are_told_of_as_such(void **state)
{
	static const char text[] = "if a; then menuentry b { x; }; elif c; then menuentry d { x; }; fi\n"
				   "menuentry e { if x; then linux /k; fi; }\n"
				   "for i in 1 2; do menuentry f { x; }; done\n"
				   "while a; do until b; do menuentry g { x; }; done; done\n"
				   "submenu h { if a\nthen\nmenuentry i { x; }\nfi\nmenuentry j { x; }; }\n"
				   "if a; then submenu k { menuentry l { x; }; }; fi\n";
	struct reading *r = read_cfg(text);

	(void)state;
	assert_int_equal(r->n, 10);
	for (size_t i = 0; i < r->n; i++) {
		struct grub_item *item = &r->items[i];
		assert_int_equal(item->conditional, !strchr("ehj", item->title.p[0]));
	}
}

static void what_is_in_functions_and_other_blocks_is_no_entry(void **state)
{
	struct reading *r = read_cfg("function f {\n menuentry a { x; }\n set default=1\n}\n"
				     "function g\n\n{ if a; then b; fi; }\n"
				     "extract { menuentry b { x; } }\n"
				     "menuentry c {\n menuentry d { linux /d; }\n"
				     " e { linux /e; }\n linux /c\n}\n"
				     "menuentry\n"
				     "submenu s { h { menuentry i { x; }; }; menuentry k { x; }; }\n");

	(void)state;
	assert_int_equal(r->n, 3);
	assert_span_equal(r->items[0].title, "c");
	assert_span_equal(r->items[0].linux, "/c");
	assert_span_equal(r->items[2].title, "k");
	assert_int_equal(r->items[2].index, 0);
	assert_span_equal(r->cfg.facts.default_word, "");
}

/* ---- facts ---- */

#define NEXT_ENTRY                           \
	"if [ \"${next_entry}\" ] ; then\n"  \
	"   set default=\"${next_entry}\"\n" \
	"   set next_entry=\n"               \
	"   save_env next_entry\n"           \
	"   set boot_once=true\n"            \
	"else\n"                             \
	"   set default=\"%s\"\n"            \
	"fi\n"

static void the_default_is_the_one_without_a_next_entry(void **state)
{
	static const struct {
		const char *text, *word, *from;
	} vectors[] = {
		{ "", "", "" },
		{ "set default=2", "2", "" },
		{ "default=2\nset default='a>b'", "a>b", "" },
		{ "set default=\"${saved_entry}\"", "", "${saved_entry}" },
		{ "set default=\"a$b\"\nset default=0", "0", "" },
		{ "set default=0\nset default=$b", "", "$b" },
		{ "set 'default=x y'", "x y", "" },
		{ "set default 1; set other=2 default=3; echo default=4; export default", "", "" },
		/* conditions of another kind say nothing of the usual default */
		{ "set default=0\nif x; then set default=1; else set default=2; fi", "0", "" },
		{ "set default=0\nif [ $next_entry ]; then set default=1; fi", "0", "" },
		{ "set default=0\nif [ $next_entry ]; then set default=1; else set default=2; fi", "2", "" },
		{ "if c; then set default=1; elif [ $next_entry ]; then default=2; else default=3; fi", "3",
		  "" },
		{ "if [ $next_entry ]; then set default=1; elif c; then default=2; else default=3; fi", "3",
		  "" },
		{ "if [ $next_entry ]; then :; else if c; then default=2; else default=3; fi; fi", "", "" },
		{ "if [ \"x$default\" = 'old' ]; then default='new'; fi", "", "" },
		{ "function f { set default=1; }", "", "" },
		{ "menuentry a { set default=1; }\nsubmenu b { set default=2; }", "", "" },
		{ "while [ $next_entry ]; do set default=1; done", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct reading *r = read_cfg(vectors[i].text);
		check(span_is(r->cfg.facts.default_word, vectors[i].word) &&
			      span_is(r->cfg.facts.default_from, vectors[i].from),
		      "<%s>: \"%.*s\" and \"%.*s\"", vectors[i].text, (int)r->cfg.facts.default_word.n,
		      r->cfg.facts.default_word.p, (int)r->cfg.facts.default_from.n,
		      r->cfg.facts.default_from.p);
		assert_int_equal(r->cfg.facts.saved_entry,
				 span_is(r->cfg.facts.default_from, "${saved_entry}"));
	}
}

static bool obeys_grub_reboot(const char *text)
{
	return read_cfg(text)->cfg.facts.next_entry;
}

static void grub_reboot_works_if_its_wish_is_cleared(void **state)
{
	char text[500];

	(void)state;
	snprintf(text, sizeof(text), NEXT_ENTRY, "0");
	assert_true(obeys_grub_reboot(text));
	assert_false(obeys_grub_reboot("if [ \"${next_entry}\" ]; then default=$next_entry; fi"));
	assert_false(obeys_grub_reboot("if [ $next_entry ]; then set next_entry=\nfi"));
	assert_false(obeys_grub_reboot("if [ $next_entry ]; then save_env next_entry; fi"));
	assert_false(obeys_grub_reboot("set next_entry=; save_env next_entry"));
	assert_false(
		obeys_grub_reboot("if [ $next_entry ]; then set next_entry=; save_env -f x next_entry; fi"));
	assert_false(obeys_grub_reboot(
		"if [ $next_entry ]; then set next_entry=; save_env --file=x next_entry; fi"));
	assert_false(obeys_grub_reboot(
		"function f {\nif [ $next_entry ]; then next_entry=; save_env next_entry; fi; }"));
	assert_true(
		obeys_grub_reboot("if [ -n \"$next_entry\" ]; then next_entry=; save_env a next_entry; fi"));
}

static void granules_own_lines_are_found(void **state)
{
	struct reading *r = read_cfg("set granule_version=1\n"
				     "set granule_env_uuid='ABCD-1234'\n"
				     "set granule_env_path=/EFI/granule/grubenv\n"
				     "set granule_4k=granule-6.1-4k granule_64k=x\n"
				     "if a; then set granule_64k=\"granule-6.1-64k\"; fi\n"
				     "set granule_8k=a; set granule_16k=$b; set granule_policy=64k\n"
				     "function f { set granule_16k=c; }\n");
	struct grub_cfg_facts *f = &r->cfg.facts;

	(void)state;
	assert_span_equal(f->granule_version, "1");
	assert_span_equal(f->granule_env_uuid, "ABCD-1234");
	assert_span_equal(f->granule_env_path, "/EFI/granule/grubenv");
	assert_span_equal(f->granule_policy[PAGE_SIZE_4K], "granule-6.1-4k");
	assert_span_equal(f->granule_policy[PAGE_SIZE_16K], "");
	assert_span_equal(f->granule_policy[PAGE_SIZE_64K], "granule-6.1-64k");
	assert_span_equal(f->granule_policy[PAGE_SIZE_UNKNOWN], "");
}

/* What granule's lines do themselves is no sign that grub-reboot works, nor what the owner chose. */
static void granules_own_lines_do_not_count_as_the_owners(void **state)
{
	static const char lines[] = "set granule_version=1\n"
				    "if [ \"${next_entry}\" ]; then\n"
				    "  set default=\"${next_entry}\"; set next_entry=; save_env next_entry\n"
				    "else set default=\"${granule_choice}\"; fi\n";
	char text[1000];

	(void)state;
	assert_false(read_cfg(lines)->cfg.facts.next_entry);
	snprintf(text, sizeof(text), NEXT_ENTRY "%s", "3", lines);
	struct reading *r = read_cfg(text);
	assert_true(r->cfg.facts.next_entry);
	assert_span_equal(r->cfg.facts.default_word, "3");
	assert_span_equal(r->cfg.facts.default_from, "");
	/* the owner's own file at the end wins, as it does in GRUB */
	strcat(text, "set default=7\n");
	assert_span_equal(read_cfg(text)->cfg.facts.default_word, "7");
}

static void other_files_that_are_read_are_told_of(void **state)
{
	struct reading *r = read_cfg("search.fs_uuid 1-2 root hd0,gpt2\nset prefix=($root)'/boot/grub'\n"
				     "configfile $prefix/grub.cfg\n"
				     "if a; then source ${config_directory}/custom.cfg x; fi\n"
				     ". '/a b'\n"
				     "menuentry m { configfile /no; }\nfunction f { source /no; }\n");

	(void)state;
	assert_int_equal(r->cfg.facts.n_sourced, 3);
	assert_span_equal(r->cfg.facts.sourced[0], "$prefix/grub.cfg");
	assert_span_equal(r->cfg.facts.sourced[1], "${config_directory}/custom.cfg");
	assert_span_equal(r->cfg.facts.sourced[2], "/a b");
	assert_span_equal(r->cfg.facts.prefix_uuid, "1-2");

	r = read_cfg(". 1;. 2;. 3;. 4;. 5;. 6;. 7;. 8;. 9");
	assert_int_equal(r->cfg.facts.n_sourced, 8);
	assert_span_equal(r->cfg.facts.sourced[7], "8");
}

/* ---- layouts of distributions ---- */

static void debians_menu_is_read(void **state)
{
	static const char body[] =
		"### BEGIN /etc/grub.d/10_linux ###\n"
		"function gfxmode {\n\tset gfxpayload=\"${1}\"\n}\n"
		"set linux_gfx_mode=\nexport linux_gfx_mode\n"
		"menuentry 'Debian GNU/Linux' --class debian --class gnu-linux --class gnu --class os "
		"$menuentry_id_option 'gnulinux-simple-1f2e' {\n"
		"\tload_video\n\tinsmod gzio\n"
		"\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n"
		"\tinsmod part_gpt\n\tinsmod ext2\n"
		"\tif [ x$feature_platform_search_hint = xy ]; then\n"
		"\t  search --no-floppy --fs-uuid --set=root --hint-efi=hd0,gpt2  1f2e\n"
		"\telse\n\t  search --no-floppy --fs-uuid --set=root 1f2e\n\tfi\n"
		"\techo\t'Loading Linux 6.1.0-13-arm64 ...'\n"
		"\tlinux\t/boot/vmlinuz-6.1.0-13-arm64 root=UUID=1f2e ro  quiet\n"
		"\techo\t'Loading initial ramdisk ...'\n"
		"\tinitrd\t/boot/initrd.img-6.1.0-13-arm64\n}\n"
		"submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option "
		"'gnulinux-advanced-1f2e' {\n"
		"\tmenuentry 'Debian GNU/Linux, with Linux 6.1.0-13-arm64 (recovery mode)' --class debian "
		"$menuentry_id_option 'gnulinux-6.1.0-13-arm64-recovery-1f2e' {\n"
		"\t\tlinux\t/boot/vmlinuz-6.1.0-13-arm64 root=UUID=1f2e ro single dis_ucode_ldr\n\t}\n"
		"}\n"
		"### END /etc/grub.d/10_linux ###\n"
		"### BEGIN /etc/grub.d/30_uefi-firmware ###\n"
		"if [ \"$grub_platform\" = \"efi\" ]; then\n\tfwsetup --is-supported\n"
		"\tif [ \"$?\" = 0 ]; then\n"
		"\t\tmenuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {\n"
		"\t\t\tfwsetup\n\t\t}\n\tfi\nfi\n";
	char text[4000];

	(void)state;
	snprintf(text, sizeof(text), NEXT_ENTRY "%s", "${saved_entry}", body);
	struct reading *r = read_cfg(text);
	assert_int_equal(r->n, 4);
	struct grub_item *i = r->items;
	assert_span_equal(i[0].id, "gnulinux-simple-1f2e");
	assert_span_equal(i[0].linux, "/boot/vmlinuz-6.1.0-13-arm64");
	assert_span_equal(i[0].options, "root=UUID=1f2e ro quiet");
	assert_span_equal(i[0].initrd, "/boot/initrd.img-6.1.0-13-arm64");
	assert_span_equal(i[0].fs_uuid, "1f2e");
	assert_false(i[0].variables || i[0].conditional);
	assert_true(i[1].submenu);
	assert_span_equal(i[2].id, "gnulinux-6.1.0-13-arm64-recovery-1f2e");
	assert_span_equal(i[2].options, "root=UUID=1f2e ro single dis_ucode_ldr");
	assert_true(i[3].conditional);
	assert_int_equal(i[3].index, 2);
	assert_true(r->cfg.facts.next_entry && r->cfg.facts.saved_entry);
	assert_span_equal(r->cfg.facts.default_from, "${saved_entry}");
}

static void ubuntus_menu_is_read(void **state)
{
	struct reading *r = read_cfg(
		"if [ -s $prefix/grubenv ]; then\n  set have_grubenv=true\n  load_env\nfi\n"
		"if [ \"${initrdfail}\" = 2 ]; then\n   set initrdfail=\n"
		"elif [ \"${initrdfail}\" = 1 ]; then\n   set next_entry=\"${prev_entry}\"\n   set "
		"prev_entry=\n"
		"   save_env prev_entry\n   if [ \"${next_entry}\" ]; then\n      set initrdfail=2\n   "
		"fi\nfi\n"
		"if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n"
		"   save_env next_entry\n   set boot_once=true\nelse\n   set default=\"0\"\nfi\n"
		"function recordfail {\n  set recordfail=1\n"
		"  if [ -n \"${have_grubenv}\" ]; then if [ -z \"${boot_once}\" ]; then save_env recordfail; "
		"fi; fi\n}\n"
		"menuentry 'Ubuntu' --class ubuntu $menuentry_id_option 'gnulinux-simple-9c' "
		"{\n\trecordfail\n"
		"\tload_video\n\tgfxmode $linux_gfx_mode\n\tinsmod gzio\n"
		"\tlinux\t/vmlinuz-6.8.0-31-generic-64k root=/dev/mapper/vg-root ro  quiet splash "
		"$vt_handoff\n"
		"\tinitrd\t/initrd.img-6.8.0-31-generic-64k\n"
		"\tdevicetree\t/dtb-6.8.0-31-generic-64k\n}\n");

	(void)state;
	assert_int_equal(r->n, 1);
	assert_span_equal(r->items[0].options, "root=/dev/mapper/vg-root ro quiet splash $vt_handoff");
	assert_span_equal(r->items[0].devicetree, "/dtb-6.8.0-31-generic-64k");
	assert_true(r->items[0].variables);
	assert_true(r->cfg.facts.next_entry && !r->cfg.facts.saved_entry);
	assert_span_equal(r->cfg.facts.default_word, "0");
}

static void the_red_hat_familys_menu_is_read(void **state)
{
	struct reading *r = read_cfg(
		"set pager=1\n\nif [ -f ${config_directory}/grubenv ]; then\n"
		"  load_env -f ${config_directory}/grubenv\nelif [ -s $prefix/grubenv ]; then\n  "
		"load_env\nfi\n"
		"if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n"
		"   save_env next_entry\n   set boot_once=true\nelse\n   set default=\"${saved_entry}\"\nfi\n"
		"insmod increment\n"
		"if [ -n \"${boot_counter}\" -a \"${boot_success}\" = \"0\" ]; then\n"
		"  if  [ \"${boot_counter}\" = \"0\" -o \"${boot_counter}\" = \"-1\" ]; then\n"
		"    set default=1\n    set boot_counter=-1\n  else\n    decrement boot_counter\n  fi\n"
		"  save_env boot_counter\nfi\n"
		"insmod part_gpt\ninsmod xfs\nset root='hd0,gpt2'\n"
		"search --no-floppy --fs-uuid --set=boot 5d-6e\n"
		"if [ -z \"${kernelopts}\" ]; then\n  set kernelopts=\"root=/dev/mapper/rhel-root ro \"\nfi\n"
		"insmod blscfg\nblscfg\n"
		"if [ \"${boot_success}\" = \"1\" ]; then\n  set last_boot_ok=1\nfi\n"
		"if [ $x ]; then\n  source ${config_directory}/custom.cfg\nfi\n");

	(void)state;
	assert_int_equal(r->n, 0);
	assert_true(r->cfg.facts.next_entry && r->cfg.facts.saved_entry && r->cfg.facts.blscfg &&
		    r->cfg.facts.fallback_counting);
	assert_span_equal(r->cfg.facts.default_from, "${saved_entry}");
	assert_span_equal(r->cfg.facts.prefix_uuid, "5d-6e");
	assert_false(read_cfg("if [ \"${boot_success}\" = 1 ]; then a; fi\ninsmod blscfg")->cfg.facts.blscfg);
	assert_false(read_cfg("if [ \"${boot_success}\" = 1 ]; then a; fi")->cfg.facts.fallback_counting);
}

static void opensuses_and_openeulers_menus_are_read(void **state)
{
	struct reading *r = read_cfg(
		"set btrfs_relative_path=\"yes\"\nexport btrfs_relative_path\n"
		"if [ \"${env_block}\" ] ; then\n  set env_block=\"(${root})${env_block}\"\n"
		"  export env_block\n  load_env -f \"${env_block}\"\nfi\n"
		"if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n"
		"   save_env next_entry\n   if [ \"${env_block}\" ] ; then\n"
		"     save_env -f \"${env_block}\" next_entry\n   fi\n   set boot_once=true\n"
		"else\n   set default=\"${saved_entry}\"\nfi\n"
		"menuentry 'SLES 15-SP5'  --class sles $menuentry_id_option 'gnulinux-simple-77' {\n"
		"\tlinux\t/boot/Image-5.14.21-64kb root=UUID=77  ${extra_cmdline} splash=silent\n"
		"\tinitrd\t/boot/initrd-5.14.21-64kb\n}\n"
		"if [ -f  \"/.snapshots/grub-snapshot.cfg\" ]; then\n"
		"  source \"/.snapshots/grub-snapshot.cfg\"\nfi\n"
		"menuentry 'openEuler (5.10.0-60.aarch64) 22.03 (LTS)' --class openeuler --unrestricted "
		"$menuentry_id_option 'gnulinux-5.10.0-advanced-88' {\n"
		"\tset gfxpayload=keep\n"
		"\tlinux\t/vmlinuz-5.10.0-60.aarch64 root=/dev/mapper/o-root ro crashkernel=1024M,high\n"
		"\tinitrd /initramfs-5.10.0-60.aarch64.img\n}\n");

	(void)state;
	assert_int_equal(r->n, 2);
	assert_span_equal(r->items[0].linux, "/boot/Image-5.14.21-64kb");
	assert_span_equal(r->items[1].users, "-");
	assert_span_equal(r->items[1].title, "openEuler (5.10.0-60.aarch64) 22.03 (LTS)");
	assert_true(r->cfg.facts.next_entry && r->cfg.facts.saved_entry);
	assert_span_equal(r->cfg.facts.env_block, "");
	assert_span_equal(read_cfg("set env_block=512+1")->cfg.facts.env_block, "512+1");
}

/* ---- what is wrong ---- */

static void what_grub_refuses_is_an_error_with_its_place(void **state)
{
	static const struct {
		const char *text;
		size_t pos;
	} vectors[] = {
		/* quotes, variables, signs without a use */
		{ "a 'b", 2 },
		{ "a \"b\\\"", 2 },
		{ "a $\"b", 2 },
		{ "a b$", 3 },
		{ "a $- b", 2 },
		{ "a \"$\"", 3 },
		{ "a ${b", 2 },
		{ "a | b", 2 },
		{ "a&b", 1 },
		{ "a <b", 2 },
		{ "a>b", 1 },
		{ "a [[ b", 2 },
		{ "a \\", 2 },
		{ "a b\\\n", 3 },
		{ "]]", 0 },
		/* blocks */
		{ "a }", 2 },
		{ "}", 0 },
		{ "{ a; }", 0 },
		{ "x\nmenuentry a {\n", 2 },
		{ "submenu a {\nmenuentry b { c\n}\n", 0 },
		{ "submenu a {\nmenuentry b {\n", 12 },
		{ "menuentry a { }", 14 },
		{ "a { b; } c", 9 },
		{ "a { b; } c { d; }", 9 },
		/* conditions and loops */
		{ "if a; then b", 0 },
		{ "if a; fi", 6 },
		{ "if a\nthen fi", 10 },
		{ "if a; then b; else c; else d; fi", 22 },
		{ "if a { b; } then c; fi", 12 },
		{ "then", 0 },
		{ "x; fi", 3 },
		{ "if a; then b; fi c", 17 },
		{ "while a; do b; fi", 15 },
		{ "while a; done", 9 },
		{ "menuentry a { if b; then c; }", 28 },
		{ "if a; then menuentry b { c; fi; }", 28 },
		{ "for", 3 },
		{ "for a b; do c; done", 0 },
		{ "for 1 in b; do c; done", 4 },
		{ "for a in b { c; }; do d; done", 11 },
		/* functions */
		{ "function", 8 },
		{ "function f\ng", 0 },
		{ "function f;\n{ g; }", 0 },
		{ "function 'f' { g; }", 9 },
		{ "function f { g }", 15 },
		{ "if a; then function f { g; }; fi", 11 },
		/* semicolons and keywords */
		{ ";", 0 },
		{ "a;;", 2 },
		{ "a; ; b", 3 },
		{ "a { ; b; }", 4 },
		{ "case a", 0 },
		{ "in", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct reading *r = read_in(vectors[i].text, GRUB_CFG_MEMORY(strlen(vectors[i].text)));
		check(r->error == ERROR_SYNTAX && r->cfg.pos == vectors[i].pos, "<%s>: error %d at %zu",
		      vectors[i].text, r->error, r->cfg.pos);
	}
	struct span nul = exact_bytes("a\0b", 3);
	char memory[10];
	struct grub_cfg cfg;
	struct grub_item item;
	int error;
	grub_cfg_open(nul, memory, sizeof(memory), &cfg);
	assert_false(grub_cfg_next(&cfg, &item, &error));
	assert_int_equal(error, ERROR_SYNTAX);
	assert_int_equal(cfg.pos, 1);
	release(nul);
}

/* As in GRUB: what it cannot read it drops, and goes on with the next line. */
static void an_error_costs_what_it_stands_in_alone(void **state)
{
	static const char text[] =
		"default=3\n"
		"menuentry a { linux /a\n}\n"
		"menuentry b { linux /b x|y\n"
		"	initrd /i\n"
		"}\n"
		"submenu c {\n menuentry d { x; }\n menuentry e { }\n menuentry f { x; }\n}\n"
		"menuentry g { linux /g; }\n"
		"set granule_64k=h\n"
		"if x; then\n"
		"menuentry h { x; }\n";
	struct reading *r = read_in(text, GRUB_CFG_MEMORY(sizeof(text) - 1));
	struct grub_item item;
	int error = 0;

	(void)state;
	assert_int_equal(r->error, ERROR_SYNTAX);
	assert_int_equal(r->cfg.pos, strchr(text, '|') - text);
	assert_int_equal(r->n, 6);
	assert_span_equal(r->items[0].linux, "/a");
	assert_int_equal(r->items[0].index, 0);
	/* A submenu was told of when it began; behind what is wrong in it GRUB is at the top level. */
	assert_span_equal(r->items[1].title, "c");
	assert_span_equal(r->items[2].title, "d");
	assert_span_equal(r->items[3].title, "f");
	assert_int_equal(r->items[3].depth, 0);
	assert_int_equal(r->items[3].index, 1);
	assert_span_equal(r->items[4].linux, "/g");
	assert_int_equal(r->items[4].index, 2);
	assert_span_equal(r->items[5].title, "h");
	assert_span_equal(r->cfg.facts.default_word, "3");
	assert_span_equal(r->cfg.facts.granule_policy[PAGE_SIZE_64K], "h");
	assert_false(grub_cfg_next(&r->cfg, &item, &error));
	assert_int_equal(error, ERROR_SYNTAX);
}

static void a_carriage_return_in_a_keyword_is_dropped(void **state)
{
	(void)state;
	assert_int_equal(read_cfg("i\rf a; t\r\rhen menuentry b { x; }; f\ri\r\n")->n, 1);
}

static void a_line_end_that_is_wrong_costs_no_line_after_it(void **state)
{
	static const char *const texts[] = { "for\n", "for a\n", "function\n", "if\nx; then fi\n",
					     "a \"b\n$- c\"\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		char text[100];
		snprintf(text, sizeof(text), "%smenuentry m { x; }\n", texts[i]);
		struct reading *r = read_in(text, GRUB_CFG_MEMORY(strlen(text)));
		assert_int_equal(r->error, ERROR_SYNTAX);
		check(r->n == 1, "<%s> costs the line after it", texts[i]);
	}
}

/* n times `open`, then n times `close`. */
static int nested(unsigned n, const char *open, const char *close)
{
	char text[4000] = "";

	for (unsigned i = 0; i < n; i++)
		strcat(text, open);
	strcat(text, "x");
	for (unsigned i = 0; i < n; i++)
		strcat(text, close);
	return read_in(text, GRUB_CFG_MEMORY(strlen(text)))->error;
}

static void nesting_has_a_limit(void **state)
{
	(void)state;
	assert_int_equal(nested(GRUB_CFG_MAX_DEPTH, "submenu a {", "}"), 0);
	assert_int_equal(nested(GRUB_CFG_MAX_DEPTH + 1, "submenu a {", "}"), ERROR_TOO_MANY);
	assert_int_equal(nested(GRUB_CFG_MAX_NESTING, "if a; then ", "; fi"), 0);
	assert_int_equal(nested(GRUB_CFG_MAX_NESTING + 1, "if a; then ", "; fi"), ERROR_TOO_MANY);
	assert_int_equal(nested(GRUB_CFG_MAX_NESTING, "a {", "}"), 0);
	assert_int_equal(nested(GRUB_CFG_MAX_NESTING + 1, "a {", "}"), ERROR_TOO_MANY);
	assert_int_equal(nested(GRUB_CFG_MAX_NESTING + 1, "menuentry a {", "}"), ERROR_TOO_MANY);
}

static void too_little_memory_is_an_error_and_enough_never_is(void **state)
{
	static const char text[] =
		"menuentry 'a\"b' { linux '/k' '\"\"\"\"' '\\\\\\\\\\\\' a\\ b\\ c; initrd \"/i\" /j; }";

	(void)state;
	for (size_t size = 0;; size++) {
		struct reading *r = read_in(text, size);
		assert_true(size <= GRUB_CFG_MEMORY(sizeof(text) - 1));
		if (!r->error) {
			assert_true(size > 10);
			assert_span_equal(r->items[0].initrd, "/i /j");
			break;
		}
		assert_int_equal(r->error, ERROR_SPACE);
		teardown(NULL);
	}
}

/* ---- time ---- */

static double seconds_for(const char *unit, size_t size)
{
	size_t n = strlen(unit);
	char *text = malloc(size), *memory = malloc(GRUB_CFG_MEMORY(size));
	struct timespec from, to;
	struct grub_cfg cfg;
	struct grub_item item;
	int error;

	for (size_t i = 0; i < size; i++)
		text[i] = unit[i % n];
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	grub_cfg_open((struct span){ text, size }, memory, GRUB_CFG_MEMORY(size), &cfg);
	while (grub_cfg_next(&cfg, &item, &error))
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	free(text);
	free(memory);
	return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static void time_grows_with_the_text_alone(void **state)
{
	static const char *const units[] = {
		"menuentry a {linux /k b\n}\n",
		"linux ",
		"a;",
		"\\\n",
		"\\\n ",
		"'",
		"'a'\n#",
		"\"\\\"",
		"#\n",
		"$a",
		"\r",
		"menuentry a --id ",
		"if a\nthen b\nfi\n",
		"set default=$a\n",
		"\n",
		"menuentry a {linux 'a' \"b\\\"\" c\\ d $e\n}\n",
		"search -u ",
		"function f {a\n}\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(units); i++) {
		double s = seconds_for(units[i], 2000000);
		check(s < 1, "2 MB of <%s> took %.2f s", units[i], s);
	}
}

/* ---- paths ---- */

static void paths_write_the_sign_between_menus_twice_within_a_title(void **state)
{
	char buffer[40], small[4];
	struct text t = text_in(buffer, sizeof(buffer)), little = text_in(small, sizeof(small));

	(void)state;
	grub_path_escape(SPAN("a > b>"), &t);
	assert_span_equal(text_span(&t), "a >> b>>");
	grub_path_escape(SPAN("abcd"), &little);
	assert_true(little.full);
}

static void paths_are_taken_apart_as_grub_does(void **state)
{
	static const struct {
		const char *path;
		const char *parts[5];
	} vectors[] = {
		{ "", { NULL } },           { "a", { "a" } },
		{ "a>b", { "a", "b" } },    { "1>2>3", { "1", "2", "3" } },
		{ "a>>b", { "a>b" } },      { "a >> b>c>>", { "a > b", "c>" } },
		{ "a>>>b", { "a>", "b" } }, { "a>>>>b", { "a>>b" } },
		{ "a>", { "a" } },          { ">a", { "", "a" } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct span path = exact(vectors[i].path);
		char *buffer = malloc(8);
		struct text part = text_in(buffer, 8);
		size_t pos = 0, n = 0;
		while (grub_path_next(path, &pos, &part)) {
			check(vectors[i].parts[n] && span_is(text_span(&part), vectors[i].parts[n]),
			      "<%s>: part %zu is <%s>", vectors[i].path, n, part.p);
			n++;
		}
		check(!vectors[i].parts[n], "<%s>: %zu parts", vectors[i].path, n);
		release(path);
		free(buffer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
		TEST(words_are_taken_apart_as_grub_does),
		TEST(options_are_quoted_as_the_kernel_is_to_get_them),
		TEST(a_variable_is_told_of_unless_it_is_quoted),
		TEST(title_id_and_users_are_found_among_the_options),
		TEST(the_last_command_of_each_kind_counts),
		TEST(chainloaded_programs_have_options_too),
		TEST(the_file_system_is_the_one_searched_by_uuid),
		TEST(entries_are_counted_among_their_siblings),
		TEST(entries_below_a_condition_are_told_of_as_such),
		TEST(what_is_in_functions_and_other_blocks_is_no_entry),
		TEST(the_default_is_the_one_without_a_next_entry),
		TEST(grub_reboot_works_if_its_wish_is_cleared),
		TEST(granules_own_lines_are_found),
		TEST(granules_own_lines_do_not_count_as_the_owners),
		TEST(other_files_that_are_read_are_told_of),
		TEST(debians_menu_is_read),
		TEST(ubuntus_menu_is_read),
		TEST(the_red_hat_familys_menu_is_read),
		TEST(opensuses_and_openeulers_menus_are_read),
		TEST(what_grub_refuses_is_an_error_with_its_place),
		TEST(an_error_costs_what_it_stands_in_alone),
		TEST(a_carriage_return_in_a_keyword_is_dropped),
		TEST(a_line_end_that_is_wrong_costs_no_line_after_it),
		TEST(nesting_has_a_limit),
		TEST(too_little_memory_is_an_error_and_enough_never_is),
		TEST(time_grows_with_the_text_alone),
		TEST(paths_write_the_sign_between_menus_twice_within_a_title),
		TEST(paths_are_taken_apart_as_grub_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
