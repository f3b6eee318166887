# SPDX-License-Identifier: GPL-2.0-or-later
"""Swaps and mounts that were there and are not, on real loop devices; systemd that does not answer."""

import json
import os
import re
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

from system import TOP

PROBE = TOP / "build/asan/probe"


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout.strip()


class Host:
    """A tree whose /proc and /sys are those of this machine, with its own fstab, and devices to go with it."""

    def __init__(self, root):
        self.root, self.undo = root, []
        (root / "etc").mkdir(parents=True)
        os.symlink("/proc", root / "proc")
        os.symlink("/sys", root / "sys")

    def close(self):
        for command in reversed(self.undo):
            subprocess.run([str(c) for c in command], capture_output=True)

    def look(self, before=None, env=None):
        """What is there now, and the problems against an earlier look."""
        arguments = [PROBE, "look", self.root]
        if before is not None:
            file = self.root / "before.json"
            file.write_text(json.dumps(before))
            arguments.append(file)
        done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == 0 and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done
        answer = json.loads(done.stdout)
        return answer["now"], answer["problems"]

    def problems(self, before):
        return self.look(before)[1]

    def fstab(self, text):
        (self.root / "etc/fstab").write_text(text)

    def disk(self, mib=8):
        """A loop device."""
        fd, file = tempfile.mkstemp(dir=self.root)
        os.truncate(fd, mib << 20)
        os.close(fd)
        try:
            device = run("losetup", "-f", "--show", file)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no loop devices here: {error}")
        self.undo.append(("losetup", "-d", device))
        return device

    def swap(self, device, on=True, page_size=None):
        """Makes a swap, switches it on, and returns its UUID."""
        name = str(uuid.uuid4())
        run("mkswap", *(["-p", page_size] if page_size else []), "-U", name, device)
        if on:
            self.undo.append(("swapoff", device))
            try:
                run("swapon", device)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"swapon: {error.stderr}")
        return name

    def folder(self, name="data"):
        """Not below /tmp, which does not count."""
        base = Path(tempfile.mkdtemp(prefix="granule-", dir="/srv"))
        self.undo.append(("rm", "-r", "--one-file-system", base))
        (base / name).mkdir()
        return base / name

    def mount(self, *arguments):
        self.undo.append(("umount", arguments[-1]))
        try:
            run("mount", *arguments)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"mount: {error.stderr}")

    def file_system(self, target, name=None):
        device, name = self.disk(), name or str(uuid.uuid4())
        run("mkfs.ext4", "-q", "-U", name, device)
        self.mount("-t", "ext4", device, target)
        return device, name


@pytest.fixture
def host(tmp_path):
    if os.geteuid():
        pytest.skip("makes swaps and mounts: needs root")
    host = Host(tmp_path / "root")
    yield host
    host.close()


def lasting(now, target):
    return [m for m in now["mounts"] if m.endswith(f" {target}")]


def test_nothing_is_missed_without_a_boot_to_compare_with(host):
    assert host.look()[1] == []


def test_what_is_the_same_is_no_problem(host):
    host.swap(host.disk())
    host.file_system(host.folder())
    now, _ = host.look()
    assert len(now["swaps"]) >= 1
    assert host.look(now) == (now, [])


# ---- swaps ----


def test_a_swap_is_known_by_its_uuid(host):
    name = host.swap(host.disk())
    assert f"other UUID={name}" in host.look()[0]["swaps"]


def test_a_mapped_device_is_known_by_its_name(host):
    """Its UUID may be as new as the key that it is encrypted with."""
    device = host.disk()
    host.swap(device)
    number = os.stat(device).st_rdev
    (host.root / "sys").unlink()
    folder = host.root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}/dm"
    folder.mkdir(parents=True)
    (folder / "name").write_text("my swap\n")
    assert "other /dev/mapper/my\\040swap" in host.look()[0]["swaps"]


def test_a_swap_that_is_gone_is_told(host):
    device = host.disk()
    name = host.swap(device)
    before, _ = host.look()
    run("swapoff", device)
    assert host.problems(before) == [f"swap UUID={name}: not in use"]


def test_a_swap_whose_device_is_gone_is_told_as_that(host):
    before = {"failed_units": [], "swaps": [f"other UUID={uuid.uuid4()}", "other /swap/file\\040x"], "mounts": []}
    assert host.problems(before) == [f"swap {before['swaps'][0][6:]}: not in use: it is not there",
                                     "swap /swap/file\\040x: not in use: it is not there"]


@pytest.mark.parametrize("size", [4096, 16384, 65536])
def test_a_swap_that_was_made_for_another_page_size_is_told_with_the_way_out(host, size):
    running = os.sysconf("SC_PAGESIZE")
    device = host.disk()
    name = host.swap(device)
    before, _ = host.look()
    run("swapoff", device)
    run("mkswap", "-p", size, "-U", name, device)
    if size == running:
        assert host.problems(before) == [f"swap UUID={name}: not in use"]
        return
    (problem,) = host.problems(before)
    assert problem == (f"swap UUID={name}: not in use: {device} was made for {size >> 10}K pages and "
                       f"{running >> 10}K run, which cannot use it; make it again: mkswap -p {running} -U {name} "
                       f"{device}")
    # The kernel agrees, and with the advice as well.
    assert subprocess.run(["swapon", device], capture_output=True).returncode != 0
    run(*problem[problem.index("mkswap"):].split())
    run("swapon", device)
    assert host.problems(before) == []


@pytest.mark.parametrize("size", [4096, 65536])
def test_a_hibernated_system_in_a_swap_is_told(host, size):
    device = host.disk()
    name = host.swap(device)
    before, _ = host.look()
    run("swapoff", device)
    with open(device, "r+b") as f:
        run("mkswap", "-p", size, "-U", name, device)
        f.seek(size - 10)
        f.write(b"S1SUSPEND\0")
    (problem,) = host.problems(before)
    assert problem.startswith(f"swap UUID={name}: not in use: {device} holds a hibernated system of a kernel with "
                              f"{size >> 10}K pages; start that kernel")


def test_a_swap_that_became_something_else_is_told(host):
    file = host.root / "swap"
    file.write_bytes(bytes(8 << 20))
    file.chmod(0o600)
    run("mkswap", file)
    host.undo.append(("swapoff", file))
    done = subprocess.run(["swapon", str(file)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"swapon: {done.stderr}")
    before, _ = host.look()
    assert f"other {file}" in before["swaps"]
    run("swapoff", file)
    file.write_bytes(bytes(8 << 20))
    assert host.problems(before) == [f"swap {file}: not in use: {file} holds no swap"]


def test_a_swap_that_the_owner_took_out_of_fstab_is_not_missed(host):
    device = host.disk()
    name = host.swap(device)
    for spelling in (f"UUID={name}", f'UUID="{name}"', device):
        host.fstab(f"{spelling} none swap sw 0 0\n")
        before, _ = host.look()
        assert f"fstab UUID={name}" in before["swaps"], spelling
    run("swapoff", device)
    assert len(host.problems(before)) == 1
    host.fstab(f"{device} none swap noauto 0 0\n")
    assert host.problems(before) == []
    host.fstab("")
    assert host.problems(before) == []


# ---- mounts ----


def test_a_mount_that_is_missing_is_told(host):
    target = host.folder("with blank\\and ü")
    device, name = host.file_system(target)
    escaped = str(target).replace("\\", "\\134")
    in_fstab = escaped.replace(" ", "\\040")
    host.fstab(f"{device} {in_fstab} ext4 defaults 0 2\n")
    before, _ = host.look()
    assert f"fstab UUID={name} {escaped}" in before["mounts"]
    run("umount", target)
    assert host.problems(before) == [f"mount {target}: missing"]


def test_names_that_are_no_text_are_compared_all_the_same(host):
    target = host.folder() / os.fsdecode(b"\xff\xfe")
    target.mkdir()
    device, _ = host.file_system(target)
    (host.root / "etc/fstab").write_bytes(os.fsencode(f"{device} {target} ext4 defaults 0 2\n"))
    before, _ = host.look()
    assert len(lasting(before, f"{target.parent}/\\377\\376")) == 1
    assert host.problems(before) == []
    run("umount", os.fsencode(target).decode(errors="surrogateescape"))
    assert len(host.problems(before)) == 1


def test_a_mount_whose_device_is_gone_is_told_as_that(host):
    target, name = host.folder(), uuid.uuid4()
    before = {"failed_units": [], "swaps": [], "mounts": [f"fstab UUID={name} {target}", f"other /dev/sdq9 {target}/x"]}
    host.fstab(f"UUID={name} {target} ext4 defaults 0 2\n")
    assert host.problems(before) == [f"mount {target}: missing: UUID={name} is not there",
                                     f"mount {target}/x: missing: /dev/sdq9 is not there"]


def test_a_file_system_that_the_kernel_lacks_is_told(host):
    target, device, name = host.folder(), host.disk(16), str(uuid.uuid4())
    before = {"failed_units": [], "swaps": [], "mounts": [f"other UUID={name} {target}"]}
    try:
        run("mkfs.vfat", "-i", "12345678", device)
    except FileNotFoundError:
        pytest.skip("mkfs.vfat is not installed")
    if "\tvfat\n" in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has vfat")
    before["mounts"] = [f"other UUID=1234-5678 {target}"]
    assert host.problems(before) == [f"mount {target}: missing: this kernel has no vfat"]


def test_another_file_system_in_the_same_place_is_told(host):
    target = host.folder()
    device, name = host.file_system(target)
    host.fstab(f"{device} {target} ext4 defaults 0 2\n")
    before, _ = host.look()
    run("umount", target)
    other = str(uuid.uuid4())
    host.file_system(target, other)
    assert host.problems(before) == [f"mount {target}: UUID={other} is there instead of UUID={name}"]
    # Unless fstab names it.
    host.fstab(f"UUID={other} {target} ext4 defaults 0 2\n")
    assert host.problems(before) == []
    host.fstab(f"UUID={name} {target} ext4 defaults 0 2\n")
    assert len(host.problems(before)) == 1


def test_the_root_may_be_another_one(host):
    now, _ = host.look()
    (item,) = lasting(now, "/")
    before = {**now, "mounts": [f"other UUID={uuid.uuid4()} /"]}
    assert host.problems(before) == []


def test_a_mount_that_the_owner_took_out_of_fstab_is_not_missed(host):
    target = host.folder()
    _, name = host.file_system(target)
    host.fstab(f"UUID={name} {target} ext4 defaults 0 2\n")
    before, _ = host.look()
    assert lasting(before, target) == [f"fstab UUID={name} {target}"]
    run("umount", target)
    assert len(host.problems(before)) == 1
    for text in ("", f"UUID={name} {target} ext4 noauto 0 2\n",
                 f"UUID={name} {target} ext4 defaults,x-systemd.automount 0 2\n"):
        host.fstab(text)
        assert host.problems(before) == [], text


def test_what_comes_and_goes_does_not_count(host):
    base = host.folder()
    target = base / "disk"
    target.mkdir()
    device, _ = host.file_system(target)
    places = {name: base / name for name in ("bind", "tmpfs", "overlay", "up", "work", "proc")}
    for place in places.values():
        place.mkdir()
    (target / "sub").mkdir()
    host.mount("--bind", target / "sub", places["bind"])
    host.mount("-t", "tmpfs", "x", places["tmpfs"])
    host.mount("-t", "proc", "x", places["proc"])
    for name in ("up", "work"):
        (places["tmpfs"] / name).mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir={target},upperdir={places['tmpfs']}/up,"
               f"workdir={places['tmpfs']}/work", "overlay", places["overlay"])
    in_tmp = host.root / "mnt"
    in_tmp.mkdir()
    host.mount(device, in_tmp)
    now, _ = host.look()
    # The loop device itself does not count either, until fstab names it.
    assert not [m for m in now["mounts"] if str(base) in m or str(host.root) in m]
    host.fstab(f"{device} {target} ext4 defaults 0 2\n{target}/sub {places['bind']} none bind 0 0\n"
               f"{device} {in_tmp} ext4 defaults 0 2\n/x {places['tmpfs']} tmpfs defaults 0 0\n")
    now, _ = host.look()
    assert {m.split()[2] for m in now["mounts"] if str(base) in m or str(host.root) in m} == \
        {str(target), str(places["bind"]), str(in_tmp)}


MOUNTINFO = """\
22 1 8:2 / / rw - ext4 /dev/sda2 rw
30 22 0:30 /@home /home rw - btrfs /dev/sdb1 rw,subvolid=257,subvol=/@home
31 22 0:30 /@/var/lib/x /srv/x rw - btrfs /dev/sdb1 rw,subvolid=256,subvol=/@
32 22 0:31 / /srv/nfs rw - nfs4 server:/export rw
33 22 0:32 / /tank/set rw - zfs tank/set rw
34 22 8:17 / /stick rw - vfat /dev/sdq1 rw
35 22 0:33 / /boot rw - autofs systemd-1 rw,fd=1
36 35 8:1 / /boot rw - vfat /dev/sda1 rw
37 22 8:3 / /var/lib/docker rw - ext4 /dev/sda3 rw
38 22 8:4 / /var/lib/docker/volumes/x rw - ext4 /dev/sda4 rw
39 22 8:5 / /over rw - ext4 /dev/sda5 rw
40 39 8:6 / /over rw - xfs /dev/sda6 rw
41 22 8:7 / /mnt/once rw - ext4 /dev/sda7 rw
42 22 7:0 / /snap/core/1 ro - squashfs /dev/loop3 ro
43 22 0:34 / /home/me/far rw - fuse.sshfs me@far: rw
44 22 0:35 / /srv/gluster rw - fuse.glusterfs a:/vol rw
45 22 8:8 / /ntfs rw - fuseblk /dev/sda8 rw
"""


def test_which_mounts_of_a_server_count(tmp_path):
    host = Host(tmp_path / "root")
    for link in ("proc", "sys"):
        (host.root / link).unlink()
    (host.root / "proc/self").mkdir(parents=True)
    (host.root / "proc/self/mountinfo").write_text(MOUNTINFO)
    (host.root / "sys/dev/block/8:17").mkdir(parents=True)
    (host.root / "sys/dev/block/8:17/removable").write_text("1\n")
    host.fstab("a:/vol /srv/gluster glusterfs defaults 0 0\n")
    now, _ = host.look()
    assert sorted(m.split()[2] for m in now["mounts"]) == \
        ["/", "/home", "/ntfs", "/over", "/srv/gluster", "/srv/nfs", "/tank/set", "/var/lib/docker"]
    assert "other server:/export /srv/nfs" in now["mounts"] and "other tank/set /tank/set" in now["mounts"]
    assert "other /dev/sda6 /over" in now["mounts"]
    (host.root / "proc/self/mountinfo").write_text("22 1 8:2 / / rw - ext4 /dev/sda2 rw\n")
    assert set(host.problems(now)) == {f"mount {t}: missing{w}" for t, w in (
        ("/home", ": /dev/sdb1 is not there"), ("/over", ": /dev/sda6 is not there"), ("/srv/nfs", ""),
        ("/ntfs", ": /dev/sda8 is not there"), ("/srv/gluster", ""), ("/tank/set", ""), ("/var/lib/docker", ": /dev/sda3 is not there"))}


def test_damaged_tables_of_the_kernel_are_survived(tmp_path):
    host = Host(tmp_path / "root")
    (host.root / "proc").unlink()
    (host.root / "proc/self").mkdir(parents=True)
    for text in ("", "\n\n", "garbage\n", "22 1 8:2 / / rw - ext4\n", "22 1 8:2\0 / / rw\xff", MOUNTINFO[:200]):
        (host.root / "proc/self/mountinfo").write_text(text)
        (host.root / "proc/swaps").write_text(text)
        (host.root / "etc/fstab").write_text(text)
        host.look({"failed_units": [], "swaps": ["", "x", "fstab", "other ", "fstab  "], "mounts": ["", "other x"]})


# ---- systemd that does not answer as it should ----


def with_systemctl(host, script):
    folder = host.root / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "systemctl").chmod(0o755)
    (host.root / "run/systemd/system").mkdir(parents=True)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def tree(tmp_path):
    return Host(tmp_path / "root")


NOTHING = {"failed_units": [], "swaps": [], "mounts": []}


def test_a_systemd_that_cannot_be_asked_is_a_problem(tree):
    env = with_systemctl(tree, "echo 'Failed to connect to bus: Connection refused' >&2; exit 1")
    assert tree.look(NOTHING, env)[1] == ["unit: systemd cannot be asked: systemctl list-units: exit code 1: "
                                          "Failed to connect to bus: Connection refused"]


def test_no_systemctl_where_systemd_runs_is_a_problem(tree):
    env = with_systemctl(tree, "")
    env["PATH"] = "/nonexistent"
    assert tree.look(NOTHING, env)[1] == ["unit: systemd cannot be asked: systemctl list-units: cannot be started: No "
                                          "such file or directory"]


def test_without_systemd_systemctl_is_not_asked(tree):
    env = with_systemctl(tree, "exit 1")
    (tree.root / "run/systemd/system").rmdir()
    assert tree.look(NOTHING, env)[1] == []


@pytest.mark.parametrize("answer", ["cat /dev/urandom | head -c 100000", "yes x.service | head -c 2000000",
                                    "printf '\\n\\n  \\n='", "printf 'a.service\\n'; exec >&-; sleep 1",
                                    "yes A.service=x=y | head -1000", "printf Id"])
def test_nonsense_of_systemctl_is_survived(tree, answer):
    env = with_systemctl(tree, answer)
    tree.look({**NOTHING, "failed_units": ["b.service"]}, env)
    done = subprocess.run([PROBE, "settle", tree.root, "own.service"], env=env, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0 and "Sanitizer" not in done.stderr, done.stderr
