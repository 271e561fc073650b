"""What every bus promises, whichever it is: the promises of `noetl.ports.Bus`, scenarios 88 and 90.

Adapters are found by existing: memory always, another one when `NOETL_TEST_<NAME>_URL` is set. What a bus may do
to messages is what `Faulty` does to them, so that those who use a bus can be tested against the worst of it.
"""

import os
import threading
from importlib import import_module

import pytest

from noetl.bus.memory import MemoryBus
from noetl.ports import Bus, Full
from noetl_ir.registry import names

Plain = Bus[object, object, object]


@pytest.fixture(params=names("noetl.bus"))
def bus(request: pytest.FixtureRequest) -> Plain:
    """A bus of each kind."""
    module = import_module(f"noetl.bus.{request.param}")
    url = "memory:" if request.param == "memory" else os.environ.get(f"NOETL_TEST_{request.param.upper()}_URL")
    if url is None:
        pytest.skip(f"NOETL_TEST_{request.param.upper()}_URL is not set")
    opened: Plain = module.open_bus(url)
    return opened


def test_commands_reach_their_pool_once(bus: Plain) -> None:
    for number in range(3):
        bus.send("python", f"k{number}", ("run", number))
    bus.send("http", "k9", ("run", 9))
    found = []
    while (delivery := bus.take("python")) is not None:
        assert delivery.redeliveries == 0
        found.append(delivery.body)
        delivery.ack()
    assert found == [("run", 0), ("run", 1), ("run", 2)]
    assert bus.take("nobody") is None
    other = bus.take("http")
    assert other is not None and other.body == ("run", 9)


def test_reports_come_all_at_once_and_are_answered(bus: Plain) -> None:
    assert list(bus.reports()) == []
    tickets = [bus.report(f"r{number}", number) for number in range(3)]
    assert [ticket.answer for ticket in tickets] == [None] * 3
    reports = bus.reports()
    assert [report.body for report in reports] == [0, 1, 2]
    reports[1].answer("stop")
    reports[0].answer("go on")
    assert [ticket.answer for ticket in tickets] == ["go on", "stop", None]
    assert list(bus.reports()) == []


def test_a_nak_brings_it_again_behind_the_others(bus: Plain) -> None:
    bus.send("p", "a", "a")
    bus.send("p", "b", "b")
    first = bus.take("p")
    assert first is not None
    first.nak("not now")
    order = []
    while (delivery := bus.take("p")) is not None:
        order.append((delivery.body, delivery.redeliveries))
        delivery.ack()
    assert order == [("b", 0), ("a", 1)]


def test_a_report_that_was_nacked_keeps_its_ticket(bus: Plain) -> None:
    ticket = bus.report("r", 1)
    bus.reports()[0].nak("the store is busy")
    (again,) = bus.reports()
    assert again.redeliveries == 1
    again.answer("done")
    assert ticket.answer == "done"


def test_poison_is_parked_and_the_rest_goes_on(bus: Plain) -> None:
    """Scenario 88."""
    bus.send("p", "bad", {"command_id": "does-not-exist"})
    for number in range(10):
        bus.send("p", f"good{number}", number)
    done, turns = [], 0
    while (delivery := bus.take("p")) is not None:
        turns += 1
        if isinstance(delivery.body, int):
            done.append(delivery.body)
            delivery.ack()
        else:
            delivery.nak("no such command")
    assert done == list(range(10))
    assert turns < 25
    (parked,) = bus.parked()
    assert (parked.queue, parked.key, parked.reason) == ("p", "bad", "no such command")
    assert parked.tries == turns - 10


def test_what_can_never_be_handled_is_parked_at_once(bus: Plain) -> None:
    bus.send("p", "bad", "?")
    delivery = bus.take("p")
    assert delivery is not None
    delivery.park("it cannot be read")
    assert bus.take("p") is None
    assert [parked[:3] for parked in bus.parked()] == [("p", "bad", 1)]


def test_whoever_listens_is_woken(bus: Plain) -> None:
    woken = threading.Event()
    bus.listen(woken.set)
    bus.send("p", "a", "a")
    assert woken.wait(5)
    woken.clear()
    bus.report("r", "r")
    assert woken.wait(5)
    woken.clear()
    bus.reports()[0].answer("x")
    assert woken.wait(5)


def test_a_late_word_about_a_delivery_does_no_harm(bus: Plain) -> None:
    bus.send("p", "a", "a")
    first = bus.take("p")
    assert first is not None
    first.nak("later")
    first.nak("later")
    first.park("never")
    second = bus.take("p")
    assert second is not None and bus.take("p") is None
    second.ack()
    second.ack()
    second.nak("too late")
    assert bus.take("p") is None and bus.parked() == ()


def test_many_threads_take_each_command_once(bus: Plain) -> None:
    for number in range(2_000):
        bus.send("p", f"k{number}", number)
    found: list[object] = []

    def work() -> None:
        while (delivery := bus.take("p")) is not None:
            found.append(delivery.body)
            delivery.ack()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, map(str, found))) == list(range(2_000))


def test_a_full_queue_refuses_and_takes_again_when_there_is_room() -> None:
    bus: MemoryBus[int, int, None] = MemoryBus(capacity=2)
    assert bus.room("p") == 2
    bus.send("p", "a", 1)
    bus.send("p", "b", 2)
    assert bus.room("p") == 0
    with pytest.raises(Full, match="'p'"):
        bus.send("p", "c", 3)
    bus.send("q", "c", 3)
    delivery = bus.take("p")
    with pytest.raises(Full):
        bus.send("p", "c", 3)
    assert delivery is not None
    delivery.ack()
    bus.send("p", "c", 3)
    bus.report("r", 1)
    bus.report("s", 1)
    with pytest.raises(Full, match="@reports"):
        bus.report("t", 1)
