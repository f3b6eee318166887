#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# /etc/initramfs/post-update.d: an initrd was made anew. Arguments: release, initrd. Entries name a copy of it on the EFI
# system partition, which must follow: it holds modules and the way to the root file system.
set -e

release=${1:-}
image=/boot/vmlinuz-$release
[ -f "$image" ] || image=/boot/vmlinux-$release

[ -n "$release" ] && [ -f "$image" ] || exit 0
# Packages are configured with a PATH that may leave out where it was installed.
PATH=$PATH:/usr/local/bin
command -v granule >/dev/null 2>&1 || exit 0
# Where GRUB reads the initrd itself there is nothing to do.
export GRANULE_INITRD_HOOK=1
exec granule register --hook --kernel "$image"
