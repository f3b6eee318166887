# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU machine with EDK II or U-Boot as its firmware, driven over its serial port."""

import codecs
import os
import re
import select
import subprocess
import time
from pathlib import Path

from guest import SETUP, output

AAVMF = Path("/usr/share/AAVMF")
AAVMF_13 = Path(output(SETUP / "peers.sh", "--path", "trixie-arm64"), "usr/share/AAVMF")
OVMF = Path("/usr/share/OVMF")
UBOOT = Path("/usr/lib/u-boot/qemu_arm64/u-boot.bin")
ALL_SIZES = "max,pauth-impdef=on"
WITHOUT_16K = "cortex-a72"
READY = "@@READY@@"
# Wall time for one boot; it takes about 2 s on an idle machine.
BOOT_TIMEOUT = 240

_escape = re.compile(r"\x1b\[[0-9;?=]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
_unfinished_escape = re.compile(r"\x1b(\[[0-9;?=]*|[()])?$")


class Hang(Exception):
    pass


def virt(machine):
    return [
        "qemu-system-aarch64", "-M", "virt", "-cpu", machine.cpu, "-m", "1024",
        # Repeatable guest time, and no waiting in real time.
        *(["-icount", "shift=0,sleep=off"] if machine.icount else []),
    ]


def flash(machine, code, variables):
    variables = machine.variables_file(machine.variables or variables)
    return [
        "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={code}",
        "-drive", f"if=pflash,unit=1,format=raw,file={variables},readonly={'on' if machine.read_only_variables else 'off'}",
    ]


def qemu_edk2(machine):
    return virt(machine) + flash(machine, AAVMF / "AAVMF_CODE.fd", AAVMF / "AAVMF_VARS.fd")


def qemu_edk2_13(machine):
    """Debian 13's. It keeps its variables when power is cut; Debian 12's erases the block that they are in for most of
    its writes, and begins with none if it does not get to write them back."""
    return virt(machine) + flash(machine, AAVMF_13 / "AAVMF_CODE.no-secboot.fd", AAVMF_13 / "AAVMF_VARS.fd")


def qemu_uboot(machine):
    """U-Boot as packaged, but for its two seconds of autoboot: it spends them spinning."""

    def without_delay(image):
        assert image.count(b"\0bootdelay=2\0") == 1
        return image.replace(b"\0bootdelay=2\0", b"\0bootdelay=0\0")

    return virt(machine) + ["-bios", machine.file("u-boot.bin", UBOOT, without_delay)]


def qemu_x64(machine):
    q35 = ["qemu-system-x86_64", "-M", "q35", "-m", "512"]
    return q35 + flash(machine, OVMF / "OVMF_CODE_4M.fd", OVMF / "OVMF_VARS_4M.fd")


def qemu_x64_secure(machine):
    """The build that checks signatures; it guards its variables with system management mode."""
    q35 = ["qemu-system-x86_64", "-M", "q35,smm=on", "-m", "512",
           "-global", "driver=cfi.pflash01,property=secure,value=on"]
    return q35 + flash(machine, OVMF / "OVMF_CODE_4M.secboot.fd", OVMF / "OVMF_VARS_4M.snakeoil.fd")


QEMU = {"edk2": qemu_edk2, "edk2-13": qemu_edk2_13, "uboot": qemu_uboot, "ovmf": qemu_x64, "ovmf-secure": qemu_x64_secure}
ARM64_FIRMWARE = ("edk2", "uboot")
# What it prints when it starts the boot manager.
STARTS_LOADER = {"edk2": "BdsDxe: starting", "uboot": "Booting /efi"}


class Machine:
    """`console` is what was printed since the last start or reboot. `variables` is what EDK II's variables are at
    first, if not those of its package; `more` are further arguments for QEMU."""

    def __init__(self, folder, disk, cpu=ALL_SIZES, firmware="edk2", variables=None, more=()):
        self.folder, self.disk, self.cpu, self.firmware = Path(folder), disk, cpu, firmware
        self.variables, self.more = variables, list(more)
        # With instruction counting QEMU 7.2 stands still in EDK II after the reset that follows a kernel panic; and
        # U-Boot, which spins while it waits, takes ten times as long.
        self.icount = firmware.startswith("edk2")
        self.read_only = False  # the disk
        self.read_only_variables = False  # the flash of EDK II
        self.screen = None  # a Screen that shows what is printed, for tests that look at one
        self.qemu, self.console, self.taken, self.pending = None, "", 0, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def file(self, name, original, change=lambda content: content):
        """This machine's own copy of a file of the firmware, made when it is first asked for."""
        own = self.folder / name
        if not own.exists():
            own.write_bytes(change(Path(original).read_bytes()))
        return str(own)

    def variables_file(self, original):
        """What the flash of EDK II's variables is kept in."""
        return self.file("variables.fd", original)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def disk_options(self):
        return ["-drive", f"if=virtio,format=raw,file={self.disk},readonly={'on' if self.read_only else 'off'}"]

    def start(self, wait=True):
        self.qemu = subprocess.Popen(
            QEMU[self.firmware](self) + [
                *self.disk_options(), *self.more,
                "-display", "none", "-monitor", "none", "-nic", "none", "-serial", "stdio",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        self.console, self.taken, self.pending = "", 0, ""
        if wait:
            self.wait_for(READY)
        return self

    def _read(self, timeout):
        """Takes in what comes within the time; False at the end of the output or of the time."""
        if not select.select([self.qemu.stdout], [], [], max(0, timeout))[0]:
            return False
        data = os.read(self.qemu.stdout.fileno(), 65536)
        text = self.decoder.decode(data)
        if self.screen:
            self.screen.feed(text)
        text = self.pending + text
        cut = _unfinished_escape.search(text)
        self.pending = text[cut.start():] if cut else ""
        self.console += _escape.sub("", text[:cut.start()] if cut else text)
        return bool(data)

    def wait_for(self, mark, timeout=BOOT_TIMEOUT):
        """Reads on until `mark` (a regular expression) is printed; returns the match and the text before it."""
        deadline = time.monotonic() + timeout
        while True:
            found = re.compile(mark).search(self.console, self.taken)
            if found:
                before = self.console[self.taken:found.start()]
                self.taken = found.end()
                return found, before
            if not self._read(deadline - time.monotonic()):
                raise Hang(f"{mark!r} was not printed; the console ends with:\n{self.console[-3000:]}")

    def send(self, text):
        self.qemu.stdin.write(text.encode())
        self.qemu.stdin.flush()

    def run(self, command):
        """Runs a command in the guest: (exit code, output)."""
        while self._read(0):
            pass
        self.taken = len(self.console)
        self.send(command + "\n")
        done, before = self.wait_for(r"@@DONE (\d+)@@\n")
        return int(done.group(1)), before.strip("\n")

    def ok(self, command):
        code, out = self.run(command)
        assert code == 0, f"{command}: exit {code}\n{out}"
        return out

    def reboot(self, wait=True):
        self.console, self.taken = "", 0
        self.send("sync; umount -r /efi /state 2>/dev/null; reboot -f\n")
        if wait:
            self.wait_for(READY)
        return self

    def power_off(self):
        self.send("sync; umount -r /efi 2>/dev/null; poweroff -f\n")
        self.qemu.communicate(timeout=BOOT_TIMEOUT)
        self.qemu = None

    def kill(self):
        """Like a power cut."""
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
            self.qemu = None

    # ---- what tests ask most ----

    def page_size(self):
        return int(self.ok("getconf PAGESIZE"))
