"""The mailbox of a store: signals for whoever waits under a key, of whatever execution (EXTENSIONS.md §6).

A letter is a signal with a key. It goes to the oldest wait that is open for its name under that key, as a row of the
inbox of that wait's execution, or is kept until one opens. What is addressed stays in the mailbox until its execution
has said what became of it: taken, or returned.
"""

from collections.abc import Collection
from typing import Protocol

from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.records import NamedTuple

# A key that nobody ever waits under would else grow without an end; who sends has to hear of it.
MOST_KEPT = 1_000
"""Letters that are kept under one key; one more is refused."""

KEEP_FOR = 7 * 86_400 * 1_000_000
"""Microseconds that a letter is kept for where nothing else is said."""


def kept_for(value: Json) -> int:
    """Microseconds of a duration as playbooks and people write it (`5m`, seconds); those that are usual for None, and
    for what is none.
    """
    seconds = seconds_of(value)
    return KEEP_FOR if seconds is None else round(seconds * 1_000_000)


class OtherLetter(Exception):
    """Another signal was posted with the same `once`. Nothing is stored."""


class Letter(NamedTuple):
    """A signal with a key. It is kept for `keep_for` microseconds; of those with one `once` the first alone counts.
    One that `is_exact` is refused where that was another signal (OtherLetter).
    """

    key: str
    name: str
    data: Json
    once: str
    keep_for: int = KEEP_FOR
    is_exact: bool = False


# By `call` and not by step: a step may run several times at once, and each run waits for a letter of its own.
class OpenWait(NamedTuple):
    """A wait that listens under a key for signals of some names; `call` tells it from all others of its execution."""

    key: str
    execution_id: str
    call: str
    names: tuple[str, ...]


class Correspondence(NamedTuple):
    """The mailbox's part in one execution: the inbox rows of letters that were addressed to it and are not settled,
    and the calls of its waits that are listed.
    """

    rows: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()


class WantedMail(NamedTuple):
    """Rows of the mailbox that are asked for: those under `key`, or under keys that begin with `prefix`, all where both
    are empty; behind the key and name of `after`; at most `limit`, 0 for all.
    """

    key: str = ""
    prefix: str = ""
    after: tuple[str, str] = ("", "")
    limit: int = 0


ALL_MAIL = WantedMail()
SHOWN_WAITS = 100
"""The most executions that a row of the mailbox names."""


class MailRow(NamedTuple):
    """The letters of one name that are kept under one key, or the waits that are open for it there.

    - `kept`: how many letters; `since` is when the oldest of them was posted, 0 where no time was kept, and `until`
      when the first of them goes, in microseconds since the epoch.
    - `waiting`: how many waits; `waits` has the executions of the oldest ones, `SHOWN_WAITS` at most.
    """

    key: str
    name: str
    kept: int = 0
    since: int = 0
    until: int = 0
    waiting: int = 0
    waits: tuple[str, ...] = ()


class Mailbox(Protocol):
    """The letters and the open waits of a store. Each change is one durable transaction, which no other comes between.

    All raise StoreFailure. `now` is the time (microseconds) of whom has another clock than the store.
    """

    def post_letter(self, letter: Letter, now: int | None = None) -> bool:
        """Address a letter to the oldest wait for it that is open, as a row of the inbox of its execution, or keep it;
        whether it was addressed. One that was posted before under its `once` is not posted again. Raises
        MailboxFull, OtherLetter.
        """
        ...

    def await_letter(self, wait: OpenWait, now: int | None = None) -> bool:
        """List a wait and address the oldest kept letter for it to it, where there is one; whether it has one. A wait
        that is listed already and has one gets no other. Of an execution that is over, or not there, nothing happens.
        """
        ...

    # Behind the events that tell it: a crash in between only settles again what is settled.
    def settle_mail(self, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
        """Waits of an execution listen no more, and letters that came by these rows of its inbox were taken."""
        ...

    def return_letter(self, execution_id: str, row: int, now: int | None = None) -> None:
        """The letter that came by a row was not taken: it goes to the next wait, or is kept for what is left of its
        time. Once: one that is not there by that row is nobody's to return.
        """
        ...

    def correspondence(self, execution_id: str) -> Correspondence:
        """The letters and waits of an execution that are here."""
        ...

    def rows(self, wanted: WantedMail = ALL_MAIL, now: int | None = None) -> tuple[MailRow, ...]:
        """The letters that are kept and the waits that are open, by key and name; none that was addressed or whose
        execution is over. No letter is opened.
        """
        ...

    def drop_letters(self, prefix: str) -> None:
        """Letters that are kept under keys which begin so are nobody's any more. Those that are addressed stay."""
        ...

    # An execution may end between the letter and its own look at the inbox. Nobody else would give these back.
    def stranded_letters(self) -> tuple[tuple[str, int], ...]:
        """Letters that are addressed to what is over and are not settled: its id, and the row."""
        ...
