# SPDX-License-Identifier: GPL-2.0-or-later
import re

import pytest

import images
from boots import Boots

RULES = ["oneshot", "preferred", "preferred-config", "default", "default-config", "policy", "order", "last-resort"]


@pytest.fixture
def machine(system):
    system.loader()
    system.env["TZ"] = "UTC"
    for i, (size, bits) in enumerate({"4k": 1, "16k": 2, "64k": 3}.items()):
        system.entry(f"os-{size}", images.arm64(bits), version="6.1", sort_key=f"key{i}")
    (system.root / "sys/class/watchdog/watchdog0").mkdir(parents=True)
    (system.root / "sys/class/watchdog/watchdog0/state").write_text("active\n")
    (system.root / "sys/class/watchdog/watchdog0/identity").write_text("test\n")
    return system


@pytest.fixture
def boots(machine):
    return Boots(machine)


def record(machine, text):
    machine.set_variable("GranuleBoot", text)


def outcomes(machine):
    return {link["rule"]: (link["asked"], link["outcome"]) for link in machine.json("why")["chain"]}


def lines_of(out):
    """The lines of the chain: what a rule wanted, and what came of it."""
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in out.splitlines() if line.startswith("  ")
                and not re.match(r" *[\w ]+: ", line[:14]))


def test_the_chain_has_what_each_rule_wanted_and_what_came_of_it(machine, boots):
    boots.running("64k", release="6.1-64k")
    machine.set_variable("LoaderEntrySelected", "os-64k.conf")
    record(machine, "entry=os-64k.conf\npage-size=64k\nkind=fixed\nreason=policy\n"
           "asked.oneshot=os-old.conf\noutcome.oneshot=no-entry\nasked.preferred-config=os-16k*\n"
           "outcome.preferred-config=bad\nasked.default=os-8k\noutcome.default=unsupported\n"
           "asked.policy=64k\noutcome.policy=chosen\nexplain=policy 64k: newest entry of that page size\n"
           "failed=os-x.conf: kernel missing\nleft-out=os-64k.conf: a.dtbo: bad\n")
    assert outcomes(machine) == {
        "oneshot": ("os-old.conf", "no-entry"), "preferred": (None, "not-set"), "preferred-config": ("os-16k*", "bad"),
        "default": ("os-8k", "unsupported"), "default-config": (None, "not-set"), "policy": ("64k", "chosen"),
        "order": (None, "not-asked"), "last-resort": (None, "not-asked")}
    out = machine.ok("why")
    assert lines_of(out) == {
        "one-shot": "os-old.conf: no such entry", "preferred entry": "nothing wanted",
        "preferred entry of loader.conf": "os-16k*: it is bad, no tries are left",
        "default entry": "os-8k: this CPU lacks its page size", "default entry of loader.conf": "nothing wanted",
        "policy": "64k: chosen", "first entry in menu order": "not asked, something before it had chosen",
        "last resort, nothing better is left": "not asked, something before it had chosen"}
    for words in ("running: 65536-byte pages, kernel 6.1-64k", "booted: os-64k.conf", "loader: granule-boot 0.1.0",
                  "because: policy 64k: newest entry", "CPU: 4k 16k 64k", "failed: os-x.conf: kernel missing",
                  "left out: os-64k.conf: a.dtbo: bad"):
        assert words in out
    assert "trial" not in out
    answer = machine.json("why")
    assert answer["page_size"] == 65536 and answer["rule"] == "policy" and answer["trial"] is None
    assert [link["rule"] for link in answer["chain"]] == RULES


@pytest.mark.parametrize("reason, order, last", [("order", "chosen", "not-asked"), ("last-resort", "no-entry", "chosen"),
                                                 ("menu", "not-asked", "not-asked"), ("oneshot", "not-asked", "not-asked")])
def test_what_needs_no_wish_is_told_as_it_came(machine, boots, reason, order, last):
    machine.set_variable("LoaderEntrySelected", "os-4k.conf")
    record(machine, f"entry=os-4k.conf\npage-size=4k\nreason={reason}\nasked.policy=64k\noutcome.policy=unsupported\n")
    got = outcomes(machine)
    assert got["order"][1] == order and got["last-resort"][1] == last and got["policy"] == ("64k", "unsupported")
    assert ("menu" in got) == (reason == "menu")
    assert "policy                              64k: this CPU lacks 64K pages" in machine.ok("why")


def test_tries_of_the_booted_entry_are_told(machine, boots):
    (machine.efi / "loader/entries/os-4k.conf").rename(machine.efi / "loader/entries/os-4k+2-1.conf")
    boots.boot(entry="os-4k.conf")
    assert "tries: 2 left, 1 done for the booted entry\n" in machine.ok("why")
    assert machine.json("why")["tries_left"] == 2


def test_under_another_loader_what_is_stored_is_set_beside_what_was_booted(machine, boots):
    machine.loader("systemd-boot 252.1", features=1 << 2 | 1 << 3, cpu=None)
    (machine.efi / "loader/loader.conf").write_text("default os-1*\n")
    machine.set_variable("LoaderEntryDefault", "os-4k.conf")
    boots.boot(entry="os-16k.conf", record=False)
    assert outcomes(machine) == {"oneshot": (None, None), "preferred": (None, "not-set"),
                                 "preferred-config": (None, "not-set"), "default": ("os-4k.conf", "not-named"),
                                 "default-config": ("os-1*", "named")}
    out = machine.ok("why")
    assert "this loader does not say how it decided" in out and "systemd-boot 252.1" in out
    assert lines_of(out)["default entry"] == "os-4k.conf: something else was booted"
    assert lines_of(out)["default entry of loader.conf"] == "os-1*: that was booted"
    assert "not known" in lines_of(out)["one-shot"]


@pytest.mark.parametrize("loader", ["granule-boot 0.1.0", "systemd-boot 257.1"])
def test_a_trial_is_told_from_the_arming_to_the_verdict(machine, boots, loader):
    machine.loader(loader)
    own = loader.startswith("granule")
    boots.boot(record=own)
    assert boots.verify().returncode == 0
    machine.ok("try", "64k")
    out = machine.ok("why")
    assert "trial: 64K pages, os-64k.conf: it waits for the next boot" in out and "last trial" not in out
    assert outcomes(machine)["oneshot"][0] is None, "it is not of this boot"
    boots.boot(record=own, size="4k")
    assert "it runs, and has no verdict yet" in machine.ok("why")
    assert outcomes(machine)["oneshot"] == ("os-64k-trial.conf", "chosen" if own else "named")
    assert machine.json("why")["trial"]["entry"] == "os-64k.conf"
    boots.verify()
    assert re.search(r"last trial: 64K was tried on 20\d\d-\d\d-\d\d \d\d:\d\d: failed: \w+: .*64", machine.ok("why"))
    assert machine.json("why")["trial"] is None and machine.json("why")["last_trial"]["verdict"] == "failed"
    boots.boot(record=own)
    assert "last trial: 64K was tried" in machine.ok("why")
    # One that does not come up.
    machine.ok("try", "64k")
    boots.boot(entry="os-4k.conf", record=own)
    assert "something else was booted; 'granule verify --boot' records that" in machine.ok("why")
    boots.verify()
    assert re.search(r"last trial: 64K was tried on .*: not-come-up: ", machine.ok("why"))


def test_a_boot_without_a_word_of_the_loader_is_said_to_be_unknown(system):
    done = system.run("why")
    assert done.returncode == 1 and "does not say what it booted" in done.stderr
    assert "not known" in done.stdout and system.run("why", "--json").returncode == 1


def test_a_boot_in_which_no_entry_could_be_started_is_told(machine):
    record(machine, "asked.policy=64k\noutcome.policy=unusable\nexplain=no entry can be started\nfailed=a.conf: gone\n")
    out = machine.ok("why")
    assert "booted: none could be started; firmware went on by itself" in out and "failed: a.conf: gone" in out


def test_why_changes_nothing_and_needs_no_partition(machine, boots, tmp_path):
    boots.boot()
    before = machine.files()
    (machine.root / "efi").rename(tmp_path / "gone")
    assert "booted: os-" in machine.run("why").stdout
    (tmp_path / "gone").rename(machine.root / "efi")
    assert machine.files() == before and not (machine.root / "var").exists()
