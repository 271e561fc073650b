"""The port of the outbox: what is to be told to somebody outside of a store, and was not yet.

A row is put in the transaction of what it is about, so that no crash comes between the two, and is taken out once it
was told. Whoever takes one has it for a while; where he dies, the next one takes it: a row is told at least once.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class OutboxRow(NamedTuple):
    """Something that is to be told. Times are microseconds since the epoch.

    - `topic`: to whom; `subject`: about what, one row at most for each topic.
    - `at`: since when; `due`: not before then; `tries`: how often it was taken; `trouble`: why it failed last.
    - `is_dead`: it is tried no more, and kept for a person to see.
    """

    number: int
    topic: str
    subject: str
    body: Json
    at: int
    due: int
    tries: int = 0
    trouble: str = ""
    is_dead: bool = False


class WantedOutbox(NamedTuple):
    """A filter of rows: those of a topic, or of topics that begin so with `prefix`; dead ones or the others; at most
    `limit` behind the row `after`, 0 for all.
    """

    topic: str = ""
    prefix: str = ""
    dead: bool | None = None
    after: int = 0
    limit: int = 0


class Outbox(Protocol):
    """The outbox of a store. Each change is one durable transaction. All raise StoreFailure."""

    def watch_ends(self, topic: str, *, top: bool) -> None:
        """Put a row for each execution that ends from now on, in the transaction of its end; with `top` only for those
        that no other one called.
        """
        ...

    def unwatch_ends(self, topic: str) -> None:
        """Put no more such rows, and remove those that there are."""
        ...

    def watched_ends(self) -> tuple[str, ...]:
        """The topics that rows are put for."""
        ...

    def put_outbox(self, rows: Sequence[OutboxRow], *, instead_of: int = 0) -> None:
        """Put rows, in the transaction that takes out the row of a number; those whose subject is there already stay
        as they are. Numbers of the rows given mean nothing.
        """
        ...

    def take_outbox(
        self, topics: Collection[str], now: int, until: int, limit: int, *, without: Collection[str] = ()
    ) -> tuple[OutboxRow, ...]:
        """At most so many rows of topics, or of topics that begin with one that ends in `:`, that are due now, the
        oldest first, `without` those of some whole topics. Nobody else takes them `until` then. A try is counted; the
        rows have the number of tries before it.
        """
        ...

    def settle_outbox(self, number: int) -> None:
        """Take out a row that was told."""
        ...

    def put_off_outbox(self, number: int, due: int, trouble: str, *, dead: bool = False) -> None:
        """Keep why a row that was taken failed; it is due again then, or is tried no more."""
        ...

    def outbox_rows(self, wanted: WantedOutbox) -> tuple[OutboxRow, ...]:
        """The rows that fit, the oldest first."""
        ...

    def revive_outbox(self, number: int, now: int) -> bool:
        """Try a dead row again, as if it had not failed; whether there was one."""
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its outbox there.
class Telling(Protocol):
    """A store with an outbox."""

    @property
    def outbox(self) -> Outbox: ...
