# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries that come back: counted tries, and what loader.conf wants done."""

import subprocess

import pytest

from guest import BUILD, ESP_START, kernel
from machine import READY

REPORT = BUILD / "aa64/tests/e2e/efi/report.efi"


def entry_files(disk):
    out = subprocess.run(["mdir", "-b", "-i", f"{disk}@@{ESP_START}", "::/loader/entries"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return sorted(line.rsplit("/", 1)[1] for line in out.split())


@pytest.fixture
def failing(esp):
    """A counted entry whose program comes back, and a kernel behind it in the menu."""
    esp.add_file("/comes-back.efi", REPORT)
    esp.add_file("/kernel", kernel("4k"))
    (esp.path / "loader/entries/b-fails+2.conf").write_text("title fails\nefi /comes-back.efi\n")
    esp.add_entry("a-kernel", "/kernel", "1")
    return esp


def booted(machine):
    return machine.ok("granule status --json | grep '\"entry\"'").split('"')[3]


def test_the_next_choice_boots_and_the_try_is_counted(failing, boot):
    m = boot()
    assert booted(m) == "a-kernel.conf" and "resetting" not in m.console
    m.power_off()
    assert entry_files(m.disk) == ["a-kernel.conf", "b-fails+1-1.conf"]


def test_reboot_on_error_auto_uses_up_the_tries_first(failing, boot):
    (failing.path / "loader/loader.conf").write_text("reboot-on-error auto\n")
    m = boot()
    assert booted(m) == "a-kernel.conf"
    # One reset while a try is left; the last failure goes on to the next choice.
    assert m.console.count("reboot-on-error: resetting") == 1
    m.power_off()
    assert entry_files(m.disk) == ["a-kernel.conf", "b-fails+0-2.conf"]


def test_reboot_on_error_never_repeats_an_entry_without_a_counter(failing, boot):
    (failing.path / "loader/entries/b-fails+2.conf").rename(failing.path / "loader/entries/b-fails.conf")
    (failing.path / "loader/loader.conf").write_text("reboot-on-error yes\n")
    m = boot()
    assert booted(m) == "a-kernel.conf" and "resetting" not in m.console


def test_reboot_on_error_yes_resets_when_nothing_is_left(failing, boot):
    (failing.path / "loader/entries/a-kernel.conf").unlink()
    (failing.path / "loader/entries/b-fails+2.conf").rename(failing.path / "loader/entries/b-fails.conf")
    (failing.path / "loader/loader.conf").write_text("reboot-on-error yes\n")
    m = boot(wait=False)
    for _ in range(2):
        m.wait_for("reboot-on-error: resetting")


def test_boot_counting_can_be_switched_off(failing, boot):
    (failing.path / "loader/loader.conf").write_text("boot-counting no\n")
    m = boot()
    assert booted(m) == "a-kernel.conf"
    m.power_off()
    assert entry_files(m.disk) == ["a-kernel.conf", "b-fails+2.conf"]


@pytest.mark.parametrize("firmware", ["uboot"], indirect=True)
def test_where_ids_fill_the_variable_store_what_runs_is_told_all_the_same(esp, boot):
    """U-Boot has 16 KiB for all variables."""
    esp.add_file("/kernel", kernel("4k"))
    for i in range(455):
        esp.add_entry(f"entry-{i:04}", "/kernel", "1")
    m = boot()
    names = m.ok("ls /sys/firmware/efi/efivars")
    assert "GranuleBoot-" in names and "LoaderEntrySelected-" in names
    assert "LoaderEntries-" not in names


def test_after_an_entry_that_a_person_picked_failed_the_menu_comes_again(failing, boot):
    (failing.path / "loader/loader.conf").write_text("timeout menu-force\n")
    (failing.path / "loader/entries/b-fails+2.conf").rename(failing.path / "loader/entries/b-fails.conf")
    m = boot(wait=False)
    m.wait_for(r"boots by itself: b-fails\.conf", timeout=60)
    m.send("\r")
    # Its program has come back; what boots now is another entry, and the menu says why.
    m.wait_for(r"b-fails\.conf: /comes-back\.efi came back", timeout=60)
    m.wait_for(r"boots by itself: a-kernel\.conf", timeout=60)
    m.wait_for(r"b-fails\.conf: /comes-back\.efi came back", timeout=60)
    m.send("\r")
    m.wait_for(READY)
    assert booted(m) == "a-kernel.conf"
    assert "b-fails.conf: /comes-back.efi came back" in m.ok("granule status")


def test_a_fallback_from_a_counted_entry_is_told_after_the_boot(failing, boot):
    (failing.path / "loader/entries/b-fails+2.conf").rename(failing.path / "loader/entries/b-fails+0-2.conf")
    m = boot()
    assert "first entry in menu order; no tries left: b-fails.conf" in m.ok("granule status")
    assert "no tries left: b-fails.conf" in m.console
