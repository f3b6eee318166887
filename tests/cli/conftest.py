# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
import subprocess

import pytest

from system import TOP, System


@pytest.fixture
def system(tmp_path):
    return System(tmp_path / "root")


@pytest.fixture(scope="session")
def fault_library(tmp_path_factory):
    """A library that ends a program, or fails a call, at the n-th call that changes a file."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not there to build the fault injector")
    library = tmp_path_factory.mktemp("fault") / "fault.so"
    source = TOP / "tests/cli/fault.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-o", library, source, "-ldl"], check=True)
    return library
