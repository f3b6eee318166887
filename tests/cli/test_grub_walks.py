# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that GRUB boots, in the hands of somebody who tries, boots, installs kernels and switches the power off at
random. Whatever was done: what boots by default was verified or asked for, and a trial boots once."""

import os
import random

import pytest

from grub_boots import BlsSystem, bls_verified, grub_verified
from system import PLAIN

WALKS = 3 * int(os.environ.get("GRANULE_SEEDS", "1"))
MACHINES = {"GRUB": grub_verified, "files": lambda root: bls_verified(root, lines=True), "grubenv": bls_verified}


class Walk:
    def __init__(self, root, library, seed, make):
        self.random, self.library = random.Random(seed), library
        self.system = make(root)
        self.system.program = PLAIN
        self.boots = self.system.boots(self.system)
        self.files = isinstance(self.system, BlsSystem)
        self.good, self.sizes, self.log, self.n = set(), set(), [], 1
        self.good.add(self.default())
        self.touched = True
        self.running = None

    # ---- what is there ----

    def default(self):
        (found,) = [e["id"] for e in self.system.entries().values() if e["default"]]
        return found

    def id_of(self, release, size):
        return self.system.name(release) if self.files else f"granule-{release}-{size}"

    def newest(self, size):
        return self.id_of(self.system.newest(size), size)

    def size_of(self, entry):
        return self.system.entries()[entry]["page_size"]

    def is_trial(self):
        """Whether this boot is one, by its command line."""
        return any(word.startswith(("granule.trial=", "granule.entry=A-trial-"))
                   for word in (self.system.root / "proc/cmdline").read_text().split())

    # ---- what is done ----

    def command(self, *arguments, cut=0.3):
        force = ["--force"] if arguments[0] == "try" and arguments[1] != "none" and not self.system.lines else []
        arguments = [*arguments, *force]
        self.touched = True
        if self.random.random() < cut:
            at = self.random.randrange(1, 40)
            done = self.system.run_with_fault(self.library, "cut", at, *arguments)
        else:
            done = self.system.run(*arguments)
        self.log.append((*arguments, done.returncode))
        return done

    def boot(self, how):
        before = self.touched
        trial_before = self.running and self.is_trial()
        keywords = {}
        target = self.system.wishes().get("next_entry")
        trial = bool(target) and ("granule_options" in self.system.wishes() or target.startswith("A-trial-"))
        if how == "wrong" and trial:
            keywords["size"] = self.random.choice([s for s in ("4k", "16k") if s != self.tried])
        elif how == "unloadable" and trial and not self.files:
            keywords["unloadable"] = {target}
        elif how == "broken" and self.system.lines:
            keywords["broken"] = True
        self.running = self.boots.boot(**keywords)
        self.touched = False
        self.log.append(("boot", how, self.running))
        if not before and trial_before:
            assert not self.is_trial(), "a trial boots once"
        if how == "panic":
            return
        wrong = "size" in keywords and self.is_trial()
        if self.is_trial() and not wrong:
            target = self.running.removeprefix("A-trial-")
            self.good.add(target)
            if self.by_size:
                self.sizes.add(self.tried)
        self.command("verify", "--boot", cut=0.4)
        if self.random.random() < 0.5:
            self.command("verify", "--boot", cut=0)

    def kernel(self, size):
        self.n += 1
        release = f"6.{self.n}-{size}"
        self.system.add_kernel(release, size)
        self.system.update_grub()
        self.command("register", "--hook", "--kernel", self.system.boot / f"vmlinuz-{release}", cut=0.2)

    def step(self):
        size = self.random.choice(("4k", "16k", "64k"))
        what = self.random.choice(("try", "try", "try entry", "boot", "boot", "boot", "panic", "wrong", "unloadable", "broken",
                                   "none", "rollback", "set", "once", "kernel"))
        if what in ("try", "try entry"):
            options = self.random.choice(([], [], ["--keep"], ["--tries", "2"]))
            done = self.command("try", size if what == "try" else self.newest(size), *options)
            if done.returncode in (0, 77):
                self.tried, self.by_size = size, what == "try"
        elif what == "set":
            self.sizes.add(size)
            self.command("set", size)
        elif what == "once":
            self.command("once", size)
        elif what in ("none", "rollback"):
            self.command(*(("try", "none") if what == "none" else ("rollback",)))
        elif what == "kernel":
            self.kernel(size)
        else:
            self.boot(what)

    def check(self):
        default = self.default()
        assert default in self.good or self.size_of(default) in self.sizes, default

    def settle(self):
        """Left alone, it comes to rest: no trial, no one-shot."""
        for _ in range(3):
            self.boot("boot")
            self.command("verify", "--boot", cut=0)
        default = self.default()
        assert "next_entry" not in self.system.wishes() and "granule_options" not in self.system.wishes()
        assert not list(self.system.root.rglob("A-trial-*")) and self.boots.next() == default
        assert self.boots.boot() == default
        trial = self.boots.record("trial")
        assert trial is None or (trial["stage"] == "failed" and not trial["unfinished"]), trial


@pytest.mark.parametrize("seed", range(WALKS))
@pytest.mark.parametrize("machine", MACHINES)
def test_whatever_is_done_a_trial_changes_no_default_until_it_has_passed(tmp_path, fault_library, machine, seed):
    walk = Walk(tmp_path / "root", fault_library, f"{machine} {seed}", MACHINES[machine])
    walk.tried, walk.by_size = "64k", True
    try:
        for _ in range(30):
            walk.step()
            walk.check()
        walk.settle()
        walk.check()
    except AssertionError as error:
        raise AssertionError(f"{error}\n" + "\n".join(map(str, walk.log))) from error
