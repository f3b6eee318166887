# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that `make check` has no time for: `make check-long` runs them."""

import os

import pytest

LONG = bool(os.environ.get("GRANULE_LONG"))
only_long = pytest.mark.skipif(not LONG, reason="make check-long runs it")


def long(*values, **keywords):
    """A parameter of the long run."""
    return pytest.param(*values, marks=only_long, **keywords)
