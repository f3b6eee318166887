# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB whose menu comes from loader/entries, as on the RHEL family: the blscfg command of a real GRUB (2.14, the first with
it that is not Red Hat's own), grubenv with saved_entry and next_entry, no lines of granule in grub.cfg."""

import shutil

import pytest

from grub_small import BOOT_UUID, RELEASE, grub_root, make_grub_disk, make_grub_esp, make_grub_initramfs
from guest import kernel, run
from long_run import only_long
from machine import Machine
from test_main_job import status
from test_trials import history, judge, try_it

# GNU GRUB takes an id that begins with a digit for a number, unlike that of the RHEL family.
MACHINE_ID = "fedcba9876543210fedcba9876543210"
ID = {s: f"{MACHINE_ID}-{RELEASE[s]}" for s in RELEASE}
MODULES = "usr/lib/grub/arm64-efi"

# The parts of what Red Hat's grub2-mkconfig writes that choose, in words of our own.
CONFIG = f"""set timeout=0
insmod blsuki
if [ -s $prefix/grubenv ]; then load_env; fi
if [ "${{next_entry}}" ]; then
    set default="${{next_entry}}"
    set next_entry=
    save_env next_entry
    set boot_once=true
else
    set default="${{saved_entry}}"
fi
if [ -z "$kernelopts" ]; then set kernelopts="console=ttyAMA0 panic=5 "; fi
search --no-floppy --fs-uuid --set=root {BOOT_UUID}
blscfg --path /boot/loader/entries
"""


def entry(size):
    return (f"title Test OS, {size}\nversion {RELEASE[size]}\nlinux /boot/vmlinuz-{RELEASE[size]}\n"
            f"initrd /boot/initrd.img-{RELEASE[size]}\noptions root=/dev/vda2 $kernelopts\n"
            f"machine-id {MACHINE_ID}\ngrub_users $grub_users\ngrub_arg --unrestricted\ngrub_class test\n")


def empty_block(**values):
    text = "# GRUB Environment Block\n" + "".join(f"{k}={v}\n" for k, v in values.items())
    return text + "#" * (1024 - len(text))


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    if not (grub_root("2.14") / MODULES / "blsuki.mod").exists():
        pytest.skip("GRUB 2.14 is not there: its packages could not be downloaded")
    folder = tmp_path_factory.mktemp("grub-bls")
    make_grub_initramfs(folder / "initrd", "2.12")
    make_grub_esp(folder / "esp", "2.14", "/boot/grub2")
    state = folder / "state"
    for name in ("boot/grub2/arm64-efi", "boot/loader/entries", "etc/default", "var"):
        (state / name).mkdir(parents=True)
    shutil.copy(grub_root("2.14") / MODULES / "blsuki.mod", state / "boot/grub2/arm64-efi")
    (state / "etc/machine-id").write_text(f"{MACHINE_ID}\n")
    (state / "etc/os-release").write_text('ID=test\nPRETTY_NAME="Test OS"\n')
    (state / "etc/default/grub").write_text("GRUB_DEFAULT=saved\nGRUB_ENABLE_BLSCFG=true\n")
    (state / "boot/grub2/grub.cfg").write_text(CONFIG)
    (state / "boot/grub2/grubenv").write_text(empty_block(saved_entry=ID["4k"]))
    for size in ("4k", "16k", "64k"):
        shutil.copy(kernel(size), state / f"boot/vmlinuz-{RELEASE[size]}")
        shutil.copy(folder / "initrd", state / f"boot/initrd.img-{RELEASE[size]}")
        (state / f"boot/loader/entries/{ID[size]}.conf").write_text(entry(size))
    make_grub_disk(folder / "disk", folder / "esp", state)
    return folder / "disk"


@pytest.fixture
def machine(disk, tmp_path):
    run("cp", "--sparse=always", disk, tmp_path / "disk")
    with Machine(tmp_path, tmp_path / "disk", firmware="edk2-13") as m:
        m.start()
        assert m.page_size() == 4096, "by saved_entry"
        yield m


def test_a_one_shot_and_a_default_boot_by_the_id_that_grub_knows(machine):
    m = machine
    assert status(m)["entry"] == ID["4k"]
    m.ok("granule once 64k")
    assert status(m)["next"]["id"] == ID["64k"]
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, ID["64k"])
    assert status(m)["next"]["id"] == ID["4k"], "once only"
    m.ok(f"granule set {RELEASE['16k']}")
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (16384, ID["16k"])


@only_long
def test_a_trial_boots_by_an_entry_that_sorts_last_and_is_promoted_or_given_up(machine):
    m = machine
    assert judge(m)["ok"]
    try_it(m, "64k")
    m.reboot()
    assert m.page_size() == 65536
    assert f"granule.entry=A-trial-{ID['64k']},64k" in m.ok("cat /proc/cmdline")
    verdict = judge(m)
    assert verdict["ok"] and verdict["trial"]
    assert m.ok("ls /boot/loader/entries").count(".conf") == 3, "the trial's own is gone"
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (65536, ID["64k"])
    assert judge(m)["ok"]
    m.ok("granule rollback")
    m.reboot()
    assert (m.page_size(), status(m)["entry"]) == (4096, ID["4k"])
    # Where nothing is stored any more GRUB takes what comes first: never the trial's.
    try_it(m, "16k")
    assert m.ok("ls /boot/loader/entries").count(".conf") == 4
    m.ok("rm /boot/grub2/grubenv")
    m.reboot()
    assert m.page_size() == 65536 and "A-trial" not in m.ok("cat /proc/cmdline")
    judge(m)
    assert history(m)[-1][0] != "passed" and m.ok("ls /boot/loader/entries").count(".conf") == 3
