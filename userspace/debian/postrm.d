#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# /etc/kernel/postrm.d: a kernel was removed. Arguments: release, image.
set -e

release=${1:-}

# An upgrade puts another kernel of the same release in its place, and purge comes after remove.
case ${DEB_MAINT_PARAMS:-remove} in
remove* | \'remove\'* | disappear* | \'disappear\'*) ;;
*) exit 0 ;;
esac
[ -n "$release" ] || exit 0
# Packages are configured with a PATH that may leave out where it was installed.
PATH=$PATH:/usr/local/bin
command -v granule >/dev/null 2>&1 || exit 0
exec granule unregister --hook "$release"
