# SPDX-License-Identifier: GPL-2.0-or-later
"""What must not keep a machine from booting: damaged files and file systems, odd variables, a person who walks away;
and the command must predict what the boot manager then does."""

import json
import os
import random
import struct

import pytest

from guest import BUILD, kernel, unpack_guest
from machine import ARM64_FIRMWARE, READY, STARTS_LOADER, WITHOUT_16K
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


def random_machine(rng, esp):
    """Entries, counters, sort keys and wishes by chance. Returns commands that store wishes in variables."""
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
        esp.add_entry(f"e{i}-{size}{counter}", path, rng.choice(["1", "2", "10"]), **keys)
        ids.append(f"e{i}-{size}.conf")
    conf = []
    if rng.random() < 0.3:
        conf.append(f"default {rng.choice([*ids, 'e*', 'nothing'])}")
    if rng.random() < 0.3:
        conf.append(f"page-size {rng.choice(sizes)}")
    (esp.path / "loader/loader.conf").write_text("\n".join(conf) + "\n")
    if rng.random() < 0.5:
        lines = rng.choices(["next_entry=" + rng.choice(ids), "saved_entry=" + rng.choice([*ids, "e*", "nothing"]),
                             "granule_page_size=" + rng.choice(sizes), "other=1"], k=2)
        content = "# GRUB Environment Block\n" + "".join(f"{line}\n" for line in lines)
        esp.add_file("/EFI/granule/grubenv", content.encode().ljust(1024, b"#"))
    commands = []
    if rng.random() < 0.5:
        commands.append(f"granule set {rng.choice(sizes)} --force")
    if rng.random() < 0.3:
        commands.append(f"granule set {rng.choice(ids)} --force")
    if rng.random() < 0.5:
        commands.append(f"granule once {rng.choice(ids)}")
    return commands


@pytest.mark.parametrize("seed", range(int(os.environ.get("GRANULE_SEEDS", 6))))
def test_what_status_predicts_is_what_boots(esp, boot, seed):
    rng = random.Random(seed)
    commands = random_machine(rng, esp)
    # The first boot is of whatever comes; the prediction is for the second.
    m = boot(cpu=WITHOUT_16K if seed % 3 == 2 else "max,pauth-impdef=on")
    for c in commands:
        m.run(c)
    predicted = status(m)["next"]
    entries = json.loads(m.ok("granule list --json"))["entries"]
    m.reboot()
    assert status(m)["entry"] == predicted["id"], (commands, entries)
    if predicted["page_size"] != "unknown":
        assert m.page_size() == {"4k": 4096, "16k": 16384, "64k": 65536}[predicted["page_size"]]
