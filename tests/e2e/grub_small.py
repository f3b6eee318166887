# SPDX-License-Identifier: GPL-2.0-or-later
"""A small machine that Debian's GRUB boots: the guest of guest.py, /boot on ext4, and in it the scripts of grub-mkconfig as
the release has them. What they would ask GRUB's own programs about disks is told by a few lines of shell: see grub_guest.py
for a machine in which all of it is real."""

import os
import shutil
from pathlib import Path

from guest import (
    ESP_SIZE, ESP_START, ESP_UUID, MIB, SETUP, STATE_SIZE, STATE_START, TOP, Cpio, guest_files, kernel, kernel_folder,
    make_fat, output, run,
)

BOOT_UUID = "0f3c1f3e-6a0b-4d39-9f0e-0123456789ab"
SUITES = {"2.06": "bookworm-arm64", "2.12": "trixie-arm64", "2.14": "forky-arm64"}
RELEASE = {s: (kernel_folder() / s / "release").read_text().strip() if kernel(s).exists() else ""
           for s in ("4k", "16k", "64k")}
# Entries that 09_granule writes for these kernels.
ID = {s: f"granule-{RELEASE[s]}-{s}" for s in RELEASE}

DEFAULTS = """GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_TERMINAL=console
GRUB_DISTRIBUTOR="Test OS"
GRUB_CMDLINE_LINUX="console=ttyAMA0 panic=5"
GRUB_CMDLINE_LINUX_DEFAULT=
"""

PROBE = f"""#!/bin/sh
target= path= device=
while [ $# -gt 0 ]; do
    case $1 in
    --target=*) target=${{1#*=}} ;;
    -t) target=$2; shift ;;
    --device) device=$2; shift ;;
    *) path=$1 ;;
    esac
    shift
done
case $path in /efi*) device=/dev/vda1 ;; esac
n=2 fs=ext2 uuid={BOOT_UUID}
[ "$device" != /dev/vda1 ] || {{ n=1 fs=fat uuid=$(hexdump -s 67 -n 4 -e '1/4 "%08X"' /dev/vda1 | sed 's/..../&-/'); }}
case $target in
device) echo /dev/vda$n ;;
fs) echo $fs ;;
fs_uuid) echo $uuid ;;
partmap) echo gpt ;;
drive) echo "(hd0,gpt$n)" ;;
compatibility_hint) echo hd0,gpt$n ;;
abstraction | hints_string) ;;
*) exit 1 ;;
esac
"""

RELATIVE = "#!/bin/sh\ncase $1 in /efi/*) echo ${1#/efi} ;; *) echo $1 ;; esac\n"
# busybox's dpkg compares no versions.
UPDATE = "#!/bin/sh\nrm -f /bin/dpkg\nexec /usr/sbin/grub-mkconfig -o /boot/grub/grub.cfg\n"


def grub_root(version):
    """The release's packages, unpacked."""
    return Path(output(SETUP / "peers.sh", "--path", SUITES[version]))


def missing_grub():
    """Releases whose packages are not there (peers.sh makes them)."""
    return [suite for version, suite in SUITES.items() if not grub_root(version).exists()]


def make_grub_initramfs(path, version):
    root, cpio = grub_root(version), Cpio()
    cpio.folder("dev")
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    for name, data, mode in guest_files():
        cpio.file(name, data, mode)
    for name in ("usr/sbin/grub-mkconfig", "usr/share/grub/grub-mkconfig_lib"):
        cpio.file(name, (root / name).read_bytes())
    for name, text in (("usr/sbin/grub-probe", PROBE), ("usr/bin/grub-mkrelpath", RELATIVE),
                       ("usr/bin/grub-script-check", "#!/bin/sh\n"), ("usr/bin/grub-editenv", "#!/bin/sh\n"),
                       ("bin/update-grub", UPDATE)):
        cpio.file(name, text.encode())
    path.write_bytes(cpio.finish())


def make_grub_esp(folder, version, prefix="/boot/grub"):
    """GRUB as firmware's default program; its own small configuration leads to /boot."""
    for name in ("EFI/BOOT", "EFI/debian", "EFI/granule"):
        (folder / name).mkdir(parents=True)
    shutil.copy(grub_root(version) / "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi", folder / "EFI/BOOT/BOOTAA64.EFI")
    (folder / "EFI/debian/grub.cfg").write_text(
        f"search.fs_uuid {BOOT_UUID} root\nset prefix=($root){prefix}\nconfigfile $prefix/grub.cfg\n")


def make_grub_state(folder, version, initramfs, sizes=("4k", "64k"), defaults=DEFAULTS):
    """/boot and /etc."""
    root = grub_root(version)
    for name in ("boot/grub", "etc/default", "etc/grub.d", "var"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/os-release").write_text('ID=test\nPRETTY_NAME="Test OS"\n')
    (folder / "etc/default/grub").write_text(defaults)
    for name in ("00_header", "10_linux"):
        shutil.copy(root / "etc/grub.d" / name, folder / "etc/grub.d")
    if (TOP / "grub.d/09_granule").exists():
        shutil.copy(TOP / "grub.d/09_granule", folder / "etc/grub.d")
    for size in sizes:
        shutil.copy(kernel(size), folder / f"boot/vmlinuz-{RELEASE[size]}")
        os.link(initramfs, folder / f"boot/initrd.img-{RELEASE[size]}")
    # For the first boot, in which update-grub runs.
    (folder / "boot/grub/grub.cfg").write_text(
        f"linux /boot/vmlinuz-{RELEASE[sizes[0]]} console=ttyAMA0\ninitrd /boot/initrd.img-{RELEASE[sizes[0]]}\nboot\n")


def make_grub_disk(path, esp, state):
    with open(path, "wb") as f:
        f.truncate(STATE_START + STATE_SIZE + MIB)
    run("/sbin/sfdisk", "-q", path, text=True, input=(
        "label: gpt\n"
        f"start={ESP_START // 512}, size={ESP_SIZE // 512}, type=U, uuid={ESP_UUID}, name=ESP\n"
        f"start={STATE_START // 512}, size={STATE_SIZE // 512}, type=L, name=state\n"))
    make_fat(path, ESP_START, ESP_SIZE, esp)
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-b", "4096", "-U", BOOT_UUID, "-E", f"offset={STATE_START}", "-d", state,
        path, STATE_SIZE // 4096)
