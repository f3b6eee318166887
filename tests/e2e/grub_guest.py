# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine as Debian 12 or 13 sets one up: Debian's GRUB on the ESP leads to a grub.cfg that the release's own update-grub
made in the guest, below a /boot on the root, on btrfs, or on ext4 in LVM or md RAID. The first process is the release's
systemd; see systemd_guest.py.

Disks are made in two steps, each of them in a guest. A disk with Debian alone is kept in the cache. Granule is installed
on a copy of it, once in a test session for each kind; tests start from copies of that."""

import contextlib
import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from guest import BUILD, ESP_UUID, MIB, TOP, Cpio, kernel, kernel_folder, make_fat, run, sysroot, with_release
from machine import BOOT_TIMEOUT
from peer_guest import peer_root
from systemd_guest import BUSYBOX, SystemdMachine, add_program, install_granule, make_root

TESTS = Path(__file__).parent

SIZES = ("4k", "16k", "64k")
LAYOUTS = ("root", "btrfs", "lvm", "md")
GRUB = "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi"
# The 16K kernel has no initrd: its root is named otherwise.
WITH_INITRD = ("4k", "64k")

ESP_START, ESP_SIZE = 1 * MIB, 64 * MIB
ROOT_START, ROOT_SIZE = ESP_START + ESP_SIZE, 320 * MIB
BOOT_START, BOOT_SIZE = ROOT_START + ROOT_SIZE, 144 * MIB
MIRROR_START = BOOT_START + BOOT_SIZE
ROOT_UUID = "0f6a1c1e-1111-4a4a-8b8b-000000000002"
BOOT_UUID = "0f6a1c1e-2222-4a4a-8b8b-000000000003"
BOOT_DEVICE = {"btrfs": "/dev/vda3", "lvm": "/dev/boot/boot", "md": "/dev/md0"}

# What update-grub, kernel hooks and these tests run. Programs of systemd_guest.py that Debian has are Debian's here.
COMMANDS = """awk blkid blockdev btrfs dd dirname dmsetup dpkg egrep expr fgrep find findfs findmnt gettext gettext.sh grub-editenv
grub-file grub-mkconfig grub-mkrelpath grub-probe grub-reboot grub-script-check grub-set-default id install lsblk lvm
mdadm mkfs.btrfs mke2fs mktemp mountpoint od printenv realpath run-parts tar tee update-grub which xargs""".split()
LINKS = {"awk": "mawk", "mkfs.ext4": "mke2fs", "vgs": "lvm", "pvs": "lvm", "lvs": "lvm", "vgchange": "lvm"}
# Busybox' are enough, or take no unit of systemd's to do it.
NOT_DEBIANS = {"poweroff", "reboot", "ps", "hexdump", "dmesg", "swapon"}
FILES = ("etc/grub.d", "etc/kernel/postinst.d/zz-update-grub", "etc/kernel/postrm.d/zz-update-grub",
         "usr/share/grub", "usr/bin/gettext.sh")

# As Debian's installer leaves it, with a console that a test can read.
DEFAULT_GRUB = """GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="rw console=ttyAMA0"
GRUB_TERMINAL=console
GRUB_DISABLE_OS_PROBER=true
"""

# Without udev.
LVM_CONF = """devices { obtain_device_list_from_udev = 0 external_device_info_source = "none" use_devicesfile = 0 }
activation { udev_sync = 0 udev_rules = 0 verify_udev_operations = 0 monitoring = 0 }
"""

MOUNT_ALL = """#!/bin/sh
case $(cat /etc/layout) in
lvm) lvm vgchange -q -ay boot >/dev/null 2>&1 ;;
md) mdadm -q --assemble /dev/md0 /dev/vda3 /dev/vda4 ;;
esac
mkdir -p /dev/disk/by-uuid /dev/disk/by-partuuid
blkid -o export | while IFS='=' read -r name value; do
    case $name in
    DEVNAME) device=$value ;;
    UUID) ln -sf "$device" "/dev/disk/by-uuid/$value" ;;
    PARTUUID) ln -sf "$device" "/dev/disk/by-partuuid/$value" ;;
    esac
done
! grep -q ' /boot ' /etc/fstab || mount /boot || exit
mount /boot/efi
"""

ESP_SERVICE = """[Unit]
DefaultDependencies=no
Before=local-fs.target
Conflicts=shutdown.target
Before=shutdown.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/mount-all
[Install]
WantedBy=local-fs.target
"""

INITRD = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev /new
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
for word in $(/bin/busybox cat /proc/cmdline); do
    case $word in
    root=*) root=${word#root=} ;;
    esac
done
case $root in
UUID=*) root=$(/bin/busybox findfs "$root") ;;
esac
/bin/busybox mount -t ext4 "$root" /new
/bin/busybox umount /proc
/bin/busybox mount -o move /dev /new/dev
exec /bin/busybox switch_root /new /sbin/init
"""


def make_initrd():
    """Mounts the root that is named by the command line."""
    cpio = Cpio()
    cpio.folder("dev")
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    cpio.file("bin/busybox", (sysroot() / "bin/busybox").read_bytes())
    cpio.file("init", INITRD.encode())
    return cpio.finish()


def release_of(size, later=None):
    """Release of a test kernel, or of one that is so much later. The newest on the disk has 4K: 10_linux takes it."""
    later = later if later is not None else int(size == "4k")
    name = (kernel_folder() / size / "release").read_text().strip()
    return re.sub(r"\.(\d+)-", lambda m: f".{int(m.group(1)) + later}-", name)


def add_kernel(boot, size, later=None):
    """Puts a kernel with its initrd into the folder `boot`; returns its release."""
    release = release_of(size, later)
    (boot / f"vmlinuz-{release}").write_bytes(with_release(kernel(size).read_bytes(), release))
    if size in WITH_INITRD:
        (boot / f"initrd.img-{release}").write_bytes(make_initrd())
    return release


def make_debian(root, release, layout):
    """Writes the tree of the root partition, with /boot in it."""
    make_root(root, release, granule=False)
    package = peer_root(release)

    def find(name):
        name = LINKS.get(name, name)
        return next((package / d / name for d in ("usr/bin", "bin", "usr/sbin", "sbin") if (package / d / name).exists()),
                    None)

    for name in dict.fromkeys([*COMMANDS, *LINKS, "sh", *BUSYBOX]):
        source = package / "bin/dash" if name == "sh" else find(name)
        if source is None or name in NOT_DEBIANS:
            continue
        target = root / "usr/bin" / name
        target.unlink(missing_ok=True)
        if source.read_bytes()[:4] == b"\x7fELF":
            add_program(root, source.resolve(), f"usr/bin/{name}", [package])
        else:
            shutil.copy(source, target)
    for name in FILES:
        source, target = package / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif not target.exists():
            shutil.copy(source, target)
    for name, text, mode in (
            ("etc/default/grub", DEFAULT_GRUB, 0o644), ("etc/lvm/lvm.conf", LVM_CONF, 0o644),
            ("etc/layout", layout + "\n", 0o644), ("usr/lib/mount-all", MOUNT_ALL, 0o755), ("etc/fstab", fstab(layout), 0o644),
            ("usr/lib/systemd/system/esp.service", ESP_SERVICE, 0o644)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(mode)
    (root / "etc/mtab").symlink_to("../proc/self/mounts")
    (root / "boot/efi").mkdir()

    modules = (package / GRUB).parents[1]
    (root / "boot/grub/arm64-efi").mkdir(parents=True)
    for file in [*modules.glob("*.mod"), *modules.glob("*.lst")]:
        shutil.copy(file, root / "boot/grub/arm64-efi")
    run("grub-editenv", root / "boot/grub/grubenv", "create")
    for size in SIZES:
        add_kernel(root / "boot", size)


def fstab(layout):
    lines = [f"UUID={ROOT_UUID} / ext4 errors=remount-ro 0 1"]
    if layout != "root":
        lines.append(f"{BOOT_DEVICE[layout]} /boot {'btrfs' if layout == 'btrfs' else 'ext4'} defaults 0 2")
    return "\n".join([*lines, "/dev/vda1 /boot/efi vfat umask=0077 0 1"]) + "\n"


def esp_cfg(layout):
    uuid, folder = (ROOT_UUID, "/boot/grub") if layout == "root" else (BOOT_UUID, "/grub")
    return f"search.fs_uuid {uuid} root\nset prefix=($root)'{folder}'\nconfigfile $prefix/grub.cfg\n"


def make_grub_disk(path, release, layout, work):
    """The disk before its first boot: ESP and root are there, /boot is in the root."""
    esp, root = work / "esp", work / "root"
    for name in ("EFI/BOOT/BOOTAA64.EFI", "EFI/debian/grubaa64.efi"):
        (esp / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(peer_root(release) / GRUB, esp / name)
    (esp / "EFI/debian/grub.cfg").write_text(esp_cfg(layout))
    make_debian(root, release, layout)
    with open(path, "wb") as f:
        f.truncate(MIRROR_START + BOOT_SIZE + MIB)
    parts = [(ESP_START, ESP_SIZE, f"U, uuid={ESP_UUID}"), (ROOT_START, ROOT_SIZE, "L")]
    parts += [(BOOT_START, BOOT_SIZE, "L"), (MIRROR_START, BOOT_SIZE, "L")] if layout != "root" else []
    run("/sbin/sfdisk", "-q", path, text=True, input="label: gpt\n" + "".join(
        f"start={start // 512}, size={size // 512}, type={kind}\n" for start, size, kind in parts))
    make_fat(path, ESP_START, ESP_SIZE, esp)
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-b", "4096", "-U", ROOT_UUID, "-E", f"offset={ROOT_START}", "-d", root, path,
        ROOT_SIZE // 4096)


class GrubMachine(SystemdMachine):
    """`direct` is a kernel that the firmware starts instead of GRUB. Programs run faster without instruction counting,
    boots with it."""

    def __init__(self, folder, disk, icount=True, direct=None):
        super().__init__(folder, disk)
        self.icount, self.direct = icount, direct

    def disk_options(self):
        options = super().disk_options()
        if self.direct:
            options += ["-kernel", str(self.direct), "-append", "console=ttyAMA0 root=/dev/vda2 rw panic=5"]
        return options

    def settle(self):
        """Waits until the boot has its verdict, and systemd nothing more to do."""
        self.run("systemctl is-system-running --wait")
        return self

    def power_off(self):
        self.send("systemctl poweroff\n")
        self.qemu.communicate(timeout=BOOT_TIMEOUT)
        self.qemu = None


MAKE_BOOT = {
    "btrfs": f"mkfs.btrfs -q -U {BOOT_UUID} /dev/vda3",
    "lvm": "lvm pvcreate -q /dev/vda3 && lvm vgcreate -q boot /dev/vda3 && lvm lvcreate -q -Zn -l 100%FREE -n boot boot && "
           f"mke2fs -q -t ext4 -U {BOOT_UUID} /dev/boot/boot",
    "md": "mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --assume-clean /dev/vda3 /dev/vda4 && "
          f"mke2fs -q -t ext4 -U {BOOT_UUID} /dev/md0",
}


def update_grub(m):
    """Runs update-grub; returns what it says."""
    out = m.ok("update-grub 2>&1")
    m.ok("grub-script-check /boot/grub/grub.cfg")
    return out


def make_debian_disk(disk, release, layout, work):
    """A disk with Debian alone."""
    make_grub_disk(disk, release, layout, work)
    with GrubMachine(work, disk, icount=False, direct=kernel("4k")) as m:
        m.start()
        if layout != "root":
            m.ok(MAKE_BOOT[layout])
            m.ok(f"mkdir /mnt && mount {BOOT_DEVICE[layout]} /mnt && mv /boot/* /mnt && umount /mnt && /usr/lib/mount-all")
        update_grub(m)
        m.power_off()


def inputs():
    """What the disk depends on, besides the release and the layout."""
    yield from (TESTS / name for name in ("grub_guest.py", "systemd_guest.py", "guest.py"))
    yield from (sysroot() / name for name in ("bin/busybox", "usr/bin/getconf"))


def debian_disk(release, layout):
    """That disk in the cache, made if it is not there."""
    digest = hashlib.sha256("".join(
        [*(hashlib.sha256(f.read_bytes()).hexdigest() for f in inputs()), str(peer_root(release)), str(kernel_folder())]
    ).encode()).hexdigest()[:12]
    folder = kernel_folder().parents[1] / "grub"
    disk = folder / f"debian-{release}-{layout}-{digest}"
    folder.mkdir(exist_ok=True)
    with locked(folder / f"lock-{release}-{layout}"):
        if not disk.exists():
            for old in folder.glob(f"debian-{release}-{layout}-*"):
                old.unlink()
            with tempfile.TemporaryDirectory(dir=folder) as work:
                make_debian_disk(Path(work, "disk"), release, layout, Path(work))
                Path(work, "disk").rename(disk)
    return disk


@contextlib.contextmanager
def locked(path):
    with open(path, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def copy_disk(disk, target):
    run("cp", "--sparse=always", disk, target)
    return target


def copy_to_machine(disk, work, put):
    """Has `put` fill a folder that is unpacked over the root by give()."""
    tree = work / "tree"
    tree.mkdir()
    put(tree)
    run("tar", "-C", tree, "--owner=0", "--group=0", "-cf", work / "tree.tar", ".")
    run("mcopy", "-o", "-i", f"{disk}@@{ESP_START}", work / "tree.tar", "::/tree.tar")
    shutil.rmtree(tree)


UNPACK = "tar -C / -xmf /boot/efi/tree.tar && rm /boot/efi/tree.tar"


def install(tree, release):
    """`make install`, of the command for arm64, and the libraries that a package of it would depend on."""
    run("make", "-s", "-o", "all", "-C", TOP, "install", f"GRANULE={BUILD / 'aarch64/granule'}",
        f"EFI_PROGRAMS={BUILD / 'granule-bootaa64.efi'}", f"DESTDIR={tree}", "prefix=/usr",
        stdout=subprocess.DEVNULL)
    install_granule(tree, release)


def make_granule_disk(disk, release, layout, work):
    """Debian's disk with granule installed; returns what update-grub says."""
    copy_disk(debian_disk(release, layout), disk)
    copy_to_machine(disk, work, lambda tree: install(tree, release))
    with GrubMachine(work, disk, icount=False, direct=kernel("4k")) as m:
        m.start()
        m.ok(UNPACK)
        out = update_grub(m)
        m.power_off()
    return out
