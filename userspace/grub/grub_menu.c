/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "grub_menu.h"

int grub_menu_read(const struct options *o, struct grub *grub, uint16_t machine, struct entry_set *set)
{
	(void)o;
	(void)grub;
	(void)machine;
	(void)set;
	return 0;
}

void grub_input(struct entry_set *set)
{
	(void)set;
}
