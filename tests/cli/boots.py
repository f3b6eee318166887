# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of a tree of files: what the boot manager would do with it, and what a running kernel shows below /proc."""

import json
import struct
import uuid

import images

BYTES = {"4k": 4096, "16k": 16384, "64k": 65536}
AT_PAGESZ = 6


def lay_out(system, sizes=("4k", "16k", "64k")):
    """An entry of each size, the 4K one first in the menu, and a watchdog that is armed."""
    for i, size in enumerate(sizes):
        bits = {"4k": 1, "16k": 2, "64k": 3}[size]
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    watchdog = system.root / "sys/class/watchdog/watchdog0"
    watchdog.mkdir(parents=True)
    (watchdog / "state").write_text("active\n")
    (watchdog / "identity").write_text("test\n")


def trial_files(machine):
    return sorted(p.name for p in (machine.efi / "loader/entries").glob("*trial*"))


class Boots:
    """`system` as a machine that boots: boot() does what the loader and the kernel do, verify() what the service does."""

    def __init__(self, system):
        self.system, self.root = system, system.root

    def running(self, size, boot_id=None, release="6.12.0-test", uptime=20.0):
        """What a running kernel of this page size shows."""
        kernel = self.root / "proc/sys/kernel"
        (kernel / "random").mkdir(parents=True, exist_ok=True)
        (self.root / "proc/self").mkdir(exist_ok=True)
        (kernel / "random/boot_id").write_text(f"{boot_id or uuid.uuid4()}\n")
        (kernel / "osrelease").write_text(f"{release}\n")
        (self.root / "proc/cmdline").write_text("quiet\n")
        (self.root / "proc/uptime").write_text(f"{uptime} 10.0\n")
        (self.root / "proc/self/auxv").write_bytes(struct.pack("<4Q", AT_PAGESZ, BYTES[size], 0, 0))

    def boot(self, entry=None, size=None, record=True, refused=None, **keywords):
        """Boots what the loader would choose, or `entry` in its place (a one-shot is used up all the same); the kernel
        has the entry's page size, or `size`. `refused`: (what came of the one-shot, the loader's line about it)."""
        self.system.set_variable("LoaderEntrySelected", "")
        entries = self.system.entries()
        chosen = entry or self.system.json("status")["next"]["id"]
        oneshot = self.system.variable("LoaderEntryOneShot")
        asked = entries[chosen]["page_size"]
        lines = [f"entry={chosen}", f"page-size={asked}", "kind=fixed", "reason=" + ("oneshot" if chosen == oneshot else "order")]
        if chosen == oneshot:
            lines += [f"asked.oneshot={oneshot}", "outcome.oneshot=chosen"]
        elif refused:
            lines += [f"asked.oneshot={oneshot}", f"outcome.oneshot={refused[0]}"]
            lines += [f"failed={oneshot}: {refused[1]}"] if refused[1] else []
        policy = self.system.variable("GranulePolicy")
        if policy:
            outcome = "not-asked" if chosen == oneshot else "chosen" if asked == policy else "no-entry"
            lines += [f"asked.policy={policy}", f"outcome.policy={outcome}"]
        if oneshot:
            self.system._variable("LoaderEntryOneShot").unlink()
        self.system.set_variable("LoaderEntrySelected", chosen)
        if record:
            self.system.set_variable("GranuleBoot", "".join(f"{line}\n" for line in lines))
        else:
            self.system._variable("GranuleBoot").unlink(missing_ok=True)
        self.running(size or asked, **keywords)
        return chosen

    def verify(self):
        return self.system.run("verify", "--boot")

    def next(self):
        return self.system.json("status")["next"]["id"]

    def history(self):
        file = self.root / "var/lib/granule/history.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()]

    def verdicts(self):
        return [(line["kind"], line["verdict"]) for line in self.history()]

    def record(self, name):
        file = self.root / f"var/lib/granule/{name}.json"
        return json.loads(file.read_text().splitlines()[1]) if file.exists() else None
