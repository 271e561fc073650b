"""A worker that cannot begin an order says why, so that who looks at a run that stands still finds the reason."""

import pytest

from noetl.app.clock import WallClock
from noetl.bus.memory import MemoryBus
from noetl.ports import StoreFailure
from noetl.ports.needs import Needs
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker
from noetl_ir.orders import Answer, Order, RunPipeline, Said

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
