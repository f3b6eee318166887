# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts on a machine that GRUB boots: while a command runs, while GRUB clears a one-shot or counts a try, and between
that and the kernel's first writes. See power.py for what a cut leaves, test_power_cuts.py for how they are made.

GRUB overwrites its block and does not flush the disk. So a cut before the kernel does may bring a one-shot back, and it is
obeyed once more; that is what the tests grant it, and no more than that: a reset without a power cut never does, and after
the kernel's first flush nothing does. GRANULE_CUT_SEED=SCENARIO:NUMBER repeats one cut."""

import json
import os
import random
import re
import subprocess
import time

import pytest

from fat import fat_problems
from grub_small import ID, make_grub_disk, make_grub_esp, make_grub_initramfs, make_grub_state, missing_grub
from guest import ESP_START, STATE_SIZE, STATE_START
from machine import AAVMF_13, READY, Hang
from power import DISK, FLASH, PowerMachine, World, position

pytestmark = pytest.mark.skipif(bool(missing_grub()), reason="missing: " + ", ".join(missing_grub()))
CUTS = int(os.environ.get("GRANULE_CUTS", "30"))
SHORT_RUN = CUTS < 100
REBOOT_EACH = 3 if SHORT_RUN else 1
ONLY = os.environ.get("GRANULE_CUT_SEED")

TRY, VERIFY = "granule try 64k --force", "granule verify --boot"
PASSED = [TRY, VERIFY, VERIFY]
ROLLED_BACK = "granule rollback || granule status | grep -q 'policy: 4k'"


class Scenario:
    """`before` are commands that lead to the state in which `command` is run, each in a boot of its own. Without a command
    the boot that follows is cut, from GRUB's first write until the guest is up. `again` is run after the cut, if that is
    another one; `then` is the page size that boots in the end. `trial`: one is under way; `tries`: those of the default are
    counted. `block`: where granule's environment block is."""

    def __init__(self, version="2.06", block="esp", before=(), command=None, again=None, then="64k", trial=False,
                 tries=False):
        self.version, self.block, self.before, self.command = version, block, before, command
        self.again, self.then, self.trial, self.tries = again or command, then, trial, tries


SCENARIOS = {
    "grub-loader-trial": Scenario(before=[TRY], trial=True),
    "grub-verify": Scenario(before=[TRY], command=VERIFY, trial=True),
    "grub-loader-once-boot": Scenario("2.12", "boot", before=["granule once 64k"], again="granule once 64k"),
    # Not in the short run.
    "grub-try": Scenario(command=TRY, trial=True),
    "grub-loader-tries": Scenario(before=["mkdir -p /etc/kernel; echo 3 >/etc/kernel/tries; granule set 64k"],
                                  again="granule set 64k", tries=True),
    "grub-set": Scenario(command="granule set 64k"),
    "grub-once-boot": Scenario(block="boot", command="granule once 64k"),
    "grub-loader-trial-boot": Scenario(block="boot", before=[TRY], trial=True),
    "grub-try-boot": Scenario("2.12", "boot", command=TRY, trial=True),
    "grub-verify-boot": Scenario(block="boot", before=[TRY], command=VERIFY, trial=True),
    "grub-rollback": Scenario(before=PASSED, command="granule rollback", again=ROLLED_BACK, then="4k"),
    "grub-set-boot": Scenario("2.12", "boot", command=f"granule set {ID['64k']}"),
}
SHORT = 2


def start_world(version, block, folder):
    """A machine that boots a verified 4K entry by a policy, and has a 64K one."""
    make_grub_initramfs(folder / "initrd", version)
    make_grub_esp(folder / "esp", version)
    make_grub_state(folder / "state", version, folder / "initrd")
    make_grub_disk(folder / "first", folder / "esp", folder / "state")
    world = World({DISK: folder / "first", FLASH: AAVMF_13 / "AAVMF_VARS.fd"})
    # Without the ESP the block goes to GRUB's folder.
    update = "update-grub" if block == "esp" else "umount /efi; update-grub; mount -t vfat /dev/vda1 /efi"
    with PowerMachine(folder, run_boots(world, folder, [f"{update}; granule set 4k"]), "edk2-13") as m:
        m.start()
        m.ok(VERIFY)
        state = state_of(m)
        m.power_off()
    base = World(m.world.save(folder))
    base.state = state
    return base


def run_boots(world, folder, boots):
    """A new world: that one after boots, in each of which some commands are run."""
    world = world.after()
    for commands in boots:
        with PowerMachine(folder, world, "edk2-13") as m:
            m.start()
            m.ok(commands)
            m.power_off()
        world = world.after()
    return world


STATE = "(granule status --json; echo @@@; granule list --json; echo @@@; \
cat /efi/EFI/granule/grubenv /boot/grub/granule.env | tr -d '#'; echo @@@; \
md5sum /boot/grub/grub.cfg /boot/grub/grubenv /boot/vmlinuz* /etc/default/grub) 2>/dev/null; true"


def state_of(m):
    """What a command leaves: wishes, entries, granule's block, and the owner's files; as sets of lines."""
    status, entries, block, files = m.ok(STATE).split("@@@\n")
    status = json.loads(status)
    return {
        "wishes": {f"{key} {status.get(key)}" for key in ("next", "policy")},
        "entries": {f"{e['id']} {e['page_size']} {e['state']} {e['options']}" for e in json.loads(entries)["entries"]},
        "block": set(block.splitlines()),
        "files": set(files.splitlines()),
    }


def differences(state, expected):
    return [f"{sign}{line}" for key in state for sign, one, other in (("+", state, expected), ("-", expected, state))
            for line in sorted(one[key] - other[key])]


def booted(m):
    """(id, rule that chose it)"""
    why = json.loads(m.ok("granule why --json 2>/dev/null"))
    return why["entry"], why["rule"]


def next_id(m):
    return json.loads(m.ok("granule status --json 2>/dev/null"))["next"]["id"]


DEFAULT, ONESHOT = (ID["4k"], "policy"), (ID["64k"], "oneshot")


class Recording:
    """The scenario without a cut: what was written, when, and the state in the end."""

    def __init__(self, name, base, folder):
        self.name, self.scenario, self.folder = name, SCENARIOS[name], folder
        s = self.scenario
        self.base_state = base.state
        self.world = run_boots(base, folder, s.before)
        with PowerMachine(folder, self.world, "edk2-13") as m:
            m.start(wait=False)
            self.start = time.monotonic()
            m.wait_for(READY)
            if s.command:
                self.start = time.monotonic()
                m.ok(s.command)
            self.end, self.completed = time.monotonic(), len(self.world.log)
            if s.trial and booted(m) != ONESHOT:
                m.reboot()
            if s.tries:
                m.ok(VERIFY)
            m.ok(VERIFY if s.trial else s.again)
            self.state = state_of(m)
        if not s.command:
            # The first write to the disk is GRUB's: nothing else wrote since the machine was off.
            self.cleared = next(i for i, e in enumerate(self.world.log) if e.device == DISK and e.data is not None)
            self.start = self.world.log[self.cleared - 1].time

    def sure(self, n, completed):
        """Whether the one-shot is gone for good when the power is cut there."""
        done = n if completed else n - 1
        return any(e.data is None for e in self.world.log[self.cleared + 1:done])


def cut(recording, seed):
    """(the world after a cut, whether a one-shot that GRUB has cleared must be gone). The first seed's is at the end, when
    what was done must be on the disk; the second's is no power cut but a reset right after GRUB's write."""
    r, log = random.Random(f"{recording.name}:{seed}"), recording.world.log[:recording.completed]
    keep = None
    if seed == 0:
        n, completed, keep = recording.completed, True, 0
    elif seed == 1 and not recording.scenario.command:
        first = log[recording.cleared]
        last = max(i for i, e in enumerate(log) if e.device == DISK and e.data is not None
                   and first.offset <= e.offset < first.offset + 1024)
        n, completed, keep = last + 1, True, 1
    else:
        n, completed = position(log, recording.start, recording.end, r)
    print(f"GRANULE_CUT_SEED={recording.name}:{seed}: cut at event {n} of {recording.completed} "
          f"({log[n - 1]}), {'completed' if completed else 'under way'}", flush=True)
    sure = not recording.scenario.command and (keep == 1 or recording.sure(n, completed))
    return recording.world.cut(n, r, completed, keep), sure


def check_cut(recording, seed):
    """Cuts, boots, looks, runs the command again, and boots once more."""
    s = recording.scenario
    world, sure = cut(recording, seed)
    with PowerMachine(recording.folder, world, "edk2-13") as m:
        m.start()
        for command in ("status", "why", "history"):
            m.ok(f"granule {command} --json")
        was = booted(m)
        if not s.command:
            if s.tries:
                assert was == (ID["64k"], "policy"), f"booted {was}"
            else:
                assert was == DEFAULT or was == ONESHOT and not sure, f"booted {was}"
            if was == ONESHOT and (not s.trial or seed % 2):
                m.reboot()
                was = booted(m)
                assert was == DEFAULT, "the one-shot was obeyed a second time"
        (check_trial if s.trial else check_command)(recording, seed, m, was)
        m.ok("sync; mount -o remount,ro /efi; umount /boot /var /etc; umount /state")  # so that all of it is in the image
        check_file_systems(m)


def check_file_systems(m):
    image = m.world.images[DISK]
    assert not fat_problems(image, ESP_START)
    part = m.folder / "state.img"
    part.write_bytes(image[STATE_START:STATE_START + STATE_SIZE])
    done = subprocess.run(["/sbin/e2fsck", "-fn", part], capture_output=True, text=True)
    part.unlink()
    # The guest has no clock, so that files are deleted in 1970; then e2fsck takes their times for other things.
    complaints = [line for line in done.stdout.splitlines() if not re.match(
        r"Pass \d|$|.*WARNING: Filesystem still|.* files \(|Deleted inode \d+ has zero dtime|Inodes that were part of a "
        r"corrupted orphan|Inode \d+ was part of the orphan", line)]
    assert not complaints, done.stdout


def check_command(recording, seed, m, was):
    s = recording.scenario
    assert was[0] in (ID["4k"], ID["64k"]), f"booted {was}"
    if seed == 0 and s.command:
        assert was[0] == ID[s.then], f"booted {was} although the command was done"
    commands = (s.again, VERIFY) if s.again == ROLLED_BACK else (VERIFY, s.again)
    for command in commands:
        m.ok(command)
    check_state(m, recording.state)
    if seed % REBOOT_EACH == 0:
        m.reboot()
        assert booted(m)[0] == ID[s.then]


def check_trial(recording, seed, m, was):
    """It is as if the trial had never been, or it passes."""
    s = recording.scenario
    allowed = [DEFAULT, ONESHOT] + ([(ID["64k"], "policy")] if s.command == VERIFY else [])
    assert was in allowed, f"booted {was}"
    if seed == 0 and s.command:
        assert was == (ONESHOT if s.command == TRY else (ID["64k"], "policy")), f"booted {was} although the command was done"
    m.ok(VERIFY)
    passed = next_id(m) == ID["64k"]
    assert passed or was != ONESHOT
    check_state(m, recording.state if passed else recording.base_state)
    if not passed:
        m.ok(TRY)
    if seed % REBOOT_EACH == 0:
        m.reboot()
        assert booted(m) == ((ID["64k"], "policy") if passed else ONESHOT)


def check_state(m, expected):
    different = differences(state_of(m), expected)
    assert not different, "\n".join(different)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """First worlds, made when they are asked for."""
    made = {}

    def get(version, block):
        if (version, block) not in made:
            made[version, block] = start_world(version, block, tmp_path_factory.mktemp(f"world-{version}-{block}"))
        return made[version, block]

    return get


def chunks():
    """(scenario, seeds) of each test; few seeds in each, so that processors share them evenly."""
    if ONLY:
        name, seed = ONLY.rsplit(":", 1)
        return [(name, [int(seed)])] if name in SCENARIOS else []
    names = list(SCENARIOS)[:SHORT if SHORT_RUN else None]
    # Half as many as for granule-boot, but the first two of each.
    share = max(2, CUTS // 2 // len(names)) if not SHORT_RUN else 2
    return [(name, list(range(first, min(first + 25, share)))) for name in names for first in range(0, share, 25)]


@pytest.mark.parametrize("name, seeds", chunks(), ids=lambda v: v if isinstance(v, str) else f"{v[0]}-{v[-1]}")
def test_after_a_power_cut_a_grub_machine_boots_and_the_command_completes(name, seeds, worlds, tmp_path):
    s = SCENARIOS[name]
    recording = Recording(name, worlds(s.version, s.block), tmp_path)
    failures = []
    for seed in seeds:
        try:
            check_cut(recording, seed)
        except (AssertionError, Hang) as e:
            failures.append(f"GRANULE_CUT_SEED={name}:{seed}\n{e}")
            print(failures[-1], flush=True)
    assert not failures, "\n".join(failures)
