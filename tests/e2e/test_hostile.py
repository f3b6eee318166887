# SPDX-License-Identifier: GPL-2.0-or-later
"""What must not keep a machine from booting: damaged files and file systems, odd variables, a person who walks away;
and the command must predict what the boot manager then does."""

import json
import os
import random
import shutil
import struct

import pytest

from guest import BUILD, Esp, kernel, unpack_guest
from machine import ARM64_FIRMWARE, READY, STARTS_LOADER, WITHOUT_16K
from peer_guest import add_profiles, missing_peers, os_release, ukify
from test_main_job import add_all_sizes, refuses_to_run, status, verify

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)


def test_a_debug_directory_of_absurd_size_is_refused_before_firmware_walks_it(esp, boot):
    add_all_sizes(esp)
    image = bytearray((BUILD / "granule-bootaa64.efi").read_bytes())
    (pe,) = struct.unpack_from("<I", image, 0x3C)
    struct.pack_into("<II", image, pe + 24 + 112 + 6 * 8, 0x1000, 0x80000000)
    esp.add_file("/kernels/bad", bytes(image))
    esp.add_entry("test-0bad", "/kernels/bad", "9", sort_key="00000", initrd=None)
    m = boot()
    assert "test-0bad.conf: /kernels/bad: value out of range" in m.console
    assert m.page_size() == 4096


def test_mutated_kernel_headers_never_stop_the_loader(esp, boot):
    """Its code only returns; so does each mutant that firmware still starts. At the end the good entry boots."""
    add_all_sizes(esp)
    rng = random.Random(64)
    image = refuses_to_run(kernel("4k").read_bytes())[:1 << 20]
    (pe,) = struct.unpack_from("<I", image, 0x3C)
    for i in range(60):
        mutant = bytearray(image)
        # Headers only: mutated code could do anything.
        for _ in range(rng.randint(1, 4)):
            mutant[rng.choice([*range(pe, pe + 24 + 112), *range(pe + 24 + 112, pe + 24 + 240 + 80)])] = rng.randrange(256)
        # Code and its address stay, so that what is started returns.
        mutant[pe + 24 + 16:pe + 24 + 20] = image[pe + 24 + 16:pe + 24 + 20]
        esp.add_file(f"/m/{i}", bytes(mutant))
        esp.add_entry(f"mutant-{i:02}", f"/m/{i}", "1", sort_key="00000", initrd=None)
    m = boot()
    assert m.page_size() == 4096
    assert m.console.count("granule-boot: mutant-") >= 60


@pytest.mark.not_on("uboot", "it starts nothing else when its boot option came back")
def test_when_every_entry_comes_back_a_system_that_firmware_starts_knows_it(esp, boot, tmp_path):
    """The last boot option starts a kernel without granule-boot: verify must not call that a success."""
    esp.add_file("/kernels/bad", refuses_to_run(kernel("4k").read_bytes()))
    esp.add_entry("only", "/kernels/bad", "1")
    (esp.path / "loader/loader.conf").write_text("page-size 4k\n")
    # EDK II's shell runs this file when no boot option is left. It can hand over no initrd: the guest is on the disk.
    unpack_guest(tmp_path / "root")
    esp.add_file("/direct.efi", kernel("4k"))
    esp.add_file("/startup.nsh", b"fs0:\r\n\\direct.efi root=/dev/vda2 rw init=/init console=ttyAMA0\r\n")
    m = boot(state=tmp_path / "root", wait=False)
    # It would spin for five seconds.
    m.wait_for("any other key to continue")
    m.send(" ")
    m.wait_for(READY)
    assert "no entry can be started, back to firmware" in m.console
    assert m.page_size() == 4096
    code, v = verify(m)
    assert code == 1 and v["broken_link"] == "loader" and "no entry" in v["message"]
    assert status(m)["entry"] is None


def test_one_shot_of_a_kernel_that_panics_leads_back_to_the_default(esp, boot):
    add_all_sizes(esp)
    esp.add_entry("panics", "/kernels/64k", "9", sort_key="99999", options="console=ttyAMA0 panic=1 init=/nowhere rdinit=/nowhere")
    m = boot(icount=False)
    m.ok("granule once panics")
    m.reboot(wait=False)
    m.wait_for("Kernel panic")
    m.wait_for(READY)
    assert m.page_size() == 4096 and status(m)["entry"] == "test-4k.conf"


def test_tries_are_counted_and_a_counting_that_was_cut_short_is_completed(esp, boot):
    """Where firmware renames no file, both names are there after a power cut in between."""
    add_all_sizes(esp)
    for name in ("new+3", "new+2-1"):
        esp.add_entry(name, "/kernels/64k", "9", sort_key="00000", title="new")
    m = boot()
    for left, done in ((2, 1), (1, 2)):
        assert m.page_size() == 65536
        assert m.ok("ls /efi/loader/entries | grep new") == f"new+{left}-{done}.conf"
        m.reboot()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_power_cut_at_any_time_after_once_boots_the_one_shot_or_the_default(esp, boot, seed):
    add_all_sizes(esp)
    m = boot()
    m.ok("granule once 64k")
    m.send("reboot -f\n")
    # Somewhere in firmware, boot manager or kernel.
    m.wait_for([{"edk2": "UEFI firmware", "uboot": "U-Boot 20"}[m.firmware], STARTS_LOADER[m.firmware]][seed - 1])
    m.kill()
    m.start()
    assert m.page_size() in (65536, 4096)
    m.reboot()
    assert m.page_size() == 4096


@pytest.fixture(scope="session")
def unified(tmp_path_factory, initramfs):
    """Contents of unified images: one of a kernel, one of three profiles; none where ukify is not there."""
    if missing_peers():
        return []
    folder = tmp_path_factory.mktemp("unified")
    common = {"os_release": os_release(ID="test", VERSION_ID="1", PRETTY_NAME="Test OS"), "cmdline": "console=ttyAMA0 panic=5",
              "initrd": initramfs}
    return [ukify(folder / "plain", linux=kernel("16k"), uname="6.1.1", **common),
            add_profiles(folder / "many", {"profile": "ID=main", "linux": kernel("4k"), "uname": "6.1.2", **common},
                         [{"profile": "ID=Big", "linux": kernel("64k"), "uname": "6.1.3"}, {"profile": "TITLE=no id"}])]


def variable_command(name, value):
    raw = b"\7\0\0\0" + (value + "\0").encode("utf-16-le")
    octal = "".join(f"\\{b:03o}" for b in raw)
    return f"printf '{octal}' >/sys/firmware/efi/efivars/{name}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def random_machine(rng, esp, other, unified):
    """Entries of both kinds and partitions, counters, sort keys and wishes by chance. Returns commands that store wishes
    in variables."""
    sizes = ["4k", "16k", "64k"]
    for s in sizes:
        esp.add_file(f"/kernels/{s}", kernel(s))
    # Something that starts on every CPU; the prediction has to say when it is its turn.
    esp.add_entry("rescue-4k", "/kernels/4k", "0")
    ids = ["rescue-4k.conf"]
    for i in range(rng.randint(1, 5)):
        size = rng.choice(sizes)
        counter = rng.choice(["", "", "+3", "+0-2", "+1-1"])
        keys = {"sort_key": rng.choice(["a", "b", "c"])} if rng.random() < 0.7 else {}
        path = rng.choice([f"/kernels/{size}"] * 4 + ["/kernels/none", f"//kernels\\{size}"])
        name = rng.choice([f"e{i}-{size}", f"e{i}-{size}", f"E{i}-{size.upper()}~rc1", f"e{i} [{size}]"])
        where = esp
        if other and path == f"/kernels/{size}" and rng.random() < 0.3:
            where = other
            where.add_file(path, kernel(size))
        where.add_entry(name + counter, path, rng.choice(["1", "2", "10"]), **keys)
        ids.append(f"{name.lower()}.conf")
    for i, image in enumerate(unified):
        if rng.random() < 0.5:
            name = rng.choice(["e9", "image", "Test-6.1"])
            (other if other and rng.random() < 0.4 else esp).add_file(
                f"/EFI/Linux/{name}-{i}{rng.choice(['', '', '+2', '+0-1', '+1'])}.efi", image)
            ids += [f"{name.lower()}-{i}.efi"] + [f"{name.lower()}-{i}.efi@{p}" for p in ("big", "2")] * i
    if rng.random() < 0.3:
        esp.add_file("/shellaa64.efi", kernel("4k"))  # starts, and panics without an initrd
    patterns = [*ids, "e*", "*.efi*", "*@big", "[!r]*", "nothing", "@saved", "auto-*", "auto-reboot", "E?-*"]
    conf = []
    for key in ("default", "preferred"):
        if rng.random() < 0.4:
            conf.append(f"{key} {rng.choice(patterns)}")
    if rng.random() < 0.3:
        conf.append(f"page-size {rng.choice(sizes)}")
    if rng.random() < 0.2:
        conf += rng.choices(["boot-counting no", "auto-entries no", "auto-firmware no", "env-block no", "reboot-on-error auto"])
    (esp.path / "loader/loader.conf").write_text("\n".join(conf) + "\n")
    if rng.random() < 0.5:
        lines = rng.choices(["next_entry=" + rng.choice(ids), "saved_entry=" + rng.choice(patterns),
                             "granule_page_size=" + rng.choice(sizes), "other=1"], k=2)
        content = "# GRUB Environment Block\n" + "".join(f"{line}\n" for line in lines)
        esp.add_file("/EFI/granule/grubenv", content.encode().ljust(1024, b"#"))
    commands = []
    if rng.random() < 0.5:
        commands.append(f"granule set {rng.choice(sizes)} --force")
    if rng.random() < 0.3:
        commands.append(f"granule set '{rng.choice(ids)}' --force")
    for name in ("LoaderEntryDefault", "LoaderEntryPreferred"):
        if rng.random() < 0.2:
            commands.append(variable_command(name, rng.choice(patterns)))
    if rng.random() < 0.5:
        commands.append(f"granule once '{rng.choice(ids)}'")
    return commands


@pytest.mark.parametrize("seed", range(int(os.environ.get("GRANULE_SEEDS", 6))))
def test_what_status_predicts_is_what_boots(esp, boot, seed, tmp_path, unified):
    rng = random.Random(seed)
    other = None
    if rng.random() < 0.4:
        other = Esp(tmp_path / "other")
        (other.path / "EFI/BOOT/BOOTAA64.EFI").unlink()
        shutil.copy(esp.path / "initrd", other.path)
    commands = random_machine(rng, esp, other, unified)
    # The first boot is of whatever comes; the prediction is for the second.
    m = boot(cpu=WITHOUT_16K if seed % 3 == 2 else "max,pauth-impdef=on", xbootldr=other and other.path)
    mount = "mkdir /xbootldr && mount -t vfat /dev/vda3 /xbootldr" if other else ":"
    m.ok(mount)
    for c in commands:
        m.run(c)
    predicted = status(m)["next"]
    entries = json.loads(m.ok("granule list --json"))["entries"]
    m.run("umount /xbootldr")
    m.reboot()
    m.ok(mount)
    assert status(m)["entry"] == predicted["id"], (commands, entries)
    if predicted["page_size"] != "unknown":
        assert m.page_size() == {"4k": 4096, "16k": 16384, "64k": 65536}[predicted["page_size"]]
