"""NATS between several servers and workers: addresses, reports that find their server, broadcasts, limits of pools."""

import time
from collections.abc import Callable, Iterator

import pytest

from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.queues import QueueLimits
from noetl.ports.bus import Delivery
from noetl_ir.orders import Serving, WorkerHeartbeat
from services import PLAIN, nats, waited_for

Opener = Callable[[], NatsBus]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens ends of one bus."""
    url, buses = nats().bus_url(), []

    def opener() -> NatsBus:
        buses.append(NatsBus(url, codec=PLAIN))
        return buses[-1]

    yield opener
    for bus in buses:
        bus.close()


def taken(bus: NatsBus, pool: str = "p") -> Delivery[object]:
    """The next order, which must come."""
    found: list[Delivery[object]] = []

    def take() -> bool:
        if (delivery := bus.take(pool)) is not None:
            found.append(delivery)
        return bool(found)

    waited_for(take, f"nothing comes to {pool!r}")
    return found[0]


def test_an_address_is_one_worker_s_and_keeps_nothing_for_later(opened: Opener) -> None:
    server, workers = opened(), [opened(), opened()]
    server.send("@w0", "early", "nobody is there")
    server._connection.wait(server._connection._drained())
    assert [worker.take(f"@w{number}") for number, worker in enumerate(workers)] == [None, None]
    for key in ("a", "b", "a", "c"):
        server.send("@w0", key, key)
    heard = workers[0]._addresses._heard["@w0"].waiting
    waited_for(lambda: heard and heard[-1].key == "c", "not all is heard")
    first = taken(workers[0], "@w0")
    assert first.body == "a"
    assert [taken(workers[0], "@w0").body for _ in range(2)] == ["b", "c"]
    assert workers[0].take("@w0") is None and workers[1].take("@w1") is None
    first.nak("not now", 1_000)
    again = taken(workers[0], "@w0")
    assert (again.body, again.redeliveries) == ("a", 1)


def test_a_report_finds_the_server_that_it_is_for(opened: Opener) -> None:
    servers, worker = [opened(), opened(), opened()], opened()
    for server in servers:
        server.reports()
    servers[2].send("p", "k", "order")
    taken(worker).ack()
    servers[2].close()  # whoever it was for is gone, and the second one goes on with that
    tickets, looks = [worker.report("r", "done")], 0

    def answered() -> bool:
        nonlocal looks
        looks += 1
        if looks % 300 == 0:  # NATS may not know yet that it is gone: then it is lost, and repeated as a worker does
            tickets.append(worker.report("r", "done"))
        for stray in servers[0].reports():
            stray.pass_on("nobody")
        for report in servers[1].reports():
            report.answer("right")
        return tickets[-1].answer is not None

    waited_for(answered, "no answer comes")
    assert tickets[-1].answer == "right"
    next_one = worker.report("s", "more")
    waited_for(lambda: [each.answer("straight") for each in servers[1].reports()] or next_one.answer, "it goes astray")
    assert "more" not in [stray.body for stray in servers[0].reports()]


def test_a_server_that_is_there_and_silent_is_passed_by() -> None:
    url = nats().bus_url()
    silent, other = NatsBus(url, codec=PLAIN), NatsBus(url, codec=PLAIN)
    worker = NatsBus(url, codec=PLAIN, limits=QueueLimits(silence_seconds=0.2))
    try:
        for server in (silent, other):
            server.reports()
        silent.send("p", "k", "order")
        taken(worker).ack()
        ticket, looks = worker.report("r", "done"), 0

        def answered() -> bool:
            nonlocal ticket, looks
            looks += 1
            if looks % 50 == 0:  # as a worker repeats it; any server of the two may be asked, the silent one too
                ticket = worker.report("r", "done")
            for report in other.reports():
                report.answer("heard")
            return ticket.answer is not None

        waited_for(answered, "only the silent server is asked")
        worker.report("s", "more")
        heard: list[object] = []
        waited_for(lambda: heard.extend(each.body for each in other.reports()) or "more" in heard, "it goes astray")
    finally:
        for bus in (worker, other, silent):
            bus.close()


def test_what_nobody_has_is_passed_on_once(opened: Opener) -> None:
    servers, worker = [opened(), opened()], opened()
    for server in servers:
        server.reports()
    worker.report("r", "stray")
    passed = 0

    def look() -> bool:
        nonlocal passed
        for server in servers:
            for stray in server.reports():
                passed += 1
                stray.pass_on("nobody")
        return passed == 3  # by the first that heard it, then by both

    waited_for(look, "it is not passed on")
    servers[0].say(Serving("http://x"))  # behind which nothing more can be on its way
    waited_for(lambda: servers[1].received() or servers[0].say(Serving("http://x")), "nothing is heard")
    assert not any(server.reports() for server in servers)


def test_broadcasts_are_heard_by_all_who_look(opened: Opener) -> None:
    one, two, mute = opened(), opened(), opened()
    assert not (one.received() or two.received())
    mute.say(WorkerHeartbeat("w", "p", 4, 1, False))
    for bus in (one, two):
        heard: list[object] = []
        waited_for(lambda: heard.extend(bus.received()) or heard, "nothing is heard")  # noqa: B023
        assert heard == [WorkerHeartbeat("w", "p", 4, 1, False)]


def test_a_pool_has_a_limit_over_all_its_workers(opened: Opener) -> None:
    server, workers = opened(), [opened(), opened()]
    server.limit("p", 2)
    waited_for(lambda: server._publisher._queues["p"].is_made, "there is no queue")
    for number in range(6):
        server.send("p", f"k{number}", number)
    out, most, done = [], 0, 0
    until = time.monotonic() + 30
    while done < 6:
        assert time.monotonic() < until
        out += [found for worker in workers if (found := worker.take("p")) is not None]
        most = max(most, len(out))
        if len(out) == 2 or done == 5:
            for found in out:
                found.ack()
                done += 1
            out = []
    assert most == 2
