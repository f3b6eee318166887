# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd's own tools, of Debian 12 and 13, drive the boot manager from the guest: what they set is what boots, and what
they print agrees with `granule list`. Debian 13's ukify makes images that it lists and boots."""

import json
import os
import random
import re

import pytest

from guest import kernel, make_disk
from long_run import long, only_long
from machine import READY, Machine
from peer_guest import RELEASES, add_profiles, make_peer_initramfs, missing_peers, os_release, ukify
from test_boot_counting import LOADER, names, variable
from test_main_job import RELEASE, add_all_sizes, status

pytestmark = pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
DOWN = "\x1b[B"
# Of the older release in the long run only; the boot manager is the same.
each_release = pytest.mark.parametrize("release", ["13", long("12")])

# Words of `bootctl status` for the bits of LoaderFeatures, in both releases unless told.
FEATURES = {
    0: "Menu timeout control", 1: "One-shot menu timeout control", 2: "Default entry control",
    3: "One-shot entry control", 4: "Boot counting", 5: "Support for XBOOTLDR partition",
    6: "Support for passing random seed to OS", 7: "Load drop-in drivers", 8: "Support Type #1 sort-key field",
    9: "Support @saved pseudo-entry", 10: "Support Type #1 devicetree field",
}
FEATURES_257 = {11: "Enroll SecureBoot keys", 12: "Retain SHIM protocols", 13: "Menu can be disabled",
                14: "Multi-Profile UKIs are supported"}


@pytest.fixture(scope="session")
def initramfs(tmp_path_factory):
    path = tmp_path_factory.mktemp("initramfs") / "initrd"
    make_peer_initramfs(path)
    return path


class Peer:
    """The tools of one release in a running guest."""

    def __init__(self, machine, release):
        self.machine, self.release = machine, release

    def bootctl(self, arguments):
        return self.machine.ok(f"bootctl-{self.release} {arguments}")

    def bless(self, verb):
        """(exit code, output) of systemd-bless-boot."""
        return self.machine.run(f"systemd-bless-boot-{self.release} {verb}")

    def entries(self):
        """[(id, title, marks)] in the order of `bootctl list`."""
        found = []
        for block in self.bootctl("list").split("\n\n"):
            facts = {k: v for k, v in re.findall(r"^ *([a-z-]+): (.*)$", block, re.M)}
            title, marks = re.fullmatch(r"(.*?)((?: \([a-z/ ]+\))*)", facts["title"]).groups()
            # Case as in the file name; the loader's ids are lower case, and everybody compares case-blind.
            found.append((facts["id"].split(" (")[0].lower(), title, set(re.findall(r"\(([a-z/ ]+)\)", marks))))
        return found

    def marked(self, mark):
        return [entry_id for entry_id, _, marks in self.entries() if mark in marks]


def granule_entries(machine):
    return json.loads(machine.ok("granule list --json"))["entries"]


def granule_marked(machine, mark):
    return [e["id"] for e in granule_entries(machine) if e[mark]]


def loader_entries(machine):
    return variable(machine, "LoaderEntries").split("\0")


def assert_same_lists(machine, booted_since=True):
    """bootctl of both releases, `granule list` and, if the folder is as it was then, the loader: same entries, order and
    marks."""
    ours = [e for e in granule_entries(machine) if e["type"] != "auto"]
    if booted_since:
        assert [i for i in loader_entries(machine) if not i.startswith("auto-")] == [e["id"] for e in ours]
    for release in RELEASES:
        peer = Peer(machine, release)
        shown = peer.entries()
        assert [e[0] for e in shown if not e[0].startswith("auto-")] == [e["id"] for e in ours]
        assert peer.marked("selected") == granule_marked(machine, "running")
        assert peer.marked("default") == granule_marked(machine, "next"), f"bootctl {release}"


# ---- status ----


def test_status_names_the_boot_manager_and_its_features_as_published(esp, boot, state):
    add_all_sizes(esp)
    m = boot(state=state)
    out = m.ok(f"od -v -An -t x1 /sys/firmware/efi/efivars/LoaderFeatures-{LOADER}")
    features = int.from_bytes(bytes.fromhex(out.replace("\n", " "))[4:], "little")
    for release in RELEASES:
        shown = Peer(m, release).bootctl("status")
        assert re.search(r"^ +Product: granule-boot \d", shown, re.M)
        assert re.search(r"File: .*BOOTAA64\.EFI \(granule-boot \d", shown), "found by its mark in the file on the ESP"
        for bit, words in (FEATURES | FEATURES_257 if release == "13" else FEATURES).items():
            sign = re.search(rf"([+-]) {re.escape(words)}$", shown, re.M).group(1)
            assert (sign == "+") == bool(features >> bit & 1), words
        assert f"/dev/disk/by-partuuid/{variable(m, 'LoaderDevicePartUUID').lower()}" in shown
        assert re.search(r"id: test-4k\.conf$", shown, re.M), "the default entry"
    assert re.search(r"^Current Entry: test-4k\.conf$", shown, re.M)


# ---- list ----


def test_lists_agree_on_entries_order_and_marks(esp, boot, state):
    add_all_sizes(esp)
    esp.add_entry("no-keys", "/kernels/4k", "1")
    esp.add_entry("Upper", "/kernels/4k", "2", sort_key="20000", title="Upper case")
    esp.add_entry("counted+3", "/kernels/4k", "10", sort_key="20000")
    esp.add_entry("exhausted+0-3", "/kernels/64k", "99", sort_key="00000")
    esp.add_entry("machine", "/kernels/4k", "10", sort_key="20000", machine_id="0123456789abcdef0123456789abcdef")
    m = boot(state=state)
    assert_same_lists(m)
    assert [e["id"] for e in granule_entries(m) if e["type"] != "auto"][-1] == "exhausted.conf"
    m.ok("granule set test-64k")
    assert_same_lists(m)
    m.ok("granule once counted")
    assert_same_lists(m)
    m.reboot()
    assert status(m)["entry"] == "counted.conf"
    assert_same_lists(m)


# ---- what they set is what boots ----


@each_release
def test_set_default_by_id_by_pattern_and_back(esp, boot, state, release):
    add_all_sizes(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    peer.bootctl("set-default test-64k.conf")
    assert status(m)["next"]["id"] == "test-64k.conf" and peer.marked("default") == ["test-64k.conf"]
    for _ in range(2):
        m.reboot()
        assert (m.page_size(), status(m)["entry"]) == (65536, "test-64k.conf")
    peer.bootctl("set-default 'test-1*'")
    assert status(m)["next"]["id"] == "test-16k.conf" and peer.marked("default") == ["test-16k.conf"]
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (16384, "test-16k.conf")
    peer.bootctl("set-default @current")
    assert variable(m, "LoaderEntryDefault") == "test-16k.conf"
    peer.bootctl("set-default ''")
    assert variable(m, "LoaderEntryDefault") is None and status(m)["next"]["id"] == "test-4k.conf"
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")


@each_release
def test_set_oneshot_boots_once(esp, boot, state, release):
    add_all_sizes(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    peer.bootctl("set-oneshot test-64k.conf")
    assert status(m)["next"]["id"] == "test-64k.conf" and peer.marked("default") == ["test-64k.conf"]
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, "test-64k.conf")
    assert variable(m, "LoaderEntryOneShot") is None
    peer.bootctl("set-oneshot test-16k.conf")
    peer.bootctl("set-oneshot ''")
    assert variable(m, "LoaderEntryOneShot") is None
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (4096, "test-4k.conf")


def menu_seconds(machine):
    """How long the menu stood on the console of the boot that runs; None without a menu."""
    shown = variable(machine, "LoaderTimeMenuUSec")
    return shown and round((int(variable(machine, "LoaderTimeExecUSec")) - int(shown)) / 1e6)


@each_release
def test_set_timeout_oneshot_shows_the_menu_once(esp, boot, state, release):
    add_all_sizes(esp)
    m = boot(state=state)
    assert menu_seconds(m) is None
    Peer(m, release).bootctl("set-timeout-oneshot 7")
    m.reboot()
    assert variable(m, "LoaderConfigTimeoutOneShot") is None
    assert menu_seconds(m) == 7 and status(m)["entry"] == "test-4k.conf"
    m.reboot()
    assert menu_seconds(m) is None


@each_release
def test_set_timeout_wins_over_loader_conf_until_it_is_cleared(esp, boot, state, release):
    add_all_sizes(esp)
    (esp.path / "loader/loader.conf").write_text("timeout 2\n")
    m = boot(state=state)
    assert menu_seconds(m) == 2
    peer = Peer(m, release)
    peer.bootctl("set-timeout 5")
    for _ in range(2):
        m.reboot()
        assert menu_seconds(m) == 5
    peer.bootctl("set-timeout menu-hidden")
    m.reboot()
    assert menu_seconds(m) is None
    peer.bootctl("set-timeout ''")
    m.reboot()
    assert menu_seconds(m) == 2
    # Like a person who wants a word with the boot manager at the next boot: it waits without end.
    peer.bootctl("set-timeout-oneshot menu-force")
    m.reboot(wait=False)
    m.wait_for("test-64k")
    with pytest.raises(Exception, match="was not printed"):
        m.wait_for(READY, timeout=20)
    m.send("\r")
    m.wait_for(READY)
    assert status(m)["entry"] == "test-4k.conf"


def test_set_timeout_menu_disabled_ignores_keys(esp, boot, state):
    """Only release 13 knows the word, and asks for the loader's feature first."""
    add_all_sizes(esp)
    m = boot(state=state)
    Peer(m, "13").bootctl("set-timeout menu-disabled")
    m.reboot(wait=False)
    m.wait_for("BdsDxe: starting")
    m.send(" ")
    m.wait_for(READY)
    assert menu_seconds(m) is None and variable(m, "LoaderConfigTimeout") == "menu-disabled"


@each_release
def test_set_default_saved_boots_what_a_person_picked_last(esp, boot, state, release):
    add_all_sizes(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    peer.bootctl("set-default @saved")
    peer.bootctl("set-timeout-oneshot menu-force")
    m.reboot(wait=False)
    m.wait_for("test-64k")
    m.send(DOWN + "\r")
    m.wait_for(READY)
    assert (m.page_size(), variable(m, "LoaderEntryLastBooted")) == (16384, "test-16k.conf")
    peer.bootctl("set-oneshot test-64k.conf")
    for size in (65536, 16384):
        m.reboot()
        assert m.page_size() == size, "what boots once is not saved"


# ---- any machine ----


@pytest.mark.parametrize("seed", range(int(os.environ.get("GRANULE_SEEDS", 4))))
def test_what_bootctl_marks_as_default_is_what_boots(esp, boot, state, seed):
    """Entries and wishes by chance, set with either release. Left out is what bootctl does not know: kernels that are
    missing, and policies."""
    rng = random.Random(seed)
    for size in ("4k", "16k", "64k"):
        esp.add_file(f"/kernels/{size}", kernel(size))
    esp.add_entry("rescue", "/kernels/4k", "0", sort_key="z")
    ids = ["rescue.conf"]
    for i in range(rng.randint(2, 6)):
        size, counter = rng.choice(("4k", "16k", "64k")), rng.choice(["", "", "+2", "+0-2", "+3-1"])
        keys = {"sort_key": rng.choice("abc")} if rng.random() < 0.7 else {}
        if rng.random() < 0.3:
            keys["machine_id"] = rng.choice(("0" * 31 + "1", "f" * 32))
        esp.add_entry(f"{rng.choice('ab')}{i}-{size}{counter}", f"/kernels/{size}", rng.choice(["1", "1.9", "1.10~rc1"]), **keys)
    for path in (esp.path / "loader/entries").iterdir():
        ids.append(re.sub(r"\+.*", "", path.stem) + ".conf")
    m = boot(state=state)
    peer = Peer(m, rng.choice(list(RELEASES)))
    good = [e["id"] for e in granule_entries(m) if e["type"] == "type1" and e["state"] != "bad"]
    # An exhausted default is passed over here, and started by systemd-boot (test_parity.py).
    if rng.random() < 0.6:
        peer.bootctl(f"set-default '{rng.choice([*good, 'rescue*'])}'")
    if rng.random() < 0.5:
        peer.bootctl(f"set-oneshot {rng.choice(ids)}")
    assert_same_lists(m, booted_since=False)
    marked = peer.marked("default")
    m.reboot()
    assert [status(m)["entry"]] == marked
    assert_same_lists(m, booted_since=False)


# ---- extended boot loader partition ----


@only_long
def test_bootctl_and_bless_boot_work_on_the_extended_boot_loader_partition(esp, state, initramfs, tmp_path):
    add_all_sizes(esp)
    far = tmp_path / "far"
    (far / "loader/entries").mkdir(parents=True)
    (far / "kernel").write_bytes(kernel("64k").read_bytes())
    (far / "loader/entries/far+3.conf").write_text(
        "title Far\nversion 1\nsort-key 20000\nlinux /kernel\noptions console=ttyAMA0 panic=5\n")
    make_disk(tmp_path / "disk", esp.path, state, xbootldr=far)
    copy_initrd = "cp /efi/initrd /boot/initrd && echo 'initrd /initrd' >> /boot/loader/entries/far+3.conf"
    mount = "umount /boot; mount -t vfat /dev/vda3 /boot"
    with Machine(tmp_path, tmp_path / "disk") as m:
        m.start()
        m.ok(f"{mount} && {copy_initrd}")
        assert_same_lists(m)
        assert [e["volume"] for e in granule_entries(m) if e["id"] == "far.conf"] == ["xbootldr"]
        for release in RELEASES:
            Peer(m, release).bootctl("set-oneshot far.conf")
            m.ok("umount /boot")
            m.reboot()
            m.ok(mount)
            assert (m.page_size(), status(m)["entry"]) == (65536, "far.conf")
            assert_same_lists(m)
        assert names(m, "/boot/loader/entries") == ["far+1-2.conf"]
        assert Peer(m, "13").bless("status") == (0, "indeterminate")
        assert Peer(m, "13").bless("good")[0] == 0
        assert names(m, "/boot/loader/entries") == ["far.conf"]
        assert Peer(m, "12").bless("status") == (0, "good")


# ---- blessing ----


def add_trial(esp, suffix="+3"):
    add_all_sizes(esp)
    esp.add_entry(f"new{suffix}", "/kernels/64k", "9", sort_key="00000")


@each_release
def test_bless_boot_good_keeps_the_entry_for_good(esp, boot, state, release):
    add_trial(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    assert "new+2-1.conf" in names(m)
    assert peer.bless("status") == (0, "indeterminate")
    assert peer.bless("good")[0] == 0
    assert "new.conf" in names(m) and peer.bless("status") == (0, "good")
    assert_same_lists(m, booted_since=False)
    m.reboot()
    assert status(m)["entry"] == "new.conf" and "new.conf" in names(m)
    assert variable(m, "LoaderBootCountPath") is None and peer.bless("status") == (0, "clean")


@each_release
def test_bless_boot_bad_leads_back_to_the_last_good_entry(esp, boot, state, release):
    add_trial(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    assert peer.bless("bad")[0] == 0
    assert "new+0-1.conf" in names(m) and peer.bless("status") == (0, "bad")
    assert status(m)["next"]["id"] == "test-4k.conf"
    assert_same_lists(m, booted_since=False)
    m.reboot()
    assert status(m)["entry"] == "test-4k.conf" and "new+0-1.conf" in names(m)


@each_release
def test_bless_boot_indeterminate_takes_a_verdict_back(esp, boot, state, release):
    add_trial(esp)
    m = boot(state=state)
    peer = Peer(m, release)
    for verdict in ("good", "bad"):
        assert peer.bless(verdict)[0] == 0
        assert peer.bless("indeterminate")[0] == 0
        assert "new+2-1.conf" in names(m) and peer.bless("status") == (0, "indeterminate")
    m.reboot()
    assert "new+1-2.conf" in names(m) and status(m)["entry"] == "new.conf"


@each_release
def test_padded_counters_are_blessed_too(esp, boot, state, release):
    """bless-boot writes the numbers as it likes; what it finds is the file that the boot manager names."""
    add_trial(esp, "+03-00")
    m = boot(state=state)
    assert "new+02-01.conf" in names(m)
    peer = Peer(m, release)
    code, out = peer.bless("good")
    assert code == 0, out
    assert "new.conf" in names(m)
    m.reboot()
    assert status(m)["entry"] == "new.conf"


@each_release
def test_a_twin_without_counter_does_not_keep_the_machine_from_booting(esp, boot, state, release):
    """Another tool wrote the same entry without its counter: bless-boot cannot rename over it."""
    add_trial(esp)
    esp.add_entry("new", "/kernels/64k", "9", sort_key="00000")
    m = boot(state=state)
    assert status(m)["entry"] == "new.conf"
    Peer(m, release).bless("good")
    m.reboot()
    assert status(m)["entry"] == "new.conf" and "new.conf" in names(m)


# ---- images of ukify ----


@only_long
def test_ukify_images_are_listed_with_their_profiles_and_boot(esp, boot, state, initramfs, tmp_path):
    add_all_sizes(esp)
    common = {"os_release": os_release(ID="test", VERSION_ID="1", PRETTY_NAME="Test OS"), "initrd": initramfs}
    esp.add_file("/EFI/Linux/plain.efi", ukify(
        tmp_path / "plain", linux=kernel("16k"), uname=RELEASE["16k"], cmdline="console=ttyAMA0 panic=5 plain", **common))
    del common["initrd"]
    esp.add_file("/EFI/Linux/Multi+3.efi", add_profiles(
        tmp_path / "multi",
        {"profile": "ID=normal\nTITLE=Normal", "linux": kernel("4k"), "uname": RELEASE["4k"], "initrd": initramfs,
         "cmdline": "console=ttyAMA0 panic=5 first", **common},
        [{"profile": "ID=64k\nTITLE=64K pages", "linux": kernel("64k"), "uname": RELEASE["64k"],
          "cmdline": "console=ttyAMA0 panic=5 second", **common},
         {"profile": "TITLE=Quiet", "cmdline": "console=ttyAMA0 panic=5 third"}]))
    m = boot(state=state)
    images = [e for e in granule_entries(m) if e["type"] == "type2"]
    facts = ("id", "title", "version", "page_size", "options", "tries_left")
    assert [tuple(e[f] for f in facts) for e in images] == [
        ("plain.efi", "Test OS", "1", "16k", "console=ttyAMA0 panic=5 plain", None),
        ("multi.efi", "Test OS (Normal)", "1", "4k", "console=ttyAMA0 panic=5 first", 3),
        ("multi.efi@64k", "Test OS (64K pages)", "1", "64k", "console=ttyAMA0 panic=5 second", 3),
        ("multi.efi@2", "Test OS (Quiet)", "1", "4k", "console=ttyAMA0 panic=5 third", 3),
    ]
    assert [i for i in loader_entries(m) if ".efi" in i] == [e["id"] for e in images]
    # bootctl 257 gives the first profile, too, its name; the specification and newer ones do not. Release 12 knows no
    # profiles.
    theirs = [(i, t) for i, t, marks in Peer(m, "13").entries() if ".efi" in i and "reported/absent" not in marks]
    assert theirs == [(e["id"].replace("multi.efi", "multi.efi@normal") if e["profile"] == 0 else e["id"], e["title"])
                      for e in images]
    assert ("plain.efi", "Test OS") in [e[:2] for e in Peer(m, "12").entries()]

    peer, left = Peer(m, "13"), 3
    for entry_id, index, size, word in (("plain.efi", None, 16384, "plain"), ("multi.efi@64k", "1", 65536, "second"),
                                        ("multi.efi@2", "2", 4096, "third"), ("multi.efi@normal", "0", 4096, "first")):
        peer.bootctl(f"set-oneshot {entry_id}")
        wanted = entry_id.replace("@normal", "")
        assert status(m)["next"]["id"] == wanted
        m.reboot()
        assert (m.page_size(), status(m)["entry"]) == (size, wanted)
        assert m.ok("cat /proc/cmdline").split()[-1] == word
        assert peer.marked("selected")[-1:] in ([wanted], [entry_id])
        if index is not None:
            left -= 1
            assert variable(m, "StubProfile") in ([index] if index != "0" else ["0", None])
            assert names(m, "/efi/EFI/Linux")[0] == f"Multi+{left}-{3 - left}.efi"
            assert variable(m, "LoaderBootCountPath") == f"\\EFI\\Linux\\Multi+{left}-{3 - left}.efi"
    assert peer.bless("good")[0] == 0
    assert "Multi.efi" in names(m, "/efi/EFI/Linux")
    m.ok("granule set 64k")
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, status(m)["next"]["id"])


def test_a_damaged_ukify_image_gives_way_to_the_next_choice(esp, boot, tmp_path):
    """Each is named, but for files that are no image for this machine at all; and the default boots."""
    add_all_sizes(esp)
    image = ukify(tmp_path / "image", linux=kernel("64k"), uname=RELEASE["64k"], cmdline="console=ttyAMA0",
                  os_release=os_release(ID="a", VERSION_ID="1")).read_bytes()
    pe = int.from_bytes(image[0x3C:0x40], "little")

    def with_section(name, offset, value):
        at = image.index(name, pe) + offset
        return image[:at] + value.to_bytes(4, "little") + image[at + 4:]

    damaged = {
        "cut": image[:len(image) // 2],
        "elsewhere": with_section(b".linux\0", 20, 0x7FFFFF00),
        "huge": with_section(b".linux\0", 16, 0xFFFFFFFF),
    }
    esp.add_file("/EFI/Linux/empty.efi", b"")
    esp.add_file("/EFI/Linux/other.efi", image[:pe + 4] + b"\x64\x86" + image[pe + 6:])
    for name, data in damaged.items():
        esp.add_file(f"/EFI/Linux/{name}.efi", data)
    (esp.path / "loader/loader.conf").write_text("default *.efi\n")
    m = boot()
    assert variable(m, "LoaderEntrySelected") == "test-4k.conf"
    for name in damaged:
        assert f"granule-boot: {name}.efi: " in m.console, name
    assert not any(i.endswith(".efi") for i in loader_entries(m))
