# SPDX-License-Identifier: GPL-2.0-or-later
"""Garbage wherever the command reads: variables, records, history, settings, crash dumps, checks, entries. It never crashes,
never prints what a terminal obeys, always says what is wrong in lines of its own, and its JSON can be read."""

import hashlib
import json
import os
import random
import struct
import subprocess

import pytest

import images
from boots import Boots

SEEDS = range(8 * int(os.environ.get("GRANULE_SEEDS", 1)))
VARIABLES = ("LoaderEntryOneShot", "LoaderEntryDefault", "LoaderEntryPreferred", "LoaderEntrySelected", "LoaderInfo",
             "LoaderFeatures", "LoaderDevicePartUUID", "LoaderEntryLastBooted", "LoaderImageIdentifier", "GranulePolicy",
             "GranuleBoot", "GranuleCpu")
LONG = "x" * 5000
WORDS = ["os-4k.conf", "os-64k-trial.conf", "", "64k", "*", "@saved", "../../etc/passwd", "/", ".", "+0.conf", LONG,
         "a\x1b[2Jb", "\n", "entry=\nreason=oneshot\nasked.oneshot=os-64k-trial.conf\noutcome.oneshot=chosen\n",
         "ü€\U0001f600", "os-4k+99999999999-1.conf", "auto-reboot-to-firmware-setup", "granule-boot", "systemd-boot 9"]
VALUES = [None, True, False, 0, -1, 2**63 - 1, -2**63, 1.5, [], {}, [[]], [None], {"a": {}}, *WORDS]


def garbage(rng):
    return rng.choice([b"", b"\0", b"\xff" * 7, bytes(rng.randrange(256) for _ in range(rng.randrange(300))), b"\0" * 4096,
                       rng.choice(WORDS).encode("utf-16-le"), struct.pack("<H", 0xD800) * 9])


def mangled(value, rng):
    """JSON with some of its values replaced."""
    if isinstance(value, dict):
        result = {k: mangled(v, rng) for k, v in value.items() if rng.random() > 0.02}
        return {**result, "more": rng.choice(VALUES)} if rng.random() < 0.1 else result
    return rng.choice(VALUES) if rng.random() < 0.12 else value


def spoil_variables(machine, rng):
    for name in VARIABLES:
        if rng.random() < 0.35:
            data = garbage(rng) if rng.random() < 0.5 else (rng.choice(WORDS) + "\0").encode("utf-16-le")
            machine._variable(name).write_bytes(struct.pack("<I", 7) + data)
        elif rng.random() < 0.05:
            machine._variable(name).write_bytes(garbage(rng)[:3])


def spoil_records(machine, rng):
    """Whole, with a right checksum, and nonsense inside; or not even that."""
    state = machine.root / "var/lib/granule"
    for name in ("trial", "verified"):
        file = state / f"{name}.json"
        if not file.exists() or rng.random() < 0.3:
            continue
        if rng.random() < 0.7:
            record = mangled(json.loads(file.read_text().splitlines()[1]), rng)
            machine.record(name, record)
        else:
            file.write_bytes(garbage(rng))
    history = state / "history.jsonl"
    lines = [mangled(json.loads(line), rng) for line in history.read_text().splitlines()]
    lines += [{name: rng.choice(VALUES) for name in ("kind", "verdict", "boot_id", "time", "entry", "trial", "reason",
                                                    "page_size", "boot_seconds")} for _ in range(5)]
    rng.shuffle(lines)
    with history.open("wb") as f:
        for line in lines:
            f.write(garbage(rng) if rng.random() < 0.1 else json.dumps(line, ensure_ascii=rng.random() < 0.5).encode())
            f.write(b"\n")


def spoil_settings(machine, rng):
    keys = ["page-sizes", "tries", "reboot-on-failure", "panic", "verify-timeout", "check-timeout", "deadline",
            "trial-options", "unknown", "", LONG]
    # No waiting: what settles or checks have to wait for is no matter here.
    values = ["", "-1", "0", "99999999999999999999", "yes no", "4k 16k 5k", "\x1b[31m", "a\0b", LONG, "panic=0",
              "arm64.pagesize=4k -- x", '"', "root=/dev/sda1 \"unbalanced"]
    text = "".join(f"{rng.choice(keys)} {rng.choice(['=', '==', '', ' = '])} {rng.choice(values)}\n" for _ in range(12))
    (machine.root / "etc/granule.conf").write_bytes(text.encode() + garbage(rng))


def spoil_dumps(machine, rng):
    pstore = machine.root / "sys/fs/pstore"
    pstore.mkdir(parents=True, exist_ok=True)
    for n in range(rng.randrange(6)):
        name = rng.choice([f"dmesg-efi_pstore-{n}", f"dmesg-{n}.enc.z", f"console-ramoops-{n}", "x\x1b[2J", "dmesg-" + "9" * 200])
        text = b"Panic#1 Part1\n<0>[    1.0] Kernel panic - not syncing: " + rng.choice(WORDS).encode() + garbage(rng)
        (pstore / name).write_bytes(text)


def spoil_checks(machine, rng):
    check = machine.root / "etc/granule/verify.d/check"
    check.parent.mkdir(parents=True, exist_ok=True)
    check.write_text("#!/bin/sh\n" + rng.choice([
        r"printf '\033[2J\377\000\n\n'; exit 1", "head -c 300000 /dev/zero | tr '\\0' 'x'; exit 3", "exec kill -SEGV $$",
        "printf 'no end'; exit 1", "echo fine"]) + "\n")
    check.chmod(0o755)


def spoil_entries(machine, rng):
    folder = os.fsencode(machine.efi / "loader/entries")
    names = [b"\xff\xfe.conf", b"a b.conf", b"os-64k-trial+0-%d.conf" % 10**9, b"os-64k-trial+00000.conf", b"-trial+0.conf",
             b"x" * 240 + b"-trial+0.conf", b"os-4k-trial.conf", b"+0.conf", b".conf", b"OS-64K-TRIAL+0.CONF"]
    texts = [b"", b"granule-trial yes\n", b"title \x1b[2J\nlinux /kernels/os-64k\ngranule-trial\noptions \xff\xfe\n",
             b"title x\nlinux /kernels/os-64k\noptions " + b"y" * 70000 + b"\n", b"linux ../../../etc/passwd\n" * 9,
             b"title t\nlinux /kernels/os-64k\nversion 99\ngranule-trial yes\nmachine-id zzz\n"]
    for name in rng.sample(names, rng.randrange(len(names))):
        with open(folder + b"/" + name, "wb") as f:
            f.write(rng.choice(texts))
    for n in range(rng.choice([0, 0, 200])):
        with open(folder + b"/n%d-trial+0.conf" % n, "wb") as f:
            f.write(texts[5])


SPOILS = (spoil_variables, spoil_records, spoil_settings, spoil_dumps, spoil_checks, spoil_entries)
COMMANDS = [("try", "64k"), ("try", "64k", "--force", "--tries", "100", "--deadline", "1w"), ("try", "none"), ("set", "64k"),
            ("set", "none"), ("once", "16k"), ("rollback",), ("verify",), ("history",), ("why",), ("status",), ("list",),
            ("try", LONG), ("try", "\udcff\udcfe"), ("set", "a\x1b[2J"), ("try", "os-64k", "--tries", "0"),
            ("try", "os-64k", "--tries", "101"), ("try", "os-64k", "--deadline", "-1"),
            ("try", "os-64k", "--deadline", "99999999999999999999w"), ("history", "--lines", "0")]


def run(system, *arguments):
    """What is printed need not be UTF-8."""
    done = subprocess.run([system.program, *arguments, "--root", system.root], env=system.env, capture_output=True,
                          text=True, errors="surrogateescape")
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2, 3), done
    return done


def check(done):
    for text in (done.stdout, done.stderr):
        assert not any(ord(c) < 0x20 and c not in "\n\t" or ord(c) == 0x7F for c in text), ascii(text)
    assert done.returncode == 0 or done.stdout or done.stderr


@pytest.mark.parametrize("seed", SEEDS)
def test_garbage_is_told_and_never_believed(system, seed):
    rng = random.Random(seed)
    system.loader()
    system.env.update(LC_ALL="C.UTF-8")
    for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    (system.root / "run").mkdir()
    boots = Boots(system)
    boots.boot()
    boots.verify()
    system.run("try", "64k", "--force", "--tries", "3")
    if rng.random() < 0.5:
        boots.boot(entry="os-4k.conf" if rng.random() < 0.5 else None)
    for spoil in rng.sample(SPOILS, rng.randrange(1, len(SPOILS) + 1)):
        spoil(system, rng)
    boots.running("64k")
    for command in [rng.choice(COMMANDS), ("verify", "--boot"), rng.choice(COMMANDS), ("verify", "--boot")]:
        print(seed, ascii(command)[:100])
        check(run(system, *command))
    for word in ("status", "list", "history", "why"):
        done = run(system, word, "--json")
        json.loads(done.stdout.encode(errors="surrogateescape").decode())
        check(done)
    assert (system.efi / "loader/entries/os-4k.conf").exists(), "an entry of somebody went"


def test_a_record_that_names_the_file_of_another_entry_does_not_remove_it(system):
    """With a right checksum, too."""
    system.loader()
    system.entry("os-4k", images.arm64(1))
    system.trial("os-64k.conf")
    record = Boots(system).record("trial")
    system.record("trial", {**record, "entry": "os-4k.conf", "file": "os-4k.conf"})
    assert system.run("try", "none").returncode == 0
    assert not (system.root / "var/lib/granule/trial.json").exists()
    assert (system.efi / "loader/entries/os-4k.conf").exists()
