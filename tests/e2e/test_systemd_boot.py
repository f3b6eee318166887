# SPDX-License-Identifier: GPL-2.0-or-later
"""Under systemd-boot of Debian 12 and 13: a page size holds over kernels that come and go, one-shots name entries of any
counter, and kernel-install of systemd 257 calls the plugin."""

import json
import re

import pytest

from long_run import long
from guest import TOP, kernel
from peer_guest import make_peer_initramfs, missing_peers, peer_root
from test_boot_counting import names, variable
from test_main_job import RELEASE, newer, status

pytestmark = pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
VERSION = {"12": "252", "13": "257"}


@pytest.fixture(params=["13", long("12")])
def machine(request, esp, boot, state):
    """Started by systemd-boot with an entry written by hand; in /boot/kernels wait kernels to be installed."""
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", peer_root(request.param) / "usr/lib/systemd/boot/efi/systemd-bootaa64.efi")
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_file("/kernels/64k", kernel("64k"))
    esp.add_entry("byhand", "/kernels/4k", "1", sort_key="zz")
    (esp.path / "loader/loader.conf").write_text("timeout 0\n")
    (state / "boot/kernels").mkdir()
    for size in ("4k", "64k"):
        (state / f"boot/kernels/vmlinuz-{RELEASE[size]}").write_bytes(kernel(size).read_bytes())
        release, image = newer(size)
        (state / f"boot/kernels/vmlinuz-{release}").write_bytes(image)
    m = boot(state=state)
    assert status(m)["loader"].startswith(f"systemd-boot {VERSION[request.param]}")
    return m


def install(machine, release):
    machine.ok(f"mv /boot/kernels/vmlinuz-{release} /boot")
    machine.ok(f"granule register --kernel /boot/vmlinuz-{release} --initrd /efi/initrd")


def boots_what_was_told(machine, size, release):
    told = status(machine)["next"]
    machine.reboot()
    assert (machine.page_size(), machine.ok("uname -r")) == ({"4k": 4096, "64k": 65536}[size], release)
    assert status(machine)["entry"] == told["id"] == f"test-{release}-{size}.conf" and told["page_size"] == size


def test_a_page_size_holds_over_kernels_that_come_and_go(machine):
    new = {size: newer(size)[0] for size in RELEASE}
    for size in ("4k", "64k"):
        install(machine, RELEASE[size])
    machine.ok("granule set 64k")
    boots_what_was_told(machine, "64k", RELEASE["64k"])
    assert machine.run("granule verify")[0] == 0
    install(machine, new["4k"])
    boots_what_was_told(machine, "64k", RELEASE["64k"])
    install(machine, new["64k"])
    boots_what_was_told(machine, "64k", new["64k"])
    code, out = machine.run(f"granule unregister {new['64k']}")
    assert code == 1 and "is the running system's" in out
    machine.ok(f"granule unregister --force {new['64k']}")
    boots_what_was_told(machine, "64k", RELEASE["64k"])
    machine.ok("granule set 4k")
    boots_what_was_told(machine, "4k", new["4k"])


def test_a_one_shot_boots_an_entry_of_any_counter_once(machine):
    """Up to version 257 the counter is a part of the id, and the file gets another name in each boot."""
    machine.ok("sed 's,/kernels/4k,/kernels/64k,;$a granule-trial yes' /efi/loader/entries/byhand.conf"
               " > /efi/loader/entries/os-trial+0.conf && sync")
    for _ in range(2):
        machine.ok("granule once os-trial.conf")
        machine.reboot()
        assert machine.page_size() == 65536
        assert re.fullmatch(r"os-trial(\+0(-\d)?)?\.conf", variable(machine, "LoaderEntrySelected"))
        assert variable(machine, "LoaderEntryOneShot") is None
        [entry] = [e for e in json.loads(machine.ok("granule list --json"))["entries"] if e["id"] == "os-trial.conf"]
        assert entry["running"] and entry["state"] == "trial"
    assert len([n for n in names(machine) if n.startswith("os-trial+0-")]) == 1
    machine.reboot()
    assert machine.page_size() == 4096


# ---- kernel-install of systemd 257 ----


@pytest.fixture(scope="session")
def peer_initramfs(tmp_path_factory):
    path = tmp_path_factory.mktemp("initramfs") / "initrd"
    make_peer_initramfs(path)
    return path


def test_kernel_install_257_calls_the_plugin(esp, boot, state, peer_initramfs):
    esp.add_file("/initrd", peer_initramfs)
    esp.add_file("/kernels/4k", kernel("4k"))
    esp.add_entry("byhand", "/kernels/4k", "1", sort_key="zz")
    (esp.path / "loader/entries.srel").write_text("type1\n")
    folder = state / "etc/kernel/install.d"
    folder.mkdir()
    for plugin in (peer_root("13") / "usr/lib/kernel/install.d/90-loaderentry.install",
                   TOP / "userspace/systemd/95-granule.install"):
        # What busybox's grep does without being told.
        (folder / plugin.name).write_bytes(plugin.read_bytes().replace(b"grep -Gv", b"grep -v"))
        (folder / plugin.name).chmod(0o755)
    (state / "etc/machine-id").write_text("e" * 32 + "\n")
    like = RELEASE["64k"]
    release = like.removesuffix("-64k")
    for name in (release, like):
        (state / f"boot/vmlinuz-{name}").write_bytes(kernel("4k" if name == release else "64k").read_bytes())
        (state / f"boot/initrd.img-{name}").write_bytes(b"initrd")
    m = boot(state=state)
    # busybox has none; it is called as "install -m MODE FROM TO".
    m.ok("printf '#!/bin/sh\\ncp $3 $4\\n' > /bin/install && chmod +x /bin/install")
    m.ok(f"granule register --kernel /boot/vmlinuz-{like}")
    m.ok("granule set 64k")
    environment = "BOOT_ROOT=/efi BOOT_MNT=/efi"
    m.ok(f"{environment} kernel-install-13 add {release} /boot/vmlinuz-{release} /boot/initrd.img-{release}")
    assert set(names(m)) == {"byhand.conf", f"test-{release}.conf", f"test-{like}-64k.conf"}
    m.ok(f"rm /boot/*-{release}")
    m.ok(f"{environment} kernel-install-13 remove {release}")
    assert set(names(m)) == {"byhand.conf", f"test-{like}-64k.conf"}, "what its pattern took is there again"
    assert status(m)["next"]["id"] == f"test-{like}-64k.conf"
