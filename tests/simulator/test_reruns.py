"""Reruns end as a run would have that nobody had cancelled, wherever they are killed, alone and in clusters."""

from itertools import count, islice

import pytest

from harness.samples import first
from simulator.plays import PLAYS
from simulator.reruns import BETWEEN, RerunAlone, cancelled, rerun_in, rerun_world, signalled
from simulator.world import undisturbed

QUIET = [number for number in range(len(PLAYS)) if not signalled(number)]
SHARES = (0.2, 0.5, 0.8)
SEEDS = 240
"""Clusters in all; each test has a part of them."""
PARTS = 6


@pytest.mark.parametrize("number", QUIET, ids=[PLAYS[number].name for number in QUIET])
def test_a_rerun_ends_as_if_nobody_had_cancelled_wherever_it_is_killed(number: int) -> None:
    for share in SHARES:
        play, log = cancelled(number, share)
        made = rerun_in(play, log, "e0", log[-1].ts + BETWEEN)
        if log[-2].data.get("status") != "cancelled" or made.hindrances:
            continue
        whole = RerunAlone(play, made, 0)
        wanted = undisturbed(number)
        assert whole.run() == wanted
        step = max(whole.points.reached // 8, 1) | 1
        for at in islice(count(1, step), 8):
            assert RerunAlone(play, made, at).run() == wanted, f"killed at point {at}, cancelled at {share}"


@pytest.mark.parametrize("part", first(1, range(PARTS)))
def test_a_rerun_in_a_cluster_in_which_things_go_wrong(part: int) -> None:
    reruns = 0
    for seed in range(part, SEEDS, PARTS):
        number = QUIET[seed // PARTS % len(QUIET)]
        world = rerun_world(number, seed)
        ran = world.run()
        reruns += world.rerun is not None
        if world.rerun is not None and PLAYS[number].same != "nothing":
            assert ran.ends["e1"] == undisturbed(number), f"seed {seed}, {PLAYS[number].name}"
    assert reruns > SEEDS // PARTS // 4
