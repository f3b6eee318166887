# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of granule.conf, by the kernels that `register` writes entries for."""

import os
import re

import pytest

from images import SELECTABLE_STRINGS, arm64
from system import TOP

VENDOR, OWNER = "usr/lib/granule/granule.conf", "etc/granule.conf"


@pytest.fixture
def machine(system):
    system.loader()
    system.kernel("7.0", arm64(0, extra=SELECTABLE_STRINGS))
    return system


def write(machine, path, text):
    file = machine.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def registered(machine, *arguments):
    """Sizes that register writes entries for, and the lines that it complained with, without the root."""
    done = machine.run("register", *arguments)
    assert done.returncode == 0, done
    sizes = {int(k) for k in re.findall(r"-7\.0-(\d+)k\.conf", " ".join(machine.entries()))}
    return sizes, [line.replace(str(machine.root), "") for line in done.stderr.splitlines()]


def test_without_a_file_all_sizes_are_wanted(machine):
    assert registered(machine) == ({4, 16, 64}, [])


def test_page_sizes_says_what_a_kernel_that_can_choose_is_registered_for(machine):
    write(machine, OWNER, "page-sizes = 4k 64k\n")
    assert registered(machine) == ({4, 64}, [])


def test_the_option_wins_over_the_setting(machine):
    write(machine, OWNER, "page-sizes = 4k 64k\n")
    assert registered(machine, "--page-size=16k") == ({16}, [])


def test_a_kernel_of_one_size_is_registered_whatever_is_wanted(machine):
    machine.kernel("6.1", arm64(3, release="6.1"))
    write(machine, OWNER, "page-sizes = 4k\n")
    assert registered(machine)[0] == {4}
    assert any("6.1-64k" in e for e in machine.entries())


def test_sizes_that_the_cpu_lacks_are_left_out_with_a_word_if_none_is_left(machine):
    machine.set_variable("GranuleCpu", "4k 64k")
    write(machine, OWNER, "page-sizes = 16k 64k\n")
    assert registered(machine) == ({64}, [])


def test_a_setting_that_leaves_nothing_is_said(machine):
    machine.set_variable("GranuleCpu", "4k 64k")
    write(machine, OWNER, "page-sizes = 16k\n")
    sizes, lines = registered(machine)
    assert sizes == set()
    assert lines == ["granule: page-sizes of granule.conf: the CPU has none of them, kernels that can choose get no "
                     "entry"]


@pytest.mark.parametrize("files,want", [
    ({VENDOR: "4k"}, 4),
    ({VENDOR: "4k", OWNER: "16k"}, 16),
    ({VENDOR: "4k", "usr/lib/granule/granule.conf.d/a.conf": "16k"}, 16),
    ({OWNER: "4k", "usr/lib/granule/granule.conf.d/a.conf": "16k"}, 4),
    ({OWNER: "4k", "etc/granule.conf.d/a.conf": "16k"}, 16),
    ({"etc/granule.conf.d/10.conf": "4k", "etc/granule.conf.d/9.conf": "16k"}, 16),
    ({"etc/granule.conf.d/B.conf": "4k", "etc/granule.conf.d/a.conf": "16k"}, 16),
    ({OWNER: "4k", "etc/granule.conf.d/a.conf~": "16k", "etc/granule.conf.d/.b.conf": "16k",
      "etc/granule.conf.d/.conf": "16k", "etc/granule.conf.d/a.conf.dpkg-new": "16k"}, 4),
    ({"usr/lib/granule/granule.conf.d/a.conf": "64k", "etc/granule.conf.d/a.conf": "16k"}, 16),
])
def test_which_file_wins(machine, files, want):
    for path, size in files.items():
        write(machine, path, f"page-sizes = {size}\n")
    assert registered(machine) == ({want}, [])


@pytest.mark.parametrize("mask", ["/dev/null", ""])
def test_a_masked_file_of_the_vendor_is_not_read(machine, mask):
    write(machine, "usr/lib/granule/granule.conf.d/a.conf", "page-sizes = 64k\n")
    folder = machine.root / "etc/granule.conf.d"
    folder.mkdir(parents=True)
    if mask:
        os.symlink(mask, folder / "a.conf")
    else:
        (folder / "a.conf").touch()
    assert registered(machine) == ({4, 16, 64}, [])


def test_what_is_not_understood_is_named_with_file_and_line_and_the_rest_counts(machine):
    write(machine, OWNER, "# mine\n\ncolour = blue\npage-size = 4k\ntries = many\npage-sizes = 64k\n")
    write(machine, "etc/granule.conf.d/x.conf", "nonsense\r\n\r\ndeadlines=1\r\n")
    assert registered(machine) == ({64}, [
        "granule: /etc/granule.conf:3: unknown key 'colour'",
        "granule: /etc/granule.conf:4: unknown key 'page-size'; is 'page-sizes' meant?",
        "granule: /etc/granule.conf:5: tries cannot be 'many': it takes a number from 1 to 99",
        "granule: /etc/granule.conf.d/x.conf:1: not 'key = value': 'nonsense'",
        "granule: /etc/granule.conf.d/x.conf:3: unknown key 'deadlines'; is 'deadline' meant?",
    ])


def test_the_wrong_file_under_the_right_name_does_not_fill_the_screen(machine):
    file = write(machine, OWNER, "")
    file.write_bytes(bytes(range(1, 256)) * 200 + b"\npage-sizes = 64k\n" + b"x\n" * 50)
    sizes, lines = registered(machine)
    assert sizes == {64}
    assert len(lines) == 11 and lines[-1].endswith("more lines are not understood")
    assert all(line.isprintable() or "\udc80" <= max(line) for line in lines) and max(map(len, lines)) < 200


def test_files_that_cannot_be_read_are_named_and_the_others_count(machine):
    (machine.root / OWNER).mkdir()
    write(machine, "etc/granule.conf.d/a.conf", "page-sizes = 16k\n#" + "x" * 70000)
    write(machine, "etc/granule.conf.d/b.conf", "page-sizes = 64k\n")
    write(machine, "usr/lib/granule/granule.conf.d", "")
    sizes, lines = registered(machine)
    assert sizes == {64}
    assert [line.split(" cannot be read, its settings do not count: ") for line in lines] == [
        ["granule: /usr/lib/granule/granule.conf.d:", "Not a directory"],
        ["granule: /etc/granule.conf:", "Is a directory"],
        ["granule: /etc/granule.conf.d/a.conf:", "File too large"],
    ]


def test_a_pipe_under_the_name_of_a_file_does_not_hang_the_command(machine):
    os.mkfifo(machine.root / OWNER)
    assert registered(machine) == ({4, 16, 64}, [])


def test_the_man_page_names_every_key_and_its_default(machine):
    page = (TOP / "docs/granule.conf.5").read_text().replace("\\-", "-")
    table = re.search(r"\} keys\[\] = \{.*?^};", (TOP / "core/settings.c").read_text(), re.S | re.M).group()
    keys = re.findall(r'\{ "([a-z-]+)", KIND_', table)
    assert {"page-sizes", "deadline"} <= set(keys)
    text = page[page.index(".SH KEYS"):page.index(".SH FILES")]
    sections = re.split(r"^\.TP\n\.B ([a-z-]+)\n", text, flags=re.M)[1:]
    documented = dict(zip(sections[::2], sections[1::2]))
    assert set(documented) == set(keys)
    for key, body in documented.items():
        assert re.search(r"^Default: ", body, re.M), key
