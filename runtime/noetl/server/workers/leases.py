"""Leases: how long the claim of a worker in another process is good after its last word.

A claim is the fencing token: a report under another one is refused. A lease begins when a task starts under it, or when
a server takes the execution up, and anew with each report or heartbeat of its holder. Time is that of a clock of this
process that nobody can set, so no two clocks are ever compared; and no lease ends by time in which the server itself
did not listen, since its store was away, say: what was said meanwhile is heard first.
"""

from heapq import heappop, heappush

from noetl.ports import Clock
from noetl.server.workers.tracker import LostClaim

LEASE = 30_000_000
"""Microseconds that a claim is good after its holder was heard last."""

LONGEST_GAP = 5_000_000
"""Microseconds between two times of listening that count at most."""


class _Lease:
    __slots__ = ("claim", "due", "holder")

    def __init__(self, claim: int, due: int) -> None:
        self.claim = claim
        self.due = due
        self.holder = ""


class Leases:
    """The leases of the attempts that run. `clock` is monotonic; `length` is in microseconds."""

    def __init__(self, clock: Clock, length: int = LEASE) -> None:
        self._clock = clock
        self._length = length
        self._of: dict[str, dict[str, _Lease]] = {}
        self._heap: list[tuple[int, str, str]] = []
        self._listened = clock.now()
        self._time = 0

    def listen(self) -> None:
        """Everything that was said until now is about to be heard: until here leases may end."""
        self._time, self._listened = self._now(), self._clock.now()

    def grant(self, execution_id: str, run: str, claim: int) -> None:
        """An attempt runs under a claim."""
        lease = _Lease(claim, self._now() + self._length)
        self._of.setdefault(execution_id, {})[run] = lease
        heappush(self._heap, (lease.due, execution_id, run))

    def renew(self, execution_id: str, run: str, claim: int, holder: str) -> None:
        """The holder of a claim was heard."""
        lease = self._of.get(execution_id, {}).get(run)
        if lease is not None and lease.claim == claim:
            lease.due = self._now() + self._length
            lease.holder = holder

    def end_lease(self, execution_id: str, run: str) -> None:
        """The attempt is over."""
        mine = self._of.get(execution_id)
        if mine is not None:
            mine.pop(run, None)
            if not mine:
                del self._of[execution_id]

    def forget(self, execution_id: str) -> None:
        """The execution is over, or not driven here any more."""
        self._of.pop(execution_id, None)

    def clear(self) -> None:
        """Forget everything."""
        self._of.clear()
        self._heap.clear()

    def pop_expired(self) -> list[LostClaim]:
        """The leases that are over now; they are forgotten."""
        found = []
        while (due := self._next()) is not None and due <= self._time:
            _, execution_id, run = heappop(self._heap)
            lease = self._of[execution_id][run]
            self.end_lease(execution_id, run)
            found.append(LostClaim(execution_id, run, lease.claim, lease.holder))
        return found

    def until_next_expiry(self) -> int | None:
        """Microseconds until the next one is over."""
        due = self._next()
        return None if due is None else max(due - self._now(), 0)

    def _now(self) -> int:
        """The time in which somebody listened."""
        return self._time + min(self._clock.now() - self._listened, LONGEST_GAP)

    def _next(self) -> int | None:
        """When the first lease is over. One that was renewed since it was put in place goes where it belongs."""
        heap = self._heap
        while heap:
            due, execution_id, run = heap[0]
            lease = self._of.get(execution_id, {}).get(run)
            if lease is not None and lease.due == due:
                return due
            heappop(heap)
            if lease is not None and lease.due > due:
                heappush(heap, (lease.due, execution_id, run))
        return None
