# SPDX-License-Identifier: GPL-2.0-or-later
"""Why an earlier boot died, from what it left in pstore. The texts are those of real kernels."""

import json
import os
import subprocess

import pytest

from system import TOP

PROBE = TOP / "build/asan/probe"
PSTORE, KEPT = "sys/fs/pstore", "var/lib/systemd/pstore"
NEW = 1_764_600_000

INIT = """<6>[    2.101000][    T1] Run /init as init process
<0>[    2.420000][    T1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100
<4>[    2.421000][    T1] CPU: 0 PID: 1 Comm: init Not tainted 6.1.0-64k #1
"""
FAULT = """<1>[    3.000000][   T77] Unable to handle kernel paging request at virtual address dead000000000122
<0>[    3.100000][   T77] Internal error: Oops: 0000000096000004 [#1] SMP
"""
FATAL = "<0>[    3.200000][   T77] Kernel panic - not syncing: Oops: Fatal exception\n"


class Dumps:
    def __init__(self, root):
        self.root = root

    def add(self, name, text, time=NEW, folder=PSTORE):
        file = self.root / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (time, time))
        return file

    def ask(self, *known):
        done = subprocess.run([PROBE, "crash", self.root, *known], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done
        return json.loads(done.stdout)

    def reason(self, *known):
        return self.ask(*known)["reason"]


@pytest.fixture
def dumps(tmp_path):
    return Dumps(tmp_path)


def test_nothing_left_behind_tells_nothing(dumps):
    assert dumps.ask() == {"dumps": [], "reason": None}


@pytest.mark.parametrize("folder", [PSTORE, KEPT, f"{KEPT}/1764600000", f"{KEPT}/1764600000/001"])
def test_the_panic_line_is_the_reason(dumps, folder):
    dumps.add("dmesg-efi_pstore-176460000001001", "Panic#1 Part1\n" + INIT, folder=folder)
    assert dumps.reason() == "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100"


def test_a_dump_that_was_known_before_tells_nothing_new_wherever_it_lies_now(dumps):
    text = "Panic#1 Part1\n" + INIT
    file = dumps.add("dmesg-ramoops-0", text)
    known = dumps.ask()["dumps"]
    assert len(known) == 1 and known[0].startswith("dmesg-ramoops-0 ")
    assert dumps.reason(*known) is None
    file.unlink()
    dumps.add("dmesg-ramoops-0", text, folder=KEPT, time=NEW + 500)
    assert dumps.ask(*known) == {"dumps": known, "reason": None}


def test_a_name_that_is_used_again_for_another_dump_is_a_new_one(dumps):
    dumps.add("dmesg-ramoops-0", "Panic#1 Part1\n" + INIT)
    known = dumps.ask()["dumps"]
    dumps.add("dmesg-ramoops-0", "Panic#1 Part1\n" + INIT.replace("100", "200"))
    assert dumps.reason(*known).endswith("exitcode=0x00000200")


def test_parts_are_read_from_the_earliest_on(dumps):
    """Part 1 is the end of the log."""
    dumps.add("dmesg-erst-7", "Oops#1 Part1\n<0>[4.0] Internal error: Oops: second\n")
    dumps.add("dmesg-erst-8", "Oops#1 Part3\n<6>[1.0] hello\n")
    dumps.add("dmesg-erst-9", "Oops#1 Part2\n<0>[3.0] Internal error: Oops: first\n")
    assert dumps.reason() == "Internal error: Oops: first"


def test_a_panic_that_ends_a_fault_is_told_with_the_fault(dumps):
    dumps.add("dmesg-efi-176460000001001", "Panic#2 Part1\n" + FATAL)
    dumps.add("dmesg-efi-176460000002001", "Panic#2 Part2\n" + FAULT)
    assert dumps.reason() == ("Kernel panic - not syncing: Oops: Fatal exception (Unable to handle kernel paging "
                              "request at virtual address dead000000000122)")


def test_the_newest_set_counts_and_a_panic_more_than_the_oops_before_it(dumps):
    dumps.add("dmesg-efi-176450000001001", "Panic#1 Part1\n" + INIT, time=NEW + 500)
    dumps.add("dmesg-efi-176460000001001", "Oops#1 Part1\n" + FAULT)
    dumps.add("dmesg-efi-176460000101002", "Panic#2 Part1\n" + FAULT + FATAL)
    assert dumps.reason().startswith("Kernel panic - not syncing: Oops: Fatal exception (Unable to handle")
    for file in (dumps.root / PSTORE).glob("*1764600*"):
        file.unlink()
    assert "Attempted to kill init!" in dumps.reason()


def test_logs_of_ordinary_shutdowns_are_no_crash(dumps):
    dumps.add("dmesg-ramoops-0", "Shutdown#1 Part1\n<6>[9.0] reboot: Restarting\n<0>[8.0] BUG: old news\n")
    assert dumps.reason() is None


@pytest.mark.parametrize("text,want", [
    ("<0>[ 30.1] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [x:1]\n",
     "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [x:1]"),
    ("<3>[ 130.1] INFO: task mount:12 blocked for more than 120 seconds.\n",
     "INFO: task mount:12 blocked for more than 120 seconds."),
    ("<6>[ 1.0] all is well\n", None),
])
def test_without_a_dump_the_last_console_may_tell(dumps, text, want):
    dumps.add("console-ramoops-0", "<6>[0.0] Booting Linux\n" + text)
    assert dumps.reason() == want


def test_a_dump_counts_more_than_the_console(dumps):
    dumps.add("console-ramoops-0", "[ 1.0] BUG: console\n", time=NEW + 5)
    dumps.add("dmesg-ramoops-0", "Panic#1 Part1\n" + INIT)
    assert "Attempted to kill init!" in dumps.reason()


def test_a_dump_without_a_line_that_tells_is_named(dumps):
    file = dumps.add("dmesg-ramoops-0.enc.z", b"\x78\x9c\x00\x01\xff")
    assert dumps.reason() == f"the kernel crashed, its last messages are in {file}"[:200]


@pytest.mark.parametrize("text", [
    b"", b"\0" * 5000, b"\xff" * 5000, b"Panic#1 Part1", b"Panic#99999999999 Part1\n", b"\n" * 5000, b"[" * 5000,
    b"<0>[    1.0] Kernel panic - not syncing: \x1b[2J\x1b]0;evil\x07 \xff\xfe" + b"A" * 5000 + b"\nB",
    b"Kernel panic - not syncing" * 1000,
])
def test_whatever_a_dump_holds_the_reason_is_one_line_that_can_be_printed(dumps, text):
    dumps.add("dmesg-ramoops-0", text)
    dumps.add("dmesg-ramoops-1", b"Oops#1 Part1\n" + text)
    reason = dumps.reason()
    assert reason and len(reason) <= 200 and reason.isascii() and reason.isprintable()


def test_files_that_are_none_of_ours_are_left_alone(dumps):
    dumps.add("dmesg.txt", "Panic#1 Part1\n" + INIT, folder=f"{KEPT}/1764600000")
    dumps.add("pmsg-ramoops-0", "Kernel panic - not syncing: x\n")
    folder = dumps.root / PSTORE
    os.mkfifo(folder / "dmesg-fifo-0")
    os.symlink(dumps.add("elsewhere", "Panic#1 Part1\n" + INIT, folder="x"), folder / "dmesg-link-0")
    (folder / "dmesg-large-0").write_bytes(b"Panic#1 Part1\n" + b"x" * (2 << 20))
    deep = folder / "a/b/c/d"
    deep.mkdir(parents=True)
    (deep / "dmesg-ramoops-0").write_text("Panic#1 Part1\n" + INIT)
    assert dumps.ask() == {"dumps": [], "reason": None}


@pytest.mark.parametrize("status,want", [
    ("32", "the watchdog reset the machine"), ("33", "the watchdog reset the machine"), ("0", None), ("1", None),
    ("-1", None), ("nonsense", None), ("99999999999999999999", None), ("", None),
])
def test_the_watchdog_may_tell_when_nothing_else_does(dumps, status, want):
    dumps.add("bootstatus", status + "\n", folder="sys/class/watchdog/watchdog1")
    dumps.add("bootstatus", "0\n", folder="sys/class/watchdog/watchdog0")
    assert dumps.reason() == want
    dumps.add("dmesg-ramoops-0", "Panic#1 Part1\n" + INIT)
    assert "Attempted to kill init!" in dumps.reason()
