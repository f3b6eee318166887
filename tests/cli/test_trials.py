# SPDX-License-Identifier: GPL-2.0-or-later
"""try, verify --boot and rollback: what they write, what they refuse, and what each kind of boot makes of it."""

import hashlib
import json
import shutil

import pytest

import images
from boots import Boots, lay_out, trial_files

TRIAL = "os-64k-trial.conf"


@pytest.fixture
def machine(system):
    """Started by granule-boot from the 4K entry, which has been verified; with a watchdog."""
    system.loader()
    lay_out(system)
    boots = Boots(system)
    boots.boot()
    assert boots.verify().returncode == 0
    return system


@pytest.fixture
def boots(machine):
    return Boots(machine)


# ---- arming ----


def test_try_arms_a_one_shot_for_an_entry_of_its_own_and_leaves_the_default(machine, boots):
    out = machine.ok("try", "64k")
    assert machine.variable("LoaderEntryOneShot") == TRIAL
    assert machine.variable("GranulePolicy") is None and machine.variable("LoaderEntryDefault") is None
    assert trial_files(machine) == ["os-64k-trial+0.conf"]
    assert "default stays: 4K pages, os-4k.conf" in out and "armed: trial of 64K pages, os-64k.conf" in out
    entries = machine.entries()
    assert entries["os-4k.conf"]["default"] and entries[TRIAL]["next"]


def test_the_trial_entry_is_its_model_with_panic_and_another_title(machine):
    model = machine.efi / "loader/entries/os-64k.conf"
    model.write_text(model.read_text().replace("options quiet", "grub_users x\noptions quiet panic=0\noptions a -- b"))
    machine.ok("try", "64k")
    text = (machine.efi / "loader/entries/os-64k-trial+0.conf").read_text()
    assert "title os-64k (trial)" in text and "grub_users x" in text and "granule-trial yes" in text
    (line,) = [li for li in text.splitlines() if li.startswith("options")]
    assert line == "options quiet panic=10 a -- b"


def test_a_panic_timeout_of_the_owners_stays(machine):
    model = machine.efi / "loader/entries/os-64k.conf"
    model.write_text(model.read_text().replace("options quiet", "options quiet panic=-1"))
    machine.ok("try", "64k")
    assert "options quiet panic=-1\n" in (machine.efi / "loader/entries/os-64k-trial+0.conf").read_text()


def test_the_owners_trial_options_are_added_before_those_of_init(machine):
    (machine.root / "etc/granule.conf").write_text("trial-options = oops=panic softlockup_panic=1\npanic = 30\n")
    model = machine.efi / "loader/entries/os-64k.conf"
    model.write_text(model.read_text().replace("options quiet", "options quiet -- single"))
    machine.ok("try", "64k")
    text = (machine.efi / "loader/entries/os-64k-trial+0.conf").read_text()
    assert "options quiet oops=panic softlockup_panic=1 panic=30 -- single\n" in text


def test_trial_options_that_change_the_page_size_are_left_out_with_a_word(machine):
    (machine.root / "etc/granule.conf").write_text("trial-options = arm64.pagesize=4k\n")
    done = machine.run("try", "64k")
    assert done.returncode == 0 and "granule.conf:1:" in done.stderr
    assert "pagesize" not in (machine.efi / "loader/entries/os-64k-trial+0.conf").read_text()


def test_a_command_line_that_is_too_long_for_panic_is_refused(machine):
    model = machine.efi / "loader/entries/os-64k.conf"
    model.write_text(model.read_text().replace("options quiet", "options " + "x" * 2035))
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "panic=10 cannot be added" in done.stderr
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)


def test_a_trial_entry_is_never_chosen_but_by_a_one_shot(machine, boots):
    machine.ok("try", "64k")
    machine.ok("once", "none")
    machine.ok("set", "64k")
    assert boots.next() == "os-64k.conf"
    assert machine.run("once", "64k").returncode == 0 and machine.variable("LoaderEntryOneShot") == "os-64k.conf"


def test_the_same_try_again_changes_nothing_and_another_is_refused(machine):
    machine.ok("try", "64k")
    before = machine.files()
    machine.ok("try", "64k")
    assert machine.files() == before and machine.variable("LoaderEntryOneShot") == TRIAL
    done = machine.run("try", "16k")
    assert done.returncode == 1 and "a trial of os-64k.conf is under way" in done.stderr
    assert machine.variable("LoaderEntryOneShot") == TRIAL


def test_try_none_takes_one_shot_entry_and_record_back(machine, boots):
    machine.ok("try", "64k")
    machine.ok("try", "none")
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)
    assert boots.record("trial") is None and boots.verdicts()[-1] == ("trial", "canceled")
    assert "nothing to change" in machine.ok("try", "none")


def test_try_none_leaves_a_one_shot_of_the_owners(machine):
    machine.ok("try", "64k")
    machine.set_variable("LoaderEntryOneShot", "os-16k.conf")
    machine.ok("try", "none")
    assert machine.variable("LoaderEntryOneShot") == "os-16k.conf"


@pytest.mark.parametrize("command", [("set", "16k"), ("once", "16k"), ("once", "none"), ("set", "none")])
def test_what_takes_the_place_of_its_one_shot_gives_a_trial_up(machine, boots, command):
    machine.ok("try", "64k")
    assert "gave up the trial of 64K pages" in machine.ok(*command)
    assert boots.record("trial") is None and not trial_files(machine)
    assert boots.verdicts()[-1] == ("trial", "canceled") and " ".join(command) in boots.history()[-1]["reason"]
    assert boots.next() == ("os-16k.conf" if command[1] == "16k" else "os-4k.conf")


def test_a_trial_that_runs_is_judged_before_another_one_is_armed(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    for word in ("64k", "16k", "none"):
        done = machine.run("try", word)
        assert done.returncode == 1 and "has no verdict yet" in done.stderr
    machine.ok("once", "16k")
    assert boots.record("trial")["stage"] == "armed", "it runs: that is not its one-shot"
    boots.verify()
    assert boots.verdicts()[-1] == ("boot", "passed")


def test_a_trial_that_was_not_judged_in_the_default_is_judged_first(machine, boots):
    machine.ok("try", "64k")
    boots.boot(entry="os-4k.conf")
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "verify --boot" in done.stderr
    boots.verify()
    machine.ok("try", "64k")


def test_another_one_shot_in_its_place_is_the_reason(machine, boots):
    machine.ok("try", "64k", "--tries", "2")
    machine.set_variable("LoaderEntryOneShot", "os-16k.conf")
    boots.boot()
    boots.verify()
    (line,) = [li for li in boots.history() if li["kind"] == "trial"]
    assert "another one-shot took its place: os-16k.conf" in line["reason"]
    assert boots.record("trial")["stage"] == "failed"


def test_a_trial_without_its_partition_fails_and_leads_back(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    machine.efi.rename(machine.root / "gone")
    done = boots.verify()
    assert done.returncode == 1 and "partition cannot be read" in done.stdout and "rebooting" in done.stdout
    (machine.root / "gone").rename(machine.efi)
    boots.boot()
    assert boots.verify().returncode == 0 and boots.next() == "os-4k.conf"
    assert boots.verdicts().count(("boot", "failed")) == 1


def test_a_dry_run_writes_nothing(machine, boots):
    before = machine.files()
    assert "would be armed" in machine.ok("try", "64k", "--dry-run")
    assert machine.files() == before and machine.variable("LoaderEntryOneShot") is None
    assert boots.record("trial") is None and len(boots.history()) == 1


def test_what_boots_by_default_needs_no_trial(machine):
    assert "nothing to try" in machine.ok("try", "4k")
    assert machine.variable("LoaderEntryOneShot") is None


@pytest.mark.parametrize("option,word", [("--tries", "0"), ("--tries", "x"), ("--tries", "101"), ("--deadline", "soon")])
def test_limits_that_are_none_are_refused(machine, option, word):
    done = machine.run("try", "64k", option, word)
    assert done.returncode in (1, 2) and option in done.stderr
    assert machine.variable("LoaderEntryOneShot") is None


def test_without_a_verified_default_a_trial_is_refused(system):
    system.loader()
    for size, bits in {"4k": 1, "64k": 3}.items():
        system.entry(f"os-{size}", images.arm64(bits), version="6.1")
    done = system.run("try", "64k")
    assert done.returncode == 1 and "verif" in done.stderr
    assert system.variable("LoaderEntryOneShot") is None and not trial_files(system)


def test_what_speaks_against_a_trial_is_in_the_json_document(machine):
    shutil.rmtree(machine.root / "sys/class/watchdog")
    document = machine.json("try", "64k")
    assert document["ok"] is False and not document["actions"]
    assert any(f["id"] == "no-watchdog" and f["blocks"] for f in document["findings"])
    assert machine.variable("LoaderEntryOneShot") is None


# ---- verdicts ----


def test_a_trial_that_passes_becomes_the_policy_and_leaves_nothing_behind(machine, boots):
    machine.ok("try", "64k")
    assert boots.boot() == TRIAL
    done = boots.verify()
    assert done.returncode == 0 and "passed" in done.stdout and "it is the default now" in done.stdout
    assert machine.variable("GranulePolicy") == "64k" and boots.next() == "os-64k.conf"
    assert not trial_files(machine) and boots.record("trial") is None
    verified = boots.record("verified")
    assert verified["current"]["entry"] == "os-64k.conf" and verified["previous"]["entry"] == "os-4k.conf"
    assert boots.verdicts() == [("boot", "nothing-asked"), ("request", "armed"), ("boot", "passed")]
    assert boots.boot() == "os-64k.conf" and boots.verify().returncode == 0
    assert boots.verdicts()[-1] == ("boot", "ok")


def test_a_trial_of_an_entry_becomes_the_default_entry(machine, boots):
    machine.ok("try", "os-64k")
    boots.boot()
    assert boots.verify().returncode == 0
    assert machine.variable("LoaderEntryDefault") == "os-64k.conf" and machine.variable("GranulePolicy") is None


def test_a_kernel_that_came_during_the_trial_is_not_promoted_with_it(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    machine.entry("os-64k-new", images.arm64(3), version="6.2")
    assert boots.verify().returncode == 0
    assert boots.next() == "os-64k.conf"


def test_keep_leaves_the_default_also_when_the_trial_passes(machine, boots):
    machine.ok("try", "64k", "--keep")
    boots.boot()
    done = boots.verify()
    assert done.returncode == 0 and "default now" not in done.stdout
    assert boots.next() == "os-4k.conf" and boots.record("trial") is None
    assert boots.verdicts()[-1] == ("boot", "passed")
    assert boots.record("verified")["current"]["entry"] == "os-4k.conf"


def test_a_trial_with_another_page_size_has_failed_and_leads_back(machine, boots):
    machine.ok("try", "64k")
    boots.boot(size="4k")
    done = boots.verify()
    assert done.returncode == 1 and "rebooting into the default" in done.stdout
    assert boots.next() == "os-4k.conf" and machine.variable("GranulePolicy") is None
    assert boots.record("trial")["stage"] == "failed" and not trial_files(machine)
    assert boots.history()[-1]["verdict"] == "failed" and "64K" in boots.history()[-1]["reason"]
    assert boots.boot() == "os-4k.conf"
    done = boots.verify()
    assert done.returncode == 0 and "rebooting" not in done.stdout


def test_a_failed_trial_is_judged_once_and_reboots_once(machine, boots):
    machine.ok("try", "64k")
    boots.boot(size="4k")
    boots.verify()
    done = boots.verify()
    assert done.returncode == 1 and "judged before" in done.stdout and "rebooting" not in done.stdout
    assert boots.verdicts().count(("boot", "failed")) == 1


def test_without_reboot_on_failure_the_machine_stays_up(machine, boots):
    (machine.root / "etc/granule.conf").write_text("reboot-on-failure = no\n")
    machine.ok("try", "64k")
    boots.boot(size="4k")
    done = boots.verify()
    assert done.returncode == 1 and "rebooting" not in done.stdout and "reboot-on-failure" in done.stderr
    assert boots.next() == "os-4k.conf"


def test_a_trial_with_another_kernel_release_has_failed(machine, boots):
    machine.ok("try", "64k")
    boots.boot(release="6.13.0-other")
    assert boots.verify().returncode == 1
    assert "6.13.0-other" in boots.history()[-1]["reason"]


def test_a_trial_that_did_not_come_up_is_recorded_in_the_default_which_stays_up(machine, boots):
    machine.ok("try", "64k")
    boots.boot(entry="os-4k.conf")
    done = boots.verify()
    assert "did not come up" in done.stdout and "rebooting" not in done.stdout
    assert boots.next() == "os-4k.conf" and not trial_files(machine)
    assert ("trial", "not-come-up") in boots.verdicts()
    boots.boot()
    assert boots.verify().returncode == 0
    assert boots.verdicts().count(("trial", "not-come-up")) == 1


def test_a_panic_that_was_left_in_pstore_is_the_reason(machine, boots):
    pstore = machine.root / "sys/fs/pstore"
    pstore.mkdir(parents=True)
    (pstore / "dmesg-efi_pstore-1").write_text("Panic#1 Part1\n<0>[    1.0] Kernel panic - not syncing: an old one\n")
    machine.ok("try", "64k")
    (pstore / "dmesg-efi_pstore-2").write_text("Panic#2 Part1\n<0>[    1.2] Kernel panic - not syncing: no root\n")
    boots.boot(entry="os-4k.conf")
    boots.verify()
    (line,) = [li for li in boots.history() if li["kind"] == "trial"]
    assert "no root" in line["reason"] and "old" not in line["reason"]


def test_tries_that_are_left_arm_it_again_without_a_reboot(machine, boots):
    machine.ok("try", "64k", "--tries", "2")
    boots.boot(entry="os-4k.conf")
    done = boots.verify()
    assert "armed again" in done.stdout and "rebooting" not in done.stdout
    assert boots.next() == TRIAL
    boots.boot(entry="os-4k.conf")
    boots.verify()
    assert boots.next() == "os-4k.conf" and not trial_files(machine)
    assert boots.verdicts().count(("trial", "not-come-up")) == 2


def test_a_trial_that_failed_is_not_tried_again(machine, boots):
    machine.ok("try", "64k", "--tries", "3")
    boots.boot(size="4k")
    boots.verify()
    assert boots.next() == "os-4k.conf"


def test_a_one_shot_that_was_not_cleared_leads_to_no_second_reboot(machine, boots):
    machine.ok("try", "64k")
    boots.boot(size="4k")
    entry = machine.efi / "loader/entries/os-64k-trial+0.conf"
    text = entry.read_text()
    boots.verify()
    entry.write_text(text)
    machine.set_variable("LoaderEntryOneShot", TRIAL)
    boots.boot(size="4k")
    done = boots.verify()
    assert done.returncode == 1 and "rebooting" not in done.stdout and "not cleared" in done.stdout
    assert not trial_files(machine)


def test_a_trial_entry_without_a_record_is_never_promoted(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    (machine.root / "var/lib/granule/trial.json").write_text("garbage")
    done = boots.verify()
    assert done.returncode == 1 and "rebooting" not in done.stdout
    assert boots.next() == "os-4k.conf" and machine.variable("GranulePolicy") is None
    assert (machine.root / "var/lib/granule/trial.json.damaged").exists()


def test_a_trial_entry_that_was_removed_by_hand_is_the_reason(machine, boots):
    machine.ok("try", "64k")
    (machine.efi / "loader/entries/os-64k-trial+0.conf").unlink()
    boots.boot(record=False)
    boots.verify()
    (line,) = [li for li in boots.history() if li["kind"] == "trial"]
    assert "somebody removed it" in line["reason"]
    assert machine.variable("LoaderEntryOneShot") is None


@pytest.mark.parametrize("gone, refused, reason", [
    ("loader/entries/os-64k-trial+0.conf", ("no-entry", None), "somebody removed it"),
    ("kernels/os-64k", ("unusable", "/kernels/os-64k: not found"), "/kernels/os-64k: not found"),
    ("kernels/os-64k", ("unusable", None), "its kernel or initrd is missing or damaged"),
], ids=["entry", "kernel", "kernel-no-word"])
def test_what_the_loader_could_not_obey_is_the_trials_failure_and_not_tried_again(machine, boots, gone, refused, reason):
    machine.ok("try", "64k", "--tries", "3")
    (machine.efi / gone).unlink()
    boots.boot(entry="os-4k.conf", refused=refused)
    done = boots.verify()
    assert done.returncode == 0, "what boots instead is in order"
    trial, boot = boots.history()[-2:]
    assert trial["verdict"] == "not-come-up" and reason in trial["reason"]
    assert (boot["verdict"], boot["entry"]) == ("nothing-asked", "os-4k.conf")
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)


def test_a_kernel_that_comes_back_may_be_tried_again(machine, boots):
    machine.ok("try", "64k", "--tries", "3")
    boots.boot(entry="os-4k.conf", refused=("unusable", "came back: device error"))
    done = boots.verify()
    assert done.returncode == 0 and "try 2 of 3" in done.stdout
    assert machine.variable("LoaderEntryOneShot") == TRIAL
    boots.boot(entry="os-4k.conf", refused=("unusable", "came back: device error"))
    assert machine.json("verify", "--boot")["ok"], "and nothing but JSON"


def test_a_kernel_that_was_deleted_after_its_trial_passed_is_not_made_the_default(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    (machine.efi / "kernels/os-64k").unlink()
    done = boots.verify()
    assert done.returncode == 1 and "cannot become the default" in done.stderr
    assert boots.next() == "os-4k.conf" and boots.record("trial")["stage"] == "failed"


def test_a_promotion_that_was_cut_short_is_completed_in_the_next_boot(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    record = (machine.root / "var/lib/granule/trial.json").read_text()
    boots.verify()
    # As if power had gone before the policy was written.
    machine._variable("GranulePolicy").unlink()
    done = machine.root / "var/lib/granule/trial.json"
    done.write_text(with_stage(record, "passed"))
    assert boots.boot(entry="os-4k.conf")
    boots.verify()
    assert machine.variable("GranulePolicy") == "64k" and boots.record("trial") is None


def with_stage(record, stage):
    head, body = record.splitlines()
    head, body = json.loads(head), json.loads(body)
    body["stage"], body["unfinished"] = stage, True
    text = json.dumps(body)
    head["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(head) + "\n" + text + "\n"


def test_a_restart_by_kexec_gives_a_pending_trial_up(machine, boots):
    machine.ok("try", "64k")
    firmware = machine.root / "sys/firmware"
    firmware.mkdir(parents=True)
    (firmware / "fdt").write_bytes(b"\xd0\x0d\xfe\xed" + b"linux,booted-from-kexec\0")
    boots.running("4k")
    boots.verify()
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)
    (line,) = [li for li in boots.history() if li["kind"] == "trial"]
    assert line["verdict"] == "canceled" and "kexec" in line["reason"]


def test_the_boot_in_which_a_trial_is_armed_is_not_its_own(machine, boots):
    machine.ok("try", "64k")
    done = boots.verify()
    assert "judged before" in done.stdout and boots.next() == TRIAL


def test_a_deadline_that_has_passed_ends_the_trial(machine, boots):
    machine.ok("try", "64k", "--deadline", "10s")
    boots.boot(uptime=10.5)
    done = machine.run("verify", "--watch")
    assert done.returncode == 1 and "rebooting into the default" in done.stdout
    assert "deadline" in boots.history()[-1]["reason"] and boots.next() == "os-4k.conf"


def test_the_watch_ends_at_once_where_there_is_nothing_to_wait_for(machine, boots):
    assert machine.run("verify", "--watch").returncode == 0
    machine.ok("try", "64k", "--deadline", "10s")
    assert machine.run("verify", "--watch").returncode == 0
    boots.boot()
    boots.verify()
    assert machine.run("verify", "--watch").returncode == 0


def test_a_default_of_another_loader_is_promoted_as_an_entry(machine, boots):
    machine.loader("systemd-boot 252.1", features=1 << 2 | 1 << 3, cpu=None)
    machine.ok("try", "64k")
    boots.boot(record=False)
    assert boots.verify().returncode == 0
    assert machine.variable("LoaderEntryDefault") == "os-64k.conf"
    boots.boot(entry="os-64k.conf", record=False)
    assert boots.verify().returncode == 0
    machine.ok("rollback")
    assert machine.variable("LoaderEntryDefault") == "os-4k.conf"


def test_systemd_boot_of_old_has_counters_in_ids_and_its_trials_pass_all_the_same(machine, boots):
    machine.loader("systemd-boot 252.1", features=1 << 2 | 1 << 3 | 1 << 4, cpu=None)
    machine.ok("try", "64k")
    assert machine.variable("LoaderEntryOneShot") == "os-64k-trial*.conf"
    boots.boot(entry=TRIAL, record=False)
    machine.set_variable("LoaderEntrySelected", "os-64k-trial+0.conf")
    entries = machine.efi / "loader/entries"
    (entries / "os-64k-trial+0.conf").rename(entries / "os-64k-trial+0-1.conf")
    assert boots.verify().returncode == 0
    assert machine.variable("LoaderEntryDefault") == "os-64k.conf" and not trial_files(machine)


def test_a_trial_under_systemd_boot_that_is_given_up_leaves_no_one_shot(machine):
    machine.loader("systemd-boot 252.1", features=1 << 2 | 1 << 3 | 1 << 4, cpu=None)
    machine.ok("try", "64k")
    machine.ok("try", "none")
    assert machine.variable("LoaderEntryOneShot") is None and not trial_files(machine)


# ---- going back ----


def test_rollback_goes_to_the_previous_verified_choice_and_no_further(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    boots.verify()
    machine.ok("rollback")
    assert boots.next() == "os-4k.conf"
    done = machine.run("rollback")
    assert done.returncode == 1 and "nothing to go back to" in done.stderr
    assert boots.next() == "os-4k.conf"


def test_rollback_of_a_default_that_was_never_verified_goes_to_the_last_that_was(machine, boots):
    machine.ok("set", "16k")
    machine.ok("rollback")
    assert boots.next() == "os-4k.conf"


def test_rollback_gives_a_pending_trial_up(machine, boots):
    machine.ok("set", "16k")
    boots.boot()
    boots.verify()
    machine.ok("try", "64k")
    machine.ok("rollback")
    assert boots.next() == "os-4k.conf" and not trial_files(machine) and boots.record("trial") is None


def test_rollback_without_anything_verified_says_so(system):
    system.loader()
    system.entry("os-4k", images.arm64(1))
    done = system.run("rollback")
    assert done.returncode == 1 and "no boot has been verified" in done.stderr


def test_rollback_to_a_kernel_that_is_gone_says_so_and_changes_nothing(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    boots.verify()
    (machine.efi / "kernels/os-4k").unlink()
    verified = boots.record("verified")
    done = machine.run("rollback")
    assert done.returncode == 1 and "os-4k.conf" in done.stderr
    assert boots.next() == "os-64k.conf" and boots.record("verified") == verified


def test_rolling_back_twice_after_a_cut_ends_at_the_same_place(machine, boots, fault_library):
    machine.ok("try", "64k")
    boots.boot()
    boots.verify()
    for at in range(1, 60):
        copy = machine.root.parent / f"copy{at}"
        shutil.copytree(machine.root, copy, symlinks=True)
        done = machine.run_with_fault(fault_library, "cut", at, "rollback")
        if done.returncode == 0:
            break
        machine.run("rollback")
        assert boots.next() == "os-4k.conf", at
        assert boots.record("verified")["current"]["entry"] == "os-4k.conf", at
        shutil.rmtree(machine.root)
        shutil.move(copy, machine.root)
    assert at > 3
