"""Over PostgreSQL and NATS a run is what it is in one process with SQLite: the same goldens, to the letter."""

from collections.abc import Iterator

import pytest

import goldens
import noetl.app.runtime
from lockstep_bus import LockstepBus
from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.queues import Limits
from services import nats, postgres
from views.events import printed

CASES = [case for case in goldens.cases() if case.stage == "run"]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a new store; what is put together has a bus over NATS."""
    buses: list[LockstepBus] = []

    def bus(*, capacity: int) -> LockstepBus:
        buses.append(LockstepBus(NatsBus(nats().bus_url(), limits=Limits(capacity))))
        return buses[-1]

    monkeypatch.setattr(noetl.app.runtime, "MemoryBus", bus)
    yield postgres().store_url()
    assert buses and all(each.parked() == () for each in buses)
    for each in buses:
        each.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_a_golden_run_is_the_same_over_postgresql_and_nats(case: goldens.Case, cluster: str) -> None:
    assert printed(case, cluster) == case.beside("events").read_text("utf-8")
