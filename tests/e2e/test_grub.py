# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that boot with Debian's GRUB, 2.06 and 2.12, each with a menu that its own update-grub made with our generator:
the same words as elsewhere, wherever /boot is. What the release's systemd starts is granule-verify.service itself."""

import json
import os
import re

import pytest

from grub_guest import (SIZES, UNPACK, GrubMachine, add_kernel, copy_disk, copy_to_machine, locked, make_granule_disk,
                        release_of, update_grub)
from long_run import long
from machine import READY
from peer_guest import missing_peers

pytestmark = pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
# Instruction counting lets time jump while a machine waits for its disk.
LONG = "--deadline 24h"
OWN_BLOCK = "/boot/efi/EFI/granule/grubenv"


def entry_of(size, later=None):
    return f"granule-{release_of(size, later)}-{size}"


@pytest.fixture(scope="session")
def granule_disk(tmp_path_factory):
    """granule_disk(release, layout): the disk with granule installed, made when it is first asked for."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def disk(release, layout):
        made = shared / f"grub-{release}-{layout}"
        with locked(shared / f"grub-{release}-{layout}.lock"):
            if not made.exists():
                work = tmp_path_factory.mktemp(f"grub-{release}-{layout}")
                make_granule_disk(work / "disk", release, layout, work)
                (work / "disk").rename(made)
        return made

    return disk


@pytest.fixture
def grub(tmp_path, granule_disk):
    """grub(release, layout): a machine with granule, running from the default that Debian had."""
    machines = []

    def start(release, layout="root", icount=True, put=None):
        disk = copy_disk(granule_disk(release, layout), tmp_path / "disk")
        if put:
            copy_to_machine(disk, tmp_path, put)
        m = GrubMachine(tmp_path, disk, icount)
        if not icount:
            m.more = []  # no watchdog: it would bite where real time passes and little is done in it
        machines.append(m)
        m.start()
        if put:
            m.ok(UNPACK)
        m.settle()
        assert booted(m) == release_of("4k") and not own_entry(m), "installing granule changed no default"
        return m

    yield start
    for m in machines:
        m.kill()


def rebooted(m):
    return m.reboot().settle()


def words(m):
    return m.ok("cat /proc/cmdline").split()


def booted(m):
    """The release that was started, once page size and name of its entry agree with what runs."""
    size = int(m.ok("getconf PAGESIZE"))
    release = m.ok("uname -r")
    assert f"vmlinuz-{release}" in words(m)[0] and release.endswith({4096: "-4k", 16384: "-16k", 65536: "-64k"}[size])
    for word in words(m):
        if word.startswith("granule.entry="):
            assert word == f"granule.entry=granule-{release}-{release.split('-')[-1]},{release.split('-')[-1]}"
    return release


def own_entry(m):
    """Whether an entry of granule's was started."""
    return any(w.startswith("granule.entry=") for w in words(m))


def status(m):
    return json.loads(m.ok("granule status --json"))


def history(m):
    return [(h["verdict"], h["entry_asked"] or h["entry"]) for h in json.loads(m.ok("granule history --json"))["lines"]]


def block(m, path=OWN_BLOCK):
    """An environment block's content, as GRUB's own tool reads it."""
    return dict(line.split("=", 1) for line in m.ok(f"grub-editenv {path} list").splitlines())


def verdicts(m):
    return [verdict for verdict, _ in history(m)]


def listed(m):
    return {e["id"]: e for e in json.loads(m.ok("granule list --json"))["entries"]}


def files_of_boot(m):
    """What GRUB reads besides granule's block; nothing of granule's words changes it."""
    return m.ok("busybox sha256sum /boot/grub/grubenv /boot/grub/grub.cfg /etc/default/grub")


# ---- words ----


@pytest.mark.parametrize("release, layout", [("12", "root"), long("13", "btrfs"), long("13", "root"), long("12", "lvm")])
def test_once_try_and_rollback(grub, release, layout):
    m = grub(release, layout)
    before = files_of_boot(m)
    entries = listed(m)
    assert [(e, entries[e]["page_size"]) for e in map(entry_of, SIZES)] == [(entry_of(s), s) for s in SIZES]
    assert status(m)["entry"].startswith("gnulinux-simple-")
    default = status(m)["entry"]
    assert status(m)["next"]["id"] == default

    m.ok("granule once 16k")
    assert status(m)["next"]["id"] == entry_of("16k")
    assert block(m)["next_entry"] == entry_of("16k")
    rebooted(m)
    assert booted(m) == release_of("16k")
    assert not block(m).get("next_entry"), "GRUB cleared it before it obeyed"
    assert status(m)["entry"] == entry_of("16k")
    m.ok("granule verify")
    assert status(m)["next"]["id"] == default
    rebooted(m)
    assert booted(m) == release_of("4k")

    m.ok(f"granule try 64k {LONG}")
    assert [e for e, facts in listed(m).items() if facts["default"]] == [default]
    rebooted(m)
    assert booted(m) == release_of("64k")
    assert any(w.startswith("panic=") for w in words(m)), "it would come back after a panic"
    m.ok("granule verify")
    assert verdicts(m)[-2:] == ["armed", "passed"]
    assert status(m)["policy"] == "64k" and status(m)["next"]["id"] == entry_of("64k")
    rebooted(m)
    assert booted(m) == release_of("64k")
    assert history(m)[-1] == ("ok", entry_of("64k"))

    m.ok("granule rollback")
    rebooted(m)
    assert booted(m) == release_of("4k")
    m.ok("granule verify")
    assert verdicts(m)[-2:] == ["rolled-back", "ok"]
    assert files_of_boot(m) == before
    assert m.ok("systemctl --failed --no-legend") == ""


def breaks_initrd(m):
    """Its kernel finds no root, and panics."""
    m.ok(f"echo garbage >/boot/initrd.img-{release_of('64k')}")
    return "not-come-up"


def breaks_kernel(m):
    """It has no more than a kernel's header: GRUB says so, and goes on."""
    m.ok(f"cd /boot; dd if=vmlinuz-{release_of('64k')} of=k bs=4096 count=1 2>/dev/null; mv k vmlinuz-{release_of('64k')}")
    return "failed"


def breaks_a_service(m):
    """The kernel is fine, the system is not."""
    m.ok("mkdir -p /etc/granule/verify.d; printf '%s\\n' '#!/bin/sh' '[ $(getconf PAGESIZE) = 4096 ]' "
         ">/etc/granule/verify.d/check; chmod +x /etc/granule/verify.d/check")
    return "failed"


@pytest.mark.parametrize("release, layout, breaks", [
    ("12", "root", breaks_initrd),
    long("13", "btrfs", breaks_kernel),
    long("13", "btrfs", breaks_a_service),
    long("13", "root", breaks_initrd),
    long("12", "root", breaks_kernel),
    long("12", "md", breaks_a_service),
])
def test_a_trial_that_fails_comes_back(grub, release, layout, breaks):
    m = grub(release, layout, icount=breaks != breaks_initrd)
    # Without counted instructions the machine has no watchdog.
    m.ok(f"granule try 64k {LONG}" + (" --force" if breaks == breaks_initrd else ""))
    verdict = breaks(m)
    m.reboot()
    if breaks == breaks_a_service:
        m.wait_for(READY)
    else:
        assert m.console.count(READY) == 1
    m.settle()
    assert booted(m) == release_of("4k")
    assert (verdict, entry_of("64k")) in history(m)
    assert not block(m).get("next_entry") and not block(m).get("granule_options")
    assert status(m)["next"]["id"] == status(m)["entry"] and status(m)["policy"] is None
    assert verdicts(m).count("armed") == 1


# ---- updates ----


def install_kernel(m, release):
    """As a kernel's package does."""
    m.ok(f"mv /root/new/*-{release} /boot")
    return m.ok(f"run-parts --report --exit-on-error --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/postinst.d 2>&1")


def remove_kernel(m, release):
    m.ok(f"rm /boot/*-{release}")
    return m.ok(f"run-parts --report --exit-on-error --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/postrm.d 2>&1")


@pytest.mark.parametrize("release, layout", [long("12", "root"), long("13", "btrfs")])
def test_a_policy_follows_kernel_updates(grub, release, layout):
    def put(tree):
        (tree / "root/new").mkdir(parents=True)
        add_kernel(tree / "root/new", "64k", 2)
        add_kernel(tree / "root/new", "4k", 3)

    m = grub(release, layout, icount=False, put=put)
    m.ok("granule set 64k")
    assert status(m)["next"]["id"] == entry_of("64k")
    rebooted(m)
    assert booted(m) == release_of("64k")
    install_kernel(m, release_of("4k", 3))
    assert status(m)["next"]["id"] == entry_of("64k"), "of the newest kernel that has 64K"
    install_kernel(m, release_of("64k", 2))
    m.ok("grub-script-check /boot/grub/grub.cfg")
    assert status(m)["next"]["id"] == entry_of("64k", 2)
    rebooted(m)
    assert booted(m) == release_of("64k", 2)
    assert history(m)[-1] == ("ok", entry_of("64k", 2))
    remove_kernel(m, release_of("64k"))
    assert entry_of("64k") not in listed(m)
    m.ok("granule set 4k")
    rebooted(m)
    assert booted(m) == release_of("4k", 3)
    assert m.ok("systemctl --failed --no-legend") == ""


# ---- where GRUB cannot write ----


@pytest.mark.parametrize("release, layout", [long("12", "md"), long("13", "lvm"), long("13", "md"), long("12", "btrfs")])
def test_where_grub_cannot_write_boot_the_block_of_the_esp_is_used(grub, release, layout):
    m = grub(release, layout)
    before = files_of_boot(m)
    m.ok("granule once 64k")
    rebooted(m)
    assert booted(m) == release_of("64k")
    assert not block(m).get("next_entry")
    m.ok("granule set 16k")
    rebooted(m)
    assert booted(m) == release_of("16k")
    m.ok("granule verify")
    assert files_of_boot(m) == before
    m.ok("granule set none")
    rebooted(m)
    assert booted(m) == release_of("4k")


# ---- beside the owner's ----


def default_grub(m, value):
    m.ok(f"sed -i \"s/^GRUB_DEFAULT=.*/GRUB_DEFAULT='{value}'/\" /etc/default/grub")


@pytest.mark.parametrize("release", [long("12"), long("13")])
def test_granule_alone_changes_no_default_and_grub_reboot_works_as_before(grub, release):
    m = grub(release)
    advanced = re.search(r"'(gnulinux-advanced-[^']*)'", m.ok("cat /boot/grub/grub.cfg")).group(1)
    ids = {size: f"gnulinux-{release_of(size)}-advanced-{advanced.removeprefix('gnulinux-advanced-')}" for size in SIZES}

    m.ok("granule once 64k")
    m.ok(f"grub-reboot '{advanced}>{ids['16k']}'")
    rebooted(m)
    assert booted(m) == release_of("16k") and not own_entry(m), "this word goes before the other"
    assert not block(m).get("next_entry") and not block(m, "/boot/grub/grubenv").get("next_entry")
    rebooted(m)
    assert booted(m) == release_of("4k") and not own_entry(m)

    default_grub(m, "1>2")  # Debian's second item is the submenu, its third entry the second kernel
    update_grub(m)
    rebooted(m)
    assert booted(m) == release_of("64k") and not own_entry(m)
    default_grub(m, "saved")
    update_grub(m)
    m.ok(f"grub-set-default '{advanced}>{ids['16k']}'")
    rebooted(m)
    assert booted(m) == release_of("16k") and not own_entry(m)
    m.ok("granule set 64k")
    rebooted(m)
    assert booted(m) == release_of("64k")
    assert block(m, "/boot/grub/grubenv")["saved_entry"] == f"{advanced}>{ids['16k']}"
    m.ok("granule set none")
    rebooted(m)
    assert booted(m) == release_of("16k") and not own_entry(m)
