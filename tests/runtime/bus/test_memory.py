"""The in-process bus where it keeps time, and what the faulty bus does to it."""

import pytest

from faulty_bus import FaultyBus, Odds
from noetl.bus.memory import MemoryBus
from noetl.ports.bus import Bus, Delivery


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 1_000

    def now(self) -> int:
        return self.time


def taken(bus: MemoryBus[str, str, str]) -> Delivery[str]:
    """The next order of pool p, which must be there."""
    delivery = bus.take("p")
    assert delivery is not None
    return delivery


def test_what_is_not_acknowledged_in_time_comes_again() -> None:
    clock = Clock()
    bus: MemoryBus[str, str, str] = MemoryBus(ack_wait=100, max_deliveries=3, clock=clock)
    bus.send("p", "a", "a")
    first = taken(bus)
    assert bus.due() == 1_100
    clock.time = 1_099
    assert bus.take("p") is None
    clock.time = 1_100
    second = taken(bus)
    assert (second.body, second.redeliveries) == ("a", 1)
    first.ack()
    clock.time = 1_200
    third = taken(bus)
    assert third.redeliveries == 2
    clock.time = 1_300
    assert bus.take("p") is None
    assert [(dead_letters.key, dead_letters.tries) for dead_letters in bus.dead_letters()] == [("a", 3)]
    assert bus.due() is None
    assert bus.room("p") == bus.room("q")


def test_a_slow_taker_that_says_so_keeps_its_message() -> None:
    """Scenario 90: a handler that takes three times `ack_wait` runs once."""
    clock = Clock()
    bus: MemoryBus[str, str, str] = MemoryBus(ack_wait=100, clock=clock)
    bus.send("p", "slow", "slow")
    slow = taken(bus)
    for clock.time in range(1_050, 1_400, 50):
        assert bus.take("p") is None
        slow.in_progress()
    slow.ack()
    clock.time = 9_999
    assert bus.take("p") is None


def test_a_delayed_nak_waits_for_its_time() -> None:
    clock = Clock()
    bus: MemoryBus[str, str, str] = MemoryBus(clock=clock)
    for name, delay in (("late", 300), ("soon", 100)):
        bus.send("p", name, name)
        taken(bus).nak("busy", delay)
    assert bus.take("p") is None
    assert bus.due() == 1_100
    clock.time = 1_100
    assert taken(bus).body == "soon"
    assert bus.take("p") is None
    assert bus.due() == 1_300
    clock.time = 5_000
    assert taken(bus).body == "late"


def test_a_closed_bus_forgets_and_refuses() -> None:
    bus: MemoryBus[str, str, str] = MemoryBus()
    bus.send("p", "a", "a")
    bus.close()
    assert bus.take("p") is None
    assert bus.room("p") == 0


@pytest.mark.parametrize("seed", range(20))
def test_at_least_once_survives_the_faulty_bus(seed: int) -> None:
    """A sender that sends again until it is answered, and a taker that knows keys, do everything once."""
    inner: MemoryBus[int, int, str] = MemoryBus(max_deliveries=1_000)
    odds = Odds(dropped=0.3, doubled=0.3, reordered=0.5, delayed=0.3)
    faulty: FaultyBus[int, int, str] = FaultyBus(inner, odds, seed)
    bus: Bus[int, int, str] = faulty
    wanted, done, order = set(range(30)), set(), []
    for round_ in range(1_000):
        if round_ == 900:
            faulty.heal()
        for number in sorted(wanted):
            bus.send("p", f"k{number}", number)
        while (delivery := bus.take("p")) is not None:
            if delivery.body not in done:
                done.add(delivery.body)
                order.append(delivery.body)
            bus.report(f"r{delivery.body}", delivery.body)
            delivery.ack()
        for report in bus.reports():
            wanted.discard(report.body)
            report.answer("noted")
        if not wanted:
            break
    assert sorted(order) == list(range(30))
    assert order != sorted(order)


def test_the_same_seed_gives_the_same_faults() -> None:
    def run(seed: int) -> list[int]:
        inner: MemoryBus[int, int, str] = MemoryBus()
        bus: FaultyBus[int, int, str] = FaultyBus(inner, Odds(0.2, 0.2, 0.5, 0.3), seed)
        for number in range(50):
            bus.send("p", "k", number)
        found = []
        for _ in range(200):
            if (delivery := bus.take("p")) is not None:
                found.append(delivery.body)
        return found

    assert run(1) == run(1) != run(2)
    assert len(run(1)) != 50 or sorted(run(1)) != list(range(50))


def test_what_is_held_back_is_withdrawn_too() -> None:
    clock = Clock()
    bus: MemoryBus[str, str, str] = MemoryBus(capacity=3, clock=clock)
    for key in "abc":
        bus.send("p", key, key)
    for _ in range(2):
        taken(bus).nak("busy", 50)
    bus.withdraw("p", ["a"])
    assert bus.room("p") == 1
    clock.time += 100
    assert [taken(bus).body for _ in range(2)] == ["c", "b"]
    assert bus.take("p") is None
