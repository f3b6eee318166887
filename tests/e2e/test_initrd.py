# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel gets beside itself: several initrds, and additional resources."""

from guest import Cpio, kernel


def archive(name, data):
    cpio = Cpio()
    cpio.file(name, data, 0o100644)
    return cpio.finish()


def test_several_initrds_and_resources_arrive_in_one_piece(esp, boot):
    esp.add_file("/kernel", kernel("4k"))
    # Odd sizes, so that what comes behind is found only with the padding in between.
    esp.add_file("/one", archive("one", b"first\n") + b"\0")
    esp.add_file("/empty", b"")
    esp.add_file("/two", archive("two", b"second\n") + b"\0\0\0")
    esp.add_file("/a.cred", b"secret\n")
    esp.add_file("/b.sysext.raw", b"12345")
    (esp.path / "loader/entries/all.conf").write_text(
        "version 1\nlinux /kernel\ninitrd /initrd\ninitrd /one\ninitrd /empty\ninitrd /two\n"
        "extra /a.cred\nextra /b.sysext.raw\noptions console=ttyAMA0\n")
    m = boot()
    assert m.ok("cat /one /two /.extra/credentials/a.cred /.extra/sysext/b.sysext.raw") == "first\nsecond\nsecret\n12345"
    assert m.ok("stat -c %a /.extra/credentials /.extra/credentials/a.cred") == "500\n400"


def test_a_resource_of_no_known_kind_lets_the_next_choice_boot(esp, boot):
    esp.add_file("/kernel", kernel("4k"))
    esp.add_file("/x.addon.efi", b"MZ")
    esp.add_entry("b-plain", "/kernel", "1")
    esp.add_entry("z-extra", "/kernel", "1", extra="/x.addon.efi")
    m = boot()
    assert "z-extra.conf: /x.addon.efi: no kind of resource that the system looks for (.cred, .raw)" in m.console
    assert '"entry": "b-plain.conf"' in m.ok("granule status --json")
