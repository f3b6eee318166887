# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines whose variables cannot be written: a one-shot waits in the environment block on the EFI system partition."""

import shutil
import subprocess

import pytest

import images
from system import System

SIGNATURE = b"# GRUB Environment Block\n"


def block(*lines):
    return (SIGNATURE + "".join(f"{line}\n" for line in lines).encode()).ljust(1024, b"#")


def without_variables(root):
    """Entries of each size, the 4K one first in the menu; loader and variables are not known."""
    system = System(root)
    for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    system.env_file = system.efi / "EFI/granule/grubenv"
    system.env_file.parent.mkdir()
    return system


@pytest.fixture
def machine(tmp_path):
    return without_variables(tmp_path / "root")


def next_id(system):
    return system.json("status")["next"]["id"]


def test_once_makes_the_block_and_none_clears_it(machine):
    machine.env_file.parent.rmdir()
    out = machine.ok("once", "64k", "--force")
    assert f"set next_entry to os-64k.conf in {machine.env_file}\n" in out
    assert "64K pages, one-shot (environment block)" in out
    assert machine.env_file.read_bytes() == block("next_entry=os-64k.conf")
    entries = machine.entries()
    assert entries["os-64k.conf"]["next"] and entries["os-4k.conf"]["default"]
    assert "os-64k.conf (next boot only) (in the environment block)" in machine.ok("status")
    assert "nothing to change" in machine.ok("once", "64k", "--force")
    out = machine.ok("once", "none")
    assert f"removed next_entry from {machine.env_file} (was os-64k.conf)" in out
    assert machine.env_file.read_bytes() == block()
    assert "nothing to change" in machine.ok("once", "none")


def test_the_block_is_overwritten_where_it_lies_and_keeps_what_others_store(machine):
    machine.env_file.write_bytes(block("# mine", "saved_entry=os-16k", "next_entry=x", "boot_success=1"))
    before = machine.env_file.stat()
    machine.ok("once", "64k", "--force")
    assert machine.env_file.read_bytes() == block("# mine", "saved_entry=os-16k", "boot_success=1",
                                                  "next_entry=os-64k.conf")
    assert machine.env_file.stat().st_ino == before.st_ino


def test_a_dry_run_writes_no_block_and_tells_the_next_boot(machine):
    out = machine.ok("once", "64k", "--force", "-n")
    assert "would have: set next_entry" in out and "os-64k.conf" in out and not machine.env_file.exists()
    machine.env_file.write_bytes(block("next_entry=os-16k.conf"))
    machine.ok("once", "none", "-n")
    machine.ok("set", "64k", "-n")
    assert machine.env_file.read_bytes() == block("next_entry=os-16k.conf")


def test_a_variable_wins_over_the_block_and_the_block_over_loader_conf(machine):
    (machine.efi / "loader/loader.conf").write_text("default os-16k.conf\npage-size 16k\n")
    machine.env_file.write_bytes(block("saved_entry=os-64k"))
    assert next_id(machine) == "os-64k.conf"
    machine.env_file.write_bytes(block("granule_page_size=64k"))
    assert next_id(machine) == "os-16k.conf", "a default comes before a policy"
    (machine.efi / "loader/loader.conf").write_text("page-size 16k\n")
    assert next_id(machine) == "os-64k.conf" and "64k (in the environment block)" in machine.ok("status")
    machine.loader()
    machine.set_variable("GranulePolicy", "4k")
    assert next_id(machine) == "os-4k.conf"
    machine.env_file.write_bytes(block("next_entry=os-16k"))
    assert next_id(machine) == "os-16k.conf"
    machine.set_variable("LoaderEntryOneShot", "os-64k.conf")
    assert next_id(machine) == "os-64k.conf"
    machine.ok("once", "none")
    assert machine.variable("LoaderEntryOneShot") is None and machine.env_file.read_bytes() == block()


@pytest.mark.parametrize("variables", [False, True], ids=["loader-conf", "variables"])
def test_set_clears_what_would_win_in_the_block(machine, variables):
    if variables:
        machine.loader()
    wishes = ("next_entry=os-16k.conf", "saved_entry=os-16k", "granule_page_size=16k", "other=1")
    machine.env_file.write_bytes(block(*wishes))
    assert "removed saved_entry" in machine.ok("set", "64k")
    assert machine.env_file.read_bytes() == block("other=1") and next_id(machine) == "os-64k.conf"
    machine.env_file.write_bytes(block(*wishes))
    machine.ok("set", "os-4k")
    assert machine.env_file.read_bytes() == block("granule_page_size=16k", "other=1")
    assert next_id(machine) == "os-4k.conf"
    machine.env_file.write_bytes(block(*wishes))
    machine.ok("set", "none")
    assert machine.env_file.read_bytes() == block("other=1") and next_id(machine) == "os-4k.conf"


@pytest.mark.parametrize("damage, why", [(b"", "truncated"), (block()[:-1], "truncated"), (block() + b"#", "range"),
                                         (b"x" * 1024, "signature"), (block("no equal sign"), "syntax")],
                         ids=["empty", "short", "long", "other", "syntax"])
def test_a_damaged_block_is_passed_over_and_not_written_to(machine, damage, why):
    machine.env_file.write_bytes(damage)
    done = machine.run("status")
    assert done.returncode == 0 and f"{machine.env_file}: " in done.stderr and "os-4k.conf" in done.stdout
    done = machine.run("once", "64k", "--force")
    assert done.returncode == 1 and "damaged" in done.stderr and machine.env_file.read_bytes() == damage
    machine.ok("set", "64k")
    assert next_id(machine) == "os-64k.conf"


def test_a_full_block_is_an_error_that_changes_nothing(machine):
    full = block("x=" + "y" * (1024 - len(SIGNATURE) - 10))
    machine.env_file.write_bytes(full)
    done = machine.run("once", "64k", "--force")
    assert done.returncode == 1 and "is full" in done.stderr and machine.env_file.read_bytes() == full


def test_a_block_that_the_loader_does_not_read_is_left_alone(machine):
    machine.env_file.write_bytes(block("next_entry=os-16k"))
    (machine.efi / "loader/loader.conf").write_text("env-block no\n")
    assert next_id(machine) == "os-4k.conf"
    done = machine.run("once", "64k", "--force")
    assert done.returncode == 1 and "env-block" in done.stderr
    machine.ok("set", "64k")
    (machine.efi / "loader/loader.conf").unlink()
    machine.loader(name="systemd-boot 257")
    assert next_id(machine) == "os-4k.conf"
    assert machine.env_file.read_bytes() == block("next_entry=os-16k")


def test_the_loader_of_another_system_is_not_known(machine):
    done = machine.run("once", "64k")
    assert done.returncode == 1 and "--force" in done.stderr and not machine.env_file.exists()


def test_read_only_variables_lead_to_the_block_when_the_loader_is_granule_boot(machine):
    """As on U-Boot: the loader's variables can be read, and none can be written."""
    if not shutil.which("mount") or not shutil.which("unshare"):
        pytest.skip("mount or unshare is missing")
    machine.loader()
    folder = machine.root / "variables"

    def read_only(*arguments):
        script = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec \"$@\""
        command = ["unshare", "-m", "sh", "-c", script, "sh", machine.program, *arguments, "--root", machine.root]
        return subprocess.run([str(c) for c in command], env=machine.env, capture_output=True, text=True)

    probe = read_only("status")
    if "ermitted" in probe.stderr or "denied" in probe.stderr:
        pytest.skip("no right to mount here")
    done = read_only("once", "64k")
    assert done.returncode == 0 and machine.env_file.read_bytes() == block("next_entry=os-64k.conf")
    assert machine.variable("LoaderEntryOneShot") is None
    machine.set_variable("LoaderEntryOneShot", "os-16k.conf")
    done = read_only("once", "64k")
    assert done.returncode == 1 and "would win" in done.stderr
    assert machine.env_file.read_bytes() == block("next_entry=os-64k.conf"), "the variable wins: nothing is written"
    done = read_only("once", "none")
    assert done.returncode == 1 and "cannot be cleared" in done.stderr
    machine.loader(name="systemd-boot 257")
    done = read_only("once", "64k")
    assert done.returncode == 1 and "cannot be armed" in done.stderr


def test_grub_editenv_and_granule_read_what_the_other_writes(machine):
    if not shutil.which("grub-editenv"):
        pytest.skip("missing: grub-editenv (package grub-common)")

    def editenv(*arguments):
        return subprocess.run(["grub-editenv", machine.env_file, *arguments], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    machine.ok("once", "64k", "--force")
    assert editenv("list") == "next_entry=os-64k.conf\n"
    editenv("set", "saved_entry=os-16k", "other=with blank")
    assert next_id(machine) == "os-64k.conf"
    machine.ok("once", "none")
    assert editenv("list") == "saved_entry=os-16k\nother=with blank\n" and next_id(machine) == "os-16k.conf"
    machine.env_file.unlink()
    editenv("create")
    editenv("set", "next_entry=os-16k.conf")
    machine.ok("once", "4k", "--force")
    assert editenv("list") == "next_entry=os-4k.conf\n" and machine.env_file.stat().st_size == 1024


# ---- faults ----

WIDE = "x=" + "y" * 480  # its end, and what follows, is in the second half of the block
STATES = {
    "none": None,
    "empty": block(),
    "armed": block("saved_entry=os-16k", "next_entry=os-4k.conf"),
    "across": block(WIDE[:-30], "saved_entry=os-16k", "next_entry=os-4k.conf"),
    "behind": block(WIDE, "saved_entry=os-16k", "next_entry=os-4k.conf"),
    "shifting": block("next_entry=os-4k.conf", WIDE, "saved_entry=os-16k"),
}


@pytest.mark.parametrize("command", ["once 64k --force", "once none", "set 64k"])
@pytest.mark.parametrize("state", STATES)
def test_power_cut_at_any_write_leaves_the_old_or_the_new_choice(tmp_path, fault_library, state, command):
    for at in range(1, 100):
        machine = without_variables(tmp_path / str(at))
        if STATES[state]:
            machine.env_file.write_bytes(STATES[state])
        old = next_id(machine)
        new = {"once 64k --force": "os-64k.conf", "set 64k": "os-64k.conf"}.get(
            command, "os-16k.conf" if "os-16k" in str(STATES[state]) else "os-4k.conf")
        done = machine.run_with_fault(fault_library, "cut", at, *command.split())
        after = machine.run("status")
        assert "passed over" not in after.stderr, (at, machine.env_file.read_bytes())
        assert next_id(machine) in (old, new)
        if done.returncode == 0:
            break
        assert done.returncode == 77
        # The next run completes the work.
        machine.ok(*command.split())
        assert next_id(machine) == new
    assert at > 1 or (command == "once none" and "next_entry" not in str(STATES[state]))
    assert next_id(machine) == new


def test_a_full_disk_at_any_write_is_one_clear_line_and_keeps_the_old_block(tmp_path, fault_library):
    for state in ("none", "armed"):
        for at in range(1, 100):
            machine = without_variables(tmp_path / state / str(at))
            if STATES[state]:
                machine.env_file.write_bytes(STATES[state])
            done = machine.run_with_fault(fault_library, "full", at, "once", "64k", "--force")
            if done.returncode == 0:
                break
            assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr
            assert "passed over" not in machine.run("status").stderr
        assert at > 1


@pytest.mark.parametrize("armed_before", [None, "os-16k.conf"])
def test_a_full_variable_store_leads_to_the_block(machine, fault_library, armed_before):
    machine.loader()
    if armed_before:
        machine.set_variable("LoaderEntryOneShot", armed_before)
    done = machine.run_with_fault(fault_library, "full", None, "once", "64k", below=machine.root / "variables")
    assert done.returncode == 0 and "variable store is full" in done.stderr
    assert machine.env_file.read_bytes() == block("next_entry=os-64k.conf")
    assert machine.variable("LoaderEntryOneShot") is None and next_id(machine) == "os-64k.conf"
