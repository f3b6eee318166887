/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "loader.h"

const struct loader loader_grub_bls = { .name = "GRUB" };
