# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job on real kernels under real firmware: choose a page size, boot it, verify it."""

import json
import re
from pathlib import Path

import pytest

from guest import SETUP, copy_to_esp, kernel, kernel_folder, output, read_from_esp, with_header_page_size, with_release
from machine import ARM64_FIRMWARE, WITHOUT_16K

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)
NEEDS_BOOT_ENTRIES = pytest.mark.not_on("uboot", "a running system cannot write boot entries there")

RELEASE = {s: (kernel_folder() / s / "release").read_text().strip() if kernel(s).exists() else "" for s in
           ("4k", "16k", "64k")}
BYTES = {"4k": 4096, "16k": 16384, "64k": 65536}


def newer(size):
    """A kernel of the same build that calls itself one release newer: (release, image)."""
    release = re.sub(r"\.(\d+)-", lambda m: f".{int(m.group(1)) + 1}-", RELEASE[size])
    return release, with_release(kernel(size).read_bytes(), release)


def add_all_sizes(esp):
    for size in ("4k", "16k", "64k"):
        esp.add_file(f"/kernels/{size}", kernel(size))
        # The class in the sort key: the 4K entry leads the menu and is the default of a machine without wishes.
        esp.add_entry(f"test-{size}", f"/kernels/{size}", RELEASE[size], sort_key=f"{BYTES[size]:05}")


def status(machine):
    return json.loads(machine.ok("granule status --json"))


def verify(machine, arguments=""):
    code, out = machine.run(f"granule verify --json {arguments}")
    return code, json.loads(out)


def test_once_64k_boots_64k_once_and_never_changes_the_default(esp, boot):
    add_all_sizes(esp)
    m = boot()
    assert m.page_size() == 4096
    assert m.run("granule verify")[0] == 3, "nothing was asked for yet"
    m.ok("granule once 64k")
    assert status(m)["next"]["id"] == "test-64k.conf"
    entries = [e for e in json.loads(m.ok("granule list --json"))["entries"] if e["type"] != "auto"]
    assert [(e["id"], e["running"], e["default"], e["next"]) for e in entries] == [
        ("test-4k.conf", True, True, False),
        ("test-16k.conf", False, False, False),
        ("test-64k.conf", False, False, True),
    ]

    m.reboot()
    assert m.page_size() == 65536
    # The kernel complains when it is not loaded at its own section alignment, which is 64 KiB.
    assert "FIRMWARE BUG" not in m.console
    code, v = verify(m)
    assert code == 0 and v["ok"] and v["page_size"] == v["expected"] == 65536 and v["entry"] == "test-64k.conf"
    assert m.run("ls /sys/firmware/efi/efivars | grep -c -e LoaderEntryOneShot -e LoaderEntryDefault")[1] == "0"
    assert m.run("grep -q next_entry /efi/EFI/granule/grubenv")[0] != 0
    assert status(m)["next"]["id"] == "test-4k.conf"

    m.reboot()
    assert m.page_size() == 4096
    assert status(m)["entry"] == "test-4k.conf"


def test_set_16k_holds_over_boots_and_kernel_updates(esp, boot, tmp_path):
    add_all_sizes(esp)
    m = boot()
    m.ok("granule set 16k")
    for _ in range(2):
        m.reboot()
        assert m.page_size() == 16384
        assert verify(m)[0] == 0

    def update(size, sort_key):
        """A kernel update: a newer kernel of that size appears on the ESP. Returns its release."""
        release, image = newer(size)
        m.power_off()
        # What `set` wrote there stays.
        (esp.path / "loader/loader.conf").unlink(missing_ok=True)
        esp.add_file(f"/kernels/{size}-new", image)
        esp.add_entry(f"test-{size}-new", f"/kernels/{size}-new", release, sort_key=sort_key)
        copy_to_esp(m.disk, esp.path)
        m.start()
        return release

    update("4k", sort_key="00000")
    assert (m.page_size(), status(m)["entry"]) == (16384, "test-16k.conf"), "a newer 4K kernel changes nothing"
    release = update("16k", sort_key="99999")
    assert (m.page_size(), status(m)["entry"]) == (16384, "test-16k-new.conf"), "a newer 16K kernel is taken"
    assert m.ok("uname -r") == release
    assert verify(m)[0] == 0


def test_set_by_id_and_back_to_none(esp, boot):
    add_all_sizes(esp)
    m = boot()
    m.ok("granule set 16k")
    out = m.ok("granule set test-64k")
    assert re.search(r"next boot: 64K pages, default entry( of loader\.conf)?\n +test-64k\.conf", out)
    m.reboot()
    assert m.page_size() == 65536 and verify(m)[0] == 0
    out = m.ok("granule set 16k")
    assert re.search(r"cleared LoaderEntryDefault \(was test-64k\.conf\)|removed default from .*loader\.conf", out)
    m.reboot()
    assert m.page_size() == 16384
    m.ok("granule set none")
    m.reboot()
    assert m.page_size() == 4096 and m.run("granule verify")[0] == 3


def test_a_cpu_without_16k_boots_another_size_and_verify_names_the_cpu(esp, boot):
    add_all_sizes(esp)
    m = boot()
    m.ok("granule set 16k")
    m.power_off()
    # The disk and the firmware's variables move to a machine with another CPU.
    m.cpu = WITHOUT_16K
    m.start()
    assert m.page_size() == 4096
    assert re.search(r"policy 16k: this CPU lacks 16K pages", m.console)
    code, v = verify(m)
    assert code == 1 and v["broken_link"] == "cpu" and "16K" in v["message"]
    assert status(m)["cpu_granules"] == ["4k", "64k"]
    entries = {e["id"]: e for e in json.loads(m.ok("granule list --json"))["entries"]}
    assert not entries["test-16k.conf"]["supported"] and entries["test-64k.conf"]["supported"]
    code, out = m.run("granule once 16k")
    assert code == 1 and "this CPU lacks 16K pages" in out


def truncated(image):
    return image[: len(image) // 2]


def other_architecture(image):
    """The same file with the machine type of x86-64 in its PE header."""
    at = int.from_bytes(image[0x3C:0x40], "little") + 4
    return image[:at] + b"\x64\x86" + image[at + 2:]


def refuses_to_run(image):
    """Its stub is replaced by code that returns EFI_ABORTED at once."""
    pe = int.from_bytes(image[0x3C:0x40], "little")
    entry = int.from_bytes(image[pe + 24 + 16: pe + 24 + 20], "little")
    code = bytes.fromhex(
        "a00280d2"  # mov x0, #21
        "0000f0f2"  # movk x0, #0x8000, lsl #48
        "c0035fd6"  # ret
    )
    return image[:entry] + code + image[entry + len(code):]


@pytest.mark.parametrize(
    "damage, why",
    [
        (None, "not found"),
        (truncated, "file is truncated"),
        (other_architecture, "made for another architecture"),
        (refuses_to_run, "came back: aborted"),
        (lambda image: b"hello, I am a text file\n", "not a kernel"),
    ],
    ids=["missing", "truncated", "other-architecture", "returns-an-error", "no-kernel"],
)
def test_a_kernel_that_cannot_be_started_gives_way_to_the_next_choice(esp, boot, damage, why):
    add_all_sizes(esp)
    if damage:
        esp.add_file("/kernels/broken", damage(kernel("64k").read_bytes()))
    esp.add_entry("test-64k-broken", "/kernels/broken", "9.0", sort_key="00001")
    (esp.path / "loader/loader.conf").write_text("default test-64k-broken.conf\n")
    m = boot()
    assert m.page_size() == 4096
    assert re.search(rf"test-64k-broken\.conf: /kernels/broken.*{why}", m.console), m.console
    assert any(why in f for f in status(m)["failures"])
    code, v = verify(m)
    assert code == 1 and v["broken_link"] == "entry" and why in v["message"]


def test_a_missing_initrd_gives_way_to_the_next_choice(esp, boot):
    add_all_sizes(esp)
    esp.add_entry("test-64k-no-initrd", "/kernels/64k", "9.0", sort_key="00001", initrd="/nowhere")
    m = boot()
    assert m.page_size() == 4096
    assert "test-64k-no-initrd.conf: /nowhere: not found" in m.console


def test_nothing_to_start_returns_to_firmware_with_one_line(esp, boot):
    m = boot(wait=False)
    m.wait_for("no entries in loader/entries, back to firmware")


def test_several_initrds_reach_the_kernel_in_order(esp, boot, tmp_path):
    from guest import Cpio

    add_all_sizes(esp)
    for name, size in (("first", 3), ("second", 5)):
        more = Cpio()
        more.file(f"{name}.txt", b"x" * size, 0o100644)
        more.file("both.txt", name.encode(), 0o100644)
        data = more.finish()
        # An odd size: the loader pads between files.
        esp.add_file(f"/{name}.cpio", data + b"\0" * 5)
    esp.add_entry("test-0", "/kernels/4k", "9.0", sort_key="00000", initrd="/initrd\ninitrd /first.cpio\ninitrd /second.cpio")
    m = boot()
    assert status(m)["entry"] == "test-0.conf"
    assert m.ok("cat /first.txt /second.txt /both.txt") == "xxx" + "xxxxx" + "second"


@pytest.fixture
def selectable(esp, state, initramfs, config_folder):
    """A 64K kernel whose header leaves the page size open and whose configuration says that it can be chosen: what
    a kernel with boot-time page size selection looks like, but one that ignores the parameter."""
    release = "6.1.999-sel"
    (state / f"boot/vmlinuz-{release}").write_bytes(with_header_page_size(kernel("64k").read_bytes(), 0))
    banner = RELEASE["64k"]
    config = (config_folder / "64k/config").read_text() + "CONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y\n"
    (state / f"boot/config-{banner}").write_text(config)
    (state / f"boot/initrd.img-{release}").write_bytes(initramfs.read_bytes())
    return release


def test_a_selectable_kernel_gets_an_entry_per_size_with_exactly_one_token(esp, boot, state, selectable):
    add_all_sizes(esp)
    m = boot(state=state)
    m.ok("granule register")
    entries = {e["id"]: e for e in json.loads(m.ok("granule list --json"))["entries"] if e["kind"] == "selectable"}
    assert {e["page_size"] for e in entries.values()} == {"4k", "16k", "64k"}
    for e in entries.values():
        assert e["options"].startswith(f"arm64.pagesize={e['page_size']} ")

    m.ok(f"granule once test-{selectable}-64k")
    m.reboot()
    cmdline = m.ok("cat /proc/cmdline").split()
    assert cmdline[0] == "arm64.pagesize=64k"
    assert sum("pagesize" in w for w in cmdline) == 1
    assert verify(m)[0] == 0

    m.ok(f"granule once test-{selectable}-4k")
    m.reboot()
    assert m.ok("cat /proc/cmdline").split()[0] == "arm64.pagesize=4k"
    code, v = verify(m)
    assert code == 1 and v["broken_link"] == "kernel"
    assert "kernel ignored arm64.pagesize" in v["message"]


def test_kernels_are_listed_by_header_whatever_their_names_say(esp, boot, state, initramfs):
    add_all_sizes(esp)
    names = {"6.6-v8-16k+": "4k", "5.10.064k": "64k"}
    for name, size in names.items():
        (state / f"boot/vmlinuz-{name}").write_bytes(kernel(size).read_bytes())
        (state / f"boot/initrd.img-{name}").write_bytes(initramfs.read_bytes())
    m = boot(state=state)
    m.ok("granule register")
    sizes = {e["id"]: e["page_size"] for e in json.loads(m.ok("granule list --json"))["entries"]}
    assert sizes["test-6.6-v8-16k+-4k.conf"] == "4k"
    assert sizes["test-5.10.064k-64k.conf"] == "64k"
    m.ok("granule once test-6.6-v8-16k+-4k.conf")
    m.reboot()
    assert m.page_size() == 4096 and verify(m)[0] == 0


def test_registered_kernels_survive_unregister_of_others_and_the_running_one_stays(esp, boot, state, initramfs):
    add_all_sizes(esp)
    for size in ("4k", "64k"):
        (state / f"boot/vmlinuz-{RELEASE[size]}").write_bytes(kernel(size).read_bytes())
        (state / f"boot/initrd.img-{RELEASE[size]}").write_bytes(initramfs.read_bytes())
    m = boot(state=state)
    m.ok("granule register")
    m.ok(f"granule set test-{RELEASE['64k']}-64k")
    m.reboot()
    assert m.page_size() == 65536
    code, out = m.run(f"granule unregister test-{RELEASE['64k']}-64k")
    assert code == 1 and "running" in out
    m.ok(f"granule unregister test-{RELEASE['4k']}-4k")
    left = [e["id"] for e in json.loads(m.ok("granule list --json"))["entries"]]
    assert f"test-{RELEASE['4k']}-4k.conf" not in left and f"test-{RELEASE['64k']}-64k.conf" in left
    assert m.ok("ls /efi/test").split() == [RELEASE["64k"]]
    m.reboot()
    assert m.page_size() == 65536 and verify(m)[0] == 0


def without_fallback(esp, m):
    """Only a boot entry leads to granule-boot now."""
    m.power_off()
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", b"not a program")
    copy_to_esp(m.disk, esp.path)


def own_path(m):
    return m.ok("tr -d '\\0' < /sys/firmware/efi/efivars/LoaderImageIdentifier-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")


@NEEDS_BOOT_ENTRIES
def test_install_makes_firmware_start_granule_boot_from_its_own_folder(esp, boot):
    add_all_sizes(esp)
    m = boot()
    out = m.ok("granule install")
    assert "added the boot entry" in out and "first in BootOrder" in out
    assert "nothing to change" in m.ok("granule install")
    without_fallback(esp, m)
    m.start()
    assert m.page_size() == 4096
    assert own_path(m).endswith("\\EFI\\granule\\granule-bootaa64.efi")
    code, out = m.run("granule install --removable")
    assert code == 1 and "was not written by granule" in out
    assert read_from_esp(m.disk, "/EFI/BOOT/BOOTAA64.EFI") == b"not a program"


@NEEDS_BOOT_ENTRIES
def test_install_once_tries_the_boot_manager_for_one_boot(esp, boot):
    add_all_sizes(esp)
    m = boot()
    out = m.ok("granule install --once")
    assert "set BootNext" in out and "BootOrder" not in out
    m.reboot()
    assert own_path(m).endswith("\\EFI\\granule\\granule-bootaa64.efi")
    m.reboot()
    assert own_path(m).upper().endswith("\\EFI\\BOOT\\BOOTAA64.EFI"), "the boot after that is as before"


@NEEDS_BOOT_ENTRIES
def test_the_first_steps_of_the_readme_lead_from_systemd_boot_to_granule_boot(esp, boot):
    peer = Path(output(SETUP / "peers.sh", "--path", "trixie-arm64"), "usr/lib/systemd/boot/efi/systemd-bootaa64.efi")
    if not peer.exists():
        pytest.skip(f"missing: {peer} (make peers)")
    add_all_sizes(esp)
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", peer)
    conf = "timeout 0\ndefault test-16k.conf\n"
    (esp.path / "loader/loader.conf").write_text(conf)
    m = boot()
    assert status(m)["loader"].startswith("systemd-boot") and m.page_size() == 16384
    m.ok("granule set test-16k")
    m.ok("granule install --once")
    assert "next start: granule-boot once (BootNext)" in m.ok("granule")
    m.reboot()
    assert own_path(m).endswith("granule-bootaa64.efi") and verify(m)[0] == 0 and m.page_size() == 16384
    assert "next start" not in m.ok("granule")
    m.ok("granule install")
    m.ok("granule set 64k")
    m.reboot()
    assert own_path(m).endswith("granule-bootaa64.efi") and verify(m)[0] == 0 and m.page_size() == 65536


@pytest.mark.not_on("edk2", "its boot entries can be written")
def test_install_without_boot_entries_names_the_place_where_firmware_looks(esp, boot):
    add_all_sizes(esp)
    m = boot()
    code, out = m.run("granule install")
    assert code == 1 and "no boot entry was added" in out and "--removable" in out
    # An older boot manager of ours is replaced.
    m.ok("printf old >> /efi/EFI/BOOT/BOOTAA64.EFI")
    out = m.ok("granule install --removable")
    assert "wrote /efi/EFI/BOOT/BOOTAA64.EFI" in out
    assert m.run("granule install --removable --once")[0] == 1
    m.reboot()
    assert m.page_size() == 4096 and own_path(m).upper().endswith("\\EFI\\BOOT\\BOOTAA64.EFI")


def test_boot_loader_interface_is_published(esp, boot):
    add_all_sizes(esp)
    m = boot()
    loader = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    names = m.ok("ls /sys/firmware/efi/efivars")
    for name in ("LoaderInfo", "LoaderFeatures", "LoaderEntries", "LoaderEntrySelected", "LoaderTimeInitUSec",
                 "LoaderTimeExecUSec", "LoaderDevicePartUUID", "LoaderImageIdentifier", "LoaderFirmwareInfo",
                 "LoaderFirmwareType"):
        assert f"{name}-{loader}" in names, name

    def text(name, vendor=loader):
        out = m.ok(f"od -v -An -t x1 /sys/firmware/efi/efivars/{name}-{vendor}")
        return bytes.fromhex(out.replace("\n", " "))[4:].decode("utf-16-le")

    assert text("LoaderInfo").startswith("granule-boot ")
    # What the loader offers by itself comes behind.
    ids = text("LoaderEntries").split("\0")
    assert ids[:3] == ["test-4k.conf", "test-16k.conf", "test-64k.conf"]
    assert all(i.startswith("auto-") for i in ids[3:-1])
    assert text("LoaderEntrySelected") == "test-4k.conf\0"
    assert text("LoaderDevicePartUUID").lower() == "6d2a1f0c-55a1-4c9e-8f35-0123456789ab\0"
    assert text("LoaderImageIdentifier").upper() == "\\EFI\\BOOT\\BOOTAA64.EFI\0"
    assert 0 < int(text("LoaderTimeInitUSec")[:-1]) <= int(text("LoaderTimeExecUSec")[:-1])
    out = m.ok(f"od -v -An -t x1 /sys/firmware/efi/efivars/LoaderFeatures-{loader}")
    features = int.from_bytes(bytes.fromhex(out)[4:], "little")
    assert features == sum(1 << bit for bit in (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 18, 19, 22))


@pytest.mark.not_on("edk2", "this machine has ACPI there, and no device tree")
def test_where_a_system_reads_no_variables_the_device_tree_tells_of_the_boot(esp, boot):
    add_all_sizes(esp)
    m = boot()
    m.ok("umount /sys/firmware/efi/efivars")
    out = m.ok("granule once 64k")
    assert "next_entry" in out and "if granule-boot is started" not in out
    m.reboot()
    m.ok("umount /sys/firmware/efi/efivars")
    code, v = verify(m)
    assert code == 0 and v["entry"] == "test-64k.conf" and m.page_size() == 65536
    s = status(m)
    assert s["loader"] == "granule-boot" and s["entry"] == "test-64k.conf" and s["cpu_granules"] == ["4k", "16k", "64k"]
    assert "one-shot (environment block)" in s["reason"] and s["next"]["id"] == "test-4k.conf"
    entries = json.loads(m.ok("granule list --json"))["entries"]
    assert [e["id"] for e in entries if e["running"]] == ["test-64k.conf"]
