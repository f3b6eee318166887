# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of boot entries, odd ones among them, for test_parity.py."""

from typing import NamedTuple


class Vector:
    """`entries`: {file name in loader/entries: text}; text may leave the kernel out, it is /k then. `files`: others on the
    ESP: None is a program that runs, bytes or text are what they are, a Uki is a unified kernel image made so. `xbootldr`: files
    of an XBOOTLDR partition. `ours`: what granule-boot does instead, and why in `differs`."""

    def __init__(self, name, entries=(), conf="", variables=None, files=None, xbootldr=None, ours=None, differs=()):
        self.name, self.conf, self.variables = name, conf, variables or {}
        self.entries = {f"{n}.conf": "" for n in entries} if not isinstance(entries, dict) else entries
        self.files, self.xbootldr = files or {}, xbootldr
        self.ours, self.differs = ours or {}, [differs] if isinstance(differs, str) else differs

    def tree(self):
        tree = {"k": None, "loader/loader.conf": self.conf}
        if self.variables:
            tree["variables"] = "".join(f"{k} {v}\n" for k, v in self.variables.items())
        for name, text in self.entries.items():
            tree[f"loader/entries/{name}"] = with_kernel(text)
        tree.update(self.files)
        return tree


def with_kernel(text):
    """Entries without a kernel get one; those that are bytes are left as they are."""
    if isinstance(text, bytes):
        return text
    has = any(line.split()[:1] in (["linux"], ["efi"], ["none"]) for line in text.splitlines())
    return text if has else text + "linux /k\n"


def keys(**values):
    """The lines of an entry."""
    return "".join(f"{k.replace('_', '-')} {v}\n" for k, v in values.items())


OS_RELEASE = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 13\"\nVERSION_ID=13\n"


class Uki(NamedTuple):
    """Options of ukify for a unified kernel image, and for each profile that is joined to it."""

    options: tuple
    profiles: tuple


def uki(os_release=OS_RELEASE, release="6.12", profiles=(), options=()):
    return Uki((f"--os-release={os_release}", *([f"--uname={release}"] if release else []), *options), profiles)


PROFILES = (("--profile=ID=one\nTITLE=First",), ("--profile=ID=two\nTITLE=Second", "--cmdline=for the second"),
            ("--profile=TITLE=Third",))

A_B_C = ["a", "b", "c"]
AUTO = ["auto-efi-default", "auto-reboot-to-firmware-setup"]
VERSIONS = {f"{n}.conf": keys(title="OS", version=v, sort_key="os", machine_id="1" * 32)
            for n, v in (("m1", "6.1.9"), ("m2", "6.1.10"), ("m3", "6.1.10~rc1"), ("m4", "6.1.10-1"), ("m5", "5.99"))}

VECTORS = [
    # ---- order ----
    Vector("one-entry", ["a"]),
    Vector("no-keys-by-name", A_B_C),
    Vector("names-by-version", ["x-1.9", "x-1.10", "x-1.10~rc1", "x-1.10-1", "x-1.10.1", "x-1.10^p1", "x-01.9"]),
    Vector("names-in-capitals", ["Zebra", "apple", "MIXED-Case"]),
    Vector("versions-descend", VERSIONS),
    Vector("sort-key-first", {"z.conf": keys(sort_key="a"), "a.conf": keys(sort_key="b"), "m.conf": "",
                              "n.conf": keys(sort_key="B")}),
    Vector("machine-id-between", {
        "1.conf": keys(sort_key="os", machine_id="b" * 32, version="9"),
        "2.conf": keys(sort_key="os", machine_id="a" * 32, version="1"),
        "3.conf": keys(sort_key="os", version="5"),
        "4.conf": keys(sort_key="os", machine_id="a" * 32, version="2"),
    }),
    Vector("version-without-sort-key", {"a.conf": keys(version="9"), "b.conf": keys(version="1")}),
    Vector("equal-keys-by-name", {"a-2.conf": keys(sort_key="os", version="1"), "a-10.conf": keys(sort_key="os", version="1")}),
    Vector("missing-version", {"a.conf": keys(sort_key="os"), "b.conf": keys(sort_key="os", version="1"),
                               "c.conf": keys(sort_key="os", version="0~")}),
    Vector("granule-classes", {f"t-6.12-{s}.conf": keys(sort_key=f"granule-{i}-{s}", version="6.12")
                               for i, s in enumerate(("64k", "4k", "16k"))}),
    Vector("page-size-releases", {f"{v}.conf": keys(sort_key="os", version=v) for v in (
        "6.12.0-211.el10_2.aarch64", "6.12.0-211.el10_2.aarch64.64k", "6.12.0-212.el10_2.aarch64", "v6.12-4k", "v6.12-16k",
        "v6.12-64k")}),

    # ---- names ----
    Vector("odd-names", ["with.dots", "_under", "-dash", "1", "a--b", "a..b", "aa.conf"]),
    Vector("dot-and-auto-files", {".hidden.conf": "", "auto-x.conf": "", "Auto-y.conf": "", "autox.conf": "", "ok.conf": ""}),
    Vector("suffixes", {"a.CONF": "", "b.conf.bak": "", "c.txt": "", "d": "", "e.Conf": ""}),
    Vector("other-characters", ["a b", "a,b", "a=b", "a@b", "\u00fcber", "6.13~rc6", "x^1"]),
    Vector("long-name", {"x" * 120 + ".conf": "", "y.conf": ""}),

    # ---- syntax ----
    Vector("crlf", {"a.conf": b"title A\r\nversion 1\r\noptions one\r\noptions two\r\nlinux /k\r\n"}),
    Vector("cr-only", {"a.conf": b"title A\rversion 1\roptions x\rlinux /k\r"}),
    Vector("no-final-newline", {"a.conf": b"linux /k\noptions last"}),
    Vector("comments", {"a.conf": "#linux /nowhere\n   # efi /nowhere\n\toptions  a #b\n"}),
    Vector("blanks-and-tabs", {"a.conf": "\t linux\t \t/k\t \n \toptions\t a\tb   c \t\n\n \t \n"}),
    Vector("quotes", {"a.conf": "options \"quoted value\"\n", "b.conf": "options 'single' \"in\" x\nsort-key \"a\"\n",
                      "c.conf": "sort-key \"b\n"}, "default a.conf\n"),
    Vector("repeated-keys", {"a.conf": "sort-key z\nsort-key a\nversion 9\nversion 1\noptions one\noptions two\n"
                                       "linux /nowhere\nlinux /k\n", "b.conf": "sort-key a\nversion 5\n"},
           "default a.conf\n"),
    Vector("key-without-value", {"a.conf": "sort-key\nversion 5\noptions\n", "b.conf": "sort-key  \nversion 6\n"}),
    Vector("unknown-keys", {"a.conf": "grub_users $grub_users\nid abc\nnonsense\noptions x\n"}),
    Vector("keys-in-capitals", {"a.conf": "LINUX /nowhere\nSort-Key a\n", "b.conf": "sort-key b\n"}),
    Vector("empty-file", {"a.conf": b"", "b.conf": ""}),
    Vector("no-kernel", {"a.conf": b"title nothing to start\n", "b.conf": ""}),
    Vector("utf-8-values", {"a.conf": "title \u00c4\u00d6\u00dc \u2603\noptions \u00e4=\u20ac\n"}),
    Vector("not-utf-8", {"a.conf": b"title \xff\xfe\noptions x\nlinux /k\n", "b.conf": ""}),
    Vector("bom", {"a.conf": b"\xef\xbb\xbflinux /k\n", "b.conf": b"\xef\xbb\xbf# x\nlinux /k\n"}),

    # ---- kernels ----
    Vector("missing-kernel", {"a.conf": "linux /nowhere\n", "b.conf": "efi /nowhere.efi\n", "c.conf": ""}),
    Vector("efi-entries", {"a.conf": "efi /k\noptions for efi\n", "b.conf": ""}, "default a.conf\n"),
    Vector("own-file", {"z.conf": "efi /EFI/loader.efi\n", "y.conf": "efi \\EFI\\LOADER.EFI\n", "a.conf": ""}),
    Vector("paths", {"a.conf": "linux k\n", "b.conf": "linux \\k\n", "c.conf": "linux //k\n", "d.conf": "linux /sub/dir/k2\n",
                     "e.conf": "linux /./k\n", "f.conf": "linux /K\n"}, "default d.conf\n", files={"sub/dir/k2": None}),
    Vector("architectures", {f"{n}.conf": keys(architecture=a) for n, a in (
        ("a", "aa64"), ("b", "AA64"), ("c", "x64"), ("d", "arm"), ("e", "aarch64"), ("f", "riscv64"))}),
    Vector("with-initrd", {"a.conf": "initrd /i1\ninitrd /sub/i2\noptions x\n"}, files={"i1": "1", "sub/i2": "2"}),

    # ---- default ----
    Vector("default-id", A_B_C, "default a.conf\n"),
    Vector("default-without-suffix", A_B_C, "default a\n", ours={"selected": "a.conf"}, differs="lenient-patterns"),
    Vector("default-capitals", A_B_C, "default A.CONF\n"),
    Vector("default-unknown", A_B_C, "default nothing-like-it\n"),
    Vector("default-star", ["os-1", "os-2", "other"], "default os-*\n"),
    Vector("default-question-mark", ["os-1", "os-12", "os-2"], "default os-?.conf\n"),
    Vector("default-set", ["os-1", "os-2", "os-3"], "default os-[12].conf\n"),
    Vector("default-range", ["os-1", "os-2", "os-3", "os-x"], "default os-[1-2].conf\n"),
    Vector("default-negated-set", ["os-1", "os-2", "os-3"], "default os-[!3].conf\n", ours={"selected": "os-2.conf"},
           differs="negated-sets"),
    Vector("default-caret-set", ["os-1", "os-2", "os-3"], "default os-[^3].conf\n", ours={"selected": "os-2.conf"},
           differs="negated-sets"),
    Vector("default-open-set", ["os-1", "os-2"], "default os-[1\n"),
    Vector("default-set-with-bracket", ["os-1", "os-2", "os-3"], "default os-[]1].conf\n"),
    Vector("default-escaped", ["os-1", "os-2"], "default os-\\1.conf\n"),
    Vector("default-escaped-star", ["os-1", "os-2"], "default os-\\*\n"),
    Vector("default-many-stars", ["aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaab"], "default a*a*a*a*a*a*b*\n"),
    Vector("default-twice", A_B_C, "default a.conf\ndefault b.conf\n"),
    Vector("default-quoted", A_B_C, "default \"a.conf\"\n"),
    Vector("default-variable-beats-file", A_B_C, "default a.conf\n", {"LoaderEntryDefault": "b.conf"}),
    Vector("default-variable-unknown", A_B_C, "default a.conf\n", {"LoaderEntryDefault": "zzz"}),
    Vector("default-variable-glob", ["os-1", "os-2", "x"], "", {"LoaderEntryDefault": "os-*"}),
    Vector("default-saved", A_B_C, "default @saved\n", {"LoaderEntryLastBooted": "b.conf"}),
    Vector("default-saved-nothing", A_B_C, "default @saved\n"),
    Vector("default-saved-variable", A_B_C, "", {"LoaderEntryDefault": "@saved", "LoaderEntryLastBooted": "a.conf"}),

    # ---- one-shot ----
    Vector("oneshot", A_B_C, "default a.conf\n", {"LoaderEntryOneShot": "b.conf"}),
    Vector("oneshot-unknown", A_B_C, "default a.conf\n", {"LoaderEntryOneShot": "zzz.conf"}),
    Vector("oneshot-glob", A_B_C, "default a.conf\n", {"LoaderEntryOneShot": "b*"}),
    Vector("oneshot-beats-variable", A_B_C, "", {"LoaderEntryOneShot": "b.conf", "LoaderEntryDefault": "a.conf"}),
    Vector("oneshot-and-saved", A_B_C, "default @saved\n",
           {"LoaderEntryOneShot": "b.conf", "LoaderEntryLastBooted": "a.conf"}),

    # ---- boot counting ----
    Vector("counter", ["a+3"]),
    Vector("counter-some-done", ["a+2-1"]),
    Vector("counter-last-try", ["a+1-2", "b"], "default a*\n"),
    Vector("exhausted-last", ["z+0-3", "a"]),
    Vector("exhausted-only", ["a+0-3"]),
    Vector("all-exhausted", ["a+0-3", "b+0"]),
    Vector("exhausted-default", ["z+0-3", "a"], "default z*\n",
           ours={"selected": "a.conf", "boot-count-path": None, "files": ["a.conf", "z+0-3.conf"]}, differs="bad-default"),
    Vector("exhausted-default-variable", ["z+0-3", "a"], "", {"LoaderEntryDefault": "z.conf"},
           ours={"selected": "a.conf", "boot-count-path": None, "files": ["a.conf", "z+0-3.conf"]}, differs="bad-default"),
    Vector("exhausted-oneshot", ["z+0-3", "a"], "", {"LoaderEntryOneShot": "z.conf"}),
    Vector("counter-and-keys", {"a+3.conf": keys(sort_key="os", version="1"), "b+0-1.conf": keys(sort_key="os", version="3"),
                                "c.conf": keys(sort_key="os", version="2")}),
    Vector("counter-lookalikes", ["a+64k", "b+", "c+-1", "d+1-", "e+1-2-3", "f+99999999999", "g+x", "h++3"]),
    Vector("counter-padded", ["a+03-00", "b"], "default a*\n",
           ours={"boot-count-path": "\\loader\\entries\\a+02-01.conf", "files": ["a+02-01.conf", "b.conf"]},
           differs="padded-counters"),
    Vector("counter-padded-left", ["a+10", "b"], "default a*\n",
           ours={"boot-count-path": "\\loader\\entries\\a+09-01.conf", "files": ["a+09-01.conf", "b.conf"]},
           differs="padded-counters"),
    Vector("counter-in-pattern", ["a+3", "b"], "default a+3.conf\n",
           ours={"selected": "a.conf", "boot-count-path": "\\loader\\entries\\a+2-1.conf", "files": ["a+2-1.conf", "b.conf"]},
           differs="lenient-patterns"),
    Vector("counters-alone-differ", ["a+3", "a+2-1", "a+0-3", "a"]),
    Vector("counter-and-plain-default", ["a+3", "b"], "default a.conf\n"),

    # ---- what the loader finds by itself ----
    Vector("auto-entries", A_B_C, "auto-entries yes\n", files={"shellaa64.efi": None}),
    Vector("auto-entries-off", A_B_C, "auto-entries no\nauto-firmware no\n", files={"shellaa64.efi": None}),
    Vector("auto-firmware-off", A_B_C, "auto-firmware no\n"),
    Vector("auto-power", A_B_C, "auto-poweroff yes\nauto-reboot yes\n"),
    Vector("default-auto", A_B_C, "default auto-efi-default\n"),
    Vector("only-auto", [], "", ours={"selected": None, "path": None, "back": "with an error"}, differs="nothing-of-its-own"),
    Vector("shell-default", ["a"], "default auto-efi-shell\n", files={"shellaa64.efi": None}),

    # ---- a second partition ----
    Vector("xbootldr", ["a", "c"], xbootldr={"k": None, "loader/entries/b.conf": "linux /k\n"}),
    Vector("xbootldr-default", ["a"], "default b.conf\n", xbootldr={"kb": None, "loader/entries/b.conf": "linux /kb\n"}),
    Vector("xbootldr-loader-conf", ["a", "b"], "default a.conf\n", xbootldr={"loader/loader.conf": "default b.conf\n"}),
    Vector("xbootldr-counter", ["a"], "default b*\n", xbootldr={"k": None, "loader/entries/b+3.conf": "linux /k\n"}),
    Vector("xbootldr-same-name", {"a.conf": "options esp\n"}, xbootldr={"k": None, "loader/entries/a.conf": "linux /k\n"}),

    # ---- time-outs ----
    Vector("timeout", A_B_C, "timeout 3\ndefault b.conf\n"),
    Vector("timeout-words", A_B_C, "timeout menu-hidden\ndefault b.conf\n"),
    Vector("timeout-disabled", A_B_C, "timeout menu-disabled\ndefault b.conf\n"),
    Vector("timeout-nonsense", A_B_C, "timeout soon\ndefault b.conf\n"),
    Vector("timeout-variable", A_B_C, "timeout menu-force\ndefault b.conf\n", {"LoaderConfigTimeout": "0"}),
    Vector("timeout-oneshot", A_B_C, "default b.conf\n", {"LoaderConfigTimeoutOneShot": "2"}),

    # ---- unified kernel images ----
    Vector("uki", [], files={"EFI/Linux/a.efi": uki()}),
    Vector("uki-and-type-1", {"a.conf": keys(sort_key="debian", version="6.1"), "b.conf": ""},
           files={"EFI/Linux/u.efi": uki(), "EFI/Linux/v.efi": uki(OS_RELEASE, "6.13")}),
    Vector("uki-versions", [], files={f"EFI/Linux/{n}.efi": uki(OS_RELEASE, v) for n, v in (
        ("a", "6.1.9"), ("b", "6.1.10"), ("c", "6.1.10~rc1"))}),
    Vector("uki-without-uname", [], files={"EFI/Linux/a.efi": uki(OS_RELEASE, None), "EFI/Linux/b.efi": uki(OS_RELEASE, "5")}),
    Vector("uki-image-version", [], files={"EFI/Linux/a.efi": uki(OS_RELEASE + "IMAGE_ID=img\nIMAGE_VERSION=7\n", "6.1"),
                                           "EFI/Linux/b.efi": uki(OS_RELEASE + "IMAGE_ID=img\nIMAGE_VERSION=10\n", "6.0")}),
    Vector("uki-build-id", [], files={"EFI/Linux/a.efi": uki("ID=x\nNAME=X\nBUILD_ID=20260101\n", None),
                                      "EFI/Linux/b.efi": uki("ID=x\nNAME=X\nBUILD_ID=20260201\n", None)}),
    Vector("uki-os-release-quoted", [], files={"EFI/Linux/a.efi": uki("ID='single'\nNAME=\"dou ble\"\nVERSION_ID=\"3\"\n", "6"),
                                               "EFI/Linux/b.efi": uki("# c\n\nID=double\nPRETTY_NAME=x\nVERSION_ID=2\n", "6")}),
    Vector("uki-without-name", [], files={"EFI/Linux/a.efi": uki("ID=x\n", "6"), "EFI/Linux/b.efi": uki("NAME=x\n", "6"),
                                          "EFI/Linux/c.efi": uki("VERSION=1\n", "6")}),
    Vector("uki-options", [], files={"EFI/Linux/a.efi": uki(options=["--cmdline=root=/dev/x quiet"])}),
    Vector("uki-counter", [], files={"EFI/Linux/a+3.efi": uki()}),
    Vector("uki-exhausted", ["b"], files={"EFI/Linux/a+0-2.efi": uki()}),
    Vector("uki-default", ["b"], "default u-*.efi\n", files={"EFI/Linux/U-1.efi": uki(), "EFI/Linux/u-2.efi": uki()}),
    Vector("uki-names", ["b"], files={"EFI/Linux/.a.efi": uki(), "EFI/Linux/auto-b.efi": uki(), "EFI/Linux/c.EFI": uki(),
                                      "EFI/Linux/d.bin": uki()}),
    Vector("uki-not-one", ["b"], files={"EFI/Linux/a.efi": None, "EFI/Linux/c.efi": b"MZ", "EFI/Linux/d.efi": b""}),
    Vector("uki-profiles", [], files={"EFI/Linux/a.efi": uki(profiles=PROFILES)}),
    Vector("uki-profile-default", [], "default a.efi@two\n", files={"EFI/Linux/a.efi": uki(profiles=PROFILES)}),
    Vector("uki-profile-without-id", [], "default a.efi@2\n", files={"EFI/Linux/a.efi": uki(profiles=PROFILES)}),
    Vector("uki-profile-oneshot", [], "", {"LoaderEntryOneShot": "a.efi@two"}, {"EFI/Linux/a.efi": uki(profiles=PROFILES)}),
    Vector("uki-profiles-counter", [], "default a.efi@two\n", files={"EFI/Linux/a+3.efi": uki(profiles=PROFILES)},
           ours={"entries": ["a.efi", "a.efi@one", "a.efi@two", "a.efi@3", *AUTO], "selected": "a.efi@two", "profile": "2",
                 "options": "for the second"}, differs="profiles-and-counter"),
    Vector("uki-profiles-among-others", ["b"], files={"EFI/Linux/a-2.efi": uki(OS_RELEASE, "6.2", PROFILES),
                                                      "EFI/Linux/a-1.efi": uki(OS_RELEASE, "6.1", PROFILES)}),
    Vector("uki-by-efi-key", {"a.conf": "efi /EFI/other/u.efi\noptions own words\n"}, files={"EFI/other/u.efi": uki()}),
    Vector("uki-by-linux-key", {"a.conf": "linux /EFI/other/u.efi\noptions own words\n"}, files={"EFI/other/u.efi": uki()}),
    Vector("uki-on-xbootldr", ["a"], "default u.efi\n", xbootldr={"EFI/Linux/u.efi": uki()}),
    Vector("uki-on-both", [], files={"EFI/Linux/a.efi": uki()}, xbootldr={"EFI/Linux/b.efi": uki()}),
]
