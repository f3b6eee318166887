# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree that stands for a Debian machine that GRUB boots, with the lines of 09_granule in its grub.cfg; and what GRUB does
with them, written down from granule-grub(7)."""

import images
from boots import Boots
from system import System

SIGNATURE = b"# GRUB Environment Block\n"
BITS = {"4k": 1, "16k": 2, "64k": 3}
SIZES = tuple(BITS)
ESP_UUID = "ABCD-1234"


def entry_id(size, release="6.1"):
    return f"granule-{release}-{size}-{size}"


def read_block(path):
    """Variables of an environment block, or None if there is none that GRUB would read."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) != 1024 or not data.startswith(SIGNATURE):
        return None
    lines = [line for line in data[len(SIGNATURE):].decode().split("\n") if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def write_block(path, variables):
    text = SIGNATURE + "".join(f"{k}={v}\n" for k, v in variables.items()).encode()
    assert len(text) <= 1024
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.ljust(1024, b"#"))


class GrubSystem(System):
    """Kernels of fixed page sizes in /boot, each with an entry of 09_granule's and one of 10_linux's; 4K boots."""

    block_name = "EFI/granule/grubenv"

    def __init__(self, root, lines=True, default="0"):
        super().__init__(root)
        self.with_variables()
        self.lines, self.default = lines, default
        self.releases = []
        (self.boot / "grub").mkdir()
        (self.efi / "EFI/granule").mkdir()
        (self.root / "etc/default").mkdir()
        (self.root / "usr/sbin").mkdir(parents=True)
        (self.root / "usr/sbin/update-grub").write_text("#!/bin/sh\n")
        (self.root / "usr/sbin/update-grub").chmod(0o755)
        (self.root / "etc/default/grub").write_text(f"GRUB_DEFAULT={default}\nGRUB_TIMEOUT=5\n")
        write_block(self.grubenv, {})
        for size in SIZES:
            self.add_kernel(f"6.1-{size}", size)
        self.update_grub()
        watchdog = self.root / "sys/class/watchdog/watchdog0"
        watchdog.mkdir(parents=True)
        (watchdog / "state").write_text("active\n")
        (watchdog / "identity").write_text("test\n")
        (self.root / "run").mkdir()
        self.running("4k")

    @property
    def grubenv(self):
        return self.boot / "grub/grubenv"

    @property
    def block(self):
        return self.efi / self.block_name

    def running(self, size, release="6.1-4k"):
        """Some boot before granule was asked for anything, of the first entry of 10_linux."""
        Boots(self).running(size, release=release)
        (self.root / "proc/cmdline").write_text(f"BOOT_IMAGE=/boot/vmlinuz-{release} root=UUID=1 ro quiet\n")

    def add_kernel(self, release, size, **keywords):
        self.kernel(release, images.arm64(BITS[size], release=release, **keywords))
        self.releases.insert(0, (release, size))

    def remove_kernel(self, release):
        for file in self.boot.glob(f"*-{release}"):
            file.unlink()
        self.releases = [r for r in self.releases if r[0] != release]

    # ---- grub.cfg ----

    def own_entry(self, release, size, name=None):
        plain = f"granule-{release}-{size}"
        return (f"menuentry 'Debian GNU/Linux, {size} pages, Linux {release}' --class gnu-linux $menuentry_id_option "
                f"'{name or plain}' {{\n"
                f"\tsearch --no-floppy --fs-uuid --set=root 1\n"
                f"\tlinux /boot/vmlinuz-{release} root=UUID=1 ro quiet granule.entry={plain},{size} $granule_options\n"
                f"\tinitrd /boot/initrd.img-{release}\n}}\n")

    def other_entry(self, release, title, name):
        return (f"menuentry '{title}' --class debian $menuentry_id_option '{name}' {{\n"
                f"\tlinux /boot/vmlinuz-{release} root=UUID=1 ro quiet\n\tinitrd /boot/initrd.img-{release}\n}}\n")

    def newest(self, size):
        return next((r for r, s in self.releases if s == size), None)

    def own_lines(self):
        newest = {size: self.newest(size) for size in SIZES if self.newest(size)}
        text = f"set granule_version=1\nset granule_env_uuid={ESP_UUID}\nset granule_env_path=/{self.block_name}\n"
        text += "".join(f"set granule_{size}={f'granule-{r}-{size}'}\n" for size, r in newest.items())
        text += "set fallback=granule-again\n"
        text += "".join(self.own_entry(r, size, f"granule-{size}") for size, r in newest.items())
        text += "submenu 'Page sizes' --id granule {\n"
        text += "".join(self.own_entry(r, size) for r, size in self.releases)
        return text + "}\n"

    def update_grub(self):
        first = self.newest("4k")
        default = "${saved_entry}" if self.default == "saved" else self.default
        text = ("if [ -s $prefix/grubenv ]; then\n  load_env\nfi\n"
                "if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n"
                "   save_env next_entry\n   set boot_once=true\nelse\n"
                f"   set default=\"{default}\"\nfi\n")
        if self.lines:
            text += "### BEGIN /etc/grub.d/09_granule ###\n" + self.own_lines() + "### END /etc/grub.d/09_granule ###\n"
        text += self.other_entry(first, "Debian GNU/Linux", "gnulinux-simple-1")
        text += "submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-1' {\n"
        text += "".join(self.other_entry(r, f"Debian, with Linux {r}", f"gnulinux-{r}-advanced-1")
                        for r, _ in self.releases)
        text += "}\n"
        if self.lines:
            text += "menuentry 'again' --id granule-again {\n\tconfigfile $prefix/grub.cfg\n}\n"
        (self.boot / "grub/grub.cfg").write_text(text)

    # ---- for tests ----

    def files(self):
        kept = [self.boot / "grub", self.boot / "loader", self.efi]
        return {str(p.relative_to(self.root)): p.read_bytes() for folder in kept if folder.exists()
                for p in folder.rglob("*") if p.is_file()}

    def wishes(self):
        return read_block(self.block) or {}


class GrubBoots(Boots):
    """`system` as a machine that GRUB boots."""

    def save(self, variables, broken):
        """save_env; False if GRUB could not write."""
        if broken:
            return False
        write_block(self.system.block, variables)
        return True

    def stages(self, broken):
        """(rule, id, words of the command line) for each stage of 09_granule's choice, in turn."""
        system, block = self.system, read_block(self.system.block)
        if block is None:
            return
        oneshot = block.get("next_entry")
        if oneshot:
            left = {k: v for k, v in block.items() if k not in ("next_entry", "granule_options")}
            if self.save(left, broken):
                words = [w for w in (block.get("granule_options"), f"granule.chosen=oneshot:{oneshot}") if w]
                block = left
                yield "oneshot", oneshot, words
        size = block.get("granule_page_size")
        wanted = block.get("saved_entry") or (size and f"granule-{system.newest(size)}-{size}")
        rule = "default" if block.get("saved_entry") else "policy"
        tries = block.get("granule_tries")
        if wanted and tries != "0":
            counted = {**block, "granule_tries": str(int(tries) - 1)} if tries else block
            if not tries or self.save(counted, broken):
                yield rule, wanted, [f"granule.chosen={rule}:{wanted}"]
        if wanted and block.get("granule_good"):
            yield "good", block["granule_good"], [f"granule.chosen=good:{block['granule_good']}"]

    def boot(self, size=None, unloadable=(), broken=False, pick=None, **keywords):
        """Boots what GRUB would. `unloadable`: ids that GRUB cannot load; `broken`: it cannot write; `pick`: what somebody
        picks in the menu."""
        system = self.system
        own = {f"granule-{r}-{s}": (r, s) for r, s in system.releases}
        chosen, words, failed = None, [], None
        for _, name, line in self.stages(broken):
            words = line
            if name in own and name not in unloadable:
                chosen = name
                break
            failed, words = name, []
        if pick:
            chosen = pick
        if failed:
            words = words + [f"granule.failed={failed}"]
        release, bits = own.get(chosen, (system.newest("4k"), "4k"))
        line = f"BOOT_IMAGE=/boot/vmlinuz-{release} root=UUID=1 ro quiet"
        if chosen in own:
            line = " ".join([line, f"granule.entry={chosen},{bits}", *words])
        self.running(size or bits, release=release, **keywords)
        (self.root / "proc/cmdline").write_text(line + "\n")
        return chosen or "gnulinux-simple-1"


GRUB_OLD, GRUB_NEW = entry_id("4k"), entry_id("64k")


def grub_verified(root, **keywords):
    """A machine whose default, an entry of granule's, has been verified."""
    system = GrubSystem(root, **keywords)
    boots = GrubBoots(system)
    system.ok("set", entry_id("4k"))
    boots.boot()
    done = boots.verify()
    assert done.returncode == 0, done
    return system


# ---- machines whose menu is made of files ----


class BlsSystem(GrubSystem):
    """RHEL 9: entries in /boot/loader/entries, the default in grubenv. With `lines` granule's block holds wishes, and
    what 09_granule adds is the choice alone."""

    machine_id = "4" * 32

    def __init__(self, root, lines=False):
        super().__init__(root, lines, "saved")
        (self.root / "etc/machine-id").write_text(self.machine_id + "\n")
        (self.root / "etc/kernel/entry-token").unlink()
        (self.root / "usr/sbin/update-grub").unlink()

    def name(self, release):
        return f"{self.machine_id}-{release}"

    def write_entry(self, release):
        folder = self.boot / "loader/entries"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name(release)}.conf").write_text(
            f"title Red Hat Enterprise Linux ({release})\nversion {release}\nlinux /boot/vmlinuz-{release}\n"
            f"initrd /boot/initrd.img-{release} $tuned_initrd\noptions root=UUID=1 ro quiet $tuned_params\n"
            "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class rhel\n")

    def update_grub(self):
        for release, _ in self.releases:
            self.write_entry(release)
        text = ("set pager=1\nif [ -f ${config_directory}/grubenv ]; then\n  load_env -f ${config_directory}/grubenv\n"
                "elif [ -s $prefix/grubenv ]; then\n  load_env\nfi\n"
                "if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n"
                "   save_env next_entry\n   set boot_once=true\nelse\n   set default=\"${saved_entry}\"\nfi\n")
        if self.lines:
            text += (f"set granule_version=1\nset granule_env_uuid={ESP_UUID}\n"
                     f"set granule_env_path=/{self.block_name}\nset fallback=\"0 1\"\n")
        text += "set tuned_params=\"\"\nset tuned_initrd=\"\"\ninsmod blscfg\nblscfg\n"
        (self.boot / "grub/grub.cfg").write_text(text)

    @property
    def wish_block(self):
        return self.block if self.lines else self.grubenv

    def wishes(self):
        return read_block(self.wish_block) or {}

    def options_of(self, entry):
        lines = (self.boot / f"loader/entries/{entry}.conf").read_text().splitlines()
        kernel = next(li.split()[1] for li in lines if li.startswith("linux "))
        options = next(li.split(None, 1)[1] for li in lines if li.startswith("options "))
        return kernel, " ".join(w for w in options.split() if not w.startswith("$"))


class BlsBoots(Boots):
    """GRUB of RHEL: next_entry is cleared and obeyed, else saved_entry, else what sorts first."""

    def boot(self, size=None, broken=False, pick=None, **keywords):
        system, block = self.system, self.system.wishes()
        first = next(iter(system.entries()))
        chosen = block.get("next_entry")
        if chosen and not broken:
            write_block(system.wish_block, {k: v for k, v in block.items() if k != "next_entry"})
        if not chosen or (broken and system.lines):
            chosen = block.get("saved_entry", first)
        chosen = pick or chosen
        if not (system.boot / f"loader/entries/{chosen}.conf").exists():
            chosen = first
        kernel, options = system.options_of(chosen)
        release = kernel.split("vmlinuz-")[1]
        bits = dict(system.releases)[release]
        self.running(size or bits, release=release, **keywords)
        (self.root / "proc/cmdline").write_text(f"BOOT_IMAGE=(hd0,gpt2){kernel} {options}\n")
        return chosen


BLS_OLD, BLS_NEW = f"{BlsSystem.machine_id}-6.1-4k", f"{BlsSystem.machine_id}-6.1-64k"
BLS_TRIAL = f"A-trial-{BLS_NEW}"
GrubSystem.boots, BlsSystem.boots = GrubBoots, BlsBoots


def bls_verified(root, **keywords):
    system = BlsSystem(root, **keywords)
    system.ok("set", system.name("6.1-4k"))
    boots = BlsBoots(system)
    boots.boot()
    done = boots.verify()
    assert done.returncode == 0, done
    return system
