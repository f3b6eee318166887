# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest: an initramfs with busybox, the arm64 command and the libraries that it needs, and a disk with an ESP and
an ext4 partition for state."""

import os
import re
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
SETUP = TOP / "tests" / "setup"

MIB = 1 << 20
ESP_START, ESP_SIZE = 1 * MIB, 192 * MIB
STATE_START, STATE_SIZE = ESP_START + ESP_SIZE, 64 * MIB
XBOOTLDR_START, XBOOTLDR_SIZE = STATE_START + STATE_SIZE, 64 * MIB
XBOOTLDR_TYPE = "bc13c2ff-59e6-4262-a352-b275fd6f7172"
ESP_UUID = "6d2a1f0c-55a1-4c9e-8f35-0123456789ab"

# One command a line comes in over the serial port; its output goes back, between marks.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /bin /proc /sys /dev /run /tmp /efi /state /boot /var /etc
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs run /run
mount -t efivarfs efivarfs /sys/firmware/efi/efivars 2>/dev/null
mount -t pstore pstore /sys/fs/pstore 2>/dev/null
exec </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
stty -echo
mount -t vfat /dev/vda1 /efi || echo "no ESP"
mount -t ext4 /dev/vda2 /state || echo "no state partition"
for d in boot var etc; do mkdir -p /state/$d; mount --bind /state/$d /$d; done
export PATH=/bin HOME=/
# What reboot(8) tells an init.
trap 'sync; umount -r /efi /state 2>/dev/null; reboot -f' TERM
# From here on the line is for commands alone.
dmesg -n 1
echo "@@READY@@"
while read -r line; do
    (eval "$line")
    echo "@@DONE $?@@"
done
"""


def run(*command, **keywords):
    return subprocess.run([str(c) for c in command], check=True, **keywords)


def output(*command):
    return run(*command, stdout=subprocess.PIPE, text=True).stdout.strip()


def kernel_folder():
    return Path(output(SETUP / "kernels.sh", "--path"))


def kernel(size):
    return kernel_folder() / size / "Image"


def sysroot():
    return Path("/") if os.uname().machine == "aarch64" else Path(output(SETUP / "sysroot.sh", "--path"))


class Cpio:
    """Writes an initramfs in the `newc` format (Documentation/driver-api/early-userspace/buffer-format)."""

    def __init__(self):
        self.parts, self.inode, self.folders = [], 0, set()

    def add(self, name, data=b"", mode=0o100755, device=(0, 0)):
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(raw), 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def folder(self, name):
        for parent in [str(p) for p in reversed(Path(name).parents)][1:] + [name]:
            if parent not in self.folders:
                self.folders.add(parent)
                self.add(parent, mode=0o040755)

    def file(self, name, data, mode=0o100755):
        self.folder(str(Path(name).parent))
        self.add(name, data, mode)

    def finish(self):
        self.add("TRAILER!!!", mode=0)
        return b"".join(self.parts)


def needed_libraries(program, *roots):
    """Shared libraries of a program, and theirs, from below the first root that has them."""
    readelf = "readelf" if os.uname().machine == "aarch64" else "aarch64-linux-gnu-readelf"
    folders = [root / d for root in roots for d in (
        "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib", "usr/lib", "usr/lib/aarch64-linux-gnu/systemd")]
    found, todo = {}, [program]
    while todo:
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output(readelf, "-d", todo.pop())):
            if name in found:
                continue
            found[name] = next(d / name for d in folders if (d / name).exists())
            todo.append(found[name])
    return found


def guest_files():
    """Everything that the guest consists of: (name, content, mode)."""
    root, granule = sysroot(), BUILD / "aarch64" / "granule"
    yield "init", INIT.encode(), 0o100755
    yield "bin/busybox", (root / "bin/busybox").read_bytes(), 0o100755
    yield "bin/getconf", (root / "usr/bin/getconf").read_bytes(), 0o100755
    yield "bin/granule", granule.read_bytes(), 0o100755
    for name, file in needed_libraries(granule, root).items():
        yield f"lib/{name}", file.read_bytes(), 0o100755
    yield ("usr/local/lib/granule/granule-bootaa64.efi", (BUILD / "granule-bootaa64.efi").read_bytes(), 0o100644)


def make_initramfs(path):
    cpio = Cpio()
    cpio.folder("dev")
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    for name, data, mode in guest_files():
        cpio.file(name, data, mode)
    path.write_bytes(cpio.finish())


def unpack_guest(folder):
    """The same as a tree, for a disk."""
    for name in ("dev", "proc", "sys", "run", "tmp", "efi", "state", "boot", "var", "etc"):
        (folder / name).mkdir(parents=True)
    for name, data, mode in guest_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode & 0o777)


def make_disk(path, esp, state=None, xbootldr=None):
    """A GPT disk whose ESP and state partition hold the trees `esp` and `state`; and an extended boot loader
    partition, if there is a tree for it."""
    with open(path, "wb") as f:
        f.truncate((XBOOTLDR_START + XBOOTLDR_SIZE if xbootldr else STATE_START + STATE_SIZE) + MIB)
    script = (
        "label: gpt\n"
        f"start={ESP_START // 512}, size={ESP_SIZE // 512}, type=U, uuid={ESP_UUID}, name=ESP\n"
        f"start={STATE_START // 512}, size={STATE_SIZE // 512}, type=L, name=state\n"
    )
    if xbootldr:
        script += f"start={XBOOTLDR_START // 512}, size={XBOOTLDR_SIZE // 512}, type={XBOOTLDR_TYPE}, name=boot\n"
    run("/sbin/sfdisk", "-q", path, input=script, text=True)
    make_fat(path, ESP_START, ESP_SIZE, esp)
    if xbootldr:
        make_fat(path, XBOOTLDR_START, XBOOTLDR_SIZE, xbootldr)
    extra = ["-d", state] if state else []
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-b", "4096", "-E", f"offset={STATE_START}", *extra, path,
        STATE_SIZE // 4096)


def make_fat(disk, start, size, tree):
    # Left to itself it takes the size of clusters from the size of the disk, and these small ones too large.
    run("/sbin/mkfs.vfat", "-F", "32", "-s", "1", "-n", "BOOT", f"--offset={start // 512}", disk, size // 1024,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    copy_to_fat(disk, start, tree)


def copy_to_fat(disk, start, tree):
    names = sorted(Path(tree).iterdir())
    if names:
        run("mcopy", "-s", "-o", "-i", f"{disk}@@{start}", *names, "::/")


def copy_to_esp(disk, tree):
    """Copies (or replaces) the content of a folder on the ESP of a disk image."""
    copy_to_fat(disk, ESP_START, tree)


def read_from_esp(disk, name):
    return run("mtype", "-i", f"{disk}@@{ESP_START}", f"::{name}", stdout=subprocess.PIPE).stdout


class Esp:
    """A staging folder for an ESP with granule-boot as the default program and entries written by hand."""

    def __init__(self, folder, program=BUILD / "granule-bootaa64.efi"):
        self.path = Path(folder)
        (self.path / "EFI/BOOT").mkdir(parents=True)
        (self.path / "loader/entries").mkdir(parents=True)
        shutil.copy(program, self.path / "EFI/BOOT" / program.name.upper().replace("GRANULE-", ""))
        (self.path / "loader/loader.conf").write_text("")

    def add_file(self, name, data):
        target = self.path / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            target.write_bytes(data)
        else:
            shutil.copy(data, target)

    def add_entry(self, entry_id, linux, version, options="", initrd="/initrd", **keys):
        lines = [f"title {keys.pop('title', entry_id)}", f"version {version}", f"linux {linux}"]
        lines += [f"initrd {initrd}"] if initrd else []
        lines += [f"{k.replace('_', '-')} {v}" for k, v in keys.items()]
        lines += [f"options {options or 'console=ttyAMA0 panic=5'}"]
        (self.path / "loader/entries" / f"{entry_id}.conf").write_text("\n".join(lines) + "\n")


def with_release(image, release):
    """The same kernel with another release of the same length, in its banner, its uname and its vermagic."""
    old = re.search(rb"Linux version (\S+) \(", image).group(1)
    new = release.encode()
    assert len(old) == len(new), (old, new)
    return image.replace(old, new)


def with_header_page_size(image, bits):
    """The same kernel with other page-size bits in its header (0 to 3)."""
    flags = image[24] & ~0x06 | bits << 1
    return image[:24] + bytes([flags]) + image[25:]
