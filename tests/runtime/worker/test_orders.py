"""A worker that cannot begin an order says why, so that who looks at a run that stands still finds the reason."""

from collections import Counter

import pytest

from noetl.app.clock import WallClock
from noetl.bus.memory import MemoryBus
from noetl.ports import StoreFailure
from noetl.ports.needs import Needs
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.intake import MOST_LANES, Intake
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.session import Misfit
from noetl.worker.worker import Worker
from noetl_ir.orders import Answer, OpenLane, Order, RunPipeline, Said, Serving

RUN = RunPipeline("e", 1, "7", 0, 1, 1, 1, {}, {}, {}, {}, {}, {}, None, 0, {0: 1}, 5)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (KeyError("no server has a plan with digest d"), "no server has a plan with digest d"),
        (StoreFailure("a valid token is needed"), "a valid token is needed"),
    ],
)
def test_the_reason_is_said_once_as_long_as_it_is_the_same(problem: Exception, said: str) -> None:
    clock, told = WallClock(), list[str]()
    bus: MemoryBus[Order, Said, Answer] = MemoryBus(clock=clock)

    def program_of(order: RunPipeline, needs: Needs) -> None:
        raise problem

    worker = Worker(
        bus, pool="p", slots=1, launcher=AsyncLauncher(lambda call: None, clock),  # type: ignore[arg-type, return-value]
        program_of=program_of, context_of=lambda *args: None, clock=clock, say=told.append,  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    for number in range(3):
        bus.send("p", f"k{number}", RUN)
        worker.step()
    assert [text.partition("here: ")[2] for text in told] == [f"{said} (execution e)"]


def taker(bus: MemoryBus[Order, Said, Answer], slots: int = 1) -> Worker:
    """A worker of the pool `p` that is done with each order at once, as it does not know its plan."""
    clock = WallClock()

    def program_of(order: RunPipeline, needs: Needs) -> None:
        raise Misfit("no such step")

    return Worker(
        bus, pool="p", slots=slots, launcher=AsyncLauncher(lambda call: None, clock),  # type: ignore[arg-type, return-value]
        program_of=program_of, context_of=lambda *args: None, clock=clock,  # type: ignore[arg-type, return-value]
    )  # fmt: skip


def test_a_worker_takes_from_the_lanes_of_its_pool_alone() -> None:
    bus: MemoryBus[Order, Said, Answer] = MemoryBus()
    worker = taker(bus)
    for queue in ("p\0team", "q\0team"):
        bus.send(queue, queue, RUN)
    worker.step()
    assert bus.dead_letters() == ()
    for _ in range(2):
        worker.hear(OpenLane("p", "team"))
        worker.hear(OpenLane("q", "team"))
        worker.hear(Serving("http://127.0.0.1:1"))
    worker.step()
    assert [(letter.queue, letter.key) for letter in bus.dead_letters()] == [("p", "p\0team")]


def test_lanes_and_their_pool_are_taken_from_in_turn_though_one_slot_comes_free_at_a_time() -> None:
    bus: MemoryBus[Order, Said, Answer] = MemoryBus()
    left = [0]
    intake = Intake(
        bus, ["p"], session_of=lambda order, needs: None, is_past=lambda order: False, blobs=None,  # type: ignore[arg-type, return-value]
        needs=BackgroundFetches(0).needs, say=lambda text: None,
    )  # fmt: skip
    taken: list[str] = []
    take = bus.take

    def counting(pool: str) -> object:
        if (delivery := take(pool)) is not None:
            taken.append(pool)
            left[0] -= 1
        return delivery

    bus.take = counting  # type: ignore[assignment, method-assign]
    for lane in ("p\0a", "p\0b"):
        intake.add_lane(lane)
    for queue in ("p", "p\0a", "p\0b"):
        for number in range(4):
            bus.send(queue, f"{queue} {number}", RUN)
    for _ in range(6):
        left[0] = 1
        assert [*intake.open_orders(lambda: left[0] > 0)] == []
    assert Counter(taken) == {"p": 2, "p\0a": 2, "p\0b": 2}


def test_nobody_has_a_worker_take_from_any_number_of_lanes() -> None:
    worker = taker(MemoryBus())
    for number in range(MOST_LANES + 50):
        worker.hear(OpenLane("p", f"n{number}"))
    assert len(worker._intake._pools) == MOST_LANES
