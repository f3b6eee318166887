# SPDX-License-Identifier: GPL-2.0-or-later
"""The menu of a grub.cfg as `granule list` shows it: how large, and with which characters."""

import shutil
import subprocess

import pytest

import images
from grub_trees import HEADER, env_block, quoted, read_env

KERNEL = "6.1.0-arm64"


@pytest.fixture
def grub(system):
    """A machine that GRUB boots, whose menu has an entry for each title."""
    def write(*titles, after=""):
        folder = system.boot / "grub"
        folder.mkdir(exist_ok=True)
        entries = "".join(f"menuentry {quoted(t)} {{\n\tlinux /boot/vmlinuz-{KERNEL} ro\n}}\n" for t in titles)
        (folder / "grub.cfg").write_text(HEADER % "${saved_entry}" + entries + after, newline="")
        (folder / "grubenv").write_bytes(env_block())
        return system
    system.kernel(KERNEL, images.arm64(1, release=KERNEL))
    return write


def rows(system):
    table = system.ok("list").split("\n\n")[0]
    return table.splitlines()[1:]


def test_a_character_that_is_not_ascii_leaves_the_other_rows_as_they_are(grub):
    plain = rows(grub("a", "long 'title' > of $one", "c"))
    assert plain[1].endswith("K   good  long 'title' >> of $one")
    assert rows(grub("a", "long 'title' > of $one", "c", "\u00e9\u4e2d"))[:3] == plain


def test_an_id_that_is_not_ascii_can_be_chosen(grub):
    system = grub("a", "Zus\u00e4tzlich \u4e2d")
    assert list(system.entries()) == ["a", "Zus\u00e4tzlich \u4e2d"]
    system.ok("set", "Zus\u00e4tzlich \u4e2d")
    assert read_env(system.boot / "grub/grubenv") == {"saved_entry": "Zus\u00e4tzlich \u4e2d"}


def test_an_id_cannot_write_to_the_terminal(grub):
    system = grub("a\x1b[31mb", "c\u009b31md")
    assert list(system.entries()) == ["a\x1b[31mb", "c\u009b31md"]
    shown = system.ok("list") + system.ok("status")
    assert "\x1b" not in shown and "\u009b" not in shown


def test_what_grub_cannot_read_is_named_with_its_line_and_the_rest_is_listed(grub):
    system = grub("a", after="menuentry b { linux /x y|z\n}\nmenuentry c { linux /boot/vmlinuz-" + KERNEL + "; }\n")
    line = (system.boot / "grub/grub.cfg").read_text().split("y|z")[0].count("\n") + 1
    done = system.run("list")
    assert "line %d" % line in done.stderr + done.stdout, done
    assert list(system.entries()) == ["a", "c"]


def test_carriage_returns_are_passed_over(grub):
    system = grub("a", "b")
    before = rows(system)
    cfg = system.boot / "grub/grub.cfg"
    cfg.write_text(cfg.read_text().replace("\n", "\r\n"), newline="")
    assert rows(system) == before


@pytest.mark.skipif(not shutil.which("grub-script-check"), reason="grub-script-check is not there")
@pytest.mark.parametrize("text", ["a { b; }", "a { }", "a { b", "if a; then b; fi", "if a; then fi", "x 'y", "x | y", "for a in b; do c; done",
                                  "function f { a; }", "function f { a }", "a; ; b", "x \\$ $? ${y}", "x $", "fi", "x fi"])
def test_what_is_wrong_is_wrong_for_grub_too(grub, text, tmp_path):
    system = grub("m", after=text + "\n")
    checked = subprocess.run(["grub-script-check", system.boot / "grub/grub.cfg"], capture_output=True)
    done = system.run("list")
    assert ("grub.cfg: line" in done.stderr + done.stdout) == (checked.returncode != 0), (text, done)
