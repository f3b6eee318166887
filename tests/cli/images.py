# SPDX-License-Identifier: GPL-2.0-or-later
"""Small kernel files with the headers of real ones."""

import gzip
import lzma
import struct
import subprocess

MACHINE = {"arm64": 0xAA64, "x86_64": 0x8664}


def pe_headers(sections, machine, size_of_headers=0x400):
    """PE headers at 64 and the section table; each section is (name, raw offset, raw size)."""
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, len(sections), 0, 0, 0, 240, 0x206)
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<I", optional, 16, 0x1000)
    struct.pack_into("<II", optional, 32, 0x1000, 0x200)
    struct.pack_into("<H", optional, 44, 1)
    struct.pack_into("<HH", optional, 68, 10, 0)
    struct.pack_into("<I", optional, 108, 16)
    table = b"".join(
        struct.pack("<8sIIIIIIHHI", name.encode(), size, 0x1000 * (i + 1), size, offset, 0, 0, 0, 0, 0x60000020)
        for i, (name, offset, size) in enumerate(sections)
    )
    return coff + bytes(optional) + table


def arm64(bits, release="6.12.0-test", extra=b"", machine="arm64", efi=True):
    """An arm64 Image with page-size bits 0 to 3, the kernel's banner and some more content."""
    body = b"Linux version " + release.encode() + b" (builder@host) #1 SMP\n\0" + extra
    body += b"\0" * (-len(body) % 512)
    head = bytearray(0x400)
    head[0:2] = b"MZ" if efi else b"\x00\x00"
    struct.pack_into("<QQQ", head, 8, 0, 0x400 + len(body), bits << 1 | 8)
    head[56:60] = b"ARM\x64"
    if efi:
        struct.pack_into("<I", head, 60, 64)
        headers = pe_headers([(".text", 0x400, len(body))], MACHINE[machine])
        head[64:64 + len(headers)] = headers
    return bytes(head) + body


SELECTABLE_STRINGS = b"arm64.pagesize=4k\0arm64.pagesize=16k\0arm64.pagesize=64k\0"


def embedded_config(text):
    return b"IKCFG_ST" + gzip.compress(text) + b"IKCFG_ED"


def zboot(kernel, compression="gzip"):
    """EFI zboot: all but gzip carry the unpacked size behind the payload, which does not count it."""
    if compression == "gzip":
        payload, trailer = gzip.compress(kernel), b""
    else:
        payload = compressed(kernel, "zstd" if compression == "zstd22" else "xz")
        trailer = struct.pack("<I", len(kernel))
    head = bytearray(0x400)
    struct.pack_into("<4s4sII", head, 0, b"MZ\0\0", b"zimg", 0x400, len(payload))
    head[24:24 + len(compression)] = compression.encode()
    struct.pack_into("<II", head, 56, 0x818223CD, 64)
    headers = pe_headers([(".text", 0x400, len(payload) + len(trailer))], MACHINE["arm64"])
    head[64:64 + len(headers)] = headers
    return bytes(head) + payload + trailer


def uki(kernel, *sections, osrel="ID=test\n", machine="arm64"):
    """A unified kernel image: .osrel and .linux, then (name, content) of more sections. ".profile" begins one."""
    first = [(name, content) for name, content in ((".osrel", osrel), (".linux", kernel)) if content is not None]
    sections = first + list(sections)
    start = 0x400 + -(-40 * len(sections) // 512) * 512
    table, data = [], b""
    for name, content in sections:
        content = content.encode() if isinstance(content, str) else content
        table.append((name, start + len(data), len(content)))
        data += content + b"\0" * (-len(content) % 512)
    head = bytearray(start)
    head[0:2] = b"MZ"
    struct.pack_into("<I", head, 60, 64)
    headers = pe_headers(table, MACHINE[machine])
    head[64:64 + len(headers)] = headers
    return bytes(head) + data


def x86_kernel(release="6.1.0-x86"):
    head = bytearray(0x600)
    head[0:2] = b"MZ"
    struct.pack_into("<I", head, 60, 64)
    headers = pe_headers([(".text", 0x400, 0x200)], MACHINE["x86_64"])
    head[64:64 + len(headers)] = headers
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x300)
    text = release.encode() + b" (x@y)\0"
    head[0x500:0x500 + len(text)] = text
    return bytes(head)


def compressed(kernel, how):
    if how == "gzip":
        return gzip.compress(kernel)
    if how == "xz":
        return lzma.compress(kernel)
    return subprocess.run([how, "-q", "-c"], input=kernel, stdout=subprocess.PIPE, check=True).stdout
