"""The mailbox of the stores that speak SQL: what a letter and a wait come to, in one transaction each.

Law: under no key both a letter is kept and a wait of an execution that is not over is open for its name: whatever
brings one of the two looks for the other. A letter is addressed to one wait at a time, and comes back only where that
one's execution says so; a wait that was answered is listed until its execution says that it is over, so that one which
is listed again after a crash takes no second letter.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar

from noetl.clients.deed_rows import record_deed
from noetl.ports import MailboxFull, StoreRefused
from noetl.ports.mailbox import (
    ALL_MAIL,
    MOST_KEPT,
    SHOWN_WAITS,
    Correspondence,
    Letter,
    MailRow,
    OpenWait,
    OtherLetter,
    WantedMail,
)
from noetl_ir.correlation import LONGEST
from noetl_ir.expr import Json

_T = TypeVar("_T")


class Transaction(Protocol):
    """A transaction of a store, which no other one that changes inbox or mailbox comes between. `now` is the time by
    the clock of the store, in microseconds since the epoch.
    """

    now: int

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`; none for one that gives no rows."""
        ...

    def leave(self, execution_id: str, body: str, once: str) -> int | None:
        """Put a signal into an inbox; its row, None for an execution that is over."""
        ...

    def sent(self, once: str) -> str | None:
        """The body of what was put into an inbox under this name; None for nothing."""
        ...


class SqlMailbox(ABC):
    """The `Mailbox` of a store that speaks SQL, which has a transaction for each change, and looks outside of one."""

    def post_letter(self, letter: Letter, now: int | None = None) -> bool:
        """`Mailbox.post_letter`."""
        return self.change(lambda tx: _post(tx, letter, now))

    def await_letter(self, wait: OpenWait, now: int | None = None) -> bool:
        """`Mailbox.await_letter`."""
        return self.change(lambda tx: _await(tx, wait, now))

    def settle_mail(self, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
        """`Mailbox.settle_mail`."""
        self.change(lambda tx: _settle(tx, execution_id, calls, rows))

    def return_letter(self, execution_id: str, row: int, now: int | None = None) -> None:
        """`Mailbox.return_letter`."""
        self.change(lambda tx: _return(tx, execution_id, row, now))

    def correspondence(self, execution_id: str) -> Correspondence:
        """`Mailbox.correspondence`."""
        of = {"execution_id": execution_id}
        rows, calls = self.look(_ROWS_OF, of), self.look(_CALLS_OF, of)
        return Correspondence(tuple([int(row) for (row,) in rows]), tuple([str(call) for (call,) in calls]))

    def rows(self, wanted: WantedMail = ALL_MAIL, now: int | None = None) -> tuple[MailRow, ...]:
        """`Mailbox.rows`."""
        at = self.now() if now is None else now
        named = {"key": wanted.key, "prefix": wanted.prefix, "beyond": wanted.prefix + _BEHIND_ALL}
        behind = {"after_key": wanted.after[0], "after_name": wanted.after[1]}
        of = {**named, **behind, "now": at, "limit": wanted.limit or _NO_LIMIT}
        found = self.look(_ROWS, of)
        waits: dict[tuple[str, str], list[str]] = {}
        if any(waiting for *_, waiting in found):
            first, last = found[0][:2], found[-1][:2]
            between = dict(zip(("first", "first_name", "last", "last_name"), (*first, *last), strict=True))
            for key, name, execution_id in self.look(_WAITS, {**of, **between, "most": SHOWN_WAITS}):
                waits.setdefault((key, name), []).append(execution_id)
        return tuple([MailRow(*row)._replace(waits=tuple(waits.get(row[:2], ()))) for row in found])

    def drop_letters(self, prefix: str) -> None:
        """`Mailbox.drop_letters`."""
        under = {"prefix": prefix, "beyond": prefix + _BEHIND_ALL}
        self.change(lambda tx: tx.rows(_DROP_UNDER, under))

    def stranded_letters(self) -> tuple[tuple[str, int], ...]:
        """`Mailbox.stranded_letters`."""
        return tuple([(name, int(row)) for name, row in self.look(_STRANDED, {})])

    @abstractmethod
    def change(self, work: Callable[[Transaction], _T]) -> _T:
        """Do something in a transaction, which may be repeated until it is on disk."""

    @abstractmethod
    def now(self) -> int:
        """The time by the clock of the store, in microseconds since the epoch."""

    @abstractmethod
    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""


_ON_VIRTUAL_CLOCK = 1_000_000_000_000_000
"""Times before it, of the year 2001, are those of runs with a script, and no time of a store's clock."""

# Letters that nobody took, and waits of what is over, go with each change: the tables stay as small as what is open.
_SWEEP = (
    f"DELETE FROM mail WHERE row IS NULL AND until <= :now AND until > {_ON_VIRTUAL_CLOCK}",
    """DELETE FROM mail_waits WHERE key = :key AND execution_id IN (
    SELECT w.execution_id FROM mail_waits w JOIN executions x ON x.execution_id = w.execution_id
    WHERE w.key = :key AND x.ended IS NOT NULL)""",
)
_KNOWN = "SELECT row IS NOT NULL, key, name, data FROM mail WHERE once = :once"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM mail WHERE key = :key AND row IS NULL AND until > :now LIMIT :most) kept"
_KEEP = """
INSERT INTO mail (key, name, data, since, until, once) VALUES (:key, :name, :data, :since, :until, :once)
"""
_NEW = "SELECT number, key, name, data, once, tries, since FROM mail WHERE once = :once"
_OLDEST_WAIT = """
SELECT w.execution_id, w.call FROM mail_waits w JOIN executions x ON x.execution_id = w.execution_id
WHERE w.key = :key AND w.name = :name AND w.row IS NULL AND x.ended IS NULL ORDER BY w.number LIMIT 1
"""
_OLDEST_LETTER = """
SELECT m.number, m.key, m.name, m.data, m.once, m.tries, m.since FROM mail m
JOIN mail_waits w ON w.key = m.key AND w.name = m.name
WHERE w.execution_id = :execution_id AND w.call = :call AND m.key = :key AND m.row IS NULL AND m.until > :now
ORDER BY m.number LIMIT 1
"""
_IS_OPEN = "SELECT 1 FROM executions WHERE execution_id = :execution_id AND ended IS NULL"
_LISTED = "SELECT row IS NOT NULL FROM mail_waits WHERE execution_id = :execution_id AND call = :call"
_LIST = "INSERT INTO mail_waits (key, name, execution_id, call) VALUES (:key, :name, :execution_id, :call)"
_ADDRESS = "UPDATE mail SET execution_id = :execution_id, row = :row WHERE number = :number"
_SERVE = "UPDATE mail_waits SET row = :row WHERE execution_id = :execution_id AND call = :call"
_UNLIST = "DELETE FROM mail_waits WHERE execution_id = :execution_id AND call = :call"
_TAKE = "DELETE FROM mail WHERE execution_id = :execution_id AND row = :row"
_ADDRESSED = """SELECT number, key, name, data, once, tries + 1, since, until FROM mail
WHERE execution_id = :execution_id AND row = :row"""
_RETURN = "UPDATE mail SET execution_id = NULL, row = NULL, tries = tries + 1 WHERE number = :number"
_UNLIST_SERVED = "DELETE FROM mail_waits WHERE execution_id = :execution_id AND row = :row"
_DROP = "DELETE FROM mail WHERE number = :number"
_DROP_UNDER = "DELETE FROM mail WHERE row IS NULL AND key >= :prefix AND key < :beyond"
_ROWS_OF = "SELECT row FROM mail WHERE execution_id = :execution_id AND row IS NOT NULL ORDER BY row"
_CALLS_OF = "SELECT DISTINCT call FROM mail_waits WHERE execution_id = :execution_id ORDER BY call"
_STRANDED = """
SELECT m.execution_id, m.row FROM mail m JOIN executions x ON x.execution_id = m.execution_id
WHERE m.row IS NOT NULL AND x.ended IS NOT NULL ORDER BY m.row
"""

# A range is compared byte by byte in every store; functions of texts end at a NUL in SQLite.
_BEHIND_ALL = chr(0x10FFFF) * LONGEST
_NO_LIMIT = (1 << 63) - 1
_WANTED = """(:key = '' OR m.key = :key) AND m.key >= :prefix AND m.key < :beyond
AND (m.key, m.name) > (:after_key, :after_name)"""
_OPEN_WAITS = f"""FROM mail_waits m JOIN executions x ON x.execution_id = m.execution_id
WHERE m.row IS NULL AND x.ended IS NULL AND {_WANTED}"""
_ROWS = f"""
SELECT m.key, m.name, count(*), min(m.since), min(m.until), 0 FROM mail m
WHERE m.row IS NULL AND m.until > :now AND {_WANTED} GROUP BY m.key, m.name
UNION ALL SELECT m.key, m.name, 0, 0, 0, count(*) {_OPEN_WAITS} GROUP BY m.key, m.name
ORDER BY 1, 2 LIMIT :limit
"""
_WAITS = f"""
SELECT w.key, w.name, w.execution_id FROM (
  SELECT m.key, m.name, m.execution_id, m.number,
  row_number() OVER (PARTITION BY m.key, m.name ORDER BY m.number) AS at {_OPEN_WAITS}
  AND (m.key, m.name) >= (:first, :first_name) AND (m.key, m.name) <= (:last, :last_name)
) w WHERE w.at <= :most ORDER BY w.key, w.name, w.at
"""


def _post(tx: Transaction, letter: Letter, now: int | None) -> bool:
    """`Mailbox.post_letter`."""
    if (known := _known(tx, letter.once)) is not None:
        ask_same(letter, known[1])
        return known[0]
    at = tx.now if now is None else now
    values = {"key": letter.key, "name": letter.name, "now": at}
    _sweep(tx, letter.key)
    is_awaited = bool(tx.rows(_OLDEST_WAIT, values))
    if not is_awaited and tx.rows(_COUNT, {"key": letter.key, "now": at, "most": MOST_KEPT})[0][0] >= MOST_KEPT:
        raise MailboxFull(f"{MOST_KEPT:,} signals are kept under that key already")
    kept = {"data": as_json(letter.data), "since": at, "until": at + letter.keep_for, "once": letter.once}
    tx.rows(_KEEP, {"key": letter.key, "name": letter.name, **kept})
    record_deed(tx, "signal", f"key {letter.key}")
    return _address_to_oldest(tx, tx.rows(_NEW, {"once": letter.once})[0])


def _known(tx: Transaction, once: str) -> tuple[bool, dict[str, Json]] | None:
    """Whether the letter of a name is with a wait, or was taken by one, and what it says; None where there was none."""
    for is_addressed, key, name, data in tx.rows(_KNOWN, {"once": once}):
        return bool(is_addressed), {"key": key, "name": name, "data": json.loads(data)}
    # What is addressed first has the name in the inbox, where it stays when the letter is taken.
    sent = tx.sent(once)
    return None if sent is None else (True, json.loads(sent))


def _await(tx: Transaction, wait: OpenWait, now: int | None) -> bool:
    """`Mailbox.await_letter`."""
    place = {"execution_id": wait.execution_id, "call": wait.call}
    if not tx.rows(_IS_OPEN, {"execution_id": wait.execution_id}):
        return False
    listed = tx.rows(_LISTED, place)
    if any(is_served for (is_served,) in listed):
        return True
    _sweep(tx, wait.key)
    for name in dict.fromkeys(wait.names) if not listed else ():
        tx.rows(_LIST, {"key": wait.key, "name": name, **place})
    found = tx.rows(_OLDEST_LETTER, {"key": wait.key, "now": tx.now if now is None else now, **place})
    return bool(found) and _address(tx, found[0], wait.execution_id, wait.call)


def _settle(tx: Transaction, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
    """`Mailbox.settle_mail`."""
    for call in calls:
        tx.rows(_UNLIST, {"execution_id": execution_id, "call": call})
    for row in rows:
        tx.rows(_TAKE, {"execution_id": execution_id, "row": row})


def _return(tx: Transaction, execution_id: str, row: int, now: int | None) -> None:
    """`Mailbox.return_letter`."""
    place = {"execution_id": execution_id, "row": row}
    tx.rows(_UNLIST_SERVED, place)
    for *letter, until in tx.rows(_ADDRESSED, place):
        tx.rows(_RETURN, {"number": letter[0]})
        if until <= (tx.now if now is None else now):
            tx.rows(_DROP, {"number": letter[0]})
        else:
            _address_to_oldest(tx, tuple(letter))


def as_json(data: Json) -> str:
    """The data of a letter as it is stored. Raises StoreRefused."""
    try:
        return json.dumps(data, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreRefused(f"the data of the signal cannot be stored [{error}]") from error


def ask_same(letter: Letter, body: Mapping[str, Json]) -> None:
    """Whether what was posted under the `once` of a letter may stand for it. Raises OtherLetter."""
    own = {"key": letter.key, "name": letter.name, "data": letter.data}
    # As text, since to Python 1, 1.0 and true are equal.
    if letter.is_exact and _in_order([body.get(name) for name in own]) != _in_order([*own.values()]):
        raise OtherLetter("another signal was sent with that key")


def _in_order(value: Json) -> str:
    """JSON in which the order of keys, which means nothing, is always one."""
    return json.dumps(value, sort_keys=True)


def body_of(key: str, name: str, data: Json, call: str, since: int) -> dict[str, Json]:
    """The body of the inbox row of a letter that is addressed; `since` is when it was posted, in microseconds."""
    return {"name": name, "data": data, "key": key, "wait": call, "since": since}


def name_of(once: str, tries: int) -> str:
    """The name under which an inbox has a letter: that of the letter for whoever has it first."""
    return f"{once} again {tries}" if tries else once


def _sweep(tx: Transaction, key: str) -> None:
    for query in _SWEEP:
        tx.rows(query, {"now": tx.now, "key": key})


def _address_to_oldest(tx: Transaction, letter: tuple[Any, ...]) -> bool:
    """Address a letter to the oldest wait for it; False where it is kept."""
    _, key, name, *_ = letter
    while found := tx.rows(_OLDEST_WAIT, {"key": key, "name": name}):
        execution_id, call = found[0]
        if _address(tx, letter, execution_id, call):
            return True
        # It has ended since: the row of an execution is looked at under its lock only when the inbox is written.
        tx.rows(_UNLIST, {"execution_id": execution_id, "call": call})
    return False


def _address(tx: Transaction, letter: tuple[Any, ...], execution_id: str, call: str) -> bool:
    """Address a letter to a wait; False where its execution is over."""
    number, key, name, data, once, tries, since = letter
    body = json.dumps(body_of(key, name, json.loads(data), call, since))
    row = tx.leave(execution_id, body, name_of(once, tries))
    if row is None:
        return False
    tx.rows(_ADDRESS, {"execution_id": execution_id, "row": row, "number": number})
    tx.rows(_SERVE, {"execution_id": execution_id, "row": row, "call": call})
    return True
