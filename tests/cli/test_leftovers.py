# SPDX-License-Identifier: GPL-2.0-or-later
"""What trials leave behind when something goes wrong, and what looks like it and is somebody's own."""

import shutil

import pytest

import images
from boots import Boots, lay_out, trial_files

TRIAL = "os-64k-trial.conf"
SYSTEMD_BOOT = {"name": "systemd-boot 257.7", "features": 0x7F}


def start(system, **loader):
    """Started from the 4K entry, which has been verified; with a watchdog."""
    system.loader(**loader)
    lay_out(system)
    (system.root / "run").mkdir()
    (system.root / "etc/machine-id").write_text("0" * 32 + "\n")
    boots = Boots(system)
    boots.boot(record=not loader)
    assert boots.verify().returncode == 0
    return system


@pytest.fixture
def machine(system):
    return start(system)


@pytest.fixture
def boots(machine):
    return Boots(machine)


# ---- entries that no record tells of ----


def lose(machine, how):
    state = machine.root / "var/lib/granule"
    if how == "all":
        shutil.rmtree(state)
    elif how == "damaged":
        (state / "trial.json").write_text("garbage")
    else:
        (state / "trial.json").unlink()


@pytest.mark.parametrize("how", ["all", "damaged", "removed"])
@pytest.mark.parametrize("runs", ["os-4k.conf", TRIAL])
def test_the_entry_of_a_trial_whose_record_was_lost_goes(machine, boots, how, runs):
    machine.ok("try", "64k")
    lose(machine, how)
    boots.boot(entry=runs)
    done = boots.verify()
    assert "rebooting" not in done.stdout and not trial_files(machine)
    assert boots.next() == "os-4k.conf" and machine.variable("GranulePolicy") is None


def test_its_one_shot_goes_as_well(machine, boots):
    machine.ok("try", "64k")
    lose(machine, "removed")
    oneshot = machine.variable("LoaderEntryOneShot")
    boots.boot(entry="os-4k.conf")
    # The boot went past the loader, which would have cleared it.
    machine.set_variable("LoaderEntryOneShot", oneshot)
    assert boots.verify().returncode == 0
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)


def test_a_one_shot_that_means_other_entries_too_stays(machine, boots):
    machine.ok("try", "64k")
    lose(machine, "removed")
    boots.boot(entry="os-4k.conf")
    machine.set_variable("LoaderEntryOneShot", "os-6*")
    boots.verify()
    assert machine.variable("LoaderEntryOneShot") == "os-6*" and not trial_files(machine)


def test_what_could_not_be_cleared_when_a_trial_failed_goes_later(machine, boots):
    machine.ok("try", "64k")
    boots.boot(size="4k")
    file = machine.efi / "loader/entries/os-64k-trial+0.conf"
    text = file.read_text()
    boots.verify()
    file.write_text(text)
    boots.boot()
    assert boots.verify().returncode == 0 and not trial_files(machine)


def test_try_none_removes_what_is_left_over(machine):
    machine.ok("try", "64k")
    lose(machine, "removed")
    machine.ok("try", "none")
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)


def test_a_trial_that_waits_stays_and_so_does_one_of_another_system(machine, boots):
    machine.entry("z-trial+0", images.arm64(3), machine_id="1" * 32, granule_trial="yes")
    machine.ok("try", "64k", "--tries", "2")
    boots.boot(entry="os-4k.conf")
    boots.verify()
    assert trial_files(machine) == ["os-64k-trial+0.conf", "z-trial+0.conf"] and boots.next() == TRIAL
    machine.ok("try", "none")
    assert trial_files(machine) == ["z-trial+0.conf"]


def test_the_entry_of_a_trial_tells_whose_it_is(machine):
    machine.ok("try", "64k")
    assert f"machine-id {'0' * 32}\n" in (machine.efi / "loader/entries/os-64k-trial+0.conf").read_text()


# ---- names that others use ----


def test_an_entry_that_only_has_such_a_name_stays(machine, boots):
    machine.entry("os-64k-trial", images.arm64(3), version="5")
    own = (machine.efi / "loader/entries/os-64k-trial.conf").read_text()
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "os-64k-trial.conf: has the name that the entry of the trial would have" in done.stderr
    assert machine.variable("LoaderEntryOneShot") is None and boots.record("trial") is None
    # It comes while the trial is under way.
    (machine.efi / "loader/entries/os-64k-trial.conf").unlink()
    machine.ok("try", "64k")
    (machine.efi / "loader/entries/os-64k-trial.conf").write_text(own)
    machine.ok("try", "none")
    assert trial_files(machine) == ["os-64k-trial.conf"]


def test_a_trial_entry_is_no_default_whoever_asks(machine, boots):
    machine.ok("try", "64k")
    entries = machine.efi / "loader/entries"
    (entries / "os-64k-trial+0.conf").rename(entries / TRIAL)
    for command in (("set", TRIAL), ("set", TRIAL, "--force"), ("try", TRIAL, "--force")):
        done = machine.run(*command)
        assert done.returncode == 1 and "is the entry of a trial" in done.stderr
    assert machine.variable("LoaderEntryDefault") is None and boots.record("trial")["target"] == "os-64k.conf"


def test_a_long_id_without_a_title_is_tried_as_well(machine, boots):
    name = "x" * 240
    machine.entry(name, images.arm64(3), version="9")
    file = machine.efi / f"loader/entries/{name}.conf"
    file.write_text("\n".join(li for li in file.read_text().splitlines() if not li.startswith("title")) + "\n")
    machine.ok("try", "64k")
    assert f"title {name}.conf (trial)\n" in (machine.efi / f"loader/entries/{name}-trial+0.conf").read_text()
    boots.boot()
    assert boots.verify().returncode == 0 and boots.next() == f"{name}.conf"


# ---- the owner's word ----


def test_a_one_shot_of_the_owners_is_not_displaced_by_another_try(machine, boots):
    machine.ok("try", "64k", "--tries", "3")
    boots.boot(entry="os-4k.conf", record=False)
    machine.set_variable("LoaderEntryOneShot", "os-16k.conf")
    boots.verify()
    assert machine.variable("LoaderEntryOneShot") == "os-16k.conf" and not trial_files(machine)
    assert "another one-shot waits in its place" in boots.record("trial")["reason"]


# ---- what counts as verified ----


@pytest.mark.parametrize("loader", [{}, SYSTEMD_BOOT])
def test_an_entry_that_runs_with_another_page_size_is_not_in_order_though_nothing_was_asked(system, loader):
    machine = start(system, **loader)
    boots = Boots(machine)
    verified = boots.record("verified")
    boots.boot(size="16k", record=not loader)
    done = boots.verify()
    assert done.returncode == 1 and "os-4k.conf is no 4K kernel: it runs 16384-byte pages" in done.stdout
    assert boots.record("verified") == verified


def test_a_promotion_never_goes_by_way_of_another_entry(system, fault_library):
    """systemd-boot is given one entry for a policy, and never one that counts its tries: here that would be another."""
    machine = start(system, **SYSTEMD_BOOT)
    machine.entry("os-new+3", images.arm64(3), version="9")
    boots = Boots(machine)
    machine.ok("try", "64k")
    boots.boot(record=False)
    for at in range(1, 60):
        copy = machine.root.parent / f"copy{at}"
        shutil.copytree(machine.root, copy, symlinks=True)
        done = machine.run_with_fault(fault_library, "cut", at, "verify", "--boot")
        default = machine._variable("LoaderEntryDefault")
        assert not default.exists() or "os-6".encode("utf-16-le") not in default.read_bytes(), at
        if done.returncode == 0:
            break
        shutil.rmtree(machine.root)
        shutil.move(copy, machine.root)
    assert at > 5 and machine.variable("LoaderEntryDefault") == "os-new*.conf"


def test_a_loader_without_policies_gets_an_entry_as_its_default(system):
    machine = start(system, name="some-loader 1", features=1 << 2 | 1 << 3)
    boots = Boots(machine)
    machine.ok("try", "64k")
    boots.boot(record=False)
    assert boots.verify().returncode == 0
    assert machine.variable("LoaderEntryDefault") == "os-64k.conf" and boots.record("trial") is None
    boots.boot(entry="os-64k.conf", record=False)
    assert boots.verify().returncode == 0
    machine.ok("rollback")
    assert machine.variable("LoaderEntryDefault") == "os-4k.conf"


def test_what_is_set_after_a_trial_passed_is_not_taken_back(machine, boots, fault_library):
    """Power fails when the verdict is recorded and the default not yet written."""
    machine.ok("try", "64k")
    boots.boot()
    for at in range(1, 40):
        machine.run_with_fault(fault_library, "cut", at, "verify", "--boot")
        if (boots.record("trial") or {}).get("stage") == "passed":
            break
    assert boots.next() == "os-4k.conf" and trial_files(machine)
    machine.ok("set", "16k")
    assert boots.record("trial") is None and not trial_files(machine)
    for _ in range(2):
        assert boots.boot() == "os-16k.conf"
        assert boots.verify().returncode == 0
