"""Thousands of simulated clusters, each by its seed.

`SIMULATOR_SEED=17` runs that one alone, exactly as it ran before; `SIMULATOR_SEEDS=100000` runs so many.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.samples import first
from simulator.world import simulate

SEEDS = int(os.environ.get("SIMULATOR_SEEDS", "2000"))
ONE = os.environ.get("SIMULATOR_SEED", "")
BLOCKS, SHORT = 21, 4
"""How many tests share the seeds, and how many of them the short run has: with so many it has each play."""


def seeds_of(block: int) -> range:
    """The seeds of a test."""
    return range(block, SEEDS, BLOCKS)


@pytest.mark.parametrize("block", first(SHORT, range(BLOCKS)))
def test_whatever_goes_wrong_every_law_holds(block: int) -> None:
    seeds = seeds_of(block) if not ONE else [int(ONE)] if block == 0 else []
    failed = []
    for seed in seeds:
        try:
            simulate(seed)
        except AssertionError as problem:
            failed.append(str(problem))
    assert not failed, f"{len(failed)} of {len(seeds)} seeds failed, the first: {failed[0]}"


def test_a_seed_gives_the_same_run_in_every_process() -> None:
    """Nothing hangs on what differs between processes: hashes of text, addresses, the time of day."""
    program = "from simulator.world import simulate; print([simulate(seed) for seed in range(76)])"
    tests = str(Path(__file__).resolve().parent.parent)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": tests, "PYTHONHASHSEED": hashes},
        )
        for hashes in ("1", "2")
    ]  # fmt: skip
    first, second = (child.communicate(timeout=300)[0] for child in children)
    assert first and first == second
