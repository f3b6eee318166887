# SPDX-License-Identifier: GPL-2.0-or-later
import json

import pytest

import images

SIZES = {1: "4k", 2: "16k", 3: "64k"}
KEYS = ["path", "arch", "container", "profile", "page_size", "kind", "evidence", "release"]


def inspect(system, data, name="kernel", **files):
    path = system.root / name
    path.write_bytes(data)
    for other, text in files.items():
        (system.root / other.replace("_", "-", 1)).write_text(text)
    done = system.run("inspect", "--json", path)
    facts = json.loads(done.stdout)
    assert done.returncode == (0 if facts and facts[0]["container"] != "unknown" else 1)
    return facts[0] if facts else done


@pytest.mark.parametrize("bits, size", SIZES.items())
def test_page_size_of_a_raw_image_comes_from_its_header(system, bits, size):
    facts = inspect(system, images.arm64(bits, release=f"6.1.0-{size}"))
    assert list(facts) == KEYS
    assert facts["arch"] == "arm64" and facts["container"] == "raw" and facts["kind"] == "fixed"
    assert facts["page_size"] == size and facts["evidence"] == "header" and facts["release"] == f"6.1.0-{size}"


@pytest.mark.parametrize("how", ["gzip", "zstd", "xz", "lz4"])
def test_compressed_images_are_looked_into(system, how):
    facts = inspect(system, images.compressed(images.arm64(2), how))
    assert (facts["container"], facts["page_size"], facts["evidence"]) == (how, "16k", "header")


@pytest.mark.parametrize("how", ["gzip", "zstd22", "xzkern"])
def test_zboot_images_are_looked_into(system, how):
    facts = inspect(system, images.zboot(images.arm64(3, release="6.12.0-211.el10_2.aarch64+64k"), how))
    assert (facts["container"], facts["page_size"], facts["arch"]) == ("zboot", "64k", "arm64")
    assert facts["release"] == "6.12.0-211.el10_2.aarch64+64k"


def test_unified_kernel_images_are_looked_into(system):
    facts = inspect(system, images.uki(images.arm64(3)))
    assert (facts["container"], facts["page_size"], facts["kind"]) == ("uki", "64k", "fixed")
    facts = inspect(system, images.uki(images.zboot(images.arm64(1))))
    assert (facts["container"], facts["page_size"], facts["kind"]) == ("uki", "4k", "fixed")


def test_each_profile_of_a_unified_image_is_looked_into(system):
    path = system.root / "a.efi"
    path.write_bytes(images.uki(images.arm64(1, release="6.1.0"), (".profile", "ID=a"), (".profile", "ID=b"),
                                (".linux", images.zboot(images.arm64(3, release="6.12.0")))))
    facts = json.loads(system.ok("inspect", "--json", path))
    assert [(f["path"], f["profile"], f["page_size"], f["release"]) for f in facts] == [
        (str(path), 0, "4k", "6.1.0"), (str(path), 1, "64k", "6.12.0")]
    assert f"{path}@1" in system.ok("inspect", path)


def test_a_profile_without_kernel_is_named(system):
    path = system.root / "a.efi"
    path.write_bytes(images.uki(None, (".profile", "ID=a"), (".profile", "ID=b"), (".linux", images.arm64(2))))
    done = system.run("inspect", "--json", path)
    assert done.returncode == 1 and f"{path}: no kernel in profile 0" in done.stderr
    assert [(f["profile"], f["page_size"]) for f in json.loads(done.stdout)] == [(1, "16k")]


def test_an_open_header_without_evidence_is_unknown_and_never_4k(system):
    facts = inspect(system, images.arm64(0))
    assert (facts["page_size"], facts["kind"], facts["evidence"]) == ("unknown", "unknown", "none")


def test_selectable_by_the_config_file_beside_the_kernel(system):
    option = "CONFIG_ARM64=y\nCONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y\n"
    (system.root / "config-6.12.0-test").write_text(option)
    facts = inspect(system, images.arm64(0))
    assert (facts["page_size"], facts["kind"], facts["evidence"]) == ("unknown", "selectable", "config")


@pytest.mark.parametrize(
    "text", ["# CONFIG_ARM64_BOOT_TIME_PAGE_SIZE is not set\n", "CONFIG_ARM64_BOOT_TIME_PAGE_SIZE=yes\n",
             "XCONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y\n"])
def test_a_config_file_that_does_not_say_so_is_no_evidence(system, text):
    (system.root / "config-6.12.0-test").write_text(text)
    assert inspect(system, images.arm64(0))["kind"] == "unknown"


def test_selectable_by_the_config_in_the_modules_folder(system):
    folder = system.root / "lib/modules/6.12.0-test"
    folder.mkdir(parents=True)
    (folder / "config").write_text("CONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y\n")
    assert inspect(system, images.arm64(0))["evidence"] == "config"


def test_selectable_by_the_embedded_config(system):
    config = images.embedded_config(b"CONFIG_A=y\nCONFIG_ARM64_BOOT_TIME_PAGE_SIZE=y\n")
    facts = inspect(system, images.arm64(0, extra=config))
    assert (facts["kind"], facts["evidence"]) == ("selectable", "embedded-config")


def test_selectable_by_the_parameter_strings(system):
    facts = inspect(system, images.arm64(0, extra=images.SELECTABLE_STRINGS))
    assert (facts["kind"], facts["evidence"]) == ("selectable", "strings")
    facts = inspect(system, images.arm64(0, extra=images.SELECTABLE_STRINGS[:36]))
    assert facts["kind"] == "unknown", "two of the three strings are not enough"


def test_a_fixed_header_wins_over_strings_and_config(system):
    facts = inspect(system, images.arm64(1, extra=images.SELECTABLE_STRINGS))
    assert (facts["page_size"], facts["kind"], facts["evidence"]) == ("4k", "fixed", "header")


def test_names_do_not_count(system):
    assert inspect(system, images.arm64(1), "vmlinuz-6.6-v8-16k+")["page_size"] == "4k"
    assert inspect(system, images.arm64(3), "vmlinuz-5.10.064k")["page_size"] == "64k"


def test_x86_kernels_are_told_apart(system):
    facts = inspect(system, images.x86_kernel())
    assert (facts["arch"], facts["page_size"], facts["release"]) == ("x86_64", "4k", "6.1.0-x86")


@pytest.mark.parametrize(
    "data, words",
    [
        (images.arm64(3)[:0x420], "truncated"),
        (images.zboot(images.arm64(3))[:0x410], "truncated"),
        (images.compressed(images.arm64(3), "gzip")[:40], "decompressed"),
        (b"hello\n", "not a kernel"),
        (b"", "not a kernel"),
    ],
    ids=["raw-truncated", "zboot-truncated", "gzip-truncated", "text", "empty"],
)
def test_what_is_no_complete_kernel_is_one_line_and_exit_1(system, data, words):
    path = system.root / "bad"
    path.write_bytes(data)
    done = system.run("inspect", path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert words in done.stderr and "bad" in done.stderr and done.stdout == ""


def test_a_bad_file_does_not_hide_a_good_one(system):
    (system.root / "good").write_bytes(images.arm64(3))
    done = system.run("inspect", "--json", system.root / "none", system.root / "good")
    assert done.returncode == 1 and "none: No such file" in done.stderr
    assert [f["page_size"] for f in json.loads(done.stdout)] == ["64k"]
