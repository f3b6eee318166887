# SPDX-License-Identifier: GPL-2.0-or-later
"""What systemd's units run besides the verdict: one-shots that are taken back, deadlines, and entries of trials that are
not blessed; and systemd-boot's ids."""

import os

import pytest

import images
from boots import Boots, lay_out, trial_files
from system import PLAIN

OLD, NEW = "systemd-boot 257.7-1", "systemd-boot 258-1"


@pytest.fixture(params=["granule-boot 0.1.0", OLD])
def machine(request, system):
    """With a 4K entry that has been verified, and a watchdog."""
    system.loader(name=request.param, features=1 << 2 | 1 << 3 | 1 << 8)
    lay_out(system, ("4k", "64k"))
    boots = Boots(system)
    boots.boot(record=False)
    assert boots.verify().returncode == 0
    return system


@pytest.fixture
def boots(machine):
    return Boots(machine)


def systemd_says(machine, jobs):
    """A systemctl that answers with these jobs."""
    tool = machine.root / "bin/systemctl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat <<END\n{jobs}\nEND\n")
    tool.chmod(0o755)
    machine.env["PATH"] = f"{tool.parent}:{os.environ['PATH']}"


# ---- disarm ----


def test_disarm_gives_up_a_trial_that_waits(machine, boots):
    machine.ok("try", "64k")
    assert trial_files(machine)
    machine.ok("disarm", "kexec")
    assert machine.variable("LoaderEntryOneShot") is None and trial_files(machine) == []
    line = boots.history()[-1]
    assert line["verdict"] == "canceled" and "restarted by kexec, past the boot loader" in line["reason"]
    assert boots.record("trial") is None


def test_disarm_takes_back_a_one_shot_of_the_owners(machine, boots):
    machine.ok("once", "64k")
    machine.ok("disarm", "soft-reboot")
    assert machine.variable("LoaderEntryOneShot") is None
    assert boots.next() == "os-4k.conf"


def test_disarm_leaves_the_trial_that_runs(machine, boots):
    machine.ok("try", "64k")
    boots.boot(record=False)
    machine.ok("disarm", "soft-reboot")
    assert boots.verify().returncode == 0
    assert boots.verdicts()[-1] == ("boot", "passed")


def test_disarm_without_the_partition_clears_the_variable(machine, boots):
    machine.ok("try", "64k")
    (machine.root / "efi").rename(machine.root / "gone")
    machine.run("disarm", "kexec")
    assert machine.variable("LoaderEntryOneShot") is None
    (machine.root / "gone").rename(machine.root / "efi")
    # The next boot finds out.
    boots.boot(record=False)
    boots.verify()
    assert boots.record("trial")["stage"] == "failed" and trial_files(machine) == []


@pytest.mark.parametrize("jobs, way", [
    ("165 kexec.target start waiting\n166 umount.target start waiting", "kexec"),
    ("  7 soft-reboot.target start running", "soft-reboot"),
    ("165 reboot.target start waiting", None),
    ("165 kexec.target stop waiting", None),
    ("165 not-kexec.target start waiting", None),
    ("No jobs running.", None),
])
def test_disarm_goes_by_what_systemd_is_about_to_do(machine, boots, jobs, way):
    systemd_says(machine, jobs)
    machine.ok("try", "64k")
    machine.ok("disarm")
    assert (machine.variable("LoaderEntryOneShot") is None) == bool(way)
    assert not way or way in boots.history()[-1]["reason"]


def test_disarm_is_for_units_and_not_in_the_help(machine):
    assert "disarm" not in machine.ok("--help", root=False)
    assert machine.run("disarm", "kexec", "again").returncode == 2


# ---- ids of systemd-boot ----


@pytest.mark.parametrize("loader, counter_in_id", [(OLD, True), (NEW, False)])
def test_an_old_systemd_boot_has_the_counter_in_the_id_of_what_it_booted(system, loader, counter_in_id):
    system.loader(name=loader, features=1 << 2 | 1 << 3 | 1 << 8)
    system.entry("os+2-1", images.arm64(1))
    system.entry("os2+64", images.arm64(1))
    system.set_variable("LoaderEntrySelected", "os+2-1.conf" if counter_in_id else "os.conf")
    assert system.json("status")["entry"] == "os.conf"
    assert system.entries()["os.conf"]["running"]
    # A name of somebody's that only looks as if.
    system.set_variable("LoaderEntrySelected", "os2+64.conf")
    assert system.json("status")["entry"] == ("os2.conf" if counter_in_id else "os2+64.conf")


def test_a_trial_is_known_by_an_id_with_a_counter(system):
    system.loader(name=OLD, features=1 << 2 | 1 << 3 | 1 << 8)
    for i, (size, bits) in enumerate({"4k": 1, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    boots = Boots(system)
    boots.boot(record=False)
    boots.verify()
    system.ok("try", "64k", "--force")
    boots.boot(record=False)
    system.set_variable("LoaderEntrySelected", "os-64k-trial+0.conf")
    (trial,) = (system.efi / "loader/entries").glob("*trial*")
    trial.rename(trial.with_name("os-64k-trial+0-1.conf"))
    assert boots.verify().returncode == 0
    assert boots.verdicts()[-1] == ("boot", "passed") and boots.next() == "os-64k.conf"
    assert trial_files(system) == []


def test_a_counted_entry_that_passes_is_the_default_under_either_name(system):
    """While its trial's entry is still there, whose name goes on from its own."""
    system.loader(name=OLD, features=1 << 2 | 1 << 3 | 1 << 8)
    system.entry("os-4k", images.arm64(1), version="6.1", sort_key="key0")
    system.entry("os-64k+3", images.arm64(3), version="6.1", sort_key="key1")
    boots = Boots(system)
    boots.boot(record=False)
    boots.verify()
    system.ok("try", "os-64k", "--force")
    boots.boot(record=False)
    boots.verify()
    assert boots.verdicts()[-1] == ("boot", "passed")
    assert system.variable("LoaderEntryDefault") == "os-64k*.conf"


# ---- bless-boot, deadline ----


def test_a_mark_tells_that_a_trial_has_an_entry_of_its_own(machine, boots):
    mark = machine.root / "run/granule/trial-entry"
    mark.parent.parent.mkdir()
    boots.boot(record=False)
    boots.verify()
    assert not mark.exists()
    machine.ok("try", "64k")
    boots.boot(record=False)
    boots.verify()
    assert mark.exists()


def watch(machine):
    """A deadline that lies behind; without sanitizers, as it may have to wait."""
    machine.program = PLAIN
    return machine.run("verify", "--watch")


def test_the_deadline_of_a_trial_whose_state_is_out_of_reach_is_that_of_the_settings(machine, boots):
    machine.ok("try", "64k", "--deadline", "2d")
    boots.boot(record=False, uptime=601.0)
    (machine.root / "var/lib").rename(machine.root / "var/unmounted")
    done = watch(machine)
    assert done.returncode == 1 and "deadline: no verdict, and none can be recorded" in done.stderr
    # Nothing is left in the folder that something is to be mounted on.
    assert not (machine.root / "var/lib").exists()


def test_a_boot_that_is_no_trial_is_not_watched_when_the_state_is_out_of_reach(machine, boots):
    boots.boot(record=False, uptime=10000.0)
    (machine.root / "var/lib").rename(machine.root / "var/unmounted")
    done = watch(machine)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (machine.root / "var/lib").exists()


def test_a_trial_that_has_its_verdict_is_not_watched(machine, boots):
    machine.ok("try", "64k", "--deadline", "60")
    boots.boot(record=False, uptime=10.0)
    boots.verify()
    (machine.root / "proc/uptime").write_text("100.0 1.0\n")
    assert watch(machine).returncode == 0
    assert boots.verdicts()[-1] == ("boot", "passed")


def test_a_trial_without_verdict_fails_at_its_deadline(machine, boots):
    machine.ok("try", "64k", "--deadline", "60")
    boots.boot(record=False, uptime=60.5)
    assert watch(machine).returncode == 1
    assert boots.verdicts()[-1] == ("boot", "failed")
    assert "no verdict 60 s after the kernel started" in boots.history()[-1]["reason"]
