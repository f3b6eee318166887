# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts while a command runs and while the boot manager does. See power.py for what a cut leaves.

Each scenario runs once without a cut, and what it writes is recorded, until QEMU is killed; each of its cuts is made from
that record and booted. Nothing changes on disk and flash but by writes, so that cutting before, in and after each of them
is cutting at any instruction. GRANULE_CUTS says how many cuts there are in all, GRANULE_CUT_SEED=SCENARIO:NUMBER repeats
one of them."""

import hashlib
import json
import os
import random
import re
import time

import pytest

from fat import fat_problems
from guest import ESP_START, Esp, kernel, kernel_folder, make_disk
from machine import AAVMF_13, READY, UBOOT, Hang
from power import DISK, FLASH, PowerMachine, World, position

CUTS = int(os.environ.get("GRANULE_CUTS", "30"))
SHORT_RUN = CUTS < 100
# The boot after the one that follows a cut.
REBOOT_EACH = 3 if SHORT_RUN else 1
ONLY = os.environ.get("GRANULE_CUT_SEED")

RELEASE = {s: (kernel_folder() / s / "release").read_text().strip() if kernel(s).exists() else "" for s in ("4k", "64k")}
ID = {s: f"test-{RELEASE[s]}-{s}.conf" for s in RELEASE}
# An entry that is last in the menu and never chosen: it would boot if the others were lost.
RESCUE = "rescue.conf"
# A variable that shows whether firmware has lost all of them.
SENTINEL = "/sys/firmware/efi/efivars/Sentinel-10c6a5f2-4c5e-4b43-a0fb-3c6c2d9d4cd1"
TRIAL = f"{ID['64k'][:-5]}-trial.conf"
STARTS_KERNEL = "EFI stub: Booting Linux Kernel"


class Scenario:
    """`before` are commands that lead to the state in which `command` is run, each string in a boot of its own. Without a
    command the boot that follows is cut, as far as the start of the kernel. `again` is run after the cut, if that is
    another one. `then` is the page size that boots in the end. `trial`: a trial is under way."""

    def __init__(self, firmware="edk2-13", before=(), command=None, again=None, then="64k", trial=False):
        self.firmware, self.before, self.command, self.again = firmware, before, command, again or command
        self.then, self.trial = then, trial


TRY, VERIFY = "granule try 64k --force", "granule verify --boot"
PASSED = [TRY, VERIFY, VERIFY]
# A second time there is nothing to go back to.
ROLLED_BACK = "granule rollback || granule status | grep -q 'policy: 4k'"
COUNTED = f"cd /efi/loader/entries; mv {ID['64k']} {ID['64k'][:-5]}+3.conf; granule once 64k"
SCENARIOS = {
    "try": Scenario(command=TRY, trial=True),
    "loader-trial": Scenario(before=[TRY], trial=True),
    "verify": Scenario(before=[TRY], command=VERIFY, trial=True),
    "register": Scenario(before=[f"granule unregister {ID['64k']}"], command="granule register", then="4k"),
    "loader-trial-uboot": Scenario("uboot", before=[TRY], trial=True),
    "set-uboot": Scenario("uboot", command="granule set 64k"),
    # Not in the short run.
    "set": Scenario(command="granule set 64k"),
    "rollback": Scenario(before=PASSED, command="granule rollback", again=ROLLED_BACK, then="4k"),
    "loader-once": Scenario(before=[COUNTED], again="granule once 64k"),
    "once": Scenario(command="granule once 64k"),
    "set-edk2": Scenario("edk2", command="granule set 64k"),
    "try-uboot": Scenario("uboot", command=TRY, trial=True),
    "verify-uboot": Scenario("uboot", before=[TRY], command=VERIFY, trial=True),
    "once-uboot": Scenario("uboot", command="granule once 64k"),
    "register-uboot": Scenario("uboot", before=[f"granule unregister {ID['64k']}"], command="granule register", then="4k"),
    "rollback-uboot": Scenario("uboot", before=PASSED, command="granule rollback", again=ROLLED_BACK, then="4k"),
    "loader-once-uboot": Scenario("uboot", before=[COUNTED], again="granule once 64k"),
    "try-edk2": Scenario("edk2", command=TRY, trial=True),
    "loader-trial-edk2": Scenario("edk2", before=[TRY], trial=True),
}
SHORT = 6


def start_world(firmware, folder, initramfs):
    """A machine that boots a verified 4K entry of its own, with a policy, and has a 64K one."""
    esp = Esp(folder / "esp")
    esp.add_file("/initrd", initramfs)
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_file("/loader/random-seed", bytes(range(32)))
    esp.add_entry(RESCUE.removesuffix(".conf"), "/kernels/4k", "0", sort_key="zzz")
    state = folder / "state"
    for name in ("boot", "etc/kernel", "var"):
        (state / name).mkdir(parents=True)
    (state / "etc/kernel/entry-token").write_text("test\n")
    (state / "etc/kernel/cmdline").write_text("console=ttyAMA0 panic=5\n")
    (state / "etc/os-release").write_text('ID=test\nPRETTY_NAME="Test OS"\n')
    for size in ("4k", "64k"):
        (state / f"boot/vmlinuz-{RELEASE[size]}").write_bytes(kernel(size).read_bytes())
        (state / f"boot/initrd.img-{RELEASE[size]}").write_bytes(initramfs.read_bytes())
    make_disk(folder / "first", esp.path, state)
    world = World({DISK: folder / "first", FLASH: AAVMF_13 / "AAVMF_VARS.fd"})
    setup = "granule register && granule set 4k"
    if firmware != "uboot":
        setup += f" && printf '\\007\\0\\0\\0x' > {SENTINEL}"
    with PowerMachine(folder, run_boots(world, firmware, folder, [setup]), firmware) as m:
        m.start()
        m.ok(VERIFY)
        state = state_of(m)
        m.power_off()
    base = World(m.world.save(folder))
    base.state = state
    return base


def run_boots(world, firmware, folder, boots):
    """A new world: that one after boots, in each of which some commands are run."""
    world = world.after()
    for commands in boots:
        with PowerMachine(folder, world, firmware) as m:
            m.start()
            m.ok(commands)
            m.power_off()
        world = world.after()
    return world


# The environment block is among the wishes. Temporary files are not looked at: the kernel may find them damaged, and stop writing to the partition.
STATE = "(granule status --json; echo @@@; granule list --json; echo @@@; md5sum /efi/loader/*.conf /efi/loader/entries/*.conf \
/efi/EFI/BOOT/* /efi/test/*/*) 2>/dev/null; true"


def state_of(m):
    """What a command leaves: wishes, entries, and the content of files; as sets of lines."""
    status, entries, files = m.ok(STATE).split("@@@\n")
    status = json.loads(status)
    return {
        "wishes": {f"{key} {status.get(key)}" for key in ("next", "policy")},
        "entries": {f"{e['id']} {e['page_size']} {e['state']} {e['options']}" for e in json.loads(entries)["entries"]},
        # How often an entry was tried is another matter, and an empty file is what a counting leaves that was cut short.
        "files": {re.sub(r"\+\d+(-\d+)?\.conf$", ".conf", line) for line in files.splitlines()
                  if not line.startswith(hashlib.md5(b"").hexdigest())},
    }


def differences(state, expected):
    return [f"{sign}{line}" for key in state for sign, one, other in (("+", state, expected), ("-", expected, state))
            for line in sorted(one[key] - other[key])]


def entry(m):
    return json.loads(m.ok("granule status --json 2>/dev/null"))["entry"]


def next_id(m):
    return json.loads(m.ok("granule status --json 2>/dev/null"))["next"]["id"]


def entry_ids(m):
    return {e["id"] for e in json.loads(m.ok("granule list --json 2>/dev/null"))["entries"]} - {TRIAL}


class Recording:
    """The scenario without a cut: what was written, when, and the state in the end."""

    def __init__(self, name, base, folder):
        self.name, self.scenario, self.folder = name, SCENARIOS[name], folder
        s = self.scenario
        self.base_state = base.state
        self.world = run_boots(base, s.firmware, folder, s.before)
        with PowerMachine(folder, self.world, s.firmware) as m:
            m.start(wait=False)
            self.start = time.monotonic()
            if s.command:
                m.wait_for(READY)
                self.entries = entry_ids(m)
                self.start = time.monotonic()
                m.ok(s.command)
            else:
                m.wait_for(STARTS_KERNEL)
            self.end = time.monotonic()
            self.completed = len(self.world.log)
            if not s.command:
                m.wait_for(READY)
                self.entries = entry_ids(m)
            if s.trial and entry(m) != TRIAL:
                m.reboot()
            m.ok(VERIFY if s.trial else s.again)
            self.state = state_of(m)


def cut(recording, seed, r):
    """The world after a cut; the first seed's is after the end, when what was done must be on the disk."""
    if seed == 0:
        n, completed, keep = recording.completed, True, 0
    else:
        keep = None
        n, completed = position(recording.world.log[:recording.completed], recording.start, recording.end, r)
    print(f"GRANULE_CUT_SEED={recording.name}:{seed}: cut at event {n} of {recording.completed} "
          f"({recording.world.log[n - 1]}), {'completed' if completed else 'under way'}", flush=True)
    return recording.world.cut(n, r, completed, keep)


def check_cut(recording, seed):
    """Cuts, boots, looks, runs the command again, and boots once more."""
    s = recording.scenario
    world = cut(recording, seed, random.Random(f"{recording.name}:{seed}"))
    with PowerMachine(recording.folder, world, s.firmware) as m:
        m.start()
        # What can be read is read, and nothing that was there is lost.
        for command in ("status", "why", "history"):
            m.ok(f"granule {command} --json")
        assert entry_ids(m) >= recording.entries
        (check_trial if s.trial else check_command)(recording, seed, m, entry(m))
        m.ok("sync; mount -o remount,ro /efi")  # so that all of it is in the image
        assert not fat_problems(world.images[DISK], ESP_START)


def check_command(recording, seed, m, booted):
    s = recording.scenario
    assert booted in (ID["4k"], ID["64k"]), f"booted {booted}"
    if seed == 0 and s.command:
        assert booted == ID[s.then], f"booted {booted} although the command was done"
    if not s.command and booted == ID["64k"]:
        assert seed, "the one-shot was obeyed although a kernel had been started by it"
        m.reboot()
        assert entry(m) == ID["4k"], "the one-shot was obeyed a second time"
    if s.firmware == "uboot" and not s.command and m.run("dmesg | grep -q 'FAT-fs.*read-only'")[0] == 0:
        # U-Boot counts a boot by a new file, whose name it writes before its clusters: fsck.fat has to mend that.
        m.reboot()
        assert entry(m) == ID["4k"]
        return
    # A rollback that was cut short is taken up first: judged before it, the default that it left would be one to go
    # back from.
    commands = (s.again, VERIFY) if s.again == ROLLED_BACK else (VERIFY, s.again)
    for command in commands:
        m.ok(command)
    check_state(recording, m, recording.state)
    if seed % REBOOT_EACH == 0:
        m.reboot()
        assert entry(m) == ID[s.then]


def check_trial(recording, seed, m, booted):
    """It is as if the trial had never been, or it passes."""
    s = recording.scenario
    assert booted in (ID["4k"], TRIAL) + ((ID["64k"],) if s.command == VERIFY else ()), f"booted {booted}"
    if seed == 0 and s.command:
        assert booted == (TRIAL if s.command == TRY else ID[s.then]), f"booted {booted} although the command was done"
    if booted == TRIAL:
        assert seed or s.command, "the one-shot was obeyed although a kernel had been started by it"
        if seed % 2:
            m.reboot()
            booted = entry(m)
            assert booted == ID["4k"], "the one-shot was obeyed a second time"
    m.ok(VERIFY)
    passed = next_id(m) == ID["64k"]
    assert passed or booted != TRIAL
    check_state(recording, m, recording.state if passed else recording.base_state)
    if not passed:
        m.ok(TRY)
    if seed % REBOOT_EACH == 0:
        m.reboot()
        assert entry(m) == (ID["64k"] if passed else TRIAL)


def check_state(recording, m, expected):
    state, expected = state_of(m), dict(expected)
    if recording.scenario.firmware != "uboot" and m.run(f"test -e {SENTINEL}")[0]:
        assert recording.scenario.firmware == "edk2", "firmware has lost its variables"
        del state["wishes"], expected["wishes"]
    different = differences(state, expected)
    assert not different, "\n".join(different) + "\n" + m.run("ls -la /efi/loader/entries; dmesg | grep -i fat")[1]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory, initramfs):
    """Both firmwares' first worlds, made when they are asked for."""
    made = {}

    def get(firmware):
        if firmware not in made:
            made[firmware] = start_world(firmware, tmp_path_factory.mktemp(f"world-{firmware}"), initramfs)
        return made[firmware]

    return get


def chunks():
    """(scenario, seeds) of each test; few seeds in each, so that processors share them evenly."""
    if ONLY:
        name, seed = ONLY.rsplit(":", 1)
        return [(name, [int(seed)])] if name in SCENARIOS else []
    names = list(SCENARIOS)[:SHORT if SHORT_RUN else None]
    shares = [CUTS // len(names) + (i < CUTS % len(names)) for i in range(len(names))]
    return [(name, list(range(first, min(first + 25, share)))) for name, share in zip(names, shares)
            for first in range(0, share, 25)]


@pytest.mark.parametrize("name, seeds", chunks(), ids=lambda v: v if isinstance(v, str) else f"{v[0]}-{v[-1]}")
def test_after_a_power_cut_the_machine_boots_and_the_command_completes(name, seeds, worlds, tmp_path):
    firmware = SCENARIOS[name].firmware
    if firmware == "uboot" and not UBOOT.exists():
        pytest.skip(f"{UBOOT} is not there (package u-boot-qemu)")
    recording = Recording(name, worlds(firmware), tmp_path)
    failures = []
    for seed in seeds:
        try:
            check_cut(recording, seed)
        except (AssertionError, Hang) as e:
            failures.append(f"GRANULE_CUT_SEED={name}:{seed}\n{e}")
            print(failures[-1], flush=True)
    assert not failures, "\n".join(failures)
