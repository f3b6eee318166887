# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB reads no journal: what a command wrote for it must be found without one, as it is after a power cut."""

import os
import shutil
import subprocess

import pytest

from test_grub_files import MENU, SHIPPED, Tree, block

JOURNALS = {"ext4": "noload", "xfs": "norecovery"}


def run(*command):
    subprocess.run([str(c) for c in command], check=True, capture_output=True)


class Mount:
    """A file system in a file, at a folder."""

    def __init__(self, image, folder, options="loop"):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        run("mount", "-o", options, image, folder)

    def __enter__(self):
        return self.folder

    def __exit__(self, *_):
        run("umount", self.folder)


@pytest.fixture(params=JOURNALS)
def image(request, tmp_path):
    """A file system with a block that GRUB has read before; everything of it stands where it belongs."""
    name = request.param
    if os.geteuid() or not os.path.exists("/dev/loop-control"):
        pytest.skip("only root can mount images")
    if not shutil.which(f"mkfs.{name}", path="/sbin:/usr/sbin"):
        pytest.skip(f"mkfs.{name} is not there")
    path = tmp_path / "image"
    with open(path, "wb") as f:
        f.truncate(320 << 20)
    run(f"/sbin/mkfs.{name}", "-q", path)
    try:
        with Mount(path, tmp_path / "first") as folder:
            (folder / "grub.cfg").write_text(MENU)
            (folder / "grubenv").write_bytes(block("saved_entry=old", "x=" + "y" * 600, "next_entry=z"))
    except subprocess.CalledProcessError:
        pytest.skip(f"{name} cannot be mounted here")
    return path, JOURNALS[name]


@pytest.mark.parametrize("made", [False, True], ids=["replaced", "made"])
def test_a_block_that_is_written_anew_is_found_without_the_journal(image, made, tmp_path):
    path, no_journal = image
    tree = Tree(tmp_path / "root")
    with Mount(path, tree.root / "boot/grub") as folder:
        if made:
            (folder / "grubenv").unlink()
            run("sync", "-f", folder)
        # Two sectors change, so that it is replaced and not overwritten.
        done = tree.run("env:saved_entry=new,next_entry=zz", program=SHIPPED)
        assert "changed" in done.stdout, done
        # What the disk holds now; nothing was unmounted.
        shutil.copyfile(path, tmp_path / "cut")
        content = (folder / "grubenv").read_bytes()
    with Mount(tmp_path / "cut", tmp_path / "after", f"loop,ro,{no_journal}") as folder:
        assert (folder / "grubenv").read_bytes() == content
