# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot manager for x64 under OVMF: the same source chooses, starts, and goes on when a program comes back."""

import shutil
from pathlib import Path

import pytest

import signing
from guest import BUILD, Esp, kernel, make_disk
from machine import Machine
from test_errors import entry_files
from test_secure_boot import MARK, REFUSED
from tpm import EV_IPL, Report, Swtpm

OVMF = Path("/usr/share/OVMF")


@pytest.fixture
def x64(tmp_path):
    program = BUILD / "granule-bootx64.efi"
    for needed in (program, OVMF / "OVMF_CODE_4M.fd"):
        if not needed.exists():
            pytest.skip(f"{needed} is not there")
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("qemu-system-x86_64 is not installed")
    esp = Esp(tmp_path / "esp", program)
    yield esp, lambda: Machine(tmp_path, tmp_path / "disk", firmware="ovmf")


def test_x64_starts_a_program_and_goes_on_when_it_comes_back(x64, tmp_path):
    esp, machine = x64
    # A copy of the program under another name finds only itself and entries that cannot start: it comes back.
    esp.add_file("/other.efi", BUILD / "granule-bootx64.efi")
    (esp.path / "loader/entries/a-program.conf").write_text("title program\nefi /other.efi\n")
    esp.add_file("/arm", kernel("4k"))
    esp.add_entry("b-arm", "/arm", "1", initrd=None)
    make_disk(tmp_path / "disk", esp.path)
    with machine() as m:
        m.start(wait=False)
        m.wait_for(r"b-arm\.conf: /arm: made for another architecture")
        m.wait_for(r"no entry can be started, back to firmware")
        m.wait_for(r"a-program\.conf: /other\.efi came back: not found")
        m.wait_for(r"no entry can be started, back to firmware")


def test_x64_lists_its_one_page_size(x64, tmp_path):
    esp, machine = x64
    esp.add_file("/other.efi", BUILD / "granule-bootx64.efi")
    (esp.path / "loader/entries/a-program.conf").write_text("title program\nefi /other.efi\n")
    (esp.path / "loader/loader.conf").write_text("timeout menu-force\n")
    make_disk(tmp_path / "disk", esp.path)
    with machine() as m:
        m.start(wait=False)
        m.wait_for(r"page sizes of this CPU: 4k *>\* 1  4K   program.*\* boots by itself: a-program\.conf")


def test_x64_counts_tries_and_goes_on_until_nothing_is_left(x64, tmp_path):
    esp, machine = x64
    esp.add_file("/comes-back.efi", BUILD / "x64/tests/e2e/efi/report.efi")
    (esp.path / "loader/entries/a-last.conf").write_text("efi /comes-back.efi\noptions last words\n")
    (esp.path / "loader/entries/b-counted+3.conf").write_text("efi /comes-back.efi\n")
    (esp.path / "loader/entries/c-bad+0-3.conf").write_text("efi /comes-back.efi\n")
    make_disk(tmp_path / "disk", esp.path)
    with machine() as m:
        m.start(wait=False)
        for entry in ("b-counted", "a-last", "c-bad"):
            m.wait_for(rf"{entry}\.conf: /comes-back\.efi came back")
        m.wait_for("no entry can be started, back to firmware")
    assert entry_files(tmp_path / "disk") == ["a-last.conf", "b-counted+2-1.conf", "c-bad+0-4.conf"]


@pytest.mark.skipif(bool(signing.missing()), reason="missing: " + ", ".join(signing.missing()))
@pytest.mark.skipif(not shutil.which("swtpm"), reason="missing: swtpm")
def test_x64_asks_an_older_shim_and_measures(x64, tmp_path):
    """Calling conventions differ between firmware and shim here."""
    esp, _ = x64
    sign, programs = signing.firmware_key().sign, BUILD / "x64/tests/e2e/efi"
    esp.add_file("/EFI/BOOT/BOOTX64.EFI", sign(programs / "lock.efi"))
    esp.add_file("/EFI/BOOT/next.efi", sign(BUILD / "granule-bootx64.efi"))
    esp.add_file("/trusted.efi", (programs / "report.efi").read_bytes() + MARK)
    esp.add_file("/other.efi", programs / "report.efi")
    (esp.path / "loader/entries/a-trusted.conf").write_text("efi /trusted.efi\noptions some words\n")
    (esp.path / "loader/entries/b-other.conf").write_text("efi /other.efi\n")
    make_disk(tmp_path / "disk", esp.path)
    with (Swtpm() as tpm,
          Machine(tmp_path, tmp_path / "disk", firmware="ovmf-secure", more=tpm.arguments("tpm-tis")) as m):
        m.start(wait=False)
        report = Report(m)
        assert f"b-other.conf: /other.efi: {REFUSED}" in m.console
    assert [e.text for e in report.of(12) if e.type == EV_IPL] == ["some words"]
    assert all(report.replay(pcr) == report.registers[pcr] for pcr in (5, 12))
