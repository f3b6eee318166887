# SPDX-License-Identifier: GPL-2.0-or-later
"""The owner's checks in verify.d: which are run, how, and what is told of those that fail."""

import json
import os
import signal
import subprocess
import time

import pytest

from system import TOP

PROBE = TOP / "build/asan/probe"
ETC, USR = "etc/granule/verify.d", "usr/lib/granule/verify.d"


@pytest.fixture
def root(tmp_path):
    (tmp_path / ETC).mkdir(parents=True)
    (tmp_path / USR).mkdir(parents=True)
    return tmp_path


def add(root, name, text, folder=ETC, mode=0o755, shell="#!/bin/sh\n"):
    file = root / folder / name
    file.write_text(shell + text + "\n")
    file.chmod(mode)
    return file


def settings(root, text):
    (root / "etc/granule.conf").write_text(text)


def look(root, **env):
    """Problems, and what was complained about."""
    done = subprocess.run([PROBE, "look", root], capture_output=True, text=True, env={**os.environ, **env}, timeout=60,
                          umask=0o077)
    assert done.returncode == 0 and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    return json.loads(done.stdout)["problems"], [line.replace(str(root), "") for line in done.stderr.splitlines()]


def is_gone(pid):
    """A zombie is nobody's process any more."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def test_checks_that_pass_are_not_mentioned(root):
    add(root, "a", "echo all is well; echo really >&2")
    assert look(root) == ([], [])


def test_without_folders_there_is_nothing_to_check(tmp_path):
    assert look(tmp_path) == ([], [])


@pytest.mark.parametrize("text,want", [
    ("echo first; echo '  the last line '; echo; exit 3", "exit code 3: the last line"),
    ("echo out; echo to stderr >&2; exit 1", "exit code 1: to stderr"),
    ("exit 255", "exit code 255"),
    ("printf 'no line end'; exit 1", "exit code 1: no line end"),
    ("printf 'a\\0b\\nc\\0d\\n'; exit 1", "exit code 1: c?d"),
    ("kill -SEGV $$", "killed by signal 11 (Segmentation fault)"),
    ("echo dying; kill -KILL $$", "killed by signal 9 (Killed): dying"),
    ("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end; exit 1", "exit code 1: end"),
    ("head -c 300000 /dev/zero | tr '\\0' x; exit 1", "exit code 1: " + 200 * "x"),
])
def test_a_check_that_fails_is_told_with_its_last_line(root, text, want):
    add(root, "disk-speed", text)
    assert look(root) == ([f"check disk-speed: {want}"], [])


@pytest.mark.parametrize("shell,want", [
    ("#!/no/such/interpreter\n", "cannot be started: No such file or directory"),
    ("no program\n", "cannot be started: Exec format error"),
    ("\x7fELF\x02\x01\x01", "cannot be started: Exec format error"),
])
def test_what_cannot_be_started_has_failed(root, shell, want):
    add(root, "a", "", shell=shell)
    assert look(root) == ([f"check a: {want}"], [])


def test_all_checks_run_in_the_order_of_their_names_whatever_the_first_says(root):
    for name in ("b", "10-a", "9-a", "B", "a_b", "a-b"):
        add(root, name, f"echo {name} >> {root}/order; exit 1")
    problems, _ = look(root)
    order = ["10-a", "9-a", "B", "a-b", "a_b", "b"]
    assert (root / "order").read_text().split() == order
    assert problems == [f"check {name}: exit code 1" for name in order]


def test_a_check_gets_a_clean_environment_and_what_there_is_to_know(root):
    add(root, "a", f"env > {root}/env; pwd > {root}/cwd; ls -l /proc/$$/fd > {root}/fds; cat > {root}/stdin; "
                   f"umask > {root}/umask; cut -d' ' -f1,5,6 /proc/$$/stat > {root}/ids")
    assert look(root, GRANULE_ENTRY="x-64k.conf", GRANULE_TRIAL="1", LD_LIBRARY_PATH="/evil", FOO="bar") == ([], [])
    env = dict(line.split("=", 1) for line in (root / "env").read_text().splitlines())
    env.pop("PWD", None), env.pop("_", None), env.pop("SHLVL", None), env.pop("OLDPWD", None)
    assert env == {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                   "GRANULE_PAGE_SIZE": str(os.sysconf("SC_PAGESIZE")), "GRANULE_ENTRY": "x-64k.conf",
                   "GRANULE_TRIAL": "1"}
    assert (root / "cwd").read_text() == "/\n" and (root / "stdin").read_text() == ""
    assert (root / "umask").read_text() == "0022\n"
    pid, group, session = (root / "ids").read_text().split()
    assert pid == group == session
    links = [line for line in (root / "fds").read_text().splitlines() if "->" in line]
    assert not [line for line in links if "/dev/null" not in line and "pipe:" not in line
                and str(root) not in line], links


def test_what_the_owner_puts_in_etc_stands_for_the_one_of_the_vendor(root):
    add(root, "a", "exit 1", folder=USR)
    add(root, "b", "exit 2", folder=USR)
    add(root, "b", "exit 3")
    assert look(root)[0] == ["check a: exit code 1", "check b: exit code 3"]


@pytest.mark.parametrize("how", ["link", "empty"])
def test_a_check_of_the_vendor_can_be_masked(root, how):
    add(root, "a", "exit 1", folder=USR)
    if how == "link":
        os.symlink("/dev/null", root / ETC / "a")
    else:
        (root / ETC / "a").touch()
    assert look(root) == ([], [])


def test_names_that_run_parts_does_not_take_are_not_run_and_those_that_look_meant_are_named(root):
    for name in ("a.sh", "b~", ".c", "d.dpkg-old", "e.bak"):
        add(root, name, "exit 1")
    add(root, "README.txt", "not a program", mode=0o644, shell="")
    assert look(root) == (["check a.sh: not run: names of checks have letters, digits, '-' and '_' only"], [])


@pytest.mark.parametrize("spoil,want", [
    (lambda f: f.chmod(0o644), "not executable"),
    (lambda f: f.chmod(0o757), "others than root can write it"),
    (lambda f: (os.chown(f, 0, 1000), f.chmod(0o775)), "others than root can write it"),
    (lambda f: os.chown(f, 1000, 0), "others than root can write it"),
    (lambda f: (f.unlink(), f.mkdir()), "not a file"),
    (lambda f: (f.unlink(), os.symlink("nowhere", f)), "No such file or directory"),
    (lambda f: (f.unlink(), os.mkfifo(f, 0o755)), "not a file"),
])
def test_what_cannot_be_run_is_not_in_order(root, spoil, want):
    if os.geteuid():
        pytest.skip("changes owners of files: needs root")
    spoil(add(root, "a", "exit 1"))
    assert look(root) == ([f"check a: not run: {want}"], [])


def test_a_folder_that_others_can_write_is_not_looked_into(root):
    add(root, "a", "exit 1")
    (root / ETC).chmod(0o777)
    assert look(root) == ([f"check folder {root}/{ETC}: not run: others than root can write there"], [])


# ---- time ----


def test_a_check_that_takes_too_long_is_killed_with_all_it_started(root):
    settings(root, "check-timeout = 1s\n")
    add(root, "slow", f"sleep 1000 & echo $! > {root}/pid; echo $$ >> {root}/pid; echo waiting; wait")
    assert look(root) == (["check slow: took longer than 1 s: waiting"], [])
    pids = (root / "pid").read_text().split()
    assert len(pids) == 2
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_what_a_check_has_started_may_clean_up_too(root):
    settings(root, "check-timeout = 1s\n")
    add(root, "slow", f"trap : TERM; (trap 'touch {root}/cleaned; exit 0' TERM; while :; do sleep 0.1; done) &\n"
                      "wait; wait")
    look(root)
    assert (root / "cleaned").exists()


def test_a_check_may_clean_up_when_its_time_is_over(root):
    settings(root, "check-timeout = 1s\n")
    add(root, "slow", f"trap 'touch {root}/cleaned; exit 1' TERM; while :; do sleep 0.1; done")
    (problem,), _ = look(root)
    assert problem.startswith("check slow: took longer than 1 s")
    assert (root / "cleaned").exists()


def test_a_check_that_will_not_end_is_killed_for_good(root):
    settings(root, "check-timeout = 1s\n")
    add(root, "deaf", f"trap '' TERM; echo $$ > {root}/pid; while :; do sleep 0.1; done")
    start = time.monotonic()
    assert look(root)[0] == ["check deaf: took longer than 1 s"]
    assert 5 < time.monotonic() - start < 20
    assert is_gone((root / "pid").read_text().strip())


def test_a_stopped_check_is_ended_too(root):
    settings(root, "check-timeout = 1s\n")
    add(root, "stopped", f"trap 'touch {root}/woken; exit 1' TERM; kill -STOP $$")
    assert look(root)[0] == ["check stopped: took longer than 1 s"]
    assert (root / "woken").exists()


def test_what_a_check_leaves_behind_does_not_hold_us_up(root):
    add(root, "starts-a-daemon", f"setsid sh -c 'echo $$ > {root}/pid; exec sleep 1000' & "
                                 f"while ! [ -s {root}/pid ]; do sleep 0.05; done")
    start = time.monotonic()
    try:
        assert look(root) == ([], [])
        assert time.monotonic() - start < 30
    finally:
        os.kill(int((root / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("text", ["exec yes", "exec yes >&2", "exec >&- 2>&-; sleep 1000"])
def test_neither_endless_output_nor_none_holds_us_up(root, text):
    settings(root, "check-timeout = 1s\n")
    add(root, "a", text)
    (problem,), _ = look(root)
    assert problem.startswith("check a: took longer than 1 s")


def test_much_output_takes_little_memory(root):
    add(root, "a", "head -c 300000000 /dev/zero; echo; echo end; exit 1")
    process = subprocess.Popen([PROBE, "look", root], stdout=subprocess.PIPE, text=True)
    answer = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    assert json.loads(answer)["problems"] == ["check a: exit code 1: end"]
    assert usage.ru_maxrss < 150_000


def test_all_checks_together_have_a_limit(root):
    settings(root, "verify-timeout = 1s\ncheck-timeout = 1m\n")
    add(root, "a", "sleep 1000")
    add(root, "b", f"touch {root}/ran")
    assert look(root)[0] == ["check a: took longer than 1 s",
                             "check b: not run: those before it took all 1 s of verify-timeout"]
    assert not (root / "ran").exists()


def test_it_works_where_signals_of_children_are_ignored(root):
    """As some init scripts leave it."""
    add(root, "a", "exit 4")
    done = subprocess.run([PROBE, "look", root], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert json.loads(done.stdout)["problems"] == ["check a: exit code 4"]
