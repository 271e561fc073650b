"""A process with server and worker in one is killed at every point, and its laws are no formality."""

import pytest

import noetl.server.control
from harness.samples import first
from noetl.server.journal import EVERY_EVENT, Journal
from simulator.alone import Alone, NotStored, lives, ready_at
from simulator.plays import PLAYS
from simulator.world import undisturbed

NUMBERS = range(len(PLAYS))
NAMES = [play.name for play in PLAYS]
PARTS = 6
"""In how many tests a play is killed at all its points; `tools/check` has the first of them."""
AT_MOST = 40
"""About how many points the first has at most, over the whole of the play; the others share what it leaves."""
IN_ALL = 250
"""About how many points of a long play are met at most: its second half does what its first half does."""


def met(points: int) -> range:
    """The points of a play at which it is killed: all, or evenly spread ones; an odd step meets both sides of
    commits.
    """
    return range(1, points + 1, -(-points // IN_ALL) | 1)


def points_of(share: int, points: int) -> list[int]:
    """The points of a share. The first has every seventh, or fewer."""
    chosen = range(1, points + 1, max(PARTS, points // AT_MOST) | 1)
    return list(chosen) if not share else [at for at in met(points) if at not in chosen][share - 1 :: PARTS - 1]


def test_the_shares_have_each_point_that_is_met_once() -> None:
    for points in (1, 33, 240, 499, 1838):
        shared = [at for share in range(PARTS) for at in points_of(share, points)]
        assert len({*shared}) == len(shared)
        assert {*met(points)} <= {*shared} <= {*range(1, points + 1)}
        assert len(met(points)) <= 1.5 * IN_ALL
        assert len(points_of(0, points)) < 1.25 * AT_MOST


@pytest.mark.parametrize("share", first(1, range(PARTS)))
@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_what_was_shown_or_done_is_in_the_log_wherever_it_is_killed(number: int, share: int) -> None:
    """And the end is the one that a cluster comes to which nothing happens to."""
    wanted = undisturbed(number)
    end, points, _ = lives(number, 0)
    assert end == wanted and points > 20
    for at in points_of(share, points):
        end, reached, _ = lives(number, at)
        assert reached >= at and end == wanted, f"killed at point {at}"


def test_fewer_transactions_hold_the_same_events() -> None:
    """A chain of steps of which each has an effect needs one transaction a step, and not two."""
    owned = {name: lives(number, 0)[2] for number, name in enumerate(NAMES)}
    each = {name: lives(number, 0, EVERY_EVENT)[2] for number, name in enumerate(NAMES)}
    # Each word to the mailbox rests on what is on disk: who meets whom there is another thing then.
    assert all(owned[name] <= each[name] for name in NAMES if name != "the mailbox")
    assert sum(owned.values()) < 0.75 * sum(each.values())


def test_a_line_that_is_shown_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "then", lambda self, execution_id, work: work())
    with pytest.raises(NotStored, match="is shown and is not on disk"):
        Alone(ready_at(0), 0).run()


def test_a_tool_that_begins_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noetl.server.control, "lets_go", lambda report: False)
    with pytest.raises(AssertionError, match="its start is not on disk"):
        Alone(ready_at(0), 0).run()


def test_time_that_passes_over_what_is_not_on_disk_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noetl.server.control.ControlPlane, "settle", lambda self: None)
    with pytest.raises(AssertionError, match="time passes, and e0 is not all on disk"):
        Alone(ready_at(NAMES.index("waits")), 0).run()
