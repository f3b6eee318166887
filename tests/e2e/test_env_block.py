# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment block on the EFI system partition: the boot manager reads it, and clears its one-shot."""

import json
import subprocess

import pytest

from guest import ESP_START, copy_to_esp, read_from_esp, run
from machine import ARM64_FIRMWARE
from test_main_job import add_all_sizes, status

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)
FILE = "/EFI/granule/grubenv"


def block(*lines):
    return ("# GRUB Environment Block\n" + "".join(f"{line}\n" for line in lines)).encode().ljust(1024, b"#")


def clusters(disk):
    return run("mshowfat", "-i", f"{disk}@@{ESP_START}", f"::{FILE}", stdout=subprocess.PIPE).stdout


def test_a_one_shot_of_the_block_boots_once_and_the_file_stays_where_it_is(esp, boot, tmp_path):
    add_all_sizes(esp)
    esp.add_file(FILE, block("# mine", "next_entry=test-64k", "saved_entry=test-16k.conf", "other=1"))
    m = boot(wait=False)
    before = clusters(m.disk)
    m.wait_for("@@READY@@")
    s = status(m)
    assert (m.page_size(), s["reason"]) == (65536, "one-shot (environment block)")
    assert s["next"] == {"id": "test-16k.conf", "page_size": "16k", "reason": "default entry (environment block)"}
    m.reboot()
    assert m.page_size() == 16384
    m.power_off()
    assert read_from_esp(m.disk, FILE) == block("# mine", "saved_entry=test-16k.conf", "other=1")
    assert clusters(m.disk) == before

    # A policy is one more key; a block that is switched off is neither read nor written.
    (esp.path / "loader/loader.conf").write_text("page-size 16k\n")
    esp.add_file(FILE, block("granule_page_size=64k"))
    copy_to_esp(m.disk, esp.path)
    m.start()
    assert (m.page_size(), status(m)["policy"]) == (65536, "64k")
    m.power_off()
    (esp.path / "loader/loader.conf").write_text("page-size 16k\nenv-block no\n")
    esp.add_file(FILE, block("next_entry=test-64k"))
    copy_to_esp(m.disk, esp.path)
    m.start()
    assert m.page_size() == 16384
    m.power_off()
    assert read_from_esp(m.disk, FILE) == block("next_entry=test-64k")


@pytest.mark.parametrize("damage, why", [(b"", "truncated"), (block()[:-1] + b"x", "syntax"), (block() * 2, "too large")],
                         ids=["empty", "syntax", "long"])
def test_a_damaged_block_is_passed_over_with_a_line(esp, boot, damage, why):
    add_all_sizes(esp)
    esp.add_file(FILE, damage)
    m = boot()
    lines = [line for line in m.console.splitlines() if FILE in line]
    assert len(lines) == 1 and "passed over: " in lines[0] and why in lines[0]
    assert m.page_size() == 4096
    m.power_off()
    assert read_from_esp(m.disk, FILE) == damage


@pytest.mark.not_on("uboot", "it writes to files that are marked read-only, and a running system stores no variable")
def test_a_one_shot_that_stays_in_the_block_is_not_obeyed_and_a_variable_wins(esp, boot):
    add_all_sizes(esp)
    esp.add_file(FILE, block("next_entry=test-64k"))
    m = boot(wait=False)
    m.kill()
    run("mattrib", "+r", "-i", f"{m.disk}@@{ESP_START}", f"::{FILE}")
    m.start()
    assert "one-shot (environment block) test-64k: not honoured, it could not be cleared" in m.console
    assert m.page_size() == 4096
    assert json.loads(m.run("granule verify --json")[1])["broken_link"] == "loader"
    # Not so when it can be cleared again; and then a variable wins, and both are gone.
    m.power_off()
    run("mattrib", "-r", "-i", f"{m.disk}@@{ESP_START}", f"::{FILE}")
    m.start()
    assert m.page_size() == 65536
    m.ok("granule once 16k")
    m.power_off()
    copy_to_esp(m.disk, esp.path)
    m.start()
    assert (m.page_size(), status(m)["reason"]) == (16384, "one-shot")
    m.power_off()
    assert read_from_esp(m.disk, FILE) == block()
