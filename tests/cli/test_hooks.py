# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks of package managers, started as Debian's packages start them: by run-parts, and by the kernel-install of systemd
252 with the plugins of 252 and 257."""

import os
import shutil
import subprocess

import pytest

import images
from system import PLAIN, TOP, System
from test_updates import LOADERS, entry_id, next_id

BITS = {"4k": 1, "64k": 3}
HOOKS = TOP / "userspace/debian"
MACHINE_ID = "a" * 32
PEERS = {}
for release, peers in (("252", "bookworm-arm64"), ("257", "trixie-arm64")):
    done = subprocess.run([TOP / "tests/setup/peers.sh", "--path", peers], capture_output=True, text=True)
    PEERS[release] = done.stdout.strip() + "/usr"


class Packages:
    """A machine on which packages of kernels come and go. Its /boot and /efi are mounted for what runs there."""

    def __init__(self, system, folder):
        self.system = system
        self.mounts = f"mount --bind {system.boot} /boot && mount --bind {system.efi} {system.efi}"
        (folder / "bin").mkdir()
        granule = folder / "bin/granule"
        granule.write_text(f'#!/bin/sh\nexec {PLAIN} "$@" --root {system.root}\n')
        granule.chmod(0o755)
        # It does not see that a folder of the same file system is mounted there.
        stat = folder / "bin/stat"
        stat.write_text(f'#!/bin/sh\n[ "$1 $2" = "-c %m" ] && echo {system.efi} || exec /usr/bin/stat "$@"\n')
        stat.chmod(0o755)
        for name in ("kernel/postinst.d", "kernel/postrm.d", "initramfs/post-update.d"):
            (system.root / "etc" / name).mkdir(parents=True)
            target = system.root / "etc" / name / "zzz-granule"
            shutil.copy(HOOKS / name.split("/")[1], target)
        self.env = {**system.env, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        self.env.pop("DEB_MAINT_PARAMS", None)

    def run(self, *command, mounts="", **env):
        script = " && ".join(part for part in (self.mounts, mounts, 'exec "$@"') if part)
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *map(str, command)],
                              env={**self.env, **{k: v for k, v in env.items() if v is not None}}, capture_output=True, text=True)

    def parts(self, folder, *arguments, **keywords):
        return self.run("run-parts", "--report", "--exit-on-error", *(f"--arg={a}" for a in arguments),
                        self.system.root / "etc" / folder, **keywords)

    def write(self, release, size, content=b"", initrd=b"initrd"):
        self.system.kernel(release, images.arm64(BITS[size], release=release, extra=content), initrd)

    def install(self, release, size, params="configure", **keywords):
        self.write(release, size)
        return self.parts("kernel/postinst.d", release, f"/boot/vmlinuz-{release}", DEB_MAINT_PARAMS=params, **keywords)

    def remove(self, release, params="remove", **keywords):
        for file in self.system.boot.glob(f"*-{release}"):
            file.unlink()
        return self.parts("kernel/postrm.d", release, f"/boot/vmlinuz-{release}", DEB_MAINT_PARAMS=params, **keywords)


def quiet(done):
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


@pytest.fixture(scope="module", autouse=True)
def mounting():
    for program in ("mount", "unshare", "run-parts"):
        if not shutil.which(program):
            pytest.skip(f"missing: {program}")
    probe = subprocess.run(["unshare", "-m", "mount", "--bind", "/boot", "/boot"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"no right to mount here: {probe.stderr}")


@pytest.fixture(params=LOADERS, ids=list(LOADERS))
def packages(request, system, tmp_path):
    system.loader(name=LOADERS[request.param], features=0x7f)
    (system.root / "etc/machine-id").write_text(MACHINE_ID + "\n")
    return Packages(system, tmp_path)


@pytest.fixture
def used(packages):
    """A 4K kernel that was registered by hand."""
    packages.write("6.1-4k", "4k")
    packages.system.ok("register")
    return packages


# ---- Debian's hooks ----


def test_a_kernel_that_is_installed_gets_an_entry_quietly(used):
    quiet(used.install("6.2-64k", "64k"))
    assert set(used.system.entries()) == {entry_id("6.1", "4k"), entry_id("6.2", "64k")}
    assert next_id(used.system) == entry_id("6.1", "4k")
    quiet(used.install("6.2-64k", "64k"))


@pytest.mark.parametrize("params, acts", [("configure", True), ("configure 6.1-1", True), ("'configure' '6.1-1'", True),
                                          (None, True), ("triggered", False), ("abort-remove", False),
                                          ("abort-upgrade 6.1", False)])
def test_only_what_dpkg_configures_is_registered(used, params, acts):
    quiet(used.install("6.2-64k", "64k", params=params))
    assert (entry_id("6.2", "64k") in used.system.entries()) == acts


@pytest.mark.parametrize("params, acts", [("remove", True), ("'remove'", True), (None, True), ("purge", False),
                                          ("upgrade 6.1-2", False), ("failed-upgrade 6.1", False),
                                          ("abort-install", False)])
def test_only_what_dpkg_removes_is_unregistered(used, params, acts):
    quiet(used.install("6.2-64k", "64k"))
    quiet(used.remove("6.2-64k", params=params))
    assert (entry_id("6.2", "64k") not in used.system.entries()) == acts
    assert (not list(used.system.efi.glob("test/6.2*"))) == acts


def test_where_granule_is_not_in_use_nothing_is_written(packages):
    before = packages.system.files()
    done = packages.install("6.2-64k", "64k")
    assert (done.returncode, done.stdout) == (0, "") and done.stderr.count("\ngranule: ") == 1
    assert "not in use on this system" in done.stderr and packages.system.files() == before
    quiet(packages.remove("6.2-64k"))
    packages.system.set_variable("GranulePolicy", "64k")
    quiet(packages.install("6.2-64k", "64k"))
    assert set(packages.system.entries()) == {entry_id("6.2", "64k")}


def test_without_a_partition_a_line_is_all_that_comes_of_it(used):
    used.system.efi.rename(used.system.root / "gone")
    used.mounts = f"mount --bind {used.system.boot} /boot"
    for done in (used.install("6.2-64k", "64k"), used.remove("6.2-64k")):
        assert (done.returncode, done.stdout) == (0, "") and done.stderr.count("\ngranule: no EFI") == 1, done


def test_a_kernel_that_cannot_be_registered_leaves_the_package_alone(used):
    used.system.kernel("6.2-64k", images.arm64(3), initrd=None)
    done = used.parts("kernel/postinst.d", "6.2-64k", "/boot/vmlinuz-6.2-64k", DEB_MAINT_PARAMS="configure")
    assert (done.returncode, done.stdout) == (0, "") and "no initrd for it" in done.stderr


def test_only_an_entry_that_could_not_follow_its_package_is_a_failure(used):
    read_only = f"mount -o remount,bind,ro {used.system.efi}"
    done = used.install("6.2-64k", "64k", mounts=read_only)
    assert done.returncode == 0 and "cannot be written" in done.stderr, "the machine boots what it booted before"
    used.write("6.1-4k", "4k", content=b"security update")
    done = used.parts("kernel/postinst.d", "6.1-4k", DEB_MAINT_PARAMS="configure", mounts=read_only)
    assert done.returncode == 1 and "cannot be written" in done.stderr
    quiet(used.parts("kernel/postinst.d", "6.1-4k", DEB_MAINT_PARAMS="configure"))
    [entry] = used.system.entries().values()
    assert b"security update" in (used.system.efi / entry["image"][1:]).read_bytes()


def test_what_runs_or_was_verified_stays_with_a_word(used):
    for release in ("6.2-4k", "6.3-4k"):
        quiet(used.install(release, "4k"))
    used.system.set_variable("LoaderEntrySelected", entry_id("6.1", "4k"))
    used.system.verified(entry_id("6.2", "4k"))
    for release, why in (("6.1-4k", "is the running system's"), ("6.2-4k", "was verified")):
        done = used.remove(release)
        assert (done.returncode, done.stdout) == (0, "") and why in done.stderr
    assert len(used.system.entries()) == 3
    assert all(e["problem"] is None for e in used.system.entries().values())


def test_the_default_goes_with_its_package_but_the_last_that_boots_stays(used):
    quiet(used.install("6.2-4k", "4k"))
    first = next_id(used.system)
    assert first == entry_id("6.2", "4k")
    quiet(used.remove("6.2-4k"))
    assert next_id(used.system) == entry_id("6.1", "4k")
    done = used.remove("6.1-4k")
    assert done.returncode == 0 and "is the last that boots" in done.stderr
    assert next_id(used.system) == entry_id("6.1", "4k")


def initrd_of(system, entry):
    [line] = [l for l in (system.efi / "loader/entries" / entry).read_text().splitlines() if l.startswith("initrd ")]
    return (system.efi / line.split()[1][1:]).read_bytes()


@pytest.mark.parametrize("running", [False, True])
def test_an_entry_follows_the_initrd_that_is_made_anew(used, running):
    """Its copy on the partition would go with modules that are not there any more; whatever else changed meanwhile."""
    if running:
        used.system.set_variable("LoaderEntrySelected", entry_id("6.1", "4k"))
    (used.system.root / "etc/kernel/cmdline").write_text("root=/dev/new\n")
    (used.system.boot / "initrd.img-6.1-4k").write_bytes(b"new initrd")
    quiet(used.parts("initramfs/post-update.d", "6.1-4k", "/boot/initrd.img-6.1-4k"))
    assert initrd_of(used.system, entry_id("6.1", "4k")) == b"new initrd"
    assert len(list(used.system.efi.glob("test/*/initrd-*"))) == 1
    assert used.system.entries()[entry_id("6.1", "4k")]["options"] == \
        ("root=UUID=1234 ro quiet" if running else "root=/dev/new"), "a known command line stays"


def check_policy(machine, add, remove):
    """The order of updates that makes defaults flip elsewhere: after each, the newest 64K kernel boots."""
    newest = "6.1"
    for step, version, size in ((add, "6.2", "4k"), (add, "6.2", "64k"), (add, "6.10", "4k"), (remove, "6.1", "4k"),
                                (remove, "6.1", "64k"), (add, "6.10", "64k"), (remove, "6.2", "64k"),
                                (remove, "6.2", "4k")):
        step(version, size)
        if step is add and size == "64k":
            newest = version
        chosen = machine.entries()[next_id(machine)]
        assert (chosen["version"], chosen["page_size"]) == (f"{newest}-64k", "64k"), (step, version, size)
    add("6.11", "64k")
    remove("6.11", "64k")
    assert machine.entries()[next_id(machine)]["version"] == "6.10-64k"


def test_a_policy_holds_over_packages_that_come_and_go(used):
    quiet(used.install("6.1-64k", "64k"))
    used.system.ok("set", "64k")
    check_policy(used.system, lambda version, size: quiet(used.install(f"{version}-{size}", size)),
                 lambda version, size: quiet(used.remove(f"{version}-{size}")))


# ---- kernel-install ----


@pytest.fixture(params=["252", "257"])
def plugins(request):
    folder = PEERS[request.param] + "/lib/kernel/install.d"
    if not os.path.exists(folder):
        pytest.skip(f"missing: {folder} (make peers)")
    if not os.path.exists(PEERS["252"] + "/bin/kernel-install"):
        pytest.skip("missing: kernel-install of systemd 252 (make peers)")
    return f"{folder}/90-loaderentry.install {TOP}/userspace/systemd/95-granule.install"


class KernelInstall:
    def __init__(self, packages, plugins):
        self.packages, self.system, self.plugins = packages, packages.system, plugins

    def run(self, verb, release, *arguments):
        done = self.packages.run(PEERS["252"] + "/bin/kernel-install", verb, release, *arguments, BOOT_ROOT=str(self.system.efi),
                                 MACHINE_ID=MACHINE_ID, KERNEL_INSTALL_PLUGINS=self.plugins,
                                 KERNEL_INSTALL_CONF_ROOT=str(self.system.root / "etc/kernel"))
        assert done.returncode == 0, done
        return done

    def add(self, version, size):
        release = f"{version}-{size}"
        self.packages.write(release, size)
        self.run("add", release, f"/boot/vmlinuz-{release}", f"/boot/initrd.img-{release}")

    def remove(self, version, size):
        release = f"{version}-{size}"
        for file in self.system.boot.glob(f"*-{release}"):
            file.unlink()
        self.run("remove", release)


@pytest.fixture
def kernel_install(packages, plugins):
    (packages.system.efi / "loader").mkdir()
    (packages.system.efi / "loader/entries.srel").write_text("type1\n")
    return KernelInstall(packages, plugins)


def test_a_kernel_that_kernel_install_wrote_an_entry_for_gets_no_other(kernel_install):
    system = kernel_install.system
    system.set_variable("GranulePolicy", "64k")
    kernel_install.add("6.1", "64k")
    assert set(system.entries()) == {"test-6.1-64k.conf"}
    assert system.entries()["test-6.1-64k.conf"]["page_size"] == "64k"
    system.ok("register")
    assert set(system.entries()) == {"test-6.1-64k.conf"}
    kernel_install.remove("6.1", "64k")
    assert not system.entries() and not list((system.efi / "test").iterdir())


def test_a_kernel_that_can_choose_gets_an_entry_for_each_size_beside_it(kernel_install):
    system = kernel_install.system
    system.set_variable("GranulePolicy", "64k")
    system.entry("another", images.arm64(1))
    system.kernel("6.13", images.arm64(0, release="6.13", extra=images.SELECTABLE_STRINGS))
    (system.boot / "special").write_bytes(b"one that is named")
    kernel_install.run("add", "6.13", "/boot/vmlinuz-6.13", "/boot/special")
    assert set(system.entries()) == {"another.conf", "test-6.13.conf"} | {f"test-6.13-{s}.conf" for s in ("4k", "16k", "64k")}
    assert initrd_of(system, "test-6.13-16k.conf") == b"one that is named"
    for file in system.boot.glob("*6.13"):
        file.unlink()
    kernel_install.run("remove", "6.13")
    assert set(system.entries()) == {"another.conf"}


def test_a_policy_holds_over_kernel_install(kernel_install):
    system = kernel_install.system
    system.set_variable("GranulePolicy", "64k")
    for size in ("4k", "64k"):
        kernel_install.add("6.1", size)
    system.ok("set", "64k")
    check_policy(system, kernel_install.add, kernel_install.remove)


def test_entries_of_a_release_that_merely_begins_alike_are_written_again(kernel_install):
    """The plugins of systemd remove by pattern."""
    system = kernel_install.system
    for release, bits in (("6.1", 1), ("6.1-64k", 3), ("6.1+64k", 3)):
        system.kernel(release, images.arm64(bits, release=release))
    system.ok("register")
    system.set_variable("GranulePolicy", "64k")
    for file in system.boot.glob("*-6.1"):
        file.unlink()
    kernel_install.run("remove", "6.1")
    assert set(system.entries()) == {"test-6.1-64k-64k.conf", "test-6.1+64k-64k.conf"}
    assert all(e["problem"] is None for e in system.entries().values())


# ---- what `make install` puts where ----


@pytest.mark.parametrize("prefix, plugin", [("/usr", "usr/lib/kernel/install.d"), ("/usr/local", "etc/kernel/install.d")])
def test_make_install_puts_the_hooks_where_they_are_looked_for(tmp_path, prefix, plugin):
    subprocess.run(["make", "-C", TOP, "-s", "-o", "all", "install", f"DESTDIR={tmp_path}", f"prefix={prefix}"], check=True,
                   env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")})
    for file in (f"{plugin}/95-granule.install", "etc/kernel/postinst.d/zzz-granule", "etc/kernel/postrm.d/zzz-granule",
                 "etc/initramfs/post-update.d/zzz-granule"):
        assert os.access(tmp_path / file, os.X_OK), file
        assert subprocess.run(["sh", "-n", tmp_path / file]).returncode == 0
