"""A bus between processes, slowed down to the step of one inside a process: whoever looks finds what was sent.

So a run on a virtual clock, which passes time as soon as nothing is there, is the same over any bus.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from noetl.ports import STOPS, Bus, Delivery, Parked, ReportDelivery, Ticket
from services import waited_for

DROPPED_AFTER = 2.0
"""Seconds after which a command that does not come was dropped as a repeat."""


class LockstepBus:
    """A `Bus` around another one that both sides share."""

    def __init__(self, inner: Bus[Any, Any, Any]) -> None:
        self._inner = inner
        self._sent: Counter[str] = Counter()
        self._reported = 0
        self._told: dict[str, bool] = {}
        inner.reports()
        inner.take(STOPS)

    def send(self, pool: str, key: str, command: Any) -> None:
        """`Bus.send`."""
        self._inner.send(pool, key, command)
        self._sent[pool] += 1

    def take(self, pool: str) -> Delivery[Any] | None:
        """`Bus.take`, once what was sent is here."""
        if not self._sent[pool]:
            return None
        found: list[Delivery[Any]] = []

        def take() -> bool:
            if (delivery := self._inner.take(pool)) is not None:
                found.append(delivery)
            return bool(found)

        try:
            waited_for(take, "it was dropped", DROPPED_AFTER)
        except AssertionError:
            self._sent[pool] = 0
            return None
        self._sent[pool] -= 1
        return found[0]

    def report(self, key: str, report: Any) -> "LockstepTicket":
        """`Bus.report`."""
        self._told.pop(key, None)
        ticket = LockstepTicket(self._inner.report(key, report), key, self._told)
        self._reported += 1
        return ticket

    def reports(self) -> Sequence[ReportDelivery[Any, Any]]:
        """`Bus.reports`, once all that were sent are here."""
        found: list[Any] = []
        waited_for(lambda: found.extend(self._inner.reports()) or len(found) >= self._reported, "no report comes")
        self._reported = 0
        return [LockstepReport(delivery, self._told) for delivery in found]

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        return self._inner.room(pool)

    def due(self) -> int | None:
        """`Bus.due`."""
        return self._inner.due()

    def listen(self, callback: Callable[[], None]) -> None:
        """`Bus.listen`."""
        self._inner.listen(callback)

    def parked(self) -> tuple[Parked, ...]:
        """`Bus.parked`."""
        return self._inner.parked()

    def close(self) -> None:
        """`Bus.close`."""
        self._inner.close()


class LockstepReport:
    """A `ReportDelivery` that notes that it was answered."""

    def __init__(self, inner: Any, told: dict[str, bool]) -> None:
        self.body = inner.body
        self.redeliveries: int = inner.redeliveries
        self.ack, self.nak, self.in_progress, self.park = inner.ack, inner.nak, inner.in_progress, inner.park
        self._inner = inner
        self._told = told

    def pass_on(self, answer: Any) -> None:
        """`ReportDelivery.pass_on`. There is no other server."""
        self.answer(answer)

    def answer(self, answer: Any) -> None:
        """`ReportDelivery.answer`."""
        self._inner.answer(answer)
        self._told[self._inner.key] = True


class LockstepTicket:
    """A `Ticket` whose answer is waited for once it was given."""

    def __init__(self, inner: Ticket[Any], key: str, told: dict[str, bool]) -> None:
        self._inner = inner
        self._key = key
        self._told = told

    @property
    def answer(self) -> Any:
        """The answer, None when none was given yet."""
        if self._key in self._told:
            waited_for(lambda: self._inner.answer is not None, "no answer comes")
        return self._inner.answer
