"""Runs that move to another plan and back end as if nobody had asked, in clusters in which things go wrong."""

import pytest

from harness.samples import first
from simulator.migrations import migrating_world
from simulator.plays import PLAYS
from simulator.world import undisturbed

SEEDS = 240
"""Clusters in all; each test has a part of them."""
PARTS = 6


@pytest.mark.parametrize("part", first(1, range(PARTS)))
def test_a_run_that_moves_ends_as_one_that_does_not(part: int) -> None:
    moved = 0
    for seed in range(part, SEEDS, PARTS):
        number = seed % len(PLAYS)
        world = migrating_world(number, seed)
        ran = world.run()
        moved += world.moved["playbook.migrated"]
        if PLAYS[number].same != "nothing":
            for name in world.roots:
                assert ran.ends[name] == undisturbed(number), f"seed {seed}, {PLAYS[number].name}"
    assert moved > SEEDS // PARTS // 2
