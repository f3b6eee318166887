# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequences in which a machine could end with nothing booting, or with the same failure for ever, although one of its
entries is good."""

import re
import struct
import sys

import pytest

from guest import BUILD, TOP, kernel, make_disk
from long_run import only_long
from machine import ARM64_FIRMWARE, READY, Machine
from peer_guest import add_profiles, missing_peers, os_release
from test_errors import booted, entry_files, failing  # noqa: F401
from test_main_job import refuses_to_run

sys.path.insert(0, str(TOP / "tests/cli"))
import images  # noqa: E402

REPORT = BUILD / "aa64/tests/e2e/efi/report.efi"


def conf(esp, *lines):
    (esp.path / "loader/loader.conf").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("setting", ["auto", "yes"])
def test_reboot_on_error_does_not_go_in_circles_where_tries_are_not_counted(failing, boot, setting):  # noqa: F811
    conf(failing, f"reboot-on-error {setting}", "boot-counting no")
    m = boot(wait=False)
    m.wait_for(READY, timeout=100)
    assert booted(m) == "a-kernel.conf" and "resetting" not in m.console


def test_reboot_on_error_does_not_go_in_circles_on_a_disk_that_cannot_be_written(failing, boot):  # noqa: F811
    conf(failing, "reboot-on-error yes")
    m = boot(wait=False)
    m.kill()
    m.read_only = True
    m.start(wait=False)
    m.wait_for("boot not counted")
    m.wait_for(READY, timeout=100)
    assert booted(m) == "a-kernel.conf" and "resetting" not in m.console


@only_long
@pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
def test_the_next_profile_of_an_image_boots_when_the_first_has_come_back(esp, boot, initramfs, tmp_path):
    """The boot of the first was counted: the file has another name since."""
    common = {"os_release": os_release(ID="test", VERSION_ID="1", PRETTY_NAME="Test OS"), "cmdline": "console=ttyAMA0 panic=5"}
    bad = tmp_path / "bad"
    bad.write_bytes(refuses_to_run(kernel("64k").read_bytes()))
    esp.add_file("/EFI/Linux/only+3.efi", add_profiles(
        tmp_path / "only", {"profile": "ID=bad", "linux": bad, "uname": "9", **common},
        [{"profile": "ID=good", "linux": kernel("4k"), "uname": "1", "initrd": initramfs, **common}]))
    m = boot(wait=False)
    m.wait_for("only.efi: /EFI/Linux/only.2-1.efi came back")
    m.wait_for(READY, timeout=100)
    assert booted(m) == "only.efi@good"
    assert m.ok("ls /efi/EFI/Linux") == "only+2-1.efi"


def test_a_pattern_names_no_entry_of_the_boot_managers_own(esp, boot):
    """The default is damaged; neither the shell, where a machine would wait for ever, nor firmware setup comes next."""
    esp.add_file("/kernel", kernel("4k"))
    esp.add_file("/shellaa64.efi", REPORT)
    esp.add_entry("good", "/kernel", "1")
    esp.add_entry("arch", "/nothing", "1")
    conf(esp, "default a*", "auto-reboot yes")
    m = boot(wait=False)
    m.wait_for(READY, timeout=100)
    assert booted(m) == "good.conf" and "@@" not in m.console.replace(READY, "").split("Linux version")[0]
    # By its name it is still to be had.
    conf(esp, "default auto-efi-shell", "auto-reboot yes")


@pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)
def test_names_and_texts_of_entries_send_no_commands_to_the_terminal(esp, boot):
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("good", "/kernel", "1")
    evil = "\x1b]0;owned\x07\x1b[2J\x7f\u009b5n"
    (esp.path / "loader/entries/evil.conf").write_text(f"title {evil}\nlinux /none{evil}\noptions {evil}\n")
    m = boot(wait=False)
    raw = []
    m.screen = type("Raw", (), {"feed": lambda self, text: raw.append(text)})()
    m.wait_for(READY, timeout=100)
    (line,) = [p for p in "".join(raw).split("\n") if "evil.conf" in p]
    assert not re.search("[\x00-\x1f\x7f-\x9f]", line.split("evil.conf")[1].rstrip("\r")), line


@only_long
def test_images_that_want_more_memory_than_there_is_are_left_out(esp, boot):
    """Many profiles share the same 64 KiB of text: small files that fill any memory."""
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("good", "/kernel", "1")
    n = 250
    text = b"ID=x\n" + b"#" * 65000
    names = [".osrel", ".linux"] + [".profile", ".osrel", ".cmdline", ".uname"] * n
    table_end = 64 + 24 + 240 + 40 * len(names)
    start = -(-table_end // 512) * 512
    data = text + b"\0" * (-len(text) % 512)
    kernel_image = images.arm64(1)
    table = [(name, start + len(data) if name == ".linux" else start, len(kernel_image) if name == ".linux" else len(text))
             for name in names]
    head = bytearray(start)
    head[0:2] = b"MZ"
    struct.pack_into("<I", head, 60, 64)
    headers = images.pe_headers(table, images.MACHINE["arm64"])
    head[64:64 + len(headers)] = headers
    osrel = b'ID=x\nPRETTY_NAME="x"\n'
    data = osrel + data[len(osrel):]
    for i in range(12):
        esp.add_file(f"/EFI/Linux/many{i}.efi", bytes(head) + data + kernel_image)
    m = boot(wait=False)
    m.wait_for(READY, timeout=200)
    assert booted(m) == "good.conf"


@pytest.mark.parametrize("firmware", ["uboot"], indirect=True)
def test_a_counting_that_was_cut_short_before_anything_was_written_goes_on(esp, boot):
    """An empty file of the new name is what a power cut leaves there."""
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("new+3", "/kernel", "1")
    esp.add_file("/loader/entries/new+2-1.conf", b"")
    m = boot(wait=False)
    m.wait_for(READY, timeout=100)
    assert booted(m) == "new.conf"
    assert m.ok("ls /efi/loader/entries") == "new+2-1.conf"


@pytest.mark.parametrize("firmware", ["uboot"], indirect=True)
def test_entries_of_the_other_partition_are_found_by_the_copy_of_the_partition_table(esp, firmware, initramfs, tmp_path):
    """EDK II repairs the first one before anything else runs; U-Boot goes on with the copy."""
    other = tmp_path / "other"
    (other / "loader/entries").mkdir(parents=True)
    (other / "initrd").write_bytes(initramfs.read_bytes())
    (other / "kernel").write_bytes(kernel("4k").read_bytes())
    (other / "loader/entries/far.conf").write_text(
        "title far\nlinux /kernel\ninitrd /initrd\noptions console=ttyAMA0 panic=5\n")
    disk = tmp_path / "disk"
    make_disk(disk, esp.path, xbootldr=other)
    with open(disk, "r+b") as f:
        f.seek(2 * 512)
        f.write(b"\xee" * 512)
    with Machine(tmp_path, disk, firmware=firmware) as m:
        m.start(wait=False)
        m.wait_for(READY, timeout=100)
        assert booted(m) == "far.conf"


@pytest.mark.parametrize("key", ["linux", "efi"])
def test_an_entry_that_names_the_boot_manager_does_not_go_round_in_circles(esp, boot, key):
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("good", "/kernel", "1")
    esp.add_file("/copy.efi", BUILD / "granule-bootaa64.efi")
    for i, path in enumerate(("/EFI/BOOT/BOOTAA64.EFI", "/copy.efi")):
        (esp.path / f"loader/entries/self{i}.conf").write_text(f"title self\nsort-key 0\n{key} {path}\n")
    m = boot(wait=False)
    m.wait_for(READY, timeout=60)
    assert booted(m) == "good.conf"


def test_variables_that_somebody_made_permanent_do_not_hide_what_was_booted(esp, boot):
    """Firmware refuses to write a variable with other attributes than it has."""
    esp.add_file("/EFI/BOOT/next.efi", esp.path / "EFI/BOOT/BOOTAA64.EFI")
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", BUILD / "aa64/tests/e2e/efi/permanent.efi")
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("first", "/kernel", "1")
    m = boot()
    assert booted(m) == "first.conf"
    assert "first.conf" in m.ok("cat /sys/firmware/efi/efivars/LoaderEntrySelected-* | tr -d '\\0'")
