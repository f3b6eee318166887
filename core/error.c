/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/error.h>

const char *error_text(int error)
{
	switch (error) {
	case ERROR_NONE:
		return "no error";
	case ERROR_TRUNCATED:
		return "file is truncated";
	case ERROR_MAGIC:
		return "not of the expected format";
	case ERROR_RANGE:
		return "value out of range";
	case ERROR_SPACE:
		return "too long";
	case ERROR_SYNTAX:
		return "syntax error";
	case ERROR_TOO_MANY:
		return "too many items";
	case ERROR_NO_KERNEL:
		return "names no kernel (no 'linux' or 'efi' line)";
	case ERROR_TWO_KERNELS:
		return "names more than one of 'linux', 'efi', 'uki', 'uki-url'";
	case ERROR_NOT_FOUND:
		return "not found";
	case ERROR_CONFLICT:
		return "contradictory words on the command line";
	case ERROR_ARCHITECTURE:
		return "made for another architecture";
	}
	return "unknown error";
}
