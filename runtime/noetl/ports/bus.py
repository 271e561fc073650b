"""The bus between servers and workers, as a port: work queues of orders, reports with their answers, broadcasts."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from noetl_ir.orders import Broadcast
from noetl_ir.records import NamedTuple

_C = TypeVar("_C")
_R = TypeVar("_R")
_A = TypeVar("_A")
_T_co = TypeVar("_T_co", covariant=True)
_A_contra = TypeVar("_A_contra", contravariant=True)
_A_co = TypeVar("_A_co", covariant=True)


# Told apart from `MessageTooLarge`: the sender of one tries again, and that of the other fails the task.
class Full(Exception):
    """A queue of the bus takes no more for now; the sender keeps what it has and tries again later."""


class MessageTooLarge(Exception):
    """A message is larger than the bus takes, now and later; the text says how large."""


class Delivery(Protocol[_T_co]):
    """A message that was taken. It stays the taker's until it says what became of it, or its time is up.

    Delivery is at least once: what is not acknowledged in time comes again, and a late word may change
    nothing.
    """

    @property
    def body(self) -> _T_co: ...

    @property
    def redeliveries(self) -> int:
        """How often it was delivered before."""
        ...

    def ack(self) -> None:
        """The message is dealt with and never comes again."""
        ...

    # Behind the others: a message that always fails would else hold up its queue.
    def nak(self, reason: str, delay: int = 0) -> None:
        """The message comes again after `delay` microseconds, behind the others; after too many tries it is a dead
        letter.
        """
        ...

    def in_progress(self) -> None:
        """The message is being worked on: its time starts anew."""
        ...

    def dead_letter(self, reason: str) -> None:
        """The message can never be dealt with: out of the way, kept for a person to see."""
        ...


class ReportDelivery(Delivery[_T_co], Protocol[_T_co, _A_contra]):
    """A report, at the server. An answer that starts an effect, or leaves the process, goes out behind the disk."""

    def answer(self, answer: _A_contra) -> None:
        """Acknowledge it and tell the reporter."""
        ...

    # An execution may have gone to another server since its order was sent, and the bus does not know which.
    def pass_on(self, answer: _A_contra) -> None:
        """The report is not for this server: it goes to all others, once. Where there are none, it is answered so."""
        ...


# Asked and not awaited: the worker's loop has many of these, and sends again what the bus may have lost.
class Ticket(Protocol[_A_co]):
    """A report, at the worker. `answer` is None until the server's is here; send again until then."""

    @property
    def answer(self) -> _A_co | None: ...


REPORTS = "@reports"
"""The name of the reports' queue among the dead letters."""


class DeadLetter(NamedTuple):
    """A message that was tried too often, or that nobody can read: `queue` is its pool or `REPORTS`."""

    queue: str
    key: str
    tries: int
    reason: str


# Its sign cannot begin the name of a pool, so neither can be taken for the other.
STOPS = "@stops"
"""The pool name of orders to stop, which need no slot and so never wait behind work."""


def address_of(pool: str, worker: str) -> str:
    """The pool name of what only one worker takes, of those of a pool."""
    return f"@{pool}\0{worker}"


def lane_of(pool: str, namespace: str) -> str:
    """The queue of its own that a namespace has in a pool where its slots are bounded: its lane."""
    return f"{pool}\0{namespace}"


def pool_in(queue: str) -> str:
    """The pool of a queue, which may be a lane of it."""
    return queue.partition("\0")[0]


def namespace_in(queue: str) -> str:
    """The namespace of a lane, empty for the queue of a pool."""
    return queue.partition("\0")[2]


class Bus(Protocol[_C, _R, _A]):
    """Orders from the server to workers by pool, reports back, and an answer to each report.

    No method waits: it takes what is there, and `listen` says when to look again, so that the embedded driver needs no
    event loop. A pool is a name. A name that begins with @ is an address: an order to it reaches only those who take
    from it at that moment. Queues are bounded. `key` names a message: a bus may drop a second message of the same key,
    and may deliver one twice, in any order.
    """

    def send(self, pool: str, key: str, order: _C) -> None:
        """Queue an order; one that a crash loses before it is queued is sent again. Raises Full, MessageTooLarge."""
        ...

    def take(self, pool: str) -> Delivery[_C] | None:
        """The next order of a pool, None when none waits."""
        ...

    def report(self, key: str, report: _R) -> Ticket[_A]:
        """Queue a report. Raises Full, MessageTooLarge."""
        ...

    def reports(self) -> Sequence[ReportDelivery[_R, _A]]:
        """All reports that wait now."""
        ...

    # A round of a server answers hundreds of reports; a message each would be most of its time.
    def together(self) -> AbstractContextManager[None]:
        """Collect reports and answers while inside, and send them at its end, however it ends, in few messages."""
        ...

    # Best effort: what a worker has already is told to stop by its own order.
    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """Take back the orders with these keys, except those that a worker has taken already."""
        ...

    def room(self, pool: str) -> int:
        """How many more orders a pool's queue takes now."""
        ...

    # A queue is in the order in which it was filled: whoever sorts what waits has it short.
    def narrow(self, pool: str, most: int) -> None:
        """Take no more orders of a pool from here while so many lie in its queue; 0 for as many as it has room for."""
        ...

    def limit(self, pool: str, most: int) -> None:
        """Let at most so many orders of a pool be taken and not acknowledged at once, by all who take; 0 for any
        number. The queue is there from then on.
        """
        ...

    # So that a loop that sleeps need not look every few milliseconds for what was given back with a delay.
    def due(self) -> int | None:
        """When the next message that is held back may be taken (microseconds of the bus's clock, a steady one)."""
        ...

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back after something new is there, from any thread; the callback only wakes its owner."""
        ...

    def dead_letters(self) -> tuple[DeadLetter, ...]: ...

    def close(self) -> None: ...


SAY_EVERY = 3_000_000
"""Microseconds between two broadcasts by which a server or a worker says that it is there."""


class Broadcasts(Protocol):
    """A channel from each server and worker to all others. Messages may be lost: whoever sends one repeats it."""

    def say(self, broadcast: Broadcast) -> None: ...

    def received(self) -> Sequence[Broadcast]:
        """The broadcasts of others since the last call."""
        ...
