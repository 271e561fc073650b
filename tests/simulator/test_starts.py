"""Nothing follows from the start of a task, so it is not asked for: here it is, in simulations of each play."""

import pytest

from noetl.engine.decide import decide
from noetl.engine.turn import Turn
from noetl.server import execution
from simulator.world import simulate


def test_nothing_follows_from_a_start_that_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    only_runs, starts = execution._only_runs, 0

    def asked(turn: Turn) -> bool:
        nonlocal starts
        if not only_runs(turn):
            return False
        before = [*turn.events]
        decide(turn)
        assert turn.events == before
        starts += 1
        return True

    monkeypatch.setattr(execution, "_only_runs", asked)
    for seed in range(2_000, 2_020):
        simulate(seed)
    assert starts > 80
