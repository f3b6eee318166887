# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest whose first process is the real systemd of Debian 12 or 13: an ext4 root on the disk's second partition, with
the libraries of its release, systemd's own targets, few of its services, and a shell on the serial line as in the other
guest. There is no udev; the ESP is mounted by a service."""

import configparser
import shutil
import subprocess

from guest import BUILD, TOP, needed_libraries, run, sysroot
from machine import READY, Machine
from peer_guest import peer_root

UNITS = TOP / "userspace/systemd"
CMDLINE = "console=ttyAMA0 panic=5 root=/dev/vda2 rw"

PROGRAMS = ("systemd", "systemd-executor", "systemd-shutdown", "systemd-bless-boot",
            "system-generators/systemd-bless-boot-generator")
COMMANDS = ("systemctl", "systemd-analyze", "systemd-tty-ask-password-agent", "bootctl", "kexec")
# Besides all targets.
SERVICES = ("systemd-reboot.service", "systemd-poweroff.service", "systemd-kexec.service", "systemd-soft-reboot.service",
            "systemd-bless-boot.service", "systemd-boot-check-no-failures.service")
BUSYBOX = """[ awk basename cat chmod cmp cp cut date dd df dmesg echo env false find grep head hexdump kill ln ls mkdir
mount mv poweroff printf ps readlink reboot rm rmdir sed sh sleep sort stat stty swapon sync tail test touch tr true
umount uname wc""".split()

SHELL = """#!/bin/sh
exec </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
stty -echo
# From here on the line is for commands alone.
dmesg -n 1
export PATH=/usr/bin HOME=/ SYSTEMD_PAGER= SYSTEMD_COLORS=0 SYSTEMD_URLIFY=0 LC_ALL=C
echo "@@READY@@"
while read -r line; do
    (eval "$line")
    echo "@@DONE $?@@"
done
"""

OWN_UNITS = {
    "esp.service": """[Unit]
DefaultDependencies=no
Before=local-fs.target
Conflicts=shutdown.target
Before=shutdown.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount -t vfat /dev/vda1 /efi
[Install]
WantedBy=local-fs.target
""",
    # There however the boot goes on.
    "shell.service": """[Unit]
DefaultDependencies=no
After=esp.service
Conflicts=shutdown.target
Before=shutdown.target
[Service]
ExecStart=/usr/lib/shell
TimeoutStopSec=1
[Install]
WantedBy=sysinit.target
""",
    # Waits for somebody to come, as the real one does.
    "emergency.service": """[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
[Service]
Type=idle
ExecStart=sleep infinity
""",
}

SYSTEM_CONF = """[Manager]
ShowStatus=no
LogTarget=kmsg
RuntimeWatchdogSec=60
"""

# The real one asks over a bus, and there is none.
CHECK_NO_FAILURES = """[Service]
ExecStart=
ExecStart=sh -c '[ -z "$(systemctl --failed --no-legend)" ]'
"""

# There is no journal: what units print is appended to a file.
EACH_SERVICE = """[Service]
StandardOutput=append:/run/log
StandardError=append:/run/log
"""


def merged(path):
    """Where a file of a package is when /bin, /sbin and /lib are links, as in Debian 13."""
    path = str(path)
    path = path if path.startswith("usr/") else "usr/" + path
    return path.replace("usr/sbin/", "usr/bin/")


def enable(root, name):
    """Makes the links that `systemctl enable` would."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(root / "usr/lib/systemd/system" / name)
    for key, folder in (("WantedBy", "wants"), ("RequiredBy", "requires")):
        for target in parser.get("Install", key, fallback="").split():
            link = root / "etc/systemd/system" / f"{target}.{folder}" / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"/usr/lib/systemd/system/{name}")


def add_program(root, program, target, package_roots):
    """A program, and its libraries from the first folder that has them."""
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, root / target)
    for name, file in needed_libraries(program, *package_roots).items():
        folder = "usr/lib" if name.startswith("ld-linux") else "usr/lib/aarch64-linux-gnu"
        if not (root / folder / name).exists():
            (root / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / folder / name)


def install_granule(root, release):
    """The command and its units, enabled, with the libraries of the release."""
    add_program(root, BUILD / "aarch64/granule", "usr/bin/granule", [peer_root(release), sysroot()])
    run("make", "-s", "-C", TOP, "install-units", f"DESTDIR={root}", "prefix=/usr", stdout=subprocess.DEVNULL)
    for file in sorted(UNITS.glob("*.service")):
        enable(root, file.name)


def make_root(root, release, granule=True):
    """Writes the tree of the root partition, for systemd of that release."""
    package = peer_root(release)
    for folder in ("usr/bin", "usr/lib/systemd/system", "usr/lib/systemd/system.conf.d", "usr/lib/aarch64-linux-gnu",
                   "dev", "proc", "sys", "run", "tmp", "efi", "boot", "root", "etc/kernel", "var/lib", "var/tmp"):
        (root / folder).mkdir(parents=True)
    for name, target in (("bin", "usr/bin"), ("sbin", "usr/bin"), ("lib", "usr/lib"), ("usr/sbin", "bin")):
        (root / name).symlink_to(target)

    def first(*paths):
        return next((package / p for p in paths if (package / p).exists()), None)

    for name in PROGRAMS:
        program = first(f"usr/lib/systemd/{name}", f"lib/systemd/{name}")
        if program:
            add_program(root, program, f"usr/lib/systemd/{name}", [package])
    for name in COMMANDS:
        add_program(root, first(f"usr/bin/{name}", f"bin/{name}", f"sbin/{name}"), f"usr/bin/{name}", [package])
    for name in ("bin/busybox", "usr/bin/getconf"):
        add_program(root, sysroot() / name, merged(name), [package, sysroot()])
    for name in BUSYBOX:
        (root / "usr/bin" / name).symlink_to("busybox")
    (root / "usr/bin/init").symlink_to("../lib/systemd/systemd")

    system = root / "usr/lib/systemd/system"
    units = first("usr/lib/systemd/system/basic.target", "lib/systemd/system/basic.target").parent
    for file in [*units.glob("*.target"), *(units / name for name in SERVICES)]:
        if file.is_symlink() and file.name == "default.target" or file.exists() and not file.is_symlink():
            shutil.copy(file, system / file.name, follow_symlinks=False)
    for name, text in OWN_UNITS.items():
        (system / name).write_text(text)
    (root / "usr/lib/systemd/system.conf.d/test.conf").write_text(SYSTEM_CONF)
    for name, text in (("service.d", EACH_SERVICE), ("systemd-boot-check-no-failures.service.d", CHECK_NO_FAILURES)):
        (system / name).mkdir()
        (system / name / "test.conf").write_text(text)
    (root / "usr/lib/shell").write_text(SHELL)
    (root / "usr/lib/shell").chmod(0o755)
    for file in ("esp.service", "shell.service"):
        enable(root, file)
    if granule:
        install_granule(root, release)

    etc = root / "etc"
    (etc / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    (etc / "os-release").write_text(f'ID=test\nVERSION_ID={release}\nPRETTY_NAME="Test OS"\n')
    (etc / "kernel/entry-token").write_text("test\n")
    (etc / "kernel/cmdline").write_text(CMDLINE + "\n")
    return root


class SystemdMachine(Machine):
    """Has a watchdog, and reboots in the orderly way."""

    def __init__(self, folder, disk):
        super().__init__(folder, disk, more=["-device", "i6300esb"])

    def reboot(self, wait=True):
        self.console, self.taken = "", 0
        self.send("systemctl reboot\n")
        if wait:
            self.wait_for(READY)
        return self

    def settled(self):
        """Waits until systemd has nothing more to do; returns what `systemctl is-system-running` says."""
        return self.run("systemctl is-system-running --wait")[1]
