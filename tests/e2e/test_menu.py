# SPDX-License-Identifier: GPL-2.0-or-later
"""The menu, as a person at a serial terminal of 80x24 sees it."""

import json
import re
import subprocess
import time

import pytest

from guest import BUILD, ESP_START, kernel, with_header_page_size
from machine import ARM64_FIRMWARE, READY, STARTS_LOADER, WITHOUT_16K, Hang
from screen import Screen

ON_EVERY_FIRMWARE = pytest.mark.parametrize("firmware", ARM64_FIRMWARE, indirect=True)

LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
HELP = "h all keys"
DOWN, END, HOME, PAGE_DOWN, ESCAPE = "\x1b[B", "\x1b[F", "\x1b[H", "\x1b[6~", "\x1b"


def entries(esp, sizes=("4k", "16k", "64k"), conf="timeout menu-force\n"):
    for i, size in enumerate(sizes):
        esp.add_file(f"/kernels/{size}", kernel(size))
        esp.add_entry(f"test-{size}", f"/kernels/{size}", "1", title=f"Kernel {size}", sort_key=str(i))
    (esp.path / "loader/loader.conf").write_text(conf + "auto-firmware no\n")


class Menu:
    """A machine that is in its menu."""

    def __init__(self, boot, **keywords):
        self.machine = boot(wait=False, **keywords)
        self.screen = self.machine.screen = Screen()

    def wait(self, condition, timeout=60):
        """Reads on until the screen fulfils the condition: a function of its text, or a part of it."""
        deadline = time.monotonic() + timeout
        while not (condition(self.screen.text) if callable(condition) else condition in self.screen.text):
            if not self.machine._read(deadline - time.monotonic()):
                raise Hang(f"{condition!r}: the screen shows\n{self.screen.text}")
        return self

    def open(self):
        return self.wait(lambda text: HELP in text and self.selected())

    def settle(self, quiet=0.5):
        """Until nothing more is sent."""
        while self.machine._read(quiet):
            pass
        return self

    def press(self, keys, condition=None):
        self.machine.send(keys)
        return self.wait(condition) if condition else self.settle()

    def selected(self):
        rows = [row for row in self.screen.text.split("\n") if row.startswith(">")]
        return rows[0] if len(rows) == 1 else ""

    def select(self, title):
        """With the cursor key, one step at a time."""
        for _ in range(20):
            before = self.selected()
            if title in before:
                return self
            self.press(DOWN, lambda text: self.selected() not in ("", before))
        raise AssertionError(self.screen.text)

    def boot(self, key="\r"):
        self.machine.send(key)
        self.machine.wait_for(READY)
        return self.machine


@ON_EVERY_FIRMWARE
def test_the_list_fits_a_terminal_and_says_everything_in_words(esp, boot):
    entries(esp)
    esp.add_entry("test-bad+0-3", "/kernels/64k", "1", title="Bad one", sort_key="4")
    esp.add_entry("test-try+2-1", "/kernels/64k", "1", title="New one", sort_key="5")
    esp.add_entry("test-gone", "/kernels/none", "1", title="Gone", sort_key="6")
    esp.add_entry("test-twin-a", "/kernels/4k", "1", title="Twin", sort_key="7")
    esp.add_entry("test-twin-b", "/kernels/4k", "1", title="Twin", sort_key="8")
    esp.add_entry("test-16k-first", "/kernels/16k", "1", title="x" * 100, sort_key="01")
    menu = Menu(boot, cpu=WITHOUT_16K).open().settle()
    lines = menu.screen.text.split("\n")
    assert re.match(r"granule-boot \S+  page sizes of this CPU: 4k 64k$", lines[0])
    shown = [line for line in lines if re.match(r"[> ][* ] \d  ", line)]
    assert shown == [
        ">* 1  4K   Kernel 4k",
        "   2  16K  " + "x" * 37 + "... (not supported by this CPU)",
        "   3  16K  Kernel 16k (not supported by this CPU)",
        "   4  64K  Kernel 64k",
        "   5  64K  New one (2 tries left)",
        "   6  ?    Gone (cannot be started: not found: /kernels/none)",
        "   7  4K   Twin (test-twin-a.conf)",
        "   8  4K   Twin (test-twin-b.conf)",
        "   9  64K  Bad one (bad: no tries left)",
    ]
    assert menu.screen.in_reverse() == [">* 1  4K   Kernel 4k"]
    assert "\n* boots by itself: test-4k.conf, first entry in menu order" in menu.screen.text
    assert max(len(line) for line in lines) < 80
    assert menu.screen.text.isascii()


@ON_EVERY_FIRMWARE
def test_a_key_sends_no_more_than_what_it_changes(esp, boot):
    entries(esp)
    menu = Menu(boot).open().settle()
    before = menu.screen.sent
    menu.press(DOWN, lambda text: "> " in text and menu.selected().endswith("16k")).settle()
    assert menu.screen.sent - before <= 160
    before = menu.screen.sent
    menu.press("x")
    assert menu.screen.sent - before <= 16


def test_the_countdown_sends_digits_only(esp, boot):
    entries(esp, conf="timeout 400\npage-size 64k\n")
    menu = Menu(boot).wait("Boots * in 399 s.")
    before = menu.screen.sent
    menu.wait("Boots * in 300 s.")
    assert (menu.screen.sent - before) / 99 <= 24
    menu.machine.wait_for(READY)
    # Firmware's watchdog would have come after five minutes.
    assert menu.machine.page_size() == 65536


@ON_EVERY_FIRMWARE
def test_enter_boots_what_is_selected(esp, boot):
    entries(esp)
    menu = Menu(boot).open().select("Kernel 64k")
    assert menu.boot().page_size() == 65536
    assert json.loads(menu.machine.ok("granule status --json"))["reason"] == "picked in the menu"


def test_a_long_list_scrolls(esp, boot):
    entries(esp, ("4k",))
    for i in range(300):
        esp.add_entry(f"test-{i:03}", "/kernels/4k", "1", title=f"Number {i:03}", sort_key=f"1-{i:03}")
    menu = Menu(boot).open()
    menu.wait("Entries 1 to 17 of 301")
    menu.press(END, "Entries 285 to 301 of 301").wait(lambda text: menu.selected().endswith("Number 299"))
    menu.press("k" * 16, lambda text: menu.selected().endswith("Number 283"))
    menu.press("k", "Entries 276 to 292 of 301").wait(lambda text: menu.selected().endswith("Number 282"))
    menu.press(PAGE_DOWN, lambda text: menu.selected().endswith("Number 299"))
    menu.press(HOME, "Entries 1 to 17 of 301")
    menu.press("3", lambda text: menu.selected().endswith("Number 001"))


@ON_EVERY_FIRMWARE
def test_edited_options_are_for_this_boot(esp, boot):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("e", "Options for this boot").wait("\nconsole=ttyAMA0 panic=5\n")
    # To the end of the first word's value, and back; a word at the end, of which one letter is taken back.
    menu.press("\x01\x05 test.word=onee\b")
    menu.wait("console=ttyAMA0 panic=5 test.word=one\n")
    machine = menu.boot()
    assert machine.ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5 test.word=one"
    assert "test.word" not in machine.ok("cat /efi/loader/entries/*")


def test_escape_leaves_the_options_alone(esp, boot):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("e", "Options for this boot").press("\x15init=/bin/none")
    menu.wait("\ninit=/bin/none\n")
    menu.press(ESCAPE, "* boots by itself: test-4k.conf")
    assert menu.boot().ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5"


@pytest.mark.parametrize("key", ["\x07", "\x03"], ids=["ctrl-g", "ctrl-c"])
def test_control_keys_abort_the_editor_which_shows_its_own_keys(esp, boot, key):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("e", "Enter boot  Esc Ctrl-G back").press("\x15init=/bin/none")
    assert HELP not in menu.screen.text
    menu.press(key, HELP).press("i", "options       console=ttyAMA0 panic=5")


def test_long_options_scroll_sideways(esp, boot):
    entries(esp, ("4k",))
    esp.add_entry("test-4k", "/kernels/4k", "1", "console=ttyAMA0 panic=5 " + "x" * 300 + " last=word", sort_key="0")
    menu = Menu(boot).open()
    menu.press("e", lambda text: re.search("^<x+ last=word$", text, re.M))
    menu.press("\x01", lambda text: re.search("^console=ttyAMA0 panic=5 x{54}>$", text, re.M))


def test_no_editor_when_loader_conf_says_so(esp, boot):
    entries(esp, ("4k",), "timeout menu-force\neditor no\n")
    menu = Menu(boot).open()
    menu.press("e", "The editor is off: loader.conf says so.")


def test_p_gives_a_kernel_that_can_choose_another_page_size(esp, boot):
    """The kernel of the test only says that it can: what reaches it is the word."""
    image = with_header_page_size(kernel("4k").read_bytes(), 0)
    esp.add_file("/kernels/any", image)
    esp.add_entry("test-any", "/kernels/any", "1", title="Any size", granule_image="selectable")
    entries(esp, ("16k",))
    menu = Menu(boot).open().select("Any size").settle()
    assert "  64K  Any size" in menu.selected()
    menu.press("p", "For this boot: page size 4K").wait(lambda text: "  4K   Any size" in menu.selected())
    menu.press("p", "For this boot: page size 16K")
    menu.press("i", "page size     16K, asked for in the options").wait(
        "options (new) arm64.pagesize=16k console=ttyAMA0 panic=5")
    menu.press("q", HELP)
    machine = menu.boot()
    assert machine.ok("cat /proc/cmdline") == "arm64.pagesize=16k console=ttyAMA0 panic=5"


def test_keys_that_find_nothing_to_do_say_so(esp, boot):
    entries(esp, ("4k",), "timeout menu-force\nauto-reboot yes\n")
    menu = Menu(boot).open().press("p", "cannot be chosen: it is compiled into the kernel")
    menu.press("w", "No such entry.").press("1", lambda text: "No such entry." not in text)
    menu.select("Reboot").press("p", "This entry has no page size.")


def test_rows_of_equal_titles_show_what_differs(esp, boot):
    """As kernel-install names them, with two flavours of one version."""
    entries(esp, ())
    esp.add_file("/kernels/4k", kernel("4k"))
    title = "Debian GNU/Linux 12 (bookworm)"
    for name, version in ("6.1.0-20-arm64-4k", "6.1.0-20-arm64"), ("6.1.0-20-arm64-64k", "6.1.0-20-arm64"), ("6.12", "6.12"):
        esp.add_entry(f"{'0123456789abcdef' * 2}-{name}", "/kernels/4k", version, title=title)
    menu = Menu(boot).open().settle()
    rows = [line[11:] for line in menu.screen.text.split("\n") if re.match(r"[> ][* ] \d  ", line)]
    assert sorted(rows) == [title + " (...789abcdef-6.1.0-20-arm64-4k.conf)",
                            title + " (...89abcdef-6.1.0-20-arm64-64k.conf)", title + " (6.12)"]


def test_what_explains_the_choice_is_cut_with_a_mark_and_v_shows_all(esp, boot):
    entries(esp, ("4k",), "timeout menu-force\ndefault a-" + "d" * 70 + "\npreferred a-" + "p" * 70 + "\n")
    menu = Menu(boot).open().settle()
    assert menu.screen.line(21).endswith("...")
    menu.press("v", "first entry in menu order")


def test_options_that_do_not_fit_a_row_go_on_below_the_value(esp, boot):
    entries(esp, ("4k",))
    esp.add_entry("test-4k", "/kernels/4k", "1", "console=ttyAMA0 " + " ".join(f"test.word{i}=one" for i in range(6)))
    Menu(boot).open().press("i", "\n" + " " * 14 + "test.word")


@ON_EVERY_FIRMWARE
def test_i_shows_all_facts_and_h_all_keys(esp, boot):
    entries(esp, ("4k",))
    esp.add_entry("test-gone", "/kernels/none", "7", title="Gone", sort_key="6", machine_id="0" * 32)
    menu = Menu(boot).open().select("Gone")
    menu.press("i", "Any key: back")
    for fact in ("id            test-gone.conf", "state         cannot be started: not found: /kernels/none",
                 "version       7", "machine-id    " + "0" * 32, "options       console=ttyAMA0 panic=5"):
        assert fact in menu.screen.text.split("\n")
    menu.press(" ", HELP).press("h", "Ctrl-L")
    menu.press(" ", HELP).press("\r", "It cannot be started: not found: /kernels/none")


def test_d_sets_and_clears_the_default(esp, boot):
    entries(esp)
    menu = Menu(boot).open().select("Kernel 64k")
    menu.press("d", "\npreferred entry from now on: test-64k.conf")
    menu.wait("* boots by itself: test-64k.conf, preferred entry").wait("\n>* 3  64K  Kernel 64k")
    menu.select("Kernel 64k").press("D", "\ndefault entry from now on: test-64k.conf")
    menu.press("d", "\nno longer the preferred entry: test-64k.conf").wait("test-64k.conf, default entry")
    menu.press("1", lambda text: menu.selected().endswith("Kernel 4k"))
    machine = menu.boot()
    assert machine.page_size() == 4096
    variable = "/sys/firmware/efi/efivars/Loader%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    assert machine.run("test -e " + variable % "EntryPreferred")[0] == 1
    assert machine.ok(f"tail -c +5 {variable % 'EntryDefault'} | tr -d '\\000'") == "test-64k.conf"


def test_an_entry_that_is_passed_over_is_made_the_default_by_a_second_press(esp, boot):
    entries(esp, ("4k", "16k"))
    esp.add_entry("test-bad+0-3", "/kernels/4k", "1", title="Bad one", sort_key="4")
    menu = Menu(boot, cpu=WITHOUT_16K).open().select("Kernel 16k")
    menu.press("d", "Press it again to set it although it is passed over: not supported by this CPU")
    menu.press("D", "passed over: not supported").press("D", "default entry from now on: test-16k.conf")
    menu.press("D", "no longer the default entry: test-16k.conf")
    menu.select("Bad one").press("d", "passed over: bad: no tries left")


def test_the_timeout_is_written_when_the_menu_is_left(esp, boot):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("+", "Menu from the next boot on: shown until somebody chooses.")
    menu.press("+", "hidden until a key is pressed.")
    menu.press("t" * 8, "shown for 8 s.").press("-", "shown for 7 s.")
    machine = menu.boot()
    variable = "/sys/firmware/efi/efivars/LoaderConfigTimeout-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    assert machine.ok(f"od -An -tx1 {variable}").split() == "07 00 00 00 37 00 00 00".split()


@ON_EVERY_FIRMWARE
def test_noise_does_not_switch_off_and_grave_keys_work_when_pressed_twice(esp, boot):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("O", "Press it again to power off.")
    menu.press("x").press("O", "Press it again to power off.").press("B", "Press it again to reboot.")
    menu.press("Q", "Press it again to go back to firmware.")
    # An arrow key whose bytes come one by one is not Escape and B.
    menu.press("B", "Press it again to reboot.").press("\x1b[B").open()
    menu.press("O").press("O")
    assert menu.machine.qemu.wait(timeout=60) == 0


def test_b_reboots_and_loses_no_setting(esp, boot):
    entries(esp, ("4k",))
    menu = Menu(boot, icount=False).open()
    menu.press("+", "Menu from the next boot on: shown until somebody chooses.")
    menu.press("B", "Press it again to reboot.")
    menu.machine.console = ""
    menu.press("B", lambda text: "BdsDxe: starting" in menu.machine.console).open()
    menu.press("v", "Menu from the next boot on: shown until somebody chooses.")


@ON_EVERY_FIRMWARE
def test_q_goes_back_to_firmware(esp, boot, firmware):
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("Q", "Press it again to go back to firmware.")
    menu.press("Q", {"edk2": "Boot Maintenance Manager", "uboot": "\n=>"}[firmware])


def test_r_takes_the_next_text_mode_and_remembers_it(esp, boot):
    """EDK II's third mode has 100 columns and 31 rows: more than the screen of the test, whose last row shows the help."""
    entries(esp, ("4k",))
    menu = Menu(boot).open()
    menu.press("r", "Text mode 2: 100x31; R goes back").wait(HELP).settle()
    # In a row that every terminal has.
    assert menu.screen.line(1) == "Text mode 2: 100x31; R goes back"
    menu.press("R", "Text mode as at first").open()
    assert HELP in menu.screen.line(23) and "Text mode" in menu.screen.line(22)
    menu.press("r", "Text mode 2")
    machine = menu.boot()
    assert machine.ok(f"tail -c +5 /sys/firmware/efi/efivars/LoaderConfigConsoleMode-{LOADER} | tr -d '\\000'") == "2"


def test_what_the_cpu_lacks_is_started_only_by_a_person_who_insists(esp, boot):
    entries(esp, ("4k", "16k"))
    menu = Menu(boot, cpu=WITHOUT_16K).open().select("Kernel 16k")
    menu.press("\r", "Press it again to try a kernel that this CPU does not support.")
    menu.machine.send("\r")
    menu.machine.wait_for("/kernels/16k came back: unsupported format, architecture or page size")
    menu.open().wait("Kernel 16k (cannot be started: unsupported format, architecture ...)")


def loader_time(machine, name):
    return int(machine.ok(f"tail -c +5 /sys/firmware/efi/efivars/LoaderTime{name}USec-{LOADER} | tr -d '\\000'"))


def test_a_key_before_the_loader_starts_opens_the_hidden_menu_and_is_not_waited_for(esp, boot):
    """EDK II looks at the serial line each 20 ms only: the byte may wait in the hardware."""
    entries(esp, conf="")
    menu = Menu(boot)
    menu.machine.wait_for("BdsDxe: loading")
    menu.machine.send(" ")
    menu.open()
    menu.machine.kill()

    machine = boot()
    assert loader_time(machine, "Exec") - loader_time(machine, "Init") < 30_000


@ON_EVERY_FIRMWARE
def test_a_key_that_is_held_down_while_firmware_starts_opens_the_hidden_menu(esp, boot):
    """Whatever firmware reads for itself: what comes after that is seen until the kernel starts."""
    entries(esp, conf="")
    menu = Menu(boot, icount=False)
    menu.machine.wait_for({"edk2": "UEFI firmware", "uboot": "Booting /efi"}[menu.machine.firmware])
    for _ in range(2000):
        if HELP in menu.screen.text:
            break
        menu.machine.send(" ")
        menu.machine._read(0.03)
        assert "Linux version" not in menu.machine.console and READY not in menu.machine.console
    menu.open()


@ON_EVERY_FIRMWARE
def test_a_key_while_the_kernel_is_loaded_opens_the_hidden_menu_and_costs_one_try(esp, boot):
    entries(esp, ("4k",), conf="")
    (esp.path / "loader/entries/test-4k.conf").rename(esp.path / "loader/entries/test-4k+3.conf")
    # A large file takes its time.
    big = kernel("4k").read_bytes()
    esp.add_file("/kernels/4k", big + bytes(60 << 20))
    menu = Menu(boot, icount=False)
    # The try is counted down first, and that is seen on the disk.
    names = ["mdir", "-b", "-i", f"{menu.machine.disk}@@{ESP_START}", "::/loader/entries"]
    deadline = time.monotonic() + 60
    while "test-4k+2-1.conf" not in subprocess.run(names, capture_output=True, text=True).stdout:
        assert time.monotonic() < deadline
    menu.machine.send(" ")
    menu.open()
    machine = menu.boot()
    assert machine.ok("ls /efi/loader/entries") == "test-4k+2-1.conf"


@ON_EVERY_FIRMWARE
def test_a_key_that_came_while_entries_were_read_opens_the_hidden_menu(esp, boot):
    entries(esp, conf="")
    # Enough of them that a key can be pressed in time.
    for i in range(300):
        esp.add_entry(f"test-more-{i}", "/kernels/64k", "1")
    menu = Menu(boot, icount=False)
    menu.machine.wait_for(STARTS_LOADER[menu.machine.firmware])
    menu.machine.send(" ")
    menu.open().press("2", lambda text: menu.selected().endswith("16k"))
    assert menu.boot().page_size() == 16384


def test_a_stray_byte_does_not_keep_the_machine_down(esp, boot):
    entries(esp, conf="timeout 200\n")
    menu = Menu(boot).open()
    # After a minute of the guest's time what would have booted anyhow does, with a warning.
    menu.press("j", "Boots * in 9 s. Any key stops it.")
    assert menu.selected().endswith("16k")
    menu.machine.wait_for(READY)
    assert menu.machine.page_size() == 4096


def test_an_editor_that_was_left_open_does_not_keep_the_machine_down(esp, boot):
    entries(esp, conf="timeout 200\n")
    menu = Menu(boot).open()
    menu.machine.send("eX")
    menu.machine.wait_for(READY)
    assert menu.machine.ok("cat /proc/cmdline") == "console=ttyAMA0 panic=5"


@ON_EVERY_FIRMWARE
@pytest.mark.parametrize("without", ["none", "no-input", "no-output", "broken"])
def test_without_a_console_the_default_boots_whatever_the_menu_should_do(esp, boot, firmware, without):
    program = BUILD / "aa64/tests/e2e/efi/no_console.efi"
    esp.add_file("/EFI/BOOT/BOOTAA64.EFI", program)
    esp.add_file("/program.efi", program)
    esp.add_file(f"/{without}/granule.efi", BUILD / "granule-bootaa64.efi")
    (esp.path / "loader/entries/a.conf").write_text("title A\nefi /program.efi\noptions started\n")
    # A message about it must not do harm either.
    (esp.path / "loader/entries/b.conf").write_text("title B\nefi /missing.efi\n")
    (esp.path / "loader/loader.conf").write_text("timeout menu-force\n")
    boot(wait=False).wait_for("@@STARTED@@")

