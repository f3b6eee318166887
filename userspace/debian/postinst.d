#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# /etc/kernel/postinst.d: a kernel was installed, and its initrd made. Arguments: release, image. The name puts it behind
# zz-systemd-boot, so that a kernel that has an entry of kernel-install's gets no other.
set -e

release=${1:-}
image=${2:-/boot/vmlinuz-$release}

# What dpkg told the package's script: "configure OLD-VERSION", perhaps in quotes; nothing when called by hand.
case ${DEB_MAINT_PARAMS:-configure} in
configure* | \'configure\'*) ;;
*) exit 0 ;;
esac
[ -n "$release" ] && [ -f "$image" ] || exit 0
# Packages are configured with a PATH that may leave out where it was installed.
PATH=$PATH:/usr/local/bin
command -v granule >/dev/null 2>&1 || exit 0
exec granule register --hook --kernel "$image"
