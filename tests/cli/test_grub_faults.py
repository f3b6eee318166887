# SPDX-License-Identifier: GPL-2.0-or-later
"""Wishes on machines that GRUB boots, with each call that changes a file being the last one, or failing."""

import os
import shutil

import pytest

import images
from grub_boots import GrubSystem, read_block, write_block
from system import PLAIN, System

ONE_SHOTS = """if [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${env_block}" ] ; then
  set env_block="(${root})${env_block}"
  export env_block
  load_env -f "${env_block}"
fi
if [ "${next_entry}" ] ; then
  set default="${next_entry}"
  set next_entry=
  save_env next_entry
  set boot_once=true
else
  set default="${saved_entry}"
fi
"""
SIZES = {"4k": 1, "16k": 2, "64k": 3}
WIDE = "x" * 470  # what follows a value of this width is in the second sector of the block


class Machine(System):
    """GRUB without lines of granule: kernels of each page size, and grubenv as the block."""

    def __init__(self, root, **variables):
        super().__init__(root)
        self.with_variables()
        (self.root / "run").mkdir()
        self.block = self.boot / "grub2/grubenv"
        write_block(self.block, variables)
        (self.root / "etc/default").mkdir()
        (self.root / "etc/default/grub").write_text("GRUB_DEFAULT=saved\n")
        for size, bits in SIZES.items():
            self.kernel(f"6.1-{size}", images.arm64(bits, release=f"6.1-{size}"))
        self.menu()

    def menu(self):
        text = ONE_SHOTS
        for size in SIZES:
            text += (f"menuentry 'Linux 6.1-{size}' --id linux-{size} {{\n\tlinux /boot/vmlinuz-6.1-{size} root=/dev/vda2\n"
                     f"\tinitrd /boot/initrd.img-6.1-{size}\n}}\n")
        (self.boot / "grub2/grub.cfg").write_text(text)

    @staticmethod
    def id(size):
        return f"linux-{size}"

    def blocks(self):
        return [read_block(self.block)]

    def kept(self):
        """All that decides about the next boot."""
        names = sorted(p for p in (self.root / "variables").iterdir())
        return self.block.read_bytes(), [(p.name, p.read_bytes()) for p in names]


class WithArea(Machine):
    """On btrfs, where GRUB keeps one-shots in the file system's header."""

    def __init__(self, root, **variables):
        super().__init__(root, env_block="512+1", **variables)
        self.disk = self.root / "disk"
        area = b"# GRUB Environment Block\n".ljust(512, b"#")
        self.disk.write_bytes((bytes(0x10040) + b"_BHRfS_M").ljust(1 << 18, b"\0") + area + bytes(1 << 18))
        (self.root / "proc/self").mkdir(parents=True)
        (self.root / "proc/self/mountinfo").write_text(f"20 1 0:30 / / rw - btrfs {self.disk} rw\n")

    def blocks(self):
        return [read_block(self.block), self.disk.read_bytes()[1 << 18:].startswith(b"# GRUB Environment Block\n")]

    def kept(self):
        return super().kept(), self.disk.read_bytes()


class Bls(Machine):
    """Entries of loader/entries, as Red Hat's family has them; the newest one first."""

    @staticmethod
    def id(size):
        return {"4k": "os-3", "16k": "os-2", "64k": "os-1"}[size]

    def menu(self):
        (self.boot / "grub2/grub.cfg").write_text(ONE_SHOTS + "insmod blscfg\nblscfg\n")
        (self.boot / "loader/entries").mkdir(parents=True)
        for size in SIZES:
            text = (f"title Linux 6.1-{size}\nversion 6.1-{size}\nlinux /vmlinuz-6.1-{size}\n"
                    f"initrd /initrd.img-6.1-{size}\noptions root=/dev/vda2\n")
            (self.boot / f"loader/entries/{self.id(size)}.conf").write_text(text)


class Own(GrubSystem):
    """With granule's lines, and its block on the EFI system partition."""

    def __init__(self, root, **variables):
        super().__init__(root)
        if variables:
            write_block(self.block, variables)

    @staticmethod
    def id(size):
        return f"granule-6.1-{size}-{size}"

    def blocks(self):
        return [read_block(self.block) if self.block.exists() else {}, read_block(self.grubenv)]

    def kept(self):
        return self.block.read_bytes() if self.block.exists() else None, self.grubenv.read_bytes()


MACHINES = {
    "own": Own, "grubenv": Machine, "bls": Bls, "area": WithArea,
    "own, two sectors": lambda root: Own(root, other=WIDE, saved_entry=Own.id("4k")),
    "grubenv, two sectors": lambda root: Machine(root, other=WIDE, saved_entry="linux-4k"),
}
# What comes before, the command, and the size whose entry it makes the next one.
COMMANDS = {
    "once": (None, "once 64k", "64k"), "once none": ("once 64k", "once none", None),
    "once another": ("once 16k", "once 64k", "64k"), "set a size": (None, "set 64k", "64k"),
    "set an entry": (None, "set ENTRY", "64k"), "set over a one-shot": ("once 16k", "set ENTRY", "64k"),
    "set none": ("set ENTRY", "set none", None),
}


def words(machine, command):
    return command.replace("ENTRY", machine.id("64k")).split()


def next_id(machine):
    return machine.json("status")["next"]["id"]


class Case:
    """A command that is played again and again on copies of one tree, at the same place each time."""

    def __init__(self, folder, library, kind, command):
        before, command, size = COMMANDS[command]
        self.folder, self.library = folder, library
        self.machine = MACHINES[kind](folder / "root")
        # The library does nothing but spare the time of syncs, unless it is asked to.
        self.machine.env["LD_PRELOAD"] = str(library)
        self.machine.program = PLAIN
        if before:
            self.machine.ok(*words(self.machine, before))
        self.command = words(self.machine, command)
        shutil.copytree(folder / "root", folder / "model", symlinks=True)
        self.old = next_id(self.machine)
        self.clean = self.machine.run(*self.command)
        assert self.clean.returncode == 0, self.clean
        self.end, self.new = self.machine.kept(), next_id(self.machine)
        assert size is None or self.new == self.machine.id(size)
        assert self.new != self.old, (self.old, self.new)

    def points(self, kinds):
        for at in range(1, 100):
            shutil.rmtree(self.folder / "root")
            shutil.copytree(self.folder / "model", self.folder / "root", symlinks=True)
            kind = kinds[at % len(kinds)]
            done = self.machine.run_with_fault(self.library, kind, at, *self.command)
            if not done.reached:
                assert at > 1
                return
            yield at, kind, done
        raise AssertionError("too many points")

    def check(self, at):
        """Whatever the point, all blocks are whole, and one of the two entries boots."""
        assert all(block is not None and block is not False for block in self.machine.blocks()), at
        done = self.machine.run("status", "--json")
        assert done.returncode == 0 and not done.stderr, (at, done)
        assert next_id(self.machine) in (self.old, self.new), at


# Each point of each command takes a while; check-long has them all.
FEW = os.environ.get("GRANULE_FAULTS") != "all"


@pytest.fixture(params=["once", "set an entry", "set none"] if FEW else COMMANDS)
def command(request):
    return request.param


@pytest.fixture(params=MACHINES)
def case(request, command, tmp_path, fault_library):
    return Case(tmp_path, fault_library, request.param, command)


def test_a_command_that_ends_at_any_point_leaves_the_old_or_the_new_and_is_completed(case):
    for at, _, done in case.points(["cut"]):
        assert done.returncode == 77, (at, done)
        case.check(at)
        case.machine.ok(*case.command)
        assert case.machine.kept() == case.end, at


def test_an_error_at_any_point_is_one_line_and_the_next_run_completes(case):
    for at, _, done in case.points(["io", "full", "readonly", "short"]):
        assert len(done.stderr.splitlines()) <= 1 and (done.returncode == 0 or done.stderr), (at, done)
        case.check(at)
        case.machine.ok(*case.command)
        assert case.machine.kept() == case.end, (at, done)
