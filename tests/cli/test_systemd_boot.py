# SPDX-License-Identifier: GPL-2.0-or-later
"""Under systemd-boot, which knows no page sizes: a policy is a default that is kept up to date."""

import subprocess

import pytest

import images
from system import System


@pytest.fixture
def machine(system):
    """Started by systemd-boot; a registered entry of each size, the 4K one first in the menu."""
    system.loader(name="systemd-boot 257.7", features=0x7f)
    for size, bits in {"4k": 1, "64k": 3}.items():
        system.kernel(f"6.1-{size}", images.arm64(bits, release=f"6.1-{size}"))
    system.ok("register")
    return system


ENTRY = {size: f"test-6.1-{size}-{size}.conf" for size in ("4k", "64k")}


def next_id(system):
    return system.json("status")["next"]["id"]


def test_a_policy_is_stored_and_its_newest_entry_is_the_default(machine):
    machine.set_variable("LoaderEntryPreferred", ENTRY["4k"])
    machine.set_variable("LoaderEntryOneShot", ENTRY["4k"])
    out = machine.ok("set", "64k")
    assert machine.variable("GranulePolicy") == "64k"
    assert machine.variable("LoaderEntryDefault") == ENTRY["64k"]
    assert machine.variable("LoaderEntryPreferred") is None and machine.variable("LoaderEntryOneShot") is None
    assert f"next boot: 64K pages, default entry\n           {ENTRY['64k']}" in out
    assert list(machine.entries()) == [ENTRY["64k"], ENTRY["4k"]], "sort keys follow"
    assert machine.json("set", "64k")["actions"] == []


def test_an_entry_that_is_set_ends_the_policy(machine):
    machine.ok("set", "64k")
    machine.ok("set", ENTRY["4k"])
    assert machine.variable("LoaderEntryDefault") == ENTRY["4k"] and machine.variable("GranulePolicy") is None
    assert next_id(machine) == ENTRY["4k"]


def test_set_none_clears_policy_and_default_and_leaves_loader_conf_alone(machine):
    machine.ok("set", "64k")
    machine.ok("once", "4k")
    (machine.efi / "loader/loader.conf").write_text(f"default {ENTRY['4k']}\n")
    done = machine.run("set", "none")
    assert done.returncode == 0 and "stays in loader.conf: it is systemd-boot 257.7" in done.stderr
    for name in ("GranulePolicy", "LoaderEntryDefault", "LoaderEntryOneShot"):
        assert machine.variable(name) is None
    assert next_id(machine) == ENTRY["4k"]


def test_entries_that_cannot_start_or_have_no_tries_are_never_made_the_default(machine):
    machine.entry("test-9-64k+0-3", images.arm64(3), version="9", granule_image="64k")
    machine.entry("test-8-64k", None, version="8", granule_image="64k")
    machine.ok("set", "64k")
    assert machine.variable("LoaderEntryDefault") == ENTRY["64k"]
    (machine.efi / "loader/entries" / ENTRY["64k"]).unlink()
    done = machine.run("set", "64k")
    assert done.returncode == 1 and "no entry with 64K pages can boot" in done.stderr


def test_an_entry_with_a_counter_is_named_as_every_version_of_systemd_boot_reads_it(machine):
    """Up to version 257 the counter is a part of the id."""
    machine.entry("os-x+3", images.arm64(3), version="9")
    machine.ok("once", "os-x")
    assert machine.variable("LoaderEntryOneShot") == "os-x*.conf" and next_id(machine) == "os-x.conf"
    machine.ok("set", "os-x")
    assert machine.variable("LoaderEntryDefault") == "os-x*.conf" and next_id(machine) == "os-x.conf"
    machine.entry("os-x-other", images.arm64(3), version="8")
    machine.ok("once", "os-x")
    assert machine.variable("LoaderEntryOneShot") == "os-x.conf", "a pattern that fits two entries is not used"


def test_a_policy_takes_no_entry_that_counts_its_tries(machine):
    """systemd-boot would go on to boot such a default when it has no tries left."""
    machine.entry("test-9-64k+3", images.arm64(3), version="9", granule_image="64k")
    machine.ok("set", "64k")
    assert machine.variable("LoaderEntryDefault") == ENTRY["64k"]
    (machine.efi / "loader/entries" / ENTRY["64k"]).unlink()
    done = machine.run("set", "64k")
    assert done.returncode == 1 and "test-9-64k.conf: counts its tries" in done.stderr


@pytest.mark.parametrize("key, value", [("machine_id", "1" * 32), ("granule_image", "64k")])
def test_entries_of_another_system_are_not_taken(machine, key, value):
    """It is newer: by its machine-id, or by the token in its name, it belongs to another system."""
    (machine.root / "etc/machine-id").write_text("0" * 32 + "\n")
    machine.entry("other-9-64k", images.arm64(3), version="9", **{key: value})
    machine.ok("set", "64k")
    assert machine.variable("LoaderEntryDefault") == ENTRY["64k"]
    machine.loader()
    done = machine.run("set", "64k")
    assert done.returncode == 1 and "other-9-64k.conf: is the newest" in done.stderr and "another system's" in done.stderr


@pytest.mark.parametrize("kind", ["cut", "full"])
def test_a_set_that_ends_at_any_write_leaves_the_old_default_or_the_new_one(tmp_path, fault_library, kind):
    """The new wish first; what boots then is there in every case, and the same command completes it."""
    for at in range(1, 100):
        system = System(tmp_path / str(at))
        system.loader(name="systemd-boot 257.7", features=0x7f)
        for size, bits in {"4k": 1, "64k": 3}.items():
            system.kernel(f"6.1-{size}", images.arm64(bits, release=f"6.1-{size}"))
        system.ok("register")
        system.ok("set", "4k")
        done = system.run_with_fault(fault_library, kind, at, "set", "64k")
        for name in ("GranulePolicy", "LoaderEntryDefault"):
            # A plain file stands for the variable here: firmware writes all of it, or nothing.
            if system.variable(name) not in ("4k", "64k", *ENTRY.values()):
                system._variable(name).unlink(missing_ok=True)
        entries = system.entries()
        assert set(entries) == set(ENTRY.values()) and all(e["problem"] is None for e in entries.values())
        assert next_id(system) in ENTRY.values()
        if kind == "full" and done.returncode:
            assert done.stderr.count("granule: ") == 1, done
        system.ok("set", "64k")
        assert next_id(system) == list(system.entries())[0] == ENTRY["64k"]
        assert system.variable("GranulePolicy") == "64k"
        if done.returncode == 0 and "order of entries" not in done.stderr:
            break
    assert at > 5, "the faults were not reached"


@pytest.mark.parametrize("os_id, taken", [("test", True), ("other", False)])
def test_a_unified_image_belongs_to_the_system_that_is_in_it(machine, os_id, taken):
    (machine.efi / "EFI/Linux").mkdir(parents=True)
    image = images.uki(images.arm64(3), (".uname", "9.9"), osrel=f"ID={os_id}\nVERSION_ID=9\nPRETTY_NAME=x\n")
    (machine.efi / "EFI/Linux/image.efi").write_bytes(image)
    assert machine.entries()["image.efi"]["release"] == "9.9"
    machine.ok("set", "64k")
    assert machine.variable("LoaderEntryDefault") == ("image.efi" if taken else ENTRY["64k"])


def test_without_writable_variables_a_policy_is_kept_in_loader_conf(machine):
    folder = machine.root / "variables"

    def read_only(*arguments):
        script = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec \"$@\""
        command = ["unshare", "-m", "sh", "-c", script, "sh", machine.program, *arguments, "--root", machine.root]
        done = subprocess.run([str(c) for c in command], env=machine.env, capture_output=True, text=True)
        if "ermitted" in done.stderr or "denied" in done.stderr:
            pytest.skip("no right to mount here")
        return done

    conf = machine.efi / "loader/loader.conf"
    conf.write_text("timeout 3\n")
    assert read_only("set", "64k").returncode == 0
    assert conf.read_text() == f"timeout 3\npage-size 64k\ndefault {ENTRY['64k']}\n" and next_id(machine) == ENTRY["64k"]
    machine.kernel("6.2-64k", images.arm64(3, release="6.2-64k"))
    assert read_only("register").returncode == 0
    assert "default test-6.2-64k-64k.conf\n" in conf.read_text() and next_id(machine) == "test-6.2-64k-64k.conf"
    done = read_only("once", "4k")
    assert done.returncode == 1 and "a one-shot cannot be armed" in done.stderr
    assert read_only("set", "none").returncode == 0 and conf.read_text() == "timeout 3\n"
    machine.set_variable("LoaderEntryDefault", ENTRY["4k"])
    done = read_only("set", "64k")
    assert done.returncode == 1 and "would win" in done.stderr and conf.read_text() == "timeout 3\n", "all or nothing"
    conf.write_text("page-size 64k\n")
    done = read_only("set", "none")
    assert done.returncode == 1 and "would win" in done.stderr and conf.read_text() == "page-size 64k\n"
