# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that come and go on machines that GRUB boots: the hooks of packages, as run-parts and kernel-install call them."""

import shutil

import pytest

from grub_boots import (BLS_NEW, BLS_OLD, GRUB_NEW, GRUB_OLD, BlsBoots, GrubBoots, GrubSystem, bls_verified, grub_verified,
                        read_block, write_block)
from system import TOP
from test_hooks import Packages, mounting, quiet  # noqa: F401

NEWER = "granule-6.2-64k-64k"


class Debian(Packages):
    """Packages whose hooks come after zz-update-grub."""

    def install(self, release, size, update=True, params="configure"):
        self.system.add_kernel(release, size)
        if update:
            self.system.update_grub()
        return self.parts("kernel/postinst.d", release, f"/boot/vmlinuz-{release}", DEB_MAINT_PARAMS=params)

    def remove(self, release, update=True):
        self.system.remove_kernel(release)
        if update:
            self.system.update_grub()
        return self.parts("kernel/postrm.d", release, f"/boot/vmlinuz-{release}", DEB_MAINT_PARAMS="remove")


@pytest.fixture
def debian(tmp_path):
    return Debian(grub_verified(tmp_path / "root"), tmp_path)


def said(done, *parts):
    lines = [line for line in done.stderr.splitlines() if line.startswith("granule: ")]
    assert done.returncode == 0 and not done.stdout and len(lines) == 1, done
    for part in parts:
        assert part in lines[0], done


def test_register_leaves_entries_to_update_grub(debian):
    system = debian.system
    before = system.files()
    done = system.run("register")
    assert done.returncode == 0 and "update-grub" in done.stdout and "--force" in done.stdout
    assert system.files() == before and not (system.efi / "loader").exists()
    done = system.run("unregister", GRUB_OLD)
    assert done.returncode == 1 and "update-grub" in done.stderr and system.files() == before
    assert (system.boot / "grub/grub.cfg").exists()


def test_a_new_kernel_is_what_the_policy_stands_for_quietly(debian):
    system = debian.system
    system.ok("set", "64k")
    quiet(debian.install("6.2-64k", "64k"))
    assert system.json("status")["next"]["id"] == NEWER and not (system.efi / "loader").exists()
    quiet(debian.install("6.3-4k", "4k"))
    assert system.json("status")["next"]["id"] == NEWER, "a newer kernel of another size"
    assert GrubBoots(system).boot() == NEWER


def test_a_new_kernel_that_grub_cfg_does_not_have_is_told(debian):
    said(debian.install("6.2-64k", "64k", update=False), "6.2-64k: no entry of", "run 'update-grub'")


def test_a_policy_that_grub_cfg_was_not_made_for_is_told(debian):
    system = debian.system
    system.ok("set", "64k")
    system.add_kernel("6.2-64k", "64k")
    system.update_grub()
    cfg = system.boot / "grub/grub.cfg"
    cfg.write_text(cfg.read_text().replace(f"set granule_64k={NEWER}", f"set granule_64k={GRUB_NEW}"))
    done = debian.parts("kernel/postinst.d", "6.2-64k", "/boot/vmlinuz-6.2-64k", DEB_MAINT_PARAMS="configure")
    said(done, GRUB_NEW, NEWER, "run 'update-grub'")


def test_an_initrd_that_is_made_before_the_menu_is_no_matter(debian):
    debian.system.add_kernel("6.2-64k", "64k")
    quiet(debian.parts("initramfs/post-update.d", "6.2-64k", "/boot/initrd.img-6.2-64k"))


def test_where_granule_is_not_asked_for_hooks_say_nothing(tmp_path):
    system = GrubSystem(tmp_path / "root", lines=False)
    debian = Debian(system, tmp_path)
    before = system.files()
    quiet(debian.install("6.2-64k", "64k", update=False))
    quiet(debian.remove("6.2-64k", update=False))
    assert system.files() == before


def test_a_kernel_that_goes_takes_a_one_shot_for_it_along(debian):
    system = debian.system
    system.ok("once", "64k")
    done = debian.remove("6.1-64k")
    assert done.returncode == 0 and "next_entry" not in system.wishes()
    assert GrubBoots(system).boot() == GRUB_OLD


def test_a_kernel_that_goes_takes_its_trial_along(debian):
    system, boots = debian.system, GrubBoots(debian.system)
    before = system.wishes()
    system.ok("try", "64k")
    done = debian.remove("6.1-64k")
    assert done.returncode == 0 and system.wishes() == before and boots.record("trial") is None
    assert boots.history()[-1]["reason"] == "its kernel 6.1-64k was removed"
    assert boots.boot() == GRUB_OLD and boots.verify().returncode == 0


def test_another_kernel_that_goes_leaves_a_trial_alone(debian):
    debian.system.ok("try", "64k")
    before = debian.system.wishes()
    debian.remove("6.1-16k")
    assert debian.system.wishes() == before and GrubBoots(debian.system).record("trial")["stage"] == "armed"


def test_a_default_that_goes_is_told_and_what_was_verified_boots(debian):
    system, boots = debian.system, GrubBoots(debian.system)
    system.ok("set", GRUB_NEW)
    said(debian.remove("6.1-64k"), f"{GRUB_NEW}, which was the default, is gone with its kernel: {GRUB_OLD} boots now")
    assert boots.boot() == GRUB_OLD == system.json("status")["entry"]


def test_a_policy_without_a_kernel_is_told(debian):
    debian.system.ok("set", "64k")
    said(debian.remove("6.1-64k"), "the policy 64k stands for no entry now")


def test_a_kernel_that_goes_without_update_grub_counts_as_gone(debian):
    system = debian.system
    system.ok("once", "64k")
    assert debian.remove("6.1-64k", update=False).returncode == 0
    assert "next_entry" not in system.wishes()


# ---- kernel-install ----


class RedHat(Packages):
    """kernel-install, whose 20-grub.install has written or removed the file before."""

    def __init__(self, system, folder):
        super().__init__(system, folder)
        shutil.copy(TOP / "userspace/systemd/95-granule.install", folder / "95-granule.install")
        self.plugin = folder / "95-granule.install"

    def call(self, command, release):
        return self.run("sh", self.plugin, command, release, "/nonexistent", f"/boot/vmlinuz-{release}")

    def add(self, release, size):
        self.system.add_kernel(release, size)
        self.system.write_entry(release)
        return self.call("add", release)

    def remove(self, release):
        self.system.remove_kernel(release)
        (self.system.boot / f"loader/entries/{self.system.name(release)}.conf").unlink()
        return self.call("remove", release)


@pytest.fixture(params=[False, True], ids=["grubenv", "granules-block"])
def red_hat(request, tmp_path):
    return RedHat(bls_verified(tmp_path / "root", lines=request.param), tmp_path)


def test_the_default_of_a_policy_moves_to_a_newer_kernel_of_its_size(red_hat):
    system = red_hat.system
    system.ok("set", "64k")
    assert system.wishes()["saved_entry"] == BLS_NEW
    done = red_hat.add("6.2-64k", "64k")
    assert done.returncode == 0 and not done.stderr, done
    assert system.wishes()["saved_entry"] == system.name("6.2-64k")
    red_hat.add("6.3-4k", "4k")
    assert system.wishes()["saved_entry"] == system.name("6.2-64k")
    assert BlsBoots(system).boot() == system.name("6.2-64k") and not (system.efi / "loader").exists()


def test_the_default_of_a_policy_moves_back_when_its_kernel_goes(red_hat):
    system = red_hat.system
    system.ok("set", "64k")
    red_hat.add("6.2-64k", "64k")
    assert red_hat.remove("6.2-64k").returncode == 0
    assert system.wishes()["saved_entry"] == BLS_NEW and BlsBoots(system).boot() == BLS_NEW


def test_a_package_that_moved_the_default_to_another_size_is_told_and_not_fought(red_hat):
    """UPDATEDEFAULT=yes: the owner's setting."""
    system = red_hat.system
    system.ok("set", "64k")
    system.add_kernel("6.3-4k", "4k")
    system.write_entry("6.3-4k")
    write_block(system.wish_block, {**system.wishes(), "saved_entry": system.name("6.3-4k")})
    done = red_hat.call("add", "6.3-4k")
    assert done.returncode == 0 and "the policy 64k is not followed" in done.stderr
    assert system.wishes()["saved_entry"] == system.name("6.3-4k")


def test_a_trial_of_a_file_goes_with_its_kernel(red_hat):
    system, boots = red_hat.system, BlsBoots(red_hat.system)
    before = system.wishes()
    system.run("try", "64k", "--force")
    red_hat.remove("6.1-64k")
    assert system.wishes() == before and not list(system.root.rglob("A-trial-*"))
    assert boots.record("trial") is None and boots.boot() == BLS_OLD


def test_while_a_trial_waits_the_default_stays(red_hat):
    system = red_hat.system
    system.run("try", "64k", "--force")
    before = system.wishes()
    red_hat.add("6.2-64k", "64k")
    assert system.wishes() == before


def test_blocks_that_are_the_owners_stay_the_owners(debian):
    write_block(debian.system.grubenv, {"saved_entry": "gnulinux-simple-1", "mine": "1"})
    debian.system.ok("set", "64k")
    debian.install("6.2-64k", "64k")
    assert read_block(debian.system.grubenv) == {"saved_entry": "gnulinux-simple-1", "mine": "1"}
