# SPDX-License-Identifier: GPL-2.0-or-later
"""loader/random-seed: renewed before it is used, and used only when it was renewed."""

import os

import pytest

import signing
from guest import BUILD, kernel, make_disk, read_from_esp
from machine import ARM64_FIRMWARE, WITHOUT_16K, Machine
from tpm import REPORT, Report

pytestmark = pytest.mark.skipif(not REPORT.exists(), reason=f"missing: {REPORT}")

ON_EVERY_FIRMWARE = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)
GENERATOR = ["-device", "virtio-rng-pci"]
# QEMU's older CPUs have no instruction for random numbers, so that firmware has no generator of its own.
WITHOUT_GENERATOR = WITHOUT_16K
TOKEN = "/sys/firmware/efi/efivars/LoaderSystemToken-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


class Boots:
    """Boots of one disk. Each gives the seed that a kernel would have got, or None."""

    def __init__(self, folder, esp, firmware="edk2", secure=False):
        self.folder, self.esp, self.firmware, self.disk = folder, esp, firmware, folder / "disk"
        self.variables = signing.VARIABLES if secure else None
        self.signed = signing.firmware_key().sign if secure else lambda image: image
        esp.add_file("/EFI/BOOT/BOOTAA64.EFI", self.signed(BUILD / "granule-bootaa64.efi"))
        esp.add_file("/report.efi", self.signed(REPORT))
        (esp.path / "loader/entries/a-report.conf").write_text("linux /report.efi\n")
        self.console = ""

    def __call__(self, cpu=WITHOUT_GENERATOR, more=(), read_only=False):
        if not self.disk.exists():
            make_disk(self.disk, self.esp.path)
        with Machine(self.folder, self.disk, cpu, self.firmware, self.variables, more) as machine:
            machine.read_only = read_only
            machine.start(wait=False)
            seed = Report(machine).seed
            self.console = machine.console
        return seed

    def file(self):
        return read_from_esp(self.disk, "/loader/random-seed")

    def set_token(self, content):
        """As an installer does, from a running system. One write makes the variable, and the shell writes by lines."""
        assert b"\n" not in content
        (self.esp.path / "loader/entries/a-report.conf").unlink()
        self.esp.add_file("/kernel", self.signed(kernel("4k")))
        self.esp.add_entry("test", "/kernel", "1")
        setup = self.folder / "setup"
        make_disk(setup, self.esp.path)
        with Machine(self.folder, setup, WITHOUT_GENERATOR, variables=self.variables) as machine:
            machine.start()
            octal = "".join(f"\\{b:03o}" for b in (7).to_bytes(4, "little") + content)
            machine.ok(f"printf '{octal}' > {TOKEN}")
            machine.power_off()
        (self.esp.path / "loader/entries/test.conf").unlink()
        (self.esp.path / "loader/entries/a-report.conf").write_text("linux /report.efi\n")


@pytest.fixture
def boots(tmp_path, esp, firmware):
    return Boots(tmp_path, esp, firmware)


@ON_EVERY_FIRMWARE
def test_each_boot_gets_another_seed_and_leaves_another_file(esp, boots):
    # As systemd 252 and older wrote it; what is behind the new seed must not be used twice either.
    first = os.urandom(512)
    esp.add_file("/loader/random-seed", first)
    seen = [first[:32]]
    for _ in range(2):
        seed = boots(more=GENERATOR)
        assert seed is not None and len(seed) == 32
        file = boots.file()
        assert len(file) == 512 and file[32:] == bytes(480)
        seen += [seed, file[:32]]
    assert len(set(seen)) == 5, "a seed or the content of the file came twice"
    assert "random-seed" not in boots.console


@ON_EVERY_FIRMWARE
@pytest.mark.parametrize("content, complaint", [
    (None, None),
    (b"only thirty-one bytes of secret", "/loader/random-seed: not used: less than 32 bytes"),
], ids=["missing", "too-short"])
def test_without_a_usable_file_there_is_no_seed_and_no_new_file(esp, boots, content, complaint):
    if content is not None:
        esp.add_file("/loader/random-seed", content)
    assert boots(more=GENERATOR) is None
    if content is None:
        assert "random-seed" not in boots.console
        with pytest.raises(Exception):
            boots.file()
    else:
        assert complaint in boots.console
        assert boots.file() == content


@ON_EVERY_FIRMWARE
def test_it_can_be_switched_off(esp, boots):
    content = os.urandom(32)
    esp.add_file("/loader/random-seed", content)
    (esp.path / "loader/loader.conf").write_text("random-seed no\n")
    assert boots(more=GENERATOR) is None
    assert boots.file() == content


def test_a_partition_that_cannot_be_written_gives_no_seed(esp, boots):
    content = os.urandom(32)
    esp.add_file("/loader/random-seed", content)
    assert boots(more=GENERATOR, read_only=True) is None
    assert boots.file() == content
    assert "random-seed" not in boots.console


@pytest.mark.parametrize("token, enough", [(None, False), (16 * b"short", True), (31 * b"t", False)],
                         ids=["none", "long", "too-short"])
def test_without_a_generator_the_file_needs_the_token_of_the_machine(esp, boots, token, enough):
    """The disk may have been copied to many machines."""
    content = os.urandom(32)
    esp.add_file("/loader/random-seed", content)
    if token:
        boots.set_token(token)
    seed = boots()
    assert (seed is not None) == enough
    assert (boots.file() != content) == enough


@pytest.mark.skipif(bool(signing.missing()), reason="missing: " + ", ".join(signing.missing()))
def test_under_secure_boot_who_writes_the_file_does_not_choose_the_seed(esp, tmp_path):
    """The token is no secret of the machine's: the running system can read it."""
    content = os.urandom(32)
    esp.add_file("/loader/random-seed", content)
    boots = Boots(tmp_path, esp, secure=True)
    boots.set_token(64 * b"t")
    assert boots() is None and boots.file() == content
    assert boots(more=GENERATOR) is not None and boots.file() != content
