# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on real kernels: whatever comes of one, the machine ends where it should, after as few boots as it takes.

The guest has no service manager: `granule verify --boot` is run by hand, as an init script would."""

import json
import re

import pytest

from guest import kernel, run, with_header_page_size
from machine import ARM64_FIRMWARE, READY
from peer_guest import missing_peers, os_release, ukify
from test_hostile import variable_command
from test_main_job import RELEASE, add_all_sizes, status

ON_BOTH = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)


def parse(out):
    return json.loads(re.search(r"^\{.*?^\}", out, re.S | re.M).group())


def judge(m):
    """The verdict on the running boot; it must not lead to another."""
    code, out = m.run("granule verify --boot --json")
    verdict = parse(out)
    assert verdict["ok"] == (code == 0) and not verdict["rebooting"]
    return verdict


def judge_and_reboot(m):
    """The verdict on a boot that leads to another: exactly one."""
    m.console, m.taken = "", 0
    m.send("granule verify --boot --json\n")
    m.wait_for(READY)
    verdict = parse(m.console)
    assert not verdict["ok"] and verdict["rebooting"]
    assert m.console.count(READY) == 1
    return verdict


def history(m):
    """(verdict, entry that was asked for or booted, reason) of each line."""
    return [(h["verdict"], h["entry_asked"] or h["entry"], h["reason"] or "") for h in
            json.loads(m.ok("granule history --json"))["lines"]]


def last_of(m, verdict):
    return [h for h in history(m) if h[0] == verdict][-1]


def entry_files(m):
    return m.ok("ls /efi/loader/entries").split()


def try_it(m, *words):
    """Arms a trial, and sees that what boots by default stays."""
    before = json.loads(m.ok("granule list --json"))["entries"]
    out = m.ok("granule try --force " + " ".join(words))
    after = json.loads(m.ok("granule list --json"))["entries"]
    assert [e["id"] for e in before if e["default"]] == [e["id"] for e in after if e["default"]]
    return out


def nothing_is_left(m):
    """Of a trial that is over: no entry, no one-shot."""
    assert not [f for f in entry_files(m) if "-trial" in f]
    assert m.run("grep -q next_entry=. /efi/EFI/granule/grubenv")[0] != 0
    assert m.run("ls /sys/firmware/efi/efivars | grep -q LoaderEntryOneShot")[0] != 0


def write_check(m, text):
    """An executable that verify --boot runs."""
    m.ok(f"mkdir -p /etc/granule/verify.d; printf '%s\\n' '#!/bin/sh' '{text}' >/etc/granule/verify.d/check; "
         "chmod +x /etc/granule/verify.d/check")


@pytest.fixture
def machine(esp, boot):
    """Started from the 4K entry, which is the default and verified."""
    add_all_sizes(esp)

    def start(**keywords):
        m = boot(**keywords)
        assert m.page_size() == 4096 and judge(m)["ok"]
        return m

    return start


@ON_BOTH
def test_a_trial_that_passes_is_the_default_and_rollback_goes_back(esp, boot):
    add_all_sizes(esp)
    m = boot()
    code, out = m.run("granule try 64k")
    assert code == 1 and "test-4k.conf boots by default, and nothing has been verified yet" in out
    assert entry_files(m) == ["test-16k.conf", "test-4k.conf", "test-64k.conf"]
    assert judge(m)["ok"]
    out = try_it(m, "64k")
    assert "nothing has been verified" not in out and "it has no watchdog" in out
    assert "panic=5" in m.ok("cat /efi/loader/entries/test-64k-trial+0.conf")
    assert status(m)["next"]["id"] == "test-64k-trial.conf"

    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, "test-64k-trial.conf")
    assert status(m)["next"]["id"] == "test-4k.conf", "until it is judged"
    verdict = judge(m)
    assert verdict["ok"] and verdict["trial"] and verdict["page_size"] == 65536
    nothing_is_left(m)
    assert status(m)["next"]["id"] == "test-64k.conf" and status(m)["policy"] == "64k"
    assert m.run("granule verify --boot")[0] == 0, "and once more in the same boot"

    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, "test-64k.conf")
    assert judge(m)["ok"]
    m.ok("granule rollback")
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")
    assert judge(m)["ok"]
    assert [h[:2] for h in history(m) if h[0] in ("armed", "passed", "rolled-back")] == [
        ("armed", "test-64k.conf"), ("passed", "test-64k.conf"), ("rolled-back", "test-4k.conf")]


def test_a_trial_of_16k_with_keep_passes_and_the_default_stays(machine):
    m = machine()
    m.ok("cp -r /efi/loader /efi/kernels /efi/initrd /state")
    code, out = m.run("granule try 64k --force --esp-path /state")
    assert code == 1 and "is not the partition that the loader came from" in out
    try_it(m, "64k")
    m.ok("granule try none")
    nothing_is_left(m)
    assert status(m)["next"]["id"] == "test-4k.conf"
    try_it(m, "16k", "--keep")
    m.reboot()
    assert m.page_size() == 16384
    assert judge(m)["ok"]
    nothing_is_left(m)
    assert status(m)["next"]["id"] == "test-4k.conf" and status(m)["policy"] is None
    assert [h[:2] for h in history(m)][1:] == [
        ("armed", "test-64k.conf"), ("canceled", "test-64k.conf"), ("armed", "test-16k.conf"), ("passed", "test-16k.conf")]


@pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
def test_a_unified_image_is_tried_as_it_is(esp, machine, tmp_path, initramfs):
    for name, options in (("stands", "console=ttyAMA0 panic=0"), ("one", "console=ttyAMA0 panic=5")):
        esp.add_file(f"/EFI/Linux/{name}.efi", ukify(
            tmp_path / name, linux=kernel("16k"), uname=RELEASE["16k"], cmdline=options, initrd=initramfs,
            os_release=os_release(ID="test", VERSION_ID="1", PRETTY_NAME="Test OS")))
    m = machine()
    code, out = m.run("granule try stands")
    assert code == 1 and "stands.efi: its kernel stands still after a panic" in out
    try_it(m, "one")
    assert entry_files(m) == ["test-16k.conf", "test-4k.conf", "test-64k.conf"]
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (16384, "one.efi")
    assert judge(m)["ok"]
    nothing_is_left(m)
    assert status(m)["next"]["id"] == "one.efi"


@ON_BOTH
def test_a_kernel_that_panics_is_told_by_its_last_words_and_tried_as_often_as_asked(esp, machine):
    esp.add_entry("panics", "/kernels/64k", "9", sort_key="99999",
                  options="console=ttyAMA0 panic=1 init=/nowhere rdinit=/nowhere printk.time=1")
    m = machine(icount=False)
    try_it(m, "panics", "--tries", "2")
    for left in (True, False):
        m.reboot(wait=False)
        m.wait_for("Kernel panic")
        m.wait_for(READY)
        assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")
        assert judge(m)["ok"], "it is the trial that failed, not this boot"
        assert (status(m)["next"]["id"] == "panics-trial.conf") == left
        verdict, entry, reason = last_of(m, "not-come-up")
        assert entry == "panics.conf"
        if m.firmware == "edk2":
            assert "Kernel panic - not syncing: VFS: Unable to mount root fs" in reason
        else:
            assert "no reason is known" in reason
    nothing_is_left(m)
    assert len([h for h in history(m) if h[0] == "not-come-up"]) == 2


def test_a_kernel_that_hangs_is_reset_by_the_watchdog(machine):
    """It also is what a trial on a machine without display asks for."""
    m = machine(more=["-device", "i6300esb"])
    code, out = m.run("granule try 64k")
    assert code == 1 and "nothing arms its watchdog watchdog0" in out
    m.ok("watchdog -T 60 -t 5 /dev/watchdog")
    m.ok("granule try 64k")
    m.reboot()
    assert m.page_size() == 65536
    # From now on nobody is there: no verdict, and nobody who feeds the watchdog.
    m.console, m.taken = "", 0
    m.send("echo >/dev/watchdog\n")
    m.wait_for(READY)
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert last_of(m, "not-come-up")[1] == "test-64k.conf"
    nothing_is_left(m)


def test_a_machine_that_is_reset_in_its_trial_tries_again_if_there_are_tries(machine):
    m = machine()
    try_it(m, "64k", "--tries", "2")
    m.reboot()
    assert m.page_size() == 65536
    m.kill()
    m.start()
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert "no reason is known" in last_of(m, "not-come-up")[2]
    m.reboot()
    assert m.page_size() == 65536
    assert judge(m)["ok"]
    nothing_is_left(m)
    assert status(m)["next"]["id"] == "test-64k.conf"


def test_an_image_that_ignores_the_page_size_fails_its_trial(esp, machine):
    """It says that the size can be chosen, and always has 4K."""
    esp.add_file("/kernels/lies", with_header_page_size(kernel("4k").read_bytes(), 0))
    esp.add_entry("lies", "/kernels/lies", "9", sort_key="99999", granule_image="selectable",
                  options="arm64.pagesize=64k console=ttyAMA0 panic=5")
    m = machine()
    try_it(m, "lies")
    m.reboot()
    assert status(m)["entry"] == "lies-trial.conf" and m.page_size() == 4096
    verdict = judge_and_reboot(m)
    assert verdict["trial"] and "kernel ignored arm64.pagesize=64k" in verdict["problems"][0]
    assert status(m)["entry"] == "test-4k.conf"
    assert judge(m)["ok"]
    assert last_of(m, "failed")[1] == "lies.conf"
    nothing_is_left(m)


def test_a_check_that_fails_or_takes_too_long_leads_back_after_one_reboot(machine):
    m = machine()
    m.ok("echo 'check-timeout = 5s' >/etc/granule.conf")
    for text, reason in (("[ $(getconf PAGESIZE) = 4096 ] || { echo out of tune; exit 3; }", "out of tune"),
                         ("[ $(getconf PAGESIZE) = 4096 ] || sleep 1000", "5 s")):
        write_check(m, text)
        try_it(m, "64k", "--tries", "3")
        m.reboot()
        assert m.page_size() == 65536
        verdict = judge_and_reboot(m)
        assert verdict["trial"] and reason in verdict["problems"][0]
        assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")
        assert judge(m)["ok"]
        assert reason in last_of(m, "failed")[2]
        # What came up and is not well is not tried again, whatever tries there were.
        nothing_is_left(m)
    assert [h[0] for h in history(m)][1:] == ["armed", "failed", "nothing-asked"] * 2


def test_a_default_that_is_unwell_too_stays_up(machine):
    m = machine()
    write_check(m, "echo nothing works; exit 1")
    try_it(m, "64k")
    m.reboot()
    assert "nothing works" in judge_and_reboot(m)["problems"][0]
    assert m.page_size() == 4096
    verdict = judge(m)
    assert not verdict["ok"] and not verdict["trial"]
    m.reboot()
    assert not judge(m)["ok"] and m.page_size() == 4096, "nor in the boots after it"
    nothing_is_left(m)


def test_the_owner_may_have_it_stay_up_when_a_trial_fails(machine):
    m = machine()
    m.ok("echo 'reboot-on-failure = no' >/etc/granule.conf")
    write_check(m, "[ $GRANULE_TRIAL = 0 ]")
    m.console, m.taken = "", 0
    m.send("granule try 64k --force --reboot\n")
    m.wait_for(READY)
    assert m.page_size() == 65536
    assert not judge(m)["ok"]
    assert status(m)["next"]["id"] == "test-4k.conf"
    nothing_is_left(m)


def test_without_a_verdict_by_the_deadline_it_leads_back(machine):
    m = machine()
    try_it(m, "64k", "--deadline", "90s")
    m.reboot()
    assert m.page_size() == 65536
    # What granule-deadline.service runs; nobody runs verify --boot.
    m.console, m.taken = "", 0
    m.send("granule verify --watch --json\n")
    m.wait_for(READY)
    verdict = parse(m.console)
    assert verdict["rebooting"] and "deadline" in verdict["problems"][0]
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert "90 s" in last_of(m, "failed")[2]


def test_what_is_taken_away_from_a_trial_is_what_the_history_says(machine):
    m = machine()
    try_it(m, "64k", "--tries", "5")
    m.ok("rm /efi/loader/entries/test-64k-trial+0.conf")
    m.reboot()
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert "test-64k-trial.conf is not there" in last_of(m, "not-come-up")[2]
    nothing_is_left(m)

    try_it(m, "16k", "--tries", "5")
    m.ok("rm /efi/kernels/16k")
    m.reboot()
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert re.search("/kernels/16k|kernel", last_of(m, "not-come-up")[2])
    nothing_is_left(m)
    code, out = m.run("granule try 16k --force")
    assert code == 1 and "16K" in out


def test_a_disk_that_was_moved_to_another_machine_knows_its_trial(machine):
    """Another partition UUID, and none of the variables: the one-shot stayed behind."""
    m = machine()
    try_it(m, "64k")
    m.power_off()
    run("/sbin/sfdisk", "-q", "--part-uuid", m.disk, "1", "6d2a1f0c-55a1-4c9e-8f35-fedcba987654")
    (m.folder / "variables.fd").unlink()
    m.start()
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert "is not the one that the trial was armed on" in last_of(m, "not-come-up")[2]
    nothing_is_left(m)


def test_a_clock_that_jumps_back_changes_no_verdict(machine):
    """The guest has no clock of its own: each boot is in 1970, unless somebody says otherwise."""
    m = machine()
    m.ok("date -s '2026-12-01 06:00:00'")
    try_it(m, "64k", "--deadline", "10m")
    m.reboot()
    assert m.ok("date +%Y") == "1970" and m.page_size() == 65536
    assert judge(m)["ok"]
    m.ok("date -s '2001-02-03 04:05:06'")
    m.reboot()
    assert m.page_size() == 65536
    assert judge(m)["ok"]
    lines = json.loads(m.ok("granule history --json"))["lines"]
    assert [(h["verdict"], h["time"][:4]) for h in lines] == [
        ("nothing-asked", "1970"), ("armed", "2026"), ("passed", "1970"), ("ok", "1970")]
    assert all(0 < h["boot_seconds"] < 600 for h in lines if h["kind"] == "boot")


def test_of_two_systems_on_one_esp_each_judges_its_own_trial(esp, machine):
    esp.add_entry("other-64k", "/kernels/64k", RELEASE["64k"] + "z", sort_key="99999", machine_id="b" * 32)
    m = machine()
    m.ok("echo " + "a" * 32 + " >/etc/machine-id")
    code, out = m.run("granule try other-64k")
    assert code == 1 and "starts another system" in out
    try_it(m, "test-64k")
    m.reboot()
    assert m.page_size() == 65536
    # The other system's state: it knows of no trial, and leaves this one's entry to whom it belongs.
    m.ok("mkdir -p /state/other; mount --bind /state/other /var; echo " + "b" * 32 + " >/etc/machine-id")
    assert not judge(m)["trial"]
    assert [f for f in entry_files(m) if f.startswith("test-64k-trial+0")]
    m.ok("umount /var; echo " + "a" * 32 + " >/etc/machine-id")
    assert judge(m)["ok"]
    nothing_is_left(m)
    # A policy would mean the other system's, which is newer.
    assert status(m)["next"]["id"] == "test-64k.conf"


def test_a_one_shot_that_stays_leads_to_no_second_reboot(machine):
    """As of a loader that does not clear it, on a system that cannot clear it either."""
    m = machine()
    write_check(m, "[ $(getconf PAGESIZE) = 4096 ]")
    try_it(m, "64k")
    m.reboot()
    assert m.page_size() == 65536
    m.ok(variable_command("LoaderEntryOneShot", "test-64k-trial.conf"))
    m.ok("mount -o remount,ro /sys/firmware/efi/efivars")
    assert not judge(m)["ok"]
    # A person reboots; the entry is gone, and the loader clears the one-shot.
    m.reboot()
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    nothing_is_left(m)
