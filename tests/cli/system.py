# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of files that stands for a machine, for runs of the command on the host."""

import hashlib
import json
import os
import struct
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# The command as it is shipped, for this machine.
PLAIN = TOP / ("build/aarch64/granule" if os.uname().machine == "aarch64" else "build/host/granule")
LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
GRANULE = "7f1c9a52-6b3e-4d0f-9a64-c41600044b64"


class System:
    """A tree that stands for a machine: /boot, /efi, /etc, and optionally a folder of EFI variables."""

    def __init__(self, root):
        self.root, self.env = Path(root), dict(os.environ)
        self.efi, self.boot = self.root / "efi", self.root / "boot"
        for folder in ("efi/EFI", "boot", "etc/kernel"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/kernel/entry-token").write_text("test\n")
        (self.root / "etc/kernel/cmdline").write_text("root=UUID=1234 ro quiet\n")
        (self.root / "etc/os-release").write_text('ID=test\nPRETTY_NAME="Test OS 1"\n')
        self.env.pop("EFIVARFS_PATH", None)
        self.program = TOP / "build/asan/granule"

    def with_variables(self, **variables):
        folder = self.root / "variables"
        folder.mkdir(exist_ok=True)
        self.env["EFIVARFS_PATH"] = f"{folder}/"
        for name, text in variables.items():
            self.set_variable(name, text)
        return self

    def _variable(self, name):
        vendor = GRANULE if name.startswith("Granule") else LOADER
        return self.root / "variables" / f"{name}-{vendor}"

    def set_variable(self, name, value):
        data = value if isinstance(value, bytes) else (value + "\0").encode("utf-16-le")
        self._variable(name).write_bytes(struct.pack("<I", 7) + data)

    def variable(self, name):
        file = self._variable(name)
        # A plain file keeps the end of a longer text, efivarfs does not.
        return file.read_bytes()[4:].decode("utf-16-le").split("\0")[0] if file.exists() else None

    def loader(self, name="granule-boot 0.1.0", features=1 << 2 | 1 << 3 | 1 << 8 | 1 << 19, cpu="4k 16k 64k"):
        """What a boot manager published."""
        self.with_variables(LoaderInfo=name, LoaderFeatures=struct.pack("<Q", features))
        if cpu:
            self.set_variable("GranuleCpu", cpu)
        return self

    def kernel(self, name, image, initrd=b"initrd"):
        (self.boot / f"vmlinuz-{name}").write_bytes(image)
        if initrd is not None:
            (self.boot / f"initrd.img-{name}").write_bytes(initrd)

    def entry(self, entry_id, image=None, version="1", **keys):
        """An entry written by hand with its kernel."""
        entries = self.efi / "loader/entries"
        entries.mkdir(parents=True, exist_ok=True)
        path = f"/kernels/{entry_id.split('+')[0]}"
        if image is not None:
            (self.efi / "kernels").mkdir(exist_ok=True)
            (self.efi / path[1:]).write_bytes(image)
        lines = [f"title {entry_id}", f"version {version}", f"linux {path}", "options quiet"]
        lines += [f"{k.replace('_', '-')} {v}" for k, v in keys.items()]
        (entries / f"{entry_id}.conf").write_text("\n".join(lines) + "\n")

    def record(self, name, record):
        """A record of the state, as granule writes it."""
        folder = self.root / "var/lib/granule"
        folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record).encode()
        head = {"granule": name, "version": 1, "sha256": hashlib.sha256(line).hexdigest()}
        (folder / f"{name}.json").write_bytes(json.dumps(head).encode() + b"\n" + line + b"\n")

    def verified(self, current, previous=None):
        def choice(entry):
            return entry and {"entry": entry, "page_size": "4k", "release": None, "wish": "none", "boot_id": None,
                              "time": 0}

        self.record("verified", {"current": choice(current), "previous": choice(previous), "baseline": None})

    def trial(self, target, stage="armed"):
        entry = target.replace(".conf", "-trial.conf")
        self.record("trial", {"stage": stage, "target": target, "entry": entry, "file": entry, "volume": "esp",
                              "page_size": "64k", "release": None, "by_size": True, "keep": False, "tries": 1,
                              "used": 1, "deadline_s": 0, "boot_id": None, "judged_in": None, "esp": None, "dumps": [],
                              "time": 0, "verdict": None, "reason": None, "unfinished": False, "rebooted": False})

    def run(self, *arguments, root=True):
        command = [self.program, *arguments] + (["--root", self.root] if root else [])
        done = subprocess.run([str(c) for c in command], env=self.env, capture_output=True, text=True)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode in (0, 1, 2, 3), done
        return done

    def run_with_fault(self, library, kind, at, *arguments, below=None):
        """A run that ends ("cut", "kill") or whose call fails ("full", "io", "readonly", "short") at the at-th call that
        changes a file, at each if that is None; with `below` only files below that folder count. The result has
        `reached`: whether it came to that."""
        mark = self.root.parent / f"{self.root.name}-reached"
        mark.unlink(missing_ok=True)
        env = {**self.env, "LD_PRELOAD": str(library), "FAULT_KIND": kind, "FAULT_MARK": str(mark)}
        if at is not None:
            env["FAULT_AT"] = str(at)
        if below:
            env["FAULT_BELOW"] = str(below)
        done = subprocess.run([str(a) for a in (PLAIN, *arguments, "--root", self.root)], env=env,
                              capture_output=True, text=True)
        done.reached = mark.exists()
        return done

    def ok(self, *arguments, **keywords):
        done = self.run(*arguments, **keywords)
        assert done.returncode == 0, done
        return done.stdout

    def json(self, *arguments):
        done = self.run(*arguments, "--json")
        return json.loads(done.stdout)

    def entries(self):
        return {e["id"]: e for e in self.json("list")["entries"]}

    def files(self):
        return {str(p.relative_to(self.efi)): p.read_bytes() for p in self.efi.rglob("*") if p.is_file()}
