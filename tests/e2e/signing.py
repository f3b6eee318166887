# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys and signatures. The first key is the one that the packaged variables of EDK II trust ("snakeoil")."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

from guest import run

PACKAGE = Path("/usr/share/qemu-efi-aarch64")
VARIABLES = Path("/usr/share/AAVMF/AAVMF_VARS.snakeoil.fd")


def missing():
    """What is not there, for the reason of a skip; empty if all is."""
    tools = [t for t in ("sbsign", "openssl") if not shutil.which(t)]
    return tools + [str(p) for p in (VARIABLES, PACKAGE / "PkKek-1-snakeoil.key") if not p.exists()]


class Key:
    def __init__(self, key, certificate):
        self.key, self.certificate = key, certificate

    def sign(self, image):
        """The signed form of a program, given as a file or as its content."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in"), Path(folder, "out")
            source.write_bytes(image if isinstance(image, bytes) else Path(image).read_bytes())
            run("sbsign", "--key", self.key, "--cert", self.certificate, "--output", target, source,
                capture_output=True)
            return target.read_bytes()

    def der(self):
        return run("openssl", "x509", "-in", self.certificate, "-outform", "DER", capture_output=True).stdout


@cache
def folder():
    path = Path(tempfile.mkdtemp(prefix="granule-keys."))
    import atexit
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def firmware_key():
    key = folder() / "firmware.key"
    run("openssl", "rsa", "-in", PACKAGE / "PkKek-1-snakeoil.key", "-passin", "pass:snakeoil", "-out", key,
        capture_output=True)
    return Key(key, PACKAGE / "PkKek-1-snakeoil.pem")


@cache
def owner_key():
    """One that firmware has never seen."""
    key, certificate = folder() / "owner.key", folder() / "owner.pem"
    run("openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-sha256",
        "-subj", "/CN=Owner of the test machine", "-keyout", key, "-out", certificate, capture_output=True)
    return Key(key, certificate)
