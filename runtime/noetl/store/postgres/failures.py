"""The meanings of PostgreSQL's errors, in plain words: the one table of translations."""

import psycopg

from noetl.ports import NoRoom, StoreFailure, StoreRefused, Unread
from noetl.store.postgres.address import Address

TEXTS = {
    "08": "the connection to the server was lost",
    "0A": "the server cannot do this; is its version too old?",
    "22": "a value does not fit",
    "23": "the database refuses the change",
    "25006": "the server is read-only; is it a standby?",
    "25P03": "a transaction was left open for too long",
    "28": "the server does not let this user in",
    "3D000": "there is no such database",
    "40": "another transaction was in the way",
    "42": "the database does not have the tables of a store",
    "42501": "the user of the database may not do this",
    "53": "the server is short of something",
    "53100": "the disk of the server is full",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections",
    "54": "a value or statement is larger than the server allows",
    "55P03": "a lock was not to be had in time",
    "57014": "a statement took too long and was cancelled",
    "57P": "the server is shutting down or starting up",
    "57P04": "the database was dropped",
    "58": "the system of the server reported an error",
    "P0001": "the database refuses the change",
    "NT001": "an execution has a signal that it has not read",
    "XX": "the server has an internal error; is the database damaged?",
}
"""SQLSTATE, or the first part of one → what it means. The driver's own words follow in brackets."""

UNREAD = "NT001"
"""What `may_end` raises: a signal is unread."""
FULL = "53"
"""The class of what the server has not enough of: disk, memory, connections. It did nothing, and may do it later."""
REFUSED = ("22", "23", "54")
"""The classes of what is wrong with what is to be stored, and with nothing else."""
LOST = "the server cannot be reached"

TRANSLATED = (psycopg.Error, UnicodeError, OverflowError)
"""What the driver may raise that `failure` translates."""


def failure(error: Exception, address: Address) -> StoreFailure:
    """The `StoreFailure` that stands for an error of the driver. No secret of the address is in it."""
    if isinstance(error, UnicodeError):
        return StoreRefused(f"{address.shown}: an id or a name is not text that can be stored [{error}]")
    if isinstance(error, OverflowError):
        return StoreRefused(f"{address.shown}: a number is larger than the store can keep [{error}]")
    words = " ".join(str(error).split())
    for secret in address.secrets:
        words = words.replace(secret, "***")
    meaning = _meaning(error)
    text = f"{address.shown}: {meaning} [{words}]"
    state = getattr(error, "sqlstate", None) or ""
    if state == UNREAD:
        return Unread(text)
    if state.startswith(FULL):
        return NoRoom(text, meaning)
    return StoreRefused(text) if state.startswith(REFUSED) else StoreFailure(text)


def _meaning(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    if state is None:
        return LOST if isinstance(error, psycopg.OperationalError) else "the driver failed"
    return next((TEXTS[state[:size]] for size in (5, 3, 2) if state[:size] in TEXTS), "PostgreSQL failed")


def is_passing(error: Exception) -> bool:
    """Whether a repetition a moment later may succeed: the server restarts, or has too much to do."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state.startswith(("08", "40")) or state in ("53300", "57P01", "57P02", "57P03", "57P05")
