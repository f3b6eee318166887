# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial is refused for: nothing would lead back from it. Each test takes one thing away from a machine that has
all of them."""

import hashlib
import json
import struct

import pytest

import images

GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
OTHER_DISK = "11111111-2222-3333-4444-555555555555"


def choice(entry, size):
    return {"entry": entry, "page_size": size, "release": None, "wish": "none", "boot_id": None, "time": 1}


def verified(system, current=("os-4k.conf", "4k"), previous=None):
    """What verify --boot would have recorded."""
    record = {"current": current and choice(*current), "previous": previous and choice(*previous), "baseline": None}
    line = json.dumps(record).encode()
    head = {"granule": "verified", "version": 1, "sha256": hashlib.sha256(line).hexdigest()}
    folder = system.root / "var/lib/granule"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verified.json").write_bytes(json.dumps(head).encode() + b"\n" + line + b"\n")


def lay(system, **files):
    """Files below the root: "sys/x" as sys__x."""
    for name, text in files.items():
        path = system.root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(system):
    """An entry of each size, the 4K one boots by default and is verified; a watchdog is armed."""
    system.loader()
    for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    verified(system)
    lay(system, sys__class__watchdog__watchdog0__state="active\n",
        sys__class__watchdog__watchdog0__identity="SBSA Generic Watchdog\n", **{"etc__machine-id": "0" * 32 + "\n"})
    return system


def found(system, *words, force=False):
    """What is found against a trial of 64K, or of what `words` say: {id: finding}. Nothing is changed by asking."""
    before = system.files()
    done = system.run("try", *(words or ("64k",)), "--dry-run", "--json", *(["--force"] if force else []))
    assert system.files() == before and system.variable("LoaderEntryOneShot") is None
    document = json.loads(done.stdout)
    findings = document["findings"]
    refused = any(f["blocks"] and not (force and f["forceable"]) for f in findings)
    assert (done.returncode, document["ok"]) == ((1, False) if refused else (0, True)), done
    for f in findings:
        assert f["text"] in done.stderr and "\n" not in f["text"], "said to people as well, in a line each"
    return {f["id"]: f for f in findings}


def only(system, finding, forceable, *words):
    """That this and nothing else is found; what it says."""
    findings = found(system, *words)
    assert list(findings) == [finding], findings
    assert findings[finding]["blocks"] and findings[finding]["forceable"] == forceable
    assert found(system, *words, force=True).keys() == {finding}
    return findings[finding]["text"]


def test_with_every_way_back_there_is_nothing_to_say(machine):
    assert found(machine) == {}
    machine.ok("try", "64k")
    assert machine.variable("LoaderEntryOneShot") == "os-64k-trial.conf"
    assert machine.variable("GranulePolicy") is None and machine.variable("LoaderEntryDefault") is None


def test_a_refusal_changes_nothing_and_force_overrules_it(machine):
    verified(machine, None)
    before = machine.files()
    done = machine.run("try", "64k")
    assert done.returncode == 1 and "--force" in done.stderr and not done.stdout
    assert machine.files() == before and machine.variable("LoaderEntryOneShot") is None
    assert "going on" in machine.run("try", "64k", "--force").stderr
    assert machine.variable("LoaderEntryOneShot") == "os-64k-trial.conf"


# ---- the default ----

def test_nothing_was_verified_yet(machine):
    verified(machine, None)
    text = only(machine, "unverified-default", True)
    assert "os-4k.conf boots by default, and nothing has been verified yet" in text and "verify --boot" in text


def test_something_else_boots_by_default_than_what_was_verified(machine):
    machine.set_variable("LoaderEntryDefault", "os-16k.conf")
    text = only(machine, "unverified-default", True)
    assert "os-16k.conf boots by default, but only os-4k.conf was verified" in text and "granule set os-4k.conf" in text
    verified(machine, ("os-4k.conf", "4k"), ("os-16k.conf", "16k"))
    assert found(machine) == {}, "what was verified before is a way back, too"
    verified(machine, ("os-64k.conf", "64k"))
    assert "only os-64k.conf was verified" in only(machine, "unverified-default", True)


def test_the_entry_of_that_name_has_another_page_size_than_when_it_was_verified(machine):
    verified(machine, ("os-4k.conf", "16k"))
    assert "verified with 16K pages, but has 4K pages now" in only(machine, "unverified-default", True)


def test_what_is_to_be_tried_boots_by_default_already(machine):
    machine.set_variable("GranulePolicy", "64k")
    assert "os-64k.conf is what boots by default already" in only(machine, "target-is-default", True)


def test_a_default_without_tries_left_is_refused_unless_another_one_was_verified(machine):
    for size in ("4k", "16k"):
        entry = machine.efi / f"loader/entries/os-{size}.conf"
        entry.rename(entry.with_name(f"os-{size}+0.conf"))
    entry = machine.efi / "loader/entries/os-64k.conf"
    entry.rename(entry.with_name("os-64k+0.conf"))
    verified(machine, ("gone.conf", "4k"))
    findings = found(machine, "os-64k", force=True)
    assert not findings["bad-default"]["forceable"] and "no tries are left" in findings["bad-default"]["text"]


def test_an_owners_wish_that_cannot_be_met_is_said(machine):
    machine.set_variable("LoaderEntryDefault", "gone.conf")
    findings = found(machine)
    assert list(findings) == ["wish-passed-over"] and not findings["wish-passed-over"]["blocks"]
    assert "gone.conf" in findings["wish-passed-over"]["text"]


def test_the_default_lacks_its_kernel_and_what_boots_instead_is_not_verified(machine):
    machine.set_variable("LoaderEntryDefault", "os-4k.conf")
    (machine.efi / "kernels/os-4k").unlink()
    findings = found(machine)
    assert findings.keys() == {"unverified-default", "wish-passed-over"}
    assert "os-16k.conf boots by default, and no entry that was verified can boot" in findings["unverified-default"]["text"]


def test_nothing_boots_by_default(machine):
    for size in ("4k", "16k"):
        (machine.efi / f"loader/entries/os-{size}.conf").unlink()
    machine.set_variable("GranuleCpu", "4k 16k")
    done = machine.run("try", "os-64k", "--force")
    assert done.returncode == 1 and "lacks its page size" in done.stderr


# ---- the one-shot ----

def test_the_loader_knows_no_one_shots(machine):
    machine.loader("boot-thing 7", features=1 << 2)
    findings = found(machine, force=True)
    assert not findings["no-one-shot"]["forceable"]


def test_a_one_shot_can_be_stored_nowhere(machine):
    """Without variables it is the environment block, and that is switched off."""
    (machine.efi / "loader/loader.conf").write_text("env-block no\n")
    machine.env["EFIVARFS_PATH"] = str(machine.root / "nothing/")
    findings = found(machine, force=True)
    assert not findings["no-one-shot"]["forceable"]


# ---- where the verdict will be looked for ----

ROOT = "24 1 254:1 / / rw - ext4 /dev/vda1 rw\n"


@pytest.mark.parametrize("mount, lasts", [
    ("", True),
    ("30 24 0:30 / /var rw - tmpfs tmpfs rw\n", False),
    ("30 24 0:30 / /var rw - tmpfs tmpfs rw\n31 30 254:2 / /var/lib rw - ext4 /dev/vda2 rw\n", True),
    ("31 24 254:2 / /var rw - ext4 /dev/vda2 rw\n32 31 0:31 / /var rw - tmpfs tmpfs rw\n", False),
    ("30 24 0:30 / /var/lib/granules rw - tmpfs tmpfs rw\n", True),
    ("30 24 0:30 / /run rw - tmpfs tmpfs rw\n"
     "31 24 0:31 / /var rw - overlay overlay rw,lowerdir=/a,upperdir=/run/live/rw,workdir=/run/live/work\n", False),
    ("31 24 0:31 / /var rw - overlay overlay rw,lowerdir=/a,upperdir=/data/rw,workdir=/data/work\n", True),
    ("31 24 0:31 / /var rw - overlay overlay ro,lowerdir=/a:/b\n", False),
], ids=["disk", "tmpfs", "disk-in-tmpfs", "mounted-over", "other-name", "live-system", "overlay-on-disk", "lower-only"])
def test_the_state_must_outlast_a_reboot(machine, mount, lasts):
    lay(machine, proc__self__mountinfo=ROOT + mount)
    if lasts:
        assert found(machine) == {}
    else:
        assert "lies in memory" in only(machine, "volatile-state", False)


def test_the_root_of_a_live_system_is_not_where_the_state_can_be(machine):
    lay(machine, proc__self__mountinfo="1 1 0:2 / / rw - rootfs rootfs rw\n")
    assert "rootfs" in only(machine, "volatile-state", False)


def test_an_entry_of_another_installed_system_is_tried_from_there(machine):
    machine.entry("other-64k", images.arm64(3), version="9", sort_key="key9", machine_id="4" * 32)
    assert "starts another system" in only(machine, "other-system", True, "other-64k")
    machine.entry("other-64k", images.arm64(3), version="9", sort_key="key9", machine_id="0" * 32)
    assert found(machine, "other-64k") == {}


def test_without_machine_ids_another_root_tells_another_system(machine):
    (machine.root / "proc").mkdir(exist_ok=True)
    (machine.root / "proc/cmdline").write_text("quiet root=UUID=1\n")
    machine.entry("other-64k", images.arm64(3), version="9", sort_key="key9", options="root=UUID=2")
    assert "starts another system" in only(machine, "other-system", True, "other-64k")
    machine.entry("other-64k", images.arm64(3), version="9", sort_key="key9", options="root=UUID=1 ro")
    assert found(machine, "other-64k") == {}


# ---- a kernel that panics ----

@pytest.mark.parametrize("cmdline, config, reboots", [
    ("quiet", None, False), ("panic=10", None, True), ("panic=-1", None, True), ("panic=10 panic=0", None, False),
    ("quiet", b"CONFIG_PANIC_TIMEOUT=0\n", False), ("quiet", b"CONFIG_X=y\nCONFIG_PANIC_TIMEOUT=5\n", True),
    ("panic=0", b"CONFIG_PANIC_TIMEOUT=5\n", False), ("quiet", b"CONFIG_PANIC_TIMEOUT=-1", True),
    ("quiet", b"# CONFIG_PANIC_TIMEOUT=5\n", False),
])
def test_a_unified_image_has_to_reboot_by_itself_when_its_kernel_panics(machine, cmdline, config, reboots):
    extra = images.embedded_config(config) if config else b""
    (machine.efi / "EFI/Linux").mkdir()
    (machine.efi / "EFI/Linux/one.efi").write_bytes(images.uki(images.arm64(3, extra=extra), (".cmdline", cmdline)))
    if reboots:
        assert found(machine, "one") == {}
    else:
        assert "one.efi: its kernel stands still after a panic" in only(machine, "no-panic-reboot", True, "one")


@pytest.mark.parametrize("files, stands", [
    ({"usr/lib/sysctl.d/50-x.conf": "kernel.panic = 0\n"}, True),
    ({"usr/lib/sysctl.d/50-x.conf": "kernel.panic = 0\n", "etc/sysctl.d/60-y.conf": "-kernel/panic=10\n"}, False),
    ({"usr/lib/sysctl.d/50-x.conf": "kernel.panic = 0\n", "etc/sysctl.d/50-x.conf": "#kernel.panic = 0\n"}, False),
    ({"etc/sysctl.d/60-y.conf": "kernel.panic=10\n", "etc/sysctl.conf": "kernel.panic=0"}, True),
    ({"etc/sysctl.conf": "kernel.panic_on_oops=0\n"}, False),
], ids=["off", "later-file", "masked", "sysctl.conf", "other-key"])
def test_sysctl_that_turns_the_reboot_off_again_is_told(machine, files, stands):
    lay(machine, **{name.replace("/", "__"): text for name, text in files.items()})
    if stands:
        assert "kernel.panic=10" in only(machine, "sysctl-panic", True)
    else:
        assert found(machine) == {}


# ---- a kernel that hangs ----

def without_watchdog(machine):
    (machine.root / "sys/class/watchdog/watchdog0/state").unlink()
    (machine.root / "sys/class/watchdog/watchdog0/identity").unlink()
    (machine.root / "sys/class/watchdog/watchdog0").rmdir()


def test_a_machine_without_display_and_watchdog_hangs_until_somebody_comes(machine):
    without_watchdog(machine)
    assert "it has no watchdog" in only(machine, "no-watchdog", True)


def test_a_watchdog_that_nobody_arms_is_told_apart_with_the_line_that_arms_it(machine):
    lay(machine, sys__class__watchdog__watchdog0__state="inactive\n")
    text = only(machine, "watchdog-off", True)
    assert "watchdog0 (SBSA Generic Watchdog)" in text and "RuntimeWatchdogSec=60" in text and "RebootWatchdogSec=" in text
    lay(machine, sys__class__watchdog__watchdog1__state="active\n")
    assert found(machine) == {}


def test_softdog_is_no_watchdog(machine):
    lay(machine, sys__class__watchdog__watchdog0__identity="Software Watchdog\n")
    only(machine, "no-watchdog", True)


@pytest.mark.parametrize("files, armed", [
    ({"etc/systemd/system.conf": "[Manager]\nRuntimeWatchdogSec=30s\n"}, True),
    ({"etc/systemd/system.conf": "[Manager]\n#RuntimeWatchdogSec=30s\n"}, False),
    ({"etc/systemd/system.conf": "[Manager]\nRuntimeWatchdogSec=off\n"}, False),
    ({"usr/lib/systemd/system.conf.d/10-x.conf": "[Manager]\nRuntimeWatchdogSec=1min\n"}, True),
    ({"etc/systemd/system.conf": "RuntimeWatchdogSec=30\n", "etc/systemd/system.conf.d/a.conf": "RuntimeWatchdogSec=0\n"},
     False),
], ids=["on", "comment", "off", "drop-in", "drop-in-turns-off"])
def test_systemd_that_will_arm_the_watchdog_is_as_good(machine, files, armed):
    lay(machine, sys__class__watchdog__watchdog0__state="inactive\n",
        **{name.replace("/", "__"): text for name, text in files.items()})
    if armed:
        assert found(machine) == {}
    else:
        only(machine, "watchdog-off", True)


def test_somebody_in_front_of_a_display_needs_no_watchdog(machine):
    without_watchdog(machine)
    lay(machine, sys__class__drm__version="drm\n", **{"sys__class__drm__card0-HDMI-A-1__status": "disconnected\n"})
    only(machine, "no-watchdog", True)
    lay(machine, **{"sys__class__drm__card0-DP-1__status": "connected\n"})
    assert found(machine) == {}


@pytest.mark.parametrize("consoles, frame_buffer, screen", [
    ("ttyAMA0", True, False), ("ttyAMA0 tty0", True, True), ("tty0 ttyAMA0", True, False), ("tty0", False, False)])
def test_a_console_on_a_frame_buffer_is_a_display(machine, consoles, frame_buffer, screen):
    without_watchdog(machine)
    lay(machine, sys__class__tty__console__active=consoles + "\n")
    if frame_buffer:
        lay(machine, sys__class__graphics__fb0__name="efifb\n")
    if screen:
        assert found(machine) == {}
    else:
        only(machine, "no-watchdog", True)


# ---- ways past the loader ----

def test_a_kernel_that_is_loaded_for_kexec_would_go_past_the_loader(machine):
    lay(machine, sys__kernel__kexec_loaded="1\n")
    assert "kexec -u" in only(machine, "kexec-loaded", True)
    lay(machine, sys__kernel__kexec_loaded="0\n")
    assert found(machine) == {}


def test_a_soft_reboot_would_go_past_the_loader(machine):
    (machine.root / "run/nextroot").mkdir(parents=True)
    assert "/run/nextroot" in only(machine, "soft-reboot", True)


def load_option(title, file=None, disk=None, attributes=1):
    """Boot####: UEFI 3.1.3, with a hard drive and a file node."""
    path = b""
    if disk:
        raw = bytes.fromhex(disk.replace("-", ""))
        guid = raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]
        path += struct.pack("<BBHIQQ", 4, 1, 42, 1, 2048, 4096) + guid + b"\2\2"
    if file:
        name = (file + "\0").encode("utf-16-le")
        path += struct.pack("<BBH", 4, 4, 4 + len(name)) + name
    path += b"\x7f\xff\4\0"
    return struct.pack("<IH", attributes, len(path)) + (title + "\0").encode("utf-16-le") + path


def firmware(machine, current=None, following=None, order=(), **options):
    folder = machine.root / "variables"
    (machine.root / "dev/disk/by-partuuid").mkdir(parents=True, exist_ok=True)
    (machine.root / "dev/disk/by-partuuid" / OTHER_DISK).touch()

    def write(name, data):
        (folder / f"{name}-{GLOBAL}").write_bytes(b"\7\0\0\0" + data)

    for name, number in (("BootCurrent", current), ("BootNext", following)):
        if number is not None:
            write(name, struct.pack("<H", number))
    if order:
        write("BootOrder", struct.pack(f"<{len(order)}H", *order))
    for name, option in options.items():
        write(name, option)


OWN = load_option("granule", r"\EFI\granule\granule-bootaa64.efi", OTHER_DISK)
DEBIAN = load_option("debian", r"\EFI\debian\shimaa64.efi", OTHER_DISK)


def test_boot_next_leads_elsewhere(machine):
    firmware(machine, current=1, following=2, order=(1, 2), Boot0001=OWN, Boot0002=DEBIAN)
    assert "Boot0002 (debian) next time (BootNext)" in only(machine, "boot-next", True)
    firmware(machine, current=1, following=1, order=(1, 2))
    assert found(machine) == {}
    firmware(machine, current=2, following=1, order=(2, 1))
    assert found(machine) == {}, "granule-boot, installed for one boot, obeys the same one-shot"
    firmware(machine, current=1, following=9, order=(1, 2))
    assert "Boot0009 next time" in only(machine, "boot-next", True), "an option that cannot be read is none of ours"


def test_boot_order_leads_elsewhere(machine):
    """As after 'install --once', or a choice in firmware's own menu."""
    firmware(machine, current=1, order=(2, 1), Boot0001=OWN, Boot0002=DEBIAN)
    assert "Boot0002 (debian) first (BootOrder)" in only(machine, "boot-order", True)
    # The next boot is ours then, and the one after it, which is the way back, is not.
    firmware(machine, following=1)
    only(machine, "boot-order", True)
    (machine.root / f"variables/BootNext-{GLOBAL}").unlink()
    firmware(machine, current=1, order=(1, 2))
    assert found(machine) == {}


@pytest.mark.parametrize("first", [
    load_option("network"), load_option("debian", r"\x.efi", OTHER_DISK, attributes=0),
    load_option("setup", r"\x.efi", OTHER_DISK, attributes=0x101),
    load_option("gone", r"\x.efi", OTHER_DISK.replace("1", "9")), b"\1\0\0\0", b"",
], ids=["network", "inactive", "application", "no-such-disk", "short", "empty"])
def test_what_firmware_passes_over_in_every_boot_is_no_detour(machine, first):
    firmware(machine, current=1, order=(2, 1), Boot0001=OWN, Boot0002=first)
    assert found(machine) == {}


def test_the_same_file_under_another_number_is_no_detour(machine):
    machine.set_variable("LoaderImageIdentifier", r"\EFI\granule\granule-bootAA64.efi")
    firmware(machine, current=3, order=(1, 2), Boot0001=OWN, Boot0002=DEBIAN)
    assert found(machine) == {}


def test_on_the_same_partition_the_file_has_to_be_there(machine):
    machine.set_variable("LoaderDevicePartUUID", OTHER_DISK)
    firmware(machine, current=1, order=(2, 1), Boot0001=OWN, Boot0002=load_option("old", r"\EFI\old.efi", OTHER_DISK))
    assert "boot-order" not in found(machine)
    (machine.efi / "EFI/old.efi").write_bytes(b"MZ")
    assert "boot-order" in found(machine)
