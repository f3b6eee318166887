/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <string.h>
#include <strings.h>

#include <granule/page_size.h>

#include "options.h"

/* Letters name the options inside this program; h, V and n are short options too. */
static const struct {
	char letter;
	const char *name, *argument, *summary;
} option_table[] = {
	{ 'j', "json", NULL, "machine-readable output" },
	{ 'R', "root", "DIR", "work on the system below DIR" },
	{ 'E', "esp-path", "DIR", "where the EFI system partition is mounted" },
	{ 'B', "boot-path", "DIR", "where the XBOOTLDR partition is mounted" },
	{ 'n', "dry-run", NULL, "say what would be done, change nothing" },
	{ 'f', "force", NULL, "do it although something speaks against it" },
	{ 'x', "expect", "SIZE", "page size that should run: 4k, 16k or 64k" },
	{ 'k', "kernel", "FILE", "register this kernel instead of those in /boot" },
	{ 'i', "initrd", "FILE", "initrd of that kernel; may be repeated" },
	{ 'o', "options", "TEXT", "kernel command line, without a page size" },
	{ 'p', "page-size", "SIZE", "register this size only; may be repeated" },
	{ 't', "title", "TEXT", "name in menus, instead of the system's" },
	{ 'I', "no-initrd", NULL, "the kernels need no initrd" },
	{ 'a', "all", NULL, "all entries that register wrote, but the running one" },
	{ 'H', "hook", NULL, "as a package's hook: quiet, not to fail for nothing" },
	{ 'O', "once", NULL, "for the next boot only, as a first try" },
	{ 'r', "removable", NULL, "also as EFI/BOOT/BOOTAA64.EFI" },
	{ 'v', "no-variables", NULL, "leave firmware's boot entries alone" },
	{ 'T', "tries", "N", "of a trial that does not come up; 1 if not set" },
	{ 'D', "deadline", "TIME", "for the verdict, such as 10m; 0 for none" },
	{ 'K', "keep", NULL, "keep the default, also when the trial passes" },
	{ 'w', "reboot", NULL, "reboot at once" },
	{ 'b', "boot", NULL, "judge this boot, and do what follows from it" },
	{ 'W', "watch", NULL, "end a trial that has no verdict by its deadline" },
	{ 'l', "lines", "N", "only the last N of the history" },
	{ 'h', "help", NULL, "this text" },
	{ 'V', "version", NULL, "version of granule" },
};

#define N_OPTIONS (sizeof(option_table) / sizeof(option_table[0]))
/* Taken by every command. */
#define EVERYWHERE "jREBhV"

const struct command commands[] = {
	{ "status", "", "what runs, why, and what the next boot will be", 0, 0, "", cmd_status },
	{ "list", "", "the entries in menu order", 0, 0, "", cmd_list },
	{ "inspect", "FILE...", "what kernel files are", 1, -1, "", cmd_inspect },
	{ "set", "SIZE|ID|none", "what boots from now on", 1, 1, "nf", cmd_set },
	{ "once", "SIZE|ID|none", "what boots next time only", 1, 1, "nf", cmd_once },
	{ "try", "SIZE|ID|none", "boot it once; the default stays until it passes", 1, 1, "nfTDKw", cmd_try },
	{ "verify", "", "whether what runs is what was asked for", 0, 0, "nxbWf", cmd_verify },
	{ "rollback", "", "go back to what was verified before", 0, 0, "nw", cmd_rollback },
	{ "register", "", "write entries for the kernels in /boot", 0, 0, "nfkioptIH", cmd_register },
	{ "unregister", "ID|RELEASE...", "remove entries that register wrote", 0, -1, "nafH",
	  cmd_unregister },
	{ "install", "", "put the boot manager on the ESP", 0, 0, "nfrvO", cmd_install },
	{ "why", "", "what led to this boot, wish by wish", 0, 0, "", cmd_why },
	{ "history", "", "what was booted, and what came of it", 0, 0, "l", cmd_history },
	/* For granule-disarm.service. */
	{ "disarm", "[WAY]", NULL, 0, 1, "n", cmd_disarm },
	/* For /etc/grub.d/09_granule. */
	{ "grub", "[menu|bls]", NULL, 0, 1, "", cmd_grub },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL },
};

static void print_help(void)
{
	puts("Usage: granule [COMMAND] [OPTION...] [ARGUMENT...]\n"
	     "\n"
	     "Chooses the kernel page size (4K, 16K, 64K) of an arm64 machine at each boot.\n"
	     "\n"
	     "Commands (status if none is given):");
	for (const struct command *c = commands; c->name; c++) {
		if (!c->summary)
			continue;
		_cleanup_free_ char *left =
			xprintf("%s%s%s", c->name, *c->arguments ? " " : "", c->arguments);
		printf("  %-25s %s\n", left, c->summary);
	}
	puts("\nOptions:");
	for (size_t i = 0; i < N_OPTIONS; i++) {
		char letter = option_table[i].letter;
		bool is_short = letter == 'h' || letter == 'n' || letter == 'V';
		_cleanup_free_ char *left = xprintf("%c%c%c --%s%s%s", is_short ? '-' : ' ',
						    is_short ? letter : ' ', is_short ? ',' : ' ',
						    option_table[i].name, option_table[i].argument ? "=" : "",
						    option_table[i].argument ? option_table[i].argument : "");
		printf("  %-25s %s\n", left, option_table[i].summary);
	}
	puts("\nExit codes: 0 done or true, 1 failed or not as asked, 2 usage error, 3 nothing\n"
	     "was asked for (verify). See granule(1).");
}

static const char *option_name(char letter)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (option_table[i].letter == letter)
			return option_table[i].name;
	return "?";
}

static const struct command *find_command(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static void take(struct options *o, char letter, char *value)
{
	/* An unset variable of a script must not turn another system into this one. */
	if (value && !*value && strchr("REBko", letter)) {
		complain("--%s: is empty", option_name(letter));
		o->bad = true;
		return;
	}
	switch (letter) {
	case 'j':
		o->json = true;
		break;
	case 'R': {
		size_t n = strlen(value);
		while (n > 1 && value[n - 1] == '/')
			value[--n] = 0;
		o->root = value;
		break;
	}
	case 'E':
		o->esp_path = value;
		break;
	case 'B':
		o->boot_path = value;
		break;
	case 'n':
		o->dry_run = true;
		break;
	case 'f':
		o->force = true;
		break;
	case 'l':
		o->lines = value;
		break;
	case 'x':
		o->expect = value;
		break;
	case 'k':
		o->kernel = value;
		break;
	case 'i':
		strings_add(&o->initrds, xstrdup(value));
		break;
	case 'o':
		o->kernel_options = value;
		break;
	case 'p':
		strings_add(&o->page_sizes, xstrdup(value));
		break;
	case 't':
		o->title = value;
		break;
	case 'I':
		o->no_initrd = true;
		break;
	case 'a':
		o->all = true;
		break;
	case 'r':
		o->removable = true;
		break;
	case 'H':
		o->hook = true;
		break;
	case 'O':
		o->once = true;
		break;
	case 'v':
		o->no_variables = true;
		break;
	case 'T':
		o->tries = value;
		break;
	case 'D':
		o->deadline = value;
		break;
	case 'K':
		o->keep = true;
		break;
	case 'w':
		o->reboot = true;
		break;
	case 'b':
		o->boot = true;
		break;
	case 'W':
		o->watch = true;
		break;
	}
}

static const struct command *usage_error(int *ret_exit)
{
	fputs("Try 'granule --help'.\n", stderr);
	*ret_exit = EXIT_USAGE;
	return NULL;
}

const struct command *options_parse(int argc, char **argv, struct options *ret, int *ret_exit)
{
	struct option longs[N_OPTIONS + 1] = { 0 };
	char used[64] = "";
	size_t n_used = 0;
	int c;

	*ret = (struct options){ .root = "/" };
	for (size_t i = 0; i < N_OPTIONS; i++)
		longs[i] = (struct option){ option_table[i].name, option_table[i].argument ? 1 : 0, NULL,
					    option_table[i].letter };
	while ((c = getopt_long(argc, argv, "hVn", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			print_help();
			*ret_exit = EXIT_DONE;
			return NULL;
		case 'V':
			puts("granule " GRANULE_VERSION);
			*ret_exit = EXIT_DONE;
			return NULL;
		case '?':
			return usage_error(ret_exit);
		}
		if (n_used < sizeof(used) - 1)
			used[n_used++] = (char)c;
		take(ret, (char)c, optarg);
	}
	if (ret->bad)
		return usage_error(ret_exit);

	const char *name = optind < argc ? argv[optind++] : "status";
	const struct command *command = find_command(name);
	if (!command) {
		complain("%s: no such command", name);
		return usage_error(ret_exit);
	}
	for (size_t i = 0; i < n_used; i++) {
		if (!strchr(EVERYWHERE, used[i]) && !strchr(command->accepts, used[i])) {
			complain("%s: --%s does not apply here", command->name, option_name(used[i]));
			return usage_error(ret_exit);
		}
	}
	ret->arguments = argv + optind;
	ret->n_arguments = argc - optind;
	if (ret->n_arguments < command->min_arguments) {
		complain("%s: %s is missing", command->name, command->arguments);
		return usage_error(ret_exit);
	}
	if (command->max_arguments >= 0 && ret->n_arguments > command->max_arguments) {
		complain("%s: %s: unexpected argument", command->name,
			 ret->arguments[command->max_arguments]);
		return usage_error(ret_exit);
	}
	return command;
}

bool options_other_page_size(const char *word)
{
	size_t digits = strspn(word, "0123456789");

	if (!digits || (strcasecmp(word + digits, "k") != 0 && strcasecmp(word + digits, "kb") != 0) ||
	    page_size_parse_typed(span_of(word)) != PAGE_SIZE_UNKNOWN)
		return false;
	complain("%s: page sizes are 4k, 16k, 64k", word);
	return true;
}
