# SPDX-License-Identifier: GPL-2.0-or-later
"""Secure Boot: what is signed boots, what is not is refused in a line and the next choice boots, also behind shims."""

from pathlib import Path

import pytest

import signing
from guest import BUILD, SETUP, kernel, make_disk, output, run
from machine import Machine
from test_menu import Menu
from tpm import REPORT, Report

PROGRAM = BUILD / "granule-bootaa64.efi"
PROGRAMS = BUILD / "aa64/tests/e2e/efi"
MARK = b"trusted by the machine's owner"  # of lock.c
ACCESS_DENIED, SECURITY_VIOLATION = 15, 26  # UEFI, appendix D
REFUSED = "refused by Secure Boot: not signed by a trusted key"

MISSING = signing.missing() + [str(p) for p in (PROGRAMS / "lock.efi", PROGRAMS / "enroll.efi", REPORT) if not p.exists()]
pytestmark = pytest.mark.skipif(bool(MISSING), reason="missing: " + ", ".join(MISSING))


@pytest.fixture
def secure(tmp_path, esp):
    """secure(): a machine with Secure Boot on and the staged ESP."""
    machines = []

    def start(wait=True):
        make_disk(tmp_path / "disk", esp.path)
        machine = Machine(tmp_path, tmp_path / "disk", variables=signing.VARIABLES)
        machines.append(machine)
        return machine.start(wait)

    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", signing.firmware_key().sign(PROGRAM))
    yield start
    for machine in machines:
        machine.kill()


def add_kernel(esp, name, image, version, **keys):
    esp.add_file(f"/{name}", image)
    esp.add_entry(name, f"/{name}", version, sort_key="test", **keys)  # higher versions first


def booted(machine):
    name = "/sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    return machine.ok(f"tr -d '\\000' < {name} | tail -c +2")


def test_a_signed_chain_boots(esp, secure):
    add_kernel(esp, "signed", signing.firmware_key().sign(kernel("4k")), "1")
    machine = secure()
    assert machine.run("od -An -tu1 /sys/firmware/efi/efivars/SecureBoot-*")[1].split()[-1] == "1"
    assert booted(machine).endswith("signed.conf")
    assert "refused" not in machine.console


def test_an_unsigned_kernel_is_refused_and_the_next_choice_boots(esp, secure):
    add_kernel(esp, "signed", signing.firmware_key().sign(kernel("4k")), "1")
    add_kernel(esp, "stranger", signing.owner_key().sign(kernel("4k")), "2")
    add_kernel(esp, "unsigned", kernel("64k"), "3")
    machine = secure()
    assert booted(machine).endswith("signed.conf")
    for name in ("unsigned", "stranger"):
        assert f"granule-boot: {name}.conf: /{name}: {REFUSED}" in machine.console
    assert machine.page_size() == 4096
    assert "failed" in machine.ok("cat /sys/firmware/efi/efivars/GranuleBoot-* | tr -d '\\000'")


def test_a_changed_byte_breaks_the_signature(esp, secure):
    image = bytearray(signing.firmware_key().sign(kernel("4k")))
    image[len(image) // 2] ^= 1
    add_kernel(esp, "changed", bytes(image), "2")
    add_kernel(esp, "signed", signing.firmware_key().sign(kernel("4k")), "1")
    machine = secure()
    assert f"changed.conf: /changed: {REFUSED}" in machine.console
    assert booted(machine).endswith("signed.conf")


def test_an_older_shim_is_asked_and_its_no_is_final(esp, secure):
    """Its part is played by a program of ours: it trusts what carries a mark."""
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", signing.firmware_key().sign(PROGRAMS / "lock.efi"))
    esp.add_file("/EFI/BOOT/next.efi", signing.firmware_key().sign(PROGRAM))
    add_kernel(esp, "marked", kernel("4k").read_bytes() + MARK, "1")
    add_kernel(esp, "unmarked", kernel("4k"), "2")
    add_kernel(esp, "firmwares", signing.firmware_key().sign(kernel("4k")), "3")
    machine = secure()
    assert booted(machine).endswith("marked.conf")
    for name in ("firmwares", "unmarked"):
        assert f"{name}.conf: /{name}: {REFUSED}" in machine.console
    assert machine.console.count("lock: not trusted") == 2 and machine.console.count("lock: trusted") == 1


def test_the_check_is_replaced_for_one_file_and_one_call(esp, secure):
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", signing.firmware_key().sign(PROGRAMS / "lock.efi"))
    esp.add_file("/EFI/BOOT/next.efi", signing.firmware_key().sign(PROGRAM))
    esp.add_file("/report.efi", REPORT.read_bytes() + MARK)
    esp.add_file("/probe.efi", kernel("4k").read_bytes() + MARK)
    (esp.path / "loader/entries/a.conf").write_text("efi /report.efi\n")
    machine = secure(wait=False)
    # The program runs by shim's word; what it loads by itself, firmware checks.
    assert Report(machine).probe in (ACCESS_DENIED, SECURITY_VIOLATION)


@pytest.fixture(params=["bookworm", "bullseye"], ids=["shim-16", "shim-15.8"])
def shim(request):
    folder = output(SETUP / "peers.sh", "--path", f"{request.param}-shim-arm64")
    program = Path(folder, "usr/lib/shim/shimaa64.efi")
    if not program.exists():
        pytest.skip(f"missing: {program} (make peers)")
    return program


def test_a_real_shim_adds_the_key_of_the_owner(esp, secure, shim):
    """Firmware trusts shim alone; shim trusts the owner's key, which firmware does not know."""
    firmware, owner = signing.firmware_key(), signing.owner_key()
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", firmware.sign(PROGRAMS / "enroll.efi"))
    esp.add_file("/mok.der", owner.der())
    esp.add_file("/EFI/BOOT/shim.efi", firmware.sign(shim))
    esp.add_file("/EFI/BOOT/grubaa64.efi", owner.sign(PROGRAM))
    add_kernel(esp, "owners", owner.sign(kernel("4k")), "1")
    add_kernel(esp, "unsigned", kernel("16k"), "2")
    add_kernel(esp, "comes-back", owner.sign(REPORT), "3")
    add_kernel(esp, "firmwares", firmware.sign(REPORT), "4")
    machine = secure()
    assert "granule-boot: enroll: returned without an error" in machine.console
    assert "@@SHIM 1" in machine.console, "a stub could not ask shim about its add-ons"
    for name in ("comes-back", "firmwares"):
        assert f"{name}.conf: /{name} came back: aborted" in machine.console
    assert f"unsigned.conf: /unsigned: {REFUSED}" in machine.console
    assert booted(machine).endswith("owners.conf")


@pytest.fixture
def unified(tmp_path, initramfs):
    """A unified image of real parts: Debian 13's stub, put together by its ukify."""
    peer = Path(output(SETUP / "peers.sh", "--path", "trixie-arm64"))
    stub, ukify = peer / "usr/lib/systemd/boot/efi/linuxaa64.efi.stub", peer / "usr/lib/systemd/ukify"
    for needed in (stub, ukify):
        if not needed.exists():
            pytest.skip(f"missing: {needed} (make peers)")
    image = tmp_path / "unified.efi"
    run("/usr/bin/python3", ukify, "build", "--efi-arch", "aa64", "--stub", stub, "--linux", kernel("4k"),
        "--initrd", initramfs, "--cmdline", "console=ttyAMA0 panic=5 from=image", "--uname", "6.1.0",
        "--os-release", "ID=test\nPRETTY_NAME=Test\nVERSION_ID=1\n", "--output", image, capture_output=True)
    return image.read_bytes()


def test_a_signed_unified_image_boots(esp, secure, unified):
    esp.add_file("/EFI/Linux/signed.efi", signing.firmware_key().sign(unified))
    esp.add_file("/EFI/Linux/unsigned.efi", unified)
    machine = secure()
    assert f"unsigned.efi: /EFI/Linux/unsigned.efi: {REFUSED}" in machine.console
    assert booted(machine).endswith("signed.efi")
    assert machine.ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5 from=image"


def test_a_unified_image_signed_by_the_owner_boots_behind_shim(esp, secure, shim, unified):
    """Its stub loads the kernel in it, which has no signature of its own."""
    firmware, owner = signing.firmware_key(), signing.owner_key()
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", firmware.sign(PROGRAMS / "enroll.efi"))
    esp.add_file("/mok.der", owner.der())
    esp.add_file("/EFI/BOOT/shim.efi", firmware.sign(shim))
    esp.add_file("/EFI/BOOT/grubaa64.efi", owner.sign(PROGRAM))
    esp.add_file("/EFI/Linux/owners.efi", owner.sign(unified))
    machine = secure()
    assert booted(machine).endswith("owners.efi")
    assert machine.ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5 from=image"


def test_device_trees_from_files_are_left_out_with_a_line(esp, secure, tmp_path):
    add_kernel(esp, "signed", signing.firmware_key().sign(kernel("4k")), "1",
               devicetree="/board.dtb", devicetree_overlay="/more.dtbo")
    esp.add_file("/board.dtb", b"never looked at")
    esp.add_file("/more.dtbo", b"neither")
    machine = secure()
    assert booted(machine).endswith("signed.conf")
    for name in ("/board.dtb", "/more.dtbo"):
        assert f"signed.conf: {name} left out: no device trees from files under Secure Boot" in machine.console


def test_the_editor_is_off(esp, secure):
    add_kernel(esp, "signed", signing.firmware_key().sign(kernel("4k")), "1")
    (esp.path / "loader/loader.conf").write_text("timeout menu-force\nauto-firmware no\neditor yes\n")
    menu = Menu(secure).open()
    menu.press("e", "The editor is off: Secure Boot is on.")
    assert menu.boot().ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5"
