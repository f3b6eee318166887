# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels come and go: what a policy means then, what stays whatever is asked for, and two systems on one partition."""

import time

import pytest

import images
from system import System

LOADERS = {"granule-boot": "granule-boot 0.1.0", "systemd-boot": "systemd-boot 257.7"}
BITS = {"4k": 1, "64k": 3}


def add_kernel(system, version, size):
    name = f"{version}-{size}"
    system.kernel(name, images.arm64(BITS[size], release=name))


def remove_kernel(system, version, size):
    for file in system.boot.glob(f"*-{version}-{size}"):
        file.unlink()


def entry_id(version, size, token="test"):
    return f"{token}-{version}-{size}-{size}.conf"


def next_id(system):
    return system.json("status")["next"]["id"]


def by_menu_order(system):
    """What a loader boots that has lost its default."""
    return next(e["id"] for e in system.json("list")["entries"] if e["state"] != "bad")


@pytest.fixture(params=LOADERS, ids=list(LOADERS))
def machine(request, system):
    system.loader(name=LOADERS[request.param], features=0x7f)
    (system.root / "etc/machine-id").write_text("a" * 32 + "\n")
    return system


# ---- a policy over updates ----


def test_a_policy_means_the_newest_kernel_of_its_size_after_every_update(machine):
    for size in ("4k", "64k"):
        add_kernel(machine, "6.1", size)
    machine.ok("register")
    machine.ok("set", "64k")
    newest = {"64k": "6.1", "4k": "6.1"}
    for change, version, size in (("add", "6.2", "4k"), ("add", "6.2", "64k"), ("remove", "6.1", "4k"),
                                  ("remove", "6.1", "64k"), ("add", "6.10", "4k"), ("add", "6.10", "64k"),
                                  ("remove", "6.10", "64k")):
        if change == "add":
            add_kernel(machine, version, size)
            machine.ok("register")
            newest[size] = version
        else:
            remove_kernel(machine, version, size)
            machine.ok("unregister", f"{version}-{size}", "--force")
            if newest[size] == version:
                newest[size] = "6.2"
        assert next_id(machine) == entry_id(newest["64k"], "64k"), (change, version, size)
        assert by_menu_order(machine) == entry_id(newest["64k"], "64k"), (change, version, size)
    machine.ok("set", "4k")
    assert next_id(machine) == by_menu_order(machine) == entry_id("6.10", "4k")


def test_without_a_policy_an_update_of_another_size_changes_nothing(machine):
    add_kernel(machine, "6.1", "4k")
    machine.ok("register")
    add_kernel(machine, "6.2", "64k")
    machine.ok("register")
    assert next_id(machine) == entry_id("6.1", "4k")


@pytest.fixture
def followed(system):
    """Under systemd-boot, with a policy of 64K."""
    system.loader(name="systemd-boot 257.7", features=0x7f)
    for size in ("4k", "64k"):
        add_kernel(system, "6.1", size)
    system.ok("register")
    system.ok("set", "64k")
    return system


def test_a_default_that_somebody_set_since_then_stays(followed):
    followed.set_variable("LoaderEntryDefault", entry_id("6.1", "4k"))
    add_kernel(followed, "6.2", "64k")
    done = followed.run("register")
    assert done.returncode == 0 and "policy 64k is not followed" in done.stderr
    assert followed.variable("LoaderEntryDefault") == entry_id("6.1", "4k")


def test_an_update_during_a_trial_changes_neither_the_one_shot_nor_the_default(followed):
    followed.trial(entry_id("6.1", "4k"))
    followed.set_variable("LoaderEntryOneShot", "test-6.1-4k-4k-trial.conf")
    add_kernel(followed, "6.2", "64k")
    done = followed.run("register")
    assert done.returncode == 0 and "a trial is under way" in done.stderr
    assert followed.variable("LoaderEntryDefault") == entry_id("6.1", "64k")
    assert followed.variable("LoaderEntryOneShot") == "test-6.1-4k-4k-trial.conf"


def test_what_failed_its_trial_is_made_the_default_by_a_person_only(followed):
    add_kernel(followed, "6.2", "64k")
    followed.trial(entry_id("6.2", "64k"), stage="failed")
    followed.ok("register")
    assert followed.variable("LoaderEntryDefault") == entry_id("6.1", "64k")
    followed.ok("set", "64k")
    assert followed.variable("LoaderEntryDefault") == entry_id("6.2", "64k")
    assert "nothing to change" in followed.ok("register")
    assert followed.variable("LoaderEntryDefault") == entry_id("6.2", "64k")


def test_wishes_move_before_the_entry_that_they_name_goes(tmp_path, fault_library):
    """Wherever power is cut, the default names an entry that is there."""
    for at in range(1, 100):
        system = System(tmp_path / str(at))
        system.loader(name="systemd-boot 257.7", features=0x7f)
        for version in ("6.1", "6.2"):
            add_kernel(system, version, "64k")
        system.ok("register")
        system.ok("set", "64k")
        done = system.run_with_fault(fault_library, "cut", at, "unregister", "6.2-64k", "--force")
        # A variable is written as a whole, or not; the plain file that stands for it here may be cut.
        default = system.variable("LoaderEntryDefault")
        entries = system.entries()
        assert all(e["problem"] is None for e in entries.values())
        if default in (entry_id("6.1", "64k"), entry_id("6.2", "64k")):
            assert default in entries
        if done.returncode == 0:
            break
        assert done.returncode == 77
        assert system.run("unregister", "6.2-64k", "--force").returncode in (0, 1)
        assert set(system.entries()) == {entry_id("6.1", "64k")}
    assert at > 4, "the faults were not reached"
    assert default == entry_id("6.1", "64k")


@pytest.mark.parametrize("kind", ["cut", "full"])
def test_an_update_that_ends_at_any_write_leaves_a_default_that_is_there(tmp_path, fault_library, kind):
    for at in range(1, 100):
        system = System(tmp_path / str(at))
        system.loader(name="systemd-boot 257.7", features=0x7f)
        add_kernel(system, "6.1", "64k")
        system.ok("register")
        system.ok("set", "64k")
        add_kernel(system, "6.2", "64k")
        done = system.run_with_fault(fault_library, kind, at, "register")
        default, entries = system.variable("LoaderEntryDefault"), system.entries()
        assert all(e["problem"] is None for e in entries.values())
        if default in (entry_id("6.1", "64k"), entry_id("6.2", "64k")):  # else the plain file was cut, see above
            assert default in entries
        system._variable("LoaderEntryDefault").unlink()
        system.set_variable("LoaderEntryDefault", entry_id("6.1", "64k"))
        system.ok("register")
        assert next_id(system) == system.variable("LoaderEntryDefault") == entry_id("6.2", "64k")
        if done.returncode == 0:
            break
        if kind == "full":
            assert done.returncode == 1 and ("cannot be written" in done.stderr or "cannot be locked" in done.stderr)
    assert at > 15, "the faults were not reached"


# ---- what stays ----


@pytest.fixture
def three(machine):
    for version in ("6.1", "6.2", "6.3"):
        add_kernel(machine, version, "4k")
    machine.ok("register")
    return machine


def test_the_running_the_verified_and_the_tried_entry_stay_unless_forced(three):
    add_kernel(three, "6.0", "4k")
    add_kernel(three, "5.9", "4k")
    three.ok("register")
    three.set_variable("LoaderEntrySelected", entry_id("6.1", "4k"))
    three.verified(entry_id("6.2", "4k"), entry_id("6.0", "4k"))
    three.trial(entry_id("5.9", "4k"))
    for version, why in (("6.1", "is the running system's"), ("6.2", "was verified"), ("6.0", "was verified"),
                         ("5.9", "is being tried")):
        done = three.run("unregister", f"{version}-4k")
        assert done.returncode == 1 and f"{entry_id(version, '4k')}: {why}" in done.stderr
    three.run("unregister", "--all")
    assert set(three.entries()) == {entry_id(v, "4k") for v in ("6.1", "6.2", "6.0", "5.9")}
    three.ok("unregister", "6.2-4k", "--force")
    assert entry_id("6.2", "4k") not in three.entries()


def test_the_entry_that_runs_is_known_by_an_id_with_a_counter(three):
    """As systemd-boot up to 257 has them."""
    three.set_variable("LoaderEntrySelected", entry_id("6.1", "4k").replace(".conf", "+2-1.conf"))
    assert "is the running system's" in three.run("unregister", "6.1-4k").stderr


def test_while_its_trial_entry_runs_the_target_counts_as_running(three):
    three.trial(entry_id("6.1", "4k"), stage="failed")
    three.set_variable("LoaderEntrySelected", entry_id("6.1", "4k").replace(".conf", "-trial.conf"))
    assert "is the running system's" in three.run("unregister", "6.1-4k").stderr


def test_during_a_trial_the_verified_entry_keeps_its_command_line(three):
    three.set_variable("LoaderEntrySelected", entry_id("6.1", "4k"))
    three.verified(entry_id("6.2", "4k"))
    (three.root / "etc/kernel/cmdline").write_text("root=/dev/mistake\n")
    assert "keeps its command line" in three.ok("register")
    options = {i: e["options"] for i, e in three.entries().items()}
    assert options == {entry_id("6.1", "4k"): "root=UUID=1234 ro quiet", entry_id("6.2", "4k"): "root=UUID=1234 ro quiet",
                       entry_id("6.3", "4k"): "root=/dev/mistake"}


def test_a_dry_run_of_unregister_tells_the_next_boot(three):
    first = next_id(three)
    out = three.ok("unregister", first, "--force", "-n")
    assert "would have: removed" in out and first not in out.split("next boot")[1] and first in three.entries()


# ---- keys of others ----


def test_keys_and_comments_of_others_stay_when_an_entry_is_rewritten(machine):
    add_kernel(machine, "6.1", "64k")
    machine.ok("register")
    file = machine.efi / "loader/entries" / entry_id("6.1", "64k")
    own = file.read_text()
    kept = "grub_users $grub_users\ngrub_class kernel\ntuned_params $tuned_params\ndevicetree /board.dtb\n# mine\n#\n"
    (machine.efi / "board.dtb").write_bytes(b"tree")
    file.write_text(kept.replace("\n", "\r\n\n", 2) + "initrd /old\nnothing\noptions old\n" + own)
    machine.ok("register")
    assert file.read_text() == own + kept
    assert "nothing to change" in machine.ok("register")


# ---- two systems on one partition ----


@pytest.fixture
def two(tmp_path, machine):
    other = System(tmp_path / "other")
    other.env["EFIVARFS_PATH"] = machine.env["EFIVARFS_PATH"]
    for folder in ("efi/EFI", "efi"):
        (other.root / folder).rmdir()
    (other.root / "efi").symlink_to(machine.efi)
    (other.root / "etc/machine-id").write_text("b" * 32 + "\n")
    (other.root / "etc/kernel/entry-token").write_text("other\n")
    for version, system in (("6.1", machine), ("6.2", machine), ("6.9", other)):
        add_kernel(system, version, "64k")
        add_kernel(system, version, "4k")
    machine.ok("register")
    other.ok("register")
    return machine, other


def test_no_command_of_one_system_touches_what_is_the_others(two):
    one, other = two
    (one.efi / "loader/loader.conf").write_text("timeout 3\n")

    def of_other():
        return {name: data for name, data in one.files().items() if "other" in name}

    before = of_other()
    assert len([n for n in before if n.endswith(".conf")]) == 2 and len(before) == 6
    one.ok("set", entry_id("6.1", "64k"))
    one.run("set", "4k")
    one.run("set", "64k")
    add_kernel(one, "7.0", "64k")
    out = one.ok("register")
    assert "other" not in out.split("next boot")[0], "its entries are not called stale"
    one.ok("unregister", "7.0-64k", "--force")
    done = one.run("unregister", "6.9-4k", "other-6.9-64k-64k")
    assert done.returncode == 1 and done.stderr.count("belongs to another system, left alone") == 2
    one.ok("set", "none")
    one.ok("unregister", "--all", "--force")
    assert of_other() == before and not any("test" in name for name in one.files())


@pytest.mark.parametrize("machine", ["systemd-boot"], indirect=True)
def test_a_policy_is_followed_with_entries_of_this_system_only(two):
    one, other = two
    one.ok("set", "64k")
    assert one.variable("LoaderEntryDefault") == entry_id("6.2", "64k")
    one.ok("unregister", "6.2-64k", "--force")
    assert one.variable("LoaderEntryDefault") == entry_id("6.1", "64k")
    one.ok("unregister", "6.1-64k", "--force")
    assert "6.9" not in one.variable("LoaderEntryDefault")


def test_the_same_token_on_two_systems_overwrites_nothing(two):
    one, other = two
    (other.root / "etc/kernel/entry-token").write_text("test\n")
    before = one.files()
    add_kernel(other, "6.1", "64k")
    done = other.run("register", "--kernel", other.boot / "vmlinuz-6.1-64k")
    assert done.returncode == 1 and "belongs to another system" in done.stderr
    assert {n: d for n, d in one.files().items() if n in before} == before


# ---- many entries ----


def test_thousands_of_entries_are_read_once(system):
    """Each entry's text is searched for each file: that must not take the square of their number."""
    entries = system.efi / "loader/entries"
    entries.mkdir(parents=True)
    for i in range(1500):
        folder = system.efi / f"test/{i}"
        folder.mkdir(parents=True)
        for name in (f"linux-{i:016x}", f"initrd-{i:016x}"):
            (folder / name).write_bytes(b"")
        (entries / f"test-{i}-4k.conf").write_text(
            f"version {i}\nlinux /test/{i}/linux-{i:016x}\ninitrd \\TEST//{i}/initrd-{i:016x}\ngranule-image 4k\n")
    spare = system.efi / "test/7/linux-ffffffffffffffff"
    spare.write_bytes(b"")
    add_kernel(system, "6.1", "4k")
    from system import PLAIN
    system.program = PLAIN
    start = time.monotonic()
    system.ok("register")
    assert time.monotonic() - start < 5
    assert not spare.exists() and len(list(system.efi.glob("test/*/linux-*"))) == 1501
    assert len(list(system.efi.glob("test/*/initrd-*"))) == 1501
