"""Tools of simulated workers, and the book of what they did: outside of all processes, as effects are.

A tool takes as long as chance says and gives what its URL says: `/flaky2` fails at its first two attempts, `/bad`
always, `/odd` where its index is odd, `/busy2` is told at its first two to come again in `BUSY` seconds, `/slow2` takes
`SLOW` at its first two; `/big` gives 5,000 characters, all others their name and where they ran.
"""

import random
from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from noetl.ports import ToolCall
from noetl.worker.launcher import AsyncLauncher, limit_of, over_limit
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, error, ok
from simulator.timeline import SECOND, Timeline

BUSY = 4
SLOW = 300
"""Seconds."""


class Deed(NamedTuple):
    """A tool that began: for whom, and under which claim."""

    execution_id: str
    run: str
    task: str
    visit: int
    attempt: int
    claim: int


def outcome_of(call: ToolCall) -> Outcome:
    """The outcome of a tool: the same for the same call, whoever runs it."""
    name = str(call.fields.get("url", "")).rpartition("/")[2]
    if name.startswith("busy") and call.attempt <= int(name[4:]):
        response: Json = {"status": 429, "headers": {}, "retry_after": BUSY}
        return error("http.status", "it is busy", http=response)
    if name.startswith("flaky") and call.attempt <= int(name[5:]):
        return error("flaky", f"attempt {call.attempt} fails")
    if name == "bad" or (name == "odd" and call.path and call.path[-1] % 2):
        return error("bad", "it always fails")
    return ok({"text": "x" * 5_000} if name == "big" else {"name": name, "path": [*call.path], "run": call.run})


class Tools:
    """The launcher of one worker. `waits` gives how long the next call takes; `wake` has the worker look."""

    def __init__(
        self,
        timeline: Timeline,
        deeds: Counter[Deed],
        *,
        waits: Callable[[], int],
        pure: AsyncLauncher,
        wake: Callable[[], None],
    ) -> None:
        self.immediate = pure.immediate
        self._timeline = timeline
        self._deeds = deeds
        self._waits = waits
        self._wake = wake
        self._numbers = count()
        self._running: list[tuple[int, int, object, Outcome]] = []
        self._stopped: set[int] = set()

    @property
    def running(self) -> int:
        """How many tools run now."""
        return len(self._running) - len(self._stopped)

    def launch(self, ticket: object, call: ToolCall) -> None:
        """`Launcher.launch`."""
        order = ticket.session.order  # type: ignore[attr-defined]
        self._deeds[Deed(call.execution_id, order.run, call.task, call.visit, call.attempt, order.claim)] += 1
        waits, outcome = self._waits(), outcome_of(call)
        name = str(call.fields.get("url", "")).rpartition("/")[2]
        if name.startswith("slow") and call.attempt <= int(name[4:]):
            waits = SLOW * SECOND
        limit = limit_of(call)
        if limit is not None and waits > limit * SECOND:
            waits, outcome = round(limit * SECOND), over_limit(limit)
        due = self._timeline.now + waits
        heappush(self._running, (due, next(self._numbers), ticket, outcome))
        self._timeline.at(due, self._wake)

    def finished(self) -> list[tuple[object, Outcome]]:
        """`Launcher.finished`."""
        done = []
        while self._running and self._running[0][0] <= self._timeline.now:
            _, number, ticket, outcome = heappop(self._running)
            if number in self._stopped:
                self._stopped.remove(number)
            else:
                done.append((ticket, outcome))
        return done

    def stop(self, ticket: object) -> None:
        """`Launcher.stop`."""
        self._stopped.update(number for _, number, each, _ in self._running if each is ticket)


def waiting_times(chance: random.Random) -> Callable[[], int]:
    """How long calls take: mostly moments, sometimes seconds, now and then longer than a lease."""

    def wait() -> int:
        draw = chance.random()
        if draw < 0.7:
            return chance.randint(1_000, SECOND)
        return chance.randint(SECOND, 6 * SECOND) if draw < 0.97 else chance.randint(20 * SECOND, 50 * SECOND)

    return wait
