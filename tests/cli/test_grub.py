# SPDX-License-Identifier: GPL-2.0-or-later
"""list, status, set and once on machines that GRUB boots, laid out as seven distributions lay them out."""

import gzip
import re

import pytest

import grub_trees
import images
from boots import Boots
from grub_trees import BITS, MACHINE_ID, OTHER_ID, ROOT_UUID, env_block

SIMPLE, ADVANCED = f"gnulinux-simple-{ROOT_UUID}", f"gnulinux-advanced-{ROOT_UUID}"
CLASSIC = ["debian12", "debian13", "ubuntu", "sles15", "openeuler"]
BLS = ["rhel9", "fedora"]


def next_id(tree):
    return tree.system.json("status")["next"]["id"]


def reason(tree):
    return tree.system.json("status")["next"]["reason"]


def notes(tree):
    return "\n".join(tree.system.json("status")["grub"]["notes"])


def of_release(tree, release):
    return [e for e in tree.system.entries().values() if e["version"] == release]


def kernel_of(tree, entry_id):
    return tree.system.entries()[entry_id]["version"]


def newest(tree, size):
    return next(release for release, s in tree.kernels if s == size)


def advanced(release, kind="advanced"):
    return f"{ADVANCED}>gnulinux-{release}-{kind}-{ROOT_UUID}"


@pytest.fixture(params=[False, True], ids=["plain", "lines"])
def lines(request):
    return request.param


@pytest.fixture
def debian(system):
    return grub_trees.make(system, "debian12")


@pytest.fixture
def ours(system):
    """With granule's lines in grub.cfg."""
    return grub_trees.make(system, "debian12", lines=True)


@pytest.fixture
def rhel(system):
    return grub_trees.make(system, "rhel9")


# ---- what there is ----


@pytest.mark.parametrize("name", grub_trees.ALL)
def test_every_entry_has_the_page_size_of_its_kernel(system, name, lines):
    tree = grub_trees.make(system, name, lines=lines)
    for release, size in tree.kernels:
        entries = of_release(tree, release)
        assert entries and {e["page_size"] for e in entries} == {size}, release
        assert all(e["problem"] is None and e["volume"] == "system" for e in entries)
        assert {e["type"] for e in entries} == {"type1" if name in BLS else "menu"}
        assert sum(not e["twin"] for e in entries) == 1
    assert system.entries()["uefi-firmware"]["page_size"] == "unknown"
    done = system.run("list")
    assert done.returncode == 0 and not done.stderr
    assert re.search(r"^ +- +good +uefi-firmware$", done.stdout, re.M)


@pytest.mark.parametrize("name", grub_trees.ALL)
def test_once_takes_the_newest_kernel_of_a_size_and_leaves_the_default(system, name, lines):
    tree = grub_trees.make(system, name, lines=lines)
    default, before = next_id(tree), tree.env()
    for size in sorted({s for _, s in tree.kernels}):
        system.ok("once", size)
        entry = system.entries()[next_id(tree)]
        assert entry["version"] == newest(tree, size) and "recovery" not in entry["id"]
        stored = tree.own() if lines else tree.env()
        assert stored["next_entry"] == entry["id"]
        assert next(e["id"] for e in system.entries().values() if e["default"]) == default
    assert not lines or tree.env() == before, "with a block of granule's grubenv is the owner's"
    system.ok("once", "none")
    assert next_id(tree) == default and tree.env() == before


@pytest.mark.parametrize("name", grub_trees.ALL)
def test_a_policy_is_set_and_taken_back(system, name):
    tree = grub_trees.make(system, name, lines=True)
    default, before = next_id(tree), tree.env()
    size = tree.kernels[0][1] if tree.kernels[0][1] != "4k" else tree.kernels[1][1]
    out = system.ok("set", size)
    assert tree.own()["granule_page_size"] == size and f"set granule_page_size to {size} in " in out
    assert kernel_of(tree, next_id(tree)) == newest(tree, size)
    assert system.json("status")["policy"] == size
    system.ok("set", "none")
    assert next_id(tree) == default and not tree.own() and tree.env() == before


@pytest.mark.parametrize("name, release, size", [
    ("debian12", "6.1.0-14-arm64-4k", "64k"), ("ubuntu", "6.8.0-60-generic-64k", "4k"), ("sles15", "6.4.0-150700.1-16kb", "64k"),
    ("rhel9", "5.14.0-999.el9.aarch64+64k", "16k"), ("fedora", "6.12.0-1.fc41.aarch64+16k", "64k")])
def test_names_that_lie_are_not_believed(system, name, release, size):
    tree = grub_trees.make(system, name, kernels=((release, size), *grub_trees.ALL[name].kernels))
    assert {e["page_size"] for e in of_release(tree, release)} == {size}
    system.ok("once", size)
    assert kernel_of(tree, next_id(tree)) == release


def test_a_recovery_entry_is_not_what_a_size_means_though_it_stands_first(debian):
    release = "6.1.0-13-arm64"
    first = debian.menuentry("Rescue", "mine", release, options="root=UUID=1 ro single")
    debian.cfg_path.write_text(first + debian.cfg_path.read_text())
    debian.system.ok("once", "4k")
    assert next_id(debian) == advanced(release)
    entries = debian.system.entries()
    assert entries["mine"]["twin"] and not entries[advanced(release)]["twin"]
    debian.cfg_path.write_text(debian.header() + first)
    debian.system.ok("once", "4k")
    assert next_id(debian) == "mine", "better than none"


def test_a_kernel_that_selects_its_page_size_has_an_entry_for_each(system):
    class Selectable(grub_trees.Debian12):
        kernels = (("7.0-boot", "any"),)

        def image(self, release, size):
            return images.arm64(0, release=release, extra=images.SELECTABLE_STRINGS)

    tree = Selectable(system, lines=True)
    sizes = {e["id"]: e["page_size"] for e in of_release(tree, "7.0-boot")}
    for size in BITS:
        assert sizes[f"granule-7.0-boot-{size}"] == size
        system.ok("set", size)
        assert next_id(tree) == f"granule-7.0-boot-{size}"


@pytest.mark.parametrize("pack", [gzip.compress, lambda image: images.compressed(image, "xz")])
def test_compressed_kernels_are_looked_into(debian, pack):
    release = debian.kernels[0][0]
    (debian.system.boot / f"vmlinuz-{release}").write_bytes(pack(images.arm64(2, release=release)))
    assert {e["page_size"] for e in of_release(debian, release)} == {"16k"}


def test_a_kernel_or_initrd_that_is_gone_makes_its_entries_broken(debian):
    release = debian.kernels[0][0]
    (debian.system.boot / f"vmlinuz-{release}").unlink()
    (debian.system.boot / f"initrd.img-{debian.kernels[1][0]}").unlink()
    for e in of_release(debian, release):
        assert e["problem"] == f"/boot/vmlinuz-{release}: not found"
    for e in of_release(debian, debian.kernels[1][0]):
        assert e["problem"] == f"/boot/initrd.img-{debian.kernels[1][0]}: not found"
    done = debian.system.run("once", advanced(release))
    assert done.returncode == 1 and "not found" in done.stderr and not debian.env()
    done = debian.system.run("once", "64k")
    assert done.returncode == 1 and "no entry has 64K pages; 'update-grub' makes entries" in done.stderr
    done = debian.system.run("once", "16k")
    assert done.returncode == 1 and "no entry with 16K pages can be used" in done.stderr


def test_a_kernel_on_another_file_system_is_unknown_and_not_broken(debian):
    text = debian.cfg_path.read_text()
    other = debian.menuentry("Other", "osprober-gnulinux-1", "5.0-other").replace(ROOT_UUID, "other-uuid", 1)
    top = f"search --no-floppy --fs-uuid --set=root {ROOT_UUID}\n"
    debian.cfg_path.write_text(top + text + other)
    entry = debian.system.entries()["osprober-gnulinux-1"]
    assert entry["problem"] is None and entry["page_size"] == "unknown" and "another file system" in entry["note"]
    assert "osprober-gnulinux-1: its kernel is on another file system" in debian.system.ok("list")


def test_what_only_grub_can_know_is_said(debian):
    entry = debian.menuentry("Variable", "variable", "6.1.0-13-arm64").replace("\t/boot/vmlinuz", "\t$folder/vmlinuz")
    condition = "if [ x$a = xb ]; then\n%sfi\n" % debian.menuentry("Perhaps", "perhaps", "6.1.0-13-arm64")
    debian.cfg_path.write_text(debian.cfg_path.read_text() + entry + condition)
    entries = debian.system.entries()
    assert "named by a variable" in entries["variable"]["note"] and entries["variable"]["page_size"] == "unknown"
    assert "stands below a condition" in entries["perhaps"]["note"] and entries["perhaps"]["page_size"] == "4k"


@pytest.mark.parametrize("written, link", [
    ("/vmlinuz", ("vmlinuz", "boot/vmlinuz-6.1.0-13-arm64")), ("/@/boot/vmlinuz-6.1.0-13-arm64", None),
    ("/root/boot/vmlinuz-6.1.0-13-arm64", None), ("/vmlinuz-6.1.0-13-arm64", None),
    ("(hd0,gpt2)/boot/vmlinuz-6.1.0-13-arm64", None), ("($root)/vmlinuz-6.1.0-13-arm64", None),
    ("/link", ("link", "/boot/vmlinuz-6.1.0-13-arm64"))])
def test_paths_of_grub_are_found_where_the_file_system_is_mounted(debian, written, link):
    if link:
        (debian.root / link[0]).symlink_to(link[1])
    debian.cfg_path.write_text(f"menuentry 'One' --id one {{\n\tlinux {written} quiet\n}}\n")
    entry = debian.system.entries()["one"]
    assert (entry["page_size"], entry["version"]) == ("4k", "6.1.0-13-arm64")
    assert entry["image"] == "/boot/vmlinuz-6.1.0-13-arm64"


def test_links_do_not_lead_out_of_the_root(debian, tmp_path):
    (tmp_path / "secret").write_bytes(images.arm64(3))
    (debian.root / "up").symlink_to("../secret")
    (debian.root / "absolute").symlink_to(tmp_path / "secret")
    debian.cfg_path.write_text("menuentry 'Up' { linux /up\n}\nmenuentry 'Absolute' { linux /absolute\n}\n")
    for e in debian.system.entries().values():
        assert "not found" in e["problem"] and e["page_size"] == "unknown"


def test_a_syntax_error_is_said_and_what_stands_before_it_is_listed(debian):
    debian.cfg_path.write_text(debian.menuentry("One", "one", "6.1.0-13-arm64") + "menuentry 'open {\n")
    done = debian.system.run("list")
    assert done.returncode == 0 and "one" in done.stdout
    assert re.search(r"skipped .*boot/grub/grub\.cfg: line \d+: .*; GRUB leaves out the command", done.stderr)


def test_a_release_names_a_kernel_whatever_entries_it_has(ours):
    ours.system.ok("once", "6.1.0-13-arm64-16k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-16k-16k"


# ---- titles, numbers and paths ----

DEFAULTS = [
    ("0", SIMPLE), ("1", advanced("6.1.0-13-arm64-64k")), ("1>2", advanced("6.1.0-13-arm64-16k")),
    ("1>5", advanced("6.1.0-13-arm64", "recovery")), ("2", "uefi-firmware"), ("Debian GNU/Linux", SIMPLE),
    ("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-13-arm64", advanced("6.1.0-13-arm64")),
    (advanced("6.1.0-13-arm64"), advanced("6.1.0-13-arm64")), (SIMPLE, SIMPLE),
    (f"{ADVANCED}>4", advanced("6.1.0-13-arm64")), (f"{ADVANCED}>gone", advanced("6.1.0-13-arm64-64k")), ("gone", SIMPLE),
    ("99", SIMPLE),
]


def test_a_literal_default_means_what_it_means_to_grub(system, lines):
    tree = grub_trees.make(system, "debian12", lines=lines)
    text = tree.cfg_path.read_text()
    for value, wanted in DEFAULTS:
        tree.cfg_path.write_text(text.replace('set default="0"', f'set default="{value}"'))
        # With granule's lines the first entry of the menu is one of theirs.
        if lines and value in ("gone", "99"):
            wanted = "granule-6.1.0-13-arm64-64k-64k"
        status = system.json("status")
        assert (status["next"]["id"], status["grub"]["default"]) == (wanted, value)


def test_a_saved_default_means_the_same(system, lines):
    tree = grub_trees.make(system, "debian12", lines=lines, default="${saved_entry}", settings="GRUB_DEFAULT=saved\n")
    for value, wanted in DEFAULTS[:10]:
        tree.set_env(saved_entry=value)
        assert next_id(tree) == wanted, value


@pytest.mark.parametrize("name", CLASSIC)
def test_nothing_saved_means_the_first_entry_of_the_owners_menu(system, lines, name):
    tree = grub_trees.make(system, name, lines=lines, default="${saved_entry}", settings="GRUB_DEFAULT=saved\n")
    title = next(e["title"] for e in system.entries().values() if not e["id"].startswith("granule-"))
    assert not tree.env() and system.entries()[next_id(tree)]["title"] == title
    assert reason(tree) == "first entry of the menu, since none is saved in grubenv"


def test_grub_reboot_goes_before_all_else(system, lines):
    tree = grub_trees.make(system, "debian12", lines=lines)
    if lines:
        system.ok("set", "16k")
        system.ok("once", "4k")
    for value, wanted in DEFAULTS[:10]:
        tree.set_env(next_entry=value)
        assert next_id(tree) == wanted and reason(tree) == "one-shot (environment block)", value


def test_titles_with_quotes_and_signs_are_ids_that_can_be_set(system):
    title = "Bob's \"64K\" > [fast] * kernel"
    tree = grub_trees.make(system, "debian12", default="${saved_entry}", settings="GRUB_DEFAULT=saved\n")
    entry = tree.menuentry(title, "", "6.1.0-13-arm64").replace("$menuentry_id_option '' ", "")
    tree.cfg_path.write_text(tree.cfg_path.read_text() + f"submenu 'A > B' {{\n{entry}}}\n")
    path = "A >> B>" + title.replace(">", ">>")
    assert path in system.entries() and system.entries()[path]["title"] == title
    for command, name in (("once", "next_entry"), ("set", "saved_entry")):
        system.ok(command, path)
        assert tree.env()[name] == path and next_id(tree) == path


# ---- where the default comes from ----


def test_the_file_that_decides_is_named_and_a_number_is_warned_of(system):
    tree = grub_trees.make(system, "ubuntu", default="1>2")
    (tree.root / "etc/default/grub").write_text("GRUB_DEFAULT=saved\n")
    tree.write("etc/default/grub.d/50-cloudimg-settings.cfg", "GRUB_DEFAULT='1>2'\n")
    out = system.ok("status")
    assert "GRUB default: 1>2 (GRUB_DEFAULT in /etc/default/grub.d/50-cloudimg-settings.cfg)" in out
    assert "is a number: it means another entry" in notes(tree)
    assert kernel_of(tree, next_id(tree)) == "6.8.0-50-generic-64k"


def test_what_takes_effect_only_after_update_grub_is_said(debian):
    debian.write("etc/default/grub.d/90-mine.cfg", "GRUB_DEFAULT=saved\n")
    assert "GRUB_DEFAULT=saved in /etc/default/grub.d/90-mine.cfg takes effect after 'update-grub'" in notes(debian)
    done = debian.system.run("set", "6.1.0-13-arm64")
    assert done.returncode == 1 and "run 'update-grub'" in done.stderr and not debian.env()
    debian.default = "${saved_entry}"
    debian.update_grub()
    assert "takes effect" not in notes(debian)
    debian.system.ok("set", "6.1.0-13-arm64")
    assert next_id(debian) == advanced("6.1.0-13-arm64")
    debian.write("etc/default/grub.d/95-other.cfg", "GRUB_DEFAULT=0\n")
    assert "GRUB_DEFAULT=0 in /etc/default/grub.d/95-other.cfg takes effect after" in notes(debian)


def test_a_default_that_grub_cfg_does_not_ask_for_is_refused_with_what_helps(system):
    tree = grub_trees.make(system, "ubuntu")
    for word in ("64k", "6.8.0-50-generic-64k"):
        done = system.run("set", word)
        assert done.returncode == 1 and not tree.env()
        for part in ("GRUB_DEFAULT=0", "50-cloudimg-settings.cfg", "GRUB_DEFAULT=saved", "09_granule", "update-grub"):
            assert part in done.stderr


def test_without_lines_a_policy_is_kept_in_a_variable_and_holds_by_saved_entry(system):
    tree = grub_trees.make(system, "debian12", default="${saved_entry}", settings="GRUB_DEFAULT=saved\n")
    done = system.run("set", "16k")
    assert done.returncode == 1 and "cannot be written" in done.stderr and not tree.env()
    system.with_variables()
    tree.set_env(saved_entry=SIMPLE, next_entry=SIMPLE, mine="stays")
    system.ok("set", "16k")
    assert system.variable("GranulePolicy") == "16k"
    assert tree.env() == {"saved_entry": advanced("6.1.0-13-arm64-16k"), "mine": "stays"}
    system.ok("set", "6.1.0-13-arm64")
    assert system.variable("GranulePolicy") is None and next_id(tree) == advanced("6.1.0-13-arm64")


# ---- granule's block ----


def test_a_default_wins_over_the_policy_and_the_policy_takes_it_back(ours):
    ours.system.ok("set", "64k")
    ours.system.ok("set", "6.1.0-13-arm64")
    assert ours.own() == {"granule_page_size": "64k", "saved_entry": "granule-6.1.0-13-arm64-4k"}
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k"
    ours.system.ok("set", "64k")
    assert ours.own() == {"granule_page_size": "64k"}


def test_entries_of_other_scripts_are_stored_by_their_paths(ours):
    ours.system.ok("set", advanced("6.1.0-13-arm64-16k"))
    assert ours.own()["saved_entry"] == advanced("6.1.0-13-arm64-16k") and next_id(ours) == ours.own()["saved_entry"]


def test_a_one_shot_of_grub_reboot_that_would_win_is_removed_with_a_word(ours):
    for command in ("set", "once"):
        ours.set_env(next_entry="0", saved_entry="mine")
        out = ours.system.ok(command, "16k")
        assert re.search(r"removed next_entry from .*/boot/grub/grubenv \(was 0\)", out)
        assert ours.env() == {"saved_entry": "mine"} and kernel_of(ours, next_id(ours)) == "6.1.0-13-arm64-16k"


def test_the_policy_follows_updates_once_update_grub_has_run(ours):
    ours.system.ok("set", "64k")
    ours.kernels = (("6.1.0-20-arm64-64k", "64k"), ("6.1.0-21-arm64", "4k"), *ours.kernels)
    ours.add_kernel("6.1.0-20-arm64-64k", "64k")
    ours.add_kernel("6.1.0-21-arm64", "4k")
    ours.update_grub()
    assert next_id(ours) == "granule-6.1.0-20-arm64-64k-64k" and "update-grub" not in notes(ours)


def test_a_policy_of_before_the_lines_is_taken_over(system):
    tree = grub_trees.make(system, "debian12", lines=True)
    system.with_variables(GranulePolicy="16k")
    assert next_id(tree) == SIMPLE and "GRUB does not know of the policy 16k yet" in notes(tree)
    system.ok("register")
    assert tree.own() == {"granule_page_size": "16k"} and next_id(tree) == "granule-6.1.0-13-arm64-16k-16k"
    assert "does not know" not in notes(tree)
    before = tree.block.read_bytes()
    assert system.ok("register", "--hook") == "" and tree.block.read_bytes() == before


def test_a_grub_cfg_that_does_not_know_the_newest_entry_is_said(ours):
    ours.system.ok("set", "64k")
    new = "granule-6.1.0-20-arm64-64k-64k"
    ours.add_kernel("6.1.0-20-arm64-64k", "64k")
    text = ours.cfg_path.read_text()
    entry = ours.menuentry("New", new, "6.1.0-20-arm64-64k")
    ours.cfg_path.write_text(text.replace("--id granule {\n", "--id granule {\n" + entry, 1))
    assert new in ours.system.entries() and next_id(ours) == "granule-6.1.0-13-arm64-64k-64k"
    assert f"{new} is the newest entry with 64K pages" in notes(ours) and "update-grub" in notes(ours)
    assert new in ours.system.run("set", "64k").stderr


def test_a_policy_that_grub_cfg_knows_nothing_of_is_stored_with_what_helps(ours):
    text = ours.cfg_path.read_text()
    ours.cfg_path.write_text(text.replace("set granule_16k=", "set unknown="))
    done = ours.system.run("set", "16k")
    assert done.returncode == 1 and ours.own() == {"granule_page_size": "16k"}
    assert "has nothing for the policy 16k" in done.stderr and "run 'update-grub'" in done.stderr
    assert next_id(ours) == SIMPLE and "policy" in reason(ours) and "16k: no entry of that page size" in reason(ours)
    ours.update_grub()
    assert next_id(ours) == "granule-6.1.0-13-arm64-16k-16k"


def test_a_wish_for_what_is_gone_falls_back(ours):
    default = next_id(ours)
    ours.set_own(saved_entry="granule-gone-64k", granule_page_size="64k")
    assert next_id(ours) == default and "no such entry" in reason(ours)
    ours.set_own(saved_entry="granule-gone-64k", granule_good="granule-6.1.0-13-arm64-4k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k" and "verified last" in reason(ours)
    ours.set_own(granule_good="granule-6.1.0-13-arm64-4k")
    assert next_id(ours) == default, "what was verified is no wish"


def test_a_wish_for_what_is_gone_of_another_script_leads_to_the_first_entry_as_in_grub(ours):
    first, default = "granule-6.1.0-13-arm64-64k-64k", "granule-6.1.0-13-arm64-4k"
    ours.set_own(saved_entry="gone>entry", granule_good=default)
    assert next_id(ours) == first and "first entry of the menu, since it has no gone>entry" in reason(ours)
    ours.set_own(next_entry="gone>entry", saved_entry=default)
    assert next_id(ours) == first and "first entry of the menu, since it has no gone>entry" in reason(ours)
    ours.set_own(saved_entry="gone>entry", granule_good=default, granule_tries="0")
    assert next_id(ours) == default


@pytest.mark.parametrize("values", [{"granule_page_size": "64k", "granule_tries": "10"},
                                    {"saved_entry": "granule-6.1.0-13-arm64-64k-64k", "granule_tries": "-1"},
                                    {"granule_page_size": "8k"}, {"saved_entry": "granule-64k"}],
                         ids=["ten", "negative", "size", "alias"])
def test_what_granules_lines_do_not_understand_leaves_what_was_verified(ours, values):
    ours.set_own(granule_good="granule-6.1.0-13-arm64-4k", **values)
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k"


def test_tries_that_are_used_up_leave_what_was_verified(ours):
    ours.set_own(granule_page_size="64k", granule_tries="1", granule_good="granule-6.1.0-13-arm64-4k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-64k-64k"
    ours.set_own(granule_page_size="64k", granule_tries="0", granule_good="granule-6.1.0-13-arm64-4k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k" and "tries of the default are used up" in reason(ours)
    assert ours.system.json("status")["policy"] == "64k"
    ours.set_own(granule_page_size="64k", granule_tries="0")
    assert next_id(ours) == SIMPLE
    ours.set_own(saved_entry="granule-6.1.0-13-arm64-16k-16k", granule_tries="0")
    assert next_id(ours) == SIMPLE


def test_an_unverified_default_is_given_the_tries_that_are_set(ours):
    ours.write("etc/kernel/tries", "3\n")
    ours.system.ok("set", "64k")
    assert ours.own() == {"granule_page_size": "64k", "granule_tries": "3",
                          "granule_tries_of": "granule-6.1.0-13-arm64-64k-64k"}
    ours.set_own(**{**ours.own(), "granule_tries": "2"})
    assert "may boot 2 more times" in notes(ours)
    ours.system.ok("set", "64k")
    assert ours.own()["granule_tries"] == "2", "what is counted goes on"
    ours.system.ok("set", "16k")
    assert ours.own()["granule_tries"] == "3"
    ours.system.verified("granule-6.1.0-13-arm64-64k-64k")
    ours.system.ok("set", "64k")
    assert ours.own() == {"granule_page_size": "64k"}


def test_lines_that_found_no_place_for_a_block_leave_grubenv(ours):
    text = ours.cfg_path.read_text()
    ours.cfg_path.write_text("".join(line for line in text.splitlines(True) if not line.startswith("set granule_env_")))
    default = next_id(ours)
    ours.system.ok("once", "16k")
    assert kernel_of(ours, next_id(ours)) == "6.1.0-13-arm64-16k" and not ours.own()
    assert ours.env() == {"next_entry": "granule>granule-6.1.0-13-arm64-16k-16k"}, "as GRUB itself wants it"
    ours.system.ok("once", "none")
    assert next_id(ours) == default and not ours.env()


def test_all_changes_of_the_block_are_one_write(ours, fault_library):
    ours.set_own(next_entry=SIMPLE, granule_options="panic=10", saved_entry=SIMPLE, granule_tries="1", other="stays")
    before = ours.block.read_bytes()
    states = set()
    for at in range(1, 40):
        ours.block.write_bytes(before)
        done = ours.system.run_with_fault(fault_library, "cut", at, "set", "64k")
        states.add(ours.block.read_bytes())
        if not done.reached:
            break
    assert len(states) == 2 and ours.own() == {"granule_page_size": "64k", "other": "stays"}


@pytest.mark.parametrize("content", [b"", env_block(size=1023), b"x" * 1024])
def test_a_damaged_block_of_granule_is_named_and_not_obeyed(ours, content):
    default = next_id(ours)
    ours.block.parent.mkdir(exist_ok=True)
    ours.block.write_bytes(content)
    assert next_id(ours) == default and "/boot/efi/EFI/granule/grubenv: " in notes(ours)
    done = ours.system.run("once", "64k")
    assert done.returncode == 1 and "grubenv" in done.stderr and ours.block.read_bytes() == content


def test_where_the_block_cannot_be_read_the_policy_of_the_generator_holds(ours):
    ours.system.ok("set", "16k")
    ours.update_grub()
    assert "set granule_page_size=16k" in ours.cfg_path.read_text()
    ours.block.unlink()
    assert next_id(ours) == "granule-6.1.0-13-arm64-16k-16k"


# ---- where GRUB cannot write, or grubenv is not in order ----


def on_btrfs(tree):
    """/boot on btrfs, the ESP a plain partition."""
    tree.write("proc/self/mountinfo",
               "20 1 0:30 / / rw shared:1 - btrfs /dev/vda2 rw\n21 20 252:1 / /boot/efi rw shared:2 - vfat /dev/vda1 rw\n")
    tree.write("proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-6.1.0-13-arm64-64k root=UUID=x ro quiet\n")


def test_a_one_shot_that_grub_could_not_clear_is_refused_even_by_force(debian):
    on_btrfs(debian)
    for options in ([], ["--force"]):
        done = debian.system.run("once", "4k", *options)
        assert done.returncode == 1 and "btrfs" in done.stderr and not debian.env()
    assert "GRUB reads /boot/grub/grubenv, but cannot write it" in notes(debian)


def test_a_one_shot_in_a_block_that_cannot_be_cleared_is_not_obeyed(ours):
    ours.system.ok("set", "16k")
    ours.system.ok("once", "4k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k"
    ours.write("proc/self/mountinfo", "20 1 0:30 / / rw shared:1 - btrfs /dev/vda2 rw\n")
    assert next_id(ours) == "granule-6.1.0-13-arm64-16k-16k" and "not honoured, it could not be cleared" in reason(ours)
    done = ours.system.run("once", "64k")
    assert done.returncode == 1 and "btrfs" in done.stderr
    ours.set_own(granule_page_size="16k", granule_tries="3")
    assert next_id(ours) == SIMPLE, "tries that cannot be counted are none"


def test_with_lines_the_block_on_the_esp_serves_where_boot_cannot_be_written(ours):
    on_btrfs(ours)
    ours.system.ok("once", "4k")
    assert next_id(ours) == "granule-6.1.0-13-arm64-4k" and not ours.env()


@pytest.mark.parametrize("content", [None, b"", env_block()[:1023], b"nothing of the kind" * 60])
def test_without_a_grubenv_in_order_a_one_shot_is_refused_with_what_helps(system, content):
    tree = grub_trees.make(system, "debian12", default="${saved_entry}", settings="GRUB_DEFAULT=saved\n")
    tree.grubenv.unlink()
    if content is not None:
        tree.grubenv.write_bytes(content)
    done = system.run("once", "4k")
    assert done.returncode == 1 and re.search(r"grub-editenv \S*boot/grub/grubenv create", done.stderr)
    assert next_id(tree) == SIMPLE
    assert (tree.grubenv.read_bytes() if tree.grubenv.exists() else None) == content


def test_a_grub_cfg_that_asks_for_no_one_shot_is_named(debian):
    debian.cfg_path.write_text("set default=0\n" + debian.menu())
    done = debian.system.run("once", "4k")
    assert done.returncode == 1 and not debian.env()
    for part in ("grub.cfg does not ask for next_entry", "09_granule", "update-grub"):
        assert part in done.stderr


# ---- loader/entries ----


def test_entries_stand_in_the_order_of_blscfg(system):
    kernels = (("5.14.0-70.el9.aarch64", "4k"), ("5.14.0-362.el9.aarch64", "4k"), ("5.14.0-362.8.1.el9.aarch64", "4k"),
               ("5.14.0-362.el9.aarch64+64k", "64k"), ("0-rescue", "4k"))
    grub_trees.make(system, "rhel9", kernels=kernels)
    order = [e["version"] for e in system.json("list")["entries"] if e["type"] == "type1"]
    assert order == ["5.14.0-362.8.1.el9.aarch64", "5.14.0-362.el9.aarch64+64k", "5.14.0-362.el9.aarch64",
                     "5.14.0-70.el9.aarch64", "0-rescue"]


def test_an_id_is_taken_with_and_without_its_suffix(rhel):
    for word in (rhel.id("5.14.0-284.el9.aarch64"), rhel.id("5.14.0-284.el9.aarch64") + ".conf", "5.14.0-284.el9.aarch64"):
        rhel.system.ok("once", word)
        assert rhel.env()["next_entry"] == rhel.id("5.14.0-284.el9.aarch64")
        rhel.system.ok("once", "none")


def test_variables_in_options_have_the_values_that_grub_knows(rhel):
    rhel.add_entry("5.14.0-284.el9.aarch64")
    file = rhel.entries / f"{rhel.id('5.14.0-284.el9.aarch64')}.conf"
    file.write_text(file.read_text().replace("$tuned_params", "${kernelopts} $tuned_params$gone end"))
    rhel.set_env(kernelopts="a=1 b=2")
    options = rhel.system.entries()[rhel.id("5.14.0-284.el9.aarch64")]["options"]
    assert options.endswith("rd.lvm.lv=rhel/root a=1 b=2 skew_tick=1 end")


def test_a_saved_entry_of_another_machine_does_not_make_its_kernel_what_a_size_means(rhel):
    for release, _ in rhel.kernels:
        rhel.add_entry(release, machine="ffff" + OTHER_ID[4:])
    rhel.system.with_variables()
    rhel.system.ok("set", "64k")
    assert rhel.env()["saved_entry"] == f"{MACHINE_ID}-5.14.0-362.el9.aarch64+64k"
    rhel.system.ok("once", "4k")
    assert rhel.env()["next_entry"] == f"{MACHINE_ID}-5.14.0-362.el9.aarch64"


def test_lines_behind_an_empty_one_are_named(rhel):
    rhel.add_entry("5.14.0-284.el9.aarch64", extra="\ngrub_hotkey x\n")
    done = rhel.system.run("list")
    assert done.returncode == 0
    assert f"{rhel.id('5.14.0-284.el9.aarch64')}.conf: what follows its empty line, which GRUB does not read" in done.stderr


def test_a_counter_of_another_loader_belongs_to_the_name(rhel):
    rhel.add_kernel("5.14.0-999", "16k")
    rhel.add_entry("5.14.0-999")
    file = rhel.entries / f"{rhel.id('5.14.0-999')}.conf"
    file.rename(file.with_name(f"{rhel.id('5.14.0-999')}+0-3.conf"))
    rhel.system.ok("once", "16k")
    assert rhel.env()["next_entry"] == rhel.id("5.14.0-999") + "+0-3"


@pytest.mark.parametrize("counter, success, second", [("0", "0", True), ("-1", "0", True), ("1", "0", False),
                                                      ("0", "1", False)])
def test_fedoras_count_of_boots_is_respected(system, counter, success, second):
    tree = grub_trees.make(system, "fedora")
    tree.set_env(saved_entry=tree.id(tree.kernels[2][0]), boot_counter=counter, boot_success=success)
    assert next_id(tree) == tree.id(tree.kernels[1 if second else 2][0])
    assert ("boot_counter" in reason(tree)) == second


def test_a_policy_is_in_the_block_whatever_goes_before_it(system):
    tree = grub_trees.make(system, "fedora", lines=True)
    tree.set_own(granule_page_size="16k")
    for values in ({}, {"boot_counter": "0", "boot_success": "0"}):
        tree.set_env(**values)
        assert "16k (in the environment block)" in system.ok("status")
    tree.set_env()
    tree.set_own(granule_page_size="16k", next_entry="gone")
    assert "16k (in the environment block)" in system.ok("status")


def test_a_boot_that_was_found_in_order_ends_fedoras_count(system):
    tree = grub_trees.make(system, "fedora")
    release = "6.11.4-301.fc41.aarch64"
    tree.set_env(saved_entry=tree.id(release), boot_counter="1", boot_success="0")
    Boots(system).running("4k", release=release)
    tree.write("proc/cmdline", f"BOOT_IMAGE=(hd0,gpt2)/vmlinuz-{release} {tree.options}\n")
    done = system.run("verify", "--boot")
    assert done.returncode == 0, done
    assert tree.env()["boot_success"] == "1" and tree.env()["saved_entry"] == tree.id(release)


def test_a_policy_without_lines_moves_saved_entry_alone(rhel):
    rhel.system.with_variables()
    rhel.set_env(saved_entry=rhel.id("5.14.0-284.el9.aarch64"), kernelopts="mine", boot_success="1")
    out = rhel.system.ok("set", "64k")
    assert rhel.env() == {"saved_entry": rhel.id("5.14.0-362.el9.aarch64+64k"), "kernelopts": "mine", "boot_success": "1"}
    assert rhel.system.variable("GranulePolicy") == "64k" and "next boot: 64K pages" in out


@pytest.mark.parametrize("lines", [False, True])
def test_a_new_kernel_of_the_policy_becomes_the_default_by_the_hook(system, lines):
    tree = grub_trees.make(system, "rhel9", lines=lines)
    system.with_variables()
    tree.write("etc/kernel/tries", "2\n")
    system.ok("set", "64k")
    for release, size in (("5.14.0-400.el9.aarch64+64k", "64k"), ("5.14.0-401.el9.aarch64", "4k")):
        tree.add_kernel(release, size)
        tree.add_entry(release)
        system.ok("register", "--hook")
    new = tree.id("5.14.0-400.el9.aarch64+64k")
    stored = tree.own() if lines else tree.env()
    assert next_id(tree) == stored["saved_entry"] == new
    assert [stored.get(name) for name in ("granule_tries", "granule_tries_of")] == (["2", new] if lines else [None] * 2)
    system.ok("set", tree.id("5.14.0-284.el9.aarch64"))
    system.ok("register", "--hook")
    assert next_id(tree) == tree.id("5.14.0-284.el9.aarch64"), "a default of the owner's stays"


def test_a_kernel_package_that_would_move_the_default_is_said(rhel):
    rhel.system.with_variables()
    rhel.write("etc/sysconfig/kernel", "UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-core\n")
    done = rhel.system.run("set", "64k")
    assert done.returncode == 0 and "DEFAULTKERNEL" in done.stderr and "DEFAULTKERNEL" in notes(rhel)


@pytest.mark.parametrize("command", ["once", "set"])
def test_an_id_that_gnu_grub_takes_for_a_number_is_refused(system, command):
    tree = grub_trees.make(system, "rhel9")
    entry = next(e["id"] for e in of_release(tree, newest(tree, "64k")))
    digit = f"0{entry[1:]}"
    folder = tree.root / "boot/loader/entries"
    (folder / f"{entry}.conf").rename(folder / f"{digit}.conf")
    assert tree.system.run(command, digit).returncode == 0, "Red Hat's reads it whole"
    (tree.cfg_path.parent / "arm64-efi").mkdir()
    (tree.cfg_path.parent / "arm64-efi/blsuki.mod").touch()
    before = (tree.cfg_path.parent / "grubenv").read_bytes()
    result = tree.system.run(command, digit)
    assert result.returncode == 1 and "begins with a digit" in result.stderr
    assert (tree.cfg_path.parent / "grubenv").read_bytes() == before
