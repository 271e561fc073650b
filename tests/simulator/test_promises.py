"""The ends of single plays are those that their playbooks promise: worked out by hand, and the same wherever they are
killed.

That a play comes to the same end under any faults, and that what holds of all runs holds of it, is tested beside.
"""

from typing import Any

import pytest

from harness.invariants import plain
from simulator.plays import PLAYS
from simulator.world import undisturbed

NUMBERS = {play.name: number for number, play in enumerate(PLAYS)}


def end(name: str) -> tuple[Any, Any, Any, Any]:
    """Status, ctx, result and error code."""
    status, ctx, result, code = undisturbed(NUMBERS[name])
    return status, ctx, result, code


def test_what_was_done_is_undone_newest_first_and_each_phase_is_told_how_main_ended() -> None:
    # The second of three items fails, so that it has nothing to undo; `bad` has, as it is undone once it has started.
    undone = [
        ["failed", None, "none", 0, None],
        ["done", "odd", "start", 7, 2],
        ["done", "odd", "start", 5, 0],
        ["done", "a", "none", 0, None],
    ]
    told = {"status": "failed", "code": "mine", "step": "bad", "last": ["mine", None]}
    status, ctx, _, code = end("what is undone")
    assert (status, code) == (plain("failed"), plain("mine"))
    assert ctx == plain({"told": told, "undone": undone})


def test_each_signal_is_heard_once_and_in_the_order_of_sending() -> None:
    status, ctx, _, _ = end("signals that are counted")
    assert status == plain("completed")
    assert ctx == plain({"heard": [1, 2, 3, 4, 5, "none"], "kept": ["1", "2", "3"]})


@pytest.mark.parametrize(
    ("key", "value"),
    [("total", 100 + 0 + 1 + 2 + 3 + 4 + 7), ("seen", [0, 1, 2, 3, 4]), ("names", [0, 1]), ("tries", 5), ("high", 4),
     ("low", 0), ("by", {"last": 4, "first": [0]})],
)  # fmt: skip
def test_contributions_come_to_what_their_reducers_say(key: str, value: Any) -> None:
    _, ctx, _, _ = end("reducers")
    assert dict(ctx)[plain(key)] == plain(value)


def test_what_is_busy_and_slow_is_asked_again_until_it_answers() -> None:
    status, _, result, _ = end("busy and slow")
    assert (status, result) == (plain("completed"), plain("over"))
