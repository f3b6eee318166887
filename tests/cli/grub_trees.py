# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees that stand for machines that GRUB boots, laid out as distributions lay them out."""

import gzip
import shutil
import subprocess

import images
from system import TOP

SIGNATURE = b"# GRUB Environment Block\n"
BITS = {"4k": 1, "16k": 2, "64k": 3}
ROOT_UUID = "11111111-2222-3333-4444-555555555555"
BOOT_UUID = "66666666-7777-8888-9999-000000000000"
MACHINE_ID = "a4b7c6d5e4f3928170615243342516aa"
OTHER_ID = "0123456789abcdef0123456789abcdef"

# What 00_header writes, by what decides about the default.
HEADER = """if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="%s"
fi

if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi

export menuentry_id_option

function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
    save_env saved_entry
  fi
}
"""
COUNTING = """insmod increment
if [ -n "${boot_counter}" -a "${boot_success}" = "0" ]; then
  if [ "${boot_counter}" = "0" -o "${boot_counter}" = "-1" ]; then
    set default=1
    set boot_counter=-1
  else
    decrement boot_counter
  fi
  save_env boot_counter
fi
"""
FIRMWARE = """if [ "$grub_platform" = "efi" ]; then
	menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
		fwsetup
	}
fi
"""
STUB = """search.fs_uuid %s root
set prefix=($root)'%s'
configfile $prefix/grub.cfg
"""
LIBRARY = """
prepare_grub_to_access_device() { echo "insmod ext2"; echo "search --no-floppy --fs-uuid --set=root %s"; }
make_system_path_relative_to_its_root() {
    p=${1#"$GRANULE_ROOT"}
    case $p in /boot/efi*) p=${p#/boot/efi} ;; /boot*) p=${p#"$SEPARATE"} ;; esac
    echo "${p:-/}"
}
save_default_entry() { if [ "x$GRUB_SAVEDEFAULT" = xtrue ]; then echo savedefault; fi; }
"""
PROBE = """#!/bin/sh
for word; do
    case $word in --target=*) target=${word#*=} ;; esac
    case $word in */boot/efi*) esp=yes ;; esac
done
case $target in
device) echo /dev/vda2 ;;
fs_uuid) [ -n "$esp" ] && echo ABCD-1234 || echo %s ;;
esac
""" % ROOT_UUID


def env_block(*lines, size=1024):
    return (SIGNATURE + "".join(f"{line}\n" for line in lines).encode()).ljust(size, b"#")


def read_env(path):
    data = path.read_bytes()
    assert len(data) == 1024 and data.startswith(SIGNATURE), data
    lines = data[len(SIGNATURE):].decode().rstrip("#").split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


class Tree:
    """`system` laid out for GRUB. `kernels` are (release, size), newest first as GRUB's scripts have them."""

    folder, prefix = "boot/grub", ""
    cfg = None  # if not below `folder`
    kernels = (("6.1.0-13-arm64-64k", "64k"), ("6.1.0-13-arm64-16k", "16k"), ("6.1.0-13-arm64", "4k"))
    os_release = "ID=debian\nPRETTY_NAME='Debian'\n"
    title, distributor = "Debian GNU/Linux", "Debian"
    default, settings = "0", "GRUB_DEFAULT=0\n"
    options, initrd_name, kernel_name = "root=UUID=" + ROOT_UUID + " ro quiet", "initrd.img-%s", "vmlinuz-%s"
    boot_uuid = ROOT_UUID

    def __init__(self, system, lines=False, **changes):
        self.system, self.root, self.lines = system, system.root, lines
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        system.efi.rename(system.boot / "efi")
        self.esp = system.efi = system.boot / "efi"
        (self.root / self.folder).mkdir(parents=True)
        (self.root / "etc/default/grub.d").mkdir(parents=True)
        (self.root / "etc/os-release").write_text(self.os_release)
        (self.root / "etc/default/grub").write_text(self.settings)
        (self.root / "etc/machine-id").write_text(MACHINE_ID + "\n")
        (self.root / "etc/kernel/entry-token").unlink()
        for release, size in self.kernels:
            self.add_kernel(release, size)
        self.grubenv.write_bytes(env_block())
        self.lay_out()
        self.update_grub()

    def lay_out(self):
        pass

    @property
    def grubenv(self):
        return self.root / self.folder / "grubenv"

    @property
    def block(self):
        return self.esp / "EFI/granule/grubenv"

    @property
    def cfg_path(self):
        return self.root / (self.cfg or f"{self.folder}/grub.cfg")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def env(self):
        return read_env(self.grubenv)

    def set_env(self, **values):
        self.grubenv.write_bytes(env_block(*(f"{k}={v}" for k, v in values.items())))

    def own(self):
        return read_env(self.block) if self.block.exists() else {}

    def set_own(self, **values):
        self.block.parent.mkdir(exist_ok=True)
        self.block.write_bytes(env_block(*(f"{k}={v}" for k, v in values.items())))

    # ---- kernels ----

    def image(self, release, size):
        return images.arm64(BITS[size], release=release)

    def add_kernel(self, release, size):
        (self.system.boot / (self.kernel_name % release)).write_bytes(self.image(release, size))
        (self.system.boot / (self.initrd_name % release)).write_bytes(b"initrd")

    # ---- grub.cfg ----

    def menuentry(self, title, name, release, options=None, indent="", head=""):
        lines = [f"menuentry {quoted(title)} --class gnu-linux --class os $menuentry_id_option {quoted(name)} {{",
                 "\tload_video", "\tinsmod gzio", *([head] if head else []),
                 f"\tsearch --no-floppy --fs-uuid --set=root {self.boot_uuid}",
                 f"\techo\t'Loading Linux {release} ...'",
                 f"\tlinux\t{self.prefix}/{self.kernel_name % release} {options or self.options}",
                 f"\tinitrd\t{self.prefix}/{self.initrd_name % release}", "}"]
        return "".join(f"{indent}{line}\n" for line in lines)

    def menu(self):
        """What 10_linux writes."""
        newest = self.kernels[0][0]
        text = self.menuentry(self.title, f"gnulinux-simple-{ROOT_UUID}", newest)
        text += f"submenu {quoted('Advanced options for ' + self.title)} $menuentry_id_option 'gnulinux-advanced-{ROOT_UUID}' {{\n"
        for release, _ in self.kernels:
            title = f"{self.title}, with Linux {release}"
            text += self.menuentry(title, f"gnulinux-{release}-advanced-{ROOT_UUID}", release, indent="\t")
            text += self.menuentry(f"{title} (recovery mode)", f"gnulinux-{release}-recovery-{ROOT_UUID}", release,
                                   self.options.replace("quiet", "single"), indent="\t")
        return text + "}\n"

    def header(self):
        return HEADER % self.default

    def generator(self):
        """What the real 09_granule writes for this tree."""
        folder = self.root.parent / f"{self.root.name}-generator"
        folder.mkdir(exist_ok=True)
        for name, text in (("grub-probe", PROBE),
                           ("granule", f'#!/bin/sh\nexec {self.system.program} --root "$GRANULE_ROOT" "$@"\n'),
                           ("grub-mkconfig_lib", LIBRARY % self.boot_uuid)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (self.root / "dev/disk/by-uuid").mkdir(parents=True, exist_ok=True)
        (self.root / "dev/disk/by-uuid" / ROOT_UUID).touch()
        env = {**self.system.env, "LANG": "C", "pkgdatadir": str(folder), "grub_probe": str(folder / "grub-probe"),
               "GRANULE": str(folder / "granule"), "GRANULE_ROOT": str(self.root), "GRUB_DEVICE": "/dev/vda2",
               "GRUB_DEVICE_BOOT": "/dev/vda2", "GRUB_DEVICE_UUID": ROOT_UUID, "GRUB_FS": "ext2",
               "GRUB_DISTRIBUTOR": self.distributor, "GRUB_CMDLINE_LINUX_DEFAULT": "quiet",
               "SEPARATE": "" if self.prefix else "/boot", **self.generator_settings()}
        done = subprocess.run(["sh", str(TOP / "grub.d/09_granule")], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done
        assert "granule_version=1" in done.stdout, done
        return done.stdout

    def generator_settings(self):
        return {}

    def update_grub(self):
        text = self.header()
        if self.lines:
            # Granule looks at what is there, as update-grub writes the new file beside the old one.
            self.cfg_path.parent.mkdir(parents=True, exist_ok=True)
            if not self.cfg_path.exists():
                self.cfg_path.write_text(text + self.menu())
            text += f"### BEGIN /etc/grub.d/09_granule ###\n{self.generator()}### END /etc/grub.d/09_granule ###\n"
        self.write(self.cfg_path.relative_to(self.root), text + self.menu() + FIRMWARE)
        if shutil.which("grub-script-check"):
            subprocess.run(["grub-script-check", self.cfg_path], check=True)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Debian12(Tree):
    """/boot in the root file system, and so in each path."""

    prefix = "/boot"

    def lay_out(self):
        self.write("boot/efi/EFI/debian/grub.cfg", STUB % (ROOT_UUID, "/boot/grub"))


class Debian13(Tree):
    """/boot is a file system of its own."""

    kernels = (("6.12.0-5-arm64-16k", "16k"), ("6.12.0-5-arm64", "4k"), ("6.12.0-4-arm64-16k", "16k"),
               ("6.12.0-4-arm64", "4k"))
    boot_uuid = BOOT_UUID

    def lay_out(self):
        self.write("boot/efi/EFI/debian/grub.cfg", STUB % (BOOT_UUID, "/grub"))


class Ubuntu(Tree):
    """Compressed kernels, functions around each entry, and a drop-in that decides."""

    prefix = "/boot"
    kernels = (("6.8.0-51-generic", "4k"), ("6.8.0-50-generic-64k", "64k"), ("6.8.0-50-generic", "4k"))
    os_release = "ID=ubuntu\nID_LIKE=debian\n"
    title = distributor = "Ubuntu"
    options = "root=UUID=" + ROOT_UUID + " ro quiet $vt_handoff"

    def lay_out(self):
        self.write("boot/efi/EFI/ubuntu/grub.cfg", STUB % (ROOT_UUID, "/boot/grub"))
        self.write("etc/default/grub.d/50-cloudimg-settings.cfg", "# cloud\nGRUB_TIMEOUT=0\nGRUB_DEFAULT=0\n")

    def image(self, release, size):
        return gzip.compress(super().image(release, size))

    def header(self):
        return super().header() + """function recordfail {
  set recordfail=1
  if [ -n "${have_grubenv}" ]; then if [ -z "${boot_once}" ]; then save_env recordfail; fi; fi
}
function gfxmode {
	set gfxpayload="${1}"
	if [ "${1}" = "keep" ]; then
		set vt_handoff=vt.handoff=7
	else
		set vt_handoff=
	fi
}
"""

    def menuentry(self, *arguments, **keywords):
        return super().menuentry(*arguments, head="\trecordfail\n\tgfxmode $linux_gfx_mode", **keywords)


class Sles15(Tree):
    """btrfs with subvolumes; Image in place of vmlinuz, and no submenu path in what people type."""

    folder, prefix = "boot/grub2", "/@/boot"
    kernels = (("6.4.0-150600.23-default", "4k"), ("6.4.0-150600.23-64kb", "64k"))
    kernel_name, initrd_name = "Image-%s", "initrd-%s"
    os_release = "ID=sles\nID_LIKE=suse\n"
    title, distributor = "SLES 15-SP6", "SLES 15-SP6"
    options = "root=UUID=" + ROOT_UUID + " ${extra_cmdline} splash=silent quiet security=apparmor"
    default, settings = "${saved_entry}", "GRUB_DEFAULT=saved\nGRUB_DISTRIBUTOR=\n"

    def lay_out(self):
        self.write("boot/efi/EFI/sles/grub.cfg", STUB % (ROOT_UUID, "/@/boot/grub2"))


class OpenEuler(Tree):
    """The menu stands on the ESP, with grubenv beside it; 64K kernels were built by hand."""

    folder = "boot/efi/EFI/openEuler"
    kernels = (("5.10.0-60.18.0.50.oe2203.aarch64", "4k"), ("5.10.0-60.18.0.50.oe2203.aarch64-64k", "64k"))
    initrd_name = "initramfs-%s.img"
    os_release = "ID=openEuler\nVERSION_ID=22.03\n"
    title = distributor = "openEuler"
    options = "root=/dev/mapper/openeuler-root ro rd.lvm.lv=openeuler/root quiet"
    default, settings = "${saved_entry}", "GRUB_DEFAULT=saved\nGRUB_DISABLE_SUBMENU=true\n"
    boot_uuid = BOOT_UUID

    def generator_settings(self):
        return {"GRUB_DISABLE_SUBMENU": "true"}

    def menu(self):
        return "".join(self.menuentry(f"openEuler ({release}) 22.03 (LTS)", f"gnulinux-{release}-advanced-{ROOT_UUID}",
                                      release) for release, _ in self.kernels)


class Rhel9(Tree):
    """Entries in /boot/loader/entries; grub.cfg holds none of them."""

    folder = "boot/grub2"
    kernels = (("5.14.0-362.el9.aarch64+64k", "64k"), ("5.14.0-362.el9.aarch64", "4k"), ("5.14.0-284.el9.aarch64", "4k"))
    initrd_name = "initramfs-%s.img"
    os_release = "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.3\"\n"
    title, distributor = "Red Hat Enterprise Linux", "Red Hat Enterprise Linux"
    options = "root=/dev/mapper/rhel-root ro crashkernel=2G-:640M rd.lvm.lv=rhel/root $tuned_params"
    default, settings = "${saved_entry}", "GRUB_DEFAULT=saved\nGRUB_ENABLE_BLSCFG=true\nGRUB_DISABLE_SUBMENU=true\n"
    boot_uuid, stub_folder = BOOT_UUID, "redhat"

    @property
    def entries(self):
        return self.system.boot / "loader/entries"

    def lay_out(self):
        self.write(f"boot/efi/EFI/{self.stub_folder}/grub.cfg", STUB % (BOOT_UUID, "/grub2"))
        for release, _ in self.kernels:
            self.add_entry(release)
        self.write("etc/grub.d/10_linux", "# GRUB_ENABLE_BLSCFG\n")
        self.set_env(saved_entry=self.id(self.kernels[1][0]))

    def id(self, release, machine=MACHINE_ID):
        return f"{machine}-{release}"

    def add_entry(self, release, machine=MACHINE_ID, extra=""):
        self.entries.mkdir(parents=True, exist_ok=True)
        (self.entries / f"{self.id(release, machine)}.conf").write_text(
            f"title {self.title} ({release}) 9.3 (Plow)\nversion {release}\n"
            f"linux {self.prefix}/{self.kernel_name % release}\n"
            f"initrd {self.prefix}/{self.initrd_name % release} $tuned_initrd\noptions {self.options}\n"
            "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class rhel\n" + extra)

    def generator_settings(self):
        return {"GRUB_ENABLE_BLSCFG": "true", "sysconfdir": str(self.root / "etc")}

    def header(self):
        return super().header() + 'set tuned_params="skew_tick=1"\nset tuned_initrd=""\n'

    def menu(self):
        return f"insmod part_gpt\nsearch --no-floppy --fs-uuid --set=root {self.boot_uuid}\ninsmod blscfg\nblscfg\n"


class Fedora(Rhel9):
    """The same, with boots that are counted."""

    kernels = (("6.11.4-301.fc41.aarch64+16k", "16k"), ("6.11.4-301.fc41.aarch64", "4k"), ("6.10.9-200.fc40.aarch64", "4k"))
    os_release = "ID=fedora\n"
    title, distributor, stub_folder = "Fedora Linux", "Fedora Linux", "fedora"
    options = "root=UUID=" + ROOT_UUID + " ro rootflags=subvol=root rhgb quiet"

    def header(self):
        return HEADER % self.default + COUNTING


ALL = {"debian12": Debian12, "debian13": Debian13, "ubuntu": Ubuntu, "sles15": Sles15, "openeuler": OpenEuler,
       "rhel9": Rhel9, "fedora": Fedora}


def make(system, name, **keywords):
    return ALL[name](system, **keywords)
