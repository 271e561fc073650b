"""A bus that does to messages what a bus may do: drops, doubles, reorders and delays them, by a seed.

Wrap any `Bus` in it. A drop is what a crash between sending and queueing looks like: the sender must send again
when no answer comes. `heal` ends the faults, for the part of a test that must come to rest.
"""

import random
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Generic, NamedTuple, TypeVar

from noetl.ports.bus import Bus, DeadLetter, Delivery, ReportDelivery, Ticket

C = TypeVar("C")
R = TypeVar("R")
A = TypeVar("A")


class Odds(NamedTuple):
    """How likely each fault is, from 0 to 1; `delayed` messages are held back for 1 to `most` further takes."""

    dropped: float = 0.0
    doubled: float = 0.0
    reordered: float = 0.0
    delayed: float = 0.0
    most: int = 5


class _Lost(Generic[A]):
    """The ticket of a report that was dropped: no answer ever comes."""

    @property
    def answer(self) -> A | None:
        return None


class FaultyBus(Generic[C, R, A]):
    """A `Bus` around another, with faults on the way in and on the way out."""

    def __init__(self, inner: Bus[C, R, A], odds: Odds, seed: int) -> None:
        self._inner = inner
        self._odds = odds
        self._chance = random.Random(seed)
        self._delayed: dict[str, list[tuple[int, Delivery[C]]]] = {}
        self._turn = 0

    def heal(self) -> None:
        """No more faults; what is held back comes at once."""
        self._odds = Odds()
        self._delayed = {pool: [(0, delivery) for _, delivery in delayed] for pool, delayed in self._delayed.items()}

    def send(self, pool: str, key: str, order: C) -> None:
        """`Bus.send`, not at all, once or twice."""
        for _ in range(self._copies()):
            self._inner.send(pool, key, order)

    def take(self, pool: str) -> Delivery[C] | None:
        """`Bus.take`, later or in another order."""
        self._turn += 1
        delayed = self._delayed.setdefault(pool, [])
        while (delivery := self._inner.take(pool)) is not None:
            wait = self._chance.randint(1, self._odds.most) if self._hits(self._odds.delayed) else 0
            delayed.append((self._turn + wait, delivery))
        ready = [index for index, (turn, _) in enumerate(delayed) if turn <= self._turn]
        if not ready:
            return None
        return delayed.pop(self._chance.choice(ready) if self._hits(self._odds.reordered) else ready[0])[1]

    def report(self, key: str, report: R) -> Ticket[A]:
        """`Bus.report`, not at all, once or twice; the last one's ticket."""
        ticket: Ticket[A] = _Lost()
        for _ in range(self._copies()):
            ticket = self._inner.report(key, report)
        return ticket

    def reports(self) -> Sequence[ReportDelivery[R, A]]:
        """`Bus.reports`, some of them later, in another order."""
        found = list(self._inner.reports())
        if self._hits(self._odds.reordered):
            self._chance.shuffle(found)
        kept = []
        for report in found:
            if self._hits(self._odds.delayed) and report.redeliveries < 3:
                report.nak("delayed")
            else:
                kept.append(report)
        return kept

    def together(self) -> AbstractContextManager[None]:
        """`Bus.together`."""
        return self._inner.together()

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """`Bus.withdraw`."""
        self._inner.withdraw(pool, keys)

    def limit(self, pool: str, most: int) -> None:
        """`Bus.limit`."""
        self._inner.limit(pool, most)

    def narrow(self, pool: str, most: int) -> None:
        """`Bus.narrow`."""
        self._inner.narrow(pool, most)

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        return self._inner.room(pool)

    def due(self) -> int | None:
        """`Bus.due`."""
        return self._inner.due()

    def listen(self, callback: Callable[[], None]) -> None:
        """`Bus.listen`."""
        self._inner.listen(callback)

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """`Bus.dead_letters`."""
        return self._inner.dead_letters()

    def close(self) -> None:
        """`Bus.close`."""
        self._inner.close()

    def _copies(self) -> int:
        if self._hits(self._odds.dropped):
            return 0
        return 2 if self._hits(self._odds.doubled) else 1

    def _hits(self, odds: float) -> bool:
        return odds > 0 and self._chance.random() < odds
