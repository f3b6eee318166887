#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the main job: a machine runs 4K pages, boots once with 64K, and comes back; then 64K for good, and back."""

import sys
import tempfile
import time
from pathlib import Path

from guest import Esp, kernel, kernel_folder, make_disk, make_initramfs
from machine import Machine

BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")


def title(text):
    print(f"\n{BOLD}== {text}{PLAIN}", flush=True)


def show(machine, command, expect=0):
    code, out = machine.run(command)
    print(f"{BOLD}# {command}{PLAIN}")
    if out:
        print(out)
    if code != expect:
        sys.exit(f"demo: '{command}' ended with {code} instead of {expect}")
    if expect:
        print(f"(exit code {code})")
    sys.stdout.flush()


def reboot(machine):
    started = time.monotonic()
    machine.reboot()
    print(f"{BOLD}# reboot{PLAIN}   ({time.monotonic() - started:.1f} s: firmware, granule-boot, kernel)", flush=True)


def prepare(folder):
    """A machine with a 4K and a 64K kernel in /boot and granule-boot on its ESP, and no entries yet."""
    sizes = ("4k", "64k")
    make_initramfs(folder / "initrd")
    state = folder / "state"
    for name in ("boot", "etc/kernel"):
        (state / name).mkdir(parents=True)
    (state / "etc/kernel/entry-token").write_text("demo\n")
    (state / "etc/kernel/cmdline").write_text("console=ttyAMA0 quiet panic=10\n")
    (state / "etc/os-release").write_text('PRETTY_NAME="Demo Linux"\n')
    for size in sizes:
        release = (kernel_folder() / size / "release").read_text().strip()
        (state / f"boot/vmlinuz-{release}").write_bytes(kernel(size).read_bytes())
        (state / f"boot/initrd.img-{release}").write_bytes((folder / "initrd").read_bytes())

    esp = Esp(folder / "esp")
    esp.add_file("/rescue/linux", kernel("4k"))
    esp.add_file("/rescue/initrd", folder / "initrd")
    esp.add_entry("rescue", "/rescue/linux", "0", initrd="/rescue/initrd", options="console=ttyAMA0 quiet panic=10")
    make_disk(folder / "disk", esp.path, state)


def main():
    with tempfile.TemporaryDirectory(prefix="granule-demo-") as name:
        folder = Path(name)
        print("An arm64 server in QEMU: EDK II firmware, real kernels, a shell over the serial port.")
        prepare(folder)
        with Machine(folder, folder / "disk") as m:
            m.start()
            title("The kernels in /boot become boot entries")
            show(m, "granule inspect /boot/vmlinuz-*")
            show(m, "granule register")
            show(m, "granule set 4k")
            reboot(m)
            show(m, "granule list")

            title("64K pages for one boot")
            show(m, "granule once 64k")
            reboot(m)
            show(m, "getconf PAGESIZE")
            show(m, "granule verify")
            print("The default never changed: the next boot is the old one.")
            reboot(m)
            show(m, "granule")

            title("64K pages from now on, and back")
            show(m, "granule set 64k")
            reboot(m)
            show(m, "granule verify")
            show(m, "granule set 4k")
            reboot(m)
            show(m, "granule verify --expect 4k")
    print("\nDone.")


if __name__ == "__main__":
    main()
