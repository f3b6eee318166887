#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest time that boot loaders take: granule-boot, systemd-boot and GRUB with the same kernel, initrd and entries.

QEMU counts instructions instead of time, so the speed of the host does not matter, and its load next to nothing: of some
runs the quickest counts, as waiting for the host's threads can only add. Shown in milliseconds are the time from the start
of the loader to the start of the kernel, as loaders report it themselves, and how much later than with the floor (a program
that does nothing but load and start the kernel) the kernel's first program runs. GRUB reports no times."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from guest import BUILD, MIB, SETUP, Cpio, kernel, output, run  # noqa: E402
from machine import Machine  # noqa: E402

MACHINE_ID = "0f3a5c71b2d94e6e8a1c7d9e2b4f6081"
OPTIONS = "console=ttyAMA0 quiet"
INITRD_SIZE = 1 * MIB
ESP_SIZE = 128 * MIB
KERNEL_FILES = 6  # of a machine that keeps some; entries share them
COUNTS = (1, 20, 200)


def peer(name, path):
    return Path(output(SETUP / "peers.sh", "--path", name)) / path


class Loader:
    """One line of the table: the program, and how it is told what to do."""

    def __init__(self, name, program, no_wait=None, default=None, grub=False):
        self.name, self.program, self.no_wait, self.default, self.grub = name, program, no_wait, default, grub


SD, GRUB = "usr/lib/systemd/boot/efi/systemd-bootaa64.efi", "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi"


def loaders():
    return [
        Loader("granule-boot", BUILD / "granule-bootaa64.efi", "timeout menu-disabled\n", ""),
        Loader("systemd-boot 257", peer("trixie-arm64", SD), "timeout menu-disabled\n", ""),
        # It knows no word that takes the wait for a key away.
        Loader("systemd-boot 252", peer("bookworm-arm64", SD), None, ""),
        Loader("GRUB 2.12", peer("trixie-arm64", GRUB), "set timeout=0\n", "set timeout=5\n", grub=True),
        Loader("GRUB 2.06", peer("bookworm-arm64", GRUB), "set timeout=0\n", "set timeout=5\n", grub=True),
    ]


FLOOR = Loader("floor", BUILD / "aa64/tests/bench/floor.efi", "", "")


def make_initrd(path):
    cpio = Cpio()
    for name in ("dev", "efivars"):
        cpio.folder(name)
    cpio.add("dev/console", mode=0o020600, device=(5, 1))
    cpio.file("init", (BUILD / "aarch64/tests/bench/init").read_bytes())
    # Up to the size that is wanted, with 1 KiB to spare for the last entry of the archive.
    size = sum(len(part) for part in cpio.parts)
    cpio.file("filler", bytes(INITRD_SIZE - size - 1024), 0o100644)
    data = cpio.finish()
    path.write_bytes(data + bytes(INITRD_SIZE - len(data)))


def kernel_name(index, shared):
    return "linux" if shared or index % KERNEL_FILES == 0 else f"linux-{index % KERNEL_FILES}"


def write_entries(esp, count, shared):
    folder = esp / "loader/entries"
    folder.mkdir(parents=True)
    for i in range(count):
        version = f"6.{12 + i // 40}.{i % 40}-{i * 7 % 50 + 1}-arm64"
        (folder / f"{MACHINE_ID}-{version}.conf").write_text(
            f"# Boot Loader Specification type#1 entry\n"
            f"title      Debian GNU/Linux 13 (trixie)\n"
            f"version    {version}\n"
            f"machine-id {MACHINE_ID}\n"
            f"sort-key   debian\n"
            f"options    {OPTIONS} root=UUID=6d2a1f0c-55a1-4c9e-8f35-0123456789ab ro\n"
            f"linux      /{kernel_name(i, shared)}\n"
            f"initrd     /initrd\n")


def write_grub(esp, count, shared, head):
    folder = esp / "EFI/debian"
    folder.mkdir(parents=True)
    text = "set default=0\n" + head
    for i in reversed(range(count)):
        text += (f"menuentry 'Debian GNU/Linux, with Linux {i}' --class debian --id 'gnulinux-{i}' {{\n"
                 f"\techo 'Loading Linux {i} ...'\n"
                 f"\tlinux /{kernel_name(i, shared)} {OPTIONS} root=UUID=6d2a1f0c-55a1-4c9e-8f35-0123456789ab ro\n"
                 f"\techo 'Loading initial ramdisk ...'\n"
                 f"\tinitrd /initrd\n}}\n")
    (folder / "grub.cfg").write_text(text)


class FolderMachine(Machine):
    """Its disk is a folder that QEMU shows as FAT, which it reads at once, in the thread of the CPU. With an image guest time
    passes until another thread of the host comes back with the data."""

    def disk_options(self):
        return ["-blockdev", f"driver=vvfat,node-name=esp,dir={self.disk},fat-type=16,label=ESP,read-only=on",
                "-device", "virtio-blk-pci,drive=esp,ioeventfd=off"]


def make_image(image, esp):
    with open(image, "wb") as f:
        f.truncate(ESP_SIZE + 2 * MIB)
    run("/sbin/sfdisk", "-q", image, input=f"label: gpt\nstart=2048, size={ESP_SIZE // 512}, type=U\n", text=True)
    run("/sbin/mkfs.vfat", "-F", "32", "--offset=2048", image, ESP_SIZE // 1024, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    run("mcopy", "-s", "-i", f"{image}@@{MIB}", *sorted(esp.iterdir()), "::/")


class Bench:
    def __init__(self, folder, runs, image):
        self.folder, self.runs, self.image = folder, runs, image
        self.kernel, self.initrd = kernel("4k"), folder / "initrd"
        make_initrd(self.initrd)

    def boot(self, disk):
        """(loader start, kernel start, init) in microseconds; the first two are 0 where the loader does not tell."""
        kind = Machine if self.image else FolderMachine
        with tempfile.TemporaryDirectory(dir=self.folder) as folder, kind(folder, disk) as machine:
            found, _ = machine.start(wait=False).wait_for(r"@@TIMES (\d+) (\d+) (\d+)@@")
            return tuple(int(n) for n in found.groups())

    def measure(self, loader, count, shared, config):
        """(loader start to kernel start, machine start to init) in milliseconds."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            esp = disk = Path(folder) / "esp"
            (esp / "EFI/BOOT").mkdir(parents=True)
            shutil.copy(loader.program, esp / "EFI/BOOT/BOOTAA64.EFI")
            if loader.grub:
                write_grub(esp, count, shared, config)
            elif loader is not FLOOR:
                write_entries(esp, count, shared)
                (esp / "loader/loader.conf").write_text(config)
            for i in range(KERNEL_FILES):
                (esp / kernel_name(i, False)).symlink_to(self.kernel)
            (esp / "initrd").symlink_to(self.initrd)
            if self.image:
                disk = Path(folder) / "disk"
                make_image(disk, esp)
            times = [self.boot(disk) for _ in range(self.runs)]
        return min(end - start for start, end, _ in times) / 1000, min(init for _, _, init in times) / 1000


# Columns: entries, and whether they share one kernel file.
COLUMNS = [("1 entry", 1, True), ("20", 20, False), ("200", 200, False), ("200, one kernel file", 200, True)]
TABLES = {"no_wait": "Menus and key waits off", "default": "As each comes: loader.conf empty, GRUB with Debian's five seconds"}


def print_table(title, head, rows, markdown):
    print(f"\n{title}\n")
    rows = [head] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for n, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("| " + " | ".join(cells) + " |" if markdown else "  " + "  ".join(cells))
        if markdown and n == 0:
            print("|---|" + "---:|" * (len(head) - 1))


def print_tables(result, chosen, markdown):
    floor, floor_init = result[FLOOR.name, COLUMNS[0], "no_wait"]
    print(f"\nFloor: {floor:.2f} ms from its start to the kernel's; init {floor_init:.1f} ms after the machine's start.")
    sizes = {x.name: str(os.path.getsize(x.program)) for x in chosen}
    for table, title in TABLES.items():
        started, to_init = [], []
        for loader in chosen:
            cells = [result.get((loader.name, column, table)) for column in COLUMNS]
            if not any(cells):
                continue
            peer_cells = [result.get(("systemd-boot 257", column, table)) for column in COLUMNS]
            row = []
            for cell, peer_cell in zip(cells, peer_cells):
                ratio = f", {cell[0] / peer_cell[0]:.2f}" if cell and peer_cell else ""
                row.append(f"{cell[0]:.1f} ({cell[0] / floor:.2f}{ratio})" if cell and cell[0] else "-")
            if any(cell and cell[0] for cell in cells):
                started.append([loader.name, sizes[loader.name], *row])
            to_init.append([loader.name, sizes[loader.name], *(f"+{c[1] - floor_init:.1f}" if c else "-" for c in cells)])
        head = ["loader", "EFI file, bytes", *(c[0] for c in COLUMNS)]
        print_table(f"{title}: ms from the loader's start to the kernel's (times the floor, times systemd-boot 257)", head,
                    started, markdown)
        print_table(f"{title}: ms until init, more than with the floor", head, to_init, markdown)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/benchmarks.md has them")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="loaders whose name contains a NAME, beside the floor")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="boots of each; the quickest is shown")
    parser.add_argument("--image", action="store_true", help="a FAT32 partition of a disk image instead of a folder")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N")
    arguments = parser.parse_args()

    chosen = [x for x in loaders() if not arguments.only or any(name in x.name for name in arguments.only)]
    cells = [(FLOOR, COLUMNS[0], "no_wait")]
    cells += [(loader, column, table) for table in TABLES for loader in chosen if getattr(loader, table) is not None
              # The seconds that GRUB waits are instructions to QEMU: once is enough.
              for column in (COLUMNS[:1] if loader.grub and table == "default" else COLUMNS)]
    result = {}
    with tempfile.TemporaryDirectory(prefix="granule-bench.") as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        bench = Bench(Path(folder), arguments.runs, arguments.image)

        def one(cell):
            loader, (_, count, shared), table = cell
            return cell, bench.measure(loader, count, shared, getattr(loader, table))

        for n, ((loader, column, table), times) in enumerate(pool.map(one, cells), 1):
            result[loader.name, column, table] = times
            print(f"\r{n} of {len(cells)}: {loader.name}, {column[0]}   ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print_tables(result, chosen, arguments.markdown)


if __name__ == "__main__":
    main()
