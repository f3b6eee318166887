#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unpacks the arm64 packages that the cross build and the test guest need into a folder of the cache. A private
# apt configuration does it: the host's own sources, package lists and installed packages stay as they are.
#
#   sysroot.sh             make it if it is not there
#   sysroot.sh --path      print its folder
set -euo pipefail

packages='libc6-dev libblkid-dev libmount-dev libefivar-dev libefiboot-dev libsmartcols-dev libarchive-dev
	libjson-c-dev zlib1g-dev libfdt-dev liblzma-dev libzstd-dev liblz4-dev gnu-efi busybox-static libc-bin'

cache=${GRANULE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/granule}
key=$(echo "$packages" "$(cat /etc/debian_version 2>/dev/null)" | sha256sum | cut -c1-12)
out=$cache/sysroot/arm64-$key

if [ "${1-}" = --path ]; then
	echo "$out"
	exit
fi
[ -d "$out" ] && exit 0
mkdir -p "$cache/sysroot"
exec 9>"$cache/sysroot/lock"
flock 9
[ -d "$out" ] && exit 0

. "$(dirname "$0")/private-apt.sh"
work=$(mktemp -d "$cache/sysroot/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
private_apt "$work" "$(. /etc/os-release; echo "$VERSION_CODENAME")" arm64
echo "== sysroot: downloading arm64 packages"
download_packages "$work" "$packages" ""
n=$(unpack_packages "$work")
sync -f "$work/root"
mv "$work/root" "$out"
echo "== sysroot: $n packages unpacked"
