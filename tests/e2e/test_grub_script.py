# SPDX-License-Identifier: GPL-2.0-or-later
"""What grub.d/09_granule writes, run by Debian's GRUB 2.06 and 2.12: which entry boots, by the command line of the kernel
that came up, and what is in the environment blocks afterwards."""

import re
import shutil

import pytest

from grub_script import (
    BLOCK, BOOT_UUID, VERSIONS, Tree, as_kernel, env_block, header_of_a_kernel, make_initrd, read_block, read_owners_block,
    variables, write_block, write_file,
)
from guest import BUILD
from long_run import long, only_long
from machine import READY, Machine
from peer_guest import missing_peers

pytestmark = pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
PROGRAM = BUILD / "aa64/tests/e2e/efi/arguments.efi"
OLD, NEW, WIDE, BROKEN, BACK = "6.1-4k", "6.2-4k", "6.1-64k", "6.0-16k", "5.9-16k"
ID = {OLD: "granule-6.1-4k-4k", NEW: "granule-6.2-4k-4k", WIDE: "granule-6.1-64k-64k", BROKEN: "granule-6.0-16k-16k",
      BACK: "granule-5.9-16k-16k"}
KEY = "Press any key|any key to continue"


def make_tree(folder, version):
    tree = Tree(folder, version)
    make_initrd(tree.boot / "initrd")
    tree.add_kernel(OLD, 1)
    tree.add_kernel(NEW, 1)
    tree.add_kernel(WIDE, 3)
    tree.add_kernel(BROKEN, 2, header_of_a_kernel(2))
    tree.add_kernel(BACK, 2, as_kernel(PROGRAM, 2))
    tree.owners = [NEW, WIDE, OLD]
    return tree


class Bench:
    """A disk of its own for a test, as the tree was when the disk was made."""

    def __init__(self, folder, tree, disk):
        self.folder, self.tree, self.disk = folder, tree, disk
        self.machine, self.saved = None, dict(tree.settings)

    def menu(self, **settings):
        """Makes the menu anew with these settings of /etc/default/grub."""
        keywords = {k: settings.pop(k) for k in ("granule", "before", "behind") if k in settings}
        self.tree.settings.update(settings)
        self.tree.make_menu(**keywords)
        write_file(self.disk, "/boot/grub/grub.cfg", (self.tree.boot / "grub/grub.cfg").read_bytes())

    def block(self, **values):
        write_block(self.disk, env_block(**values))

    def owners_block(self, **values):
        write_file(self.disk, "/boot/grub/grubenv", env_block(**values))

    def stored(self):
        return variables(read_block(self.disk))

    def owners_stored(self):
        return variables(read_owners_block(self.disk))

    def boot(self, read_only=False, slow=False):
        """The command line of the kernel that comes up. GRUB waits for a key after an error: it is pressed."""
        with Machine(self.folder, self.disk) as m:
            m.icount = not slow
            m.read_only = read_only
            m.start(wait=False)
            while m.wait_for(f"{READY}|{KEY}")[0].group() != READY:
                m.send(" ")
            self.console = m.console
            assert "Exception" not in m.console
            words = m.ok("cat /proc/cmdline")
            m.run("sync")
        return words

    def end(self):
        self.tree.settings = self.saved


@pytest.fixture(scope="module", params=[long(v) if v == "2.06" else v for v in VERSIONS])
def template(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grub" + request.param)
    tree = make_tree(folder, request.param)
    tree.make_menu()
    tree.make_disk(folder / "disk")
    return tree, folder / "disk"


@pytest.fixture
def bench(template, tmp_path):
    tree, disk = template
    shutil.copy(disk, tmp_path / "disk")
    bench = Bench(tmp_path, tree, tmp_path / "disk")
    yield bench
    bench.end()


def entry(words):
    """Which entry booted, by the word of its own."""
    found = re.search(r" (?:granule\.entry|owner)=(\S+)", words)
    return found.group(1).split(",")[0]


def chosen(words):
    found = re.search(r" granule\.chosen=(\S+)", words)
    return found.group(1) if found else None


def failed(words):
    return re.findall(r" granule\.failed=(\S+)", words)


# ---- without a wish ----

@only_long
def test_without_a_block_the_owners_default_boots_as_without_granule(bench):
    words = bench.boot()
    assert entry(words) == "simple" and "granule" not in words
    assert "error" not in bench.console


@only_long
@pytest.mark.parametrize("default, booted", [
    ("1>1", f"advanced-{WIDE}"), ("advanced>2", f"advanced-{OLD}"), (f"advanced>advanced-{OLD}", f"advanced-{OLD}"),
    ("granule-64k", ID[WIDE])])
def test_a_default_of_the_settings_means_what_it_meant(bench, default, booted):
    bench.menu(GRUB_DEFAULT=default)
    assert entry(bench.boot()) == booted


@only_long
def test_a_saved_number_means_what_it_meant_and_so_does_none(bench):
    bench.menu(GRUB_DEFAULT="saved")
    bench.owners_block(saved_entry="1>2")
    assert entry(bench.boot()) == f"advanced-{OLD}"
    assert bench.owners_stored() == {"saved_entry": "1>2"}
    bench.owners_block(other="x")
    assert entry(bench.boot()) == "simple"


# ---- one-shot ----

def test_a_one_shot_is_cleared_and_booted_with_its_words_once(bench):
    bench.block(next_entry=ID[OLD], granule_options="panic=7 x=1", saved_entry=ID[WIDE], other="kept")
    words = bench.boot()
    assert entry(words) == ID[OLD] and chosen(words) == f"oneshot:{ID[OLD]}"
    assert " panic=7 x=1 " in words
    assert bench.stored() == {"saved_entry": ID[WIDE], "other": "kept"}
    words = bench.boot()
    assert entry(words) == ID[WIDE] and chosen(words) == f"default:{ID[WIDE]}" and "panic=7" not in words


def test_a_one_shot_that_cannot_be_cleared_is_not_obeyed(bench):
    bench.block(next_entry=ID[OLD], saved_entry=ID[WIDE])
    words = bench.boot(read_only=True)
    assert entry(words) == ID[WIDE] and chosen(words) == f"default:{ID[WIDE]}"
    assert "one-shot: cannot be cleared" in bench.console
    assert bench.stored()["next_entry"] == ID[OLD]


@only_long
def test_a_one_shot_names_entries_of_other_scripts_by_their_paths(bench):
    bench.block(next_entry=f"advanced>advanced-{OLD}", granule_options="panic=7")
    words = bench.boot()
    assert entry(words) == f"advanced-{OLD}"
    assert bench.stored() == {}


@only_long
def test_a_one_shot_for_an_entry_that_is_gone_leaves_the_default(bench):
    bench.block(next_entry="granule-5.0-4k", saved_entry=ID[WIDE])
    words = bench.boot()
    assert entry(words) == ID[WIDE] and "no entry granule-5.0-4k" in bench.console
    assert bench.stored() == {"saved_entry": ID[WIDE]}


@only_long
def test_a_one_shot_for_an_entry_of_another_script_that_is_gone_boots_the_first_entry(bench):
    """What `granule status` says as well. Granule's lines stand before the entries of other scripts, and cannot know
    them."""
    bench.block(next_entry="gone>entry", saved_entry=ID[OLD])
    assert entry(bench.boot()) == ID[NEW]
    assert bench.stored() == {"saved_entry": ID[OLD]}


@only_long
def test_a_damaged_block_is_passed_over(bench):
    write_block(bench.disk, b"next_entry=" + ID[OLD].encode() + b"\n")
    assert entry(bench.boot(slow=True)) == "simple"


@only_long
def test_a_one_shot_is_not_remembered_by_savedefault(bench):
    bench.menu(GRUB_DEFAULT="saved", GRUB_SAVEDEFAULT="yes")
    bench.owners_block(saved_entry="simple")
    bench.block(next_entry=ID[OLD])
    assert entry(bench.boot()) == ID[OLD]
    assert bench.owners_stored() == {"saved_entry": "simple"}
    assert entry(bench.boot()) == "simple"
    bench.block(saved_entry=ID[OLD])
    assert entry(bench.boot()) == ID[OLD]
    assert bench.owners_stored() == {"saved_entry": f"granule>{ID[OLD]}"}


# ---- default, policy, tries ----

@only_long
def test_a_policy_boots_the_newest_of_its_size_unless_an_entry_is_the_default(bench):
    bench.block(granule_page_size="64k")
    words = bench.boot()
    assert entry(words) == ID[WIDE] and chosen(words) == f"policy:{ID[WIDE]}"
    bench.block(granule_page_size="4k")
    assert chosen(bench.boot()) == f"policy:{ID[NEW]}"
    bench.block(granule_page_size="64k", saved_entry=ID[OLD])
    assert chosen(bench.boot()) == f"default:{ID[OLD]}"


def test_tries_are_counted_down_and_then_the_good_entry_boots(bench):
    bench.block(granule_page_size="64k", granule_tries="2", granule_good=ID[OLD])
    for left in ("1", "0"):
        assert chosen(bench.boot()) == f"policy:{ID[WIDE]}"
        assert bench.stored()["granule_tries"] == left
    assert chosen(bench.boot()) == f"good:{ID[OLD]}"
    assert bench.stored() == {"granule_page_size": "64k", "granule_tries": "0", "granule_good": ID[OLD]}


@only_long
def test_a_try_that_cannot_be_counted_is_not_made(bench):
    bench.block(saved_entry=ID[WIDE], granule_tries="2", granule_good=ID[OLD])
    assert chosen(bench.boot(read_only=True)) == f"good:{ID[OLD]}"


@only_long
def test_the_good_entry_takes_the_place_of_a_policy_without_an_entry_but_not_of_the_owners_default(bench):
    for name in (BROKEN, BACK):
        (bench.tree.boot / f"vmlinuz-{name}").rename(bench.tree.boot / f"hidden-{name}")
    try:
        bench.menu()
    finally:
        for name in (BROKEN, BACK):
            (bench.tree.boot / f"hidden-{name}").rename(bench.tree.boot / f"vmlinuz-{name}")
    bench.block(granule_page_size="16k", granule_good=ID[OLD])
    assert chosen(bench.boot()) == f"good:{ID[OLD]}" and "no entry for 16k" in bench.console
    bench.block(granule_good=ID[OLD])
    assert entry(bench.boot()) == "simple"


@only_long
def test_the_policy_of_the_menu_holds_when_the_block_is_gone(bench):
    write_file(bench.disk, "/boot/grub/grubenv", env_block(other="x"))
    block = bench.tree.efi / BLOCK
    block.write_bytes(env_block(granule_page_size="64k"))
    bench.menu()
    block.unlink()
    assert chosen(bench.boot()) == f"policy:{ID[WIDE]}"


# ---- entries that cannot be started ----

def test_what_cannot_be_started_leads_to_the_default_and_is_told(bench):
    bench.block(next_entry=ID[BROKEN], saved_entry=ID[WIDE])
    words = bench.boot(slow=True)
    assert entry(words) == ID[WIDE] and chosen(words) == f"default:{ID[WIDE]}"
    assert failed(words) == [ID[BROKEN]]
    assert bench.stored() == {"saved_entry": ID[WIDE]}


@only_long
def test_each_stage_is_left_once_until_the_owners_default(bench):
    write_file(bench.disk, f"/boot/vmlinuz-{WIDE}", b"no kernel" * 1000)
    write_file(bench.disk, f"/boot/initrd.img-{OLD}", b"")
    bench.block(next_entry=ID[BROKEN], granule_page_size="64k", granule_good="granule-5.0-4k")
    words = bench.boot(slow=True)
    assert entry(words) == "simple"
    assert bench.stored() == {"granule_page_size": "64k", "granule_good": "granule-5.0-4k"}


@only_long
def test_the_good_entry_boots_when_one_shot_and_default_cannot_be_started(bench):
    write_file(bench.disk, f"/boot/vmlinuz-{WIDE}", b"no kernel" * 1000)
    bench.block(next_entry=ID[BROKEN], saved_entry=ID[WIDE], granule_good=ID[OLD])
    words = bench.boot(slow=True)
    assert chosen(words) == f"good:{ID[OLD]}" and failed(words) == [ID[BROKEN], ID[WIDE]]


@only_long
def test_an_entry_of_another_scripts_submenu_that_cannot_be_started_leads_on(bench):
    write_file(bench.disk, f"/boot/vmlinuz-{WIDE}", b"no kernel" * 1000)
    bench.block(next_entry=f"advanced>advanced-{WIDE}", saved_entry=ID[OLD])
    words = bench.boot(slow=True)
    assert entry(words) == ID[OLD] and failed(words) == [f"advanced>advanced-{WIDE}"]


@only_long
def test_the_owners_default_that_cannot_be_started_leads_to_entries_of_page_sizes(bench):
    bench.menu(GRUB_DEFAULT="granule-16k")
    assert entry(bench.boot(slow=True)) == ID[NEW]


@only_long
def test_a_flat_menu_does_the_same(bench):
    bench.menu(GRUB_DISABLE_SUBMENU="y", GRUB_DISABLE_RECOVERY="true")
    bench.block(next_entry=ID[BROKEN], saved_entry=ID[WIDE])
    words = bench.boot(slow=True)
    assert chosen(words) == f"default:{ID[WIDE]}" and failed(words) == [ID[BROKEN]]
    bench.block()
    assert entry(bench.boot()) == "simple"


@pytest.mark.parametrize("values, rule, left", [
    ({"next_entry": ID[BACK], "saved_entry": ID[WIDE]}, "default", {"saved_entry": ID[WIDE]}),
    ({"saved_entry": ID[BACK], "granule_good": ID[WIDE]}, "good",
     {"saved_entry": ID[BACK], "granule_good": ID[WIDE], "granule_tries": "0"}),
    long({"saved_entry": ID[BROKEN], "granule_good": ID[BACK]}, None, {"saved_entry": ID[BROKEN]})])
def test_a_kernel_that_comes_back_ends_its_stage_with_a_reboot(bench, values, rule, left):
    """As one does that finds its page size missing in the CPU. GRUB 2.12 of Debian could start no other one then."""
    bench.block(**values)
    words = bench.boot(slow=True)
    assert chosen(words) == (rule and f"{rule}:{ID[WIDE]}") and f"{ID[BACK]} came back; rebooting" in bench.console
    assert bench.stored() == left


# ---- what is the owner's ----

def test_grub_reboot_goes_first_and_ends_a_one_shot_of_granules(bench):
    bench.owners_block(next_entry=f"advanced>advanced-{WIDE}", mine="1")
    bench.block(next_entry=ID[OLD], granule_options="panic=7", saved_entry=ID[NEW])
    assert entry(bench.boot()) == f"advanced-{WIDE}"
    assert bench.owners_stored() == {"next_entry": "", "mine": "1"}
    assert bench.stored() == {"saved_entry": ID[NEW]}
    assert entry(bench.boot()) == ID[NEW]
    assert bench.owners_stored() == {"next_entry": "", "mine": "1"}


@only_long
def test_variables_of_grubs_own_block_stay_for_later_scripts(bench):
    behind = f"menuentry 'seen' --id seen {{\nsearch --no-floppy --fs-uuid --set=root {BOOT_UUID}\n" \
        f"linux /boot/vmlinuz-{OLD} console=ttyAMA0 owner=$saved_entry,$next_entry.\ninitrd /boot/initrd.img-{OLD}\n}}\n"
    bench.menu(behind=behind)
    bench.owners_block(saved_entry="mine")
    bench.block(next_entry="seen", saved_entry=ID[WIDE])
    assert " owner=mine,." in bench.boot()


@only_long
def test_a_number_for_grub_reboot_means_what_it_meant(bench):
    bench.owners_block(next_entry="1>2")
    assert entry(bench.boot()) == f"advanced-{OLD}"


# ---- where the block is ----

@only_long
def test_the_block_may_lie_in_grubs_folder(bench):
    shutil.move(bench.tree.efi, bench.tree.root / "elsewhere")
    try:
        bench.menu()
    finally:
        shutil.move(bench.tree.root / "elsewhere", bench.tree.efi)
    write_file(bench.disk, "/boot/grub/granule.env", env_block(next_entry=ID[OLD], granule_page_size="64k"))
    assert chosen(bench.boot()) == f"oneshot:{ID[OLD]}"
    assert chosen(bench.boot()) == f"policy:{ID[WIDE]}"


# ---- the command line ----

OPTIONS = r'''quiet dyndbg="file a.c +p" a=\"b c=d\ e f='g $h' i=$unset.j k="\$l" m="n 'o' p" q\;r {s} t=u;v'''


def test_options_arrive_as_those_of_10_linux_and_nothing_in_them_is_run(bench):
    """All but the last words, which would end the command there."""
    plain = OPTIONS.rsplit(" ", 2)[0]
    behind = f"menuentry 'raw' --id raw {{\nsearch --no-floppy --fs-uuid --set=root {BOOT_UUID}\n" \
        f"linux /boot/vmlinuz-{OLD} console=ttyAMA0 owner=raw {plain}\ninitrd /boot/initrd.img-{OLD}\n}}\n"
    bench.menu(GRUB_CMDLINE_LINUX_DEFAULT=OPTIONS, behind=behind, GRUB_DEFAULT="raw")
    raw = bench.boot().split("owner=raw ")[1]
    bench.block(next_entry=ID[OLD])
    ours = bench.boot()
    ours = ours[ours.index("quiet"):ours.index(" granule.entry")]
    assert ours == f"{raw} {{s}} t=u;v"


@only_long
def test_arguments_reach_an_efi_program(bench):
    """As entries for granule's images have them."""
    behind = f"menuentry 'program' --id program {{\nsearch --no-floppy --fs-uuid --set=root {BOOT_UUID}\n" \
        f"chainloader /boot/vmlinuz-{BACK} arm64.pagesize=64k 'a b' c=\"d\" $granule_options\n}}\n"
    bench.menu(behind=behind)
    bench.block(next_entry="program", granule_options="panic=7")
    with Machine(bench.folder, bench.disk) as m:
        _, before = m.start(wait=False).wait_for("@@END")
    printed = before.split("@@ARGUMENTS\n")[1].replace("\n", "")
    assert printed == "arm64.pagesize=64k a b c=d panic=7 granule.chosen=oneshot:program"
