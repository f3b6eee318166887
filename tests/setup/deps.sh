#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages of packages.txt that are missing, after naming them. Elsewhere, or without the
# right to install, it prints what is missing and stops with 1.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
case $(uname -m) in
x86_64) kinds='any cross amd64' ;;
aarch64) kinds='any arm64' ;;
*) kinds='any cross' ;;
esac

wanted=$(awk -v kinds="$kinds" 'BEGIN { n = split(kinds, k, " "); for (i = 1; i <= n; i++) use[k[i]] = 1 }
	/^#/ || NF < 2 { next } use[$1] { print $2 }' "$here/packages.txt")

if ! command -v dpkg-query >/dev/null; then
	echo "This is not a Debian machine: packages cannot be installed for you." >&2
	echo "Needed, by their Debian names:" >&2
	echo "$wanted" | fmt -w 78 | sed 's/^/  /' >&2
	exit 1
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | awk '$1 == "installed" { print $2 }')
missing=$(comm -23 <(echo "$wanted" | sort -u) <(echo "$installed" | sort -u))
[ -n "$missing" ] || exit 0

echo "Missing packages:"
echo "$missing" | fmt -w 78 | sed 's/^/  /'
. /etc/os-release
if [ "${ID-}" != debian ] || [ "${VERSION_ID-}" != 12 ]; then
	echo "This is ${PRETTY_NAME-an unknown system}, not Debian 12: install them yourself, then try again." >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "Run 'make deps' as root to install them." >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing
