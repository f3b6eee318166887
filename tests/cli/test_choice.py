# SPDX-License-Identifier: GPL-2.0-or-later
"""set, once, list and status: what is written, what is cleared, what the next boot will be."""

import json
import re
import subprocess

import pytest

import images
from system import TOP


@pytest.fixture
def machine(system):
    """Started by granule-boot; an entry of each size, the 4K one first in the menu."""
    system.loader()
    for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    return system


def next_id(system):
    return system.json("status")["next"]["id"]


def test_without_wishes_the_first_entry_in_menu_order_is_next(machine):
    status = machine.json("status")
    assert status["next"] == {"id": "os-4k.conf", "page_size": "4k", "reason": "first entry in menu order"}
    assert status["policy"] is None and status["cpu_granules"] == ["4k", "16k", "64k"]
    assert status["loader"] == "granule-boot 0.1.0"


def test_set_size_stores_the_policy_and_clears_what_would_win_over_it(machine):
    for name in ("LoaderEntryDefault", "LoaderEntryPreferred", "LoaderEntryOneShot"):
        machine.set_variable(name, "os-16k.conf")
    (machine.efi / "loader/loader.conf").write_text("# mine\ntimeout 5\ndefault os-4k*\npreferred os-16k.conf\n")
    out = machine.ok("set", "64K")
    assert machine.variable("GranulePolicy") == "64k"
    for name in ("LoaderEntryDefault", "LoaderEntryPreferred", "LoaderEntryOneShot"):
        assert machine.variable(name) is None and f"cleared {name} (was os-16k.conf)" in out
    assert (machine.efi / "loader/loader.conf").read_text() == "# mine\ntimeout 5\n"
    assert re.search(r"next boot: 64K pages, policy 64k.*\n +os-64k\.conf", out)


def test_set_id_stores_a_default_and_clears_what_would_win_over_it(machine):
    machine.set_variable("LoaderEntryPreferred", "os-16k.conf")
    machine.set_variable("GranulePolicy", "16k")
    out = machine.ok("set", "os-64k")
    assert machine.variable("LoaderEntryDefault") == "os-64k.conf" and machine.variable("LoaderEntryPreferred") is None
    assert re.search(r"next boot: 64K pages, default entry\n +os-64k\.conf", out)
    assert next_id(machine) == "os-64k.conf"


def test_set_none_clears_every_wish(machine):
    machine.ok("set", "64k")
    machine.ok("set", "os-16k")
    (machine.efi / "loader/loader.conf").write_text("page-size 16k\ndefault os-64k.conf\n")
    machine.ok("set", "none")
    assert next_id(machine) == "os-4k.conf"


def test_once_arms_a_one_shot_and_leaves_the_default(machine):
    out = machine.ok("once", "64k")
    assert machine.variable("LoaderEntryOneShot") == "os-64k.conf" and machine.variable("LoaderEntryDefault") is None
    assert re.search(r"next boot: 64K pages, one-shot\n +os-64k\.conf", out)
    entries = machine.entries()
    assert entries["os-64k.conf"]["next"] and entries["os-4k.conf"]["default"]
    machine.ok("once", "none")
    assert machine.variable("LoaderEntryOneShot") is None


def test_the_newest_of_several_is_meant_by_a_size(machine):
    machine.entry("os-64k-new", images.arm64(3), version="6.10", sort_key="key9")
    machine.ok("once", "64k")
    assert machine.variable("LoaderEntryOneShot") == "os-64k-new.conf"


def test_equally_new_candidates_are_an_error_that_lists_them(machine):
    machine.entry("os-64k-twin", images.arm64(3), version="6.1")
    done = machine.run("once", "64k")
    assert done.returncode == 1 and "os-64k.conf" in done.stderr and "os-64k-twin.conf" in done.stderr
    assert "os-4k.conf" not in done.stderr and machine.variable("LoaderEntryOneShot") is None


@pytest.mark.parametrize("command", ["set", "once"])
def test_a_name_that_matches_nothing_is_an_error_that_lists_the_candidates(machine, command):
    done = machine.run(command, "nothing")
    assert done.returncode == 1
    for word in ("nothing:", "os-4k.conf", "os-16k.conf", "os-64k.conf"):
        assert word in done.stderr


@pytest.mark.parametrize("command", ["set", "once"])
def test_a_size_without_entry_or_not_on_the_cpu_is_refused(machine, command):
    machine.set_variable("GranuleCpu", "4k 64k")
    done = machine.run(command, "16k")
    assert done.returncode == 1 and "this CPU lacks 16K pages" in done.stderr
    machine.set_variable("GranuleCpu", "4k 16k 64k")
    (machine.efi / "loader/entries/os-16k.conf").unlink()
    done = machine.run(command, "16k")
    assert done.returncode == 1 and re.search("no entry (has|with) 16K pages", done.stderr)
    assert machine.variable("GranulePolicy") is None and machine.variable("LoaderEntryOneShot") is None


def test_a_release_names_an_entry_as_well_as_its_id(machine):
    machine.entry("os-else", images.arm64(3), version="7.7.7")
    machine.ok("set", "7.7.7")
    assert machine.variable("LoaderEntryDefault") == "os-else.conf"


def test_an_entry_with_a_counter_is_set_by_its_counter_free_id(machine):
    machine.entry("os-new+3-1", images.arm64(3), version="9")
    machine.ok("set", "os-new+3-1.conf")
    assert machine.variable("LoaderEntryDefault") == "os-new.conf"
    entry = machine.entries()["os-new.conf"]
    assert (entry["state"], entry["tries_left"], entry["tries_done"]) == ("indeterminate", 3, 1)


def test_a_bad_entry_can_be_tried_once_but_not_set(machine):
    machine.entry("os-bad+0-3", images.arm64(3), version="9")
    done = machine.run("set", "os-bad")
    assert done.returncode == 1 and "no tries are left" in done.stderr
    machine.ok("once", "os-bad")
    assert next_id(machine) == "os-bad.conf"


@pytest.mark.parametrize("image, why", [(None, "not found"), (images.arm64(3)[:0x420], "truncated"),
                                        (images.x86_kernel(), "another architecture"), (b"?", "not a kernel")])
def test_an_entry_that_cannot_start_is_refused_and_passed_over(machine, image, why):
    machine.entry("os-0broken", image, sort_key="key")
    assert why in machine.entries()["os-0broken.conf"]["problem"]
    assert next_id(machine) == "os-4k.conf"
    for command in ("set", "once"):
        done = machine.run(command, "os-0broken")
        assert done.returncode == 1 and why in done.stderr


def test_without_writable_variables_set_uses_loader_conf(system):
    for size, bits in {"4k": 1, "64k": 3}.items():
        system.entry(f"os-{size}", images.arm64(bits), sort_key=f"key{bits}")
    system.ok("set", "64k")
    assert (system.efi / "loader/loader.conf").read_text() == "page-size 64k\n"
    assert next_id(system) == "os-64k.conf"
    system.ok("set", "os-4k")
    assert (system.efi / "loader/loader.conf").read_text() == "page-size 64k\ndefault os-4k.conf\n"
    assert next_id(system) == "os-4k.conf"
    system.ok("set", "64k")
    assert (system.efi / "loader/loader.conf").read_text() == "page-size 64k\n"


def test_a_loader_that_does_not_know_one_shots_is_named(machine):
    machine.loader(name="other 1.0", features=0)
    done = machine.run("once", "64k")
    assert done.returncode == 1 and "other 1.0" in done.stderr and machine.variable("LoaderEntryOneShot") is None
    machine.ok("once", "64k", "--force")


def test_a_loader_that_does_not_know_policies_is_named(machine):
    machine.loader(name="other 1.0")
    machine.set_variable("GranulePolicy", "64k")
    assert next_id(machine) == "os-4k.conf", "such a loader does not read our policy"
    done = machine.run("set", "64k")
    assert done.returncode == 1 and "other 1.0" in done.stderr and "granule install --once" in done.stderr


def test_lines_of_loader_conf_stay_that_another_loader_goes_by(machine):
    machine.loader(name="other 1.0")
    conf = machine.efi / "loader/loader.conf"
    text = "timeout 3\ndefault os-4k.conf\n"
    conf.write_text(text)
    done = machine.run("set", "64k", "--force")
    assert "default os-4k.conf stays in loader.conf: it is other 1.0" in done.stderr
    assert machine.variable("GranulePolicy") == "64k" and conf.read_text() == text
    machine.ok("set", "none")
    assert conf.read_text() == text
    machine.loader()
    machine.ok("set", "64k")
    assert conf.read_text() == "timeout 3\n"


def test_the_first_steps_work_under_another_loader(machine):
    """As the README has it: what runs now becomes the default of both loaders, by its id."""
    machine.loader(name="systemd-boot 257")
    machine.ok("set", "os-4k.conf")
    assert next_id(machine) == "os-4k.conf"
    machine.loader()
    assert machine.json("status")["next"]["reason"] == "default entry"
    machine.ok("set", "4k")
    assert machine.variable("LoaderEntryDefault") is None and next_id(machine) == "os-4k.conf"


@pytest.mark.parametrize("command", ["set", "once"])
def test_what_looks_like_a_page_size_is_named_before_a_partition_is_looked_for(system, command):
    system.efi.rename(system.root / "gone")
    for word in ("32k", "8K", "64k0k", "128kB"):
        done = system.run(command, word)
        if word == "64k0k":
            assert done.returncode == 1 and "page sizes are" not in done.stderr
        else:
            assert (done.returncode, done.stderr) == (2, f"granule: {word}: page sizes are 4k, 16k, 64k\n")


@pytest.mark.parametrize("counter", ["+0", "+0-1", ""], ids=["fresh", "booted", "blessed"])
def test_a_trial_entry_is_meant_only_by_its_whole_id(machine, counter):
    machine.set_variable("GranulePolicy", "64k")
    machine.entry("os-64k-new", images.arm64(3), version="7")
    machine.entry(f"os-64k-new-trial{counter}", images.arm64(3), version="7", granule_trial="yes")
    for word in ("64k", "7", "os-64k-new"):
        machine.ok("once", word)
        assert machine.variable("LoaderEntryOneShot") == "os-64k-new.conf"
        machine.ok("once", "none")
    assert machine.run("once", "os-64k-new-trial").returncode == 1 and next_id(machine) == "os-64k-new.conf"
    machine.ok("once", "os-64k-new-trial.conf")
    assert next_id(machine) == "os-64k-new-trial.conf"
    assert machine.entries()["os-64k-new-trial.conf"]["state"] == "trial"
    assert re.search("trial +os-64k-new-trial.conf", machine.ok("list"))


def test_one_try_is_not_several(machine):
    machine.entry("os-one+1-2", images.arm64(3))
    machine.entry("os-two+2-1", images.arm64(3))
    out = machine.ok("list")
    assert re.search("1 try left +os-one", out) and re.search("2 tries left +os-two", out)


@pytest.mark.parametrize("command", ["status", "list"])
def test_a_line_of_loader_conf_that_is_not_understood_is_named(machine, command):
    (machine.efi / "loader/loader.conf").write_text("# a\r\ntimeout 5\r\n\r\neditor perhaps\n")
    assert "loader.conf: line 4: value not understood" in machine.run(command).stderr
    (machine.efi / "loader/loader.conf").write_text("timeout 5\n")
    assert machine.run(command).stderr == ""


@pytest.mark.parametrize("command", ["list", "inspect"])
def test_a_narrow_terminal_cuts_no_id_and_no_path(machine, command):
    import fcntl
    import os
    import pty
    import struct
    import termios

    name = "os-" + "x" * 120
    machine.entry(name, images.arm64(1))
    kernel = machine.efi / "kernels" / name
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    arguments = {"list": ["list", "--root", machine.root], "inspect": ["inspect", kernel]}[command]
    subprocess.run([str(a) for a in (machine.program, *arguments)], env=machine.env, stdout=slave, check=True)
    os.close(slave)
    out = b""
    try:
        while part := os.read(master, 4096):
            out += part
    except OSError:
        pass  # the end, on a terminal
    os.close(master)
    assert {"list": f"{name}.conf", "inspect": str(kernel)}[command] in out.decode()


def test_status_tells_that_the_booted_entry_is_on_trial(machine):
    machine.set_variable("LoaderEntrySelected", "os-64k.conf")
    assert "tries:" not in machine.ok("status")
    (machine.efi / "loader/entries/os-64k.conf").rename(machine.efi / "loader/entries/os-64k+1-2.conf")
    assert "tries: 1 left for the booted entry; 'systemd-bless-boot good' keeps it" in machine.ok("status")


def test_status_tells_that_firmware_starts_granule_boot_once(machine):
    vendor = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
    folder = machine.root / "variables"
    path = "\\EFI\\granule\\granule-bootaa64.efi\0".encode("utf-16-le")
    assert "BootNext" not in machine.ok("status")
    (folder / f"BootNext-{vendor}").write_bytes(b"\7\0\0\0\x1a\0")
    assert "BootNext" not in machine.ok("status")
    (folder / f"Boot001A-{vendor}").write_bytes(b"\7\0\0\0" + b"\1\0\0\0abcd" + path)
    assert "next start: granule-boot once (BootNext)" in machine.ok("status")
    (folder / f"Boot001A-{vendor}").write_bytes(b"\7\0\0\0" + b"\1\0\0\0abcd" + path.replace(b"-", b"_"))
    assert "BootNext" not in machine.ok("status")


def test_dry_run_writes_nothing_and_tells_the_next_boot(machine):
    before = machine.files()
    out = machine.ok("set", "64k", "--dry-run")
    assert "would have: set GranulePolicy to 64k" in out and "os-64k.conf" in out
    assert machine.variable("GranulePolicy") is None and machine.files() == before
    machine.ok("once", "64k", "-n")
    assert machine.variable("LoaderEntryOneShot") is None


def test_what_is_set_already_is_not_written_again(machine):
    machine.ok("set", "64k")
    file = machine._variable("GranulePolicy")
    stamp = file.stat().st_mtime_ns
    assert machine.json("set", "64k")["actions"] == [] and file.stat().st_mtime_ns == stamp


def test_list_has_the_documented_keys_in_their_order(machine):
    entry = machine.json("list")["entries"][0]
    assert list(entry) == ["id", "type", "source", "volume", "profile", "title", "version", "release", "page_size",
                           "kind", "image", "options", "state", "tries_left", "tries_done", "running", "default",
                           "next", "supported", "problem", "note", "twin"]


def test_supported_is_null_when_the_cpu_is_not_known(machine):
    assert machine.entries()["os-64k.conf"]["supported"] is True
    machine.set_variable("GranuleCpu", "4k")
    assert machine.entries()["os-64k.conf"]["supported"] is False
    machine._variable("GranuleCpu").unlink()
    assert machine.entries()["os-64k.conf"]["supported"] is None
    assert machine.json("status")["cpu_granules"] is None


def test_a_selectable_entry_without_a_token_counts_as_the_largest_size_of_the_cpu(machine):
    machine.entry("os-sel", images.arm64(0, extra=images.SELECTABLE_STRINGS))
    assert machine.entries()["os-sel.conf"]["page_size"] == "64k"
    machine.set_variable("GranuleCpu", "4k 16k")
    entry = machine.entries()["os-sel.conf"]
    assert (entry["page_size"], entry["kind"], entry["supported"]) == ("16k", "selectable", True)


def test_damaged_entries_are_named_and_the_others_listed(machine):
    folder = machine.efi / "loader/entries"
    (folder / "nothing.conf").write_text("title nothing\n")
    (folder / "climbs.conf").write_text("linux /../etc/passwd\n")
    (folder / "nul.conf").write_bytes(b"# x\nlinux /a\0b\n")
    (folder / "big.conf").write_bytes(b"#" * 70000)
    (folder / "two.conf").write_text("linux /a\nefi /b\n")
    done = machine.run("list")
    assert done.returncode == 0
    for word in ("nothing.conf: names no kernel", "climbs.conf: line 1: syntax error",
                 "nul.conf: line 2: syntax error", "big.conf: larger than 64 KiB", "two.conf: line 2: names more than one"):
        assert word in done.stderr, (word, done.stderr)
    assert "os-4k.conf" in done.stdout


def test_lists_fit_80_columns(machine):
    machine.kernel("6.12.0-211.el10_2.aarch64+64k", images.arm64(3, release="6.12.0-211.el10_2.aarch64+64k"))
    machine.ok("register")
    for command in ("list", "status"):
        for line in machine.ok(command).splitlines():
            assert len(line) <= 80, line


def test_usage_errors_end_with_2_and_one_hint(machine):
    for arguments in (["bogus"], ["set"], ["set", "a", "b"], ["list", "--bogus"], ["list", "--force"],
                      ["unregister"], ["inspect"]):
        done = machine.run(*arguments)
        assert done.returncode == 2 and done.stdout == "", arguments
    done = machine.run("verify", "--expect", "8k", root=False)
    assert done.returncode == 2


def test_no_esp_is_one_line(system):
    import shutil

    shutil.rmtree(system.efi)
    done = system.run("list")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "--esp-path" in done.stderr
    done = system.run("list", "--esp-path", system.root / "nowhere")
    assert done.returncode == 1 and "nowhere" in done.stderr


def test_verify_names_the_link_that_broke(system):
    system.with_variables(GranulePolicy="64k", LoaderInfo="systemd-boot 257")
    done = system.run("verify", root=False)
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED (loader): granule-boot did not start this system (systemd-boot 257 did)")


# ---- install ----


@pytest.fixture
def loader_file(system, tmp_path):
    file = tmp_path / "boot.efi"
    file.write_bytes(b"MZ...#### LoaderInfo: granule-boot 0.1.0 ####...")
    system.env["GRANULE_BOOT_FILE"] = str(file)
    return file


def test_install_copies_and_repeats_without_effect(system, loader_file):
    system.ok("install", "--removable")
    for name in ("EFI/granule/granule-bootaa64.efi", "EFI/BOOT/BOOTAA64.EFI"):
        assert (system.efi / name).read_bytes() == loader_file.read_bytes()
    assert system.json("install", "--removable")["actions"] == []


def test_install_refuses_to_overwrite_what_it_did_not_write(system, loader_file):
    (system.efi / "EFI/BOOT").mkdir()
    (system.efi / "EFI/BOOT/BOOTAA64.EFI").write_bytes(b"MZ somebody's")
    done = system.run("install", "--removable")
    assert done.returncode == 1 and "was not written by granule" in done.stderr
    assert (system.efi / "EFI/BOOT/BOOTAA64.EFI").read_bytes() == b"MZ somebody's"


def test_install_finds_the_boot_manager_beside_itself_whatever_the_prefix(system, tmp_path):
    import shutil

    from system import PLAIN

    prefix = tmp_path / "opt/x"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib/granule").mkdir(parents=True)
    system.program = shutil.copy(PLAIN, prefix / "bin/granule")
    (prefix / "lib/granule/granule-bootaa64.efi").write_bytes(b"MZ #### LoaderInfo: granule-boot 9 ####")
    system.ok("install")
    assert b"granule-boot 9" in (system.efi / "EFI/granule/granule-bootaa64.efi").read_bytes()


# ---- help and man page ----


def options_and_commands(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def test_help_and_man_page_name_the_same_options_and_commands(system):
    page = (TOP / "docs/granule.1").read_text().replace("\\-", "-")
    shown = system.ok("--help", root=False)
    assert options_and_commands(shown) == options_and_commands(page)
    commands = re.findall(r"^  ([a-z]+) ", shown, re.M)
    assert len(commands) >= 11
    for command in commands:
        assert re.search(rf'^\.BI? "?granule {command}\b', page, re.M), command


def test_the_boot_managers_man_page_names_every_key_of_loader_conf_and_of_the_menu():
    page = (TOP / "docs/granule-boot.7").read_text().replace("\\-", "-")
    keys = re.findall(r'SPAN\("([a-z-]+)"\)', (TOP / "core/loader_conf.c").read_text())
    assert {"timeout", "editor", "env-block"} <= set(keys)
    for key in keys:
        assert re.search(rf'(?<![a-z-]){key}(?![a-z-])', page), key
    shown = re.search(r"struct span menu_help.*?^}", (TOP / "efi/boot/menu_draw.c").read_text(), re.S | re.M).group()
    menu = page[page.index(".SH MENU"):page.index(".SH VARIABLES")]
    for line in re.findall(r'"([^"]+?)   ', shown):
        for key in line.split():
            assert re.search(rf"(?<!\w){re.escape(key.split('-')[0])}", menu), key


@pytest.mark.parametrize("page", ["granule.1", "granule.conf.5", "granule-boot.7", "granule-verify.service.8"])
def test_the_man_pages_format_without_warnings(page):
    import shutil

    if not shutil.which("man"):
        pytest.skip("man is not installed")
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(TOP / "docs" / page)],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_json_stays_valid_whatever_bytes_an_entry_holds(machine):
    file = machine.efi / "loader/entries/os-4k.conf"
    file.write_bytes(file.read_bytes() + b"title a\xff\xc3\"\\\x1b[31m\xe2\x82\xac\n")
    title = machine.entries()["os-4k.conf"]["title"]
    assert title == "a\ufffd\ufffd\"\\\x1b[31m\u20ac"


def test_a_loader_that_does_not_know_preferred_entries_is_not_predicted_to_obey_them(machine):
    machine.set_variable("LoaderEntryPreferred", "os-64k.conf")
    assert next_id(machine) == "os-64k.conf"
    machine.loader(name="systemd-boot 252", features=1 << 2 | 1 << 3)
    assert next_id(machine) == "os-4k.conf"


def test_a_missing_or_empty_initrd_makes_an_entry_unusable_as_in_the_loader(machine):
    file = machine.efi / "loader/entries/os-4k.conf"
    text = file.read_text()
    for path, content, why in (("/gone", None, "not found"), ("/empty", b"", "file is empty"), ("/EFI", None, "folder")):
        if content is not None:
            (machine.efi / path[1:]).write_bytes(content)
        file.write_text(text + f"initrd {path}\n")
        assert why in machine.entries()["os-4k.conf"]["problem"]
        assert next_id(machine) == "os-16k.conf"
        assert machine.run("once", "4k").returncode == 1


def test_the_entry_that_starts_the_boot_manager_itself_is_passed_over(machine):
    machine.set_variable("LoaderImageIdentifier", "\\EFI\\BOOT\\BOOTAA64.EFI")
    (machine.efi / "loader/entries/a-self.conf").write_text("sort-key 0\nefi /efi/boot//bootaa64.efi\n")
    assert next_id(machine) == "os-4k.conf"


def test_paths_with_doubled_slashes_are_found_as_by_the_loader(machine):
    file = machine.efi / "loader/entries/os-4k.conf"
    file.write_text(file.read_text().replace("linux /", "linux //"))
    assert machine.entries()["os-4k.conf"]["problem"] is None


def test_an_empty_root_is_a_usage_error(machine):
    done = machine.run("list", "--root", "", root=False)
    assert done.returncode == 2 and "--root: is empty" in done.stderr


def test_a_loader_conf_with_a_nul_is_read_to_its_end_and_never_rewritten(machine):
    conf = machine.efi / "loader/loader.conf"
    conf.write_bytes(b"# mine\ntimeout 0\0\ndefault os-64k.conf\n")
    assert next_id(machine) == "os-64k.conf"
    done = machine.run("set", "4k")
    assert done.returncode == 1 and "NUL" in done.stderr
    assert conf.read_bytes() == b"# mine\ntimeout 0\0\ndefault os-64k.conf\n"


def test_a_loader_conf_that_cannot_be_read_is_passed_over_with_a_word(machine):
    (machine.efi / "loader/loader.conf").mkdir()
    done = machine.run("status")
    assert done.returncode == 0 and "loader.conf" in done.stderr and "os-4k.conf" in done.stdout


def test_set_on_a_read_only_partition_stores_the_policy_or_touches_nothing(machine):
    """The tests run as root, whom permissions do not stop: a read-only mount is made."""
    import shutil

    if not shutil.which("mount") or not shutil.which("unshare"):
        pytest.skip("mount or unshare is missing")

    def read_only(*arguments):
        script = f"mount --bind {machine.efi} {machine.efi} && mount -o remount,bind,ro {machine.efi} && exec \"$@\""
        command = ["unshare", "-m", "sh", "-c", script, "sh", machine.program, *arguments, "--root", machine.root]
        return subprocess.run([str(c) for c in command], env=machine.env, capture_output=True, text=True)

    probe = read_only("status")
    if "ermitted" in probe.stderr or "denied" in probe.stderr:
        pytest.skip("no right to mount here")
    machine.entry("test-granule", images.arm64(3), version="9", sort_key="granule-3-64k", granule_image="64k")
    done = read_only("set", "64k")
    assert done.returncode == 0 and "order of entries" in done.stderr and "next boot: 64K" in done.stdout
    assert machine.variable("GranulePolicy") == "64k"
    (machine.efi / "loader/loader.conf").write_text("default os-4k.conf\n")
    machine.set_variable("LoaderEntryOneShot", "os-4k.conf")
    done = read_only("set", "16k")
    assert done.returncode == 1 and "would win" in done.stderr
    assert machine.variable("GranulePolicy") == "64k" and machine.variable("LoaderEntryOneShot") == "os-4k.conf"


@pytest.mark.parametrize("command", ["status", "list", "once os-64k", "set nothing\x1b[2J", "verify", "register --dry-run"])
def test_texts_of_entries_give_no_orders_to_a_terminal(machine, command):
    """Names of profiles, paths, wishes, failures of the boot record."""
    evil = "\x1b]0;owned\x07\x7f\u009b2J"
    image = images.uki(images.arm64(1), (".profile", "ID=a"), (".profile", f"ID=b{evil}"), osrel=f'PRETTY_NAME="x{evil}"\n')
    (machine.efi / "EFI/Linux").mkdir(parents=True, exist_ok=True)
    (machine.efi / "EFI/Linux/image.efi").write_bytes(image)
    (machine.efi / "loader/entries/os-bad.conf").write_text(f"title t{evil}\nlinux /none{evil}\n")
    (machine.efi / "loader/loader.conf").write_text(f"default image.efi@b*\npreferred no{evil}\n")
    done = machine.run(*command.split())
    text = done.stdout + done.stderr
    assert text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), repr(text)
