# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's files as commands find them: grub.cfg, environment blocks, whether GRUB can write them, settings."""

import json
import os
import shutil
import struct
import subprocess

import pytest

from system import PLAIN, TOP

ASAN = TOP / "build/asan/grub-tool"
SHIPPED = PLAIN.parent / "grub-tool"
SIGNATURE = b"# GRUB Environment Block\n"
UUID = "0f3c1b5e-6f0b-4b8e-9a53-2d1d9c1f7a11"

MENU = """set default="${saved_entry}"
menuentry 'One' --id one {
	linux /vmlinuz-1 root=/dev/vda2 ro
}
"""
AREA = """if [ -f ${config_directory}/grubenv ]; then
  load_env -f ${config_directory}/grubenv
fi
if [ "${env_block}" ] ; then
  set env_block="(${root})${env_block}"
  export env_block
  load_env -f "${env_block}"
fi
""" + MENU
BLS = """insmod blscfg
blscfg
"""
STUB = f"""search.fs_uuid {UUID} root hd0,gpt2
set prefix=($root)'/boot/%s'
configfile $prefix/grub.cfg
"""


def lines_of_granule(uuid="", path="/EFI/granule/grubenv"):
    return f"set granule_version=1\nset granule_env_uuid={uuid}\nset granule_env_path={path}\n" + MENU


def block(*lines, size=1024):
    return (SIGNATURE + "".join(f"{line}\n" for line in lines).encode()).ljust(size, b"#")


class Tree:
    """A tree that stands for a machine with GRUB."""

    def __init__(self, root):
        self.root = root
        self.esp = root / "boot/efi"
        (self.esp / "EFI").mkdir(parents=True)
        (root / "etc/default").mkdir(parents=True)

    def write(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content)
        return file

    def link(self, path, target):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)
        return file

    def run(self, *calls, program=ASAN, **environment):
        done = subprocess.run([str(program), str(self.root), *calls], env={**os.environ, **environment},
                              capture_output=True, text=True)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode in (0, 1, 3, 77), done
        return done

    def ok(self, *calls, **keywords):
        done = self.run(*calls, **keywords)
        assert done.returncode == 0, done
        return done.stdout.strip()

    def show(self):
        return json.loads(self.ok("show"))

    def mounts(self, *mounts):
        """proc/self/mountinfo of (target, type, source, device numbers, options)."""
        lines = []
        for i, (target, fstype, source, device, *options) in enumerate(mounts):
            lines.append(f"{20 + i} 1 {device} / {target} rw,relatime shared:1 - {fstype} {source} "
                         f"{options[0] if options else 'rw'}")
        self.write("proc/self/mountinfo", "\n".join(lines) + "\n")

    def device(self, numbers, **files):
        """A device in sysfs; a name with "__" is a path."""
        folder = self.root / "sys/dev/block" / numbers
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            self.write(f"sys/dev/block/{numbers}/{name.replace('__', '/')}", content)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root")


@pytest.fixture
def debian(tree):
    tree.write("etc/os-release", "ID=debian\n")
    tree.write("boot/grub/grub.cfg", MENU)
    tree.write("boot/grub/grubenv", block())
    return tree


# ---- grub.cfg ----


def test_a_machine_without_grub_has_none_and_nothing_is_said(tree):
    done = tree.run("show")
    assert done.returncode == 3 and not done.stderr and not done.stdout
    tree.write("boot/grub/grubenv", block())
    assert tree.run("show").returncode == 3


@pytest.mark.parametrize("files, os_id, cfg, tools, mkconfig", [
    # Debian, Ubuntu: a small file on the ESP leads to /boot/grub.
    ({"boot/efi/EFI/debian/grub.cfg": STUB % "grub", "boot/grub/grub.cfg": MENU}, "debian", "boot/grub/grub.cfg",
     "grub", "update-grub"),
    # RHEL 9 and later, Fedora: the same with /boot/grub2.
    ({"boot/efi/EFI/redhat/grub.cfg": STUB % "grub2", "boot/grub2/grub.cfg": BLS}, "rhel", "boot/grub2/grub.cfg",
     "grub2", "grub2-mkconfig -o /boot/grub2/grub.cfg"),
    # RHEL 8, openEuler: the file on the ESP is the menu.
    ({"boot/efi/EFI/redhat/grub.cfg": BLS}, "rhel", "boot/efi/EFI/redhat/grub.cfg", "grub2",
     "grub2-mkconfig -o /boot/efi/EFI/redhat/grub.cfg"),
    ({"boot/efi/EFI/openEuler/grub.cfg": MENU}, "openEuler", "boot/efi/EFI/openEuler/grub.cfg", "grub2",
     "grub2-mkconfig -o /boot/efi/EFI/openEuler/grub.cfg"),
    # SUSE.
    ({"boot/efi/EFI/opensuse/grub.cfg": (STUB % "grub2").replace("configfile $prefix", 'source "${prefix}"'), "boot/grub2/grub.cfg": MENU}, "opensuse-leap",
     "boot/grub2/grub.cfg", "grub2", "grub2-mkconfig -o /boot/grub2/grub.cfg"),
    # Arch.
    ({"boot/grub/grub.cfg": MENU}, "arch", "boot/grub/grub.cfg", "grub", "grub-mkconfig -o /boot/grub/grub.cfg"),
    # Remains of another system on the same ESP do not count.
    ({"boot/efi/EFI/centos/grub.cfg": MENU, "boot/efi/EFI/debian/grub.cfg": STUB % "grub",
      "boot/grub/grub.cfg": MENU}, "debian", "boot/grub/grub.cfg", "grub", "update-grub"),
    ({"boot/efi/EFI/debian/grub.cfg": STUB % "grub", "boot/efi/EFI/redhat/grub.cfg": MENU,
      "boot/grub2/grub.cfg": MENU}, "rhel", "boot/efi/EFI/redhat/grub.cfg", "grub2",
     "grub2-mkconfig -o /boot/efi/EFI/redhat/grub.cfg"),
    ({"boot/efi/EFI/centos/grub.cfg": MENU, "boot/grub/grub.cfg": MENU}, "debian", "boot/grub/grub.cfg", "grub",
     "update-grub"),
    # The own file is the menu, and what other systems left leads elsewhere.
    ({"boot/efi/EFI/centos/grub.cfg": MENU, "boot/efi/EFI/debian/grub.cfg": STUB % "grub",
      "boot/grub/grub.cfg": MENU}, "centos", "boot/efi/EFI/centos/grub.cfg", "grub2",
     "grub2-mkconfig -o /boot/efi/EFI/centos/grub.cfg"),
    # A system whose folder is named otherwise.
    ({"boot/efi/EFI/vendor/grub.cfg": BLS}, "mine", "boot/efi/EFI/vendor/grub.cfg", "grub2",
     "grub2-mkconfig -o /boot/efi/EFI/vendor/grub.cfg"),
    # Two folders in /boot: the file on the ESP says which.
    ({"boot/efi/EFI/debian/grub.cfg": STUB % "grub", "boot/grub/grub.cfg": MENU, "boot/grub2/grub.cfg": MENU},
     "debian", "boot/grub/grub.cfg", "grub", "update-grub"),
    ({"boot/efi/EFI/fedora/grub.cfg": STUB % "grub2", "boot/grub/grub.cfg": MENU, "boot/grub2/grub.cfg": BLS},
     "fedora", "boot/grub2/grub.cfg", "grub2", "grub2-mkconfig -o /boot/grub2/grub.cfg"),
], ids=["debian", "rhel9", "rhel8", "openeuler", "suse", "arch", "remains", "stranger", "remains-alone", "own-first", "vendor", "two-grub", "two-grub2"])
def test_the_grub_cfg_that_makes_the_menu_is_found_with_its_tools(tree, files, os_id, cfg, tools, mkconfig):
    tree.write("etc/os-release", f"ID={os_id}\n")
    for path, text in files.items():
        tree.write(path, text)
    found = tree.show()
    assert found["cfg"] == str(tree.root / cfg) and found["folder"] == str((tree.root / cfg).parent)
    assert (found["tools"], found["mkconfig"]) == (tools, mkconfig)


def test_installed_programs_say_how_its_tools_are_called(debian):
    debian.write("etc/os-release", "ID=mine\n")
    debian.write("usr/sbin/grub2-mkconfig", "")
    found = debian.show()
    assert found["tools"] == "grub2" and found["mkconfig"] == "grub2-mkconfig -o /boot/grub/grub.cfg"
    debian.write("usr/sbin/update-grub", "")
    assert debian.show()["mkconfig"] == "update-grub"


def test_links_are_followed_inside_of_the_tree_and_never_outside(tree, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "grub.cfg").write_text(MENU)
    tree.link("boot/grub", str(outside))
    assert tree.run("show").returncode == 3
    tree.write(f"{outside}/grub.cfg".lstrip("/"), MENU)
    assert tree.show()["cfg"] == f"{tree.root}{outside}/grub.cfg"
    tree.link("boot/grub2", "../../../../../../../../../srv/grub")
    tree.write("srv/grub/grub.cfg", MENU)
    assert tree.show()["cfg"] == str(tree.root / "srv/grub/grub.cfg")


@pytest.mark.parametrize("path, real", [
    ("/a/b", "a/b"), ("//a/./b/", "a/b"), ("/a/../../x", "x"), ("/abs/f", "a/f"), ("/rel/f", "a/f"), ("/up/f", "a/f"),
    ("/a/new", "a/new"), ("/a/dangling", "a/nothing"), ("/two/f", "a/f"), ("/", ""), ("/a/file", "a/file"),
])
def test_a_path_is_resolved_as_the_other_system_would(tree, path, real):
    tree.write("a/file", "")
    for name, target in {"abs": "/a", "rel": "./a", "up": "../../../a", "two": "rel", "a/dangling": "nothing"}.items():
        tree.link(name, target)
    assert tree.ok(f"resolve:{path}", "resolve:/x").splitlines()[0] == (f"{tree.root}/{real}" if real
                                                                       else str(tree.root))


@pytest.mark.parametrize("path, why", [("/round/x", "symbolic links"), ("/round", "symbolic links"),
                                       ("/gone/x", "No such file"), ("/file/x", "Not a directory")])
def test_a_path_that_leads_nowhere_is_an_error(tree, path, why):
    tree.link("round", "round")
    tree.write("file", "")
    assert why in tree.ok(f"resolve:{path}")


def refused(tree, *words):
    done = tree.run("show")
    assert done.returncode == 1 and not done.stdout and done.stderr.count("granule:") == 1, done
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_grub_cfg_that_cannot_be_read_is_one_clear_line(tree):
    path = tree.root / "boot/grub/grub.cfg"
    path.mkdir(parents=True)
    refused(tree, str(path), "no plain file")
    path.rmdir()
    os.mkfifo(path)
    refused(tree, str(path), "no plain file")
    path.unlink()
    with open(path, "wb") as file:
        file.truncate((64 << 20) + 1)
    refused(tree, str(path), "larger than 64 MiB")


def test_a_grub_cfg_that_only_root_may_read_is_not_taken_for_none(debian):
    if not shutil.which("setpriv"):
        pytest.skip("missing: setpriv")
    (debian.root / "boot/grub").chmod(0)
    done = subprocess.run(["setpriv", "--bounding-set=-dac_override,-dac_read_search", ASAN, debian.root, "show"],
                          capture_output=True, text=True)
    if "setpriv:" in done.stderr:
        pytest.skip("no right to drop rights here")
    (debian.root / "boot/grub").chmod(0o700)
    assert done.returncode == 1 and done.stderr == f"granule: {debian.root}/boot/grub/grub.cfg: Permission denied\n"


def test_an_empty_or_binary_grub_cfg_is_found_all_the_same(debian):
    for content in (b"", b"\0" * 5000, bytes(range(256)) * 50, b"menuentry 'x", b"blscfg granule_env_path=" + b"{" * 999):
        debian.write("boot/grub/grub.cfg", content)
        found = debian.show()
        assert found["size"] == len(content) and found["own"]["kind"] == "none"


# ---- entries of the Boot Loader Specification ----


@pytest.fixture
def fedora(tree):
    tree.write("etc/os-release", "ID=fedora\n")
    tree.write("boot/grub2/grub.cfg", BLS)
    tree.write("boot/grub2/grubenv", block())
    tree.write("boot/loader/entries/a-1.conf", "title x\nversion 1\nlinux /vmlinuz-1\n")
    return tree


def test_grub_cfg_decides_whether_entries_come_from_loader_entries(fedora):
    assert fedora.show()["bls"]
    fedora.write("etc/default/grub", "GRUB_ENABLE_BLSCFG=false\n")
    found = fedora.show()
    assert found["bls"] and found["default"]["bls_disabled"]
    fedora.write("boot/grub2/grub.cfg", MENU)
    assert not fedora.show()["bls"]


def test_what_entries_name_tells_where_their_paths_begin(fedora):
    assert fedora.show()["bls_entries"] == str(fedora.root / "boot/loader/entries")
    assert fedora.show()["bls_files"] == str(fedora.root), "nothing is there, and /boot is no mount point"
    fedora.write("boot/vmlinuz-1", "x")
    assert fedora.show()["bls_files"] == str(fedora.root / "boot")
    (fedora.root / "boot/vmlinuz-1").unlink()
    fedora.write("boot/loader/entries/a-1.conf", "title x\nversion 1\nlinux /boot/vmlinuz-1\n")
    fedora.write("boot/vmlinuz-1", "x")
    assert fedora.show()["bls_files"] == str(fedora.root)


# ---- environment blocks ----


def test_grubenv_is_the_block_where_grub_cfg_has_no_lines_of_granule(debian):
    debian.write("boot/grub/grubenv", block("saved_entry=a>b", "next_entry=with\\\\backslash"))
    found = debian.show()
    assert found["wishes"] == "env" and found["own"]["kind"] == "none"
    assert found["env"]["values"] == {"saved_entry": "a>b", "next_entry": "with\\backslash"}
    assert found["env"]["problem"] is None and found["env"]["obstacle"] is None


def test_the_block_that_granules_lines_name_is_the_block(debian):
    debian.write("boot/grub/grub.cfg", lines_of_granule())
    found = debian.show()
    assert found["wishes"] == "own" and found["own"]["path"] == str(debian.esp / "EFI/granule/grubenv")
    assert not found["own"]["exists"] and found["own"]["problem"] is None
    assert debian.ok("own:granule_page_size=64k,saved_entry=x") == "changed"
    assert (debian.esp / "EFI/granule/grubenv").read_bytes() == block("granule_page_size=64k", "saved_entry=x")
    assert (debian.root / "boot/grub/grubenv").read_bytes() == block()


@pytest.mark.parametrize("path", ["/boot/grub/granule.env", "/grub/granule.env", "/@/boot/grub/granule.env"])
def test_granules_block_may_be_beside_grub_cfg(debian, path):
    debian.write("boot/grub/grub.cfg", lines_of_granule(path=path))
    assert debian.show()["own"]["path"] == str(debian.root / "boot/grub/granule.env")


def fat(path, serial):
    """A file that libblkid takes for a FAT with this UUID."""
    if not shutil.which("mkfs.vfat"):
        pytest.skip("missing: mkfs.vfat")
    subprocess.run(["truncate", "-s", "4M", path], check=True)
    subprocess.run(["mkfs.vfat", "-i", serial, path], check=True, stdout=subprocess.DEVNULL)


def test_a_block_of_another_file_system_is_not_taken_for_granules(debian):
    disk = debian.root / "esp.img"
    fat(disk, "AB12CD34")
    debian.mounts(("/", "ext4", "/dev/none", "8:2"), ("/boot/efi", "vfat", disk, "8:1"))
    debian.write("boot/grub/grub.cfg", lines_of_granule("ab12-cd34"))
    assert debian.show()["own"]["problem"] is None
    debian.write("boot/grub/grub.cfg", lines_of_granule("1111-2222"))
    found = debian.show()["own"]
    assert "another file system" in found["problem"] and "update-grub" in found["problem"]
    assert "AB12-CD34" in found["problem"]
    done = debian.run("own:saved_entry=x")
    assert done.returncode == 1 and "update-grub" in done.stderr and not (debian.esp / "EFI/granule").exists()


@pytest.mark.parametrize("path", ["/../../etc/new", "/../../../../../outside", "/etc/shadow", "EFI/granule/grubenv", "/",
                                  "/EFI/granule", "/EFI/granule/grubenv/x"])
def test_no_other_file_than_granules_block_is_written_whatever_grub_cfg_names(debian, path):
    debian.write("boot/grub/grub.cfg", lines_of_granule(path=path))
    before = sorted(debian.root.parent.rglob("*"))
    found = debian.show()["own"]
    assert "no place for granule's block" in found["problem"] and "update-grub" in found["problem"]
    assert debian.run("own:saved_entry=x").returncode == 1
    assert sorted(debian.root.parent.rglob("*")) == before


@pytest.mark.parametrize("content, why", [
    (block()[:-1], "1023 bytes instead of 1024"), (block() + b"#", "1025 bytes instead of 1024"),
    (b"", "0 bytes instead of 1024"), (b"x" * 1024, "no signature"), (block("no equal sign"), "damaged at byte 25"),
    (block(size=4096), "4096 bytes"),
], ids=["short", "long", "empty", "other", "syntax", "huge"])
def test_a_damaged_block_is_named_with_what_makes_it_anew_and_is_not_written(debian, content, why):
    file = debian.write("boot/grub/grubenv", content)
    found = debian.show()["env"]
    assert why in found["problem"] and "'grub-editenv /boot/grub/grubenv create'" in found["problem"]
    assert found["values"] == {}
    done = debian.run("env:saved_entry=x")
    assert done.returncode == 1 and str(file) in done.stderr and file.read_bytes() == content


def test_what_is_no_file_is_no_block(debian):
    file = debian.root / "boot/grub/grubenv"
    file.unlink()
    file.mkdir()
    assert debian.show()["env"]["problem"] == "is no plain file", "a new block cannot be made there"
    file.rmdir()
    os.mkfifo(file)
    assert "no plain file" in debian.show()["env"]["problem"]
    assert debian.run("env:saved_entry=x").returncode == 1


def test_a_missing_grubenv_is_said_and_made_by_the_first_change(debian):
    file = debian.root / "boot/grub/grubenv"
    file.unlink()
    found = debian.show()["env"]
    assert not found["exists"] and "is missing" in found["problem"] and "create" in found["problem"]
    assert debian.ok("env:saved_entry") == "same" and not file.exists()
    assert debian.ok("env:saved_entry=x", "show").startswith("changed")
    assert file.read_bytes() == block("saved_entry=x")


def test_a_linked_grubenv_is_written_where_it_lies(tree):
    tree.write("etc/os-release", "ID=rhel\n")
    tree.write("boot/grub2/grub.cfg", MENU)
    tree.link("boot/grub2/grubenv", "../efi/EFI/redhat/grubenv")
    file = tree.write("boot/efi/EFI/redhat/grubenv", block("kernelopts=root=/dev/vda2 ro", "boot_success=0"))
    before = file.stat().st_ino
    assert tree.show()["env"]["path"] == str(file)
    tree.ok("env:saved_entry=abc-1")
    assert file.read_bytes() == block("kernelopts=root=/dev/vda2 ro", "boot_success=0", "saved_entry=abc-1")
    assert file.stat().st_ino == before and (tree.root / "boot/grub2/grubenv").is_symlink()
    # Also when it has to be written anew.
    tree.ok("env:saved_entry=" + "y" * 700)
    assert file.stat().st_ino != before and (tree.root / "boot/grub2/grubenv").is_symlink()


def test_a_link_that_leads_nowhere_in_the_tree_leads_to_no_file_outside(debian, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "grubenv").write_bytes(block("saved_entry=host"))
    file = debian.root / "boot/grub/grubenv"
    for target in (f"{outside}/grubenv", "../../../outside/grubenv", "grubenv"):
        file.unlink()
        file.symlink_to(target)
        found = debian.show()["env"]
        assert found["values"] == {} and "leads nowhere" in found["problem"]
        assert debian.run("env:saved_entry=x").returncode == 1
        assert (outside / "grubenv").read_bytes() == block("saved_entry=host")
    (outside / "x.cfg").write_text("GRUB_DEFAULT=9\n")
    debian.link("etc/default/grub", outside / "x.cfg")
    assert default(debian)["value"] in ("0", None)


def test_a_change_is_one_write_that_keeps_what_others_store(debian):
    file = debian.write("boot/grub/grubenv", block("# note", "saved_entry=a", "other=1", "next_entry=b"))
    assert debian.ok("env:next_entry,saved_entry=c,granule_tries=3") == "changed"
    assert file.read_bytes() == block("# note", "other=1", "saved_entry=c", "granule_tries=3")
    before = file.stat().st_mtime_ns
    assert debian.ok("env:next_entry,saved_entry=c") == "same" and file.stat().st_mtime_ns == before


def test_a_dry_run_changes_the_block_in_memory_alone(debian):
    file = debian.root / "boot/grub/grubenv"
    out = debian.ok("env:saved_entry=x", "show", DRY_RUN="1")
    assert out.startswith("changed") and json.loads(out[len("changed"):])["env"]["values"] == {"saved_entry": "x"}
    assert file.read_bytes() == block()


def test_a_full_block_is_refused_whole(debian):
    file = debian.write("boot/grub/grubenv", block("a=1", "x=" + "y" * 980))
    content = file.read_bytes()
    done = debian.run("env:a,saved_entry=0123456789")
    assert done.returncode == 1 and "is full" in done.stderr and file.read_bytes() == content


def test_a_block_keeps_its_mode_when_it_is_written_anew(debian):
    file = debian.write("boot/grub/grubenv", block())
    file.chmod(0o600)
    debian.ok("env:saved_entry=" + "y" * 700)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("old, change", [
    (None, "own:next_entry=b"), (block("a=1"), "own:next_entry=b"), (block("a=1", "next_entry=b"), "own:next_entry"),
    (block("x=" + "y" * 470, "saved_entry=a"), "own:saved_entry=b,next_entry=c"),
], ids=["new", "arm", "disarm", "across"])
def test_a_power_cut_at_any_call_leaves_the_old_or_the_new_block(tmp_path, fault_library, old, change):
    for at in range(1, 60):
        tree = Tree(tmp_path / str(at))
        tree.write("boot/grub/grub.cfg", lines_of_granule())
        file = tree.esp / "EFI/granule/grubenv"
        if old:
            tree.write("boot/efi/EFI/granule/grubenv", old)
        done = tree.run(change, program=SHIPPED, LD_PRELOAD=str(fault_library), FAULT_KIND="cut", FAULT_AT=str(at),
                        FAULT_MARK=str(tmp_path / "mark"))
        now = file.read_bytes() if file.exists() else None
        if done.returncode == 0:
            break
        assert done.returncode == 77
        if now != old:
            new = now
            tree.ok(change)
            assert file.read_bytes() == new, "what stands after the cut is the whole change"
    assert at > 1 and now != old


# ---- whether GRUB can write ----


def obstacle(tree, path="boot/grub/grubenv"):
    text = tree.ok(f"obstacle:{tree.root / path}")
    return None if text == "none" else text


@pytest.mark.parametrize("fstype", ["ext2", "ext3", "ext4", "xfs", "vfat"])
def test_a_plain_file_system_on_a_partition_is_written(debian, fstype):
    debian.mounts(("/", fstype, "/dev/nvme0n1p2", "259:2"))
    debian.device("259:2", partition="2\n")
    assert obstacle(debian) is None


@pytest.mark.parametrize("fstype, words", [
    ("btrfs", "lies on btrfs, which GRUB cannot write"), ("zfs", "lies on zfs"), ("f2fs", "lies on f2fs"),
    ("overlay", "lies on overlay"), ("nfs4", "lies on nfs4"), ("tmpfs", "lies on tmpfs"), ("9p", "lies on 9p"),
    ("squashfs", "lies on squashfs"), ("newfs", "lies on newfs, and whether GRUB can write that is not known"),
])
def test_other_file_systems_are_not_and_unknown_ones_are_no_yes(debian, fstype, words):
    debian.mounts(("/", fstype, "/dev/vda2", "254:2"))
    assert str(debian.root / "boot/grub/grubenv") in obstacle(debian) and words in obstacle(debian)


def test_the_file_system_of_the_file_counts_not_that_of_its_root(debian):
    debian.mounts(("/", "btrfs", "/dev/vda3", "0:30"), ("/boot", "ext4", "/dev/vda2", "254:2"),
                  ("/boot/efi", "autofs", "systemd-1", "0:40"), ("/boot/efi", "vfat", "/dev/vda1", "254:1"))
    assert obstacle(debian) is None and obstacle(debian, "boot/efi/EFI/granule/grubenv") is None
    assert "btrfs" in obstacle(debian, "var/x")


@pytest.mark.parametrize("files, words", [
    ({"dm__uuid": "LVM-abc\n"}, "a logical volume (LVM)"), ({"dm__uuid": "CRYPT-LUKS2-abc\n"}, "an encrypted volume"),
    ({"dm__uuid": "mpath-3600\n"}, None), ({"dm__uuid": "part2-mpath-3600\n"}, None),
    ({"dm__uuid": "DMRAID-x\n"}, "RAID"), ({"dm__uuid": "what\n"}, "not known"), ({"dm__name": "linear\n"}, "not known"),
    ({"md__level": "raid1\n"}, "a software RAID (md)"), ({"bcache__x": ""}, "bcache"),
    ({"loop__backing_file": "/x"}, "a file (loop device)"), ({"slaves__sda": ""}, "a device made of others"),
    ({"queue__rotational": "0\n"}, None), ({"partition": "1\n"}, None),
], ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
def test_what_lies_below_the_file_system_is_looked_through(debian, files, words):
    debian.mounts(("/", "ext4", "/dev/mapper/x", "253:1"))
    debian.device("253:1", **files)
    text = obstacle(debian)
    assert (words is None and text is None) or words in text


def test_a_partition_of_a_raid_is_on_the_raid(debian):
    debian.mounts(("/", "ext4", "/dev/md0p1", "259:7"))
    debian.write("sys/devices/virtual/block/md0/md/level", "raid1\n")
    debian.write("sys/devices/virtual/block/md0/md0p1/partition", "1\n")
    debian.link("sys/dev/block/259:7", "../../devices/virtual/block/md0/md0p1")
    assert "a software RAID (md)" in obstacle(debian)


def test_a_journal_that_holds_file_contents_is_in_the_way(debian):
    debian.mounts(("/", "ext4", "/dev/vda2", "254:2", "rw,data=ordered"))
    assert obstacle(debian) is None
    debian.mounts(("/", "ext4", "/dev/vda2", "254:2", "rw,errors=remount-ro,data=journal"))
    assert "data=journal" in obstacle(debian)


def test_nothing_is_known_of_a_tree_without_proc(debian):
    assert obstacle(debian) is None and obstacle(debian, "gone/x") is None


def test_a_missing_file_is_judged_by_its_folder(debian):
    debian.mounts(("/", "ext4", "/dev/vda2", "254:2"), ("/boot/grub", "btrfs", "/dev/vda3", "0:31"))
    assert "btrfs" in obstacle(debian, "boot/grub/granule.env")
    assert obstacle(debian, "boot/other") is None


def mounted(tree, features, script):
    """Runs a script while the tree's /boot is an ext4 of its own, as the tree's own /proc tells; then asks for what is
    in the way of each file in it."""
    if not shutil.which("mkfs.ext4") or not shutil.which("unshare"):
        pytest.skip("missing: mkfs.ext4 or unshare")
    image = tree.root.parent / "boot.img"
    subprocess.run(["truncate", "-s", "16M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", *features, image], check=True)
    (tree.root / "proc").mkdir()
    setup = f"""mount -o loop {image} {tree.root}/boot && mount --bind /proc {tree.root}/proc || exit 99
cd {tree.root}/boot && mkdir -p efi/EFI && {script} && sync
for f in *; do echo "$f $({ASAN} {tree.root} obstacle:{tree.root}/boot/$f)"; done"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", setup], capture_output=True, text=True)
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip("no right to mount here")
    assert done.returncode == 0, done
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_where_a_file_lies_on_the_disk_is_asked_of_the_file_system(tree):
    found = mounted(tree, ["-O", "inline_data"], "head -c 1024 /dev/urandom > plain && echo x > inline && "
                    "truncate -s 1M sparse && fallocate -l 4096 unwritten && mkfifo pipe && ln -s plain link")
    path = tree.root / "boot"
    assert found["plain"] == found["link"] == "none"
    assert found["inline"] == f"{path}/inline is stored inside of its inode, which GRUB cannot write"
    assert found["sparse"] == f"{path}/sparse has holes (is sparse), which GRUB cannot write"
    assert "without a place on the disk" in found["unwritten"] and found["pipe"] == f"{path}/pipe is no plain file"


# ---- the area of btrfs ----

PLACE = 512 * 512


def btrfs(path, *lines, place=PLACE, content=None):
    """What is looked at of a btrfs file system."""
    image = bytearray(1 << 20)
    image[0x10040:0x10048] = b"_BHRfS_M"
    image[0x10000:0x10020] = struct.pack("<32x")
    image[place:place + 512] = content or block(*lines, size=512)
    path.write_bytes(image)


@pytest.fixture
def suse(tree):
    tree.write("etc/os-release", "ID=sles\n")
    tree.write("boot/grub2/grub.cfg", AREA)
    tree.write("boot/grub2/grubenv", block("env_block=512+1", "saved_entry=a>b"))
    tree.disk = tree.root / "disk.img"
    btrfs(tree.disk)
    tree.mounts(("/", "btrfs", tree.disk, "0:30"))
    return tree


def test_a_one_shot_goes_to_the_area_that_grub_can_write_and_the_rest_to_the_file(suse):
    found = suse.show()["env"]
    assert found["kind"] == "btrfs" and found["obstacle"] is None and found["problem"] is None
    before = suse.disk.read_bytes()
    assert suse.ok("env:next_entry=one,saved_entry=c") == "changed"
    after = suse.disk.read_bytes()
    assert after[PLACE:PLACE + 512] == block("next_entry=one", size=512)
    assert after[:PLACE] == before[:PLACE] and after[PLACE + 512:] == before[PLACE + 512:]
    assert (suse.root / "boot/grub2/grubenv").read_bytes() == block("env_block=512+1", "saved_entry=c")
    assert suse.show()["env"]["values"]["next_entry"] == "one"
    suse.ok("env:next_entry")
    assert suse.disk.read_bytes() == before


def test_what_grub_saved_in_the_area_wins_over_the_file_until_it_is_changed(suse):
    btrfs(suse.disk, "saved_entry=z", "health_checker_flag=1")
    assert suse.show()["env"]["values"]["saved_entry"] == "z"
    suse.ok("env:saved_entry=c")
    assert suse.show()["env"]["values"]["saved_entry"] == "c"
    assert suse.disk.read_bytes()[PLACE:PLACE + 512] == block("health_checker_flag=1", size=512)


def test_the_area_is_small(suse):
    before = suse.disk.read_bytes()
    done = suse.run("env:next_entry=" + "y" * 480)
    assert done.returncode == 1 and "is full" in done.stderr and suse.disk.read_bytes() == before


def test_a_dry_run_leaves_the_area(suse):
    before = suse.disk.read_bytes()
    suse.ok("env:next_entry=one", DRY_RUN="1")
    assert suse.disk.read_bytes() == before


def not_used(tree, *words):
    before = tree.disk.read_bytes()
    found = tree.show()["env"]
    assert found["kind"] == "file" and all(word in found["obstacle"] for word in words), found
    assert tree.disk.read_bytes() == before


def test_an_area_that_is_not_there_is_not_made_and_what_makes_it_is_said(suse):
    suse.write("boot/grub2/grubenv", block("saved_entry=a"))
    not_used(suse, "lies on btrfs", "grub2-editenv - unset next_entry")


@pytest.mark.parametrize("place", ["512", "512+0", "512+2", "130+1", "4000+1", "x+1", "512+1+1", "-1+1", "(hd0)512+1"])
def test_an_area_in_a_place_that_is_not_certain_is_not_touched(suse, place):
    suse.write("boot/grub2/grubenv", block(f"env_block={place}"))
    not_used(suse, "not understood")


def test_only_what_holds_btrfs_and_a_block_is_written(suse):
    suse.disk.write_bytes(bytes(1 << 20))
    not_used(suse, "holds no btrfs")
    btrfs(suse.disk, content=bytes(512))
    not_used(suse, "holds no environment block at byte 262144")
    suse.mounts(("/", "btrfs", "/dev/null", "0:30"))
    not_used(suse, "device is not known")


def test_without_a_grub_that_reads_the_area_btrfs_is_an_obstacle(suse):
    suse.write("boot/grub2/grub.cfg", MENU)
    not_used(suse, "lies on btrfs, which GRUB cannot write")


def test_a_place_that_an_installer_left_on_another_file_system_is_an_obstacle(suse):
    """GRUB would clear the one-shot there, and find it again in the file at each boot."""
    suse.mounts(("/", "ext4", "/dev/vda2", "254:2"))
    not_used(suse, "grub2-editenv - unset env_block")
    suse.write("boot/grub2/grub.cfg", MENU)
    assert suse.show()["env"]["obstacle"] is None


def test_a_block_that_somebody_moved_is_not_taken_for_grubenv(suse):
    suse.write("boot/grub2/grub.cfg", 'set env_block="(${esp})/EFI/mine/grubenv"\n' + AREA)
    not_used(suse, "keep its variables elsewhere than in")
    suse.write("boot/grub2/grub.cfg", AREA + "set env_block=x")
    not_used(suse, "by env_block")


# ---- settings ----


def default(tree):
    return tree.show()["default"]


def test_grub_default_is_computed_and_the_file_that_decided_is_named(debian):
    assert default(debian) == {"value": "0", "file": None, "problem": None, "save_default": False,
                               "bls_disabled": False, "flavour_order": None}
    main = debian.write("etc/default/grub", "GRUB_DEFAULT=saved\nGRUB_SAVEDEFAULT=true\n")
    assert default(debian)["value"] == "saved" and default(debian)["file"] == str(main)
    assert default(debian)["save_default"]
    one = debian.write("etc/default/grub.d/50-a.cfg", "GRUB_DEFAULT='A>B c'\n")
    debian.write("etc/default/grub.d/60-b.cfg", "GRUB_TIMEOUT=1\n")
    debian.write("etc/default/grub.d/70-c.cfg.dpkg-old", "GRUB_DEFAULT=7\n")
    assert default(debian)["value"] == "A>B c" and default(debian)["file"] == str(one)
    two = debian.write("etc/default/grub.d/90-z.cfg", 'GRUB_DEFAULT="$GRUB_DEFAULT>2"\n')
    assert default(debian)["value"] == "A>B c>2" and default(debian)["file"] == str(two)
    empty = debian.write("etc/default/grub.d/95.cfg", "GRUB_DEFAULT=\nGRUB_FLAVOUR_ORDER='generic-64k generic'\n")
    assert default(debian)["value"] == "0" and default(debian)["file"] == str(empty)
    assert default(debian)["flavour_order"] == "generic-64k generic"


def test_what_takes_a_shell_is_no_value(debian):
    file = debian.write("etc/default/grub.d/x.cfg", "A=1\nGRUB_DEFAULT=$(cat /etc/which)\n")
    debian.write("etc/default/grub", "GRUB_DEFAULT=1\n")
    found = default(debian)
    assert found["value"] is None and found["file"] is None and found["problem"].startswith(f"{file}: line 2: ")


def test_drop_ins_count_where_grub_mkconfig_reads_them(debian):
    debian.write("etc/default/grub", "GRUB_DEFAULT=1\n")
    debian.write("etc/default/grub.d/x.cfg", "GRUB_DEFAULT=2\n")
    debian.write("usr/sbin/grub-mkconfig", "#!/bin/sh\n. /etc/default/grub\n")
    assert default(debian)["value"] == "1"
    debian.write("usr/sbin/grub-mkconfig", "#!/bin/sh\nfor x in ${sysconfdir}/default/grub.d/*.cfg ; do\n")
    assert default(debian)["value"] == "2"


# ---- updates of kernel packages ----

EL9 = "5.14.0-503.el9.aarch64"


@pytest.mark.parametrize("sysconfig, call, words", [
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-core\n", f"64k:{EL9}+64k",
     "UPDATEDEFAULT=yes and DEFAULTKERNEL=kernel-core: the next kernel-core update moves the default away from 64K; "
     "set DEFAULTKERNEL=kernel-64k-core in /etc/sysconfig/kernel"),
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel\n", f"4k:{EL9}", None),
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-64k\n", f"64k:{EL9}+64k", None),
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-64k-core\n", f"4k:{EL9}", "set DEFAULTKERNEL=kernel-core in"),
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-64k\n", f"64k:{EL9}+64k-debug", "DEFAULTKERNEL=kernel-64k-debug-core"),
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-core\n", "4k:5.15.0-1.el9uek.aarch64", "set DEFAULTKERNEL=kernel-uek-core"),
    ("UPDATEDEFAULT=yes\n", f"64k:{EL9}+64k", "no DEFAULTKERNEL: the next kernel-core update"),
    ("UPDATEDEFAULT=no\nDEFAULTKERNEL=kernel\n", f"64k:{EL9}+64k", None),
    ("", f"64k:{EL9}+64k", None), (None, f"64k:{EL9}+64k", None),
    # One entry is pinned: an update of whatever kernel moves the default.
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-64k\n", f":{EL9}+64k", f"away from {EL9}+64k; set UPDATEDEFAULT=no in"),
    ("if x; then\n", f"64k:{EL9}+64k", "line 1: takes a shell"),
    # Which package a kernel of elrepo is from its release does not tell.
    ("UPDATEDEFAULT=yes\nDEFAULTKERNEL=kernel-lt\n", "4k:6.1.1-1.el9.elrepo.aarch64", None),
], ids=["away", "same", "same-64k", "back", "debug", "oracle", "none-named", "off", "empty", "missing", "pinned", "shell",
        "elrepo"])
def test_a_kernel_update_that_would_move_the_default_is_explained_with_the_line_that_helps(tree, sysconfig, call, words):
    if sysconfig is not None:
        tree.write("etc/sysconfig/kernel", sysconfig)
    said = tree.ok(f"rpm:{call}")
    assert said == "none" if words is None else words in said


def test_the_same_setting_for_grub_mkconfig_counts(tree):
    tree.write("etc/sysconfig/kernel", "DEFAULTKERNEL=kernel\n")
    tree.write("etc/default/grub", "GRUB_UPDATE_DEFAULT_KERNEL=true\n")
    said = tree.ok(f"rpm:64k:{EL9}+64k")
    assert said.startswith("GRUB_UPDATE_DEFAULT_KERNEL=true and DEFAULTKERNEL=kernel: the next kernel update moves")
    assert "GRUB_UPDATE_DEFAULT_KERNEL=false in /etc/default/grub" in tree.ok(f"rpm::{EL9}")
