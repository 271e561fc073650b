"""The outbox is told as fast as its receivers take it, each of them one row at a time."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noetl.app.clock import WallClock
from noetl.app.outbox_delivery import MOST_APART, NotTold, OutboxDelivery
from noetl.ports import StoreFailure
from noetl.ports.outbox import Outbox, OutboxRow, WantedOutbox
from noetl.store.sqlite import open_store
from services import waited_for

HOUR = 3_600.0
"""Seconds between two looks that nobody asked for: longer than any test takes."""


class Receivers:
    """Hear rows, each topic as one receiver; those that are `shut` wait for the gate."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.shut: set[str] = set()
        self.gate = threading.Event()
        self.most: Counter[str] = Counter()
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, row: OutboxRow) -> None:
        """Hear a row."""
        with self._lock:
            self._now[row.topic] += 1
            self.most |= self._now | Counter({"all": self._now.total()})
        if row.topic in self.shut:
            self.gate.wait()
        with self._lock:
            self._now[row.topic] -= 1
            self.heard.append((row.topic, row.subject))
        if row.subject == "refused":
            raise NotTold("not now")
        if row.subject == "unlucky":
            raise StoreFailure("away")


@pytest.fixture
def receivers() -> Receivers:
    return Receivers()


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return open_store(f"sqlite:///{tmp_path}/noetl.db").outbox


def put(outbox: Outbox, topic: str, *subjects: object) -> list[tuple[str, str]]:
    """Put rows about subjects; what is heard of them."""
    outbox.put_outbox([OutboxRow(0, topic, str(subject), None, 1, 1) for subject in subjects])
    return [(topic, str(subject)) for subject in subjects]


@contextmanager
def telling(outbox: Outbox, tell: Callable[[OutboxRow], None], every: float = HOUR) -> Iterator[OutboxDelivery]:
    """A delivery that looks once by itself, and then when it has a reason to."""
    delivery = OutboxDelivery(outbox, {"to:": tell, "ends": tell}, WallClock(), lambda text: None, every)
    delivery.start()
    delivery.look_soon()
    try:
        yield delivery
    finally:
        delivery.end_soon()
        delivery.join()


def test_the_next_row_goes_as_soon_as_one_was_told(outbox: Outbox, receivers: Receivers) -> None:
    rows = put(outbox, "to:a", *range(50)) + put(outbox, "to:b", *range(30))
    with telling(outbox, receivers):
        waited_for(lambda: len(receivers.heard) == len(rows), "they wait for a time to look", 60)
        waited_for(lambda: not outbox.outbox_rows(WantedOutbox()), "what was told stays", 60)
    for topic in ("to:a", "to:b"):
        assert [row for row in receivers.heard if row[0] == topic] == [row for row in rows if row[0] == topic]
        assert receivers.most[topic] == 1, "one at a time, so that no lease ends before its turn"


def test_a_receiver_that_refuses_or_is_unlucky_holds_up_its_other_rows_for_no_time(
    outbox: Outbox, receivers: Receivers
) -> None:
    put(outbox, "to:a", "refused", 1, 2)
    with telling(outbox, receivers):
        waited_for(lambda: len(receivers.heard) == 3, "they wait for a time to look", 60)


def test_those_that_hang_leave_all_others_their_turn_and_are_bounded(outbox: Outbox, receivers: Receivers) -> None:
    receivers.shut = {f"to:hangs{number}" for number in range(MOST_APART - 1)}
    for topic in sorted(receivers.shut):
        put(outbox, topic, 1, 2)
    put(outbox, "to:a", *range(20))
    put(outbox, "to:b", *range(20))
    put(outbox, "ends", *range(20))
    with telling(outbox, receivers):
        waited_for(lambda: len(receivers.heard) == 60, "they wait for those that hang", 60)
        assert not [topic for topic, _ in receivers.heard if topic in receivers.shut]
        receivers.gate.set()
        waited_for(lambda: len(receivers.heard) == 60 + 2 * len(receivers.shut), "they wait for a time to look", 60)
    assert receivers.most["all"] <= MOST_APART + 1, "and what is told by the thread itself"


def test_a_store_that_fails_is_asked_again_when_it_is_time(outbox: Outbox, receivers: Receivers) -> None:
    """Not at once, without end."""
    with telling(outbox, receivers) as delivery:
        wanted: list[bool] = []
        delivery.look_soon = lambda: wanted.append(True)  # type: ignore[method-assign]
        put(outbox, "to:a", "unlucky")
        delivery._rung.set()
        waited_for(lambda: receivers.heard, "it is not tried", 60)
        for thread in threading.enumerate():
            if thread.name == "noetl-telling":
                thread.join()
        assert not wanted and not delivery._apart
