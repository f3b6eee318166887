/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB whose menu is made of the files in loader/entries: RHEL, Fedora, openEuler. */
#include "grub_stored.h"

static const char *registered_by(const struct entry_set *set)
{
	(void)set;
	return "packages of kernels bring their entries with them";
}

const struct loader loader_grub_bls = {
	.name = "GRUB",
	.oneshot_obstacle = grub_stored_obstacle,
	.arm = grub_stored_arm,
	.disarm = grub_stored_disarm,
	.set_policy = grub_follow_set_policy,
	.set_default = grub_follow_set_default,
	.set_none = grub_follow_set_none,
	.follow_policy = grub_follow_policy,
	.verified = grub_stored_verified,
	.registered_by = registered_by,
};
