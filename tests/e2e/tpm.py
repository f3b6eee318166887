# SPDX-License-Identifier: GPL-2.0-or-later
"""A software TPM for a machine, what tests/e2e/efi/report.c prints, and event logs (TCG PC Client Platform Firmware
Profile, 10)."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from guest import BUILD

REPORT = BUILD / "aa64/tests/e2e/efi/report.efi"
SHA256 = 0x000B
EV_NO_ACTION, EV_EVENT_TAG, EV_IPL = 3, 6, 13
TAG_LOADER_CONF, TAG_CHOICE, TAG_FILE = 0xF5BC582A, 0x6772616E, 0x6772616F


class Swtpm:
    """One TPM 2.0; ends with the machine that is connected to it, and can be started again with the same state."""

    def __init__(self):
        # Names of sockets are short: not below pytest's folders.
        self.folder = Path(tempfile.mkdtemp(prefix="granule-tpm."))
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        # A relative folder for the state fails with CMD_INIT 0x9.
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--terminate",
             "--ctrl", f"type=unixio,path={self.folder}/socket"])

    def arguments(self, device="tpm-tis-device"):
        return ["-chardev", f"socket,id=tpm,path={self.folder}/socket", "-tpmdev", "emulator,id=tpm0,chardev=tpm",
                "-device", f"{device},tpmdev=tpm0"]


@dataclass
class Event:
    pcr: int
    type: int
    digest: bytes  # SHA-256
    data: bytes

    @property
    def tag(self):
        return int.from_bytes(self.data[:4], "little") if self.type == EV_EVENT_TAG else None

    @property
    def text(self):
        raw = self.data
        if self.type == EV_EVENT_TAG:
            assert int.from_bytes(raw[4:8], "little") == len(raw) - 8
            raw = raw[8:]
        text = raw.decode("utf-16-le")
        assert text.endswith("\0")
        return text[:-1]

    def is_of(self, data):
        return self.digest == hashlib.sha256(data).digest()


class Report:
    """What the program printed: event log, registers, random seed, firmware's status for /probe.efi."""

    def __init__(self, machine):
        machine.wait_for("@@BEGIN")
        _, text = machine.wait_for("@@END")
        self.registers, self.seed, self.probe, log, last = {}, None, None, b"", 0
        for mark, number, digits in re.findall(r"@@(\w+) (\d+) ([0-9a-f]*)", text):
            number, data = int(number), bytes.fromhex(digits)
            if mark == "PCR":
                self.registers[number] = data
            elif mark == "LOG":
                log, last = log + data, number
            elif mark == "SEED":
                self.seed = (self.seed or b"") + data
            elif mark == "PROBE":
                self.probe = number
        self.events = list(parse_log(log, last)) if log else []

    def of(self, pcr):
        return [e for e in self.events if e.pcr == pcr and e.type != EV_NO_ACTION]

    def replay(self, pcr):
        value = bytes(32)
        for event in self.of(pcr):
            value = hashlib.sha256(value + event.digest).digest()
        return value


def parse_log(log, last):
    """Events of a crypto-agile log; `last` is the offset of the last one."""

    def number(at, size):
        return int.from_bytes(log[at:at + size], "little")

    # The first event has the old form and holds the sizes of digests.
    size = number(28, 4)
    head = log[32:32 + size]
    assert head.startswith(b"Spec ID Event03\0")
    algorithms = int.from_bytes(head[24:28], "little")
    sizes = {int.from_bytes(head[i:i + 2], "little"): int.from_bytes(head[i + 2:i + 4], "little")
             for i in range(28, 28 + 4 * algorithms, 4)}
    at = 32 + size
    while at <= last:
        pcr, kind, n = number(at, 4), number(at + 4, 4), number(at + 8, 4)
        at, digest = at + 12, None
        for _ in range(n):
            algorithm = number(at, 2)
            if algorithm == SHA256:
                digest = log[at + 2:at + 2 + sizes[SHA256]]
            at += 2 + sizes[algorithm]
        size = number(at, 4)
        yield Event(pcr, kind, digest, log[at + 4:at + 4 + size])
        at += 4 + size
