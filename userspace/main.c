/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule: choose the kernel page size at each boot. */
#include <string.h>

#include "options.h"
#include "variables.h"

int main(int argc, char **argv)
{
	struct options options;
	int exit_code;
	const struct command *command = options_parse(argc, argv, &options, &exit_code);

	if (command) {
		if (strcmp(options.root, "/") != 0)
			variables_use_root(options.root);
		exit_code = command->run(&options);
	}
	strings_free(&options.initrds);
	strings_free(&options.page_sizes);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("output could not be written");
		return EXIT_FAILED;
	}
	return exit_code;
}
