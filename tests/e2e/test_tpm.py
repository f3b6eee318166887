# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured, with a software TPM: the event log explains the registers, and what matters changes them."""

import shutil
from pathlib import Path

import pytest

from guest import BUILD, SETUP, copy_to_esp, kernel, make_disk, output
from long_run import only_long
from machine import ARM64_FIRMWARE, Machine
from tpm import EV_IPL, REPORT, TAG_CHOICE, TAG_FILE, TAG_LOADER_CONF, Event, Report, Swtpm

pytestmark = pytest.mark.skipif(not shutil.which("swtpm") or not REPORT.exists(), reason=f"missing: swtpm or {REPORT}")

ON_EVERY_FIRMWARE = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)


@pytest.fixture
def measured(tmp_path, esp, firmware):
    """measured(): the report of a boot of the staged ESP, on a machine with a TPM; or several, if the program is
    started several times."""
    esp.add_file("/report.efi", REPORT)

    def run(reports=1):
        disk = tmp_path / "disk"
        if not disk.exists():
            make_disk(disk, esp.path)
        copy_to_esp(disk, esp.path)
        with Swtpm() as swtpm, Machine(tmp_path, disk, firmware=firmware, more=swtpm.arguments()) as machine:
            # The TPM answers in real time.
            machine.icount = False
            machine.start(wait=False)
            found = [Report(machine) for _ in range(reports)]
            return found[0] if reports == 1 else found

    return run


def write_entry(esp, options, initrds=(), name="a-report"):
    lines = [f"title {name}", "linux /report.efi"] + [f"initrd {i}" for i in initrds]
    lines += [f"options {options}"] if options else []
    (esp.path / f"loader/entries/{name}.conf").write_text("\n".join(lines) + "\n")


@ON_EVERY_FIRMWARE
def test_the_event_log_explains_registers_5_and_12(esp, measured):
    conf = "timeout menu-hidden\n# a comment counts as well\n"
    (esp.path / "loader/loader.conf").write_text(conf)
    esp.add_file("/first", b"first initrd")
    esp.add_file("/second", b"the second one")
    options = "console=ttyAMA0 quiet grün"
    write_entry(esp, options, ["/first", "/second"])
    report = measured()

    for pcr in (5, 12):
        assert report.of(pcr), f"nothing was measured into PCR {pcr}"
        assert report.replay(pcr) == report.registers[pcr], f"PCR {pcr}"
    own = [e for e in report.of(5) if e.tag == TAG_LOADER_CONF]
    assert [e.text for e in own] == ["loader.conf"] and own[0].is_of(conf.encode())

    choice, first, second, line = report.of(12)
    assert (choice.tag, choice.text) == (TAG_CHOICE, "entry=a-report.conf page-size=unknown")
    assert choice.is_of(choice.text.encode())
    assert (first.tag, first.text) == (TAG_FILE, "initrd /first") and first.is_of(b"first initrd")
    assert (second.tag, second.text) == (TAG_FILE, "initrd /second") and second.is_of(b"the second one")
    # As systemd-boot does: the text with its NUL, which is also what the log shows.
    options += r" initrd=\first initrd=\second"  # for a kernel as old as the program says that it is
    assert (line.type, line.text) == (EV_IPL, options)
    assert line.is_of((options + "\0").encode("utf-16-le"))


@only_long
def test_each_thing_that_matters_changes_its_register(esp, measured):
    def registers():
        report = measured()
        return report.registers[5], report.registers[12]

    write_entry(esp, "quiet")
    base = registers()
    assert registers() == base, "the same boot gives the same values"

    write_entry(esp, "quiet debug")
    assert registers()[0] == base[0] and registers()[1] != base[1], "command line"
    write_entry(esp, "quiet", ["/initrd"])
    assert registers()[1] != base[1], "initrd"
    write_entry(esp, "quiet")

    (esp.path / "loader/loader.conf").write_text("timeout menu-hidden\n")
    changed = registers()
    assert changed[0] != base[0] and changed[1] == base[1], "loader.conf"
    (esp.path / "loader/loader.conf").write_text("")

    write_entry(esp, "quiet", name="Z-report")
    assert registers()[1] != base[1], "the choice"


def test_an_entry_that_came_back_stays_in_the_log(esp, measured):
    write_entry(esp, "one", name="a-report")
    write_entry(esp, "two", name="b-report")
    _, second = measured(reports=2)
    assert [e.text for e in second.of(12)] == [
        "entry=b-report.conf page-size=unknown", "two",
        "entry=a-report.conf page-size=unknown", "one",
    ]
    assert second.replay(12) == second.registers[12]


def test_banks_are_published_for_the_system(esp, tmp_path):
    esp.add_file("/kernel", kernel("4k"))
    esp.add_entry("test", "/kernel", "1")
    make_disk(tmp_path / "disk", esp.path)
    name = "/sys/firmware/efi/efivars/LoaderTpm2ActivePcrBanks-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

    def banks(machine):
        machine.icount = False
        machine.start()
        assert "not measured" not in machine.console
        text = bytes.fromhex(machine.ok(f"hexdump -v -e '1/1 \"%02x\"' {name}"))[4:].decode("utf-16-le")
        assert text.endswith("\0")
        return int(text[:-1], 16)

    with Swtpm() as swtpm, Machine(tmp_path, tmp_path / "disk", more=swtpm.arguments()) as machine:
        assert banks(machine) & 2, "SHA-256 is EFI_TCG2_BOOT_HASH_ALG_SHA256, 2"
    with Machine(tmp_path, tmp_path / "disk") as machine:
        assert banks(machine) == 0


def test_register_5_and_the_command_line_are_as_with_systemd_boot(esp, measured):
    """Tools that predict its values predict ours."""
    peer = Path(output(SETUP / "peers.sh", "--path", "trixie-arm64"), "usr/lib/systemd/boot/efi/systemd-bootaa64.efi")
    if not peer.exists():
        pytest.skip(f"missing: {peer} (make peers)")
    (esp.path / "loader/loader.conf").write_text("timeout menu-disabled\n")
    write_entry(esp, "console=ttyAMA0 root=LABEL=grün quiet")
    ours = measured()
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", peer)
    theirs = measured()
    assert ours.registers[5] == theirs.registers[5] == theirs.replay(5)
    assert ours.of(5) == theirs.of(5)
    assert [e for e in ours.of(12) if e.type == EV_IPL] == theirs.of(12)


def test_without_a_tpm_a_confidential_machine_is_told(esp, tmp_path):
    """Its part is played by a program of ours, which fails at PCR 5: that is said, and the boot goes on."""
    shutil.copy(BUILD / "granule-bootaa64.efi", esp.path / "EFI/BOOT/next.efi")
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", BUILD / "aa64/tests/e2e/efi/confidential.efi")
    esp.add_file("/report.efi", REPORT)
    esp.add_file("/first", b"first initrd")
    write_entry(esp, "quiet", ["/first"])
    make_disk(tmp_path / "disk", esp.path)
    with Machine(tmp_path, tmp_path / "disk") as machine:
        machine.start(wait=False)
        machine.wait_for("loader.conf: not measured, booting anyway: device error")
        events = []
        for _ in range(3):
            found, _ = machine.wait_for("@@EVENT ([0-9a-f\\s]+) @@")
            # The console breaks lines.
            raw, data = found.group(1).replace("\n", "").split(" ")
            raw = bytes.fromhex(raw)
            size, header, version, index, kind = (int.from_bytes(raw[i:j], "little") for i, j in
                                                  ((0, 4), (4, 8), (8, 10), (10, 14), (14, 18)))
            assert (size, header, version, index) == (len(raw), 14, 1, 112)
            events.append((Event(12, kind, None, raw[18:]), bytes.fromhex(data)))
        machine.wait_for("@@BEGIN")
    (choice, what), (initrd, content), (line, options) = events
    assert choice.tag == TAG_CHOICE and choice.text.encode() == what == b"entry=a-report.conf page-size=unknown"
    assert initrd.tag == TAG_FILE and initrd.text == "initrd /first" and content == b"first initrd"
    assert line.type == EV_IPL and line.text == options.decode("utf-16-le")[:-1] == r"quiet initrd=\first"
