# SPDX-License-Identifier: GPL-2.0-or-later
"""Device trees on machines without ACPI: the record in /chosen, trees and overlays from files."""

import json
import random
import shutil
import subprocess

import pytest

from guest import TOP, kernel, make_disk, run
from machine import ALL_SIZES, Machine
from test_main_job import refuses_to_run

WITHOUT_ACPI = ["-M", "acpi=off"]
TREE = "/proc/device-tree"

pytestmark = [
    pytest.mark.parametrize("firmware", ["edk2", "uboot"], indirect=True),
    pytest.mark.skipif(not shutil.which("dtc"), reason="missing: dtc (package device-tree-compiler)"),
]


@pytest.fixture
def boot(tmp_path, esp, firmware):
    machines = []

    def start():
        make_disk(tmp_path / "disk", esp.path)
        machines.append(Machine(tmp_path, tmp_path / "disk", ALL_SIZES, firmware, more=WITHOUT_ACPI))
        return machines[-1].start()

    yield start
    for machine in machines:
        machine.kill()


@pytest.fixture
def board(tmp_path):
    """The tree that QEMU makes for this machine, with a mark, and a label for the root."""
    path = tmp_path / "board.dtb"
    run("qemu-system-aarch64", "-M", f"virt,acpi=off,dumpdtb={path}", "-cpu", ALL_SIZES, "-m", "1024",
        "-display", "none", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Without the megabyte that QEMU leaves for firmware to grow it.
    run("dtc", "-q", "-I", "dtb", "-O", "dtb", "-o", path, path)
    run("fdtput", "-t", "s", path, "/", "test-mark", "from a file")
    run("fdtput", "-c", path, "/test-node")
    run("fdtput", "-t", "x", path, "/test-node", "phandle", "9999")
    run("fdtput", "-c", path, "/__symbols__")
    run("fdtput", "-t", "s", path, "/__symbols__", "test_node", "/test-node")
    return path


def overlay(tmp_path, source):
    compiled = run("dtc", "-q", "-@", "-I", "dts", "-O", "dtb", "-", input=f"/dts-v1/; /plugin/; {source}".encode(),
                   stdout=subprocess.PIPE)
    return compiled.stdout


BY_PATH = '&{/} { overlay-by-path = "yes"; };'
BY_LABEL = '&test_node { overlay-by-label = "yes"; };'
UNKNOWN_LABEL = '&{/} { half = "yes"; }; &no_such_label { half = "yes"; };'


def add(esp, name, **keys):
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_entry(name, "/kernels/4k", "1", **keys)


def read(machine, name):
    """A text of the running tree; None if there is none."""
    code, out = machine.run(f"cat {TREE}/{name} 2>/dev/null | tr '\\0' '\\n'; test -e {TREE}/{name}")
    return out if code == 0 else None


def test_chosen_records_the_boot(esp, boot):
    add(esp, "first", options="console=ttyAMA0 panic=5")
    m = boot()
    assert read(m, "chosen/granule,entry") == "first.conf"
    assert read(m, "chosen/granule,page-size") == "4k"
    assert read(m, "chosen/granule,reason") == "order"
    assert read(m, "chosen/granule,cpu") == "4k 16k 64k"
    assert "entry=first.conf\n" in read(m, "chosen/granule,boot") + "\n"
    assert read(m, "chosen/bootargs") is not None, "what the kernel adds itself is there as well"


def test_the_kernel_runs_on_the_tree_that_the_entry_names(esp, boot, board, firmware):
    esp.add_file("/board.dtb", board)
    add(esp, "first", devicetree="/board.dtb")
    m = boot()
    assert read(m, "test-mark") == "from a file"
    assert read(m, "chosen/granule,entry") == "first.conf"
    # U-Boot has the protocol to complete trees, EDK II for QEMU has not.
    assert (read(m, "chosen/u-boot,version") is not None) == (firmware == "uboot")


def test_the_tree_of_an_entry_that_came_back_is_gone(esp, boot, board, tmp_path):
    esp.add_file("/board.dtb", board)
    esp.add_file("/kernels/back", refuses_to_run(kernel("4k").read_bytes()))
    esp.add_entry("first", "/kernels/back", "1", devicetree="/board.dtb", sort_key="1")
    add(esp, "second", sort_key="2")
    m = boot()
    assert "failed=first.conf: /kernels/back came back: " in read(m, "chosen/granule,boot")
    assert read(m, "chosen/granule,entry") == "second.conf"
    assert read(m, "test-mark") is None


def test_overlays_are_applied_in_turn(esp, boot, board, tmp_path):
    esp.add_file("/board.dtb", board)
    esp.add_file("/path.dtbo", overlay(tmp_path, BY_PATH))
    esp.add_file("/label.dtbo", overlay(tmp_path, BY_LABEL))
    add(esp, "first", devicetree="/board.dtb", devicetree_overlay="/path.dtbo /label.dtbo")
    m = boot()
    assert read(m, "overlay-by-path") == "yes"
    assert read(m, "test-node/overlay-by-label") == "yes"


def test_an_overlay_changes_a_copy_of_the_tree_of_the_firmware(esp, boot, tmp_path):
    esp.add_file("/path.dtbo", overlay(tmp_path, BY_PATH))
    add(esp, "first", devicetree_overlay="/path.dtbo")
    m = boot()
    assert read(m, "overlay-by-path") == "yes"
    assert read(m, "test-mark") is None


@pytest.mark.parametrize("content", [b"", b"rubbish" * 100, "cut", None], ids=["empty", "rubbish", "cut", "missing"])
def test_a_broken_tree_leads_to_the_next_choice(esp, boot, board, content):
    data = board.read_bytes()[:3000] if content == "cut" else content
    if data is not None:
        esp.add_file("/board.dtb", data)
    add(esp, "first", devicetree="/board.dtb", sort_key="1")
    add(esp, "second", sort_key="2")
    m = boot()
    assert read(m, "chosen/granule,entry") == "second.conf"
    record = read(m, "chosen/granule,boot")
    assert "failed=first.conf: /board.dtb: " in record, record
    assert read(m, "test-mark") is None


def test_an_overlay_that_does_not_apply_is_left_out_whole(esp, boot, board, tmp_path):
    esp.add_file("/board.dtb", board)
    esp.add_file("/half.dtbo", overlay(tmp_path, UNKNOWN_LABEL))
    esp.add_file("/rubbish.dtbo", b"rubbish")
    esp.add_file("/path.dtbo", overlay(tmp_path, BY_PATH))
    add(esp, "first", devicetree="/board.dtb",
        devicetree_overlay="/half.dtbo /rubbish.dtbo /none.dtbo /path.dtbo")
    m = boot()
    assert read(m, "half") is None
    assert read(m, "test-mark") == "from a file"
    assert read(m, "overlay-by-path") == "yes"
    record = read(m, "chosen/granule,boot")
    assert "left-out=first.conf: /half.dtbo left out: names a node or label that the device tree lacks" in record
    assert "left-out=first.conf: /rubbish.dtbo left out: " in record
    assert "left-out=first.conf: /none.dtbo left out: not found" in record
    assert "path.dtbo" not in record
    status = json.loads(m.ok("granule status --json"))
    assert len(status["left_out"]) == 3 and status["failures"] == []


def mutants(data, n):
    """The same with some of its words replaced by numbers that mean something, or too much."""
    rng = random.Random(64)
    for _ in range(n):
        mutant = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = 4 * rng.randrange(len(data) // 4)
            mutant[at:at + 4] = rng.choice([0, 1, 2, 3, 4, 9, 0x7fffffff, 0xfffffff4, 0xfffffffe]).to_bytes(4, "big")
        yield bytes(mutant)


def test_hostile_overlays_never_stop_the_boot(esp, boot, board, tmp_path):
    """Those of the fuzz corpus, which brought down what came before, and mutants."""
    corpus = [f.read_bytes()[2:] for f in sorted((TOP / "tests/fuzz/corpus/device_tree").glob("overlay-*"))]
    hostile = corpus + list(mutants(overlay(tmp_path, BY_LABEL), 15 * 4 - len(corpus)))
    esp.add_file("/board.dtb", board)
    esp.add_file("/kernels/back", refuses_to_run(kernel("4k").read_bytes()))
    for i, data in enumerate(hostile):
        esp.add_file(f"/o/{i}", data)
    for i in range(0, len(hostile), 15):
        names = [f"/o/{k}" for k in range(i, min(i + 15, len(hostile)))]
        esp.add_entry(f"hostile-{i}", "/kernels/back", "1", sort_key="1", devicetree="/board.dtb",
                      devicetree_overlay=" ".join(names))
    add(esp, "good", sort_key="2")
    m = boot()
    assert read(m, "chosen/granule,entry") == "good.conf"
    assert m.console.count("came back") == 4
    assert m.console.count(" left out: ") > 20


def test_hostile_trees_never_stop_the_boot(esp, boot, board):
    esp.add_file("/kernels/back", refuses_to_run(kernel("4k").read_bytes()))
    for i, data in enumerate(mutants(board.read_bytes(), 40)):
        esp.add_file(f"/t/{i}", data)
        esp.add_entry(f"hostile-{i}", "/kernels/back", "1", sort_key="1", devicetree=f"/t/{i}", initrd=None)
    add(esp, "good", sort_key="2")
    m = boot()
    assert read(m, "chosen/granule,entry") == "good.conf"
    assert m.console.count("granule-boot: hostile-") >= 40
    assert read(m, "test-mark") is None
