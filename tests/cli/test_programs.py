# SPDX-License-Identifier: GPL-2.0-or-later
"""The finished EFI programs, and the set-up scripts."""

import os
import struct
import subprocess

import pytest

from system import TOP


class Pe:
    """A reading of PE32+ headers that shares no code with ours."""

    def __init__(self, data):
        self.data = data
        (pe,) = struct.unpack_from("<I", data, 0x3C)
        assert data[:2] == b"MZ" and data[pe:pe + 4] == b"PE\0\0"
        self.machine, n = struct.unpack_from("<HH", data, pe + 4)
        (optional_size,) = struct.unpack_from("<H", data, pe + 20)
        optional = pe + 24
        (self.magic,) = struct.unpack_from("<H", data, optional)
        self.entry, = struct.unpack_from("<I", data, optional + 16)
        self.section_alignment, self.file_alignment = struct.unpack_from("<II", data, optional + 32)
        self.image_size, self.headers_size = struct.unpack_from("<II", data, optional + 56)
        self.subsystem, self.dll_characteristics = struct.unpack_from("<HH", data, optional + 68)
        self.relocation = struct.unpack_from("<II", data, optional + 112 + 5 * 8)
        self.sections = {}
        for i in range(n):
            name, vsize, vaddr, rsize, raw = struct.unpack_from("<8sIIII", data, optional + optional_size + 40 * i)
            (flags,) = struct.unpack_from("<I", data, optional + optional_size + 40 * i + 36)
            self.sections[name.rstrip(b"\0").decode()] = (vsize, vaddr, rsize, raw, flags)


@pytest.fixture(params=["aa64", "x64"])
def program(request):
    file = TOP / f"build/granule-boot{request.param}.efi"
    if not file.exists():
        pytest.skip(f"{file.name} was not built: no compiler for it on this machine")
    pe = Pe(file.read_bytes())
    pe.arch = request.param
    return pe


def test_it_is_a_pe32_plus_efi_application_for_its_machine(program):
    assert program.magic == 0x20B and program.subsystem == 10
    assert program.machine == {"aa64": 0xAA64, "x64": 0x8664}[program.arch]


def test_sections_are_aligned_to_pages_and_none_is_writable_and_executable(program):
    assert program.section_alignment == 4096
    for name, (vsize, vaddr, _, _, flags) in program.sections.items():
        assert vaddr % 4096 == 0, name
        assert not (flags & 0x80000000 and flags & 0x20000000), name
        assert vaddr + vsize <= program.image_size
    assert program.sections[".text"][4] & 0x20000000 and program.sections[".data"][4] & 0x80000000


def test_the_nx_flag_is_set_and_the_entry_lies_in_code(program):
    assert program.dll_characteristics & 0x100
    vsize, vaddr, *_ = program.sections[".text"]
    assert vaddr <= program.entry < vaddr + vsize


def test_sbat_is_present_and_well_formed(program):
    _, _, size, raw, _ = program.sections[".sbat"]
    text = program.data[raw:raw + size].rstrip(b"\0").decode()
    rows = [line.split(",") for line in text.splitlines()]
    assert rows[0][:2] == ["sbat", "1"] and rows[1][:2] == ["granule", "1"]
    assert all(len(r) == 6 for r in rows)


def test_relocation_directory_is_there_so_that_firmware_may_move_it(program):
    address, size = program.relocation
    vsize, vaddr, *_ = program.sections[".reloc"]
    assert address == vaddr and 8 <= size <= vsize


def test_no_relocation_touches_code_or_read_only_data():
    """The program relocates itself while its code may be mapped read-only."""
    shared = TOP / "build/aa64/granule-boot.so"
    tool = "readelf" if os.uname().machine == "aarch64" else "aarch64-linux-gnu-readelf"
    out = subprocess.run([tool, "-rWS", str(shared)], check=True, capture_output=True, text=True).stdout
    data = next(line.split("]")[1].split() for line in out.splitlines() if " .data " in line)
    start = int(data[2], 16)
    end = start + int(data[4], 16)
    offsets = [int(line.split()[0], 16) for line in out.splitlines() if "R_AARCH64" in line]
    assert offsets and all(start <= o < end for o in offsets)


def test_on_a_machine_that_is_not_debian_deps_names_what_is_missing_and_stops(tmp_path):
    for tool in ("bash", "uname", "awk", "fmt", "sed", "dirname", "cat"):
        (tmp_path / tool).symlink_to(subprocess.run(["which", tool], capture_output=True, text=True).stdout.strip())
    done = subprocess.run(["bash", str(TOP / "tests/setup/deps.sh")], env={"PATH": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.returncode == 1 and "not a Debian machine" in done.stderr and "qemu-system-arm" in done.stderr


def test_pe_finish_refuses_an_image_that_firmware_would_not_load(tmp_path):
    good = (TOP / "build/granule-bootaa64.efi").read_bytes()
    (pe,) = struct.unpack_from("<I", good, 0x3C)
    bad = {
        "no complete PE image": good[: len(good) // 2],
        "no PE32+ EFI application": good[:pe + 24 + 68] + b"\0\0" + good[pe + 24 + 70:],
    }
    for words, data in bad.items():
        file = tmp_path / "x.efi"
        file.write_bytes(data)
        done = subprocess.run([TOP / "build/pe-finish", file], capture_output=True, text=True)
        assert done.returncode == 1 and words in done.stderr and file.read_bytes() == data
