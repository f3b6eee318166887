# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that Debian's GRUB boots, with a menu that grub.d/09_granule made here, on the host: between the header of the
release's own scripts and entries as 10_linux has them. What the scripts would ask GRUB's programs about disks is told by
a few lines of shell; the kernels are one and the same, with headers of all page sizes. For a machine whose menu the real
grub-mkconfig makes, see grub_guest.py."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

from guest import BUILD, SETUP, TOP, Cpio, copy_to_fat, kernel, output, run, sysroot, with_header_page_size

MIB = 1 << 20
ESP_START, ESP_SIZE = 1 * MIB, 40 * MIB
BOOT_START, BOOT_SIZE = ESP_START + ESP_SIZE, 80 * MIB
BOOT_UUID = "5c1a3f0e-77a1-4c9e-8f35-0123456789ab"
ESP_ID = "1234ABCD"
SUITES = {"2.06": "bookworm-arm64", "2.12": "trixie-arm64"}
VERSIONS = list(SUITES)
BLOCK = "EFI/granule/grubenv"
# The command for this machine.
GRANULE = BUILD / ("aarch64/granule" if os.uname().machine == "aarch64" else "host/granule")

# It tells its command line, and then does what it is told.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /bin /proc /sys /dev /efi /state
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
exec </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
stty -echo
export PATH=/bin HOME=/
dmesg -n 1
echo "@@READY@@"
while read -r line; do
    (eval "$line")
    echo "@@DONE $?@@"
done
"""

PROBE = f"""#!/bin/sh
target= path= device=/dev/vda2
while [ $# -gt 0 ]; do
    case $1 in
    --target=*) target=${{1#*=}} ;;
    -t) target=$2; shift ;;
    --device) device=$2; shift ;;
    *) path=$1 ;;
    esac
    shift
done
case $path in */efi | */efi/*) device=/dev/vda1 ;; esac
n=2 fs=ext2 uuid={BOOT_UUID}
[ "$device" != /dev/vda1 ] || {{ n=1 fs=fat uuid={ESP_ID[:4]}-{ESP_ID[4:]}; }}
case $target in
device) echo /dev/vda$n ;;
fs) echo $fs ;;
fs_uuid) echo $uuid ;;
partmap) echo gpt ;;
compatibility_hint) echo hd0,gpt$n ;;
hints_string) echo "--hint-efi=hd0,gpt$n" ;;
abstraction) ;;
*) exit 1 ;;
esac
"""

RELATIVE = """#!/bin/sh
path=${1#"$GRANULE_ROOT"}
case $path in /efi | /efi/*) path=${path#/efi} ;; esac
echo "${path:-/}"
"""


def grub_root(version):
    """The release's packages, unpacked."""
    return Path(output(SETUP / "peers.sh", "--path", SUITES[version]))


def env_block(**values):
    text = "# GRUB Environment Block\n" + "".join(f"{name}={value}\n" for name, value in values.items())
    assert len(text) <= 1024
    return text.encode().ljust(1024, b"#")


def variables(block):
    lines = block.rstrip(b"#").decode().splitlines()[1:]
    return dict(line.split("=", 1) for line in lines)


def make_initrd(path):
    cpio = Cpio()
    cpio.folder("dev")
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    cpio.file("init", INIT.encode())
    cpio.file("bin/busybox", (sysroot() / "bin/busybox").read_bytes())
    path.write_bytes(cpio.finish())


class Tree:
    """The system whose menu is made: /boot, the ESP at /efi, /etc."""

    def __init__(self, folder, version):
        self.root, self.version = Path(folder) / "root", version
        self.programs = Path(folder) / "programs"
        self.boot, self.efi = self.root / "boot", self.root / "efi"
        for path in (self.boot / "grub", self.efi / "EFI/BOOT", self.efi / "EFI/debian", self.efi / "EFI/granule",
                     self.root / "etc/default", self.root / "etc/grub.d", self.root / "dev/disk/by-uuid", self.programs):
            path.mkdir(parents=True)
        (self.root / "dev/disk/by-uuid" / BOOT_UUID).touch()
        for name, text in (("grub-probe", PROBE), ("grub-mkrelpath", RELATIVE),
                           ("granule", f'#!/bin/sh\nexec {GRANULE} --root "$GRANULE_ROOT" "$@"\n')):
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)
        shutil.copy(grub_root(version) / "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi",
                    self.efi / "EFI/BOOT/BOOTAA64.EFI")
        (self.efi / "EFI/debian/grub.cfg").write_text(
            f"search.fs_uuid {BOOT_UUID} root\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n")
        self.settings = {
            "GRUB_DEVICE": "/dev/vda2", "GRUB_DEVICE_BOOT": "/dev/vda2", "GRUB_DEVICE_UUID": BOOT_UUID, "GRUB_FS": "ext2",
            "GRUB_DISTRIBUTOR": "Test", "GRUB_TIMEOUT": "0", "GRUB_DEFAULT": "0", "GRUB_TERMINAL_OUTPUT": "console",
            "GRUB_CMDLINE_LINUX": "console=ttyAMA0 panic=5", "GRUB_CMDLINE_LINUX_DEFAULT": "quiet",
        }
        self.owners = []

    def add_kernel(self, release, bits, image=None):
        (self.boot / f"vmlinuz-{release}").write_bytes(
            with_header_page_size(kernel("4k").read_bytes(), bits) if image is None else image)
        os.link(self.boot / "initrd", self.boot / f"initrd.img-{release}")

    def script(self, path):
        """What one of the scripts of grub-mkconfig prints."""
        share = grub_root(self.version) / "usr/share/grub"
        env = dict(os.environ, pkgdatadir=str(share), grub_probe=str(self.programs / "grub-probe"),
                   grub_mkrelpath=str(self.programs / "grub-mkrelpath"), GRANULE=str(self.programs / "granule"),
                   GRANULE_ROOT=str(self.root), LANG="C", **self.settings)
        return subprocess.run(["sh", str(path)], env=env, stdout=subprocess.PIPE, check=True).stdout.decode()

    def owners_menu(self):
        """Entries as 10_linux has them: the newest by itself, and all in a submenu."""
        def entry(name, title, release):
            return (f"menuentry '{title}' --id '{name}' {{\n\tsearch --no-floppy --fs-uuid --set=root {BOOT_UUID}\n"
                    f"\tlinux /boot/vmlinuz-{release} root=UUID={BOOT_UUID} ro console=ttyAMA0 owner={name}\n"
                    f"\tinitrd /boot/initrd.img-{release}\n}}\n")
        inner = "".join(entry(f"advanced-{r}", f"Test, with Linux {r}", r) for r in self.owners)
        return entry("simple", "Test GNU/Linux", self.owners[0]) + f"submenu 'Advanced' --id advanced {{\n{inner}}}\n"

    def make_menu(self, granule=True, before="", behind=""):
        text = before + self.script(grub_root(self.version) / "etc/grub.d/00_header")
        if granule:
            text += self.script(TOP / "grub.d/09_granule")
        text += self.owners_menu() + behind
        (self.boot / "grub/grub.cfg").write_text(text)
        # The check knows the syntax, not the commands.
        run("grub-script-check", self.boot / "grub/grub.cfg")

    def make_disk(self, path):
        with open(path, "wb") as f:
            f.truncate(BOOT_START + BOOT_SIZE + MIB)
        run("/sbin/sfdisk", "-q", path, text=True, input=(
            "label: gpt\n"
            f"start={ESP_START // 512}, size={ESP_SIZE // 512}, type=U, name=ESP\n"
            f"start={BOOT_START // 512}, size={BOOT_SIZE // 512}, type=L, name=boot\n"))
        run("/sbin/mkfs.vfat", "-F", "32", "-s", "1", "-i", ESP_ID, f"--offset={ESP_START // 512}", path, ESP_SIZE // 1024,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        copy_to_fat(path, ESP_START, self.efi)
        run("/sbin/mke2fs", "-q", "-t", "ext4", "-b", "4096", "-U", BOOT_UUID, "-E", f"offset={BOOT_START}",
            "-d", self.root, path, BOOT_SIZE // 4096)


def write_block(disk, data, name=BLOCK):
    with open(Path(disk).with_suffix(".env"), "wb") as f:
        f.write(data)
    run("mcopy", "-o", "-i", f"{disk}@@{ESP_START}", f.name, f"::/{name}")


def read_block(disk, name=BLOCK):
    return run("mtype", "-i", f"{disk}@@{ESP_START}", f"::/{name}", stdout=subprocess.PIPE).stdout


def read_owners_block(disk):
    """grubenv of /boot."""
    return run("/sbin/debugfs", "-R", "cat /boot/grub/grubenv", f"{disk}?offset={BOOT_START}", stdout=subprocess.PIPE,
               stderr=subprocess.DEVNULL).stdout


def write_file(disk, path, data):
    """Replaces a file on the partition of /boot."""
    source = Path(disk).with_suffix(".file")
    source.write_bytes(data if isinstance(data, bytes) else data.encode())
    script = f"rm {path}\nwrite {source} {path}\n"
    run("/sbin/debugfs", "-w", "-f", "-", f"{disk}?offset={BOOT_START}", input=script, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def header_of_a_kernel(bits):
    """What granule takes for a kernel of that page size and GRUB cannot start: there is no EFI stub in it."""
    head = bytearray(0x1000)
    struct.pack_into("<QQQ", head, 8, 0, len(head), bits << 1 | 8)
    head[56:60] = b"ARM\x64"
    return bytes(head)


def as_kernel(program, bits):
    """The same for an EFI program, which GRUB does start. Its first bytes are a DOS header, where nobody looks at these."""
    data = bytearray(Path(program).read_bytes())
    struct.pack_into("<QQQ", data, 8, 0, len(data), bits << 1 | 8)
    data[56:60] = b"ARM\x64"
    return bytes(data)
