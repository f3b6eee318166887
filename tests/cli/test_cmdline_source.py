# SPDX-License-Identifier: GPL-2.0-or-later
"""Where `register` takes the kernel command line from when the owner gave none: the distribution's files, if it is
certain what they come to."""

import shutil
import subprocess

import pytest

import images

UUID = "0f3c1b5e-6f0b-4b8e-9a53-2d1d9c1f7a11"
MACHINE_ID = "c" * 32
DEBIAN = """# If you change this file, run 'update-grub' afterwards to update
GRUB_DEFAULT=0
GRUB_TIMEOUT=5
GRUB_DISTRIBUTOR=`( . /etc/os-release && echo ${NAME} )`
GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"
GRUB_CMDLINE_LINUX=""
"""


@pytest.fixture
def machine(system):
    (system.root / "etc/kernel/cmdline").unlink()
    (system.root / "etc/machine-id").write_text(MACHINE_ID + "\n")
    (system.root / "etc/default/grub.d").mkdir(parents=True)
    system.kernel("6.1", images.arm64(1, release="6.1"))
    system.grub = system.root / "etc/default/grub"
    (system.root / "etc/fstab").write_text(f"# comment\nUUID={UUID} / ext4 errors=remount-ro 0 1\n")
    return system


def write(system, path, text):
    file = system.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def options_of(system, source=None):
    """What the entry gets; the file that it came from is named."""
    out = system.ok("register")
    if source:
        assert f"kernel command line: from {system.root / source}\n" in out
    [entry] = [e for e in system.entries().values() if e["id"].startswith("test-6.1")]
    return entry["options"]


def refused(system, *words):
    done = system.run("register")
    assert done.returncode == 1 and not list(system.efi.rglob("test-6.1*")), done
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    assert done.stderr.count("granule:") == 1


def mounted(system, source, fstype="ext4", root="/"):
    write(system, "proc/self/mountinfo", f"20 1 8:1 {root} / rw,relatime shared:1 - {fstype} {source} rw\n"
          "21 20 0:5 / /dev rw - devtmpfs udev rw\n")


@pytest.fixture
def disk(machine):
    """A file system that can be looked at without being mounted."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("missing: mkfs.ext4")
    path = machine.root / "disk"
    subprocess.run(["truncate", "-s", "1M", path], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-U", UUID, path], check=True)
    return path


# ---- /etc/default/grub ----


def test_what_grub_mkconfig_would_write_is_taken(machine):
    machine.grub.write_text(DEBIAN)
    assert options_of(machine, "etc/default/grub") == f"root=UUID={UUID} ro quiet splash"


def test_files_of_grub_d_come_after_it_in_the_order_of_their_names(machine):
    machine.grub.write_text(DEBIAN)
    write(machine, "etc/default/grub.d/50-b.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT b"\n')
    write(machine, "etc/default/grub.d/10-a.cfg", "GRUB_CMDLINE_LINUX_DEFAULT='console=ttyAMA0'\n")
    write(machine, "etc/default/grub.d/60-c.cfg", 'GRUB_CMDLINE_LINUX+="crashkernel=1G"\n')
    write(machine, "etc/default/grub.d/70-c.cfg.dpkg-old", "exit\n")
    assert options_of(machine) == f"root=UUID={UUID} ro crashkernel=1G console=ttyAMA0 b"


def test_a_root_that_is_written_there_counts(machine):
    machine.grub.write_text('GRUB_CMDLINE_LINUX="root=LABEL=mine quiet"\n')
    (machine.root / "etc/fstab").unlink()
    assert options_of(machine) == "ro root=LABEL=mine quiet"


@pytest.mark.parametrize("text, line", [("A=1\n. /etc/other\n", 2), ("GRUB_CMDLINE_LINUX=\"$(cat /proc/cmdline)\"\n", 1),
                                        ("if true; then\n", 1)])
def test_what_takes_a_shell_is_refused_by_line_and_never_run(machine, text, line):
    machine.grub.write_text(DEBIAN)
    file = write(machine, "etc/default/grub.d/9.cfg", text)
    refused(machine, f"{file}: line {line}:", "/etc/kernel/cmdline")


def test_nothing_of_the_files_is_run(machine):
    made = machine.root / "made"
    machine.grub.write_text(DEBIAN + f"GRUB_X=`touch {made}`\nGRUB_Y=\"$(touch {made})\"\n")
    assert options_of(machine) and not made.exists()


def test_the_mounted_root_is_named_by_its_uuid(machine, disk):
    machine.grub.write_text(DEBIAN)
    mounted(machine, disk)
    assert options_of(machine) == f"root=UUID={UUID} ro quiet splash"
    (machine.root / "etc/fstab").write_text("/dev/sda1 / ext4 defaults 0 1\n")
    assert "nothing to change" in machine.ok("register")
    machine.grub.write_text(DEBIAN + "GRUB_DISABLE_LINUX_UUID=true\n")
    assert options_of(machine) == f"root={disk} ro quiet splash"


def test_a_root_that_is_not_certain_is_refused(machine, disk):
    machine.grub.write_text(DEBIAN)
    mounted(machine, "overlay", "overlay")
    refused(machine, "the root file system is overlay on overlay")
    mounted(machine, machine.root / "gone")
    refused(machine, "has no UUID that can be read")
    mounted(machine, disk)
    (machine.root / "etc/fstab").write_text("UUID=1234 / ext4 defaults 0 1\n")
    refused(machine, "fstab has UUID=1234", f"mounted is UUID={UUID}")
    (machine.root / "proc/self/mountinfo").unlink()
    (machine.root / "etc/fstab").write_text("/dev/sda1 / ext4 defaults 0 1\n")
    refused(machine, "fstab does not name the root file system by UUID")


def test_a_subvolume_is_named_and_a_snapshot_refused(machine, disk):
    machine.grub.write_text(DEBIAN)
    mounted(machine, disk, "btrfs", "/@rootfs")
    assert options_of(machine) == f"root=UUID={UUID} ro rootflags=subvol=@rootfs quiet splash"
    machine.ok("unregister", "--all", "--force")
    mounted(machine, disk, "btrfs", "/@/.snapshots/7/snapshot")
    refused(machine, "snapshot @/.snapshots/7/snapshot")
    (machine.root / "proc/self/mountinfo").unlink()
    (machine.root / "etc/fstab").write_text(f"UUID={UUID} / btrfs subvol=@,compress=zstd 0 0\n")
    assert options_of(machine) == f"root=UUID={UUID} ro rootflags=subvol=@ quiet splash"


# ---- Red Hat's family ----


def env_block(*lines):
    text = "# GRUB Environment Block\n" + "".join(f"{line}\n" for line in lines)
    return text.ljust(1024, "#")


def test_kernelopts_come_before_the_file_that_they_were_made_from(machine):
    machine.grub.write_text("GRUB_CMDLINE_LINUX=other\n")
    write(machine, "boot/grub2/grubenv", env_block("saved_entry=x", "kernelopts=root=/dev/mapper/rhel-root ro rhgb "))
    assert options_of(machine, "boot/grub2/grubenv").strip() == "root=/dev/mapper/rhel-root ro rhgb"


def boot_entry(system, name, options, **keys):
    lines = ["title x", "version 5", "linux /vmlinuz-5", f"options {options}", *(f"{k} {v}" for k, v in keys.items())]
    return write(system, f"boot/loader/entries/{name}.conf", "\n".join(lines) + "\n")


def test_entries_of_this_system_that_agree_are_taken(machine):
    boot_entry(machine, f"{MACHINE_ID}-5.14.0-1", "root=UUID=9 ro rhgb $tuned_params")
    boot_entry(machine, f"{MACHINE_ID}-5.14.0-2", "root=UUID=9 ro rhgb")
    boot_entry(machine, f"{MACHINE_ID}-0-rescue-1", "root=UUID=9 ro rescue")
    boot_entry(machine, "d" * 32 + "-5.14.0-2", "root=UUID=other ro")
    boot_entry(machine, "mine", "root=UUID=hand ro")
    machine.grub.write_text("GRUB_CMDLINE_LINUX=other\n")
    assert options_of(machine) == "root=UUID=9 ro rhgb"


def test_entries_that_differ_are_no_source(machine):
    one = boot_entry(machine, f"{MACHINE_ID}-5.14.0-1", "root=UUID=9 ro debug")
    two = boot_entry(machine, f"{MACHINE_ID}-5.14.0-2", "root=UUID=9 ro")
    machine.grub.write_text(DEBIAN)
    refused(machine, str(one), str(two), "different command lines")


def test_what_kernel_install_wrote_on_the_partition_is_taken(machine):
    machine.entry("test-6.0", images.arm64(1), version="6.0")
    machine.grub.write_text(DEBIAN)
    assert options_of(machine, "efi/loader/entries/test-6.0.conf") == "quiet"


def test_entries_of_granule_are_no_source(machine):
    machine.entry("test-6.0-4k", images.arm64(1), version="6.0", granule_image="4k")
    machine.entry("test-6.0-trial+0", images.arm64(1), version="6.0", granule_trial="yes")
    refused(machine, "no command line for the entries")


# ---- Raspberry Pi ----


def test_cmdline_txt_beside_the_firmware_is_taken(machine):
    write(machine, "boot/firmware/cmdline.txt", "console=tty1 root=PARTUUID=abc-02 rootwait\n")
    refused(machine, "no command line for the entries")
    write(machine, "boot/firmware/config.txt", "arm_64bit=1\n")
    assert options_of(machine, "boot/firmware/cmdline.txt") == "console=tty1 root=PARTUUID=abc-02 rootwait"


@pytest.mark.parametrize("text, why", [("console=tty1\n", "names no root file system"), ("", "names no root file system"),
                                       ("root=PARTUUID=a-2 init=/usr/lib/firstboot\n", "for the first boot"),
                                       ("root=PARTUUID=a-2 systemd.run=/boot/x\n", "for the first boot")])
def test_a_cmdline_txt_that_boots_no_installed_system_is_refused(machine, text, why):
    write(machine, "boot/firmware/config.txt", "")
    write(machine, "boot/firmware/cmdline.txt", text)
    refused(machine, why)


# ---- the owner's file ----


def test_the_owners_file_comes_first_and_its_comments_are_left_out(machine):
    machine.grub.write_text("exit\n")
    write(machine, "boot/grub2/grubenv", env_block("kernelopts=other"))
    write(machine, "usr/lib/kernel/cmdline", "root=vendor\n")
    assert options_of(machine) == "root=vendor"
    write(machine, "etc/kernel/cmdline", "# mine\nroot=/dev/vda1\n  quiet\t\n\n#initrd=x\nro\n")
    assert options_of(machine) == "root=/dev/vda1 quiet ro"
