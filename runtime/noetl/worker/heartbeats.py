"""The heartbeats of a worker in a process of its own: one for the lease of each pipeline, and one of the worker itself.

A server withdraws a claim once it has heard nothing of it for the length of a lease. So a heartbeat goes out for each
pipeline at work every third of a lease, by a monotonic clock; the answer says whether to go on.
"""

from collections.abc import Iterable

from noetl.ports import Clock
from noetl.ports.bus import SAY_EVERY, Broadcasts, Bus, Full, Ticket
from noetl_ir.orders import Answer, LeaseHeartbeat, Order, Said, WorkerHeartbeat
from noetl_ir.records import NamedTuple

HEARTBEAT_EVERY = 10_000_000
"""Microseconds between two heartbeats of a pipeline: a third of a lease."""


class Heartbeats:
    """Keeps the heartbeats of one worker. `clock` is monotonic."""

    def __init__(self, bus: Bus[Order, Said, Answer], broadcasts: Broadcasts, clock: Clock) -> None:
        self._bus = bus
        self._broadcasts = broadcasts
        self._clock = clock
        self._numbers = 0
        self._said = -SAY_EVERY
        self._state = "ready"
        self._sent: dict[str, _Sent] = {}

    def step(self, at_work: Iterable[LeaseHeartbeat]) -> list[LeaseHeartbeat]:
        """Send the heartbeats that are due. Returns those of the pipelines whose claims are lost, by the answers."""
        now, before, lost = self._clock.now(), self._sent, []
        # Built anew from those at work, so that a pipeline that ended leaves nothing behind.
        self._sent = {}
        for heartbeat in at_work:
            # The first heartbeat comes a third of a lease after the start, as the report of the start has begun the
            # lease.
            sent = before.get(heartbeat.sender) or _Sent(now + HEARTBEAT_EVERY, None)
            answer = sent.ticket.answer if sent.ticket is not None else None
            # No answer is no loss: the server may be away, and may take the claim up again. Only its word ends what
            # runs here.
            if answer is not None and not answer.recorded:
                lost.append(heartbeat)
            self._sent[heartbeat.sender] = self._send(heartbeat, now) if now >= sent.due else sent
        return lost

    def say(self, heartbeat: WorkerHeartbeat) -> None:
        """Send the heartbeat of the worker itself, if it is time, or if its state has changed."""
        now = self._clock.now()
        # A change goes out at once: a server that thinks a leaving worker ready sends it orders, which then come
        # back.
        if now - self._said >= SAY_EVERY or heartbeat.state != self._state:
            self._said, self._state = now, heartbeat.state
            self._broadcasts.say(heartbeat)

    def until_next(self) -> int:
        """Microseconds until there is something to say."""
        now = self._clock.now()
        dues = [self._said + SAY_EVERY, *(sent.due for sent in self._sent.values())]
        return max(min(dues) - now, 0)

    def _send(self, heartbeat: LeaseHeartbeat, now: int) -> "_Sent":
        self._numbers += 1
        try:
            # The number makes the key a new one: under the old key the bus would take it for a copy, and the lease
            # would not be renewed.
            ticket = self._bus.report(f"{heartbeat.sender}:heartbeat:{self._numbers}", heartbeat)
        # A full bus is tried again soon, since two heartbeats that are missed cost the lease.
        except Full:
            return _Sent(now + SAY_EVERY, None)
        return _Sent(now + HEARTBEAT_EVERY, ticket)


class _Sent(NamedTuple):
    """When the next heartbeat of a pipeline is due, and the ticket of the last one."""

    due: int
    ticket: Ticket[Answer] | None
