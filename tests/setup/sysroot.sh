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

. /etc/os-release
work=$(mktemp -d "$cache/sysroot/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,empty}
: >"$work/status"

# The host's mirrors for its own release.
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
	awk -v release="$VERSION_CODENAME" 'index($2, release) == 1 {
		print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, $3 }' >"$work/sources.list"
if ! [ -s "$work/sources.list" ]; then
	echo "apt knows no mirror for $VERSION_CODENAME: run 'apt-get update' first" >&2
	exit 1
fi

cat >"$work/apt.conf" <<EOF
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "$work/empty";
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
EOF
export APT_CONFIG=$work/apt.conf
echo "== sysroot: downloading arm64 packages"
apt-get -qq update
# shellcheck disable=SC2086
apt-get -qq -y --no-install-recommends --download-only install $packages >"$work/log" 2>&1 ||
	{ cat "$work/log" >&2; exit 1; }

mkdir "$work/root"
n=0
for deb in "$work"/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$work/root" --exclude=./usr/share/doc --exclude=./usr/share/man \
		--exclude=./usr/share/locale -xf -
	n=$((n + 1))
done
sync -f "$work/root"
mv "$work/root" "$out"
echo "== sysroot: $n packages unpacked"
