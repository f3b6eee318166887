# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import re
import struct
import subprocess

import pytest

BOOT = {"time": "2026-11-30T22:15:05Z", "boot_id": "b0", "kind": "boot", "entry": "os-6.1-4k.conf", "entry_asked": None,
        "release": "6.1-4k", "page_size": "4k", "page_size_asked": None, "trial": False, "verdict": "ok", "reason": None,
        "boot_seconds": 12.3, "loader": "granule-boot 0.1.0"}
LONG = "os-" + "0123456789abcdef" * 4 + "-64k-trial.conf"
REASON = "unit database.service: failed; check 10-storage: the last line of its output is long enough to be broken"


@pytest.fixture
def machine(system):
    system.env["TZ"] = "UTC"
    system.env["LC_ALL"] = "C.UTF-8"
    return system


def write(system, *lines, name="history.jsonl"):
    folder = system.root / "var/lib/granule"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))


def test_without_a_history_it_says_so(machine):
    assert machine.ok("history") == "There is no history yet.\n"
    assert machine.json("history") == {"lines": [], "damaged": 0}
    assert not (machine.root / "var").exists()


def test_the_newest_line_is_last_and_the_clock_does_not_count(machine):
    write(machine, {**BOOT, "release": "first"}, name="history.jsonl.1")
    write(machine, {**BOOT, "release": "second", "time": "1970-01-01T00:00:05Z"})
    rows = machine.ok("history").splitlines()
    assert rows[0].split() == ["TIME", "SIZE", "ASKED", "VERDICT", "BOOT", "KERNEL,", "REASON"]
    assert rows[1].split() == ["2026-11-30", "22:15", "4K", "ok", "12.3s", "first"]
    assert rows[2].split() == ["1970-01-01", "00:00", "4K", "ok", "12.3s", "second"]


def test_times_are_those_of_the_reader(machine):
    write(machine, BOOT)
    machine.env["TZ"] = "XYZ-3"
    assert "\n2026-12-01 01:15 " in machine.ok("history")


def test_lines_bounds_the_number_of_lines(machine):
    write(machine, *({**BOOT, "release": f"r{i}"} for i in range(5)))
    assert re.findall(r"r\d", machine.ok("history", "--lines", "2")) == ["r3", "r4"]
    assert [line["release"] for line in json.loads(machine.ok("history", "--json", "--lines=3"))["lines"]] == \
        ["r2", "r3", "r4"]
    assert len(machine.ok("history", "--lines=0").splitlines()) <= 1
    assert len(re.findall(r"r\d", machine.ok("history", "--lines=4000000000"))) == 5
    for wrong in ("x", "-1", "", "99999999999"):
        done = machine.run("history", f"--lines={wrong}")
        assert done.returncode == 2 and "not a number" in done.stderr
    assert machine.run("status", "--lines=1").returncode == 2


def test_a_trial_is_told_from_the_request_to_the_verdict(machine):
    trial = {**BOOT, "trial": True, "release": "6.1-64k", "page_size": "64k", "page_size_asked": "64k"}
    write(machine, {**trial, "kind": "request", "verdict": "armed", "page_size": None, "boot_seconds": None},
          {**trial, "verdict": "failed", "reason": "check 10-x: failed"},
          {**BOOT, "verdict": "failed", "reason": "swap UUID=1: not in use"},
          {**trial, "kind": "trial", "verdict": "not-come-up", "page_size": None, "boot_seconds": 123.45})
    assert [line[17:].rstrip() for line in machine.ok("history").splitlines()] == [
        "SIZE ASKED VERDICT      BOOT  KERNEL, REASON",
        "     64K   armed              6.1-64k",
        "64K  64K   trial failed 12.3s 6.1-64k: check 10-x: failed",
        "4K         failed       12.3s 6.1-4k: swap UUID=1: not in use",
        "     64K   not-come-up  123s  6.1-64k",
    ]


@pytest.mark.parametrize("changes", [{"release": None, "entry": LONG}, {"reason": REASON}, {"reason": "x" * 300},
                                     {"reason": "überprüfung äöü " * 10}, {"verdict": "nothing-asked"},
                                     {"boot_seconds": 1e300}, {"reason": " " * 100}])
def test_the_table_fits_80_columns_and_loses_nothing(machine, changes):
    write(machine, {**BOOT, **changes})
    out = machine.ok("history")
    assert all(len(line) <= 80 for line in out.splitlines()), out
    start = out.index("KERNEL")
    last = "".join(line[start:] for line in out.splitlines()[1:]).replace(" ", "")
    wanted = (changes.get("entry") or BOOT["release"]) + (": " + changes["reason"] if changes.get("reason") else "")
    assert last == wanted.replace(" ", "")


def test_a_wide_terminal_is_used(machine):
    import fcntl
    import pty
    import termios

    write(machine, {**BOOT, "reason": REASON})
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    done = subprocess.Popen([machine.program, "history", "--root", machine.root], env=machine.env, stdout=slave)
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        out += piece
    assert done.wait(10) == 0 and len(out.splitlines()) == 2 and REASON.encode() in out


def test_lines_of_a_newer_granule_are_shown_as_they_are(machine):
    write(machine, {**BOOT, "verdict": "brand-new", "kind": "new", "page_size": "32k", "more": [1]},
          {**BOOT, "verdict": 5, "release": ["x"], "reason": {}, "time": 7, "boot_seconds": "x", "trial": "x"}, {})
    out = machine.ok("history")
    assert "32k        brand-new" in out and len(out.splitlines()) == 4
    assert machine.json("history")["lines"][0]["more"] == [1]


def test_damaged_lines_are_counted_and_a_terminal_gets_no_orders(machine):
    write(machine, BOOT, "{", {**BOOT, "reason": "a\x1b[1mb\nc"}, "\x00\x00")
    done = machine.run("history")
    assert done.returncode == 0 and "\x1b" not in done.stdout and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("\n") == 1 and "history.jsonl: 2 lines are damaged; passed over" in done.stderr
    assert machine.json("history")["damaged"] == 2
