"""The bus as one simulated process sees it: a `Bus` and a `Broadcasts` on the network."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from noetl.messages.batches import BatchPart, grouped, joined_parts, parts_of
from noetl.messages.encoding import (
    read_answer,
    read_broadcast,
    read_order,
    read_report,
    write_answer,
    write_broadcast,
    write_order,
    write_report,
)
from noetl.ports.bus import DeadLetter, Full, MessageTooLarge
from noetl_ir.orders import Answer, Broadcast, Order, Said
from simulator.network import Item, Network, WorkQueue

Answered = Callable[[bytes, str], None]
"""Gives a reporter an answer, and who gave it."""

Waited = tuple[BatchPart, Answered]
"""A report or an answer that is collected, and who hears the answer."""

READS_BATCHES = "+"
"""At the end of an address: who is there reads batches."""

ROOM = 10_000
PATIENCE = 5_000_000
"""Microseconds after which a server that answers nothing is passed by."""


class AskedTicket:
    """A `Ticket`."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: Answer | None = None


class Endpoint:
    """One process on the network. `wake` has it look; `is_linked` is false while it is cut off."""

    def __init__(self, network: Network, name: str, wake: Callable[[], None]) -> None:
        self._is_older = network.is_older(name)
        # As over NATS, whoever knows an address knows by it whether batches may go there.
        self.address = name if self._is_older else f"{name}{READS_BATCHES}"
        self.wake = wake
        self.is_alive = True
        self.is_linked = True
        self.is_awake = True
        self.is_listening = False
        self.pools: set[str] = set()
        self._network = network
        self._kept: set[Item] = set()
        self._addressed: dict[str, deque[AddressedDelivery]] = {}
        self._reports: deque[HeardDelivery] = deque()
        self._broadcasts: deque[Broadcast] = deque()
        self._routes: dict[str, str] = {}
        self._silent: dict[str, int] = {}
        self._asked: dict[str, list[AskedTicket]] = {}
        self._numbers = count()
        self._narrow: dict[str, int] = {}
        self._seen = Counter[str]()
        self._reported: dict[str, list[Waited]] | None = None
        self._answers: dict[str, list[Waited]] | None = None
        network.join(self)

    def die(self) -> None:
        """The process is gone."""
        self.is_alive = False
        self._network.leave(self)

    def keeps(self, item: Item) -> bool:
        """Whether the process says that it still has an order."""
        return self.is_alive and self.is_linked and self.is_awake and item in self._kept

    def send(self, pool: str, key: str, order: Order) -> None:
        """`Bus.send`."""
        data = self._sized(write_order(order))
        if not pool.startswith("@"):
            self._network.publish(pool, key, data, self)
            self._seen[pool] += 1
            return
        self._network.tell_all(lambda other: other.hear_addressed(pool, key, data, self.address))

    def take(self, pool: str) -> "AddressedDelivery | QueuedDelivery | None":
        """`Bus.take`."""
        if pool.startswith("@"):
            waiting = self._addressed.setdefault(pool, deque())
            return waiting.popleft() if waiting else None
        self.pools.add(pool)
        item = self._network.queue(pool).take(self) if self.is_linked else None
        if item is None:
            return None
        self._kept.add(item)
        return QueuedDelivery(self, pool, item, self._recorded(item.data, item.sender))

    def _recorded(self, data: bytes, sender: str) -> Order:
        order = read_order(data)
        if (about := getattr(order, "execution_id", "")) and sender:
            self._routes[about] = sender
        return order

    @contextmanager
    def together(self) -> Iterator[None]:
        """`Bus.together`. A batch is one message: it is lost, late or doubled as a whole."""
        if self._is_older:
            yield
            return
        self._reported, self._answers = {}, {}
        try:
            yield
        finally:
            reported, self._reported = self._reported, None
            answers, self._answers = self._answers, None
            for server, each in reported.items():
                for group in self._grouped(each):
                    self._tell_reports(server, group)
            for reporter, each in answers.items():
                for group in self._grouped(each):
                    self._tell_answers(reporter, group)

    def _grouped(self, said: "list[Waited]") -> "Iterator[list[tuple[bytes, Answered]]]":
        """The messages that were collected, in groups that are one message each."""
        tellers = {part.number: answered for part, answered in said}
        for group in grouped([part for part, _ in said], self._network.largest):
            parts = parts_of(joined_parts(group)) if len(group) > 1 else group
            yield [(part.frame, tellers[part.number]) for part in parts]

    def _tell_reports(self, server: str, group: "list[tuple[bytes, Answered]]") -> None:
        def hear(other: Endpoint) -> None:
            assert len(group) == 1 or not other._is_older, "a batch to who reads none"
            for data, answered in group:
                other.hear(data, self.address, answered, passed=False)

        def to_any() -> None:
            # Another server may read no batches.
            for data, answered in group:
                self._routes.pop(read_report(data).execution_id, None)
                self._tell_any(data, answered)

        self._network.tell(server, hear, to_any)

    def _tell_answers(self, reporter: str, group: "list[tuple[bytes, Answered]]") -> None:
        def hear(other: Endpoint) -> None:
            assert len(group) == 1 or not other._is_older, "a batch to who reads none"
            for data, answered in group:
                answered(data, self.address)

        if self.is_alive and self.is_linked:
            self._network.tell(reporter, hear)

    def _tell_any(self, data: bytes, answered: Answered) -> None:
        self._network.tell_any_server(lambda server: server.hear(data, self.address, answered, passed=False))

    def report(self, key: str, report: Said) -> AskedTicket:
        """`Bus.report`."""
        data = self._sized(write_report(report))
        ticket, about = AskedTicket(), report.execution_id
        self._asked.setdefault(key, []).append(ticket)
        route, now = self._routes.get(about, ""), self._network.timeline.now
        is_silent = now - self._silent.setdefault(about, now) > PATIENCE

        def answered(answer: bytes, sender: str) -> None:
            self._silent.pop(about, None)
            if is_silent or not route or not self._routes.get(about):
                self._routes[about] = sender
            for each in self._asked.pop(key, [ticket]):
                each.answer = read_answer(answer)

        def to_any() -> None:
            self._routes.pop(about, None)
            self._tell_any(data, answered)

        if is_silent:
            self._network.tell_all(lambda server: server.hear(data, self.address, answered, passed=True))
        elif self._reported is not None and route.endswith(READS_BATCHES):
            self._reported.setdefault(route, []).append((BatchPart(next(self._numbers), key, data), answered))
        elif route:
            self._network.tell(route, lambda server: server.hear(data, self.address, answered, passed=False), to_any)
        else:
            to_any()
        return ticket

    def hear(self, data: bytes, reporter: str, answered: Answered, *, passed: bool) -> None:
        """Take in a report that comes."""
        if self.is_listening:
            self._reports.append(HeardDelivery(self, data, reporter, answered, passed=passed))

    def reports(self) -> "Sequence[HeardDelivery]":
        """`Bus.reports`."""
        self.is_listening = True
        found, self._reports = [*self._reports], deque()
        return found

    def answer(self, reporter: str, answered: Answered, answer: Answer) -> None:
        """Tell the reporter of a report how much of it was recorded."""
        data = write_answer(answer)
        if self._answers is not None and reporter.endswith(READS_BATCHES):
            self._answers.setdefault(reporter, []).append((BatchPart(next(self._numbers), "", data), answered))
        elif self.is_alive and self.is_linked:
            self._network.tell(reporter, lambda _: answered(data, self.address))

    def pass_on(self, data: bytes, reporter: str, answered: Answered) -> None:
        """Have every server hear a report."""
        if self.is_alive and self.is_linked:
            self._network.tell_all(lambda server: server.hear(data, reporter, answered, passed=True))

    def hear_addressed(self, address: str, key: str, data: bytes, sender: str) -> None:
        """Take in an order to the address of this process, which has one only if it takes from there."""
        waiting = self._addressed.get(address)
        if waiting is not None and key not in {each.key for each in waiting}:
            waiting.append(AddressedDelivery(self, waiting, key, self._recorded(data, sender)))

    def say(self, broadcast: Broadcast) -> None:
        """`Broadcasts.say`."""
        if self.is_linked:
            data = write_broadcast(broadcast)
            self._network.tell_all(lambda other: other.hear_broadcast(read_broadcast(data)))

    def hear_broadcast(self, broadcast: Broadcast) -> None:
        """Take in a broadcast."""
        self._broadcasts.append(broadcast)

    def received(self) -> Sequence[Broadcast]:
        """`Broadcasts.received`."""
        found, self._broadcasts = [*self._broadcasts], deque()
        return found

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """`Bus.withdraw`. Nothing is taken back here: workers are told when they report."""

    def narrow(self, pool: str, most: int) -> None:
        """`Bus.narrow`."""
        self._narrow[pool] = most
        self._seen[pool] = self._network.load(pool)

    def limit(self, pool: str, most: int) -> None:
        """`Bus.limit`."""
        self._network.queue(pool).most = most

    def look_at(self, pool: str) -> None:
        """Look how much lies in a queue."""
        self._seen[pool] = self._network.load(pool)
        self.wake()

    def has_narrowed(self, pool: str) -> bool:
        """Whether it takes less room in a queue than there is."""
        return bool(self._narrow.get(pool))

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        if not self.is_linked:
            return 0
        most = self._narrow.get(pool)
        return most - self._seen[pool] if most else ROOM

    def due(self) -> int | None:
        """`Bus.due`."""
        return None

    def listen(self, callback: Callable[[], None]) -> None:
        """`Bus.listen`. Processes here are woken by `wake`."""

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """`Bus.dead_letters`."""
        return tuple(self._network.dead_letters)

    def close(self) -> None:
        """`Bus.close`."""
        self.die()

    def later(self, delay: int, keep: Callable[[], None]) -> None:
        """Do something after so many microseconds, and look."""
        self._network.timeline.after(delay, lambda: (keep(), self.wake())[1])

    def let_go(self, item: Item) -> bool:
        """Take an order from the process; whether it had the order. A late word counts, as JetStream has it."""
        had = item in self._kept
        self._kept.discard(item)
        return had and self.is_alive and self.is_linked

    def queue(self, pool: str) -> WorkQueue:
        """The queue of a pool."""
        return self._network.queue(pool)

    def _sized(self, data: bytes) -> bytes:
        if not self.is_linked or not self.is_alive:
            raise Full("the network cannot be reached for now")
        if len(data) > self._network.largest:
            raise MessageTooLarge(f"{len(data)} bytes")
        return data


class QueuedDelivery:
    """A `Delivery` from a work queue."""

    __slots__ = ("_endpoint", "_item", "_pool", "body", "key", "redeliveries")

    def __init__(self, endpoint: Endpoint, pool: str, item: Item, body: Order) -> None:
        self._endpoint = endpoint
        self._pool = pool
        self._item = item
        self.key = item.key
        self.body = body
        self.redeliveries = item.tries - 1

    def ack(self) -> None:
        """`Delivery.ack`."""
        if self._endpoint.let_go(self._item):
            self._endpoint.queue(self._pool).drop(self._item)

    def nak(self, reason: str, delay: int = 0) -> None:
        """`Delivery.nak`."""
        if self._endpoint.let_go(self._item):
            self._endpoint.queue(self._pool).back(self._item, delay)

    def in_progress(self) -> None:
        """`Delivery.in_progress`. The endpoint says so by itself."""

    def dead_letter(self, reason: str) -> None:
        """`Delivery.dead_letter`."""
        if self._endpoint.let_go(self._item):
            self._endpoint.queue(self._pool).dead_letter(self._item, reason)


class AddressedDelivery:
    """A `Delivery` to an address: it comes once."""

    __slots__ = ("_endpoint", "_waiting", "body", "key", "redeliveries")

    def __init__(self, endpoint: Endpoint, waiting: "deque[AddressedDelivery]", key: str, body: Order) -> None:
        self._endpoint = endpoint
        self._waiting = waiting
        self.key = key
        self.body = body
        self.redeliveries = 0

    def ack(self) -> None:
        """`Delivery.ack`."""

    def nak(self, reason: str, delay: int = 0) -> None:
        """`Delivery.nak`."""
        self.redeliveries += 1
        self._endpoint.later(delay, lambda: self._waiting.append(self))

    def in_progress(self) -> None:
        """`Delivery.in_progress`."""

    def dead_letter(self, reason: str) -> None:
        """`Delivery.dead_letter`."""


class HeardDelivery:
    """A `ReportDelivery`."""

    __slots__ = ("_answered", "_data", "_endpoint", "_passed", "_reporter", "body", "redeliveries")

    def __init__(
        self,
        endpoint: Endpoint,
        data: bytes,
        reporter: str,
        answered: Answered,
        *,
        passed: bool,
    ) -> None:
        self._endpoint = endpoint
        self._data = data
        self._reporter = reporter
        self._answered = answered
        self._passed = passed
        self.body = read_report(data)
        self.redeliveries = 0

    def answer(self, answer: Answer) -> None:
        """`ReportDelivery.answer`."""
        self._endpoint.answer(self._reporter, self._answered, answer)

    def pass_on(self, answer: Answer) -> None:
        """`ReportDelivery.pass_on`. What was passed on already goes no further."""
        if not self._passed:
            self._endpoint.pass_on(self._data, self._reporter, self._answered)

    def ack(self) -> None:
        """`Delivery.ack`."""

    def nak(self, reason: str, delay: int = 0) -> None:
        """`Delivery.nak`. Its worker sends it again."""

    def in_progress(self) -> None:
        """`Delivery.in_progress`."""

    def dead_letter(self, reason: str) -> None:
        """`Delivery.dead_letter`."""
        raise AssertionError(f"a report was given up: {reason}")
