# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine in the hands of somebody who types commands, boots, breaks things and switches the power off, all at random;
and what must hold whatever was done. Nothing here looks into granule: it goes by files, variables and what is printed."""

import json
import random
import shutil
import uuid
from fnmatch import fnmatch

import images
from boots import Boots
from system import PLAIN, System

SIGNATURE = b"# GRUB Environment Block\n"
SIZES = ("4k", "16k", "64k")
WISHES = ("LoaderEntryPreferred", "LoaderEntryDefault", "GranulePolicy")


class GranuleBoot:
    """The boot manager: `list` of the same decision tells what it starts."""

    name, features, strips = "granule-boot 0.1.0", 1 << 2 | 1 << 3 | 1 << 8 | 1 << 19, True

    def choose(self, walk, oneshot):
        flag = "next" if oneshot else "default"
        return next((e["id"] for e in walk.entries if e[flag]), None)


class SystemdBoot:
    """Its rules, written down from the Boot Loader Specification and its manual."""

    def __init__(self, name, features, strips):
        self.name, self.features = name, features
        self.strips = strips  # the boot counter is no part of an id

    def id_of(self, entry):
        return entry["id"] if self.strips else entry["source"].rsplit("/", 1)[1].lower()

    @staticmethod
    def key(entry):
        bad = "+0" in entry["source"].rsplit("/", 1)[1]
        version = tuple(-int(n) for n in (entry["version"] or "0").split("-")[0].split("."))
        return (bad, entry["sort"] is None, entry["sort"] or "", version)

    def choose(self, walk, oneshot):
        # What has no kernel is no entry to it.
        entries = [e for e in walk.entries if e["type"] == "type1" and walk.kernel_of(e).exists()]
        entries.sort(key=self.key)
        names = ["LoaderEntryOneShot"] if oneshot else []
        for name in names + ["LoaderEntryDefault"]:
            pattern = walk.system.variable(name)
            for e in entries:
                if pattern and fnmatch(self.id_of(e), pattern.lower()):
                    return e["id"]
        return entries[0]["id"] if entries else None


LOADERS = {
    "granule-boot": GranuleBoot(),
    "block": GranuleBoot(),
    "systemd-boot-252": SystemdBoot("systemd-boot 252.1", 0x7F, False),
    "systemd-boot-258": SystemdBoot("systemd-boot 258.1", 0x7F, True),
    "another": SystemdBoot("some-loader 1", 1 << 2 | 1 << 3, True),
}


class Broken(AssertionError):
    pass


class Walk:
    def __init__(self, root, library, loader, seed, program=PLAIN):
        self.random = random.Random(f"{loader} {seed}")
        self.loader, self.kind, self.library = LOADERS[loader], loader, library
        self.system = System(root)
        self.system.program = program
        self.system.loader(self.loader.name, self.loader.features)
        self.boots = Boots(self.system)
        self.root, self.saved, self.counts = self.system.root, {}, {}
        self.running, self.harmed, self.unsure = None, False, False
        self.well, self.judged, self.rebooting, self.rebooted = True, False, False, False
        self.sizes, self.passes = {}, False
        self.setup()

    # ---- the machine ----

    def setup(self):
        system = self.system
        for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
            system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
        self.sorts = {f"os-{size}": f"key{i}" for i, size in enumerate(SIZES)}
        watchdog = self.root / "sys/class/watchdog/watchdog0"
        watchdog.mkdir(parents=True)
        (watchdog / "state").write_text("active\n")
        (watchdog / "identity").write_text("test\n")
        self.pstore = self.root / "sys/fs/pstore"
        self.pstore.mkdir(parents=True)
        (self.root / "run").mkdir()
        self.fdt = self.root / "sys/firmware/fdt"
        self.fdt.parent.mkdir(parents=True)
        (self.root / "etc/machine-id").write_text("0" * 32 + "\n")
        self.check = self.root / "etc/granule/verify.d/check"
        self.check.parent.mkdir(parents=True)
        self.set_check("exit 0")
        self.others = []
        if self.random.random() < 0.4:
            # Another system on the same partition, which has a trial of its own.
            for name, keys in {"z-other": {}, "z-other-trial+0": {"granule_trial": "yes"}}.items():
                system.entry(name, images.arm64(3), version="5.0", sort_key="zzz", machine_id="1" * 32, **keys)
                self.others.append(f"{name}.conf")
        if self.kind == "block":
            # Firmware does not take this variable, as when its store is full.
            system._variable("LoaderEntryOneShot").mkdir()
        self.look()
        self.boot("well")
        self.command("verify", "--boot", cut=None)

    def set_check(self, text):
        self.check.write_text(f"#!/bin/sh\n{text}\n")
        self.check.chmod(0o755)

    @property
    def folder(self):
        return self.system.efi / "loader/entries"

    @property
    def state(self):
        return self.root / "var/lib/granule"

    def kernel_of(self, entry):
        return self.system.efi / (entry["image"] or "none").lstrip("/")

    # ---- what is stored ----

    def block(self):
        file = self.system.efi / "EFI/granule/grubenv"
        lines = file.read_bytes().decode().splitlines() if file.exists() else []
        return next((line.split("=", 1)[1] for line in lines if line.startswith("next_entry=")), "")

    def variable(self, name):
        return None if self.system._variable(name).is_dir() else self.system.variable(name)

    def oneshot(self):
        return self.variable("LoaderEntryOneShot") or self.block() or None

    def clear_oneshot(self):
        file = self.system._variable("LoaderEntryOneShot")
        if file.is_file():
            file.unlink()
        block = self.system.efi / "EFI/granule/grubenv"
        if self.block():
            lines = [li for li in block.read_bytes().split(b"\n") if not li.startswith(b"next_entry=")]
            block.write_bytes(b"\n".join(lines).rstrip(b"#").ljust(1024, b"#"))

    def set_by_hand(self, name, value):
        file = self.system._variable(name)
        if file.is_dir():
            return
        if value is None:
            file.unlink(missing_ok=True)
        else:
            file.unlink(missing_ok=True)
            self.system.set_variable(name, value)

    def record(self, name):
        try:
            return self.boots.record(name)
        except (ValueError, IndexError, OSError):
            return None

    def trial_files(self):
        return sorted(p.name for p in self.folder.glob("*-trial*.conf") if not p.name.startswith("z-other"))

    def look(self):
        """What `list` says of the entries, and how they sort."""
        self.entries = self.json("list")["entries"]
        for e in self.entries:
            source = e["source"] and self.folder / e["source"].rsplit("/", 1)[1]
            lines = source.read_text().splitlines() if source and source.exists() else []
            e["sort"] = next((li.split()[1] for li in lines if li.startswith("sort-key ")), None)
            e["trial"] = any(li.startswith("granule-trial ") for li in lines)
            e["image"] = next((li.split()[1] for li in lines if li.startswith("linux ")), None)
        self.default = self.loader.choose(self, False)
        self.following = self.loader.choose(self, True)

    def by_id(self, name):
        return next((e for e in self.entries if e["id"] == name), None)

    # ---- running the command ----

    def json(self, *arguments):
        done = self.system.run(*arguments, "--json")
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise Broken(f"{arguments}: no JSON: {done}") from error

    def command(self, *arguments, cut):
        if cut:
            done = self.system.run_with_fault(self.library, "cut", cut, *arguments)
            if done.returncode == 77:
                self.count("cut")
        else:
            done = self.system.run(*arguments)
        self.say(" ".join(arguments), f"-> {done.returncode}", f"(cut {cut})" if cut else "", done.stdout.strip(),
                 done.stderr.strip())
        assert done.returncode in (0, 1, 2, 3, 77), done
        lines = [line for line in done.stderr.splitlines() if not line.startswith(("  ", "Candidates", "There are no"))]
        assert all(line.startswith("granule: ") for line in lines) and len(lines) < 12, done
        assert len(set(lines)) == len(lines), f"said twice: {done.stderr}"
        assert done.returncode != 1 or done.stderr or done.stdout, "failed without a word"
        return done

    def say(self, *words):
        print(" ".join(str(w) for w in words if w))

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    # ---- booting ----

    def boot(self, outcome):
        """One power cycle, until a kernel is up: of what the loader chooses, or of the default when that dies."""
        self.fdt.unlink(missing_ok=True)
        self.set_check("exit 0")
        oneshot = self.oneshot()
        if outcome == "kexec":
            self.fdt.write_bytes(b"\xd0\x0d\xfe\xed" + b"linux,booted-from-kexec\0")
            self.came_up(self.running, outcome, None)
            return
        chosen = self.default if outcome == "other path" else self.following
        if chosen is None or not self.can_start(chosen):
            self.repair()
            self.look()
            chosen = self.default if outcome == "other path" else self.following
        if outcome not in ("other path", "stuck"):
            self.clear_oneshot()
        self.tried(chosen)
        if outcome in ("panic", "hang"):
            self.count(f"boot {outcome} of a trial")
            if outcome == "panic":
                (self.pstore / f"dmesg-efi_pstore-{self.random.randrange(10**6)}").write_text(
                    "Panic#2 Part1\n<0>[    1.2] Kernel panic - not syncing: no root\n")
            # Whoever resets it, the next one comes up.
            self.look()
            chosen, oneshot, outcome = self.following, None, "well"
            if chosen is None or not self.can_start(chosen):
                self.repair()
                self.look()
                chosen = self.following
            self.tried(chosen)
        self.came_up(chosen, outcome, oneshot)

    def can_start(self, name):
        e = self.by_id(name)
        kernel = self.kernel_of(e)
        return kernel.exists() and kernel.stat().st_size > 1024

    def tried(self, name):
        """systemd-boot counts: +0 becomes +0-1."""
        if isinstance(self.loader, GranuleBoot):
            return
        source = self.by_id(name)["source"].rsplit("/", 1)[1]
        if "+0." in source and not source.startswith("z-other") and self.random.random() < 0.7:
            (self.folder / source).rename(self.folder / source.replace("+0.", "+0-1."))
            self.look()

    def came_up(self, name, outcome, oneshot):
        e = self.by_id(name) or {"page_size": "unknown", "id": name, "image": None, "source": "/x", "trial": False}
        if e["page_size"] != "unknown":
            self.sizes[name] = e["page_size"]
        size = self.sizes[name]
        release = "6.12.0-test"
        kernel = self.kernel_of(e)
        if kernel.is_file():
            text = kernel.read_bytes()
            at = text.find(b"Linux version ")
            release = text[at + 14:].split(b" ")[0].decode() if at >= 0 else release
        if outcome == "size":
            size = self.random.choice([s for s in SIZES if s != size])
        if outcome == "release":
            release = "6.13.0-other"
        if outcome == "check":
            self.set_check("echo bad; exit 1")
        self.judged, self.unsure = False, False
        # Only a trial is known to be of a release.
        self.well = outcome in ("well", "other path", "stuck", "kexec", "release")
        self.boot_id = str(uuid.uuid4())
        self.rebooted, self.rebooting = self.rebooting, False
        if outcome != "kexec":
            self.running = name
            self.publish(e, oneshot, size)
        record = self.record("trial")
        self.is_trial = bool(record and record["stage"] == "armed" and record["entry"] == self.running
                             and outcome != "kexec")
        self.boots.running(size, boot_id=self.boot_id, release=release, uptime=self.random.choice([5.0, 20.0, 700.0]))
        self.well = self.well and not (self.is_trial and outcome == "release")
        self.count(f"boot {outcome}" + (" of a trial" if self.is_trial else ""))
        self.say(f"BOOT {name} ({outcome}), one-shot was {oneshot}, is a trial: {self.is_trial}")

    def publish(self, e, oneshot, size):
        """What the loader says of its choice."""
        selected = e["id"] if self.loader.strips else e["source"].rsplit("/", 1)[1].lower()
        self.system._variable("LoaderEntrySelected").unlink(missing_ok=True)
        self.system.set_variable("LoaderEntrySelected", selected)
        file = self.system._variable("GranuleBoot")
        file.unlink(missing_ok=True)
        if not isinstance(self.loader, GranuleBoot):
            return
        wishes = {"oneshot": oneshot, "preferred": self.variable("LoaderEntryPreferred"),
                  "default": self.variable("LoaderEntryDefault"), "policy": self.variable("GranulePolicy")}
        chosen, lines, reason = False, [], "order"
        for rule, asked in wishes.items():
            if not asked:
                continue
            fits = asked == (e["page_size"] if rule == "policy" else e["id"])
            there = self.by_id(asked)
            outcome = "not-asked" if chosen else "chosen" if fits else "unusable" if there else "no-entry"
            reason = rule if outcome == "chosen" else reason
            chosen = chosen or fits
            lines += [f"asked.{rule}={asked}", f"outcome.{rule}={outcome}"]
        head = [f"entry={e['id']}", f"page-size={e['page_size']}", "kind=fixed", f"reason={reason}"]
        self.system.set_variable("GranuleBoot", "".join(f"{line}\n" for line in head + lines))

    def verify(self, *words, cut=None):
        record, verified = self.record("trial"), self.record("verified") or {"current": None}
        first = self.is_trial and not self.judged and "--boot" in words
        well = self.well and not self.late(record)
        if first and well:
            self.passes = True  # from here on the trial may be promoted, also after a cut
        done = self.command("verify", *words, cut=cut)
        if "--watch" in words and self.is_trial and cut:
            self.unsure = True  # the deadline may have ended it
        if first and well and done.returncode != 77 and not self.harmed and not self.unsure:
            left = self.record("trial")
            passed = not left or left["stage"] == "passed" or "cannot become the default" in done.stderr
            assert passed, "a trial that is in order did not pass"
        rebooting = "rebooting into the default" in done.stdout
        if rebooting:
            assert self.is_trial and not self.judged, "rebooting from what is no trial, or was judged before"
            assert not self.rebooted, "rebooting twice in a row"
            assert not self.well or self.late(record) or cut or self.harmed, "a trial that is in order was left"
            self.rebooting = True
            self.count("rebooting")
        if "--watch" in words and done.returncode == 1:
            self.judged = True
        if "--boot" in words and done.returncode in (0, 1):
            if done.returncode == 0 and "passed" in done.stdout:
                assert self.well and self.is_trial, "passed what did not"
                self.count("passed")
            self.judged = True
        now = self.record("verified") or {"current": None}
        before, after = ((v["current"] or {}).get("entry") for v in (verified, now))
        if after and after != before:
            target = record and record["target"]
            may = {self.running, target if record and record["stage"] == "passed" or self.is_trial else None}
            assert after in may, f"{after} was recorded as verified"
            assert self.well or (record and record["stage"] == "passed"), "recorded as verified without being well"
        return done

    def late(self, record):
        return record and record["deadline_s"] and self.uptime() > record["deadline_s"]

    def uptime(self):
        return float((self.root / "proc/uptime").read_text().split()[0])

    # ---- steps ----

    def ids(self):
        return [e["id"] for e in self.entries if e["type"] == "type1"]

    def some_id(self):
        return self.random.choice(self.ids() or ["none.conf"])

    def some_word(self):
        return self.random.choice([*SIZES, *SIZES, self.some_id()])

    def maybe_cut(self):
        return self.random.randrange(1, 30) if self.random.random() < 0.2 else None

    def step_try(self):
        words = ["try", self.some_word()]
        if self.random.random() < 0.3:
            words += ["--tries", str(self.random.randrange(1, 4))]
        for flag, share in (("--keep", 0.15), ("--force", 0.3)):
            words += [flag] if self.random.random() < share else []
        if self.random.random() < 0.2:
            words += ["--deadline", self.random.choice(["10s", "10m", "0"])]
        self.command(*words, cut=self.maybe_cut())
        # Another trial may lead to another reboot.
        self.rebooting = False

    def step_try_none(self):
        self.command("try", "none", cut=self.maybe_cut())

    def step_set(self):
        done = self.command("set", self.random.choice([*SIZES, self.some_id(), "none"]),
                            *(["--force"] if self.random.random() < 0.1 else []), cut=self.maybe_cut())
        # The owner's last word: nothing that was judged before takes it back.
        self.passes = self.passes and done.returncode != 0

    def step_once(self):
        self.command("once", self.random.choice([*SIZES, self.some_id(), "none"]), cut=self.maybe_cut())

    def step_rollback(self):
        known = self.record("verified") or {"current": None, "previous": None}
        before, cut = self.default, self.maybe_cut()
        done = self.command("rollback", cut=cut)
        self.passes = self.passes and done.returncode != 0
        self.look()
        if self.default != before:
            assert self.default in [(known[k] or {}).get("entry") for k in ("current", "previous")], "rolled forward"

    def step_kernels(self):
        """Packages come and go."""
        name, bits = self.random.choice([("6.2-4k", 1), ("6.2-64k", 3), ("6.3-64k", 3), ("6.3-16k", 2), ("6.4-sel", 0)])
        extra = images.SELECTABLE_STRINGS if not bits else b""
        here = self.system.boot / f"vmlinuz-{name}"
        if here.exists():
            here.unlink()
            (self.system.boot / f"initrd.img-{name}").unlink()
            self.command("unregister", name, *(["--force"] if self.random.random() < 0.2 else []), cut=self.maybe_cut())
        else:
            self.system.kernel(name, images.arm64(bits, release=name, extra=extra))
            self.command("register", cut=self.maybe_cut())

    def step_register(self):
        self.command("register", cut=self.maybe_cut())

    def step_wish(self):
        name = self.random.choice(["LoaderEntryDefault", "LoaderEntryPreferred"])
        value = self.random.choice([self.some_id(), "gone.conf", None])
        e = self.by_id(value) if value else None
        if e and e["trial"]:
            value = None
        self.say(f"BY HAND {name}={value}")
        self.set_by_hand(name, value)

    def step_oneshot(self):
        value = self.random.choice([self.some_id(), "gone.conf", None])
        self.say(f"BY HAND one-shot={value}")
        self.set_by_hand("LoaderEntryOneShot", value)

    def step_trial_file(self):
        """Somebody or something touches the entry of a trial."""
        for name in self.trial_files()[:1]:
            how = self.random.choice(["remove", "rename", "bless"])
            self.say(f"BY HAND {how} {name}")
            file = self.folder / name
            if how == "remove":
                file.unlink()
            elif how == "rename":
                file.rename(self.folder / "zzz-trial.conf.bak")
            else:
                file.rename(self.folder / (name.split("+")[0] + (".conf" if "+" in name else "")))
            self.count(f"trial entry {how}")

    def step_break(self):
        entry = self.random.choice(self.entries)
        file = self.kernel_of(entry)
        if entry["type"] != "type1" or not file.is_file() or entry["id"].startswith("z-other"):
            return
        self.saved.setdefault(file, file.read_bytes())
        if self.random.random() < 0.5 or not isinstance(self.loader, GranuleBoot):
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:700])
        self.say(f"BROKEN {file.name}")

    def repair(self):
        for file, data in self.saved.items():
            if file.parent.is_dir():
                file.write_bytes(data)
        self.saved = {}
        for size, bits in zip(SIZES, (1, 2, 3)):
            if not (self.folder / f"os-{size}.conf").exists():
                self.system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=self.sorts[f"os-{size}"])
        self.say("REPAIRED")

    def step_repair(self):
        self.repair()

    def step_damage(self):
        """The disk forgets."""
        name = self.random.choice(["trial.json", "verified.json", "history.jsonl", "history.jsonl", "all"])
        self.say(f"DAMAGED {name}")
        self.harmed = True
        file = self.state / name
        if name == "all":
            shutil.rmtree(self.state, ignore_errors=True)
        elif file.is_file():
            data = file.read_bytes()
            at = self.random.randrange(len(data) + 1)
            file.write_bytes(self.random.choice([data[:at], data[:at] + b"\0\xff{" + data[at:], b"", b"garbage\n"]))

    def step_boot(self):
        outcome = self.random.choices(
            ["well", "size", "release", "panic", "hang", "check", "kexec", "other path", "stuck"],
            [50, 8, 5, 10, 5, 8, 5, 4, 3])[0]
        if outcome in ("panic", "hang") and not (self.by_id(self.following) or {}).get("trial"):
            # The default comes up; what follows from it otherwise is the owner's.
            outcome = "well"
        self.boot(outcome)
        if self.random.random() < 0.15:
            self.verify("--watch", cut=self.maybe_cut()) if self.due() else None
        for _ in range(self.random.choices([0, 1, 2], [15, 70, 15])[0]):
            self.verify("--boot", cut=self.maybe_cut())

    def due(self):
        """The watch would wait, in real time, for a deadline that is not over."""
        record = self.record("trial")
        return not (self.is_trial and record and record["stage"] == "armed" and record["deadline_s"]
                    and self.uptime() < record["deadline_s"])

    def step_verify(self):
        self.verify("--boot", cut=self.maybe_cut())

    STEPS = {"try": 20, "try_none": 3, "set": 5, "once": 5, "rollback": 4, "kernels": 8, "register": 2, "wish": 4,
             "oneshot": 3, "trial_file": 4, "break": 4, "repair": 4, "damage": 4, "boot": 32, "verify": 5}
    # What may make another entry the default.
    FREE = {"set", "rollback", "kernels", "register", "wish", "break", "repair", "trial_file"}

    def step(self):
        name = self.random.choices(list(self.STEPS), list(self.STEPS.values()))[0]
        default, oneshot, record = self.default, self.oneshot(), self.record("trial")
        saved = set(self.saved)
        self.say(f"--- {name}; default {default}, one-shot {oneshot}, trial {record and record['stage']}")
        self.harmed = False
        getattr(self, f"step_{name}")()
        self.look()
        repaired = saved and not self.saved
        self.check_default(name, default, record, repaired)
        self.check_oneshot(name, oneshot)
        for other in self.others:
            assert (self.folder / other).exists(), "an entry of another system went"
        if self.random.random() < 0.3:
            self.json(self.random.choice(["status", "history", "why"]))

    # ---- what must hold ----

    def check_default(self, name, before, record, repaired):
        e = self.by_id(self.default)
        assert not (e and e["trial"]), f"{self.default}, an entry of a trial, boots by default"
        if self.default == before or name in self.FREE or repaired:
            return
        # A trial that passed, in this step or one that was cut short.
        told = self.record("verified") or {"current": None}
        promoted = (name in ("boot", "verify") and (self.is_trial or self.passes) and record
                    and record["target"] == self.default and not record["keep"])
        assert promoted, f"{name} changed the default from {before} to {self.default}"
        assert (told["current"] or {}).get("entry") == self.default, "promoted what is not recorded as verified"
        self.count("promoted")

    def check_oneshot(self, name, before):
        now = self.oneshot()
        if now == before or now is None or name in ("once", "oneshot"):
            return
        record = self.record("trial")
        assert record and record["stage"] == "armed", f"{name} armed {now} without a record"
        assert fnmatch(record["entry"], now), f"{name} armed {now}, and the trial is {record['entry']}"

    def settle(self):
        """Two boots that come up, and nothing is left over."""
        self.say("--- settling")
        self.repair()
        self.look()
        for _ in range(2):
            self.boot("well")
            self.verify("--boot")
            self.look()
        self.check_settled()

    def check_settled(self):
        record = self.record("trial")
        assert not record or record["stage"] == "failed", f"a trial is left over: {record}"
        assert not self.trial_files(), f"entries are left over: {self.trial_files()}"
        assert self.oneshot() is None, f"a one-shot is left over: {self.oneshot()}"
        e = self.by_id(self.default)
        assert e and not e["trial"] and not e["problem"]
        for word in ("status", "history", "why"):
            self.json(word)
        if e["id"] == self.running and (self.record("verified") or {}).get("current"):
            self.count("settled on what was verified")
