"""The signs of life of a worker in a process of its own: a beat for each pipeline, a notice of the worker itself.

A server takes a claim from whoever it has not heard of for a lease. So each pipeline at work is told of every third
part of one, by a clock that nobody can set; the answer says whether to go on.
"""

from collections.abc import Iterable

from noetl.ports import Board, Bus, Clock, Full, Ticket
from noetl_ir.commands import Answer, Beat, Command, Presence, Said
from noetl_ir.rows import NamedTuple

BEAT_EVERY = 10_000_000
"""Microseconds between two beats of a pipeline: a third of a lease."""

SAY_EVERY = 3_000_000
"""Microseconds between two notices that the worker is there."""


class Pulse:
    """Keeps the beats of one worker. `clock` is monotonic."""

    def __init__(self, bus: Bus[Command, Said, Answer], board: Board, clock: Clock) -> None:
        self._bus = bus
        self._board = board
        self._clock = clock
        self._numbers = 0
        self._said = -SAY_EVERY
        self._state = "ready"
        self._beats: dict[str, _Beating] = {}

    def step(self, at_work: Iterable[Beat]) -> list[Beat]:
        """Beat for those whose time it is; those of the pipelines at work whose claim is lost."""
        now, before, lost = self._clock.now(), self._beats, []
        self._beats = {}
        for beat in at_work:
            beating = before.get(beat.sender) or _Beating(now + BEAT_EVERY, None)
            answer = beating.ticket.answer if beating.ticket is not None else None
            if answer is not None and not answer.recorded:
                lost.append(beat)
            self._beats[beat.sender] = self._beaten(beat, now) if now >= beating.due else beating
        return lost

    def say(self, presence: Presence) -> None:
        """Say that the worker is there, if it is time, or if its state is another one."""
        now = self._clock.now()
        if now - self._said >= SAY_EVERY or presence.state != self._state:
            self._said, self._state = now, presence.state
            self._board.say(presence)

    def left(self) -> int:
        """Microseconds until there is something to say."""
        now = self._clock.now()
        dues = [self._said + SAY_EVERY, *(beating.due for beating in self._beats.values())]
        return max(min(dues) - now, 0)

    def _beaten(self, beat: Beat, now: int) -> "_Beating":
        self._numbers += 1
        try:
            ticket = self._bus.report(f"{beat.sender}:beat:{self._numbers}", beat)
        except Full:
            return _Beating(now + SAY_EVERY, None)
        return _Beating(now + BEAT_EVERY, ticket)


class _Beating(NamedTuple):
    """When the next beat of a pipeline is due, and the ticket of the last one."""

    due: int
    ticket: Ticket[Answer] | None
