# SPDX-License-Identifier: GPL-2.0-or-later
"""try, verify --boot and rollback on machines that GRUB boots: by granule's block, by files of loader/entries, and by
grubenv alone."""

import pytest

from grub_boots import (BLS_NEW, BLS_OLD, BLS_TRIAL, GRUB_NEW, GRUB_OLD, BlsBoots, BlsSystem, GrubBoots, GrubSystem,
                        bls_verified, entry_id, grub_verified, read_block, write_block)

OLD, NEW, OTHER = GRUB_OLD, GRUB_NEW, entry_id("16k")


@pytest.fixture
def machine(tmp_path):
    return grub_verified(tmp_path / "root")


@pytest.fixture
def boots(machine):
    return GrubBoots(machine)


def trial_line(boots):
    return [line for line in boots.history() if line["kind"] == "trial"][-1]


# ---- what booted ----


def words(system, line, size="64k", **keywords):
    GrubBoots(system).running(size, **keywords)
    (system.root / "proc/cmdline").write_text(line + "\n")


def test_an_entry_of_granules_tells_its_id_and_why_it_was_chosen(machine):
    words(machine, f"BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 granule.entry={NEW},64k granule.chosen=oneshot:{NEW}")
    why = machine.json("why")
    assert (why["entry"], why["rule"], why["loader"]) == (NEW, "oneshot", "GRUB")
    # What stands behind the choice may have been wanted, too; GRUB did not look.
    assert [link["outcome"] for link in why["chain"]][:3] == ["chosen", "not-asked", "not-asked"]
    assert machine.json("verify")["ok"] and machine.entries()[NEW]["running"]
    assert machine.json("status")["entry"] == NEW


def test_another_entry_than_the_chosen_one_was_picked_in_the_menu(machine):
    words(machine, f"BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 granule.entry={NEW},64k granule.chosen=default:{OLD}")
    done = machine.run("verify")
    assert done.returncode == 1 and done.stdout == f"FAILED (menu): somebody picked {NEW} in the boot menu\n"
    assert machine.json("why")["rule"] == "menu"


def test_a_kernel_of_another_size_than_its_entry_is_a_failure(machine):
    words(machine, f"BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 granule.entry={NEW},64k granule.chosen=policy:{NEW}", "4k")
    done = machine.run("verify")
    assert done.returncode == 1 and "is no 64K kernel" in done.stdout


def test_what_could_not_be_loaded_is_told_with_what_it_was_wanted_for(machine):
    line = f"BOOT_IMAGE=/boot/vmlinuz-6.1-4k root=UUID=1 granule.entry={OLD},4k granule.chosen=good:{OLD}"
    words(machine, f"{line} granule.failed={NEW} granule.failed={OTHER}", "4k")
    why = machine.json("why")
    chain = {link["rule"]: (link["asked"], link["outcome"]) for link in why["chain"]}
    assert chain["oneshot"] == (NEW, "unusable") and chain["default"] == (OTHER, "unusable")
    assert why["failures"] == [f"{NEW}: GRUB could not load it", f"{OTHER}: GRUB could not load it"]
    assert machine.run("verify").returncode == 1


@pytest.mark.parametrize("line, entry", [
    ("BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1"),
    ("BOOT_IMAGE=(hd0,gpt2)/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1"),
    ("BOOT_IMAGE=/vmlinuz-6.1-64k root=UUID=1 ro quiet", "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1"),
    ("BOOT_IMAGE=/boot/vmlinuz-6.1-4k root=UUID=1 ro quiet", "gnulinux-simple-1"),
    ("BOOT_IMAGE=/boot/vmlinuz-7.0 root=UUID=1 ro quiet", None),
    ("root=UUID=1 ro quiet", None),
])
def test_an_entry_of_another_script_is_found_by_its_kernel_and_options(tmp_path, line, entry):
    system = GrubSystem(tmp_path / "root", lines=False)
    words(system, line)
    assert system.json("status")["entry"] == entry
    assert [e["id"] for e in system.entries().values() if e["running"]] == ([entry] if entry else [])


def test_of_two_entries_with_one_kernel_the_options_tell(tmp_path):
    system = GrubSystem(tmp_path / "root", lines=False)
    cfg = system.boot / "grub/grub.cfg"
    single = system.other_entry("6.1-64k", "single", "single").replace("quiet", "single")
    cfg.write_text(cfg.read_text() + single)
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro single")
    assert system.json("status")["entry"] == "single"
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet edited-by-hand")
    assert system.json("status")["entry"] is None


def test_a_command_line_that_was_taken_over_names_no_other_kernels_entry(machine):
    """As by somebody who writes /proc/cmdline to GRUB_CMDLINE_LINUX."""
    line = f"root=UUID=1 ro quiet granule.entry={OLD},4k granule.chosen=oneshot:{OLD}"
    words(machine, f"BOOT_IMAGE=/boot/vmlinuz-6.1-64k {line}")
    assert machine.json("status")["entry"] is None
    cfg = machine.boot / "grub/grub.cfg"
    cfg.write_text(cfg.read_text().replace("ro quiet\n", f"{line[12:]}\n"))
    assert machine.json("status")["entry"] == "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1"
    assert "picked" not in machine.run("verify").stdout


def test_words_of_one_boot_are_left_out_of_the_command_line_of_new_entries(machine):
    options = f"BOOT_IMAGE=/x root=UUID=1 granule.entry={OLD},4k granule.chosen=oneshot:{OLD} granule.trial=1 granule.failed=x"
    machine.kernel("9-16k", b"")
    done = machine.run("register", "--force", "--options", options, "--kernel", machine.boot / "vmlinuz-6.1-16k")
    (entry,) = (machine.efi / "loader/entries").glob("*.conf")
    assert "options root=UUID=1\n" in entry.read_text(), done
    assert done.stderr.count("is left out of the command line") == 5


# ---- trials by words ----


def test_try_arms_a_one_shot_with_words_and_leaves_the_default(machine, boots):
    before = machine.wishes()
    out = machine.ok("try", "64k")
    block = machine.wishes()
    assert block["next_entry"] == NEW and block["granule_options"].startswith("panic=10 granule.trial=")
    assert {k: v for k, v in block.items() if k not in ("next_entry", "granule_options")} == before
    assert f"default stays: 4K pages, {OLD}" in out and boots.next() == NEW
    assert boots.record("trial")["words"] == block["granule_options"] and boots.record("trial")["file"] is None


def test_words_are_the_owners_options_too_and_no_panic_where_the_entry_has_one(machine):
    (machine.root / "etc/granule.conf").write_text("trial-options = softlockup_panic=1\npanic = 30\n")
    machine.ok("try", "64k")
    assert machine.wishes()["granule_options"].startswith("softlockup_panic=1 panic=30 granule.trial=")
    machine.ok("try", "none")
    cfg = machine.boot / "grub/grub.cfg"
    cfg.write_text(cfg.read_text().replace("ro quiet granule.entry", "ro quiet panic=5 granule.entry"))
    machine.ok("try", "64k")
    assert machine.wishes()["granule_options"].startswith("softlockup_panic=1 granule.trial=")


@pytest.mark.parametrize("options", ['x="a b"', "x=$y", "x=a\\b"])
def test_options_that_grub_cannot_hand_over_are_refused(machine, boots, options):
    (machine.root / "etc/granule.conf").write_text(f"trial-options = {options}\n")
    before = machine.files()
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "GRUB cannot hand over" in done.stderr
    assert machine.files() == before and boots.record("trial") is None


def test_try_none_takes_one_shot_words_and_record_back(machine, boots):
    before = machine.wishes()
    machine.ok("try", "64k")
    machine.ok("try", "none")
    assert machine.wishes() == before and boots.record("trial") is None
    assert boots.verdicts()[-1] == ("trial", "canceled") and "nothing to change" in machine.ok("try", "none")


def test_a_menu_that_waits_for_ever_is_warned_of_before_a_trial(machine):
    menu = machine.boot / "grub/grub.cfg"
    menu.write_text("set timeout=-1\n" + menu.read_text())
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "menu-waits" in done.stderr and "GRUB_TIMEOUT=5" in done.stderr
    assert "next_entry" not in machine.wishes()
    machine.ok("try", "64k", "--force")


def test_status_tells_that_an_armed_trial_is_not_what_boots_next(machine):
    passed_over = "not what boots next"
    machine.ok("try", "64k")
    assert "it waits for the next boot" in machine.ok("status") and passed_over not in machine.ok("status")
    write_block(machine.grubenv, {"next_entry": "gnulinux-simple-1"})
    assert passed_over in machine.ok("status"), "grub-reboot goes first"
    write_block(machine.grubenv, {})
    assert passed_over not in machine.ok("status")
    machine.block.unlink()
    assert passed_over in machine.ok("status")
    machine.ok("try", "64k", "--force")
    assert passed_over not in machine.ok("status")


def test_words_of_a_trial_that_no_record_tells_of_are_taken_back(machine, boots):
    before = machine.wishes()
    for command in (("try", "none"), ("verify", "--boot")):
        machine.ok("try", "64k")
        (machine.root / "var/lib/granule/trial.json").unlink()
        boots.boot(broken=True)
        machine.run(*command)
        assert machine.wishes() == before, command


@pytest.mark.parametrize("command", [("set", "16k"), ("once", "16k"), ("once", "64k"), ("once", "none"), ("set", "none")])
def test_what_takes_the_place_of_its_one_shot_gives_a_trial_up(machine, boots, command):
    machine.ok("try", "64k")
    assert "gave up the trial of 64K pages" in machine.ok(*command)
    assert boots.record("trial") is None and "granule_options" not in machine.wishes()
    assert machine.wishes().get("next_entry") == {"16k": OTHER, "64k": NEW}.get(command[1] if command[0] == "once" else "")


def test_a_trial_that_passes_becomes_the_default_and_what_to_fall_back_on(machine, boots):
    machine.ok("try", "64k")
    assert boots.boot() == NEW
    done = boots.verify()
    assert done.returncode == 0 and "passed; it is the default now" in done.stdout
    assert machine.wishes() == {"granule_page_size": "64k", "granule_good": NEW}
    assert boots.record("trial") is None and boots.boot() == NEW and boots.verify().returncode == 0
    assert "judged before in this boot" in boots.verify().stdout
    assert boots.verdicts()[-2:] == [("boot", "passed"), ("boot", "ok")]


def test_a_second_run_in_the_trials_boot_finds_its_verdict(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    assert boots.verify().returncode == 0
    assert "judged before in this boot: passed" in boots.verify().stdout
    assert boots.verdicts().count(("boot", "passed")) == 1 and machine.wishes()["granule_page_size"] == "64k"


def test_a_trial_of_an_entry_makes_that_the_default(machine, boots):
    machine.ok("try", NEW)
    boots.boot()
    boots.verify()
    assert machine.wishes() == {"saved_entry": NEW, "granule_good": NEW}


def test_a_trial_that_is_kept_apart_changes_no_default(machine, boots):
    before = machine.wishes()
    machine.ok("try", "64k", "--keep")
    boots.boot()
    assert "passed" in boots.verify().stdout and machine.wishes() == before


def test_a_trial_with_the_wrong_page_size_fails_and_leads_back(machine, boots):
    before = machine.wishes()
    machine.ok("try", "64k")
    boots.boot(size="4k")
    done = boots.verify()
    assert done.returncode == 1 and "failed" in done.stdout and "rebooting into the default" in done.stdout
    assert machine.wishes() == before and boots.boot() == OLD
    assert "rebooting" not in boots.verify().stdout


def test_a_trial_that_panics_comes_back_and_is_judged_in_the_default(machine, boots):
    before = machine.wishes()
    machine.ok("try", "64k")
    assert boots.boot() == NEW and boots.boot() == OLD
    done = boots.verify()
    assert done.returncode == 0 and "did not come up" in done.stdout and "rebooting" not in done.stdout
    assert trial_line(boots)["verdict"] == "not-come-up" and machine.wishes() == before


def test_a_trial_whose_kernel_grub_cannot_load_fails_for_that(machine, boots):
    machine.ok("try", "64k", "--tries", "3")
    assert boots.boot(unloadable={NEW}) == OLD
    done = boots.verify()
    assert done.returncode == 0 and trial_line(boots)["reason"] == f"{NEW}: GRUB could not load it"
    assert boots.record("trial")["stage"] == "failed" and boots.boot() == OLD


def test_tries_that_are_left_arm_it_again_with_another_mark(machine, boots):
    machine.ok("try", "64k", "--tries", "2")
    first = machine.wishes()["granule_options"]
    boots.boot()
    boots.boot()
    assert "armed again" in boots.verify().stdout
    second = machine.wishes()["granule_options"]
    assert machine.wishes()["next_entry"] == NEW and second != first and second.startswith("panic=10 granule.trial=")
    assert boots.boot() == NEW and boots.verify().returncode == 0 and machine.wishes()["granule_page_size"] == "64k"


def test_a_one_shot_that_grub_cannot_clear_is_not_obeyed_and_told(machine, boots):
    machine.ok("try", "64k")
    assert boots.boot(broken=True) == OLD
    boots.verify()
    reason = trial_line(boots)["reason"]
    assert "GRUB did not obey the one-shot in" in reason and "EFI/granule/grubenv" in reason and "could not clear it" in reason
    assert "next_entry" not in machine.wishes() and boots.boot() == OLD


def test_the_same_entry_picked_by_hand_later_is_not_the_trial(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    boots.boot(pick=NEW)
    done = boots.verify()
    assert "did not come up" in done.stdout and "rebooting" not in done.stdout
    assert machine.wishes()["saved_entry"] == OLD and boots.next() == OLD


def test_another_entry_picked_in_place_of_the_trial_is_the_reason(machine, boots):
    machine.ok("try", "64k")
    boots.boot(pick=OTHER)
    boots.verify()
    assert trial_line(boots)["reason"] == f"somebody picked {OTHER} in the boot menu" and boots.next() == OLD


def test_a_one_shot_whose_clearing_was_lost_is_no_second_trial(machine, boots):
    """As when power goes before the disk has written what GRUB gave it."""
    machine.ok("try", "64k")
    block = machine.block.read_bytes()
    boots.boot(size="4k")
    boots.verify()
    machine.block.write_bytes(block)
    assert boots.boot(size="4k") == NEW
    done = boots.verify()
    assert done.returncode == 1 and "not cleared" in done.stdout and "rebooting" not in done.stdout
    assert boots.verdicts().count(("boot", "failed")) == 2 and boots.boot() == OLD


def test_once_of_what_failed_its_trial_is_an_ordinary_boot(machine, boots):
    machine.ok("try", "64k")
    boots.boot(size="4k")
    boots.verify()
    machine.ok("once", "64k")
    assert boots.boot() == NEW
    done = boots.verify()
    assert done.returncode == 0 and boots.history()[-1]["trial"] is False and boots.next() == OLD


def test_a_trial_without_a_record_is_never_promoted(machine, boots):
    before = machine.wishes()
    machine.ok("try", "64k")
    boots.boot()
    (machine.root / "var/lib/granule/trial.json").write_text("garbage")
    done = boots.verify()
    assert done.returncode == 1 and "rebooting" not in done.stdout and machine.wishes() == before
    assert boots.verify().returncode == 1 and boots.verdicts()[-1] == ("boot", "failed")


def test_a_dry_run_writes_nothing(machine, boots):
    before = machine.files()
    assert "would be armed" in machine.ok("try", "64k", "--dry-run")
    assert machine.files() == before and boots.record("trial") is None


def test_a_deadline_ends_a_trial_by_its_words(machine, boots):
    machine.ok("try", "64k", "--deadline", "1s")
    boots.boot(uptime=5.0)
    done = machine.run("verify", "--watch")
    assert done.returncode == 1 and "deadline" in done.stdout and boots.record("trial")["stage"] == "failed"
    machine.ok("once", "64k")
    boots.boot(uptime=5.0)
    assert machine.run("verify", "--watch").returncode == 0


def test_a_new_entry_of_an_updated_grub_cfg_may_be_tried(machine, boots):
    machine.add_kernel("6.2-64k", "64k")
    machine.update_grub()
    machine.ok("try", "64k")
    assert boots.boot() == "granule-6.2-64k-64k" and boots.verify().returncode == 0
    assert machine.wishes()["granule_good"] == "granule-6.2-64k-64k"


# ---- back ----


def test_rollback_goes_to_the_entry_before_and_back_no_more(machine, boots):
    machine.ok("try", "64k")
    boots.boot()
    boots.verify()
    machine.ok("rollback")
    assert boots.next() == OLD and boots.boot() == OLD and boots.verify().returncode == 0
    done = machine.run("rollback")
    assert done.returncode == 1 and "nothing to go back to" in done.stderr


def test_a_default_of_another_script_goes_before_the_policy_when_a_boot_is_judged(machine, boots):
    machine.ok("set", "64k")
    assert boots.boot() == NEW and boots.verify().returncode == 0
    machine.ok("set", "gnulinux-simple-1")
    assert machine.wishes()["granule_page_size"] == "64k"
    machine.running("4k")
    done = machine.run("verify")
    assert done.returncode == 0 and "gnulinux-simple-1" in done.stdout, done
    assert boots.verify().returncode == 0
    machine.ok("set", NEW)
    assert "booted gnulinux-simple-1 instead" in machine.run("verify").stdout, "what is stored since was not booted"


def test_what_failed_its_trial_is_the_policys_again_when_its_owner_had_it_booted_and_verified(machine, boots):
    machine.ok("try", "64k")
    assert boots.boot(unloadable={NEW}) == OLD and boots.verify().returncode == 0
    done = machine.run("set", "64k")
    assert done.returncode == 0 and f"{NEW} failed its trial" in done.stderr
    assert f"class\t64k\t{NEW}" not in machine.run("grub").stdout
    assert boots.boot() == NEW and boots.verify().returncode == 0
    assert f"class\t64k\t{NEW}" in machine.run("grub").stdout


def test_rollback_gives_up_a_trial(machine, boots):
    machine.ok("try", "64k")
    machine.ok("rollback")
    assert "next_entry" not in machine.wishes() and boots.next() == OLD


def test_a_default_that_cannot_be_loaded_falls_back_on_what_was_verified_and_is_told(machine, boots):
    machine.ok("set", "64k")
    assert boots.boot(unloadable={NEW}) == OLD
    done = boots.verify()
    assert done.returncode == 1 and f"{NEW}: GRUB could not load it" in done.stdout
    assert boots.record("verified")["current"]["entry"] == OLD


def test_a_boot_of_the_default_that_is_in_order_ends_its_tries(machine, boots):
    machine.ok("set", NEW)
    write_block(machine.block, {**machine.wishes(), "granule_tries": "2"})
    assert boots.boot() == NEW and machine.wishes()["granule_tries"] == "1"
    assert boots.verify().returncode == 0
    assert machine.wishes() == {"saved_entry": NEW, "granule_good": NEW}


def test_a_default_that_was_never_in_order_is_left_when_its_tries_are_over(machine, boots):
    machine.ok("set", NEW)
    write_block(machine.block, {**machine.wishes(), "granule_tries": "1"})
    assert [boots.boot(), boots.boot()] == [NEW, OLD] and boots.next() == OLD
    done = boots.verify()
    assert done.returncode == 1 and f"FAILED: entry: {NEW}: no tries are left\n" in done.stdout
    chain = {link["rule"]: (link["asked"], link["outcome"]) for link in machine.json("why")["chain"]}
    assert chain["default"] == (NEW, "bad") and machine.json("why")["rule"] == "last-resort"


# ---- what speaks against a trial ----


def test_without_lines_a_target_is_tried_as_it_is_if_the_owner_insists(tmp_path):
    system = GrubSystem(tmp_path / "root", lines=False, default="saved")
    boots = GrubBoots(system)
    target = "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1"
    assert boots.verify().returncode == 0 and boots.record("verified")["current"]["entry"] == "gnulinux-simple-1"
    done = system.run("try", "64k")
    assert done.returncode == 1 and "no-fallback" in done.stderr and "no-panic-reboot" in done.stderr
    assert "install /etc/grub.d/09_granule and run 'update-grub'" in done.stderr
    assert "next_entry" not in read_block(system.grubenv)
    system.run("try", "64k", "--force")
    assert read_block(system.grubenv)["next_entry"] == target and boots.record("trial")["words"] is None
    write_block(system.grubenv, {})
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", release="6.1-64k")
    done = system.run("verify", "--boot")
    assert "passed" in done.stdout and read_block(system.grubenv) == {"saved_entry": target}, done
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", release="6.1-64k")
    assert system.ok("verify", "--boot") and boots.record("verified")["current"]["entry"] == target


def test_a_trial_of_an_entry_that_another_one_is_the_double_of_is_known(tmp_path):
    """GRUB's menu has most entries twice, and does not tell which of them was booted."""
    system = GrubSystem(tmp_path / "root", lines=False, default="saved")
    cfg = system.boot / "grub/grub.cfg"
    cfg.write_text(cfg.read_text() + system.other_entry("6.1-64k", "mine", "mine"))
    GrubBoots(system).verify()
    assert system.run("try", "mine", "--force").returncode == 0
    write_block(system.grubenv, {})
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", release="6.1-64k")
    assert "passed" in system.ok("verify", "--boot")
    assert read_block(system.grubenv) == {"saved_entry": "mine"}
    words(system, "BOOT_IMAGE=/boot/vmlinuz-6.1-64k root=UUID=1 ro quiet", release="6.1-64k")
    assert system.json("status")["entry"] == "mine" and system.ok("verify", "--boot")


def test_a_script_that_grub_cfg_has_not_taken_up_is_told_apart(tmp_path):
    system = GrubSystem(tmp_path / "root", lines=False)
    script = system.root / "etc/grub.d/09_granule"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    GrubBoots(system).verify()
    assert "run 'update-grub', which takes up /etc/grub.d/09_granule" in system.run("try", "64k").stderr


def test_an_entry_of_another_script_is_not_given_words_it_would_not_take(machine):
    done = machine.run("try", "gnulinux-advanced-1>gnulinux-6.1-64k-advanced-1")
    assert done.returncode == 1 and "no-panic-reboot" in done.stderr and "entry of granule's" in done.stderr
    assert "next_entry" not in machine.wishes()


def test_a_block_that_grub_cannot_read_refuses_a_trial(machine):
    machine.block.write_bytes(machine.block.read_bytes()[:1023])
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "no-one-shot" in done.stderr and "1023" in done.stderr


def test_a_default_that_could_not_be_stored_is_said_before_the_trial(tmp_path):
    system = GrubSystem(tmp_path / "root", lines=False)
    GrubBoots(system).verify()
    done = system.run("try", "64k")
    assert done.returncode == 1 and "no-stored-default" in done.stderr and "GRUB_DEFAULT=saved" in done.stderr
    assert "no-stored-default" not in system.run("try", "64k", "--keep").stderr


# ---- loader/entries ----


@pytest.fixture(params=[False, True], ids=["grubenv", "granules-block"])
def bls(request, tmp_path):
    return bls_verified(tmp_path / "root", lines=request.param)


def try_it(system, *options):
    done = system.run("try", "64k", *options, *([] if system.lines else ["--force"]))
    assert done.returncode == 0, done
    return done


def test_a_trial_of_a_file_has_one_of_its_own_that_sorts_last(bls):
    try_it(bls)
    assert list(bls.entries()) == [BLS_NEW, f"{bls.machine_id}-6.1-16k", BLS_OLD, BLS_TRIAL]
    assert bls.wishes()["next_entry"] == BLS_TRIAL and bls.wishes()["saved_entry"] == BLS_OLD
    text = (bls.boot / f"loader/entries/{BLS_TRIAL}.conf").read_text()
    assert f"options root=UUID=1 ro quiet panic=10 granule.entry={BLS_TRIAL},64k\n" in text
    assert "title Red Hat Enterprise Linux (6.1-64k) (trial)\ngranule-trial yes\n" in text
    assert "grub_class rhel\n" in text and "\n\n" not in text and f"machine-id {bls.machine_id}\n" in text


@pytest.mark.parametrize("name", ["0" * 32, "9" * 32, "a" * 32, "f" * 32, "Fedora", "fedora"])
def test_it_sorts_last_whatever_the_entries_are_called(tmp_path, name):
    class Other(BlsSystem):
        def name(self, release):
            return f"{name}-{release}"

    system = Other(tmp_path / "root")
    (system.root / "etc/kernel/entry-token").write_text(name + "\n")
    system.ok("set", system.name("6.1-4k"))
    boots = BlsBoots(system)
    boots.boot()
    boots.verify()
    try_it(system)
    assert list(system.entries())[-1] == f"A-trial-{name}-6.1-64k"


def test_a_trial_of_a_file_that_passes_is_the_default_and_its_file_goes(bls):
    boots = BlsBoots(bls)
    try_it(bls)
    assert boots.boot() == BLS_TRIAL and bls.json("status")["entry"] == BLS_TRIAL
    done = boots.verify()
    assert done.returncode == 0 and "passed; it is the default now" in done.stdout
    assert bls.wishes()["saved_entry"] == BLS_NEW and BLS_TRIAL not in bls.entries()
    assert boots.boot() == BLS_NEW and boots.verify().returncode == 0
    assert bls.entries()[BLS_NEW]["running"]


def test_a_trial_of_a_file_that_panics_or_fails_leaves_the_default(bls):
    boots = BlsBoots(bls)
    before = bls.wishes()
    try_it(bls)
    assert [boots.boot(), boots.boot()] == [BLS_TRIAL, BLS_OLD]
    assert "did not come up" in boots.verify().stdout and bls.wishes() == before
    try_it(bls)
    boots.boot(size="4k")
    assert "rebooting into the default" in boots.verify().stdout
    assert bls.wishes() == before and BLS_TRIAL not in bls.entries() and boots.boot() == BLS_OLD


def test_try_none_takes_the_file_back(bls):
    before = bls.files()
    try_it(bls)
    bls.ok("try", "none")
    assert bls.files() == before


def test_rollback_among_files(bls):
    boots = BlsBoots(bls)
    try_it(bls)
    boots.boot()
    boots.verify()
    bls.ok("rollback")
    assert bls.wishes()["saved_entry"] == BLS_OLD and boots.boot() == BLS_OLD and boots.verify().returncode == 0


def test_an_entry_that_a_package_made_in_a_trials_boot_is_not_taken_for_the_trial(bls):
    """RHEL makes the command line of a new kernel's entry of /proc/cmdline."""
    boots = BlsBoots(bls)
    try_it(bls)
    boots.boot()
    boots.verify()
    cmdline = (bls.root / "proc/cmdline").read_text().split(None, 1)[1].strip()
    bls.add_kernel("6.2-64k", "64k")
    bls.write_entry("6.2-64k")
    entry = bls.boot / f"loader/entries/{bls.name('6.2-64k')}.conf"
    entry.write_text(entry.read_text().replace("root=UUID=1 ro quiet $tuned_params", cmdline))
    bls.ok("set", bls.name("6.2-64k"))
    assert boots.boot() == bls.name("6.2-64k") == bls.json("status")["entry"]
    assert boots.verify().returncode == 0 and boots.record("verified")["current"]["entry"] == bls.name("6.2-64k")


def test_a_trial_whose_entry_would_sort_first_is_refused(tmp_path):
    """Nothing is saved, and no entry sorts behind the trial's."""
    class Odd(BlsSystem):
        def name(self, release):
            return f"A-{release}" if release != "6.1-4k" else f"A-aaa-{release}"

    system = Odd(tmp_path / "root")
    (system.root / "etc/kernel/entry-token").write_text("A\n")
    boots = BlsBoots(system)
    system.ok("set", system.name("6.1-4k"))
    boots.boot()
    boots.verify()
    write_block(system.grubenv, {})
    before = system.files()
    done = system.run("try", "64k", "--force")
    assert done.returncode == 1 and "would be the first in GRUB's menu" in done.stderr
    assert system.files() == before and boots.record("trial") is None
