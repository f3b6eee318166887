#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unpacks Debian's other boot loaders and their tools, of several releases, each into a folder of the cache: what tests and
# benchmarks compare granule with.
#
#   peers.sh SET...        make what is missing of these sets
#   peers.sh --path SET    print the folder of a set; packages are unpacked in it as in a root folder
#
# Sets: trixie-arm64    systemd 257 (with boot loader, stub, bootctl, bless-boot, ukify), kexec, GRUB 2.12, EDK II
#       bookworm-arm64  systemd 252, kexec, GRUB 2.06
#       (both with all that update-grub runs, and what makes file systems and volumes that GRUB cannot write)
#       forky-arm64     GRUB 2.14, which reads loader/entries
#       bookworm-shim-arm64, bullseye-shim-arm64    shim 16 and 15.8, not signed
#
# Programs in them are arm64's, with all libraries, for a guest; ukify is a script that the host's python3 runs.
set -euo pipefail

grub='grub-common grub2-common dash coreutils sed grep mawk findutils diffutils debianutils util-linux mount
	lvm2 mdadm btrfs-progs dosfstools e2fsprogs'

# "with" comes with all that it depends on, "alone" without.
trixie_arm64_with='base-files libc-bin systemd systemd-boot systemd-boot-tools libsystemd-shared kexec-tools '$grub
trixie_arm64_alone='systemd-boot-efi systemd-ukify grub-efi-arm64-bin grub-efi-arm64-unsigned qemu-efi-aarch64'
bookworm_arm64_with='base-files libc-bin systemd systemd-boot kexec-tools '$grub
bookworm_arm64_alone='systemd-boot-efi grub-efi-arm64-bin'
forky_arm64_with=
forky_arm64_alone='grub-efi-arm64-bin grub-efi-arm64-unsigned'
bookworm_shim_arm64_with=
bookworm_shim_arm64_alone='shim-unsigned'
bullseye_shim_arm64_with=
bullseye_shim_arm64_alone='shim-unsigned'

cache=${GRANULE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/granule}/peers
. "$(dirname "$0")/private-apt.sh"

choose() {
	case $1 in
	trixie-arm64 | bookworm-arm64 | forky-arm64 | bookworm-shim-arm64 | bullseye-shim-arm64) ;;
	*)
		echo "$1: no such set; see the head of this script" >&2
		exit 2
		;;
	esac
	suite=${1%%-*}
	architecture=${1##*-}
	local name=${1//-/_}
	local with=${name}_with alone=${name}_alone
	with=${!with} alone=${!alone}
	packages_with=$with packages_alone=$alone
	out=$cache/$1-$(echo "$with / $alone" | sha256sum | cut -c1-12)
}

make_set() {
	local work n
	work=$(mktemp -d "$cache/build.XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	private_apt "$work" "$suite" "$architecture"
	echo "== peers: downloading $suite, $architecture"
	download_packages "$work" "$packages_with" "$packages_alone"
	n=$(unpack_packages "$work")
	# Flash images of firmware are 64 MiB of next to nothing.
	find "$work/root" -name '*.fd' -type f -exec fallocate --dig-holes {} \;
	sync -f "$work/root"
	mv "$work/root" "$out"
	echo "== peers: $suite, $architecture: $n packages unpacked"
}

if [ "${1-}" = --path ]; then
	choose "${2-}"
	echo "$out"
	exit
fi

for set in "$@"; do
	choose "$set"
	[ -d "$out" ] && continue
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	# Not behind "||": errors would count for nothing in there.
	if ! [ -d "$out" ]; then
		(make_set)
	fi
	exec 9>&-
done
