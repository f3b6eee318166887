# SPDX-License-Identifier: GPL-2.0-or-later
"""What test_peers.py needs of others: a guest with systemd's own tools of Debian 12 and 13, each with the libraries of
its release, and unified kernel images that Debian 13's ukify makes."""

import subprocess
import sys
from pathlib import Path

from guest import SETUP, Cpio, guest_files, needed_libraries, output, run

RELEASES = {"12": "bookworm-arm64", "13": "trixie-arm64"}
PROGRAMS = ("usr/bin/bootctl", "lib/systemd/systemd-bless-boot", "usr/bin/kernel-install")

# Programs are called by name and release: bootctl-12. What they print goes over a serial line and is read by a test:
# no pager, no colours, ASCII. /dev/block is what udev would make; bootctl 252 finds the device of a mount there.
WRAPPER = """#!/bin/sh
[ -d /dev/block ] || {{
    mkdir /dev/block
    for d in /sys/dev/block/*; do ln -s ../"$(basename "$(readlink $d)")" /dev/block/"$(basename $d)"; done
}}
export SYSTEMD_PAGER= SYSTEMD_COLORS=0 SYSTEMD_URLIFY=0 LC_ALL=C
exec {folder}/lib/ld-linux-aarch64.so.1 --argv0 {name} --library-path {folder}/lib {folder}/{name} "$@"
"""


def peer_root(release):
    """Folder of Debian's packages, unpacked by tests/setup/peers.sh."""
    return Path(output(SETUP / "peers.sh", "--path", RELEASES[release]))


def missing_peers():
    return [f"{name} (tests/setup/peers.sh)" for release, name in RELEASES.items() if not peer_root(release).exists()]


def peer_files(release):
    root, folder = peer_root(release), f"peers/{release}"
    libraries = {}
    for path in PROGRAMS:
        program = root / path
        # kernel-install of 252 is a script of the shell, and runs on the host in tests/cli.
        if program.read_bytes()[:2] == b"#!":
            continue
        libraries.update(needed_libraries(program, root))
        yield f"{folder}/{program.name}", program.read_bytes(), 0o100755
        yield f"bin/{program.name}-{release}", WRAPPER.format(folder="/" + folder, name=program.name).encode(), 0o100755
    for name, file in libraries.items():
        yield f"{folder}/lib/{name}", file.read_bytes(), 0o100755


def make_peer_initramfs(path):
    cpio = Cpio()
    cpio.folder("dev")
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    for name, data, mode in guest_files():
        cpio.file(name, data, mode)
    for release in RELEASES:
        for name, data, mode in peer_files(release):
            cpio.file(name, data, mode)
    path.write_bytes(cpio.finish())


def ukify(path, **arguments):
    """`ukify build` with an option for each argument: a text, a file, or a list of them."""
    root = peer_root("13")
    options = [f"--{name.replace('_', '-')}={value}" for name, values in arguments.items()
               for value in (values if isinstance(values, list) else [values])]
    # A part with one more profile must begin with it: the large stub has sections of its own that ukify copies.
    part = "profile" in arguments and "join_profile" not in arguments
    stub = "addonaa64.efi.stub" if part else "linuxaa64.efi.stub"
    run(sys.executable, root / "usr/lib/systemd/ukify", "build", "--efi-arch=aa64",
        f"--stub={root / 'usr/lib/systemd/boot/efi' / stub}", f"--output={path}", *options,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def os_release(**keys):
    return "".join(f'{name}="{value}"\n' for name, value in keys.items())


def add_profiles(path, base, profiles):
    """Writes a unified kernel image of several profiles: `base` are the arguments for the image and its first profile;
    each of `profiles` is those of one more."""
    parts = [ukify(path.with_suffix(f".profile{i}"), **more) for i, more in enumerate(profiles)]
    return ukify(path, join_profile=parts, **base)
