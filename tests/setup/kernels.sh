#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the arm64 test kernels, one per page size, once, into the cache.
#
#   kernels.sh SIZE...     build what is missing of 4k, 16k, 64k
#   kernels.sh --path      print the cache folder of this source and configuration
#
# The folder is named after the source version and kernel.config, so a change of either builds anew and
# leaves older kernels where they are. Each size appears by one rename, complete or not at all.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
fragment=$here/kernel.config
tarball=${GRANULE_KERNEL_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
cache=${GRANULE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/granule}
cross=
[ "$(uname -m)" = aarch64 ] || cross=aarch64-linux-gnu-

# The Debian revision identifies the source; without dpkg its checksum does.
version=$(dpkg-query -W -f '${Version}' linux-source-6.1 2>/dev/null) ||
	version=$(sha256sum "$tarball" | cut -c1-12)
key=$version-$(sha256sum <"$fragment" | cut -c1-12)
out=$cache/kernels/$key

if [ "${1-}" = --path ]; then
	echo "$out"
	exit
fi

mkdir -p "$out"
exec 9>"$out/lock"
flock 9

missing=()
for size in "$@"; do
	[ -f "$out/$size/Image" ] || missing+=("$size")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ ! -f "$tarball" ]; then
	echo "$tarball: kernel source not found; run 'make deps', or set GRANULE_KERNEL_SOURCE" >&2
	exit 1
fi

work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "== test kernels (${missing[*]}): unpacking $(basename "$tarball") $version"
tar -C "$work" --strip-components=1 --exclude='*/Documentation/*/*' --exclude='*/tools/testing/*' \
	--exclude='*/drivers/gpu/drm/amd/include/*' -xf "$tarball"

for size in "${missing[@]}"; do
	start=$SECONDS
	obj=$work/obj-$size
	mkdir "$obj"
	{ cat "$fragment"
	  echo "CONFIG_ARM64_${size^^}_PAGES=y"
	  echo "CONFIG_LOCALVERSION=\"-$size\""; } >"$obj/fragment"
	mk=(make -C "$work" "O=$obj" ARCH=arm64 "CROSS_COMPILE=$cross" "KCONFIG_ALLCONFIG=$obj/fragment" \
		KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=granule KBUILD_BUILD_HOST=granule)
	"${mk[@]}" allnoconfig >"$obj/log" 2>&1 || { tail -n 20 "$obj/log" >&2; exit 1; }
	# An option whose dependencies are missing is dropped without a word: say which.
	while IFS= read -r want; do
		grep -qxF "$want" "$obj/.config" ||
			echo "== kernel $size: '$want' was not taken by the configuration" >&2
	done < <(grep '^CONFIG_' "$obj/fragment")

	total=1250 # objects, roughly; only for the progress line
	"${mk[@]}" "-j$(nproc)" Image >>"$obj/log" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		n=$(grep -c '^  \(CC\|AS\|AR\) ' "$obj/log" || true)
		line="== kernel $size: $n of about $total files, $((SECONDS - start)) s"
		if [ -t 1 ]; then
			printf '\r%s ' "$line"
		elif [ $(((SECONDS - start) % 30)) -lt 3 ]; then
			echo "$line"
		fi
		sleep 3
	done
	wait $pid || { echo; grep -n -m5 -i 'error' "$obj/log" >&2; tail -n 20 "$obj/log" >&2; exit 1; }

	mkdir "$obj/result"
	cp "$obj/arch/arm64/boot/Image" "$obj/result/Image"
	cp "$obj/.config" "$obj/result/config"
	cp "$obj/include/config/kernel.release" "$obj/result/release"
	rm -rf "${out:?}/$size"
	sync -f "$obj/result"
	mv "$obj/result" "$out/$size"
	rm -rf "$obj"
	[ -t 1 ] && echo
	echo "== kernel $size: $(cat "$out/$size/release") ready after $((SECONDS - start)) s"
done
