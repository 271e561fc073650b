"""Who acts: said by the context of a thread, and not by an argument of each change.

Whoever answers a request knows who asked, the store that makes the change has to record it (`noetl.ports.audit`), and
nothing in between has to do with it. Without a context nothing is recorded: what servers and engines do by themselves
stands in the logs of executions.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from noetl_ir.records import NamedTuple

DONE, ASKED, REFUSED = "done", "asked", "refused"
"""The outcomes of a deed: it is on disk with its row; its row was on disk first; it was not done."""

LONGEST = 512
"""The most characters of each text of a row: what comes from outside fills no store."""


class Actor(NamedTuple):
    """Who acts.

    - `who`: the name of a token, or of a user of the operating system; `via`: `api`, `page`, `cli` or `server`.
    - `address`: where a request came from, empty where that is this machine's own command line.
    - `subject`: the one that the deed is about, where only that is to be recorded; `deed`: what it is, where the
      change does not tell.
    - `once`: names this act: a change that a store repeats, as its answer was lost, is recorded once.
    """

    who: str
    via: str
    address: str = ""
    subject: str = ""
    deed: str = ""
    once: str = ""


_acting: ContextVar[Actor | None] = ContextVar("noetl_actor", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Changes of this context are recorded meanwhile as what somebody did; with None nothing is."""
    token = _acting.set(None if actor is None else actor._replace(once=actor.once or os.urandom(16).hex()))
    try:
        yield
    finally:
        _acting.reset(token)


def actor_now() -> Actor | None:
    """Who acts in this context."""
    return _acting.get()


def starting(execution_id: str) -> Actor | None:
    """Who acts in this context, for a start that another one makes: what else that changes is not theirs."""
    actor = _acting.get()
    return None if actor is None else actor._replace(subject=execution_id)


def deed_of(deed: str, subject: str) -> dict[str, str | int] | None:
    """The row of a change, None where nobody acts, or somebody whose deed is another one."""
    actor = _acting.get()
    if actor is None or (actor.subject and actor.subject != subject):
        return None
    return audit_values(actor, deed, subject)


def audit_values(actor: Actor, deed: str, subject: str, outcome: str = DONE, reason: str = "") -> dict[str, str | int]:
    """A row about now, without its number, by columns; its texts are cut to what a row may have."""
    once = f"{actor.once or os.urandom(16).hex()} {actor.deed or deed} {subject}"
    texts = {
        "who": actor.who, "via": actor.via, "address": actor.address, "deed": actor.deed or deed, "subject": subject,
        "outcome": outcome, "reason": reason, "once": once,
    }  # fmt: skip
    return {"at": time.time_ns() // 1000, **{name: text[:LONGEST] for name, text in texts.items()}}
