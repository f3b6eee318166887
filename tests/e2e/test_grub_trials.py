# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on a machine that GRUB boots, whatever comes of one. test_trials.py has the same for granule-boot; test_grub.py a
whole Debian system, with fewer accidents."""

import pytest

from grub_small import ID, make_grub_disk, make_grub_esp, make_grub_initramfs, make_grub_state, missing_grub
from guest import run
from long_run import long, only_long
from machine import READY, WITHOUT_16K, Machine
from test_main_job import status
from test_trials import history, judge, judge_and_reboot, last_of, parse, try_it, write_check

pytestmark = pytest.mark.skipif(bool(missing_grub()), reason="missing: " + ", ".join(missing_grub()))
BOTH = pytest.mark.parametrize("grub", [long("2.06"), long("2.12")], indirect=True)


def nothing_is_left(m):
    """Of a trial that is over: no one-shot, no words for it."""
    out = m.ok("cat /efi/EFI/granule/grubenv")
    assert "next_entry" not in out and "granule_options" not in out


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    """Disks with a menu, from which the 4K entry boots by a policy and is verified; made when they are asked for."""
    made = {}

    def get(version):
        if version not in made:
            folder = tmp_path_factory.mktemp(f"grub-{version}")
            make_grub_initramfs(folder / "initrd", version)
            make_grub_esp(folder / "esp", version)
            make_grub_state(folder / "state", version, folder / "initrd", ("4k", "16k", "64k"))
            make_grub_disk(folder / "disk", folder / "esp", folder / "state")
            with Machine(folder, folder / "disk", firmware="edk2-13") as m:
                m.start()
                m.ok("update-grub && granule set 4k")
                m.reboot()
                assert m.page_size() == 4096 and judge(m)["ok"]
                m.power_off()
            made[version] = folder
        return made[version]

    return get


@pytest.fixture
def grub(request):
    return getattr(request, "param", "2.06")


@pytest.fixture
def machine(disks, grub, tmp_path):
    machines = []

    def start(icount=True, **keywords):
        for name in ("disk", "variables.fd"):
            run("cp", "--sparse=always", disks(grub) / name, tmp_path)
        m = Machine(tmp_path, tmp_path / "disk", firmware="edk2-13", **keywords)
        m.icount = icount
        machines.append(m)
        m.start()
        assert m.page_size() == 4096
        return m

    yield start
    for m in machines:
        m.kill()


@BOTH
def test_a_trial_that_passes_is_the_default_and_rollback_goes_back(machine):
    m = machine()
    out = try_it(m, "64k")
    assert "it has no watchdog" in out
    assert status(m)["next"]["id"] == ID["64k"]
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, ID["64k"])
    words = m.ok("cat /proc/cmdline").split()
    assert f"granule.entry={ID['64k']},64k" in words and f"granule.chosen=oneshot:{ID['64k']}" in words
    assert status(m)["next"]["id"] == ID["4k"], "until it is judged"
    verdict = judge(m)
    assert verdict["ok"] and verdict["trial"] and verdict["page_size"] == 65536
    nothing_is_left(m)
    assert status(m)["next"]["id"] == ID["64k"] and status(m)["policy"] == "64k"
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, ID["64k"])
    assert judge(m)["ok"]
    m.ok("granule rollback")
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
    assert judge(m)["ok"]
    assert [h[:2] for h in history(m) if h[0] in ("armed", "passed", "rolled-back")] == [
        ("armed", ID["64k"]), ("passed", ID["64k"]), ("rolled-back", ID["4k"])]


@only_long
def test_a_trial_of_16k_with_keep_passes_and_the_default_stays(machine):
    m = machine()
    try_it(m, "64k")
    m.ok("granule try none")
    nothing_is_left(m)
    assert status(m)["next"]["id"] == ID["4k"]
    try_it(m, "16k", "--keep")
    m.reboot()
    assert m.page_size() == 16384
    assert judge(m)["ok"]
    nothing_is_left(m)
    assert status(m)["next"]["id"] == ID["4k"] and status(m)["policy"] == "4k"


@BOTH
def test_a_kernel_that_panics_is_told_by_its_last_words_and_tried_as_often_as_asked(machine):
    m = machine(icount=False)
    m.ok("echo 'trial-options = init=/nowhere rdinit=/nowhere printk.time=1' >/etc/granule.conf")
    try_it(m, "64k", "--tries", "2")
    for left in (True, False):
        m.reboot(wait=False)
        m.wait_for("Kernel panic")
        m.wait_for(READY)
        assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
        assert judge(m)["ok"], "it is the trial that failed, not this boot"
        assert (status(m)["next"]["id"] == ID["64k"]) == left
        verdict, entry, reason = last_of(m, "not-come-up")
        assert entry == ID["64k"] and "Kernel panic - not syncing: Requested init /nowhere failed" in reason
    nothing_is_left(m)
    assert len([h for h in history(m) if h[0] == "not-come-up"]) == 2


@pytest.mark.parametrize("cpu, size, break_it, said", [
    long(None, "64k", "rm /boot/vmlinuz-*-64k; sync", "error: file .* not found"),
    long(None, "64k", "head -c 4096 /dev/zero >$(ls /boot/vmlinuz-*-64k); sync", "error: "),
    long(WITHOUT_16K, "16k", ":", "came back; rebooting"),
], ids=["gone", "garbage", "not-on-this-cpu"])
def test_a_kernel_that_cannot_be_started_is_passed_over_by_itself(machine, cpu, size, break_it, said):
    m = machine(**({"cpu": cpu} if cpu else {}))
    try_it(m, size)
    m.ok(break_it)
    m.reboot(wait=False)
    m.wait_for(said)
    m.wait_for(READY)
    assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
    # One that was started and came back leads to a new start of the machine.
    assert (f"granule.failed={ID[size]}" in m.ok("cat /proc/cmdline").split()) == (not cpu)
    assert judge(m)["ok"]
    assert last_of(m, "not-come-up")[1] == ID[size]
    nothing_is_left(m)
    m.reboot()
    assert m.page_size() == 4096


@only_long
def test_a_kernel_that_hangs_is_reset_by_the_watchdog(machine):
    m = machine(more=["-device", "i6300esb"])
    m.ok("watchdog -T 60 -t 5 /dev/watchdog")
    m.ok("granule try 64k")
    m.reboot()
    assert m.page_size() == 65536
    m.console, m.taken = "", 0
    m.send("echo >/dev/watchdog\n")
    m.wait_for(READY)
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert last_of(m, "not-come-up")[1] == ID["64k"]
    nothing_is_left(m)


@only_long
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
    assert status(m)["next"]["id"] == ID["64k"]


def test_a_check_that_fails_leads_back_after_one_reboot(machine):
    m = machine()
    write_check(m, "[ $(getconf PAGESIZE) = 4096 ] || { echo out of tune; exit 3; }")
    try_it(m, "64k", "--tries", "3")
    m.reboot()
    assert m.page_size() == 65536
    verdict = judge_and_reboot(m)
    assert verdict["trial"] and "out of tune" in verdict["problems"][0]
    assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
    assert judge(m)["ok"]
    assert "out of tune" in last_of(m, "failed")[2]
    # What came up and is not well is not tried again, whatever tries there were.
    nothing_is_left(m)


@only_long
def test_without_a_verdict_by_the_deadline_it_leads_back(machine):
    m = machine()
    try_it(m, "64k", "--deadline", "90s")
    m.reboot()
    assert m.page_size() == 65536
    m.console, m.taken = "", 0
    m.send("granule verify --watch --json\n")
    m.wait_for(READY)
    verdict = parse(m.console)
    assert verdict["rebooting"] and "deadline" in verdict["problems"][0]
    assert m.page_size() == 4096
    assert judge(m)["ok"]
    assert "90 s" in last_of(m, "failed")[2]
    nothing_is_left(m)


@only_long
@pytest.mark.parametrize("cpu", [None, WITHOUT_16K], ids=["gone", "not-on-this-cpu"])
def test_a_default_that_cannot_be_started_gives_way_to_what_was_verified(machine, cpu):
    size = "16k" if cpu else "64k"
    m = machine(**({"cpu": cpu} if cpu else {}))
    m.ok(f"granule set {size}")
    if not cpu:
        m.ok("rm /boot/vmlinuz-*-64k; sync")
    for _ in range(2):
        m.reboot()
        assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
        if not cpu:
            assert f"granule.failed={ID[size]}" in m.ok("cat /proc/cmdline").split()
        assert not judge(m)["trial"]
