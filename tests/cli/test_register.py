# SPDX-License-Identifier: GPL-2.0-or-later
import os
import subprocess

import pytest

import images
from system import PLAIN, System


def text_of(system, name):
    return (system.efi / "loader/entries" / name).read_text()


def keys_of(system, name):
    return [line.split(None, 1) for line in text_of(system, name).splitlines()]


def test_a_fixed_kernel_gets_one_entry_that_every_loader_can_read(system):
    system.kernel("6.12.0+64k", images.arm64(3, release="6.12.0+64k"))
    system.ok("register")
    keys = keys_of(system, "test-6.12.0+64k-64k.conf")
    assert [k for k, _ in keys] == ["title", "version", "sort-key", "architecture", "linux", "initrd", "options",
                                    "granule-image"]
    values = dict(keys)
    assert values["title"] == "Test OS 1 (6.12.0+64k, 64K pages)"
    assert values["version"] == "6.12.0+64k" and values["architecture"] == "aa64"
    assert values["options"] == "root=UUID=1234 ro quiet" and values["granule-image"] == "64k"
    assert (system.efi / values["linux"][1:]).read_bytes() == images.arm64(3, release="6.12.0+64k")
    assert (system.efi / values["initrd"][1:]).read_bytes() == b"initrd"
    assert (system.efi / "loader/entries.srel").read_text() == "type1\n"
    text = text_of(system, "test-6.12.0+64k-64k.conf")
    assert "$" not in text and "\n\n" not in text


def test_a_release_that_looks_like_a_boot_counter_is_not_read_as_one(system):
    system.kernel("6.12.0+64", images.arm64(3, release="6.12.0+64"))
    system.ok("register")
    entry = system.entries()["test-6.12.0+64-64k.conf"]
    assert entry["state"] == "good" and entry["tries_left"] is None


def test_a_selectable_kernel_gets_one_entry_per_size_with_the_token_first(system):
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    (system.root / "etc/kernel/cmdline").write_text("root=/dev/sda1 arm64.pagesize=4K quiet\narm64.pagesize=16k\n")
    system.ok("register")
    for size in ("4k", "16k", "64k"):
        assert dict(keys_of(system, f"test-6.13-{size}.conf"))["options"] == \
            f"arm64.pagesize={size} root=/dev/sda1 quiet"
    entries = system.entries()
    assert {e["page_size"] for e in entries.values()} == {"4k", "16k", "64k"}
    assert len({e["image"] for e in entries.values()}) == 1, "the three share one file"


def test_only_wanted_sizes_are_written(system):
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.ok("register", "--page-size", "64k", "--page-size", "16K")
    assert set(system.entries()) == {"test-6.13-64k.conf", "test-6.13-16k.conf"}
    assert system.run("register", "--page-size", "8k").returncode == 1


def test_sizes_that_the_cpu_lacks_are_not_offered_for_a_selectable_kernel(system):
    system.loader(cpu="4k 64k")
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    system.ok("register")
    assert set(system.entries()) == {"test-6.13-4k.conf", "test-6.13-64k.conf"}


@pytest.mark.parametrize(
    "cmdline, words",
    [
        ("quiet arm64_sw.pageshift=1", "arm64_sw.pageshift=1"),
        ('quiet "arm64.pagesize=4k"', '"arm64.pagesize=4k"'),
        ('quiet foo="a arm64.pagesize=4k b"', "arm64.pagesize=4k"),
        ("quiet -- arm64.pagesize=4k", "arm64.pagesize=4k"),
        ("quiet arm64_pagesize=4k", "arm64_pagesize=4k"),
        ("x" * 2030, "2039"),
        ("root=$root", "$"),
    ],
)
def test_options_that_the_kernel_would_not_obey_are_reported_and_nothing_is_written(system, cmdline, words):
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    (system.root / "etc/kernel/cmdline").write_text(cmdline + "\n")
    done = system.run("register")
    assert done.returncode == 1 and words in done.stderr
    assert not system.entries() and not list(system.efi.rglob("linux-*"))


def test_compressed_kernels_are_stored_so_that_firmware_can_start_them(system):
    kernel = images.arm64(3, release="6.8.0-50-generic-64k")
    system.kernel("6.8.0-50-generic-64k", images.compressed(kernel, "gzip"))
    system.ok("register")
    [entry] = system.entries().values()
    assert entry["page_size"] == "64k" and (system.efi / entry["image"][1:]).read_bytes() == kernel


def test_zboot_kernels_keep_their_form_and_their_size_is_written_down(system):
    kernel = images.zboot(images.arm64(3, release="6.12.64k"), "zstd22")
    system.kernel("6.12.64k", kernel)
    system.ok("register")
    [entry] = system.entries().values()
    assert entry["page_size"] == "64k" and (system.efi / entry["image"][1:]).read_bytes() == kernel


def test_kernels_on_the_boot_partition_are_not_copied(system):
    system.boot.rmdir()
    system.boot.symlink_to(system.efi)
    system.kernel("6.1", images.arm64(1, release="6.1"))
    system.ok("register")
    [entry] = system.entries().values()
    assert entry["image"] == "/vmlinuz-6.1"


def test_kernels_without_initrd_of_another_machine_or_damaged_are_named_and_the_others_registered(system):
    system.kernel("1-good", images.arm64(3, release="1-good"))
    system.kernel("2-alone", images.arm64(3, release="2-alone"), initrd=None)
    system.kernel("3-x86", images.x86_kernel())
    system.kernel("4-cut", images.arm64(3)[:0x420])
    system.kernel("5-text", b"text")
    system.kernel("6-old.old", images.arm64(3))
    done = system.run("register")
    assert done.returncode == 1
    for word in ("2-alone: no initrd", "3-x86: made for x86_64", "4-cut: file is truncated", "5-text: not a kernel"):
        assert word in done.stderr
    assert "6-old" not in done.stderr
    assert set(system.entries()) == {"test-1-good-64k.conf"}
    system.run("register", "--no-initrd")
    assert "test-2-alone-64k.conf" in system.entries()


def test_the_policy_decides_which_class_sorts_first_in_every_loader(system):
    system.loader()
    system.kernel("6.9-4k", images.arm64(1, release="6.9-4k"))
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.ok("register")
    system.ok("set", "64k")
    assert next(iter(system.entries())) == "test-6.1-64k-64k.conf"
    system.ok("set", "4k")
    assert next(iter(system.entries())) == "test-6.9-4k-4k.conf"
    system.kernel("6.10-64k", images.arm64(3, release="6.10-64k"))
    system.ok("register")
    assert next(iter(system.entries())) == "test-6.9-4k-4k.conf", "a newer 64K kernel does not flip the default"


def test_register_twice_changes_nothing_the_second_time(system):
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.ok("register")
    before = system.files()
    out = system.json("register")
    assert out["actions"] == [] and system.files() == before


def test_a_rebuilt_kernel_replaces_the_old_file_and_leaves_no_rest(system):
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.ok("register")
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k", extra=b"rebuilt"), initrd=b"initrd 2")
    system.ok("register")
    files = [f for f in system.files() if f.startswith("test/")]
    assert len(files) == 2
    [entry] = system.entries().values()
    assert (system.efi / entry["image"][1:]).read_bytes() == images.arm64(3, release="6.1-64k", extra=b"rebuilt")


def test_entries_of_others_are_neither_overwritten_nor_removed(system):
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.entry("test-6.1-64k-64k", images.arm64(3))
    before = text_of(system, "test-6.1-64k-64k.conf")
    done = system.run("register")
    assert done.returncode == 1 and "was not written by granule" in done.stderr
    done = system.run("unregister", "test-6.1-64k-64k")
    assert done.returncode == 1 and "was not written by granule" in done.stderr
    assert text_of(system, "test-6.1-64k-64k.conf") == before
    system.ok("unregister", "--all")
    assert text_of(system, "test-6.1-64k-64k.conf") == before


def test_a_kernel_given_by_name_needs_no_boot_folder(system):
    (system.root / "Image").write_bytes(images.arm64(2, release="7.0-rc1"))
    (system.root / "ird").write_bytes(b"one")
    (system.root / "ird2").write_bytes(b"two")
    system.ok("register", "--kernel", system.root / "Image", "--initrd", system.root / "ird", "--initrd",
              system.root / "ird2", "--options", "root=/dev/vda2", "--title", "Mine")
    keys = keys_of(system, "test-7.0-rc1-16k.conf")
    assert ["title", "Mine (7.0-rc1, 16K pages)"] in keys and ["options", "root=/dev/vda2"] in keys
    assert [(system.efi / v[1:]).read_bytes() for k, v in keys if k == "initrd"] == [b"one", b"two"]


def test_without_any_command_line_register_refuses_and_says_where_to_write_it(system):
    (system.root / "etc/kernel/cmdline").unlink()
    system.kernel("6.1", images.arm64(1))
    done = system.run("register")
    assert done.returncode == 1 and "/etc/kernel/cmdline" in done.stderr and not system.entries()


def test_dry_run_writes_nothing_and_says_what_would_be_done(system):
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    before = system.files()
    out = system.ok("register", "--dry-run")
    assert "would have: wrote" in out and system.files() == before
    system.ok("register")
    before = system.files()
    assert "would have: removed" in system.ok("unregister", "--all", "-n")
    assert system.files() == before


def test_unregister_removes_the_entry_and_the_files_that_only_it_named(system):
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.ok("register")
    system.ok("unregister", "test-6.13-4k", "--force")
    assert list((system.efi / "test/6.13").iterdir()), "other entries still name them"
    system.ok("unregister", "6.13", "--force")
    assert not (system.efi / "test/6.13").exists()
    assert set(system.entries()) == {"test-6.1-64k-64k.conf"}
    assert system.run("unregister", "9.9").returncode == 1
    assert system.run("unregister").returncode == 2


# ---- faults ----


def check_all_entries_whole(system, known):
    """Every entry names files that are there, whole; entries that were there before still are."""
    entries = system.entries()
    for e in entries.values():
        assert e["problem"] is None, e
        assert (system.efi / e["image"][1:]).read_bytes() in known["kernels"]
        text = text_of(system, e["id"])
        assert text.endswith("\n")
        for line in text.splitlines():
            if line.startswith("initrd "):
                assert (system.efi / line.split()[1][1:]).read_bytes() in known["initrds"]
    return entries


def old_and_new(system):
    """A system with an entry, and then a rebuilt kernel and another one to register."""
    old, new = images.arm64(3, release="6.1-64k"), images.arm64(3, release="6.1-64k", extra=b"new")
    other = images.arm64(0, release="6.2", extra=images.SELECTABLE_STRINGS)
    system.kernel("6.1-64k", old, b"old initrd")
    system.ok("register")
    system.kernel("6.1-64k", new, b"new initrd")
    system.kernel("6.2", other, b"other initrd")
    return {"kernels": [old, new, other], "initrds": [b"old initrd", b"new initrd", b"other initrd"]}


def test_power_cut_at_any_write_of_register_leaves_every_entry_bootable(tmp_path, fault_library):
    for at in range(1, 200):
        system = System(tmp_path / str(at))
        known = old_and_new(system)
        done = system.run_with_fault(fault_library, "cut", at, "register")
        entries = check_all_entries_whole(system, known)
        assert "test-6.1-64k-64k.conf" in entries
        if done.returncode == 0:
            break
        assert done.returncode == 77
        # The next run completes the work.
        system.ok("register")
        assert len(check_all_entries_whole(system, known)) == 4
    assert at > 20, "the faults were not reached"


def test_power_cut_at_any_write_of_unregister_leaves_every_entry_bootable(tmp_path, fault_library):
    for at in range(1, 100):
        system = System(tmp_path / str(at))
        known = old_and_new(system)
        system.ok("register")
        done = system.run_with_fault(fault_library, "cut", at, "unregister", "6.2", "--force")
        assert "test-6.1-64k-64k.conf" in check_all_entries_whole(system, known)
        if done.returncode == 0:
            break
        assert done.returncode == 77
    assert at > 5, "the faults were not reached"


def test_a_full_disk_at_any_write_is_one_clear_line_and_loses_nothing(tmp_path, fault_library):
    for at in range(1, 200):
        system = System(tmp_path / str(at))
        known = old_and_new(system)
        done = system.run_with_fault(fault_library, "full", at, "register")
        assert "test-6.1-64k-64k.conf" in check_all_entries_whole(system, known)
        if not done.stderr and done.returncode == 0:
            break
        assert not [f for f in system.files() if ".tmp" in f]
        if done.returncode:
            assert "No space left on device" in done.stderr
    assert at > 20, "the faults were not reached"


@pytest.mark.parametrize("name", ["6.1 with blank", "6.1\nnewline", "6.1-\u00fc", "x" * 244, "6.1%s$HOME"],
                         ids=["blank", "newline", "not-ascii", "too-long", "percent"])
def test_names_that_no_loader_takes_are_refused_before_anything_is_written(system, name):
    system.kernel(name, images.arm64(3, release="6.1"))
    before = system.files()
    done = system.run("register")
    assert done.returncode == 1 and "not a name for an entry" in done.stderr and done.stderr.count("\n") == 1
    assert [f for f in system.files() if f not in before] == ["loader/entries.srel"]


# ---- what must not change behind the owner's back ----


def leading_size(system):
    return next(iter(system.entries().values()))["page_size"]


def test_without_a_policy_register_keeps_the_leading_class_whatever_runs(system):
    """Run from a one-shot 64K boot, or on a build machine: what runs is not what is wanted."""
    system.loader()
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.entry("old", images.arm64(1), sort_key="a")
    system.ok("register")
    assert next_boot_size(system) == "4k"
    (system.efi / "loader/entries/old.conf").unlink()
    assert leading_size(system) == "4k", "the class of the default leads"
    system.kernel("6.2-64k", images.arm64(3, release="6.2-64k"))
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"), initrd=b"another")
    system.ok("register")
    assert leading_size(system) == "4k"


def next_boot_size(system):
    return system.json("status")["next"]["page_size"]


@pytest.mark.parametrize("spell", [lambda p: p.replace("/", "\\"), lambda p: p[1:], lambda p: "/" + p, str.upper])
def test_files_that_somebody_else_names_in_another_spelling_stay(system, spell):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.ok("register")
    [entry] = system.entries().values()
    initrd = dict(keys_of(system, "test-6.1-4k-4k.conf"))["initrd"]
    (system.efi / "loader/entries/mine.conf").write_text(f"linux {spell(entry['image'])}\ninitrd {spell(initrd)}\n")
    system.ok("unregister", "test-6.1-4k-4k", "--force")
    assert (system.efi / entry["image"][1:]).exists() and (system.efi / initrd[1:]).exists()


def test_files_named_by_an_entry_for_another_architecture_stay(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.ok("register")
    [entry] = system.entries().values()
    (system.efi / "loader/entries/x.conf").write_text(f"architecture x64\nlinux {entry['image']}\n")
    system.ok("unregister", "test-6.1-4k-4k", "--force")
    assert (system.efi / entry["image"][1:]).exists()


def test_runs_at_the_same_time_wait_for_each_other(tmp_path):
    for round_ in range(5):
        system = System(tmp_path / str(round_))
        known = old_and_new(system)
        commands = [[str(system.program), "register", "--root", str(system.root)] for _ in range(4)]
        running = [subprocess.Popen(c, stdout=subprocess.DEVNULL) for c in commands]
        assert [p.wait() for p in running] == [0] * 4
        assert len(check_all_entries_whole(system, known)) == 4


def test_what_an_interrupted_run_left_is_removed_by_the_next(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    folder = system.efi / "test/6.1-4k"
    folder.mkdir(parents=True)
    (folder / ".granule-99.tmp").write_bytes(b"half a kernel")
    system.ok("register")
    assert not list(system.efi.rglob("*.tmp"))


@pytest.mark.parametrize("token", ["../../tok", "a/b", "x y", ".", "..", "\u00fcni", "tok;$(id)"])
def test_a_token_that_is_no_name_writes_nothing(system, token):
    (system.root / "etc/kernel/entry-token").write_text(token + "\n")
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    before = sorted(system.root.rglob("*"))
    assert system.run("register").returncode == 1
    assert set(sorted(system.root.rglob("*"))) - set(before) <= {system.efi / "loader",
                                                                 system.efi / "loader/entries.srel"}


def test_a_release_that_climbs_writes_nothing(system):
    (system.root / "Image").write_bytes(images.arm64(1, release="6.1/../../../../escape/x"))
    done = system.run("register", "--kernel", system.root / "Image", "--no-initrd")
    assert done.returncode == 1 and "not a name for an entry" in done.stderr
    system.kernel("..", images.arm64(1, release="6.1"))
    assert "not a name for an entry" in system.run("register").stderr


def test_files_of_package_managers_amid_an_update_are_no_kernels(system):
    for ending in (".dpkg-new", ".dpkg-tmp", ".rpmsave", ".old"):
        system.kernel("6.1" + ending, images.arm64(1))
    done = system.run("register")
    assert done.returncode == 1 and "no kernels there" in done.stderr


def test_no_initrd_only_concerns_kernels_without_one(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.kernel("6.2-4k", images.arm64(1, release="6.2-4k"), initrd=None)
    system.ok("register", "--no-initrd")
    assert "initrd" in dict(keys_of(system, "test-6.1-4k-4k.conf"))
    assert "initrd" not in dict(keys_of(system, "test-6.2-4k-4k.conf"))


def test_a_kernel_given_by_name_keeps_its_initrd_or_is_refused(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.ok("register", "--kernel", system.boot / "vmlinuz-6.1-4k")
    assert "initrd" in dict(keys_of(system, "test-6.1-4k-4k.conf"))
    (system.boot / "initrd.img-6.1-4k").unlink()
    before = system.files()
    done = system.run("register", "--kernel", system.boot / "vmlinuz-6.1-4k")
    assert done.returncode == 1 and "--initrd" in done.stderr and system.files() == before


def test_an_empty_command_line_is_refused(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.ok("register")
    before = system.files()
    (system.root / "etc/kernel/cmdline").write_text(" \n")
    done = system.run("register")
    assert done.returncode == 1 and "is empty" in done.stderr and system.files() == before


def test_the_running_entry_keeps_its_command_line_unless_forced(system):
    system.loader()
    for release in ("6.1-4k", "6.2-4k"):
        system.kernel(release, images.arm64(1, release=release))
    system.ok("register")
    system.set_variable("LoaderEntrySelected", "test-6.1-4k-4k.conf")
    (system.root / "etc/kernel/cmdline").write_text("root=UUID=typo\n")
    assert "it keeps its command line" in system.ok("register")
    entries = system.entries()
    assert entries["test-6.1-4k-4k.conf"]["options"] == "root=UUID=1234 ro quiet"
    assert entries["test-6.2-4k-4k.conf"]["options"] == "root=UUID=typo"
    system.ok("register", "--force")
    assert system.entries()["test-6.1-4k-4k.conf"]["options"] == "root=UUID=typo"


def test_words_of_one_boot_are_left_out_of_the_command_line_and_named(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    (system.root / "etc/kernel/cmdline").write_text("BOOT_IMAGE=/vmlinuz root=UUID=1 initrd=/x quiet\n")
    done = system.run("register")
    assert "BOOT_IMAGE=/vmlinuz" in done.stderr and "initrd=/x" in done.stderr
    assert dict(keys_of(system, "test-6.1-4k-4k.conf"))["options"] == "root=UUID=1 quiet"


def test_what_boots_by_default_is_not_unregistered_without_force(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    system.kernel("6.1-64k", images.arm64(3, release="6.1-64k"))
    system.ok("register")
    system.ok("set", "test-6.1-4k-4k")
    done = system.run("unregister", "6.1-4k")
    assert done.returncode == 1 and "by default" in done.stderr
    assert "test-6.1-4k-4k.conf" in system.entries()
    system.ok("unregister", "6.1-4k", "--force")
    assert "test-6.1-4k-4k.conf" not in system.entries()


def test_sizes_that_a_named_kernel_does_not_have_are_an_error(system):
    system.kernel("6.1-4k", images.arm64(1, release="6.1-4k"))
    kernel = system.boot / "vmlinuz-6.1-4k"
    done = system.run("register", "--kernel", kernel, "--page-size", "16k")
    assert done.returncode == 1 and f"{kernel}: compiled for 4K pages, has no 16K\n" in done.stderr
    assert "nothing to change" not in done.stdout and not system.entries()
    done = system.run("register", "--kernel", kernel, "--page-size", "16k", "--page-size", "64k")
    assert "has no 16K, 64K\n" in done.stderr
    system.ok("register", "--kernel", kernel, "--page-size", "16k", "--page-size", "4k")


@pytest.mark.parametrize("place", ["variable", "block"])
def test_a_one_shot_goes_with_the_entry_that_it_names(system, place):
    if place == "variable":
        system.loader()
    for size, bits in {"4k": 1, "64k": 3}.items():
        system.kernel(f"6.1-{size}", images.arm64(bits, release=f"6.1-{size}"))
    system.ok("register")
    system.ok("set", "4k")
    system.ok("once", "64k", "--force")
    out = system.ok("unregister", "6.1-64k", "-n")
    assert "would have: " in out and system.json("status")["next"]["id"] == "test-6.1-64k-64k.conf"
    out = system.ok("unregister", "6.1-64k")
    assert "test-6.1-64k-64k.conf" in out.splitlines()[0] and ("LoaderEntryOneShot" in out or "next_entry" in out)
    assert system.variable("LoaderEntryOneShot") is None
    assert system.json("status")["next"]["reason"].startswith("policy 4k: newest")
    system.ok("once", "4k", "--force")
    system.kernel("6.2-64k", images.arm64(3, release="6.2-64k"))
    system.ok("register")
    system.ok("unregister", "6.2-64k")
    assert system.json("status")["next"]["reason"].startswith("one-shot"), "it names another entry"
