#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the main job: a machine runs 4K pages, tries 64K, comes back by itself when something is wrong with it, and keeps
64K when it is not; and goes back. Then a machine that GRUB boots."""

import sys
import tempfile
import time
from pathlib import Path

from grub_small import grub_root, make_grub_disk, make_grub_esp, make_grub_initramfs, make_grub_state
from guest import Esp, kernel, kernel_folder, make_disk, make_initramfs
from machine import READY, Machine

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


def set_clock(machine):
    """The kernel has no driver for this machine's clock; a network would set it."""
    machine.ok(f"date -u -s @{int(time.time())}")


def reboot(machine, loader="granule-boot"):
    started = time.monotonic()
    machine.reboot()
    print(f"{BOLD}# reboot{PLAIN}   ({time.monotonic() - started:.1f} s: firmware, {loader}, kernel)", flush=True)
    set_clock(machine)


def show_and_reboot(machine, command):
    """A command that ends in a reboot of its own."""
    started = time.monotonic()
    machine.send(command + "\n")
    _, out = machine.wait_for(READY)
    print(f"{BOLD}# {command}{PLAIN}")
    print("\n".join(line for line in out.split("\n") if line.startswith("trial") or "rebooting" in line))
    print(f"({time.monotonic() - started:.1f} s later)", flush=True)
    set_clock(machine)


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


def show_grub(folder):
    """The same words on a machine that Debian's GRUB boots."""
    title("A machine that boots with GRUB keeps it")
    if not grub_root("2.06").exists():
        print("(Left out: 'make peers' unpacks Debian's GRUB for it.)")
        return
    make_grub_initramfs(folder / "initrd", "2.06")
    make_grub_esp(folder / "esp", "2.06")
    make_grub_state(folder / "state", "2.06", folder / "initrd")
    make_grub_disk(folder / "disk", folder / "esp", folder / "state")
    with Machine(folder, folder / "disk", firmware="edk2-13", more=["-device", "i6300esb"]) as m:
        m.start()
        set_clock(m)
        show(m, "update-grub 2>&1 | tail -1")
        show(m, "granule set 4k")
        reboot(m, "GRUB")
        show(m, "granule list")
        show(m, "granule verify --boot")
        m.ok("watchdog -T 60 /dev/watchdog")
        show(m, "granule try 64k")
        reboot(m, "GRUB")
        show(m, "granule verify --boot")
        show(m, "granule history")


def main():
    with tempfile.TemporaryDirectory(prefix="granule-demo-") as name:
        folder = Path(name)
        print("An arm64 server in QEMU: EDK II firmware, real kernels, a shell over the serial port.")
        prepare(folder)
        with Machine(folder, folder / "disk", more=["-device", "i6300esb"]) as m:
            m.start()
            set_clock(m)
            title("The kernels in /boot become boot entries")
            show(m, "granule inspect /boot/vmlinuz-*")
            show(m, "granule register")
            show(m, "granule set 4k")
            reboot(m)
            show(m, "granule list")

            show(m, "granule verify --boot")

            title("64K pages on trial, and something does not bear them")
            show(m, "watchdog -T 60 /dev/watchdog")
            m.ok("mkdir -p /etc/granule/verify.d")
            m.ok("printf '#!/bin/sh\\necho the database does not answer\\nexit 1\\n' > /etc/granule/verify.d/database")
            m.ok("chmod 755 /etc/granule/verify.d/database")
            show(m, "granule try 64k")
            reboot(m)
            show(m, "getconf PAGESIZE")
            show_and_reboot(m, "granule verify --boot")
            show(m, "getconf PAGESIZE")
            m.ok("rm /etc/granule/verify.d/database")
            show(m, "granule verify --boot")

            title("64K pages on trial again, and all is well")
            show(m, "watchdog -T 60 /dev/watchdog")
            show(m, "granule try 64k")
            reboot(m)
            show(m, "granule verify --boot")
            reboot(m)
            show(m, "granule")
            show(m, "granule history")

            title("And back")
            show(m, "granule rollback")
            reboot(m)
            show(m, "granule verify --expect 4k")
        (folder / "grub").mkdir()
        show_grub(folder / "grub")
    print("\nDone.")


if __name__ == "__main__":
    main()
