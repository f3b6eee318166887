# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on machines where systemd of Debian 12 or 13 runs: with its boot loader, which knows one-shots and defaults and
nothing of page sizes, with its units that say whether a boot is good, and with its ways past the boot loader."""

import json
import shutil
import subprocess

import pytest

from guest import Esp, kernel, make_disk, run
from machine import READY, STARTS_LOADER
from long_run import long, only_long
from peer_guest import RELEASES, missing_peers, peer_root
from systemd_guest import CMDLINE, UNITS, SystemdMachine, make_root
from test_boot_counting import names
from test_main_job import BYTES, RELEASE

pytestmark = pytest.mark.skipif(bool(missing_peers()), reason="missing: " + ", ".join(missing_peers()))
each_release = pytest.mark.parametrize("release", RELEASES)

# Instruction counting lets time jump while a machine waits for its disk.
LONG = "--deadline 24h"
ENTRY = {size: f"test-{RELEASE[size]}-{size}" for size in ("4k", "64k")}


@pytest.fixture(scope="session")
def roots(tmp_path_factory):
    """The root of each release, made when it is first asked for."""
    made = {}

    def root(release):
        if release not in made:
            made[release] = make_root(tmp_path_factory.mktemp("systemd") / release, release)
        return made[release]

    return root


class Guest:
    """A machine to be: `esp` and `root` are trees to be changed before start()."""

    def __init__(self, folder, base, release, loader):
        self.folder = folder
        self.esp = Esp(folder / "esp")
        if loader == "systemd-boot":
            shutil.copy(peer_root(release) / "usr/lib/systemd/boot/efi/systemd-bootaa64.efi",
                        self.esp.path / "EFI/BOOT/BOOTAA64.EFI")
        self.root = folder / "root"
        # Hard links: tests add files, and change none of those.
        run("cp", "-al", base, self.root)
        self.machine = None

    def kernel(self, size, name=None, counter="", **keys):
        """An entry without initrd. The 4K one leads the menu of a machine without wishes."""
        if not (self.esp.path / f"kernels/{size}").exists():
            self.esp.add_file(f"/kernels/{size}", kernel(size))
        self.esp.add_entry(f"{name or ENTRY[size]}{counter}", f"/kernels/{size}", RELEASE[size], CMDLINE, initrd=None,
                           sort_key=f"{BYTES[size]:05}", **keys)

    def file(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def unit(self, name, command, target="multi-user.target", unit="", service="Type=oneshot"):
        """A service of the owner's, enabled."""
        self.file(f"etc/systemd/system/{name}", f"[Unit]\n{unit}\n[Service]\n{service}\nExecStart={command}\n")
        link = self.root / f"etc/systemd/system/{target}.wants/{name}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../{name}")

    def check(self, name, script):
        self.file(f"etc/granule/verify.d/{name}", f"#!/bin/sh\n{script}\n", 0o755)

    def require(self, name):
        """A unit of systemd's that boot-complete.target waits for."""
        link = self.root / "etc/systemd/system/boot-complete.target.requires" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/usr/lib/systemd/system/{name}")

    def start(self, wait=True):
        make_disk(self.folder / "disk", self.esp.path, self.root)
        self.machine = SystemdMachine(self.folder, self.folder / "disk")
        self.machine.start(wait)
        if wait:
            settled(self.machine)
        return self.machine



def settled(machine):
    """Waits until the boot has its verdict, and systemd nothing more to do."""
    machine.run("systemctl is-system-running --wait")
    return machine


def rebooted(machine):
    return settled(machine.reboot())


def came_back(machine):
    """Waits for the shell of the next boot, which the machine has begun by itself."""
    machine.wait_for(READY)
    return settled(machine)


def history(machine):
    return [json.loads(line) for line in machine.ok("cat /var/lib/granule/history.jsonl").splitlines()]


def verdicts(machine):
    return [(line["verdict"], (line["entry"] or "").replace(".conf", "")) for line in history(machine)]


def unit_state(machine, unit):
    return machine.run(f"systemctl show -P ActiveState {unit}")[1]


@pytest.fixture
def guest(tmp_path, roots):
    """guest(release, loader): a Guest, killed at the end."""
    made = []

    def make(release, loader="systemd-boot"):
        made.append(Guest(tmp_path, roots(release), release, loader))
        return made[-1]

    yield make
    for g in made:
        if g.machine:
            g.machine.kill()


# ---- the units ----


def assert_no_circle(machine):
    assert machine.run("dmesg | grep -i 'ordering cycle'") == (1, "")


@each_release
def test_units_have_no_fault(guest, release):
    g = guest(release)
    g.kernel("4k")
    g.require("systemd-boot-check-no-failures.service")
    m = g.start()
    # What waits for all of the system, and what is a part of it, before the boot is called complete.
    m.ok("systemctl start boot-complete.target")
    assert unit_state(m, "systemd-boot-check-no-failures.service") == unit_state(m, "granule-verify.service") == "active"
    assert_no_circle(m)
    units = " ".join(sorted(f.name for f in UNITS.glob("*.service")))
    assert m.ok(f"systemd-analyze verify --man=no {units}") == ""
    assert m.ok("systemctl --failed --no-legend") == ""


def test_a_unit_of_the_system_may_wait_for_the_verdict(guest):
    """The system is not complete without what waits for its being complete: a circle, if the verdict waited for it."""
    g = guest("13")
    g.kernel("4k")
    g.unit("after-good.service", "true", unit="Requires=boot-complete.target\nAfter=boot-complete.target",
           service="Type=oneshot\nRemainAfterExit=yes")
    m = g.start()
    assert_no_circle(m)
    assert unit_state(m, "boot-complete.target") == unit_state(m, "after-good.service") == "active"
    assert [line["verdict"] for line in history(m)] == ["nothing-asked"]
    assert m.ok("systemctl --failed --no-legend") == ""


def test_enabling_one_unit_enables_all(guest):
    g = guest("13")
    g.kernel("4k")
    for folder in g.root.glob("etc/systemd/system/*.*s"):
        for link in folder.glob("granule-*"):
            link.unlink()
    m = g.start()
    assert m.run("ls /var/lib/granule")[0] != 0
    m.ok("systemctl enable granule-verify.service")
    for unit in UNITS.glob("*.service"):
        assert m.ok(f"systemctl is-enabled {unit.name}") == "enabled"
    m.ok("systemctl disable granule-verify.service granule-deadline.service granule-disarm.service")
    m.ok("systemctl preset granule-verify.service granule-deadline.service granule-disarm.service")
    for unit in UNITS.glob("*.service"):
        assert m.ok(f"systemctl is-enabled {unit.name}") == "enabled"


# ---- trials by one-shots alone ----


@pytest.mark.parametrize("release, loader", [("12", "systemd-boot"), ("13", "systemd-boot"),
                                             long("13", "granule-boot")])
def test_a_trial_that_passes_is_the_default_until_it_is_rolled_back(guest, release, loader):
    g = guest(release, loader)
    g.kernel("4k")
    g.kernel("64k")
    m = g.start()
    assert (m.page_size(), verdicts(m)) == (4096, [("nothing-asked", ENTRY["4k"])])
    m.ok(f"granule try 64k {LONG}")
    rebooted(m)
    assert m.page_size() == 65536
    assert [v[0] for v in verdicts(m)] == ["nothing-asked", "armed", "passed"]
    assert m.ok("systemctl --failed --no-legend") == ""
    assert_no_circle(m)
    assert names(m) == [f"{ENTRY['4k']}.conf", f"{ENTRY['64k']}.conf"], "the trial's own entry is gone"
    rebooted(m)
    assert (m.page_size(), verdicts(m)[-1]) == (65536, ("ok", ENTRY["64k"]))
    m.ok("granule rollback")
    rebooted(m)
    assert (m.page_size(), verdicts(m)[-1]) == (4096, ("ok", ENTRY["4k"]))
    assert m.ok("systemctl --failed --no-legend") == ""


ONLY_64K = '[ "$(getconf PAGESIZE)" = 4096 ]'


def fails_with_64k(guest):
    guest.unit("broken.service", f"sh -c '{ONLY_64K}'")
    return "unit broken.service"


def has_a_swap_of_4k(guest):
    """Its unit is content, only the swap is not there."""
    swap = guest.root / "swap"
    swap.write_bytes(b"x" * (1 << 20))
    swap.chmod(0o600)
    run("mkswap", "-p", "4096", swap, stdout=subprocess.DEVNULL)
    guest.unit("swap.service", "-swapon /swap")
    return ("swap /swap: not in use: /swap was made for 4K pages and 64K run, which cannot use it; make it again: "
            "mkswap -p 65536")


def check_fails_with_64k(guest):
    guest.check("pages", f"echo these pages are no good; {ONLY_64K}")
    return "these pages are no good"


def check_hangs_with_64k(guest):
    guest.check("pages", f"{ONLY_64K} || sleep 1d")
    guest.file("etc/granule.conf", "check-timeout = 20s\n")
    return "check pages"


def hangs_with_64k(guest):
    """The verdict would wait for it longer than the deadline is."""
    guest.unit("slow.service", f"sh -c '{ONLY_64K} || sleep 1d'")
    guest.file("etc/granule.conf", "verify-timeout = 1d\n")
    return "deadline"


def required_for_local_file_systems(guest, name):
    link = guest.root / "etc/systemd/system/local-fs.target.requires" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../{name}")


def emergency_with_64k(guest):
    """There is no more than emergency mode, and the verdict comes all the same."""
    guest.unit("data.service", f"sh -c '{ONLY_64K}'", "local-fs.target",
               unit="DefaultDependencies=no\nBefore=local-fs.target")
    required_for_local_file_systems(guest, "data.service")
    return "unit data.service"


def no_state_in_the_trial(guest):
    """What holds the state cannot be mounted: nothing is judged, and the machine is in emergency mode."""
    guest.file("etc/granule.conf", "trial-options = unmountable\n")
    guest.file("etc/systemd/system/var-lib.mount", "[Unit]\nConditionKernelCommandLine=unmountable\n"
               "[Mount]\nWhat=none\nWhere=/var/lib\nType=tmpfs\nOptions=nonsense\n")
    required_for_local_file_systems(guest, "var-lib.mount")
    return "deadline"


@pytest.mark.parametrize("release, loader, failure", [
    ("12", "systemd-boot", fails_with_64k),
    ("12", "systemd-boot", hangs_with_64k),
    long("13", "systemd-boot", has_a_swap_of_4k),
    long("13", "systemd-boot", no_state_in_the_trial),
    long("13", "systemd-boot", fails_with_64k),
    long("13", "systemd-boot", check_fails_with_64k),
    long("12", "systemd-boot", check_hangs_with_64k),
    long("13", "granule-boot", hangs_with_64k),
    long("12", "systemd-boot", emergency_with_64k),
])
def test_a_trial_that_fails_leads_back_by_one_reboot(guest, release, loader, failure):
    g = guest(release, loader)
    g.kernel("4k")
    g.kernel("64k")
    word = failure(g)
    m = g.start()
    assert verdicts(m) == [("nothing-asked", ENTRY["4k"])]
    m.ok(f"granule try 64k {'--deadline 100s' if word == 'deadline' else LONG}")
    m.reboot()
    came_back(m)
    assert m.page_size() == 4096
    lines = history(m)
    assert [line["verdict"] for line in lines] == ["nothing-asked", "armed", "failed", "nothing-asked"]
    assert lines[2]["trial"] and word in lines[2]["reason"], lines[2]
    assert names(m) == [f"{ENTRY['4k']}.conf", f"{ENTRY['64k']}.conf"]
    assert unit_state(m, "granule-verify.service") == "active"


INHIBITED = """case "$*" in *" reboot")
    echo asked >>/etc/asked
    [ "$(wc -l </etc/asked)" -gt 2 ] || { echo "Operation inhibited by firmware update" >&2; exit 1; };;
esac
exec /usr/bin/systemctl "$@"
"""


@only_long
def test_a_reboot_that_is_inhibited_is_waited_for(guest):
    g = guest("13")
    g.kernel("4k")
    g.kernel("64k")
    check_fails_with_64k(g)
    g.file("usr/local/bin/systemctl", f"#!/bin/sh\n{INHIBITED}", 0o755)
    m = g.start()
    m.ok(f"granule try 64k {LONG}")
    m.reboot()
    came_back(m)
    assert (m.page_size(), m.ok("cat /etc/asked")) == (4096, "asked\nasked\nasked")
    assert [v[0] for v in verdicts(m)] == ["nothing-asked", "armed", "failed", "nothing-asked"]


def test_a_boot_that_was_not_in_order_is_judged_again_when_it_is(guest):
    """What failed because of the verdict itself is nothing that is wrong."""
    g = guest("13")
    g.kernel("4k")
    g.file("etc/good", "")
    g.check("wish", "test -e /etc/good")
    m = g.start()
    m.ok("rm /etc/good")
    rebooted(m)
    assert verdicts(m)[-1][0] == "failed" and unit_state(m, "granule-verify.service") == "failed"
    m.ok("touch /etc/good")
    assert m.ok("granule verify --boot").startswith("ok: 4096-byte pages")
    assert [v[0] for v in verdicts(m)] == ["nothing-asked", "failed", "nothing-asked"]


# ---- beside systemd-bless-boot ----


@each_release
def test_a_counted_entry_is_blessed_when_the_verdict_is_good_and_not_before(guest, release):
    g = guest(release)
    g.kernel("4k", counter="+3")
    g.check("wish", "test -e /etc/good")
    m = g.start()
    assert names(m) == [f"{ENTRY['4k']}+2-1.conf"]
    assert unit_state(m, "granule-verify.service") == "failed"
    assert unit_state(m, "systemd-bless-boot.service") == "inactive"
    m.ok("touch /etc/good")
    rebooted(m)
    assert names(m) == [f"{ENTRY['4k']}.conf"]
    assert unit_state(m, "systemd-bless-boot.service") == "active"
    assert m.ok("systemctl --failed --no-legend") == ""


@pytest.mark.parametrize("release", ["12", long("13")])
def test_a_trial_of_a_counted_entry_passes_and_the_entry_is_blessed_as_the_default(guest, release):
    g = guest(release)
    g.kernel("4k")
    g.kernel("64k", counter="+3")
    m = g.start()
    m.ok(f"granule try 64k {LONG}")
    rebooted(m)
    assert m.page_size() == 65536 and verdicts(m)[-1][0] == "passed"
    # The entry of a trial is not for bless-boot.
    assert unit_state(m, "boot-complete.target") == "active"
    assert unit_state(m, "systemd-bless-boot.service") == "inactive"
    assert m.ok("systemctl --failed --no-legend") == ""
    assert names(m) == [f"{ENTRY['4k']}.conf", f"{ENTRY['64k']}+3.conf"]
    rebooted(m)
    # A policy would want an entry that is good already, so the entry is the default.
    assert m.page_size() == 65536 and verdicts(m)[-1] == ("nothing-asked", ENTRY["64k"])
    assert names(m) == [f"{ENTRY['4k']}.conf", f"{ENTRY['64k']}.conf"]


# ---- past the boot loader ----


def armed(guest, release, loader="systemd-boot"):
    """A machine with a trial that waits for its boot."""
    g = guest(release, loader)
    g.kernel("4k")
    g.kernel("64k")
    shutil.copy(kernel("4k"), g.root / "boot/again")
    m = g.start()
    m.ok(f"granule try 64k {LONG}")
    assert oneshot(m)
    return m


def oneshot(machine):
    return machine.run("ls /sys/firmware/efi/efivars | grep -c LoaderEntryOneShot")[1] != "0"


def assert_canceled(machine, way):
    assert not oneshot(machine)
    (line,) = [line for line in history(machine) if line["verdict"] == "canceled"]
    assert way in line["reason"]
    assert names(machine) == [f"{ENTRY['4k']}.conf", f"{ENTRY['64k']}.conf"]
    rebooted(machine)
    assert machine.page_size() == 4096
    assert len([line for line in history(machine) if line["verdict"] in ("passed", "failed", "not-come-up")]) == 0


def test_a_soft_reboot_disarms_the_trial(guest):
    m = armed(guest, "13")
    m.console, m.taken = "", 0
    m.send("systemctl soft-reboot\n")
    came_back(m)
    assert "Soft-reboot finished" in m.ok("dmesg")
    assert_canceled(m, "soft-reboot")


@pytest.mark.parametrize("release", ["13", long("12")])
def test_a_kexec_disarms_the_trial(guest, release):
    m = armed(guest, release)
    m.ok("kexec -s -l /boot/again --reuse-cmdline")
    m.console, m.taken = "", 0
    m.send("systemctl kexec\n")
    came_back(m)
    assert STARTS_LOADER["edk2"] not in m.console
    assert_canceled(m, "kexec")


def test_try_reboots_through_the_boot_loader_although_a_kernel_is_loaded_for_kexec(guest):
    """`systemctl reboot` alone would start that kernel."""
    g = guest("13")
    g.kernel("4k")
    g.kernel("64k")
    shutil.copy(kernel("4k"), g.root / "boot/again")
    m = g.start()
    m.ok("kexec -s -l /boot/again --reuse-cmdline")
    m.console, m.taken = "", 0
    # Without --force it refuses: nobody can be sure of what comes.
    m.send(f"granule try 64k {LONG} --force --reboot\n")
    came_back(m)
    assert m.page_size() == 65536 and verdicts(m)[-1][0] == "passed"


@only_long
def test_an_ordinary_reboot_and_a_power_cut_leave_the_trial_armed(guest):
    m = armed(guest, "12")
    m.ok("sync")
    m.kill()
    m.start()
    settled(m)
    assert m.page_size() == 65536 and verdicts(m)[-1][0] == "passed"
