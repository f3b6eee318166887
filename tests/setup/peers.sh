#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unpacks Debian's other boot loaders and their tools, of several releases, each into a folder of the cache: what tests and
# benchmarks compare granule with. A private apt configuration does it, as in sysroot.sh: the host stays as it is.
#
#   peers.sh SET...        make what is missing of these sets
#   peers.sh --path SET    print the folder of a set; packages are unpacked in it as in a root folder
#
# Sets: trixie-arm64    systemd 257 (boot loader, stub, bootctl, bless-boot, ukify), GRUB 2.12, EDK II
#       bookworm-arm64  systemd 252, GRUB 2.06
#       bookworm-shim-arm64, bullseye-shim-arm64    shim 16 and 15.8, not signed
#
# Programs in them are arm64's, with all libraries, for a guest; ukify is a script that the host's python3 runs.
set -euo pipefail

# "with" comes with all that it depends on, "alone" without.
trixie_arm64_with='base-files libc-bin systemd systemd-boot systemd-boot-tools libsystemd-shared'
trixie_arm64_alone='systemd-boot-efi systemd-ukify grub-efi-arm64-bin grub-efi-arm64-unsigned qemu-efi-aarch64'
bookworm_arm64_with='base-files libc-bin systemd systemd-boot'
bookworm_arm64_alone='systemd-boot-efi grub-efi-arm64-bin'
bookworm_shim_arm64_with=
bookworm_shim_arm64_alone='shim-unsigned'
bullseye_shim_arm64_with=
bullseye_shim_arm64_alone='shim-unsigned'

cache=${GRANULE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/granule}/peers
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

choose() {
	case $1 in
	trixie-arm64 | bookworm-arm64 | bookworm-shim-arm64 | bullseye-shim-arm64) ;;
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
	local work deb n=0
	work=$(mktemp -d "$cache/build.XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	mkdir -p "$work"/{state/lists/partial,cache/archives/partial,empty,root}
	: >"$work/status"

	# The mirrors that the host uses for its own release serve the other one too.
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
		awk -v release="$(. /etc/os-release; echo "$VERSION_CODENAME")" -v suite="$suite" -v keyring="$keyring" '
			$3 == "main" && index($2, release) == 1 {
				sub(release, suite, $2)
				print "deb [signed-by=" keyring "]", $1, $2, $3 }' >"$work/sources.list"
	if ! [ -s "$work/sources.list" ]; then
		echo "apt knows no mirror of this release: run 'apt-get update' first" >&2
		exit 1
	fi

	cat >"$work/apt.conf" <<-END
		#clear APT::Architectures;
		APT::Architecture "$architecture";
		APT::Architectures { "$architecture"; };
		APT::Sandbox::User "root";
		Dir::Etc::sourcelist "$work/sources.list";
		Dir::Etc::sourceparts "$work/empty";
		Dir::State "$work/state";
		Dir::State::status "$work/status";
		Dir::Cache "$work/cache";
	END
	export APT_CONFIG=$work/apt.conf
	echo "== peers: downloading $suite, $architecture"
	# shellcheck disable=SC2086
	{ apt-get -qq update &&
		apt-get -qq -y --no-install-recommends --download-only install $packages_with &&
		cd "$work/cache/archives" && apt-get -qq download $packages_alone; } >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; exit 1; }

	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$work/root" --keep-directory-symlink --exclude=./usr/share/doc \
			--exclude=./usr/share/man --exclude=./usr/share/locale -xf -
		n=$((n + 1))
	done
	# Flash images of firmware are 64 MiB of next to nothing.
	find "$work/root" -name '*.fd' -type f -exec fallocate --dig-holes {} \;
	sync -f "$work/root"
	mv "$work/root" "$out"
	rm -rf "$work"
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
	[ -d "$out" ] || (make_set)
	exec 9>&-
done
