# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of /var/lib/granule, through a program that calls it as commands do."""
import hashlib
import json
import os
import subprocess

import pytest

from system import PLAIN, TOP

ASAN = TOP / "build/asan/state-tool"
SHIPPED = PLAIN.parent / "state-tool"
HISTORY_MAX = 256 << 10


class State:
    def __init__(self, root):
        self.root, self.folder = root, root / "var/lib/granule"
        root.mkdir(parents=True)

    def run(self, *calls, program=ASAN, **environment):
        done = subprocess.run([program, self.root, *calls], env={**os.environ, **environment}, capture_output=True,
                              text=True)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode in (0, 1, 77), done
        return done

    def ok(self, *calls, **keywords):
        done = self.run(*calls, **keywords)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout

    def texts(self):
        """The history, as the texts that were added, and the number of damaged lines."""
        *lines, damaged = self.ok("open", "history").splitlines()
        return [json.loads(line).get("reason") for line in lines], int(damaged.split()[1])

    def record(self, name):
        return self.folder / f"{name}.json"

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "root")


RECORDS = {"verified": ("verify=a.conf", "verified", "verified - unknown 0 0, before -, baseline 0 0 0 0\n"),
           "trial": ("try=a.conf", "trial", "no trial\n")}


def seal(name, record, version=1):
    """A record with the checksum that belongs to it."""
    line = record if isinstance(record, bytes) else json.dumps(record).encode()
    head = {"granule": name, "version": version, "sha256": hashlib.sha256(line).hexdigest()}
    return json.dumps(head).encode() + b"\n" + line + b"\n"


# ---- records ----


def test_without_a_folder_the_state_is_empty_and_reading_makes_none(state):
    assert state.ok("open", "verified", "trial", "history") == RECORDS["verified"][2] + "no trial\ndamaged 0\n"
    assert not list(state.root.iterdir())


def test_records_are_read_as_they_were_written(state):
    state.ok("lock", "verify=a.conf", "verify=b.conf", "try=x.conf")
    assert state.ok("open", "verified", "trial") == \
        "verified b.conf 64k 1 1700000000, before a.conf, baseline 1 0 1 0\n" \
        "trial 0 x.conf trial-x.conf a-trial+0.conf 1 16k 3 0 600 1 -5\n"
    state.ok("lock", "untry", "untry")
    assert state.ok("open", "trial") == "no trial\n" and state.names() == ["lock", "verified.json"]


def test_everybody_may_read_the_state_and_nobody_else_may_hold_its_lock(state):
    before = os.umask(0o077)
    try:
        state.ok("lock", "verify=a.conf", "add=x")
    finally:
        os.umask(before)
    modes = {name: (state.folder / name).stat().st_mode & 0o777 for name in state.names()}
    assert modes == {"lock": 0o600, "verified.json": 0o644, "history.jsonl": 0o644}
    assert state.folder.stat().st_mode & 0o777 == 0o755


def test_a_dry_run_makes_nothing(state):
    state.ok("lock", "verify=a.conf", "try=a.conf", "add=x", "untry", DRY_RUN="1")
    assert not list(state.root.iterdir())


def damage(path, kind):
    text = path.read_bytes()
    head, line, _ = text.split(b"\n")
    record = json.loads(line)
    name = path.stem
    path.unlink()
    if kind == "folder":
        path.mkdir()
        (path / "x").write_text("x")
        return
    path.write_bytes({
        "empty": b"",
        "first line only": head + b"\n",
        "cut in the head": text[:40],
        "garbage": bytes(range(256)) * 4,
        "zeroes": b"\0" * len(text),
        "a NUL in the record": text.replace(b"conf", b"con\0"),
        "a NUL with its checksum": seal(name, line.replace(b"conf", b"con\0")),
        "an escaped NUL": seal(name, line.replace(b"conf", b"con\\u0000")),
        "another byte": text.replace(b"conf", b"conF"),
        "another checksum": text.replace(b'"sha256":"', b'"sha256":"0'),
        "no checksum": b'{"granule":"%s","version":1}\n' % name.encode() + line + b"\n",
        "more behind it": text + b"{}\n",
        "the other record": text.replace(b'"granule":"', b'"granule":"x'),
        "version 0": seal(name, record, version=0),
        "version as text": seal(name, record, version="1"),
        "no object": seal(name, b"[1]"),
        "no JSON": seal(name, b"{'a': 1}"),
        "bad UTF-8": seal(name, line.replace(b"conf", b"con\xff")),
        "no fields": seal(name, {}),
        "too large": text + b" " * (2 << 20),
    }[kind])


DAMAGES = ["empty", "first line only", "cut in the head", "garbage", "zeroes", "a NUL in the record",
           "a NUL with its checksum", "an escaped NUL", "another byte", "another checksum", "no checksum",
           "more behind it", "the other record", "version 0", "version as text", "no object", "no JSON", "bad UTF-8",
           "no fields", "too large", "folder"]


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_record_is_set_aside_with_one_line_and_counts_as_none(state, name, kind):
    write, read, none = RECORDS[name]
    state.ok("lock", write)
    damage(state.record(name), kind)
    # Whoever only reads says so, and leaves it.
    done = state.run("open", read)
    assert done.stdout == none and done.stderr.count("\n") == 1 and f"{name}.json: damaged: " in done.stderr
    assert state.names() == ["lock", f"{name}.json"]
    done = state.run("lock", read, read)
    assert done.stdout == none * 2 and done.stderr.count("\n") == 1, "the second time it is gone"
    assert done.stderr.endswith(f"; renamed to {name}.json.damaged\n")
    assert state.names() == ["lock", f"{name}.json.damaged"]
    # And the next one does not overwrite the evidence.
    state.ok("lock", write)
    damage(state.record(name), kind)
    assert f"renamed to {name}.json.damaged-2" in state.run("lock", read).stderr
    state.ok("lock", write, read)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_is_cut_at_any_byte_is_never_guessed(state, name):
    write, read, none = RECORDS[name]
    state.ok("lock", write)
    path = state.record(name)
    text = path.read_bytes()
    for size in range(len(text)):
        path.write_bytes(text[:size])
        done = state.run("open", read, program=SHIPPED)
        assert done.stdout == none and done.stderr.count("\n") == 1, size


def fields_of(record, path=()):
    for key, value in record.items():
        yield path + (key,)
        if isinstance(value, dict) and path == ():
            yield from fields_of(value, (key,))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_with_its_checksum_and_a_field_that_is_missing_or_wrong_is_set_aside(state, name):
    write, read, none = RECORDS[name]
    state.ok("lock", "verify=a.conf", write)
    whole = json.loads(state.record(name).read_text().split("\n")[1])
    fields = list(fields_of(whole))
    assert len(fields) > 10
    for path in fields:
        for wrong in ("missing", {"a": 1}, 1.5, "\u0001 no such word"):
            record = json.loads(json.dumps(whole))
            place = record
            for key in path[:-1]:
                place = place[key]
            if wrong == "missing" and path == ("words",):
                continue  # earlier versions wrote none
            if wrong == "missing":
                del place[path[-1]]
            elif isinstance(wrong, str) and isinstance(place[path[-1]], (str, type(None))) and \
                    path[-1] not in ("page_size", "stage", "volume", "wish"):
                continue  # any text will do
            else:
                place[path[-1]] = wrong
            state.record(name).write_bytes(seal(name, record))
            done = state.run("open", read, program=SHIPPED)
            assert done.stdout == none and done.stderr.count("\n") == 1, (path, wrong)
            assert path[0] in done.stderr


@pytest.mark.parametrize("file", ["../../efi/x", ".hidden", "", "/etc/passwd"])
def test_a_trial_whose_file_is_not_in_the_folder_of_entries_is_damaged(state, file):
    state.ok("lock", "try=a.conf")
    record = json.loads(state.record("trial").read_text().split("\n")[1])
    state.record("trial").write_bytes(seal("trial", {**record, "file": file}))
    done = state.run("lock", "trial")
    assert done.stdout == "no trial\n" and "its file is missing or wrong" in done.stderr


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_a_newer_version_is_refused_and_stays_as_it_is(state, name):
    write, read, _ = RECORDS[name]
    state.ok("lock", write)
    text = b'{"granule":"%s","version":2}\nwhatever\n' % name.encode()
    state.record(name).write_bytes(text)
    for calls in (("open", read), ("lock", read), ("lock", write)) + ((("lock", "untry"),) if name == "trial" else ()):
        done = state.run(*calls)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert "written by a newer granule (version 2 of it), left alone" in done.stderr
    assert state.record(name).read_bytes() == text and state.names() == ["lock", f"{name}.json"]


def test_fields_of_a_later_granule_in_the_same_version_are_passed_over(state):
    state.ok("lock", "try=a.conf")
    record = json.loads(state.record("trial").read_text().split("\n")[1])
    state.record("trial").write_bytes(seal("trial", {"new": [1], **record}))
    assert state.ok("open", "trial").startswith("trial 0 a.conf")


def test_half_of_the_files_damaged_leave_the_other_half(state):
    state.ok("lock", "verify=a.conf", "try=x.conf", "add=one")
    state.record("trial").write_bytes(b"\0" * 100)
    done = state.run("open", "verified", "trial", "history")
    assert "verified a.conf" in done.stdout and "no trial" in done.stdout and '"one"' in done.stdout


# ---- places that cannot be written ----


def test_links_are_not_followed_for_writing(state, tmp_path):
    state.ok("lock", "verify=a.conf")
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    for name in ("verified.json", "trial.json", "history.jsonl"):
        (state.folder / name).unlink(missing_ok=True)
        (state.folder / name).symlink_to(outside)
    done = state.run("lock", "verify=a.conf", "try=a.conf", "add=one", "add=two")
    assert done.returncode == 0 and outside.read_text() == "mine\n"
    assert "history.jsonl: damaged: it is no file; renamed to history.jsonl.damaged" in done.stderr
    assert state.texts() == (["one", "two"], 0)
    (state.folder / "lock").unlink()
    (state.folder / "lock").symlink_to(tmp_path / "made")
    done = state.run("lock", "add=three")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and not (tmp_path / "made").exists()


def test_a_link_in_place_of_the_folder_is_refused(state, tmp_path):
    (state.root / "var/lib").mkdir(parents=True)
    (tmp_path / "else").mkdir()
    state.folder.symlink_to(tmp_path / "else")
    done = state.run("lock", "verify=a.conf")
    assert done.returncode == 1 and "the state cannot be changed" in done.stderr and done.stderr.count("\n") == 1
    assert not list((tmp_path / "else").iterdir())


def test_a_file_in_place_of_the_folder_is_one_line(state):
    (state.root / "var/lib").mkdir(parents=True)
    state.folder.write_text("")
    done = state.run("lock", "verify=a.conf")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "var/lib/granule: the state cannot be changed: Not a directory" in done.stderr


# ---- two at once ----


def test_a_change_waits_for_another_one_and_reading_does_not(state):
    state.ok("lock", "verify=a.conf")
    holder = subprocess.Popen([ASAN, state.root, "lock", "wait", "verify=b.conf"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "waiting\n"
    second = subprocess.Popen([ASAN, state.root, "lock", "verify=c.conf"], stdin=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.3)
    assert state.ok("open", "verified").startswith("verified a.conf")
    holder.stdin.close()
    assert holder.wait(10) == 0 and second.wait(10) == 0
    assert state.ok("open", "verified").startswith("verified c.conf 64k 1 1700000000, before b.conf")


def test_writers_at_once_lose_no_line(state):
    writers = [subprocess.Popen([SHIPPED, state.root, *(word for i in range(40) for word in ("lock", f"add={w}-{i}")
                                                       if i == 0 or word != "lock")]) for w in range(4)]
    assert [w.wait(60) for w in writers] == [0] * 4
    texts, damaged = state.texts()
    assert sorted(texts) == sorted(f"{w}-{i}" for w in range(4) for i in range(40)) and not damaged


# ---- history ----


def test_a_history_that_is_cut_at_any_byte_loses_the_cut_line_only_and_goes_on(state):
    state.ok("lock", *(f"add={i}" for i in range(2)))
    path = state.folder / "history.jsonl"
    text = path.read_bytes()
    length = len(text) // 2
    for size in range(len(text) + 1):
        path.write_bytes(text[:size])
        # An end that is missing altogether is no loss.
        whole = (size + 1) // length
        rest = size % length not in (0, length - 1)
        out = state.ok("open", "history", "lock", "add=next", "history", program=SHIPPED).splitlines()
        texts = [json.loads(line)["reason"] if line[0] == "{" else line for line in out]
        kept = [str(i) for i in range(whole)]
        assert texts == kept + [f"damaged {rest:d}"] + kept + ["next", f"damaged {rest:d}"], size


def test_garbage_in_the_middle_of_the_history_is_counted_and_passed_over(state):
    state.ok("lock", "add=0", "add=1")
    path = state.folder / "history.jsonl"
    first, second, _ = path.read_bytes().split(b"\n")
    garbage = [b"\0" * 4096, b"{", b"[1]", b'"text"', b"{} {}", b"\xff\xfe", second[:20], b'{"a":"\xff"}', b'{"a":1,}']
    path.write_bytes(b"\n".join([first, *garbage, b"", second]) + b"\n")
    assert state.texts() == (["0", "1"], len(garbage))
    state.ok("lock", "add=2")
    assert state.texts() == (["0", "1", "2"], len(garbage))


def test_a_folder_in_place_of_the_history_is_set_aside(state):
    (state.folder / "history.jsonl").mkdir(parents=True)
    done = state.run("open", "history")
    assert done.stdout == "damaged 0\n" and "history.jsonl: cannot be read: Is a directory" in done.stderr
    done = state.run("lock", "add=1")
    assert done.returncode == 0 and "renamed to history.jsonl.damaged" in done.stderr
    assert state.texts() == (["1"], 0)


def line(text, size=0):
    """A line of the history of a given size."""
    bare = json.dumps({"reason": text, "pad": ""})
    return json.dumps({"reason": text, "pad": "x" * max(0, size - len(bare) - 1)}) + "\n"


def fill(state, n):
    """A history of n full files."""
    state.folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        name = "history.jsonl" + (f".{n - 1 - i}" if i < n - 1 else "")
        (state.folder / name).write_text("".join(line(f"{i}.{j}", HISTORY_MAX // 4) for j in range(4)))
    return [f"{i}.{j}" for i in range(n) for j in range(4)]


@pytest.mark.parametrize("files", range(1, 6))
def test_a_full_history_is_rotated_and_only_the_oldest_file_goes(state, files):
    before = fill(state, files)
    state.ok("lock", "add=next")
    kept = before[4:] if files == 5 else before
    assert state.texts() == (kept + ["next"], 0)
    assert state.names() == ["history.jsonl", *(f"history.jsonl.{i + 1}" for i in range(min(files, 4))), "lock"]
    assert (state.folder / "history.jsonl").stat().st_size < 1000


@pytest.mark.parametrize("files", [1, 3, 5])
def test_a_power_cut_at_any_step_of_a_rotation_loses_no_line(tmp_path, fault_library, files):
    for at in range(1, 50):
        state = State(tmp_path / str(at))
        before = fill(state, files)
        kept = before[4:] if files == 5 else before
        done = state.run("lock", "add=next", program=SHIPPED, LD_PRELOAD=str(fault_library), FAULT_KIND="cut",
                         FAULT_AT=str(at))
        texts, damaged = state.texts()
        assert texts in (before, kept, kept + ["next"]) and damaged <= 1, at
        state.ok("lock", "add=again")
        texts, _ = state.texts()
        assert texts in (kept + ["again"], kept + ["next", "again"]), "a gap is filled before anything is dropped"
        if done.returncode == 0:
            break
        assert done.returncode == 77
    assert at > files + 2, "the faults were not reached"


def test_rotation_keeps_lines_that_are_read_meanwhile_once(state):
    """A reader opens the newest file first; whatever has moved by then is met under its new name."""
    before = fill(state, 2)
    os.link(state.folder / "history.jsonl", state.folder / "history.jsonl.2")
    assert state.texts() == (before, 0)


# ---- faults ----

CALLS = ["lock", "verify=a.conf", "try=a.conf", "add=one", "verify=b.conf", "untry"]


def test_a_power_cut_at_any_write_leaves_each_record_old_or_new(tmp_path, fault_library):
    for at in range(1, 100):
        state = State(tmp_path / str(at))
        state.ok("lock", "verify=0.conf", "add=zero")
        done = state.run(*CALLS, program=SHIPPED, LD_PRELOAD=str(fault_library), FAULT_KIND="cut", FAULT_AT=str(at))
        out = state.ok("lock", "verified", "trial", "history")
        assert out.split()[1] in ("0.conf", "a.conf", "b.conf"), at
        assert '"zero"' in out
        state.ok(*CALLS)
        assert state.ok("open", "verified").startswith("verified b.conf")
        assert not [n for n in state.names() if "damaged" in n or n.endswith(".tmp")]
        if done.returncode == 0:
            break
        assert done.returncode == 77
    assert at > 15, "the faults were not reached"


def test_a_full_disk_at_any_write_is_one_line_and_leaves_each_record_old_or_new(tmp_path, fault_library):
    for at in range(1, 100):
        state = State(tmp_path / str(at))
        state.ok("lock", "verify=0.conf", "add=zero")
        done = state.run(*CALLS, program=SHIPPED, LD_PRELOAD=str(fault_library), FAULT_KIND="full", FAULT_AT=str(at))
        if done.returncode == 0:
            break
        assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr, (at, done)
        out = state.ok("lock", "verified", "trial", "history")
        assert out.split()[1] in ("0.conf", "a.conf", "b.conf") and '"zero"' in out and out.endswith("damaged 0\n"), at
        assert not [n for n in state.names() if "damaged" in n or n.endswith(".tmp")]
        if "history.jsonl" in done.stderr:
            assert state.texts() == (["zero"], 0), "a line that was not written is not there"
    assert at > 15, "the faults were not reached"
