# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot counting in file names (Boot Loader Specification, "Boot counting"): a try is spent before the kernel starts, an
entry without tries left is not chosen by itself, and nothing about it keeps a machine from booting."""

import json

import pytest

from guest import kernel
from machine import ARM64_FIRMWARE
from test_main_job import add_all_sizes, refuses_to_run, status

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)

ENTRIES = "/efi/loader/entries"
LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def variable(machine, name):
    """Text of a Loader* variable, or None."""
    code, out = machine.run(f"od -v -An -t x1 /sys/firmware/efi/efivars/{name}-{LOADER} 2>/dev/null")
    return bytes.fromhex(out.replace("\n", " "))[4:].decode("utf-16-le").rstrip("\0") if code == 0 else None


def names(machine, folder=ENTRIES):
    return machine.ok(f"ls -1 {folder}").split("\n")


def states(machine):
    return {e["id"]: (e["state"], e["tries_left"], e["tries_done"])
            for e in json.loads(machine.ok("granule list --json"))["entries"]}


def add_counted(esp, name, sort_key="00000"):
    """Three good entries, and a counted one before them in menu order."""
    add_all_sizes(esp)
    esp.add_entry(name, "/kernels/64k", "9", sort_key=sort_key)


def test_tries_are_spent_one_a_boot_and_the_last_good_entry_boots_then(esp, boot):
    add_counted(esp, "new+2")
    m = boot()
    for left, done in ((1, 1), (0, 2)):
        assert (m.page_size(), status(m)["entry"]) == (65536, "new.conf")
        assert f"new+{left}-{done}.conf" in names(m) and len(names(m)) == 4
        assert variable(m, "LoaderBootCountPath") == f"\\loader\\entries\\new+{left}-{done}.conf"
        assert variable(m, "LoaderEntrySelected") == "new.conf"
        assert states(m)["new.conf"] == ("bad" if not left else "indeterminate", left, done)
        m.reboot()
    for _ in range(2):
        assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")
        assert "new+0-2.conf" in names(m), "an entry that is not booted spends nothing"
        assert variable(m, "LoaderBootCountPath") is None, "the booted entry has no counter"
        assert variable(m, "LoaderEntries").split("\0")[3] == "new.conf", "last in the menu"
        m.reboot()


def test_padded_counters_keep_the_length_of_the_name(esp, boot):
    add_counted(esp, "new+10-00")
    m = boot()
    assert "new+09-01.conf" in names(m)
    m.reboot()
    assert "new+08-02.conf" in names(m) and status(m)["entry"] == "new.conf"


def test_a_one_shot_boots_an_exhausted_entry_and_its_count_goes_on(esp, boot):
    add_counted(esp, "new+0-3")
    m = boot()
    assert status(m)["entry"] == "test-4k.conf"
    m.ok("granule once new")
    m.reboot()
    assert status(m)["entry"] == "new.conf" and "new+0-4.conf" in names(m)
    assert variable(m, "LoaderBootCountPath") == "\\loader\\entries\\new+0-4.conf"
    m.reboot()
    assert status(m)["entry"] == "test-4k.conf"


def test_a_default_by_id_or_pattern_names_a_counted_entry_until_it_is_exhausted(esp, boot):
    add_counted(esp, "new+1", sort_key="99999")
    (esp.path / "loader/loader.conf").write_text("default n?w.conf\n")
    m = boot()
    assert status(m)["entry"] == "new.conf" and "new+0-1.conf" in names(m)
    m.reboot()
    assert status(m)["entry"] == "test-4k.conf"
    assert "new.conf" in m.console or "n?w.conf" in m.console, "said why the default does not boot"


def test_a_kernel_that_comes_back_has_spent_its_try_and_the_next_entry_boots(esp, boot):
    add_counted(esp, "new+2")
    esp.add_file("/kernels/bad", refuses_to_run(kernel("64k").read_bytes()))
    esp.add_entry("bad+2", "/kernels/bad", "10", sort_key="00000")
    m = boot()
    assert status(m)["entry"] == "new.conf"
    assert {"bad+1-1.conf", "new+1-1.conf"} < set(names(m))
    assert variable(m, "LoaderBootCountPath") == "\\loader\\entries\\new+1-1.conf"


def test_a_taken_new_name_does_not_stop_the_boot(esp, boot):
    """Both names of one id are there: the rename fails."""
    add_counted(esp, "new+2")
    esp.add_entry("new+1-1", "/kernels/16k", "9", sort_key="00000")
    m = boot()
    assert (m.page_size(), status(m)["entry"]) == (65536, "new.conf")
    assert "new+2.conf" in names(m) and "new+1-1.conf" in names(m)
    assert "boot not counted" in m.console
    assert variable(m, "LoaderBootCountPath") == "\\loader\\entries\\new+2.conf", "the file that can be blessed"


def test_when_every_entry_is_exhausted_the_first_boots_and_says_so(esp, boot):
    for size, done in (("4k", 3), ("64k", 1)):
        esp.add_file(f"/kernels/{size}", kernel(size))
        esp.add_entry(f"test-{size}+0-{done}", f"/kernels/{size}", "1", sort_key=size)
    m = boot()
    assert m.page_size() in (4096, 65536)
    chosen = status(m)["entry"]
    assert variable(m, "LoaderEntries").split("\0")[0] == chosen
    assert status(m)["reason"] in m.console


def test_the_end_of_a_release_is_no_counter(esp, boot):
    add_all_sizes(esp)
    esp.add_entry("6.12+64k", "/kernels/64k", "9", sort_key="00000")
    m = boot()
    assert status(m)["entry"] == "6.12+64k.conf" and "6.12+64k.conf" in names(m)
    assert variable(m, "LoaderBootCountPath") is None
