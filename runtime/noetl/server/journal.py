"""The journal: turns that are decided and not on disk yet, and the work that waits until they are.

A commit costs far more than a decision, so several turns, also of several executions, go to disk in one transaction.
Memory is ahead of the disk meanwhile. Whatever somebody outside could notice (an effect, an answer, a shown line) is
registered with `then` and done only once the turns before it are on disk.

Turns are stored in the order in which they were decided: after a crash the logs have the first of them and none behind
a gap. Where a transaction fails, its executions are stored one by one, so that only the one at fault is affected.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from noetl.ports import Append, Clock, Conflict, Owned, Store, StoreRefused, Unread
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.ports.queries import ExecutionAttribute

_T = TypeVar("_T")


class Keep(Protocol):
    """Calls `work`, which stores something, and returns its value. It may call it again where the store had no room."""

    def __call__(self, work: Callable[[], _T]) -> _T: ...


def at_once(work: Callable[[], _T]) -> _T:
    """A `Keep` that tries once."""
    return work()


class Batching(NamedTuple):
    """How much may be pending, and for how long: at most `events` events and `size` bytes, for `time` microseconds.

    With `ahead` memory may run ahead of the disk over several rounds: orders and answers that start no effect do not
    wait. That is safe only where the workers are in the same process, since a crash ends them too.
    """

    ahead: bool
    events: int
    size: int = 1 << 20
    time: int = 0


EVERY_EVENT = Batching(ahead=False, events=0)
"""Each turn is on disk before anything follows from it."""

EVERY_ROUND = Batching(ahead=False, events=5_000, size=8 << 20)
"""The turns of a round are on disk before anything follows from them: for workers elsewhere."""

BEFORE_EFFECTS = Batching(ahead=True, events=1_000, time=20_000)
"""Turns wait for each other until an effect, an answer or a shown line rests on them: for workers in this process."""

_MOST_EVENTS, _MOST_BYTES = 5_000, 8 << 20
"""What one transaction has at most; a turn that is larger has one of its own."""


class Journal:
    """The pending turns, and the work that waits for them to be on disk.

    Every write goes through `keep`; `clock` measures how long turns are pending (microseconds). The callbacks:

    - `taken_over`: another process goes on with an execution, so its turns are dropped.
    - `refuse`: the store will never take the turn of an execution.
    - `amend`: gives the last turn of an execution anew, where the store refused its end since a signal was not read.
    """

    def __init__(
        self,
        store: Store,
        keep: Keep,
        clock: Clock,
        batching: Batching,
        *,
        taken_over: Callable[[str, Conflict | Owned], None],
        refuse: Callable[[str, StoreRefused], None],
        amend: Callable[[str, Append], Append],
    ) -> None:
        self.ahead = batching.ahead
        self._batching = batching
        self._store = store
        self._keep = keep
        self._clock = clock
        self._taken_over = taken_over
        self._refuse = refuse
        self._amend = amend
        self._pending: deque[Append] = deque()
        self._events = 0
        self._size = 0
        self._since = 0
        self._is_wanted = False
        self._is_storing = False
        self._is_telling = False
        self._then: deque[tuple[str, Callable[[], None]]] = deque()
        self._ready: deque[tuple[str, Callable[[], None]]] = deque()

    def add_turn(self, append: Append) -> None:
        """Keep the events of a turn for the next transaction."""
        # The time counts from the oldest turn, so a stream of small turns does not put off the disk again and again.
        if not self._pending:
            self._since = self._clock.now()
        self._pending.append(append)
        self._events += len(append.records)
        self._size += _size_of(append)

    def then(self, execution_id: str, work: Callable[[], None]) -> None:
        """Do `work` once all that is pending now is on disk; never, where the execution is given up before that."""
        self._then.append((execution_id, work))

    def want(self) -> None:
        """Something waits for the disk: keep nothing pending for longer than this round."""
        self._is_wanted = True

    @property
    def is_full(self) -> bool:
        """Whether as much is pending as may be."""
        batching = self._batching
        return bool(self._pending or self._then) and (self._events >= batching.events or self._size >= batching.size)

    @property
    def is_due(self) -> bool:
        """Whether `flush` has to be called before this round ends."""
        if not (self._pending or self._then or self._ready):
            return False
        # Work waits, but no turn that it could wait for: nothing is saved by putting it off.
        if self._is_wanted or not self.ahead or not self._pending or self.is_full:
            return True
        return self._clock.now() - self._since >= self._batching.time

    def flush(self) -> None:
        """Store the pending turns, then do the work that waited for them. Raises StoreFailure.

        Called again from within that work, it only stores; called while it stores, it does nothing.
        """
        # An execution whose turn is refused is ended from within `_write`, and that adds a turn and asks to have it
        # stored: the loop there stores it too.
        if self._is_storing:
            return
        self._write()
        # What follows from a turn may add another one and flush it. That one is on disk then; what rests on it is
        # done by the outer loop, in order, and not in the middle of its cause.
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._then or self._ready:
                self._write()
                # Only what was waiting when all was written may follow: `work` adds to `_then` what rests on turns
                # that are not on disk yet.
                self._ready += self._then
                self._then.clear()
                while self._ready:
                    execution_id, work = self._ready.popleft()
                    try:
                        work()
                    # A loss concerns one execution. The others that wait here have theirs on disk and must not miss
                    # what follows from it.
                    except (Conflict, Owned) as problem:
                        self._taken_over(execution_id, problem)
        finally:
            self._is_telling = False

    def forget(self, execution_id: str) -> None:
        """Drop the pending turns of an execution and the work that waits for it."""
        self._pending = deque(append for append in self._pending if append.execution_id != execution_id)
        self._then = deque(each for each in self._then if each[0] != execution_id)
        self._ready = deque(each for each in self._ready if each[0] != execution_id)
        self._count()

    def clear(self) -> None:
        """Forget everything."""
        for part in (self._pending, self._then, self._ready):
            part.clear()
        self._count()

    def _count(self) -> None:
        self._events = sum(len(append.records) for append in self._pending)
        self._size = sum(map(_size_of, self._pending))

    def _write(self) -> None:
        self._is_storing = True
        try:
            while self._pending:
                self._write_some(self._transaction())
            self._is_wanted = False
        finally:
            self._is_storing = False
            self._count()

    def _write_some(self, turns: Sequence[Append]) -> None:
        """Store the first turns, all at once, and where that cannot be one by one."""
        try:
            self._store_all(together(turns))
        except (Conflict, StoreRefused) as problem:
            # Where several executions went together, nobody knows whose fault it was. So they are tried one by one,
            # and only the one that fails is given up.
            if len({turn.execution_id for turn in turns}) == 1:
                self._fail(turns[0].execution_id, problem)
                return
        else:
            self._done(turns)
            return
        for turn in turns:
            # These are the first that are pending, in order. One that is not the first any more was dropped with its
            # execution.
            if not self._pending or self._pending[0] is not turn:
                continue
            try:
                self._store_all((turn,))
            except (Conflict, StoreRefused) as problem:
                self._fail(turn.execution_id, problem)
            else:
                self._done((turn,))

    def _done(self, turns: Sequence[Append]) -> None:
        for _ in turns:
            self._pending.popleft()

    def _fail(self, execution_id: str, problem: Conflict | StoreRefused) -> None:
        if isinstance(problem, Unread):
            for number, append in enumerate(self._pending):
                if append.execution_id == execution_id and append.ended is not None:
                    self._pending[number] = self._amend(execution_id, append)
            return
        self.forget(execution_id)
        if isinstance(problem, StoreRefused):
            self._refuse(execution_id, problem)
        else:
            self._taken_over(execution_id, problem)

    def _store_all(self, appends: Sequence[Append]) -> None:
        self._keep(lambda: self._store.append_all(appends))

    def _transaction(self) -> list[Append]:
        """The first turns, as many as one transaction has."""
        if self._events <= _MOST_EVENTS and self._size <= _MOST_BYTES:  # nearly always
            return list(self._pending)
        found: list[Append] = []
        events = size = 0
        for append in self._pending:
            events += len(append.records)
            size += _size_of(append)
            # A turn that is too large alone goes alone: it was decided, and cannot be cut, since it is on disk
            # together or not at all.
            if found and (events > _MOST_EVENTS or size > _MOST_BYTES):
                break
            found.append(append)
        return found


def _size_of(append: Append) -> int:
    """The bytes of the events of a turn."""
    return sum([len(body) for _, body in append.records])


def together(turns: Sequence[Append]) -> list[Append]:
    """Turns of which several may be of one execution, as one append for each."""
    if len(turns) == 1:
        return list(turns)
    found: dict[str, list[Append]] = {}
    for turn in turns:
        found.setdefault(turn.execution_id, []).append(turn)
    # The store checks the position of each append against what is on disk, where the first of these turns is not yet.
    return [
        Append(
            name,
            mine[0].expected,
            [row for turn in mine for row in turn.records],
            mine[-1].status,
            mine[-1].ended,
            mine[-1].read,
            mine[-1].error,
            _newest_attributes(mine),
            next((turn.plan for turn in reversed(mine) if turn.plan is not None), None),
        )
        for name, mine in found.items()
    ]


def _newest_attributes(turns: Sequence[Append]) -> "tuple[ExecutionAttribute, ...] | None":
    """The attributes of an execution behind some turns; None where they change none."""
    return next((turn.attributes for turn in reversed(turns) if turn.attributes is not None), None)
