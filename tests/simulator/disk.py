"""The store as one simulated server sees it: shared by all, with ownership that ends with the process, and with faults.

At a moment that the seed names the process dies, before its commit or after it, or the store fails for once.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

from noetl.ports import Append, Conflict, ExecutionRow, StoreFailure
from noetl.ports.idempotency import StartKey
from noetl.ports.places import PlaceRow
from noetl.ports.queries import ExecutionAttribute
from noetl.store.memory import MemoryStore
from noetl.store.memory.mailbox import MemoryMailbox
from simulator.timeline import Timeline


class Killed(BaseException):
    """The process dies here."""


class DiskOdds(NamedTuple):
    """How likely a commit kills its process, or fails, half of the times after it; or loses to somebody else; or comes
    only after its process has stood still.
    """

    killed: float = 0.0
    failed: float = 0.0
    lost: float = 0.0
    hung: float = 0.0


LEASE = 8_000_000
"""Microseconds after which a process that stands still has lost what it owns to whom wants it."""


class Holders:
    """Who owns an execution now, or was the last to."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.of: dict[str, Disk] = {}

    def take(self, execution_id: str, taker: "Disk") -> None:
        """Let `taker` have an execution whose owner stands still."""
        owner = self.of.get(execution_id)
        if owner is not None and owner is not taker and owner.stands_still:
            owner.lose(execution_id)
            owner.taken.add(execution_id)


class Disk:
    """A `Store` on the one that all servers share. `die` is called when the process is to die.

    An append of a process that lost the execution is refused. `stopped` is since when the process stands still,
    `taken` what others took from it then, `decided` when it had the last commit in mind.
    """

    def __init__(
        self, shared: MemoryStore, holders: Holders, chance: random.Random, odds: DiskOdds, die: Callable[[], None]
    ) -> None:
        self.dropped = None
        self.stopped: int | None = None
        self.hang: Callable[[], None] = lambda: None
        self._was_late = False
        self._shared = shared
        self._holders = holders
        self._chance = chance
        self._odds = odds
        self._die = die
        self._is_dead = False
        self._owned: dict[str, ExitStack] = {}
        self._locked: set[str] = set()
        self.taken: set[str] = set()
        self.decided = 0

    def heal(self) -> None:
        """No more faults."""
        self._odds = DiskOdds()

    def crash(self) -> None:
        """The process is gone, and what it owned is free."""
        self._is_dead = True
        self.lose_ownership()

    def lose_ownership(self) -> None:
        """Others take the process for dead; it does not know."""
        for execution_id in [*self._owned]:
            self.lose(execution_id)

    def lose(self, execution_id: str) -> None:
        """An execution is anybody's."""
        owning = self._owned.pop(execution_id, None)
        if owning is not None:
            owning.close()

    @property
    def stands_still(self) -> bool:
        """Whether the process has stood still for longer than a lease."""
        return self.stopped is not None and self._holders.timeline.now - self.stopped > LEASE

    def stop(self) -> None:
        """The process stands still."""
        if self.stopped is None:
            self.stopped = self._holders.timeline.now

    def go_on(self) -> None:
        """The process runs again."""
        self._was_late = self._was_late or self.stands_still
        self.stopped = None

    def taken_over(self) -> set[str]:
        """`Store.taken_over`."""
        late, self._was_late = self._was_late, False
        mine = self._locked if late else ()
        return {execution_id for execution_id in mine if self._holders.of.get(execution_id) is not self}

    def owned(self, names: Collection[str]) -> set[str]:
        """`Store.owned`."""
        self._live()
        owners = {name: self._holders.of.get(name) for name in self._shared.owned(names)}
        return {name for name, owner in owners.items() if owner is None or not owner.stands_still}

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: Sequence[ExecutionAttribute] = (),
    ) -> None:
        """`Store.create`."""
        self._commit(lambda: self._shared.create(row, records, key=key, attributes=attributes))

    def places(self) -> tuple[PlaceRow, ...]:
        """`Store.places`."""
        self._live()
        return self._shared.places()

    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        """`Store.change_places`."""
        self._commit(lambda: self._shared.change_places(work))

    @property
    def mailbox(self) -> "DiskMailbox":
        """`Store.mailbox`."""
        return DiskMailbox(self._shared.mailbox, self._commit)

    def append(
        self,
        execution_id: str,
        expected: int,
        records: Sequence[tuple[str, bytes]],
        *,
        status: str,
        ended: int | None,
        read: int | None = None,
    ) -> int:
        """`Store.append`."""

        def commit() -> int:
            if self._holders.of.get(execution_id, self) is not self:
                raise Conflict(f"execution {execution_id!r} is owned by another process now")
            return self._shared.append(execution_id, expected, records, status=status, ended=ended, read=read)

        position: int = self._commit(commit)
        return position

    def append_all(self, appends: Sequence[Append]) -> None:
        """`Store.append_all`."""

        def commit() -> None:
            for append in appends:
                if self._holders.of.get(append.execution_id, self) is not self:
                    raise Conflict(f"execution {append.execution_id!r} is owned by another process now")
            self._shared.append_all(appends)

        self._commit(commit)

    def own_new(self, execution_id: str) -> AbstractContextManager[None]:
        """`Store.own_new`."""
        return self.own(execution_id)

    @contextmanager
    def own(self, execution_id: str) -> Iterator[None]:
        """`Store.own`."""
        self._live()
        self._holders.take(execution_id, self)
        owning = ExitStack()
        owning.enter_context(self._shared.own(execution_id))
        self._owned[execution_id] = owning
        self._holders.of[execution_id] = self
        self._locked.add(execution_id)
        self.taken.discard(execution_id)
        try:
            yield
        finally:
            self._locked.discard(execution_id)
            if self._owned.get(execution_id) is owning:
                del self._owned[execution_id]
                owning.close()

    def __getattr__(self, name: str) -> Any:
        """Everything that only reads, and what is kept the same way by all."""
        self._live()
        return getattr(self._shared, name)

    def _live(self) -> None:
        if self._is_dead:
            raise Killed

    def _commit(self, commit: Callable[[], Any]) -> Any:
        self._live()
        self.decided = self._holders.timeline.now
        if self._odds.hung and self._chance.random() < self._odds.hung and self.stopped is None:
            self.hang()
            self._live()
        draw, is_before = self._chance.random(), self._chance.random() < 0.5
        is_kill = draw < self._odds.killed
        is_failure = not is_kill and draw < self._odds.killed + self._odds.failed
        if not (is_kill or is_failure) and draw < sum(self._odds[:3]):
            raise Conflict("somebody else was quicker")
        done = None if is_before and (is_kill or is_failure) else commit()
        if is_kill:
            self._die()
            raise Killed
        if is_failure:
            raise StoreFailure("the disk had a moment")
        return done


class DiskMailbox:
    """A `Mailbox` whose changes are commits of a disk, and which looks as the shared one does."""

    def __init__(self, shared: MemoryMailbox, commit: Callable[[Callable[[], Any]], Any]) -> None:
        self._commit = commit
        self.correspondence = shared.correspondence
        self.stranded_letters = shared.stranded_letters
        self.post_letter = self._committing(shared.post_letter)
        self.await_letter = self._committing(shared.await_letter)
        self.settle_mail = self._committing(shared.settle_mail)
        self.return_letter = self._committing(shared.return_letter)
        self.drop_letters = self._committing(shared.drop_letters)
        self.rows = shared.rows

    def _committing(self, change: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *values: self._commit(lambda: change(*values))
