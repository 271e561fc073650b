"""NATS where it is itself: restarts, cuts, workers that stand still or die, servers that are gone, and rubbish."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from nats.aio.client import Client

from noetl.bus.nats import queues
from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.names import token_of
from noetl.bus.nats.queues import QueueLimits
from noetl.ports.bus import STOPS, Full, MessageTooLarge
from services import PLAIN, nats, waited_for

Opener = Callable[..., NatsBus]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens ends of one bus."""
    url, buses = nats().bus_url(), []

    def opener(**limits: float) -> NatsBus:
        about = PLAIN._replace(about=lambda body: str(body["of"]) if isinstance(body, dict) and "of" in body else "")
        buses.append(NatsBus(url, limits=QueueLimits(**limits), codec=about))  # type: ignore[arg-type]
        return buses[-1]

    yield opener
    for bus in buses:
        bus.close()


def taken(bus: NatsBus, pool: str = "p") -> object:
    """The next order, which must come; acknowledged."""
    found: list[object] = []

    def take() -> bool:
        if (delivery := bus.take(pool)) is not None:
            found.append(delivery)
        return bool(found)

    waited_for(take, f"nothing comes to {pool!r}")
    return found[0]


def published(subject: str, data: bytes, reply: str = "") -> None:
    """Publish something from outside of any bus."""

    async def publish() -> None:
        client = Client()
        await client.connect(f"nats://{nats().address}")
        await client.publish(subject, data, reply)
        await client.flush()
        await client.close()

    asyncio.run(publish())


def cut(bus: NatsBus) -> None:
    """Break the connection of a bus, as a network does."""
    bus._connection.soon(bus._connection._client._transport._io_writer.transport.abort)  # type: ignore[union-attr]


def worked_off(server: NatsBus, worker: NatsBus, disturb: Callable[[int], None]) -> None:
    """A sender that sends again until it is answered, a taker that repeats its report: all 60 orders are done."""
    wanted, tickets, done = set(range(60)), {}, set()
    again = time.monotonic()

    def turn() -> bool:
        nonlocal again
        disturb(60 - len(wanted))
        repeats = time.monotonic() >= again
        if repeats:
            again = time.monotonic() + 0.5
        for number in sorted(wanted):
            if repeats and server.room("p"):
                server.send("p", f"k{number}", {"of": "e1", "number": number})
        while (delivery := worker.take("p")) is not None:
            done.add(delivery.body["number"])
            delivery.ack()
        for number in sorted(done):
            if repeats or number not in tickets:
                try:
                    tickets[number] = worker.report(f"r{number}", {"of": "e1", "number": number})
                except Full:
                    continue
        for report in server.reports():
            wanted.discard(report.body["number"])
            report.answer("noted")
        done.difference_update(number for number, ticket in tickets.items() if ticket.answer == "noted")
        return not wanted and not done

    waited_for(turn, "not all orders are done", 60)


def test_a_restart_in_the_middle_loses_nothing_for_good(opened: Opener) -> None:
    server, worker = opened(), opened()
    server.reports()
    restarts = iter((1, 30))
    next_at = next(restarts)

    def disturb(count: int) -> None:
        nonlocal next_at
        if count >= next_at:
            next_at = next(restarts, 1_000)
            nats().kill()
            waited_for(lambda: server.room("p") == 0, "the bus does not broadcast")
            with pytest.raises(Full):
                server.send("p", "late", {"of": "e1", "number": 0})
            with pytest.raises(Full):
                waited_for(lambda: worker.report("late", {"of": "e1", "number": 0}) and False, "it is not noticed")
            nats().start()

    worked_off(server, worker, disturb)


def test_a_queue_takes_the_limits_of_whoever_opens_it_last(opened: Opener) -> None:
    small = opened(capacity=3, ack_wait=5)
    small.send("p", "a", "a")
    taken(small).ack()  # type: ignore[attr-defined]
    small.close()
    large = opened(capacity=50, ack_wait=9)
    for number in range(10):
        large.send("p", f"k{number}", number)
    assert [taken(large).body for _ in range(10)] == list(range(10))  # type: ignore[attr-defined]


def test_stored_orders_outlive_a_restart(opened: Opener) -> None:
    server = opened()
    for number in range(20):
        server.send("p", f"k{number}", number)
    waited_for(lambda: server._publisher._queues["p"].stored == 20, "they are not stored")
    nats().kill()
    nats().start()
    worker = opened()
    found = [taken(worker) for _ in range(20)]
    assert [delivery.body for delivery in found] == list(range(20))  # type: ignore[attr-defined]


def test_a_cut_connection_is_made_again(opened: Opener) -> None:
    server, worker = opened(), opened()
    server.reports()
    cuts = iter([(3, server), (9, worker), (20, server), (25, worker), (40, server)])
    upcoming = next(cuts)

    def disturb(count: int) -> None:
        nonlocal upcoming
        if count >= upcoming[0]:
            cut(upcoming[1])
            upcoming = next(cuts, (1_000, server))

    worked_off(server, worker, disturb)


def test_a_second_order_of_a_key_is_dropped_while_the_first_is_there(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "WINDOW", 0.1)
    bus = opened()
    for _ in range(3):
        bus.send("p", "k", "first")
    bus.send("p", "l", "other")
    first, other = taken(bus), taken(bus)
    assert [first.body, other.body] == ["first", "other"]  # type: ignore[attr-defined]
    bus.send("p", "k", "again")
    waited_for(lambda: bus.room("p") == 10_000 - 2, "the repeat is kept")
    assert bus.take("p") is None
    first.ack()  # type: ignore[attr-defined]
    waited_for(lambda: bus.room("p") == 10_000 - 1, "it is not acknowledged")

    def sent() -> bool:
        bus.send("p", "k", "ordered again")
        return bus.take("p") is not None

    waited_for(sent, "what was dealt with cannot be ordered again")


def test_a_slow_worker_that_shows_itself_keeps_its_order(opened: Opener) -> None:
    """Scenario 90: a handler that takes longer than `ack_wait` runs once."""
    server, slow, idle = opened(ack_wait=3), opened(ack_wait=3), opened(ack_wait=3)
    server.send("p", "k", "slow")
    delivery = taken(slow)
    until = time.monotonic() + 4.5
    while time.monotonic() < until:
        assert slow.take("q") is None
        assert idle.take("p") is None
        time.sleep(0.005)
    delivery.ack()  # type: ignore[attr-defined]
    waited_for(lambda: server.room("p") == 10_000, "it is not acknowledged")
    assert idle.take("p") is None


def test_what_a_dead_worker_had_comes_to_another_until_it_is_given_up(opened: Opener) -> None:
    server = opened(ack_wait=2, deliveries=3)
    server.send("p", "k", "deadly")
    for redeliveries in range(3):
        worker = opened(ack_wait=2, deliveries=3)
        delivery = taken(worker)
        assert delivery.redeliveries == redeliveries  # type: ignore[attr-defined]
        worker._connection.close()  # its process is gone
    last = opened(ack_wait=2, deliveries=3)

    def is_dead() -> bool:
        assert last.take("p") is None
        return bool(server.dead_letters())

    waited_for(is_dead, "it is not given up")
    (letter,) = server.dead_letters()
    assert letter == ("p", "k", 3, "it was not acknowledged in time")
    waited_for(lambda: server.room("p") == 10_000, "it is still there")


def test_a_worker_that_stops_gives_back_what_it_did_not_begin(opened: Opener) -> None:
    server, first = opened(), opened()
    for number in range(10):
        server.send("p", f"k{number}", number)
    begun = [taken(first).body for _ in range(3)]  # type: ignore[attr-defined]
    waited_for(lambda: first._consumer._sources["p"].fetched, "nothing is fetched ahead")
    first.close()
    second = opened()
    found = sorted(taken(second).body for _ in range(7))  # type: ignore[attr-defined]
    assert found == [number for number in range(10) if number not in begun]


def test_a_busy_worker_keeps_what_it_works_on_and_leaves_the_rest_to_others(opened: Opener) -> None:
    server, busy, idle = opened(ack_wait=3), opened(ack_wait=3), opened(ack_wait=3)
    for number in range(8):
        server.send("p", f"k{number}", number)
    own = [taken(busy) for _ in range(2)]
    found: list[object] = []

    def others_work() -> bool:
        assert busy.take(STOPS) is None  # it has no slot: it takes nothing, and looks whether it is to stop
        if (delivery := idle.take("p")) is not None:
            found.append(delivery.body)
            delivery.ack()
        return len(found) == 6

    waited_for(others_work, "the rest stays with the busy one")
    until = time.monotonic() + 4.5
    while time.monotonic() < until:
        assert not others_work() or idle.take("p") is None
        time.sleep(0.005)
    for delivery in own:
        delivery.ack()  # type: ignore[attr-defined]
    waited_for(lambda: server.room("p") == 10_000, "something is left")
    assert sorted(found) == list(range(2, 8))  # type: ignore[type-var]


def test_reports_go_to_the_server_that_ordered_and_to_another_once_it_is_gone(opened: Opener) -> None:
    owner, other, worker = opened(), opened(), opened()
    owner.reports()
    other.reports()
    owner.send("p", "k", {"of": "e1"})
    taken(worker)
    for number in range(20):
        worker.report(f"r{number}", {"of": "e1", "number": number})
    found: list[object] = []
    waited_for(lambda: found.extend(owner.reports()) or len(found) == 20, "the reports do not come")
    assert list(other.reports()) == []
    owner._connection.close()
    tickets: list[Any] = []
    heard: list[Any] = []

    def is_heard() -> bool:
        """A message that was sent while the connection still ended is lost: a worker sends it again."""
        if len(tickets) < 1 + (time.monotonic() - began):
            tickets.append(worker.report("r20", {"of": "e1", "number": 20}))
        heard.extend(other.reports())
        return bool(heard)

    began = time.monotonic()
    waited_for(is_heard, "nobody takes over")
    heard[0].answer("stop")
    waited_for(lambda: all(ticket.answer == "stop" for ticket in tickets), "no answer comes")


def test_a_report_sent_twice_is_answered_by_one_answer(opened: Opener) -> None:
    server, worker = opened(), opened()
    server.reports()
    tickets = [worker.report("r", 1), worker.report("r", 1)]
    found: list[object] = []
    waited_for(lambda: found.extend(server.reports()) or found, "no report comes")
    found[0].answer("noted")  # type: ignore[attr-defined]
    waited_for(lambda: all(ticket.answer == "noted" for ticket in tickets), "a ticket is forgotten")
    assert worker._requests._keys == {} and worker._requests._asked == {}


def test_what_has_no_room_at_a_server_is_dropped_and_comes_again(opened: Opener) -> None:
    server, worker = opened(capacity=5), opened()
    server.reports()
    for number in range(50):
        worker.report(f"r{number}", number)
    found: list[object] = []
    waited_for(lambda: found.extend(server.reports()) or len(found) == 5, "no report comes")
    assert server.reports() == []
    for report in found:
        report.answer("noted")  # type: ignore[attr-defined]
    ticket = worker.report("r49", 49)
    waited_for(lambda: [each.answer("noted") for each in server.reports()] or ticket.answer, "there is no room again")


def test_orders_to_stop_reach_every_worker_and_wait_behind_nothing(opened: Opener) -> None:
    server, workers = opened(), [opened(), opened()]
    assert [worker.take(STOPS) for worker in workers] == [None, None]
    for worker in workers:  # a subscription waits a second for NATS to have it, which is not enough on a busy machine
        worker._connection.wait(worker._connection._client.flush(timeout=25), 30)
    for number in range(100):
        server.send("p", f"k{number}", number)
    assert server.room(STOPS) > 0
    server.send(STOPS, "s", "stop")
    for worker in workers:
        delivery = taken(worker, STOPS)
        assert (delivery.body, delivery.redeliveries) == ("stop", 0)  # type: ignore[attr-defined]
        delivery.ack()  # type: ignore[attr-defined]
        assert worker.take(STOPS) is None


def test_rubbish_is_a_dead_letter_and_stops_nobody(opened: Opener) -> None:
    bus = opened()
    bus.reports()
    bus.take(STOPS)
    bus.received()
    bus.send("p", "k", "good")
    assert taken(bus).body == "good"  # type: ignore[attr-defined]
    prefix = bus._connection.address.prefix
    for data in (b"\x00\xc1", b"\x07", b"\x01not deflated"):
        published(f"{prefix}.run.p.{token_of(repr(data))}", data)
        published(f"{prefix}.report.any", data, reply=f"{bus._requests._inbox}.0")
        published(f"{prefix}.report.any", data, reply="$JS.API.STREAM.PURGE.anything")
        published(f"{prefix}.stops", data)
        published(f"{prefix}.received.servers", data)
        published(f"{bus._requests._inbox}.0", data)
    waited_for(lambda: bus.take("p") is None and len(bus.dead_letters()) == 6, "rubbish is no dead letter")
    assert {letter.queue for letter in bus.dead_letters()} == {"p", "@reports"}
    assert all(letter.reason.startswith("it cannot be read: ") for letter in bus.dead_letters())
    bus.send("p", "l", "still good")
    assert taken(bus).body == "still good"  # type: ignore[attr-defined]


def test_what_is_too_large_is_refused_with_its_size(opened: Opener) -> None:
    import random

    bus = opened()
    bus.reports()
    dense = random.Random(1).randbytes(800_000).hex()
    with pytest.raises(MessageTooLarge, match=r"more than the bus takes \(1,044,480\)"):
        bus.send("p", "large", dense * 2)
    with pytest.raises(MessageTooLarge):
        bus.report("larger", dense * 3)
    bus.send("p", "thin", "x" * 5_000_000)  # it is small once it is deflated
    assert taken(bus).body == "x" * 5_000_000  # type: ignore[attr-defined]
