# SPDX-License-Identifier: GPL-2.0-or-later
"""Which entries there are: unified kernel images and their profiles, two partitions, what the loader makes itself."""

import json
import os

import pytest

import images

OSREL = 'ID=test\nPRETTY_NAME="Test OS 1"\nVERSION_ID=1\n'
PROFILES = [
    (".cmdline", "root=/dev/vda2 quiet"),
    (".uname", "6.12.0-test\n"),
    (".profile", "ID=main\n"),
    (".profile", "ID=Rescue\nTITLE='Rescue mode'\n"),
    (".cmdline", "rescue"),
    (".profile", "TITLE=big"),
    (".linux", images.arm64(3)),
]


def put_image(system, name, image, folder=None):
    folder = (folder or system.efi) / "EFI/Linux"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(image)


@pytest.fixture
def machine(system):
    return system.loader()


@pytest.fixture
def xbootldr(machine, tmp_path):
    folder = tmp_path / "xbootldr"
    (folder / "loader/entries").mkdir(parents=True)
    (folder / "k").write_bytes(images.arm64(3))
    (folder / "loader/entries/far.conf").write_text("title far\nversion 1\nlinux /k\n")
    return folder


# ---- unified kernel images ----

def test_each_profile_is_an_entry_with_the_size_of_its_kernel(machine):
    put_image(machine, "Test-6.12+3-1.efi", images.uki(images.arm64(1), *PROFILES, osrel=OSREL))
    entries = machine.json("list")["entries"]
    assert [e["id"] for e in entries] == ["test-6.12.efi", "test-6.12.efi@rescue", "test-6.12.efi@2"]
    assert [e["page_size"] for e in entries] == ["4k", "4k", "64k"]
    assert [e["profile"] for e in entries] == [0, 1, 2]
    assert [e["title"] for e in entries] == ["Test OS 1", "Test OS 1 (Rescue mode)", "Test OS 1 (big)"]
    assert [e["options"] for e in entries] == ["root=/dev/vda2 quiet", "rescue", "root=/dev/vda2 quiet"]
    for e in entries:
        assert (e["type"], e["volume"], e["version"], e["release"]) == ("type2", "esp", "1", "6.12.0-test")
        assert e["image"] == "/EFI/Linux/Test-6.12+3-1.efi"
        assert e["source"] == str(machine.efi / "EFI/Linux/Test-6.12+3-1.efi")
        assert (e["state"], e["tries_left"], e["tries_done"]) == ("indeterminate", 3, 1)
        assert e["problem"] is None and e["supported"]


def test_a_profile_can_be_named_and_chosen_by_size(machine):
    put_image(machine, "a.efi", images.uki(images.arm64(1), *PROFILES, osrel=OSREL))
    machine.ok("once", "a.efi@rescue")
    assert machine.variable("LoaderEntryOneShot") == "a.efi@rescue"
    machine.ok("once", "64k")
    assert machine.variable("LoaderEntryOneShot") == "a.efi@2"
    # Two profiles have the 4K kernel: the first is meant, not the rescue one.
    machine.ok("once", "4k")
    assert machine.variable("LoaderEntryOneShot") == "a.efi"
    machine.ok("set", "a")
    assert machine.variable("LoaderEntryDefault") == "a.efi"


def test_a_kernel_release_names_the_images_of_it(machine):
    put_image(machine, "a.efi", images.uki(images.arm64(1), (".uname", "6.12.0-one"), osrel=OSREL))
    put_image(machine, "b.efi", images.uki(images.arm64(1), (".uname", "6.12.0-two"), osrel=OSREL))
    machine.ok("once", "6.12.0-two")
    assert machine.variable("LoaderEntryOneShot") == "b.efi"
    # The version of the distribution is not that of a kernel.
    assert machine.run("once", "1").returncode == 1


def test_a_zboot_kernel_in_an_image_is_seen_through(machine):
    put_image(machine, "a.efi", images.uki(images.zboot(images.arm64(2)), osrel=OSREL))
    entry, = machine.json("list")["entries"]
    assert (entry["page_size"], entry["kind"], entry["problem"]) == ("16k", "fixed", None)


def test_a_selectable_kernel_in_an_image_goes_by_the_images_command_line(machine):
    kernel = images.arm64(0, extra=images.SELECTABLE_STRINGS)
    put_image(machine, "a.efi", images.uki(kernel, (".cmdline", "quiet arm64.pagesize=16k"), osrel=OSREL))
    entry, = machine.json("list")["entries"]
    assert (entry["page_size"], entry["kind"]) == ("16k", "selectable")


def test_files_that_are_no_entries_are_not_listed(machine):
    good = images.uki(images.arm64(1), osrel=OSREL)
    for name in (".hidden.efi", "auto-x.efi", "a.efi.extra", "b.txt"):
        put_image(machine, name, good)
    put_image(machine, "program.efi", images.arm64(1))
    put_image(machine, "other.efi", images.uki(images.arm64(1), osrel=OSREL, machine="x86_64"))
    (machine.efi / "EFI/Linux/folder.efi.d").mkdir()
    assert machine.json("list")["entries"] == []
    assert machine.run("list").stderr == ""


def test_damaged_images_are_named_and_the_others_listed(machine):
    good = images.uki(images.arm64(1), osrel=OSREL)
    put_image(machine, "good.efi", good)
    put_image(machine, "cut.efi", good[:-600])
    put_image(machine, "nameless.efi", images.uki(images.arm64(1), osrel="VERSION_ID=1\n"))
    put_image(machine, "no-osrel.efi", images.uki(images.arm64(1), osrel=None))
    put_image(machine, "long.efi", images.uki(images.arm64(1), (".cmdline", "x" * 70000), osrel=OSREL))
    done = machine.run("list", "--json")
    assert [e["id"] for e in json.loads(done.stdout)["entries"]] == ["good.efi"]
    said = dict(line.split("skipped ", 1)[1].split(": ", 1) for line in done.stderr.splitlines())
    assert said == {
        "cut.efi": "file is truncated",
        "nameless.efi": "names no operating system in a section .osrel",
        "no-osrel.efi": "names no operating system in a section .osrel",
        "long.efi": "a section of text is larger than 64 KiB",
    }


def test_an_image_with_a_long_section_table_is_read_to_its_end(machine):
    profiles = [(".profile", f"ID=p{i}") for i in range(300)]
    put_image(machine, "a.efi", images.uki(images.arm64(1), *profiles, osrel=OSREL))
    done = machine.run("list", "--json")
    entries = json.loads(done.stdout)["entries"]
    assert len(entries) == 256 and entries[255]["id"] == "a.efi@p255"
    assert "a.efi: profiles above number 255" in done.stderr


def test_an_entry_file_may_start_a_profile(machine):
    (machine.efi / "images").mkdir()
    (machine.efi / "images/x.efi").write_bytes(images.uki(images.arm64(1), *PROFILES, osrel=OSREL))
    entries = machine.efi / "loader/entries"
    entries.mkdir(parents=True)
    for n in (0, 2, 3):
        (entries / f"p{n}.conf").write_text(f"title p{n}\nuki /images/x.efi\nprofile {n}\n")
    found = machine.entries()
    assert (found["p0.conf"]["page_size"], found["p0.conf"]["profile"]) == ("4k", 0)
    assert (found["p2.conf"]["page_size"], found["p2.conf"]["profile"]) == ("64k", 2)
    assert found["p2.conf"]["type"] == "type1"
    assert found["p3.conf"]["problem"] == "/images/x.efi: has no profile of the number that is asked for"


def test_the_network_is_not_supported(machine):
    entries = machine.efi / "loader/entries"
    entries.mkdir(parents=True)
    (entries / "n.conf").write_text("title n\nuki-url http://example.org/x.efi\n")
    assert machine.entries()["n.conf"]["problem"] == "starting from the network is not supported"


# ---- kernels ----

def test_the_size_of_a_zboot_kernel_is_that_of_what_it_holds(machine):
    machine.entry("gzip", images.zboot(images.arm64(3)))
    machine.entry("zstd", images.zboot(images.arm64(3), "zstd22"))
    machine.entry("hint", images.zboot(images.arm64(3), "zstd22"), granule_image="64k")
    damaged = bytearray(images.zboot(images.arm64(3)))
    damaged[0x400:0x410] = b"\xff" * 16
    machine.entry("damaged", bytes(damaged))
    found = machine.entries()
    assert found["gzip.conf"]["page_size"] == found["hint.conf"]["page_size"] == "64k"
    assert (found["zstd.conf"]["page_size"], found["zstd.conf"]["problem"]) == ("unknown", None)
    assert found["damaged.conf"]["problem"] == "/kernels/damaged: the compressed kernel in it is damaged"


def test_all_parts_of_an_entry_must_be_there(machine):
    (machine.efi / "part").write_bytes(b"x")
    (machine.efi / "empty").write_bytes(b"")
    (machine.efi / "folder").mkdir()

    def problem(lines, key="linux"):
        (machine.efi / "k").write_bytes(images.arm64(1))
        folder = machine.efi / "loader/entries"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "e.conf").write_text(f"title e\n{key} /k\n{lines}")
        return machine.entries()["e.conf"]["problem"]

    assert problem("initrd /part\ninitrd /part\n") is None
    assert problem("initrd /part\ninitrd /empty\n") is None
    assert problem("initrd /empty\n") == "/empty: file is empty"
    assert problem("initrd /part\ninitrd /gone\n") == "/gone: not found"
    assert problem("initrd /folder\n") == "/folder: is a folder"
    assert problem("extra /part\n") is None
    assert problem("extra /part\nextra /gone\n") == "/gone: not found"
    assert problem("extra /part\nextra /gone\n", key="uki") == "/gone: not found"
    # Programs are given neither.
    assert problem("extra /gone\ninitrd /gone\n", key="efi") is None


# ---- two partitions ----

def test_entries_of_both_partitions_are_merged(machine, xbootldr):
    machine.entry("near", images.arm64(1), version="2")
    put_image(machine, "both.efi", images.uki(images.arm64(1), osrel=OSREL))
    put_image(machine, "b.efi", images.uki(images.arm64(2), osrel=OSREL), folder=xbootldr)
    (machine.efi / "loader/loader.conf").write_text("default far.conf\n")
    (xbootldr / "loader/loader.conf").write_text("default near.conf\n")
    entries = machine.json("list", "--boot-path", xbootldr)["entries"]
    assert {e["id"]: e["volume"] for e in entries} == {
        "near.conf": "esp", "both.efi": "esp", "b.efi": "xbootldr", "far.conf": "xbootldr"}
    # Kernels are looked for beside their entries, loader.conf on the ESP alone.
    assert all(e["problem"] is None for e in entries)
    assert [e["id"] for e in entries if e["default"]] == ["far.conf"]
    far = next(e for e in entries if e["id"] == "far.conf")
    assert far["source"] == str(xbootldr / "loader/entries/far.conf")


def test_the_boot_manager_itself_is_a_file_of_the_esp(machine, xbootldr):
    """A file of the same name on the other partition is another program."""
    machine.set_variable("LoaderImageIdentifier", "\\EFI\\granule\\x.efi")
    for folder in (machine.efi, xbootldr):
        for name in ("EFI/granule", "loader/entries"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "EFI/granule/x.efi").write_bytes(images.arm64(1))
        (folder / f"loader/entries/{folder.name}-x.conf").write_text("title x\nefi /EFI/granule/x.efi\n")
    entries = {e["id"]: e["problem"] for e in machine.json("list", "--boot-path", xbootldr)["entries"]}
    assert entries["efi-x.conf"] == "starts the boot manager itself" and entries["xbootldr-x.conf"] is None


def test_the_same_folder_for_both_is_one_partition(machine):
    machine.entry("near", images.arm64(1))
    entries = machine.json("list", "--boot-path", machine.efi)["entries"]
    assert [(e["id"], e["volume"]) for e in entries] == [("near.conf", "esp")]


def test_without_an_esp_the_boot_path_stands_for_it(machine, xbootldr):
    (machine.efi / "EFI").rmdir()
    (xbootldr / "loader/loader.conf").write_text("default far.conf\n")
    entry, = machine.json("list", "--boot-path", xbootldr)["entries"]
    assert (entry["id"], entry["volume"], entry["default"]) == ("far.conf", "esp", True)


def test_register_writes_to_the_boot_partition_and_set_to_the_esp(system, xbootldr):
    machine = system
    machine.env.pop("EFIVARFS_PATH")
    machine.kernel("6.1", images.arm64(3))
    machine.ok("register", "--boot-path", xbootldr)
    written = {p.name for p in (xbootldr / "loader/entries").iterdir()}
    assert written == {"far.conf", "test-6.1-64k.conf"} and not (machine.efi / "loader").exists()
    machine.ok("set", "64k", "--boot-path", xbootldr)
    assert (machine.efi / "loader/loader.conf").read_text() == "page-size 64k\n"
    assert not (xbootldr / "loader/loader.conf").exists()


def test_an_entry_moves_to_the_boot_partition_with_its_files(machine, xbootldr):
    machine.kernel("6.1", images.arm64(3))
    machine.ok("register")
    before = machine.files()
    assert "loader/entries/test-6.1-64k.conf" in before
    machine.ok("register", "--boot-path", xbootldr)
    assert [n for n in machine.files() if "linux-" in n or n.endswith(".conf")] == []
    entries = machine.json("list", "--boot-path", xbootldr)["entries"]
    moved = next(e for e in entries if e["id"] == "test-6.1-64k.conf")
    assert moved["volume"] == "xbootldr" and moved["problem"] is None
    # And unregister finds it there.
    machine.ok("unregister", "test-6.1-64k", "--force", "--boot-path", xbootldr)
    assert {p.name for p in (xbootldr / "loader/entries").iterdir()} == {"far.conf"}
    assert not (xbootldr / "test").exists()


def test_the_running_entry_does_not_move_with_another_command_line(machine, xbootldr):
    machine.kernel("6.1", images.arm64(3))
    machine.ok("register")
    machine.set_variable("LoaderEntrySelected", "test-6.1-64k.conf")
    before = (machine.efi / "loader/entries/test-6.1-64k.conf").read_text()
    (machine.root / "etc/kernel/cmdline").write_text("root=/dev/typo\n")
    assert "keeps its command line" in machine.ok("register", "--boot-path", xbootldr)
    assert (machine.efi / "loader/entries/test-6.1-64k.conf").read_text() == before
    entries = machine.json("list", "--boot-path", xbootldr)["entries"]
    assert [e["problem"] for e in entries if e["running"]] == [None]


def test_a_foreign_entry_on_the_other_partition_does_not_count_as_a_twin(machine, xbootldr):
    """The same path, but of another file."""
    (machine.efi / "k").write_bytes(images.arm64(3))
    folder = machine.efi / "loader/entries"
    folder.mkdir(parents=True)
    (folder / "foreign.conf").write_text("title f\nversion 1\nlinux /k2\n")
    (machine.efi / "k2").write_bytes(images.arm64(3))
    kernel = xbootldr / "k2"
    kernel.write_bytes(images.arm64(3))
    machine.ok("register", "--kernel", kernel, "--no-initrd", "--boot-path", xbootldr)
    assert [p.name for p in (xbootldr / "loader/entries").glob("test-*")]


# ---- what the loader makes itself ----

@pytest.fixture
def live(machine):
    """The running system, as far as the command asks firmware, with its ESP in a folder."""
    machine.entry("os", images.arm64(1) if os.uname().machine == "aarch64" else images.x86_kernel())
    names = ["os.conf", "auto-efi-default", "auto-reboot-to-firmware-setup", "auto-reboot", "auto-other"]
    machine.set_variable("LoaderEntries", "".join(n + "\0" for n in names).encode("utf-16-le"))
    return lambda *arguments: machine.run(*arguments, "--esp-path", machine.efi, root=False)


def test_entries_that_the_loader_published_are_listed_last(live):
    entries = json.loads(live("list", "--json").stdout)["entries"]
    assert [(e["id"], e["type"]) for e in entries] == [
        ("os.conf", "type1"), ("auto-efi-default", "auto"), ("auto-reboot-to-firmware-setup", "auto"),
        ("auto-reboot", "auto"), ("auto-other", "auto")]
    firmware = entries[2]
    assert firmware["title"] == "Reboot Into Firmware Interface"
    for key in ("source", "volume", "profile", "image", "problem", "supported", "tries_left"):
        assert firmware[key] is None
    assert firmware["page_size"] == "unknown" and entries[4]["title"] == "auto-other"
    assert entries[0]["next"] and entries[0]["default"]
    out = live("list").stdout
    assert any(line.split() == ["-", "auto", "auto-reboot"] for line in out.splitlines())


def test_they_are_not_those_of_another_system(machine, live):
    assert [e["id"] for e in machine.json("list")["entries"]] == (
        ["os.conf"] if os.uname().machine == "aarch64" else ["os.conf"])


def test_one_may_be_next_but_what_starts_no_system_is_no_default(machine, live):
    done = live("once", "auto-reboot-to-firmware-setup")
    assert done.returncode == 0 and "next boot: Reboot Into Firmware Interface, one-shot" in done.stdout
    assert machine.variable("LoaderEntryOneShot") == "auto-reboot-to-firmware-setup"
    assert "Reboot Into Firmware Interface, auto-reboot-to-firmware-setup" in live("status").stdout
    done = live("set", "auto-reboot")
    assert done.returncode == 1 and "starts no system" in done.stderr
    assert machine.variable("LoaderEntryDefault") is None
    assert live("set", "auto-efi-default").returncode == 0
    assert machine.variable("LoaderEntryDefault") == "auto-efi-default"
    assert live("once", "auto-poweroff").returncode == 1


def test_a_list_of_entries_without_end_is_read_as_far_as_it_goes(machine, live):
    machine.set_variable("LoaderEntries", "auto-x\0auto-y".encode("utf-16-le") + b"\0")
    ids = [e["id"] for e in json.loads(live("list", "--json").stdout)["entries"]]
    assert ids == ["os.conf", "auto-x", "auto-y"]


def test_the_saved_entry_stands_for_the_last_that_booted(machine):
    machine.entry("a", images.arm64(1))
    machine.entry("b", images.arm64(1))
    machine.set_variable("LoaderEntryDefault", "@saved")
    assert machine.json("status")["next"]["id"] == "b.conf"
    machine.set_variable("LoaderEntryLastBooted", "a.conf")
    assert machine.json("status")["next"]["id"] == "a.conf"
