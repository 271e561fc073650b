"""Orders that nobody claims are given again: a bus delivers an order that it has queued, but a crash may come before.

An order has no answer of its own; its answer is that the pipeline moves. A look every `LOOK_EVERY` compares where
pipelines wait for a worker with where they waited before. One that has waited in the same place for 1, 2, 4, 8, 16, 24,
… looks is ordered again. So an order that the bus gave up, since no worker could begin it, comes again soon after one
can. An order too many does no harm: the server records one claim, and the other worker is told to stop.
"""

from noetl.engine.execution import Execution, Region

LOOK_EVERY = 30_000_000
"""Microseconds between two looks; work that only waits for a free slot is rarely ordered twice."""

AT_LEAST_EVERY = 8
"""Looks after which one that still waits is ordered again, however long it has waited."""

_Place = tuple[str, int, int, int, int, bool]


class WaitingOrders:
    """The orders that wait for a worker in one execution, and for how many looks."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[_Place, int] = {}

    def keys_again(self, execution: Execution) -> list[str]:
        """The token keys of the pipelines that are to be ordered again."""
        counts = {place: self._counts.get(place, -1) + 1 for place in map(_place, waiting(execution).items())}
        self._counts = counts
        return [
            place[0]
            for place, count in counts.items()
            # `count & (count - 1)` is zero for the powers of two. At first the pause doubles, as most orders only
            # wait for a slot; from 8 on it stays, so that a pool which had no worker for a day starts within minutes.
            if count and not (count & (count - 1) and count % AT_LEAST_EVERY)
        ]


def waiting(execution: Execution) -> dict[str, Region]:
    """The pipelines that wait for a worker to claim them or to judge the outcome of their parked task."""
    if execution.is_over or execution.stands_still:
        return {}
    return {key: region for key, region in execution.regions.items() if _waits(region)}


def is_waiting(execution: Execution) -> bool:
    """Whether there are any."""
    # The youngest regions are the likeliest to wait: in a loop of ten thousand this mostly ends at the first one.
    return not (execution.is_over or execution.stands_still) and any(map(_waits, reversed(execution.regions.values())))


def _waits(region: Region) -> bool:
    return (region.phase == "at" and region.task >= 0) or (region.phase == "parked" and region.pending is not None)


def _place(item: tuple[str, Region]) -> _Place:
    key, region = item
    return (key, region.task, region.visits[region.task], region.attempt, region.claim, region.pending is not None)
