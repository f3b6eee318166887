# SPDX-License-Identifier: GPL-2.0-or-later
"""grub.d/09_granule and `granule grub`, on a tree; what GRUB makes of it is in tests/e2e/test_grub_script.py."""

import re
import shutil
import subprocess

import pytest

import images
from system import TOP

ROOT_UUID = "11111111-2222-3333-4444-555555555555"
SHELLS = [s for s in ("dash", "bash", "busybox") if shutil.which(s)]

# What grub-mkconfig's library has at least; releases differ in the rest.
LIBRARY = """
prepare_grub_to_access_device() { echo "insmod test_fs"; echo "search --fs-uuid --set=root $1"; }
make_system_path_relative_to_its_root() { p=${1#"$GRANULE_ROOT"}; case $p in /efi*) p=${p#/efi} ;; esac; echo "${SUBVOLUME-}${p:-/}"; }
save_default_entry() { if [ "x$GRUB_SAVEDEFAULT" = xtrue ]; then echo savedefault; fi; }
"""
PROBE = """#!/bin/sh
for word; do
    case $word in --target=*) target=${word#*=} ;; esac
    case $word in */efi | */efi/*) esp=yes ;; esac
done
case $target in
device) echo /dev/vda2 ;;
fs_uuid) [ -n "$esp" ] && echo ABCD-1234 || echo %s ;;
esac
""" % ROOT_UUID


class Generator:
    def __init__(self, system, folder):
        self.system, self.folder = system, folder
        for name, text in (("grub-probe", PROBE),
                           ("granule", f'#!/bin/sh\nexec {system.program} --root "$GRANULE_ROOT" "$@"\n')):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "grub-mkconfig_lib").write_text(LIBRARY)
        (system.root / "dev/disk/by-uuid").mkdir(parents=True)
        (system.root / "dev/disk/by-uuid" / ROOT_UUID).touch()
        (system.root / "etc/default/grub.d").mkdir(parents=True)
        (system.root / "boot/grub").mkdir()
        self.settings = {
            "pkgdatadir": str(folder), "grub_probe": str(folder / "grub-probe"), "GRANULE": str(folder / "granule"),
            "GRANULE_ROOT": str(system.root), "GRUB_DEVICE": "/dev/vda2", "GRUB_DEVICE_BOOT": "/dev/vda2",
            "GRUB_DEVICE_UUID": ROOT_UUID, "GRUB_FS": "ext2", "GRUB_DISTRIBUTOR": "Debian",
            "GRUB_CMDLINE_LINUX_DEFAULT": "quiet",
        }

    def run(self, shell="dash", **settings):
        command = [shell, "sh"] if shell == "busybox" else [shell]
        env = {**self.system.env, "LANG": "C", **self.settings, **settings}
        done = subprocess.run([*command, str(TOP / "grub.d/09_granule")], env=env, capture_output=True)
        assert done.returncode == 0, done
        self.errors = done.stderr.decode(errors="surrogateescape")
        text = done.stdout.decode(errors="surrogateescape")
        if text and shutil.which("grub-script-check"):
            check = subprocess.run(["grub-script-check"], input=done.stdout, capture_output=True)
            assert check.returncode == 0, check.stderr
        return text


@pytest.fixture
def generator(system, tmp_path):
    return Generator(system, tmp_path)


@pytest.fixture
def usual(generator):
    """Kernels of three sizes, one that can choose and one of which nothing is known."""
    for name, bits in (("6.1.0-13", 1), ("6.1.0-12", 1), ("6.1.0-13-64k", 3), ("6.1.0-13-16k", 2), ("5.10-odd", 0)):
        generator.system.kernel(name, images.arm64(bits, name))
    generator.system.kernel("5.15", images.arm64(0, "5.15", images.SELECTABLE_STRINGS))
    return generator


def ids(text):
    return re.findall(r"^\s*menuentry .*--id (\S+)", text, re.M)


def aliases(text):
    return re.findall(r"^menuentry .*--id granule-(4k|16k|64k)", text, re.M)


def linux(text, entry_id):
    """The kernel line of an entry."""
    return re.search(rf"--id {re.escape(entry_id)} {{.*?\n\s*(linux .*?)\n", text, re.S).group(1)


def title(text, entry_id):
    return re.search(rf"menuentry '([^\n]*?)' --class [^\n]*--id {re.escape(entry_id)} {{", text).group(1)


def block(system, **values):
    (system.efi / "EFI/granule").mkdir(parents=True, exist_ok=True)
    text = "# GRUB Environment Block\n" + "".join(f"{n}={v}\n" for n, v in values.items())
    (system.efi / "EFI/granule/grubenv").write_bytes(text.encode().ljust(1024, b"#"))


# ---- entries ----

@pytest.mark.parametrize("shell", SHELLS)
def test_each_kernel_has_an_entry_per_page_size_in_each_shell(usual, shell):
    text = usual.run(shell)
    assert [i for i in ids(text) if not i.endswith("-recovery")] == [
        "granule-64k", "granule-4k", "granule-16k",
        "granule-6.1.0-13-64k-64k", "granule-6.1.0-13-16k-16k", "granule-6.1.0-13-4k", "granule-6.1.0-12-4k",
        "granule-5.15-64k", "granule-5.15-16k", "granule-5.15-4k", "granule-5.10-odd-unknown", "granule-again"]
    assert usual.errors == ""
    assert usual.run(shell) == text == usual.run("dash")


def test_titles_show_the_page_size(usual):
    text = usual.run()
    assert title(text, "granule-6.1.0-13-64k-64k") == "Debian GNU/Linux, 64K pages, Linux 6.1.0-13-64k"
    assert title(text, "granule-5.15-16k-recovery") == "Debian GNU/Linux, 16K pages, Linux 5.15 (recovery mode)"
    assert title(text, "granule-5.10-odd-unknown") == "Debian GNU/Linux, page size unknown, Linux 5.10-odd"
    assert title(text, "granule-64k") == "Debian GNU/Linux, 64K pages"


def test_only_kernels_that_can_choose_get_the_word_and_it_is_the_first(usual):
    text = usual.run(GRUB_CMDLINE_LINUX="arm64.pagesize=4k a=b")
    assert linux(text, "granule-5.15-64k") == (
        f"linux /boot/vmlinuz-5.15 arm64.pagesize=64k root=UUID={ROOT_UUID} ro a=b quiet"
        " granule.entry=granule-5.15-64k,64k $granule_options")
    assert linux(text, "granule-6.1.0-13-4k").startswith(
        f"linux /boot/vmlinuz-6.1.0-13 root=UUID={ROOT_UUID} ro arm64.pagesize=4k a=b quiet granule.entry=")
    assert linux(text, "granule-5.15-64k-recovery").endswith(
        " ro single a=b granule.entry=granule-5.15-64k-recovery,64k $granule_options")


def test_an_entry_of_a_page_size_boots_as_the_entry_that_it_stands_for(usual):
    text = usual.run()
    assert linux(text, "granule-64k") == linux(text, "granule-6.1.0-13-64k-64k")
    assert "set granule_64k=granule-6.1.0-13-64k-64k\n" in text


def test_words_for_init_stay_behind_those_of_granule(usual):
    text = usual.run(GRUB_CMDLINE_LINUX_DEFAULT="quiet -- x arm64.pagesize=4k")
    assert linux(text, "granule-5.15-64k").endswith("quiet granule.entry=granule-5.15-64k,64k $granule_options -- x arm64.pagesize=4k")


def test_a_policys_class_is_first_and_the_newest_of_it_leads(usual):
    block(usual.system, granule_page_size="16k")
    text = usual.run()
    assert aliases(text) == ["16k", "4k", "64k"]
    assert ids(text)[3] == "granule-6.1.0-13-16k-16k"


def test_the_name_of_a_kernel_does_not_tell_its_page_size(generator):
    generator.system.kernel("6.1-64k", images.arm64(1, "6.1-64k"))
    generator.system.kernel("6.1-4k", images.arm64(3, "6.1-4k"))
    text = generator.run()
    assert "granule-6.1-64k-4k" in ids(text) and "granule-6.1-4k-64k" in ids(text)
    assert "set granule_4k=granule-6.1-64k-4k\n" in text and "unset granule_16k\n" in text


@pytest.mark.parametrize("stage, newest", [("failed", "6.1.0-12"), ("armed", "6.1.0-12"), ("passed", "6.1.0-13")])
def test_what_failed_its_trial_or_is_being_tried_is_no_page_sizes_entry(usual, stage, newest):
    usual.system.trial("granule-6.1.0-13-4k", stage)
    assert f"set granule_4k=granule-{newest}-4k\n" in usual.run()


def test_spare_kernels_are_listed_last_and_stand_for_nothing(generator):
    generator.system.kernel("6.2.old", images.arm64(3, "6.2"))
    generator.system.kernel("0-rescue-1234", images.arm64(3, "9.9"))
    generator.system.kernel("6.1", images.arm64(3, "6.1"))
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text)[1:-1] == ["granule-6.1-64k", "granule-6.2.old-64k", "granule-0-rescue-1234-64k"]
    assert "set granule_64k=granule-6.1-64k\n" in text


def test_of_builds_with_one_release_the_higher_name_is_meant(generator):
    for name in ("6.1-a", "6.1-b"):
        generator.system.kernel(name, images.arm64(3, "6.1"))
    assert "set granule_64k=granule-6.1-b-64k\n" in generator.run()


def test_kernels_of_the_root_folder_and_left_overs(generator):
    root = generator.system.root
    (root / "vmlinuz-6.3").write_bytes(images.arm64(1, "6.3"))
    (root / "boot/vmlinuz-6.1.dpkg-new").write_bytes(images.arm64(1, "6.1"))
    (root / "boot/vmlinuz-6.1.sig").write_bytes(b"x")
    (root / "boot/vmlinux-6.1").write_bytes(b"\x7fELF" + bytes(4096))
    (root / "boot/vmlinuz-folder").mkdir()
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text) == ["granule-4k", "granule-6.3-4k", "granule-again"]
    assert linux(text, "granule-6.3-4k").startswith("linux /vmlinuz-6.3 root=/dev/vda2 ro ")


def test_two_files_of_one_name_and_size_do_not_share_an_id(generator):
    generator.system.kernel("6.1", images.arm64(1, "6.1"))
    (generator.system.boot / "Image-6.1").write_bytes(images.arm64(1, "6.1"))
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text) == ["granule-4k", "granule-6.1-4k", "granule-again"]
    assert "Image-6.1: another file has the same name and page size" in generator.errors


def test_without_kernels_there_is_still_the_choice(generator):
    text = generator.run()
    assert "set granule_version=1" in text and not ids(text)


def test_granules_images_on_the_esp_are_started_with_the_page_size_as_argument(generator):
    kernels = [images.arm64(bits, "6.1") for bits in (1, 3)]
    folder = generator.system.efi / "EFI/Linux"
    folder.mkdir()
    (folder / "granule-6.1.efi").write_bytes(images.uki(kernels[0], (".profile", "ID=4k\n"), (".profile", "ID=64k\n"), (".linux", kernels[1])))
    (folder / "other-6.1.efi").write_bytes(images.uki(kernels[0]))
    (folder / "granule-x;y.efi").write_bytes(images.uki(kernels[0]))
    (folder / "granule-bad.efi").write_bytes(b"MZ no image")
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text) == ["granule-6.1-4k", "granule-6.1-64k", "granule-again"]
    assert "unset granule_64k\n" in text and "initrd" not in text
    assert "granule-x;y.efi: a name for GRUB has" in generator.errors
    assert (f"chainloader /EFI/Linux/granule-6.1.efi arm64.pagesize=64k root=UUID={ROOT_UUID} ro quiet"
            " granule.entry=granule-6.1-64k,64k $granule_options\n") in text


# ---- root=, initrds and the rest of an entry ----

def only(generator, **settings):
    if not list(generator.system.boot.glob("vmlinuz-*")):
        generator.system.kernel("6.1", images.arm64(1, "6.1"))
    text = generator.run(**settings)
    return re.search(r"root=(\S+) ", linux(text, "granule-6.1-4k")).group(1), text


@pytest.mark.parametrize("settings, root", [
    ({}, f"UUID={ROOT_UUID}"),
    ({"GRUB_DISABLE_LINUX_UUID": "true"}, "/dev/vda2"),
    ({"GRUB_DISABLE_LINUX_UUID": "y", "GRUB_DEVICE_PARTUUID": "ab-cd"}, "/dev/vda2"),
    ({"GRUB_DISABLE_LINUX_UUID": "true", "GRUB_DEVICE_PARTUUID": "ab-cd", "GRUB_DISABLE_LINUX_PARTUUID": "false"}, "PARTUUID=ab-cd"),
    ({"GRUB_DEVICE_UUID": "", "GRUB_DEVICE_PARTUUID": "ab-cd", "GRUB_DISABLE_LINUX_PARTUUID": ""}, "/dev/vda2"),
    ({"GRUB_DEVICE_UUID": "99999999-unknown"}, "/dev/vda2"),
])
def test_the_root_device_is_told_as_10_linux_does(generator, settings, root):
    assert only(generator, **settings)[0] == root


def test_a_kernel_without_initramfs_gets_its_root_by_partition(generator):
    system = generator.system
    system.kernel("6.1", images.arm64(1, "6.1"), initrd=None)
    partition = {"GRUB_DEVICE_PARTUUID": "ab-cd", "GRUB_DISABLE_LINUX_PARTUUID": "false"}
    root, text = only(generator, **partition)
    assert root == "PARTUUID=ab-cd" and "initrd" not in text
    (system.boot / "config-6.1").write_text('CONFIG_INITRAMFS_SOURCE="/x"\n')
    assert only(generator, **partition)[0] == f"UUID={ROOT_UUID}"
    (system.boot / "config-6.1").write_text('CONFIG_INITRAMFS_SOURCE=""\n')
    assert only(generator)[0] == "/dev/vda2"


def test_lvm_is_named_by_its_device(generator):
    with open(generator.folder / "grub-mkconfig_lib", "a") as f:
        f.write('uses_abstraction() { [ "$1 $2" = "/dev/null lvm" ]; }\n')
    assert only(generator, GRUB_DEVICE="/dev/null")[0] == "/dev/null"


def test_a_btrfs_subvolume_is_in_paths_and_root_flags(generator):
    text = only(generator, GRUB_FS="btrfs", SUBVOLUME="/@root sub")[1]
    assert linux(text, "granule-6.1-4k").startswith(
        f"linux '/@root sub/boot/vmlinuz-6.1' root=UUID={ROOT_UUID} ro 'rootflags=subvol=@root sub/' quiet")
    assert "initrd '/@root sub/boot/initrd.img-6.1'" in text


@pytest.mark.parametrize("name", ["initrd.img-6.1", "initramfs-6.1.img", "initrd-6.1", "initrd-6.1.img"])
def test_initrds_of_distributions_are_found_with_early_ones_before_them(generator, name):
    system = generator.system
    system.kernel("6.1", images.arm64(1, "6.1"), initrd=None)
    (system.boot / name).touch()
    (system.boot / "ucode.cpio").touch()
    text = only(generator, GRUB_EARLY_INITRD_LINUX_STOCK="missing.img ucode.cpio")[1]
    assert f"\tinitrd /boot/ucode.cpio /boot/{name}\n" in text


def test_a_device_tree_of_the_settings_is_loaded_if_the_kernel_has_it(generator):
    (generator.system.root / "etc/default/grub").write_text('GRUB_DEFAULT_DTB="vendor/board.dtb"\n')
    assert "devicetree" not in only(generator)[1]
    (generator.system.boot / "dtb-6.1/vendor").mkdir(parents=True)
    (generator.system.boot / "dtb-6.1/vendor/board.dtb").touch()
    assert "\tdevicetree /boot/dtb-6.1/vendor/board.dtb\n" in only(generator)[1]


# ---- settings ----

@pytest.mark.parametrize("yes", ["true", "y", "yes", "1", "TRUE"])
def test_switches_are_known_in_all_spellings(usual, yes):
    text = usual.run(GRUB_DISABLE_SUBMENU=yes, GRUB_DISABLE_RECOVERY=yes, GRUB_SAVEDEFAULT=yes)
    assert "submenu" not in text and "recovery" not in text.replace("recovery mode", "")
    assert text.count("\tsavedefault\n") == len(ids(text)) - 1
    assert 'set granule_path="${granule_id}"' in text


def test_no_is_no(usual):
    text = usual.run(GRUB_DISABLE_SUBMENU="false", GRUB_DISABLE_RECOVERY="", GRUB_SAVEDEFAULT="no")
    assert "submenu 'Debian GNU/Linux, by page size and kernel' --id granule {" in text
    assert "recovery" in text and "savedefault\n" not in text
    assert 'set granule_path="granule>${granule_id}"' in text


def test_video_settings(usual):
    text = usual.run(GRUB_GFXPAYLOAD_LINUX="text")
    assert "load_video" not in text and "\tset gfxpayload=text\n" in text
    text = usual.run()
    assert "\tload_video\n" in text and "gfxpayload" not in text


def test_without_a_policy_the_size_of_the_kernel_that_10_linux_puts_first_leads(usual):
    with open(usual.folder / "grub-mkconfig_lib", "a") as f:
        f.write("version_sort() { sort -V \"$@\"; }\ngrub_move_to_front() { :; }\n")
    assert aliases(usual.run())[0] == "64k"
    (usual.system.root / "etc/default/grub.d/x.cfg").write_text("GRUB_TOP_LEVEL=/boot/vmlinuz-6.1.0-13\n")
    assert aliases(usual.run()) == ["4k", "16k", "64k"]
    assert aliases(usual.run(GRUB_TOP_LEVEL="/boot/vmlinuz-6.1.0-13-16k")) == ["16k", "4k", "64k"]


def test_recovery_has_the_words_of_the_settings(usual):
    (usual.system.root / "etc/default/grub").write_text('GRUB_CMDLINE_LINUX_RECOVERY="single nomodeset"\n')
    text = usual.run(GRUB_CMDLINE_LINUX="a=b", GRUB_RECOVERY_TITLE="Rettung")
    assert " ro single nomodeset a=b granule.entry=" in linux(text, "granule-6.1.0-13-4k-recovery")
    assert title(text, "granule-6.1.0-13-4k-recovery").endswith("(Rettung)")


def test_entries_boot_without_a_password_where_those_of_10_linux_do(usual):
    (usual.system.root / "etc/grub.d").mkdir()
    script = usual.system.root / "etc/grub.d/10_linux"
    script.write_text('CLASS="--class gnu --unrestricted"\n')
    text = usual.run()
    assert text.count(" --unrestricted --id ") == len(ids(text)) + 1
    script.write_text('CLASS="--class gnu"\n# --unrestricted\n')
    assert "--unrestricted" not in usual.run()


def test_a_number_that_cannot_be_moved_is_said(usual):
    usual.run(GRUB_DEFAULT="16")
    assert "GRUB_DEFAULT=16 counts entries from the top, and there are 5 of granule's" in usual.errors
    usual.run(GRUB_DEFAULT="15")
    assert usual.errors == ""


def test_granule_can_be_left_out_by_a_setting(usual):
    (usual.system.root / "etc/default/grub.d/x.cfg").write_text("GRANULE_GRUB=no\n")
    assert usual.run() == ""


def test_with_bls_there_is_the_choice_but_no_entry(usual):
    (usual.system.root / "etc/grub.d").mkdir()
    (usual.system.root / "etc/grub.d/10_linux").write_text("if GRUB_ENABLE_BLSCFG; then blscfg; fi\n")
    entries = usual.system.boot / "loader/entries"
    entries.mkdir(parents=True)
    for name in ("6.1.0-13", "6.1.0-13-64k"):
        (entries / f"m-{name}.conf").write_text(f"title x\nversion {name}\nlinux /vmlinuz-{name}\noptions quiet\n")
    (usual.system.boot / "grub/grub.cfg").write_text("blscfg\n")
    text = usual.run(GRUB_ENABLE_BLSCFG="true")
    assert not ids(text) and "granule_move" not in text and 'set fallback="0 1"' in text
    assert "set granule_64k=m-6.1.0-13-64k\n" in text


# ---- it does no harm ----

def test_what_is_missing_is_said_and_nothing_is_printed(usual):
    assert usual.run(GRANULE="/nowhere/granule") == "" and "/nowhere/granule: not found" in usual.errors
    assert usual.run(GRANULE="false") == "" and "failed; nothing added" in usual.errors
    assert usual.run(GRANULE="true") == "" and "failed; nothing added" in usual.errors
    assert usual.run(pkgdatadir="/nowhere") == "" and "grub-mkconfig_lib is not there" in usual.errors


def test_an_answer_that_is_cut_off_is_none(usual):
    cut = usual.folder / "cut"
    cut.write_text(f'#!/bin/sh\n{usual.folder}/granule "$@" | head -n 5\n')
    cut.chmod(0o755)
    assert usual.run(GRANULE=str(cut)) == "" and "failed; nothing added" in usual.errors


HOSTILE = ["6.1'x", '6.1"x', "6.1$x", "6.1;reboot", "6.1\nmenuentry x", "6.1\\x", "6.1>x", "6.1 x", "6.1{", "6.1\xff", "6.1`id`",
           "6.1|x", "6.1&x", "6.1#x", "6.1\tx"]


def test_names_that_mean_something_to_a_script_are_left_out_with_a_line(generator):
    generator.system.kernel("5.0", images.arm64(1, "5.0"))
    for name in HOSTILE:
        with open(bytes(generator.system.boot) + b"/vmlinuz-" + name.encode("latin-1"), "wb") as f:
            f.write(images.arm64(3, "9.9"))
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text) == ["granule-4k", "granule-5.0-4k", "granule-again"]
    assert generator.errors.count("left out of its menu") == generator.errors.count("\n") == len(HOSTILE)


@pytest.mark.parametrize("release", ["9.9'\n}x", "9.9;x", "9.9\tx", "9.9$(id)"])
def test_a_release_inside_an_image_is_no_part_of_the_menu(generator, release):
    generator.system.kernel("6.1", images.arm64(3, release))
    text = generator.run(GRUB_DISABLE_RECOVERY="true")
    assert ids(text) == ["granule-64k", "granule-6.1-64k", "granule-again"] and "9.9" not in text


WORDS = [
    ("a;reboot", "'a;reboot'"), ("{ x }", "'{' x '}'"), ("a=\"b c\" d", "'a=b c' d"), ("a='b \"c'", "'a=b \"c'"),
    (r"a\ b", "'a b'"), (r'"a\"b\\c\$d\e"', r"""'a"b\c$d\e'"""), ("$tuned_params x", "${tuned_params} x"),
    ('"p $q r"', "'p '\"${q}\"' r'"), ("${a}b$c", "${a}b${c}"), ("$1 $? $(id) `id`", "'$1' '$?' '$(id)' '`id`'"),
    ("a\nb\tc", "a b c"), ("it\\'s", r"'it'\''s'"), ("#x <y >z |q &", "'#x' '<y' '>z' '|q' '&'"),
    ("a\udcffb", "'a\udcffb'"), ("\"a\nb\"", "'a b'"), ('""', "''"), ("[x] *?~", "'[x]' '*?~'"),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_words_of_the_command_line_keep_their_meaning_and_no_other(usual, shell):
    text = usual.run(shell, GRUB_CMDLINE_LINUX_DEFAULT=" next ".join(given for given, _ in WORDS))
    line = linux(text, "granule-6.1.0-12-4k")
    assert line.startswith(f"linux /boot/vmlinuz-6.1.0-12 root=UUID={ROOT_UUID} ro ")
    assert line.endswith(" granule.entry=granule-6.1.0-12-4k,4k $granule_options")
    assert line.split(" ro ", 1)[1].rsplit(" granule.entry", 1)[0].split(" next ") == [written for _, written in WORDS]
    assert usual.errors == ""


def test_a_quote_that_is_not_closed_is_said_and_ends_nothing(usual):
    text = usual.run(GRUB_CMDLINE_LINUX_DEFAULT="x'y ;")
    assert " ro 'xy ;' granule.entry=" in linux(text, "granule-6.1.0-12-4k")
    assert "a quote is not closed" in usual.errors


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_of_the_distribution_is_quoted(usual, shell):
    text = usual.run(shell, GRUB_DISTRIBUTOR="It's; $x {\n\"a\\", GRUB_RECOVERY_TITLE="} ' x")
    assert "menuentry 'It'\\''s; $x { \"a\\ GNU/Linux, 64K pages' --class it_s_ " in text


def test_options_and_recovery_are_not_needed_for_the_facts(usual):
    lines = usual.system.ok("grub").splitlines()
    assert lines[0] == "granule-grub\t1" and lines[-1] == "end"
    assert lines[1:3] == ["policy\t-", f"block\tesp\t{usual.system.efi}/EFI/granule/grubenv\t-"]


def test_facts_as_json(usual):
    facts = usual.system.json("grub")
    assert facts["policy"] is None and facts["bls"] is False
    assert facts["block"] == {"in": "esp", "path": f"{usual.system.efi}/EFI/granule/grubenv", "reason": None}
    assert facts["classes"]["64k"] == "granule-6.1.0-13-64k-64k"
    assert facts["entries"][0] == {
        "id": "granule-6.1.0-13-64k-64k", "page_size": "64k", "kind": "fixed", "image": False, "folder": "/boot",
        "file": "vmlinuz-6.1.0-13-64k", "name": "6.1.0-13-64k", "release": "6.1.0-13-64k",
        "initrd": "initrd.img-6.1.0-13-64k", "initramfs_built_in": False, "spare": False}


def test_an_unknown_menu_is_a_usage_error(system):
    done = system.run("grub", "other")
    assert done.returncode == 2 and "menu or bls is expected" in done.stderr
