# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of every kind under real firmware: two partitions, unified images, zboot kernels. Loader and command have
to see the same."""

import json
import sys

import pytest

from guest import TOP, kernel, make_disk
from machine import ARM64_FIRMWARE, Machine

sys.path.insert(0, str(TOP / "tests/cli"))
import images  # noqa: E402

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)

LOADER_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
OSREL = 'ID=test\nPRETTY_NAME="Test OS 1"\nVERSION_ID=1\n'
PROFILES = [(".cmdline", "quiet"), (".profile", "ID=main"), (".profile", "ID=Big\nTITLE=big"),
            (".linux", images.arm64(3)), (".profile", "X=y"), (".linux", images.zboot(images.arm64(2)))]


@pytest.fixture
def xbootldr(tmp_path, initramfs):
    folder = tmp_path / "xbootldr"
    for name in ("loader/entries", "EFI/Linux", "kernels"):
        (folder / name).mkdir(parents=True)
    (folder / "initrd").write_bytes(initramfs.read_bytes())
    return folder


@pytest.fixture
def boot_disk(tmp_path, esp, firmware, xbootldr):
    machines = []

    def start():
        disk = tmp_path / "disk"
        make_disk(disk, esp.path, xbootldr=xbootldr)
        machines.append(Machine(tmp_path, disk, firmware=firmware))
        return machines[-1].start()

    yield start
    for machine in machines:
        machine.kill()


def published_ids(m):
    """LoaderEntries, where firmware lets a running system read variables."""
    raw = m.ok("cat /sys/firmware/efi/efivars/LoaderEntries-* | tail -c +5 | od -An -v -tx1")
    return [i for i in bytes.fromhex(raw.replace("\n", "").replace(" ", "")).decode("utf-16-le").split("\0") if i]


def test_entries_of_both_partitions_boot_and_are_listed_alike(esp, boot_disk, xbootldr):
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_entry("near", "/kernels/4k", "1")
    esp.add_file("/EFI/Linux/Images+3.efi", images.uki(images.arm64(1), *PROFILES, osrel=OSREL))
    esp.add_file("/EFI/Linux/program.efi", images.arm64(1))
    esp.add_file("/kernels/zboot", images.zboot(images.arm64(2)))
    esp.add_entry("zboot", "/kernels/zboot", "2", sort_key="z")
    damaged = bytearray(images.zboot(images.arm64(2)))
    damaged[0x400:0x500] = b"\xff" * 0x100
    esp.add_file("/kernels/damaged", bytes(damaged))
    esp.add_entry("damaged", "/kernels/damaged", "3", sort_key="z")
    (esp.path / "loader/loader.conf").write_text("default far.conf\n")
    (xbootldr / "kernels/64k").write_bytes(kernel("64k").read_bytes())
    (xbootldr / "loader/entries/far.conf").write_text(
        "title far\nversion 1\nlinux /kernels/64k\ninitrd /initrd\noptions console=ttyAMA0 panic=5\n")
    # One that names a file of the other partition, which is not its own.
    (xbootldr / "loader/entries/astray.conf").write_text("title astray\nversion 1\nlinux /kernels/4k\n")
    (xbootldr / "EFI/Linux/far.efi").write_bytes(images.uki(images.arm64(2), osrel=OSREL))

    m = boot_disk()
    assert m.page_size() == 65536
    assert "is not mounted; its entries are not seen" in m.ok("granule list 2>&1")
    m.ok("mkdir /xbootldr && mount -t vfat /dev/vda3 /xbootldr")
    assert "not mounted" not in m.ok("granule list 2>&1")
    entries = json.loads(m.ok("granule list --json"))["entries"]
    # The loader publishes what can be started.
    assert published_ids(m) == [e["id"] for e in entries if not e["problem"]]
    found = {e["id"]: e for e in entries if e["type"] != "auto"}
    assert {i: (e["volume"], e["page_size"], e["problem"]) for i, e in found.items()} == {
        "near.conf": ("esp", "4k", None),
        "images.efi": ("esp", "4k", None),
        "images.efi@big": ("esp", "64k", None),
        "images.efi@2": ("esp", "16k", None),
        "zboot.conf": ("esp", "16k", None),
        "damaged.conf": ("esp", "unknown", "/kernels/damaged: the compressed kernel in it is damaged"),
        "far.conf": ("xbootldr", "64k", None),
        "astray.conf": ("xbootldr", "unknown", "/kernels/4k: not found"),
        "far.efi": ("xbootldr", "16k", None),
    }
    assert found["far.conf"]["running"] and found["far.conf"]["default"]
    # A loader that says that it does not read the other partition: nothing of it is listed, nothing written to it.
    m.ok("mkdir /tmp/v && printf '\\7\\0\\0\\0\\14\\0\\0\\0\\0\\0\\0\\0' >/tmp/v/LoaderFeatures-" + LOADER_GUID)
    blind = json.loads(m.ok("EFIVARFS_PATH=/tmp/v/ granule list --json 2>/dev/null"))["entries"]
    assert {e["volume"] for e in blind} == {"esp"}
    # What the loader found wrong is the same.
    failures = json.loads(m.ok("granule status --json"))["failures"]
    assert sorted(f.split(" ", 1)[0].rstrip(":") for f in failures) == ["astray.conf", "damaged.conf"]


def test_register_writes_to_the_extended_partition_and_it_boots(esp, boot_disk, xbootldr):
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_entry("near", "/kernels/4k", "1")
    m = boot_disk()
    assert m.page_size() == 4096
    m.ok("mkdir /xbootldr && mount -t vfat /dev/vda3 /xbootldr")
    m.ok("mkdir -p /etc/kernel && echo test >/etc/kernel/entry-token && cp /efi/kernels/4k /boot/vmlinuz-6.1-test && "
         "cp /efi/initrd /boot/initrd.img-6.1-test && echo 'console=ttyAMA0 panic=5' >/etc/kernel/cmdline")
    m.ok("granule register")
    assert m.ok("ls /xbootldr/loader/entries") == "test-6.1-test-4k.conf"
    assert m.ok("ls /efi/loader/entries") == "near.conf"
    m.ok("granule set test-6.1-test-4k")
    m.ok("umount /xbootldr")
    m.reboot()
    entry = json.loads(m.ok("granule status --json 2>/dev/null"))["entry"]
    assert entry == "test-6.1-test-4k.conf"
