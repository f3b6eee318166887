#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time that `granule list` takes for a large grub.cfg, beside grub-script-check, which reads the same file.

The file is as grub-mkconfig writes it: one entry at the top, all others in a submenu, each with the lines that 10_linux
writes for it, and padded by comments to the size asked for. A few kernel files are shared by all entries. Of each program
the quickest run counts, as the load of the host can only add.

grub-script-check parses the file with GRUB's own parser and tells whether GRUB accepts it: it makes no menu of it and looks
at no kernel. granule lists the menu, with the page size of each kernel file. The start of the programs is in both."""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/cli"))

import images  # noqa: E402

GRANULE = TOP / ("build/aarch64/granule" if os.uname().machine == "aarch64" else "build/host/granule")
UUID = "11111111-2222-3333-4444-555555555555"
BITS = (1, 2, 3)  # 4K, 16K, 64K

HEADER = """set timeout=5
if [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
"""
ENTRY = """menuentry 'Debian GNU/Linux, with Linux %(n)d' --class debian --class gnu-linux $menuentry_id_option '%(id)s' {
	load_video
	insmod gzio
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	insmod part_gpt
	insmod ext2
	set root='hd0,gpt2'
	if [ x$feature_platform_search_hint = xy ]; then
	  search --no-floppy --fs-uuid --set=root --hint-bios=hd0,gpt2 --hint-efi=hd0,gpt2 %(uuid)s
	else
	  search --no-floppy --fs-uuid --set=root %(uuid)s
	fi
	echo	'Loading Linux %(release)s ...'
	linux	/boot/vmlinuz-%(release)s root=UUID=%(uuid)s ro quiet splash word=%(n)d
	echo	'Loading initial ramdisk ...'
	initrd	/boot/initrd.img-%(release)s
%(padding)s}
"""


def release(i):
    return f"6.{i}.0-arm64"


def make_cfg(entries, size, kernels):
    """Text of exactly `size` bytes, if that many are enough."""
    def entry(n, padding=""):
        name = f"gnulinux-{release(n % kernels)}-{n}-{UUID}"
        return ENTRY % {"n": n, "id": name, "uuid": UUID, "release": release(n % kernels), "padding": padding}

    bare = len(HEADER) + sum(len(entry(n)) for n in range(entries)) + len("submenu 'Advanced' --id adv {\n}\n")
    each, rest = divmod(max(0, size - bare), entries)
    line = "\t# " + "x" * 75 + "\n"
    text = [HEADER]
    for n in range(entries):
        room = each + (n < rest)
        padding = line * (room // len(line))
        left = room - len(padding)
        padding += "#" * (left - 1) + "\n" if left else ""
        text.append(entry(n, padding))
        if n == 0:
            text.append("submenu 'Advanced' --id adv {\n")
    return "".join(text) + "}\n"


def make_tree(root, entries, size, kernels):
    (root / "boot/grub").mkdir(parents=True)
    (root / "boot/efi/EFI").mkdir(parents=True)
    for i in range(kernels):
        (root / f"boot/vmlinuz-{release(i)}").write_bytes(images.arm64(BITS[i % 3], release=release(i)))
        (root / f"boot/initrd.img-{release(i)}").write_bytes(b"initrd")
    cfg = root / "boot/grub/grub.cfg"
    cfg.write_text(make_cfg(entries, size, kernels))
    return cfg


def quickest(command, runs):
    """Wall and CPU time of the quickest run, in milliseconds, and what it printed."""
    best_wall = best_cpu = float("inf")
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(f"{command}: {done.stderr}")
        best_wall = min(best_wall, wall)
        best_cpu = min(best_cpu, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best_wall * 1000, best_cpu * 1000, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, default=3000)
    parser.add_argument("--size", type=int, default=5 << 20, help="of grub.cfg, in bytes")
    parser.add_argument("--kernels", type=int, default=6)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--limit", type=float, help="fail if `granule list` takes more milliseconds")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cfg = make_tree(root, args.entries, args.size, args.kernels)
        commands = [("granule --version", [GRANULE, "--version"]),
                    ("granule list", [GRANULE, "--root", root, "list"]),
                    ("granule list --json", [GRANULE, "--root", root, "list", "--json"]),
                    ("granule status", [GRANULE, "--root", root, "status"])]
        if shutil.which("grub-script-check"):
            commands.append(("grub-script-check", ["grub-script-check", cfg]))
        print(f"grub.cfg: {cfg.stat().st_size} bytes, {args.entries} entries, {args.kernels} kernel files; ms, best of "
              f"{args.runs} runs\n\n{'':22}{'wall':>8}{'CPU':>8}")
        times = {}
        for name, command in commands:
            wall, cpu, printed = quickest(command, args.runs)
            times[name] = wall
            print(f"{name:22}{wall:8.1f}{cpu:8.1f}")
            if name == "granule list" and printed.count("gnulinux-") != args.entries:
                sys.exit(f"granule list shows other entries than the file has:\n{printed[:2000]}")
    if args.limit and times["granule list"] > args.limit:
        sys.exit(f"granule list took more than {args.limit} ms")


if __name__ == "__main__":
    main()
