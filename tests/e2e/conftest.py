# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
from pathlib import Path

import pytest

from guest import Esp, kernel, kernel_folder, make_disk, make_initramfs
from long_run import only_long
from machine import ALL_SIZES, UBOOT, Machine


def pytest_configure(config):
    config.addinivalue_line("markers", "not_on(firmware, reason): the test cannot run on this firmware")


# What these find is the same under U-Boot for the most part; make check-long repeats them there.
REPEATED = ("test_boot_counting", "test_env_block", "test_errors", "test_hostile", "test_limits")


def is_repeated(item):
    params = getattr(item, "callspec", None)
    return item.module.__name__ in REPEATED and params is not None and "uboot" in params.params.values()


def pytest_collection_modifyitems(items):
    """Skips, with the reason, what this machine cannot run, and what make check has no time for."""
    for item in items:
        if is_repeated(item):
            item.add_marker(only_long)
    missing = [p for p in ("qemu-system-aarch64", "mcopy", "/sbin/sfdisk", "/sbin/mkfs.vfat", "/sbin/mke2fs")
               if not shutil.which(p)]
    missing += [str(kernel(s)) for s in ("4k", "16k", "64k") if not kernel(s).exists()]
    if missing:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="missing: " + ", ".join(missing)))


@pytest.fixture(scope="session")
def initramfs(tmp_path_factory):
    path = tmp_path_factory.mktemp("initramfs") / "initrd"
    make_initramfs(path)
    return path


@pytest.fixture
def esp(tmp_path, initramfs):
    staging = Esp(tmp_path / "esp")
    staging.add_file("/initrd", initramfs)
    return staging


@pytest.fixture
def firmware(request):
    """EDK II, unless a test is parametrized with others."""
    name = getattr(request, "param", "edk2")
    for mark in request.node.iter_markers("not_on"):
        if mark.args[0] == name:
            pytest.skip(mark.args[1])
    if name == "uboot" and not UBOOT.exists():
        pytest.skip(f"{UBOOT} is not there (package u-boot-qemu)")
    return name


@pytest.fixture
def boot(tmp_path, esp, firmware):
    """boot(cpu=..., state=folder): starts a machine with the staged ESP, and returns it when its shell is ready."""
    machines = []

    def start(cpu=ALL_SIZES, state=None, wait=True, icount=None, xbootldr=None, more=()):
        disk = tmp_path / "disk"
        if not disk.exists():
            make_disk(disk, esp.path, state, xbootldr)
        machine = Machine(tmp_path, disk, cpu, firmware, more=more)
        if icount is not None:
            machine.icount = icount
        machines.append(machine)
        return machine.start(wait)

    yield start
    for machine in machines:
        machine.kill()


@pytest.fixture
def state(tmp_path, initramfs):
    """Tree of the state partition: /boot with kernels, /etc with what register reads."""
    root = tmp_path / "state"
    for folder in ("boot", "etc/kernel", "var"):
        (root / folder).mkdir(parents=True)
    (root / "etc/kernel/entry-token").write_text("test\n")
    (root / "etc/kernel/cmdline").write_text("console=ttyAMA0 panic=5\n")
    (root / "etc/os-release").write_text('ID=test\nPRETTY_NAME="Test OS"\n')
    return root


@pytest.fixture
def config_folder():
    return Path(kernel_folder())
