# SPDX-License-Identifier: GPL-2.0-or-later
"""Each command that changes something, with each single call that changes a file failing, or being its last one."""

import json
import os
import shutil
import subprocess

import pytest

import images
from boots import Boots, lay_out
from grub_boots import BLS_NEW, BLS_OLD, BLS_TRIAL, GRUB_NEW, GRUB_OLD, bls_verified, grub_verified
from system import PLAIN, System

TRIAL, OLD, NEW = "os-64k-trial.conf", "os-4k.conf", "os-64k.conf"
STATE_TOOL = PLAIN.parent / "state-tool"
ERRORS = {"io": "Input/output error", "full": "No space left on device", "readonly": "Read-only file system",
          "short": "No space left on device"}


def machine(root):
    """Started by granule-boot from the 4K entry, which has been verified; with a watchdog."""
    system = System(root)
    system.loader()
    lay_out(system)
    (system.root / "run").mkdir()
    return system


def verified(root):
    system = machine(root)
    boots = Boots(system)
    boots.boot()
    assert boots.verify().returncode == 0
    return system


def armed(root, *options):
    system = verified(root)
    system.ok("try", "64k", *options)
    return system


def boots_of(system):
    """What the loader of this machine does."""
    return getattr(system, "boots", Boots)(system)


def target_of(name):
    """The entry that a trial's is a copy of."""
    return name.removeprefix("A-trial-").replace("-trial.conf", ".conf")


def booted(system, **keywords):
    boots_of(system).boot(**keywords)
    return system


def passed(root):
    return judged(booted(armed(root)))


def tried(system, *options):
    return after(system, "try", "64k", *options)


def bls(root):
    return bls_verified(root, lines=True)


def without_variables(root):
    """Variables can be read and not written, as under U-Boot: wishes are stored in files."""
    system = verified(root)
    (system.efi / "EFI/granule").mkdir(parents=True)
    return system


def with_kernels(root):
    """New kernels of the sizes that are there."""
    system = verified(root)
    system.kernel("6.2", images.arm64(0, release="6.2", extra=images.SELECTABLE_STRINGS))
    return system


def registered(root):
    system = with_kernels(root)
    system.ok("register")
    return system


def lost(root):
    """A trial entry is booted without a record."""
    system = booted(armed(root))
    (system.root / "var/lib/granule/trial.json").unlink()
    return system


# What is there before; the command; what may boot afterwards, whatever has gone wrong. The old default first.
SCENARIOS = {
    "try": (verified, "try 64k", {OLD, TRIAL}),
    "try an entry": (verified, "try os-64k --keep", {OLD, TRIAL}),
    "try once more": (armed, "try 64k", {OLD, TRIAL}),
    "try after one that failed": (lambda root: judged(booted(armed(root), size="4k")), "try 64k", {OLD, TRIAL}),
    "try none": (armed, "try none", {OLD, TRIAL}),
    "set a size": (verified, "set 64k", {OLD, NEW}),
    "set an entry": (verified, "set os-64k", {OLD, NEW}),
    "set none": (passed, "set none", {OLD, NEW}),
    "once": (verified, "once 64k", {OLD, NEW}),
    "once none": (lambda root: after(verified(root), "once", "64k"), "once none", {OLD, NEW}),
    "register": (with_kernels, "register", {OLD, "test-6.2-4k.conf"}),
    "unregister": (registered, "unregister 6.2 --force", {OLD, "test-6.2-4k.conf"}),
    "first verification": (lambda root: booted(machine(root)), "verify --boot", {OLD}),
    "an ordinary boot": (lambda root: booted(verified(root)), "verify --boot", {OLD}),
    "an ordinary boot that fails": (lambda root: booted(verified(root), size="16k"), "verify --boot", {OLD}),
    "a trial that passes": (lambda root: booted(armed(root)), "verify --boot", {OLD, NEW}),
    "a trial of an entry that passes": (lambda root: booted(after(verified(root), "try", "os-64k")), "verify --boot",
                                        {OLD, NEW}),
    "a trial that passes and is kept apart": (lambda root: booted(armed(root, "--keep")), "verify --boot", {OLD}),
    "a trial that fails": (lambda root: booted(armed(root), size="4k"), "verify --boot", {OLD}),
    "a trial that did not come up": (lambda root: booted(armed(root), entry=OLD), "verify --boot", {OLD}),
    "a trial with tries left": (lambda root: booted(armed(root, "--tries", "2"), entry=OLD), "verify --boot",
                                {OLD, TRIAL}),
    "a trial that was lost": (lost, "verify --boot", {OLD}),
    "rollback": (passed, "rollback", {NEW, OLD}),
    "rollback with a trial": (lambda root: after(passed(root), "try", "16k"), "rollback",
                              {NEW, OLD, "os-16k-trial.conf"}),
    # GRUB with granule's lines: words of the one-shot in place of an entry.
    "GRUB: try": (grub_verified, "try 64k", {GRUB_OLD, GRUB_NEW}),
    "GRUB: try none": (lambda root: tried(grub_verified(root)), "try none", {GRUB_OLD, GRUB_NEW}),
    "GRUB: a trial that passes": (lambda root: booted(tried(grub_verified(root))), "verify --boot", {GRUB_OLD, GRUB_NEW}),
    "GRUB: a trial that fails": (lambda root: booted(tried(grub_verified(root)), size="4k"), "verify --boot", {GRUB_OLD}),
    "GRUB: a trial with tries left": (lambda root: booted(booted(tried(grub_verified(root), "--tries", "2"))),
                                      "verify --boot", {GRUB_OLD, GRUB_NEW}),
    "GRUB: a kernel that cannot be loaded": (lambda root: booted(tried(grub_verified(root)), unloadable={GRUB_NEW}),
                                             "verify --boot", {GRUB_OLD}),
    "GRUB: rollback": (lambda root: judged(booted(tried(grub_verified(root)))), "rollback", {GRUB_NEW, GRUB_OLD}),
    # GRUB that makes its menu of files.
    "files: try": (bls, "try 64k", {BLS_OLD, BLS_TRIAL}),
    "files: a trial that passes": (lambda root: booted(tried(bls(root))), "verify --boot", {BLS_OLD, BLS_NEW}),
    "files: a trial that did not come up": (lambda root: booted(booted(tried(bls(root)))), "verify --boot",
                                            {BLS_OLD}),
    "files: rollback": (lambda root: judged(booted(tried(bls(root)))), "rollback", {BLS_NEW, BLS_OLD}),
}


def after(system, *command):
    system.ok(*command)
    return system


def judged(system):
    boots_of(system).verify()
    return system


class Case:
    """A scenario that is played again and again on copies of one tree."""

    def __init__(self, folder, library, name):
        setup, command, self.next = SCENARIOS[name]
        self.library, self.by_words = library, name.startswith("GRUB")
        self.command = command.split()
        self.folder, self.model = folder, folder / "model"
        self.template = setup(self.model)
        done = self.copy("clean").run(*self.command)
        self.clean, self.clean_code = self.final(self.system), done.returncode
        self.check_state(cut=False)
        self.clean_next = self.next_of(self.system)
        before = self.template.json("status")
        self.is_trial = self.command[0] == "verify" and before["trial"] and before["entry"] == before["trial"]["entry"]

    def copy(self, name):
        """A copy of the tree; at the same place each time, since texts name it."""
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.model, root, symlinks=True)
        self.system = object.__new__(type(self.template))
        self.system.__dict__.update(self.template.__dict__)
        self.system.root, self.system.efi, self.system.boot = root, root / "efi", root / "boot"
        # The library does nothing but spare the time of syncs, unless it is asked to.
        self.system.env = {**self.template.env, "EFIVARFS_PATH": f"{root}/variables/", "LD_PRELOAD": str(self.library)}
        self.system.program = PLAIN
        return self.system

    def final(self, system):
        """All that a run leaves behind, but for times. What boots next follows from that."""
        boots = boots_of(system)
        variables = {p.name: p.read_bytes() for p in (system.root / "variables").iterdir()}
        records = {name: boots.record(name) for name in ("verified", "trial")}
        for record in records.values():
            for part in [record] + [v for v in (record or {}).values() if isinstance(v, dict)]:
                if part and "time" in part:
                    part["time"] = 0
        file = system.root / "var/lib/granule/history.jsonl"
        lines = {}
        for line in file.read_text().splitlines() if file.exists() else []:
            try:
                line = json.loads(line)
            except ValueError:
                continue
            key = (line["kind"], line["verdict"], line["entry"], line["boot_id"], line["reason"])
            lines[key] = lines.get(key, 0) + 1
        return {"files": system.files(), "variables": variables, "records": records, "lines": set(lines),
                "twice": {k for k, n in lines.items() if n > 1 and k[0] == "boot"}}

    def difference(self, system):
        """What differs from the end of a run without faults. Requests may stand in the history twice, boots not."""
        final = self.final(system)
        found = [key for key in final if key != "lines" and final[key] != self.clean[key]]
        return found + sorted(map(str, self.clean["lines"] - final["lines"]))

    def is_clean(self, system):
        return not self.difference(system)

    def is_completed(self, system, again):
        if "no such entry or release" in again.stderr:
            # All entries went, and a file that none names is left.
            return self.command[0] == "unregister" and self.difference(system) in ([], ["files"])
        return self.is_clean(system)

    def next_of(self, system):
        return boots_of(system).next()

    def check_state(self, cut, may=None):
        """Everything can be read; what boots next is what may; a trial that may boot is told by its record."""
        done = subprocess.run([STATE_TOOL, self.system.root, "open", "verified", "trial", "history"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done
        assert done.stdout.splitlines()[-1] in ("damaged 0", f"damaged {cut:d}"), done.stdout
        boots, entries = boots_of(self.system), self.system.entries()
        (following,) = [name for name, e in entries.items() if e["next"]]
        assert following in (may or self.next)
        trial = boots.record("trial")
        if target_of(following) != following or (self.by_words and self.system.wishes().get("next_entry")):
            assert trial["stage"] == "armed" and trial["entry"] == following
        for e in entries.values():
            assert e["problem"] is None, e


@pytest.fixture(params=SCENARIOS)
def case(request, tmp_path, fault_library):
    return Case(tmp_path, fault_library, request.param)


def points(case, kinds, bound=300):
    """Runs the command with a fault at each point in turn, on a fresh copy, until no fault is reached. Kinds of fault
    take turns."""
    for at in range(1, bound):
        kind = kinds[at % len(kinds)]
        system = case.copy(str(at))
        done = system.run_with_fault(case.library, kind, at, *case.command)
        if not done.reached:
            assert at > 2, "the faults were not reached"
            return
        yield at, kind, system, done
    raise AssertionError("too many points")


# Each point with each kind of fault takes a while.
EVERY_KIND = os.environ.get("GRANULE_FAULTS") == "all"


@pytest.mark.parametrize("kinds", [["cut"], ["kill"]] if EVERY_KIND else [["cut"]])
def test_a_command_that_ends_at_any_point_is_completed_by_the_next_run(case, kinds):
    for at, kind, system, done in points(case, kinds):
        assert done.returncode == (77 if kind == "cut" else -9), (at, done)
        case.check_state(cut=True)
        again = system.run(*case.command)
        assert case.is_completed(system, again), (at, done, again, case.difference(system))


def test_a_boot_after_a_power_cut_at_any_point_reaches_what_was_verified(case):
    start, targets = case.next, {target_of(name) for name in case.next}
    for at, _, system, done in points(case, ["cut"]):
        boots = boots_of(system)
        assert boots.boot() in start, at
        boots.verify()
        # A trial that was armed may have passed by now.
        assert boots.boot() in start | targets, at
        boots.verify()
        following = boots.next()
        assert following in targets, at
        case.check_state(cut=True, may=targets)
        # And no more happens by itself.
        assert boots.boot() == following and boots.verify().returncode == 0 and boots.next() == following, at


@pytest.mark.parametrize("kinds", [[kind] for kind in ERRORS] if EVERY_KIND else [list(ERRORS)])
def test_an_error_at_any_point_is_one_line_and_the_next_run_completes(case, kinds):
    for at, kind, system, done in points(case, kinds):
        lines = done.stderr.splitlines()
        # On a full disk each file is one; of a block that is overwritten only a part may have been written.
        full = kind == "short" and lines and all(ERRORS[kind] in line or ERRORS["io"] in line for line in lines)
        assert len(lines) == 1 or full or \
            (not lines and done.returncode == 0), (at, done)
        case.check_state(cut=False)
        if done.returncode == 0 and "LoaderEntryOneShot: cannot be" in done.stderr:
            # Where a variable cannot be written, a one-shot has another place.
            assert case.next_of(system) == case.clean_next, (at, done)
            continue
        if done.returncode == 0:
            assert case.is_clean(system), (at, done)
            continue
        assert done.returncode == 1, (at, done)
        again = system.run(*case.command)
        if "efi: cannot be locked" in done.stderr and case.is_trial and not case.is_clean(system):
            # The partition is a part of a trial's health.
            assert case.next_of(system) in (OLD, GRUB_OLD, BLS_OLD), (at, done, again)
            assert not list(system.root.rglob("*-trial*")), (at, done, again)
            continue
        assert case.is_completed(system, again), (at, done, again, case.difference(system))


# ---- places that cannot be written, and two at once ----

PLACES = {"a full ESP": ("full", "efi", ERRORS["full"]), "a read-only ESP": ("readonly", "efi", ERRORS["readonly"]),
          "a full /var": ("full", "var", ERRORS["full"]), "a read-only /var": ("readonly", "var", ERRORS["readonly"]),
          "a failing /var": ("io", "var", ERRORS["io"])}


@pytest.mark.parametrize("place", PLACES)
def test_try_where_nothing_can_be_written_is_one_line_and_changes_nothing(tmp_path, fault_library, place):
    kind, folder, error = PLACES[place]
    system = verified(tmp_path / "root")
    boots = Boots(system)
    before = system.files(), boots.history(), boots.record("verified")
    done = system.run_with_fault(fault_library, kind, None, "try", "64k", below=system.root / folder)
    assert done.reached and done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and error in done.stderr, done
    assert (system.files(), boots.history(), boots.record("verified")) == before
    assert boots.record("trial") is None and system.variable("LoaderEntryOneShot") is None and boots.next() == OLD
    system.ok("try", "64k")
    assert boots.next() == TRIAL


@pytest.mark.parametrize("place", PLACES)
def test_a_verdict_that_cannot_be_written_promotes_nothing_and_is_reached_again(tmp_path, fault_library, place):
    kind, folder, error = PLACES[place]
    system = booted(armed(tmp_path / "root"))
    boots = Boots(system)
    done = system.run_with_fault(fault_library, kind, None, "verify", "--boot", below=system.root / folder)
    if (kind, folder) == ("full", "efi"):
        assert done.returncode == 0, "files are only removed"
    else:
        assert done.reached and done.returncode == 1
        assert len(done.stderr.splitlines()) == 1 and error in done.stderr, done
    verified_now = boots.record("verified")["current"]["entry"]
    assert boots.next() == verified_now, "what boots by default was verified"
    assert verified_now == (NEW if folder == "efi" else OLD)
    boots.verify()
    assert boots.next() == NEW and boots.record("trial") is None and not list(system.efi.rglob("*-trial*"))
    assert boots.verdicts().count(("boot", "passed")) == 1


def test_efivarfs_that_is_mounted_read_only_leads_to_the_block_or_is_one_line(tmp_path):
    system = verified(tmp_path / "root")
    variables = system.root / "variables"
    script = f'mount --bind "{variables}" "{variables}" && mount -o remount,bind,ro "{variables}" && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", system.program, "try", "64k", "--root", system.root]
    done = subprocess.run([str(c) for c in command], env=system.env, capture_output=True, text=True)
    if "granule" not in done.stderr + done.stdout and done.returncode:
        pytest.skip("no permission to mount")
    assert system.variable("LoaderEntryOneShot") is None
    if done.returncode == 0:
        assert Boots(system).next() == TRIAL and b"next_entry=os-64k-trial" in (system.efi / "EFI/granule/grubenv").read_bytes()
    else:
        assert len(done.stderr.splitlines()) == 1 and "read-only" in done.stderr
        assert Boots(system).next() == OLD and Boots(system).record("trial") is None


@pytest.mark.parametrize("first, second", [("try 64k", "try 16k"), ("try 16k", "try 64k"), ("try 64k", "try 64k"),
                                           ("try 64k", "try none"), ("try 64k", "set 16k"), ("set 64k", "set 16k")])
def test_two_commands_at_once_end_as_one_after_the_other(tmp_path, first, second):
    for i in range(8):
        system = verified(tmp_path / str(i))
        boots = Boots(system)
        runs = [subprocess.Popen([str(w) for w in (PLAIN, *c.split(), "--root", system.root)], env=system.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for c in ((first, second) if i % 2 else (second, first))]
        ends = [(*run.communicate(timeout=60), run.returncode) for run in runs]
        for out, err, code in ends:
            assert code in (0, 1) and len(err.splitlines()) <= 1 and (code == 0) == (not err), ends
        following, trial, oneshot = boots.next(), boots.record("trial"), system.variable("LoaderEntryOneShot")
        files = [p.name for p in system.efi.rglob("*-trial*")]
        if following.endswith("-trial.conf"):
            assert trial["stage"] == "armed" and trial["entry"] == following == oneshot
            assert files == [following.replace(".conf", "+0.conf")]
        else:
            assert oneshot is None and not files and (trial is None or trial["stage"] == "failed"), (ends, trial)
        if first.startswith("try") and second.startswith("try ") and "none" not in second:
            assert following.endswith("-trial.conf")
