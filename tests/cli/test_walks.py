# SPDX-License-Identifier: GPL-2.0-or-later
"""Random walks: whatever is typed, booted, broken or cut off, the machine is never stranded. A walk that fails prints its
steps; GRANULE_WALK=LOADER:SEED plays it again alone."""

import os

import pytest

from system import TOP
from walk import LOADERS, Walk

STEPS = 40
N = 5 * int(os.environ.get("GRANULE_SEEDS", 1))
SEEN = {}


def chosen():
    one = os.environ.get("GRANULE_WALK")
    if one:
        loader, seed = one.split(":")
        return [(loader, int(seed))]
    return [(loader, seed) for seed in range(N) for loader in LOADERS]


@pytest.mark.parametrize("loader, seed", chosen())
def test_a_walk_never_strands_the_machine(tmp_path, fault_library, loader, seed):
    print(f"GRANULE_WALK={loader}:{seed}")
    program = {"program": TOP / "build/asan/granule"} if seed % 5 == 4 else {}
    walk = Walk(tmp_path / "root", fault_library, loader, seed, **program)
    for n in range(STEPS):
        print(f"[{n}]", end=" ")
        walk.step()
        if walk.random.random() < 0.04:
            walk.settle()
    walk.settle()
    for what, n in walk.counts.items():
        SEEN[what] = SEEN.get(what, 0) + n


@pytest.mark.skipif("GRANULE_WALK" in os.environ, reason="one walk does not see everything")
def test_walks_have_seen_what_they_are_for():
    for what in ("passed", "promoted", "rebooting", "cut", "boot panic of a trial", "boot kexec",
                 "settled on what was verified"):
        assert SEEN.get(what), (what, SEEN)
    print(SEEN)
