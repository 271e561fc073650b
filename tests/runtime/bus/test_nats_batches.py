"""Batches over NATS: what is one message there, to whom one goes, and what becomes of its parts."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.connection import Message
from noetl.bus.nats.subjects import BusSubjects
from noetl.messages.batches import MOST_PARTS, BatchPart, is_batch, joined_parts
from noetl.ports.bus import ReportDelivery
from services import PLAIN, nats, waited_for

Opener = Callable[[], NatsBus]
Told = list[Message]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens ends of one bus, whose messages are all about one execution."""
    url, buses = nats().bus_url(), []

    def opener() -> NatsBus:
        buses.append(NatsBus(url, codec=PLAIN._replace(about=lambda body: "e1")))
        return buses[-1]

    yield opener
    for bus in buses:
        bus.close()


def routed(opened: Opener) -> tuple[NatsBus, NatsBus]:
    """A server, and a worker that has an order of it."""
    server, worker = opened(), opened()
    server.reports()
    server.send("p", "k", "order")
    waited_for(lambda: (order := worker.take("p")) and (order.ack(), True), "no order comes")
    return server, worker


def told_by(bus: NatsBus) -> Told:
    """The messages that a bus sends from now on."""
    told: Told = []
    send = bus._connection.send

    def sent(message: Message) -> None:
        told.append(message)
        send(message)

    bus._connection.send = sent  # type: ignore[method-assign]
    return told


def heard(bus: NatsBus, count: int) -> list[ReportDelivery[Any, Any]]:
    """The next reports, which must come."""
    found: list[ReportDelivery[Any, Any]] = []
    waited_for(lambda: found.extend(bus.reports()) or len(found) >= count, "the reports do not come")
    assert len(found) == count
    return found


def answered(worker: NatsBus, server: NatsBus, count: int) -> None:
    """So many reports of one turn are heard and answered in one turn."""
    with worker.together():
        tickets = [worker.report(f"r{number}", number) for number in range(count)]
    reports = heard(server, count)
    with server.together():
        for report in reports:
            report.answer(report.body + 100)
    waited_for(lambda: all(ticket.answer is not None for ticket in tickets), "an answer is lost")
    assert [ticket.answer for ticket in tickets] == [number + 100 for number in range(count)]
    assert worker._requests._keys == {} and worker._requests._asked == {}


def test_what_goes_to_one_server_together_is_one_message_and_so_is_its_answer(opened: Opener) -> None:
    server, worker = routed(opened)
    to_server, to_worker = told_by(worker), told_by(server)
    answered(worker, server, 5)
    assert [is_batch(message.data) for message in (*to_server, *to_worker)] == [True, True]


def test_many_are_a_few_messages(opened: Opener) -> None:
    server, worker = routed(opened)
    to_server, to_worker = told_by(worker), told_by(server)
    answered(worker, server, 2 * MOST_PARTS + 1)
    assert len(to_server) == len(to_worker) == 3


def test_one_alone_is_no_batch(opened: Opener) -> None:
    server, worker = routed(opened)
    to_server, to_worker = told_by(worker), told_by(server)
    answered(worker, server, 1)
    assert [is_batch(message.data) for message in (*to_server, *to_worker)] == [False, False]


def test_an_older_server_gets_no_batch(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address does not say that it reads any."""
    with monkeypatch.context() as patch:
        patch.setattr(BusSubjects, "batches_to", BusSubjects.reports_to)
        server, worker = routed(opened)
    to_server, to_worker = told_by(worker), told_by(server)
    answered(worker, server, 3)
    assert [is_batch(message.data) for message in (*to_server, *to_worker)] == [False] * 6


def test_whoever_does_not_know_the_server_sends_no_batch(opened: Opener) -> None:
    """Any of them may hear it, and one may be older."""
    server, worker = opened(), opened()
    server.reports()
    told = told_by(worker)
    answered(worker, server, 3)
    assert [is_batch(message.data) for message in told] == [False] * 3


def test_an_older_worker_is_answered_alone(opened: Opener) -> None:
    server, worker = routed(opened)
    tickets = [worker.report(f"r{number}", number) for number in range(3)]
    told = told_by(server)
    reports = heard(server, 3)
    with server.together():
        for report in reports:
            report.answer("noted")
    waited_for(lambda: all(ticket.answer == "noted" for ticket in tickets), "an answer is lost")
    assert [is_batch(message.data) for message in told] == [False] * 3


def test_a_batch_for_a_server_that_is_gone_goes_to_another_one(opened: Opener) -> None:
    server, worker = routed(opened)
    other = opened()
    other.reports()
    server._connection.close()
    began, tickets = time.monotonic(), []

    def asked() -> None:
        with worker.together():
            tickets.extend(worker.report(f"r{number}", number) for number in range(3))

    def is_answered() -> bool:
        for report in other.reports():
            report.answer(report.body + 100)
        return all(ticket.answer is not None for ticket in tickets)

    def is_taken_over() -> bool:
        """A message that was sent while the connection still ended is lost: a worker sends it again."""
        if len(tickets) < 3 * (1 + (time.monotonic() - began)):
            asked()
        return is_answered()

    waited_for(is_taken_over, "nobody takes over")
    asked()  # What was sent twice before may still come in between, and is answered, too.
    waited_for(is_answered, "an answer is lost")
    assert [ticket.answer for ticket in tickets] == [100, 101, 102] * (len(tickets) // 3)
    assert worker._requests._keys == {} and worker._requests._asked == {}


def test_what_cannot_be_read_in_a_batch_leaves_the_rest(opened: Opener) -> None:
    server, worker = routed(opened)
    subject, inbox = server._replies.address, worker._requests._inbox
    parts = [BatchPart(7, "good", b"\x00\x01"), BatchPart(8, "bad", b"\x07"), BatchPart(9, "fine", b"\x00\x02")]
    for data in (
        joined_parts(parts),
        joined_parts(parts)[:-1],
        joined_parts([BatchPart(1, "nested", joined_parts(parts))]),
    ):
        worker._connection.send(Message(subject, data, f"{inbox}.7"))
    worker._connection.send(Message(subject, joined_parts(parts), "$JS.API.STREAM.PURGE.anything"))
    assert [(report.body, report.key) for report in heard(server, 2)] == [(1, "good"), (2, "fine")]  # type: ignore[attr-defined]
    waited_for(lambda: len(server.dead_letters()) == 3, "rubbish is no dead letter")
    assert [letter.key for letter in server.dead_letters()] == ["bad", "", "nested"]


def test_what_is_for_another_server_goes_to_all_alone(opened: Opener) -> None:
    server, worker = routed(opened)
    other = opened()
    other.reports()
    with worker.together():
        tickets = [worker.report(f"r{number}", number) for number in range(3)]
    told = told_by(server)
    for report in heard(server, 3):
        report.pass_on("nobody")
    assert [is_batch(message.data) for message in told] == [False] * 3
    for report in heard(other, 3):
        report.answer(report.body)
    waited_for(lambda: all(ticket.answer is not None for ticket in tickets), "an answer is lost")
    assert [ticket.answer for ticket in tickets] == [0, 1, 2]
