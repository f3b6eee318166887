# SPDX-License-Identifier: GPL-2.0-or-later
"""granule-boot lists and chooses what systemd-boot 257 does: the same folders under the two loaders, each in its own
machine. What starts in place of kernels tells what the loader left behind (efi/witness.c). What differs on purpose stands
in DIFFERENCES, by name, and each vector that meets such a difference says what granule-boot does instead."""

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from long_run import LONG, long
from guest import BUILD, MIB, SETUP, output, run
from machine import Hang, Machine
from parity_vectors import VECTORS, Uki

WITNESS = BUILD / "aa64/tests/e2e/efi/witness.efi"
GRANULE_BOOT = BUILD / "granule-bootaa64.efi"
PEERS = SETUP / "peers.sh"
SYSTEMD_BOOT = "usr/lib/systemd/boot/efi/systemd-bootaa64.efi"
XBOOTLDR = "bc13c2ff-59e6-4262-a352-b275fd6f7172"
PART_SIZE = 2 * MIB
AT_ONCE = 32  # systemd-boot looks at all partitions of the machine, so more take longer each
TIMEOUT = 60  # of wall time for one vector, and for the start of firmware
WORDS = {"entries", "selected", "default", "oneshot", "last-booted", "timeout-oneshot", "boot-count-path", "profile", "path",
         "options", "back"}

# Where the specification says one thing and systemd-boot 257 does another, or where it has a gap that can strand a machine.
# docs/parity.md gives the reasons.
DIFFERENCES = {
    "bad-default": "an entry without tries left is never chosen but by a one-shot or a person",
    "lenient-patterns": "a pattern may leave the suffix out, and may have the boot counter of the file name in it",
    "negated-sets": "[!a] and [^a] in a pattern mean any character but a",
    "nothing-of-its-own": "without an entry for a kernel firmware goes on with its own boot order",
    "profiles-and-counter": "the profiles of a unified kernel image keep their ids when the file has a boot counter",
    "padded-counters": "a counter keeps its length when it is renamed",
}


@pytest.fixture(scope="session")
def systemd():
    folder = output(PEERS, "--path", "trixie-arm64")
    if not Path(folder, SYSTEMD_BOOT).exists():
        pytest.skip(f"{folder}/{SYSTEMD_BOOT} is missing: make peers")
    return folder


def witness():
    """The program, as a kernel of version 5.8 or later: those ask for the initrd by a protocol, and sd-stub takes no other."""
    image = bytearray(WITNESS.read_bytes())
    head = int.from_bytes(image[0x3c:0x40], "little")
    image[head + 24 + 44] = 1  # MajorImageVersion
    return bytes(image)


def make_uki(folder, out, uki):
    """A unified kernel image around the witness."""
    ukify = ["/usr/bin/python3", f"{folder}/usr/bin/ukify", "build", "--efi-arch=aa64"]
    stubs, quiet, more = f"{folder}/usr/lib/systemd/boot/efi", {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}, []
    for i, options in enumerate(uki.profiles):
        profile = out.with_suffix(f".profile{i}")
        run(*ukify, f"--stub={stubs}/addonaa64.efi.stub", *options, f"--output={profile}", **quiet)
        more.append(f"--join-profile={profile}")
    linux = out.with_suffix(".linux")
    linux.write_bytes(witness())
    run(*ukify, f"--stub={stubs}/linuxaa64.efi.stub", f"--linux={linux}", *uki.options, *more, f"--output={out}",
        **quiet)


@functools.cache
def uki_content(systemd, uki):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "uki.efi"
        make_uki(systemd, out, uki)
        return out.read_bytes()


def write_tree(root, tree, systemd):
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Uki):
            path.write_bytes(uki_content(systemd, content))
        elif content is None:
            path.write_bytes(witness())
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def make_disk(disk, parts):
    """A GPT disk of FAT partitions: (type, folder with the files) each."""
    with open(disk, "wb") as f:
        f.truncate(MIB + len(parts) * PART_SIZE + MIB)
    table = "".join(f"start={(MIB + i * PART_SIZE) // 512}, size={PART_SIZE // 512}, type={kind}\n"
                    for i, (kind, _) in enumerate(parts))
    run("/sbin/sfdisk", "-q", disk, input="label: gpt\n" + table, text=True)
    for i, (_, tree) in enumerate(parts):
        at = MIB + i * PART_SIZE
        run("/sbin/mkfs.vfat", f"--offset={at // 512}", disk, PART_SIZE // 1024, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        run("mcopy", "-s", "-i", f"{disk}@@{at}", *sorted(tree.iterdir()), "::/")


def make_disks(folder, vectors, systemd, loader):
    """The first disk: what firmware starts, and the vectors of one partition. One disk more for each of the others."""
    first, more = [("U", folder / "first")], []
    write_tree(folder / "first", {"EFI/BOOT/BOOTAA64.EFI": None}, systemd)
    for vector in vectors:
        esp = folder / vector.name
        write_tree(esp, {"vector": vector.name, "EFI/BOOT/BOOTAA64.EFI": None} | vector.tree(), systemd)
        shutil.copy(loader, esp / "EFI/loader.efi")
        if vector.xbootldr is None:
            first.append(("U", esp))
        else:
            boot = folder / f"{vector.name}-xbootldr"
            write_tree(boot, {"vector-boot": vector.name} | vector.xbootldr, systemd)
            more.append([("U", esp), (XBOOTLDR, boot)])
    disks = [folder / f"disk{i}" for i in range(1 + len(more))]
    for disk, parts in zip(disks, [first] + more):
        make_disk(disk, parts)
    return disks


def parse(text):
    report = {"files": []}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "file":
            report["files"].append(value)
        elif key in WORDS:
            report[key] = value.removesuffix("|")
    report["files"].sort()
    report["entries"] = [x for x in report.get("entries", "").split("|") if x]
    if not report.get("options"):
        report.pop("options", None)
    return report


def witnessed(folder, vectors, systemd, loader):
    """What a loader makes of vectors: {name: report}. Without the vector at which the machine stood still."""
    reports, left = {}, list(vectors)
    while left:
        folder.mkdir()
        disk, *more = make_disks(folder, left, systemd, loader)
        more = [x for d in more for x in ("-drive", f"if=virtio,format=raw,file={d}")]
        with Machine(folder, disk, more=more) as machine:
            machine.start(wait=False)
            while True:
                try:
                    mark, _ = machine.wait_for(r"@@VECTOR (\S+)\n|@@DONE", timeout=TIMEOUT)
                    if not mark.group(1):
                        left = []
                        break
                    name = mark.group(1)
                    left = [v for v in left if v.name != name]
                    _, text = machine.wait_for("@@END", timeout=TIMEOUT)
                    reports[name] = parse(text)
                except Hang as hang:
                    reports[name] = {"hang": str(hang)}
                    break
        shutil.rmtree(folder)
    return reports


def in_common(report):
    """A report without what always differs: systemd-boot names initrds on the command line as well, for kernels before
    5.8; granule-boot does so for these alone."""
    report = dict(report)
    if "options" in report:
        report["options"] = re.sub(r"initrd=\S+", "", report["options"]).strip()
    if not report.get("options"):
        report.pop("options", None)
    if "path" in report:
        report["path"] = report["path"].lower()  # FAT does not tell
    return report


@pytest.fixture(scope="session")
def reports(systemd, tmp_path_factory):
    """reports(vector): what granule-boot and systemd-boot make of it. The machines that tell serve many vectors, and all
    workers of pytest."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def of_one(vector, name, program):
        first = VECTORS.index(vector) // AT_ONCE * AT_ONCE
        result = folder / f"parity-{name}-{first}.json"
        with open(result.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not result.exists():
                vectors = VECTORS[first:first + AT_ONCE]
                result.write_text(json.dumps(witnessed(result.with_suffix(""), vectors, systemd, program)))
        return in_common(json.loads(result.read_text())[vector.name])

    return lambda vector: (of_one(vector, "granule", GRANULE_BOOT), of_one(vector, "systemd", f"{systemd}/{SYSTEMD_BOOT}"))


# Every third one in the short run, and all that differ.
SHORT = {v.name for i, v in enumerate(VECTORS) if LONG or i % 3 == 0 or v.ours}


@pytest.mark.parametrize("vector", [v if v.name in SHORT else long(v) for v in VECTORS], ids=lambda v: v.name)
def test_same_as_systemd_boot(vector, reports):
    ours, theirs = reports(vector)
    assert set(vector.differs) <= set(DIFFERENCES)
    for key, value in vector.ours.items():
        assert theirs.get(key) != value, f"{key} differs no more: take it out of the vector"
        theirs[key] = value
    assert ours == {k: v for k, v in theirs.items() if v is not None}


def test_every_difference_is_met_by_a_vector():
    assert {name for vector in VECTORS for name in vector.differs} == set(DIFFERENCES)
