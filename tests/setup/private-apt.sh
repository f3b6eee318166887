# SPDX-License-Identifier: GPL-2.0-or-later
# Downloading and unpacking Debian packages of another release or architecture without touching the host: its sources,
# package lists and installed packages stay as they are. To be sourced.

# private_apt WORK SUITE ARCHITECTURE: apt works below the folder WORK from here on (APT_CONFIG), with the mirrors that
# the host uses for its own release, which serve others too, and their component main.
private_apt() {
	local work=$1 suite=$2 architecture=$3
	mkdir -p "$work"/{state/lists/partial,cache/archives/partial,empty}
	: >"$work/status"
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
		awk -v release="$(. /etc/os-release; echo "$VERSION_CODENAME")" -v suite="$suite" '
			$3 == "main" && index($2, release) == 1 {
				sub(release, suite, $2)
				print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, $3
			}' >"$work/sources.list"
	if ! [ -s "$work/sources.list" ]; then
		echo "apt knows no mirror of this release: run 'apt-get update' first" >&2
		return 1
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
}

# download_packages WORK "WITH..." "ALONE...": into the cache of WORK, the first with all that they depend on.
download_packages() {
	local work=$1 with=$2 alone=$3
	# shellcheck disable=SC2086
	{
		apt-get -qq update &&
			{ [ -z "$with" ] || apt-get -qq -y --no-install-recommends --download-only install $with; } &&
			{ [ -z "$alone" ] || (cd "$work/cache/archives" && apt-get -qq download $alone); }
	} >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
}

# unpack_packages WORK: all of them into WORK/root, without what only people read; their number on standard output.
unpack_packages() {
	local work=$1 deb n=0
	mkdir "$work/root"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$work/root" --keep-directory-symlink --exclude=./usr/share/doc \
			--exclude=./usr/share/man --exclude=./usr/share/locale -xf -
		n=$((n + 1))
	done
	echo "$n"
}
