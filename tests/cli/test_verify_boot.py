# SPDX-License-Identifier: GPL-2.0-or-later
"""What verify --boot makes of the health of a system, as an owner sees it: lines, exit codes, JSON."""

import json

import pytest

import images
from boots import Boots

ROOT = "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
DATA = "23 22 0:40 / /data rw - zfs tank/data rw\n"
TRIAL = "os-64k-trial.conf"


class Server:
    """A machine with a ZFS file system on /data, whose 4K entry has been found in order."""

    def __init__(self, system):
        self.system, self.boots, self.root = system, Boots(system), system.root
        system.loader()
        for i, (size, bits) in enumerate({"4k": 1, "64k": 3}.items()):
            system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
        watchdog = self.root / "sys/class/watchdog/watchdog0"
        watchdog.mkdir(parents=True)
        (watchdog / "state").write_text("active\n")
        (watchdog / "identity").write_text("test\n")

    def boot(self, mounts=ROOT + DATA, **keywords):
        self.boots.boot(**keywords)
        (self.root / "proc/self/mountinfo").write_text(mounts)

    def verify(self, *arguments):
        return self.system.run("verify", "--boot", *arguments)

    def check(self, name, text):
        file = self.root / "etc/granule/verify.d" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def baseline(self):
        return self.boots.record("verified")["baseline"]


@pytest.fixture
def server(system):
    server = Server(system)
    server.boot()
    assert server.verify().returncode == 0
    return server


def test_what_an_ordinary_boot_that_is_fine_looks_like_is_remembered(server):
    assert server.baseline() == {"failed_units": [], "swaps": [],
                                 "mounts": ["other /dev/sda2 /", "other tank/data /data"]}


def test_a_boot_that_is_not_in_order_is_told_line_by_line_and_is_no_standard_for_later_ones(server):
    before = server.baseline()
    server.check("app", "echo 'it does not answer'; exit 1")
    server.boot(mounts=ROOT)
    done = server.verify()
    assert (done.returncode, done.stdout.splitlines()) == \
        (1, ["FAILED: mount /data: missing", "FAILED: check app: exit code 1: it does not answer"])
    assert server.baseline() == before
    assert server.boots.history()[-1]["reason"] == \
        "mount /data: missing; check app: exit code 1: it does not answer"


def test_a_boot_can_be_judged_again_when_what_was_wrong_is_set_right(server):
    server.check("app", "exit 1")
    server.boot()
    assert server.verify().returncode == 1
    server.check("app", "exit 0")
    done = server.verify()
    assert done.returncode == 0 and done.stdout.startswith("ok: 4096-byte pages, entry os-4k.conf")


def test_a_change_on_purpose_is_found_in_each_boot_until_it_is_accepted(server):
    for _ in range(2):
        server.boot(mounts=ROOT)
        assert server.verify().returncode == 1
    done = server.verify("--force")
    assert done.returncode == 0
    assert done.stdout == "ok: 4096-byte pages, entry os-4k.conf; accepted: mount /data: missing\n"
    assert server.baseline()["mounts"] == ["other /dev/sda2 /"]
    assert server.boots.history()[-1]["reason"] == "accepted: mount /data: missing"
    server.boot(mounts=ROOT)
    assert server.verify().returncode == 0


def test_what_checks_say_is_not_accepted(server):
    server.check("app", "exit 1")
    server.boot(mounts=ROOT)
    done = server.verify("--force")
    assert (done.returncode, done.stdout) == (1, "FAILED: check app: exit code 1\n")
    assert "other tank/data /data" in server.baseline()["mounts"]


def test_nothing_is_accepted_in_a_trial(server):
    server.system.ok("try", "64k")
    server.boot(mounts=ROOT)
    done = server.verify("--force")
    assert done.returncode == 1 and "failed: mount /data: missing" in done.stdout
    assert server.boots.next() == "os-4k.conf"


def test_force_means_nothing_without_boot(server):
    done = server.system.run("verify", "--force")
    assert done.returncode == 2 and "--force goes with --boot only" in done.stderr


def test_a_trial_whose_check_takes_too_long_has_failed(server):
    (server.root / "etc/granule.conf").write_text("check-timeout = 1s\n")
    server.check("slow", "echo connecting; exec sleep 1000")
    server.system.ok("try", "64k")
    server.boot()
    done = server.verify()
    assert done.returncode == 1
    assert "failed: check slow: took longer than 1 s: connecting" in done.stdout
    assert server.boots.next() == "os-4k.conf"


def test_a_check_is_told_what_is_judged(server):
    server.check("note", f"echo $GRANULE_TRIAL $GRANULE_ENTRY >> {server.root}/told")
    server.boot()
    server.verify()
    server.system.ok("try", "64k")
    server.boot()
    server.verify()
    assert (server.root / "told").read_text().splitlines() == ["0 os-4k.conf", f"1 {TRIAL}"]


def test_a_system_in_ruins_does_not_fill_the_history(server):
    for i in range(30):
        server.check(f"c{i:02}", f"echo {'x' * 500}; exit 1")
    server.boot()
    done = server.verify()
    assert len(done.stdout.splitlines()) == 30 and max(map(len, done.stdout.splitlines())) < 300
    reason = server.boots.history()[-1]["reason"]
    assert len(reason) < 3000 and reason.endswith("; 20 more")


def test_json_tells_the_same_and_does_so_when_asked_again(server):
    server.check("app", "exit 1")
    server.boot(mounts=ROOT)
    done = server.verify("--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "ok": False, "trial": False, "page_size": 4096, "entry": "os-4k.conf", "rebooting": False,
        "problems": ["mount /data: missing", "check app: exit code 1"]}
    server.check("app", "exit 0")
    server.boot()
    good = {"ok": True, "trial": False, "page_size": 4096, "entry": "os-4k.conf", "rebooting": False, "problems": []}
    for _ in range(2):
        done = server.verify("--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, good)


def test_json_of_a_failed_trial_that_is_asked_again(server):
    server.check("app", "exit 1")
    server.system.ok("try", "64k")
    server.boot()
    first, second = server.verify("--json"), server.verify("--json")
    assert first.returncode == second.returncode == 1
    first, second = json.loads(first.stdout), json.loads(second.stdout)
    assert first["problems"] == second["problems"] == ["check app: exit code 1"]
    assert first["trial"] and second["trial"] and not second["rebooting"] and not second["ok"]
