"""The contract of every bus, whichever it is: the promises of `noetl.ports.bus.Bus`, scenarios 88 and 90.

Adapters are found by existing, each against the real thing. A bus between processes brings things a moment later:
what must come is waited for. What a bus may do to messages is what `Faulty` does to them, so that those who use a bus
can be tested against the worst of it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from noetl.bus.memory import MemoryBus
from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.queues import QueueLimits
from noetl.ports.bus import Bus, Delivery, Full, ReportDelivery
from noetl_ir.registry import names
from services import PLAIN, nats, waited_for

Plain = Bus[object, object, object]
Opener = Callable[[int], Plain]


def memory_bus(capacity: int) -> Plain:
    """A bus in this process."""
    bus: MemoryBus[object, object, object] = MemoryBus(capacity=capacity)
    return bus


def nats_bus(capacity: int) -> Plain:
    """A bus over a real NATS server, for both sides."""
    bus: Plain = NatsBus(nats().bus_url(), limits=QueueLimits(capacity=capacity), codec=PLAIN)
    return bus


BUSES: dict[str, Opener] = {"memory": memory_bus, "nats": nats_bus}


@pytest.fixture(params=names("noetl.bus"))
def opened(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens a bus of each kind, of a given capacity."""
    buses: list[Plain] = []

    def opener(capacity: int) -> Plain:
        buses.append(BUSES[request.param](capacity))
        buses[-1].reports()  # a server has to be there
        return buses[-1]

    yield opener
    for bus in buses:
        bus.close()


@pytest.fixture
def bus(opened: Opener) -> Plain:
    """A bus of each kind."""
    return opened(10_000)


@pytest.fixture
def limited(bus: Plain) -> Plain:
    """A bus of each kind, whose pool `narrow` has a limit of 2."""
    assert isinstance(bus, MemoryBus | NatsBus)
    bus.limit("narrow", 2)
    return bus


def taken(bus: Plain, pool: str) -> Delivery[object]:
    """The next order, which must come."""
    found: list[Delivery[object]] = []

    def take() -> bool:
        if (delivery := bus.take(pool)) is not None:
            found.append(delivery)
        return bool(found)

    waited_for(take, f"nothing comes to {pool!r}")
    return found[0]


def reported(bus: Plain, count: int = 1) -> Sequence[ReportDelivery[object, object]]:
    """The next reports, which must come."""
    found: list[ReportDelivery[object, object]] = []

    def look() -> bool:
        found.extend(bus.reports())
        return len(found) >= count

    waited_for(look, "no report comes")
    assert len(found) == count
    return found


def is_empty(bus: Plain, pool: str) -> bool:
    """Whether nothing lies in a pool's queue, waiting or taken."""
    before = bus.take(pool)
    waited_for(lambda: bus.room(pool) == 10_000, f"something is left in {pool!r}")
    return before is None and bus.take(pool) is None


def test_orders_reach_their_pool_once(bus: Plain) -> None:
    for number in range(3):
        bus.send("python", f"k{number}", ["run", number])
    bus.send("http", "k9", ["run", 9])
    for number in range(3):
        delivery = taken(bus, "python")
        assert (delivery.body, delivery.redeliveries) == (["run", number], 0)
        delivery.ack()
    assert is_empty(bus, "python")
    assert bus.take("nobody") is None
    assert taken(bus, "http").body == ["run", 9]


def test_reports_come_all_at_once_and_are_answered(bus: Plain) -> None:
    assert list(bus.reports()) == []
    tickets = [bus.report(f"r{number}", number) for number in range(3)]
    assert [ticket.answer for ticket in tickets] == [None] * 3
    reports = reported(bus, 3)
    assert [report.body for report in reports] == [0, 1, 2]
    reports[1].answer("stop")
    reports[0].answer("go on")
    waited_for(lambda: tickets[0].answer, "no answer comes")
    assert [ticket.answer for ticket in tickets] == ["go on", "stop", None]
    assert list(bus.reports()) == []


def test_what_is_said_together_has_its_own_tickets_and_answers(bus: Plain) -> None:
    with bus.together():
        tickets = [bus.report(f"r{number}", number) for number in range(4)]
    reports = reported(bus, 4)
    assert [report.body for report in reports] == [0, 1, 2, 3]
    with bus.together():
        reports[2].answer("two")
        reports[0].answer("none")
        reports[1].nak("not now")
    waited_for(lambda: tickets[0].answer and tickets[2].answer, "no answer comes")
    assert [ticket.answer for ticket in tickets] == ["none", None, "two", None]
    (again,) = reported(bus)
    assert (again.body, again.redeliveries) == (1, 1)
    again.answer("one")
    reports[3].answer("three")
    waited_for(lambda: tickets[1].answer and tickets[3].answer, "no answer comes")
    assert [ticket.answer for ticket in tickets] == ["none", "one", "two", "three"]
    assert list(bus.reports()) == []


def test_what_is_said_together_is_sent_however_that_ends(bus: Plain) -> None:
    with pytest.raises(KeyError), bus.together():
        ticket = bus.report("r", 1)
        bus.report("s", 2)
        raise KeyError
    reports = reported(bus, 2)
    with pytest.raises(KeyError), bus.together(), bus.together():
        for report in reports:
            report.answer("noted")
        raise KeyError
    waited_for(lambda: ticket.answer == "noted", "no answer comes")


def test_a_report_that_can_never_be_handled_leaves_those_beside_it(bus: Plain) -> None:
    with bus.together():
        tickets = [bus.report(f"r{number}", number) for number in range(3)]
    first, bad, last = reported(bus, 3)
    bad.dead_letter("it cannot be read")
    with bus.together():
        first.answer("noted")
        last.answer("noted")
    waited_for(lambda: tickets[2].answer == "noted", "no answer comes")
    assert [ticket.answer for ticket in tickets] == ["noted", None, "noted"]
    assert [letter[:3] for letter in bus.dead_letters()] == [("@reports", "r1", 1)]


def test_a_nak_brings_it_again_behind_the_others(bus: Plain) -> None:
    bus.send("p", "a", "a")
    first = taken(bus, "p")
    bus.send("p", "b", "b")
    second = taken(bus, "p")
    first.nak("not now")
    bus.send("p", "c", "c")
    second.ack()
    again = [taken(bus, "p"), taken(bus, "p")]
    assert sorted((str(each.body), each.redeliveries) for each in again) == [("a", 1), ("c", 0)]
    for each in again:
        each.ack()
    assert is_empty(bus, "p")


def test_a_report_that_was_nacked_keeps_its_ticket(bus: Plain) -> None:
    ticket = bus.report("r", 1)
    reported(bus)[0].nak("the store is busy")
    (again,) = reported(bus)
    assert again.redeliveries == 1
    again.answer("done")
    waited_for(lambda: ticket.answer == "done", "no answer comes")


def test_poison_is_a_dead_letter_and_the_rest_goes_on(bus: Plain) -> None:
    """Scenario 88."""
    bus.send("p", "bad key/ü", {"order_id": "does-not-exist"})
    for number in range(10):
        bus.send("p", f"good{number}", number)
    done, turns = [], 0
    while len(done) < 10 or not bus.dead_letters():
        if (delivery := bus.take("p")) is None:
            continue
        turns += 1
        if isinstance(delivery.body, int):
            done.append(delivery.body)
            delivery.ack()
        else:
            delivery.nak("no such order")
    assert sorted(done) == list(range(10))
    assert turns < 25
    (letter,) = bus.dead_letters()
    assert (letter.queue, letter.key, letter.reason) == ("p", "bad key/ü", "no such order")
    assert letter.tries == turns - 10
    assert is_empty(bus, "p")


def test_what_can_never_be_handled_is_a_dead_letter_at_once(bus: Plain) -> None:
    bus.send("p", "bad", "?")
    taken(bus, "p").dead_letter("it cannot be read")
    bus.report("r", "?")
    reported(bus)[0].dead_letter("neither can it")
    assert is_empty(bus, "p")
    assert sorted(letter[:3] for letter in bus.dead_letters()) == [("@reports", "r", 1), ("p", "bad", 1)]


def test_whoever_listens_is_woken(bus: Plain) -> None:
    bus.take("p")
    woken = threading.Event()
    bus.listen(woken.set)
    bus.send("p", "a", "a")
    assert woken.wait(60)
    woken.clear()
    ticket = bus.report("r", "r")
    assert woken.wait(60)
    woken.clear()
    reported(bus)[0].answer("x")
    assert woken.wait(60)
    waited_for(lambda: ticket.answer == "x", "no answer comes")


def test_a_late_word_about_a_delivery_does_no_harm(bus: Plain) -> None:
    bus.send("p", "a", "a")
    first = taken(bus, "p")
    first.nak("later")
    first.nak("later")
    first.dead_letter("never")
    second = taken(bus, "p")
    assert bus.take("p") is None
    second.ack()
    second.ack()
    second.nak("too late")
    assert is_empty(bus, "p") and bus.dead_letters() == ()


def test_many_threads_take_each_order_once(bus: Plain) -> None:
    for number in range(2_000):
        bus.send("p", f"k{number}", number)
    found: list[object] = []
    come = threading.Condition()

    def wake() -> None:
        with come:
            come.notify_all()

    def work() -> None:
        while len(found) < 2_000:
            if (delivery := bus.take("p")) is not None:
                found.append(delivery.body)
                delivery.ack()
            else:
                with come:
                    come.wait(0.05)

    bus.listen(wake)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, map(str, found))) == list(range(2_000))
    assert is_empty(bus, "p")


def test_a_pool_has_a_limit(limited: Plain) -> None:
    """Of `narrow` two are out at once, whoever takes them; of others as many as there are."""
    for number in range(6):
        limited.send("narrow", f"n{number}", number)
        limited.send("wide", f"w{number}", number)
    out = [taken(limited, "narrow"), taken(limited, "narrow")]
    assert [taken(limited, "wide").body for _ in range(6)] == [*range(6)]
    seen = [delivery.body for delivery in out]
    assert limited.take("narrow") is None
    while len(seen) < 6:
        out.pop(0).ack()
        out.append(taken(limited, "narrow"))
        seen.append(out[-1].body)
        assert limited.take("narrow") is None
    assert seen == [*range(6)]
    for delivery in out:
        delivery.ack()
    assert limited.take("narrow") is None


def test_a_limit_is_raised_lowered_and_taken_away(limited: Plain) -> None:
    for number in range(12):
        limited.send("narrow", f"n{number}", number)
    out = [taken(limited, "narrow") for _ in range(2)]
    limited.limit("narrow", 4)
    out += [taken(limited, "narrow") for _ in range(2)]
    assert limited.take("narrow") is None
    limited.limit("narrow", 1)
    if isinstance(limited, NatsBus):
        queue = limited._publisher._queues["narrow"]
        waited_for(lambda: queue.is_made, "the limit is not there")
    for _ in range(3):  # with one left it is full
        out.pop(0).ack()
    limited.send("other", "o", "o")
    taken(limited, "other").ack()
    assert limited.take("narrow") is None
    out.pop().ack()
    out.append(taken(limited, "narrow"))
    limited.limit("narrow", 0)
    out += [taken(limited, "narrow") for _ in range(7)]
    assert sorted(str(each.body) for each in out) == sorted(map(str, range(4, 12)))
    for delivery in out:
        delivery.ack()
    assert is_empty(limited, "narrow")


def test_a_full_queue_refuses_and_takes_again_when_there_is_room(opened: Opener) -> None:
    bus = opened(2)
    assert bus.room("p") == 2
    bus.send("p", "a", 1)
    bus.send("p", "b", 2)
    assert bus.room("p") == 0
    with pytest.raises(Full, match="'p'"):
        bus.send("p", "c", 3)
    bus.send("q", "c", 3)
    delivery = taken(bus, "p")
    with pytest.raises(Full):
        bus.send("p", "c", 3)
    delivery.ack()
    waited_for(lambda: bus.room("p") == 1, "no room comes")
    bus.send("p", "c", 3)
    bus.report("r", 1)
    bus.report("s", 1)
    with pytest.raises(Full, match="@reports"):
        bus.report("t", 1)


def test_a_queue_that_is_narrowed_has_room_for_less_until_it_is_not(opened: Opener) -> None:
    bus = opened(10)
    bus.narrow("p", 2)
    assert (bus.room("p"), bus.room("q")) == (2, 10)
    bus.send("p", "a", 1)
    bus.send("p", "b", 2)
    assert bus.room("p") == 0
    bus.send("p", "c", 3)  # whoever does not ask is not refused
    assert bus.room("p") <= 0
    for _ in range(2):
        taken(bus, "p").ack()
    waited_for(lambda: bus.room("p") == 1, "no room comes")
    bus.narrow("p", 20)
    waited_for(lambda: bus.room("p") == 9, "it has no more room than its capacity")
    bus.narrow("p", 0)
    assert bus.room("p") == 9


def test_what_is_withdrawn_never_comes_and_makes_room(opened: Opener) -> None:
    bus = opened(4)
    for number, key in enumerate("abcd"):
        bus.send("p", key, number)
    waited_for(lambda: bus.room("p") == 0, "they do not lie there")
    bus.withdraw("p", ["a", "c", "none"])
    bus.withdraw("nothing", ["a"])
    waited_for(lambda: bus.room("p") == 2, "no room comes")
    bus.send("p", "e", 4)
    found = [taken(bus, "p") for _ in range(3)]
    assert sorted(int(str(delivery.body)) for delivery in found) == [1, 3, 4]
    for delivery in found:
        delivery.ack()
    waited_for(lambda: bus.room("p") == 4, "no room comes")
    assert bus.take("p") is None


def test_who_has_taken_what_is_withdrawn_may_end_it(opened: Opener) -> None:
    bus = opened(2)
    bus.send("p", "a", 1)
    delivery = taken(bus, "p")
    bus.withdraw("p", ["a"])
    delivery.in_progress()
    delivery.ack()
    waited_for(lambda: bus.room("p") == 2, "no room comes")
    bus.send("p", "b", 2)
    assert taken(bus, "p").body == 2
