# SPDX-License-Identifier: GPL-2.0-or-later
"""Far too much, damaged file systems, damaged kernels, and firmware that stores no variable: something good boots, and
the console says why it is not what was asked for."""

import gzip
import random
import re
import struct

import pytest

from fat import END, Fat
from guest import ESP_START, kernel, make_disk
from long_run import only_long
from machine import ARM64_FIRMWARE
from test_boot_counting import variable
from test_main_job import add_all_sizes, refuses_to_run, status, verify

pytestmark = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)
no_variables = pytest.mark.not_on("uboot", "a running system cannot write its variables (test_env_block.py)")

EFIVARS = "/sys/firmware/efi/efivars"


@pytest.fixture
def fat(tmp_path, esp):
    """fat(): makes the disk of the staged ESP and opens its file system for changes."""

    def make():
        make_disk(tmp_path / "disk", esp.path)
        return Fat(tmp_path / "disk", ESP_START)

    return make


def entry_text(linux, sort_key, **keys):
    more = "".join(f"{k} {v}\n" for k, v in keys.items())
    return f"sort-key {sort_key}\nlinux {linux}\ninitrd /initrd\noptions console=ttyAMA0 panic=5\n{more}".encode()


def loader_seconds(machine):
    return (int(variable(machine, "LoaderTimeExecUSec")) - int(variable(machine, "LoaderTimeInitUSec"))) / 1e6


# ---- too much ----


@pytest.mark.not_on("uboot", "it takes more than three minutes to read so large a folder")
def test_twenty_thousand_entries_boot_the_first_in_time(esp, boot, fat):
    add_all_sizes(esp)
    own = [(p.name, p.read_bytes()) for p in (esp.path / "loader/entries").iterdir()]
    for name, _ in own:
        (esp.path / "loader/entries" / name).unlink()
    with fat() as f:
        f.fill_folder("loader/entries", own + [
            (f"many-{i:05}.conf", entry_text("/kernels/64k", "many", title=f"Many {i}", version=i))
            for i in range(20000)])
    m = boot()
    assert m.page_size() == 4096 and variable(m, "LoaderEntrySelected") == "test-4k.conf"
    assert loader_seconds(m) < 60


def test_an_entry_file_of_two_mebibytes_is_skipped_with_a_line(esp, boot):
    add_all_sizes(esp)
    big = (esp.path / "loader/entries/test-4k.conf").read_text() + "# padding\n" * 210000
    assert len(big) > 2 << 20
    (esp.path / "loader/entries/a-big.conf").write_text(big)
    (esp.path / "loader/loader.conf").write_text("default a-big*\n")
    m = boot()
    assert m.page_size() == 4096 and status(m)["entry"] == "test-4k.conf"
    assert "a-big.conf: skipped: larger than 64 KiB" in m.console


def test_lines_that_are_not_understood_are_named_by_number(esp, boot):
    add_all_sizes(esp)
    (esp.path / "loader/entries/a-climbs.conf").write_bytes(b"title climbs\r\n\r\nlinux /../vmlinuz\r\n")
    (esp.path / "loader/loader.conf").write_text("# mine\n\neditor perhaps\npage-size 64k\n")
    m = boot()
    assert "a-climbs.conf: skipped: syntax error, line 3" in m.console
    assert "loader.conf: value not understood, skipped line 3" in m.console
    assert m.page_size() == 65536


def test_a_loader_conf_of_two_mebibytes_is_not_read_and_entries_boot(esp, boot):
    add_all_sizes(esp)
    (esp.path / "loader/loader.conf").write_text("page-size 64k\n" * 150000)
    m = boot()
    assert variable(m, "LoaderEntrySelected") == "test-4k.conf"
    assert "granule-boot: /loader/loader.conf: " in m.console
    assert "/loader/loader.conf: larger than 64 KiB" in m.run("granule status")[1]


def test_an_entry_file_just_below_the_limit_is_read(esp, boot):
    add_all_sizes(esp)
    path = esp.path / "loader/entries/test-64k.conf"
    path.write_text("#\n" * ((65536 - path.stat().st_size) // 2) + path.read_text())
    (esp.path / "loader/loader.conf").write_text("default test-64k.conf\n")
    m = boot()
    assert m.page_size() == 65536


# ---- damaged file systems ----


def damage_kernel_short_chain(f):
    chain = f.chain(f.find("kernels/bad")[2])
    f.table[chain[len(chain) // 2]] = END


def damage_kernel_ends_in_a_free_cluster(f):
    chain = f.chain(f.find("kernels/bad")[2])
    f.table[chain[len(chain) // 2]] = next(f.free)


def damage_kernel_starts_nowhere(f):
    f.patch("kernels/bad", cluster=f.clusters + 100)


def damage_kernel_of_four_gigabytes(f):
    f.patch("kernels/bad", size=0xFFFFFFFF)


def damage_entry_of_four_gigabytes(f):
    f.patch("loader/entries/a-bad.conf", size=0xFFFFFFFF)


def damage_entry_without_clusters(f):
    f.patch("loader/entries/a-bad.conf", cluster=0)


def damage_entry_is_a_kernel(f):
    _, _, cluster, _ = f.find("kernels/bad")
    f.patch("loader/entries/a-bad.conf", cluster=cluster, size=60000)


@pytest.mark.parametrize("damage", [
    damage_kernel_short_chain, damage_kernel_ends_in_a_free_cluster, damage_kernel_starts_nowhere,
    damage_kernel_of_four_gigabytes, damage_entry_of_four_gigabytes, damage_entry_without_clusters,
    damage_entry_is_a_kernel,
], ids=lambda d: d.__name__.replace("damage_", "").replace("_", "-"))
def test_a_damaged_file_system_boots_what_can_be_read(esp, boot, fat, damage):
    add_all_sizes(esp)
    esp.add_file("/kernels/bad", kernel("64k"))
    esp.add_entry("a-bad", "/kernels/bad", "9", sort_key="00000")
    with fat() as f:
        damage(f)
    m = boot()
    assert m.page_size() == 4096 and m.run("uname -r")[1].endswith("-4k")
    assert re.search(r"granule-boot: a-bad\.conf: ", m.console), m.console[-2000:]
    assert variable(m, "LoaderEntrySelected") == "test-4k.conf"


def test_an_entry_file_whose_clusters_go_in_a_circle_is_read_to_its_size(esp, boot, fat):
    add_all_sizes(esp)
    path = esp.path / "loader/entries/test-4k.conf"
    path.write_text(path.read_text() + "#\n" * 10000)
    with fat() as f:
        first = f.find("loader/entries/test-4k.conf")[2]
        f.table[f.chain(first)[2]] = first
    m = boot()
    assert m.page_size() == 4096 and variable(m, "LoaderEntrySelected") == "test-4k.conf"


def test_a_kernel_that_is_damaged_where_nobody_looks_costs_its_tries_and_no_more(esp, boot, fat):
    """Its clusters go in a circle behind the headers: firmware starts it, and the machine stands still. The try was spent
    before."""
    add_all_sizes(esp)
    esp.add_file("/kernels/bad", kernel("64k"))
    esp.add_entry("a-bad+1", "/kernels/bad", "9", sort_key="00000")
    with fat() as f:
        first = f.find("kernels/bad")[2]
        f.table[f.chain(first)[3]] = first
    m = boot(wait=False)
    m.wait_for("Synchronous (Exception|Abort)|Kernel panic")
    m.kill()
    m.start()
    assert m.page_size() == 4096 and variable(m, "LoaderEntrySelected") == "test-4k.conf"


def test_a_folder_of_entries_cut_short_boots_one_that_is_left(esp, boot, fat):
    add_all_sizes(esp)
    own = [(p.name, p.read_bytes()) for p in (esp.path / "loader/entries").iterdir()]
    for name, _ in own:
        (esp.path / "loader/entries" / name).unlink()
    with fat() as f:
        f.fill_folder("loader/entries", own + [(f"more-{i}.conf", entry_text("/kernels/64k", "more")) for i in range(99)])
        chain = f.chain(f.find("loader/entries")[2])
        f.table[chain[len(chain) // 2]] = END
    m = boot()
    assert m.page_size() == 4096 and variable(m, "LoaderEntrySelected") == "test-4k.conf"
    listed = variable(m, "LoaderEntries").split("\0")
    assert 3 < sum(i.endswith(".conf") for i in listed) < 102


def test_a_folder_of_entries_that_leads_to_another_file_boots_nothing_wrong(esp, boot, fat):
    """Its clusters hold a kernel now: names and sizes are noise. Unified images are still there."""
    add_all_sizes(esp)
    esp.add_file("/EFI/Linux/last.efi", refuses_to_run(kernel("4k").read_bytes()))
    with fat() as f:
        f.patch("loader/entries", cluster=f.find("kernels/4k")[2])
    m = boot(wait=False)
    m.wait_for(r"granule-boot: .*back to firmware")


# ---- damaged kernels ----


def zboot(payload, kind=b"gzip", size=None):
    """A compressed kernel as the field has it (drivers/firmware/efi/libstub/zboot-header.S); its own code only comes
    back."""
    image = bytearray(refuses_to_run(kernel("64k").read_bytes())[:1 << 20])
    at = len(image)
    struct.pack_into("<4sIII", image, 0, b"MZ\0\0", int.from_bytes(b"zimg", "little"), at,
                     len(payload) if size is None else size)
    image[24:24 + 32] = kind.ljust(32, b"\0")
    struct.pack_into("<I", image, 56, 0x818223CD)
    return bytes(image) + payload


def packed():
    return gzip.compress(kernel("64k").read_bytes()[:1 << 16], mtime=0)


def flip(data, rng, n):
    data = bytearray(data)
    for _ in range(n):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def test_damaged_compressed_kernels_never_stop_the_loader(esp, boot):
    add_all_sizes(esp)
    rng = random.Random(16)
    good = packed()
    files = {
        "good": zboot(good), "cut": zboot(good)[:-len(good) // 2], "empty": zboot(b"", size=0),
        "outside": zboot(good, size=0x7FFFFFFF), "all-ones": zboot(good, size=0xFFFFFFFF),
        "no-gzip": zboot(bytes(1000)), "unknown": zboot(good, kind=b"brotli"), "no-end": zboot(good, kind=b"g" * 32),
        "header-only": zboot(good[:10]), "bomb": zboot(gzip.compress(bytes(1 << 28), 9, mtime=0)),
        **{f"flip-{i}": zboot(flip(good[:400], rng, 8) + good[400:]) for i in range(30)},
    }
    for name, data in files.items():
        esp.add_file(f"/z/{name}", data)
        esp.add_entry(f"z-{name}", f"/z/{name}", "1", sort_key="00000", initrd=None)
    m = boot()
    assert m.page_size() == 4096
    for name in files:
        assert f"granule-boot: z-{name}.conf: " in m.console, name
    assert loader_seconds(m) < 20


def test_a_kernel_with_flipped_bits_leads_to_the_next_choice_or_runs(esp, boot):
    """Headers and the start of its sections; its code only comes back, whatever is flipped around it."""
    add_all_sizes(esp)
    rng = random.Random(64)
    image = refuses_to_run(kernel("64k").read_bytes())[:1 << 20]
    pe = int.from_bytes(image[0x3C:0x40], "little")
    entry = image[pe + 24 + 16:pe + 24 + 20]
    for i in range(40):
        mutant = bytearray(flip(image[:4096], rng, 6) + image[4096:])
        mutant[pe + 24 + 16:pe + 24 + 20] = entry
        esp.add_file(f"/m/{i}", bytes(mutant))
        esp.add_entry(f"m-{i}", f"/m/{i}", "1", sort_key="00000", initrd=None)
    m = boot()
    assert m.page_size() == 4096
    for i in range(40):
        assert f"granule-boot: m-{i}.conf: " in m.console


# ---- variables that cannot be written ----

FILL = (
    # Smaller ones when nothing larger fits; the attributes are those of a non-volatile variable for the system. A name is
    # tried once: after a failed write its file is there and immutable.
    "n=0; ok=0; for k in 8000 4000 1000 250 60 10 1; do"
    " while n=$((n+1)); { printf '\\007\\000\\000\\000'; head -c $k /dev/zero; } > /tmp/v &&"
    f" cat /tmp/v 2>/dev/null > {EFIVARS}/Fill$n-6b1b5f04-3f7b-4f1c-9d5e-0123456789ab; do ok=$((ok+1)); done; done;"
    " echo filled $ok"
)


@only_long
@no_variables
def test_full_nvram_boots_says_why_nothing_can_be_stored_and_still_clears_a_one_shot(esp, boot):
    add_all_sizes(esp)
    m = boot()
    m.ok("granule once 64k")
    assert int(re.search(r"filled (\d+)", m.ok(FILL)).group(1)) > 1
    m.reboot()
    assert m.page_size() == 65536, "the one-shot was there before"
    assert variable(m, "LoaderEntryOneShot") is None
    code, out = m.run("granule once 16k")
    next_id = status(m)["next"]["id"]
    if code == 0:
        assert next_id == "test-16k.conf", "kept elsewhere"
    else:
        assert next_id == "test-4k.conf" and re.search(r"LoaderEntryOneShot|variable", out)
    m.reboot()
    assert status(m)["entry"] == next_id
    m.reboot()
    assert status(m)["entry"] == "test-4k.conf"


@no_variables
def test_variables_mounted_read_only_leave_the_command_honest(esp, boot):
    add_all_sizes(esp)
    m = boot()
    m.ok(f"mount -o remount,ro {EFIVARS}")
    for command in ("once 64k", "set 64k"):
        code, out = m.run(f"granule {command}")
        next_id = status(m)["next"]["id"]
        assert next_id == "test-64k.conf" if code == 0 else out.strip(), (command, code, out)
    m.reboot()
    assert status(m)["entry"] == next_id
    if next_id == "test-64k.conf":
        assert m.page_size() == 65536


@no_variables
def test_a_one_shot_that_firmware_cannot_delete_is_not_obeyed(esp, boot):
    """The flash of the variables is write-protected: the same one-shot would come back at each boot."""
    add_all_sizes(esp)
    m = boot()
    m.ok("granule once 64k")
    m.power_off()
    m.read_only_variables = True
    m.start()
    assert m.page_size() == 4096
    assert re.search(r"could not be (deleted|cleared)", m.console)
    code, v = verify(m)
    assert code == 1
