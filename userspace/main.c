/* SPDX-License-Identifier: GPL-2.0-or-later */
/* granule: choose the kernel page size at each boot. */
#include <json-c/json.h>

#include "options.h"
#include "system.h"
#include "variables.h"

int main(int argc, char **argv)
{
	struct options options;
	int exit_code;
	const struct command *command = options_parse(argc, argv, &options, &exit_code);

	/* The hash that json-c takes by itself wants random numbers, which a kernel that has just started may
	 * not have: a deadline must not wait for them. */
	json_global_set_string_hash(JSON_C_STR_HASH_PERLLIKE);
	if (command) {
		/* EFIVARFS_PATH names variables on purpose, for tests and for images of whole machines. */
		if (system_is_other(&options) && !getenv("EFIVARFS_PATH"))
			variables_switch_off();
		/* Package managers have enough to say. */
		if (options.hook && !freopen("/dev/null", "w", stdout))
			complain("/dev/null: cannot be opened");
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
