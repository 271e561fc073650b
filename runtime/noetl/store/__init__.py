"""The stores: event logs and blobs, one adapter a module; here is what all of them decide alike.

`names` in `noetl_ir.registry` finds the adapters. A module with `open_store(url, *, hook=None)` is a `Store`, one
with `open_blobs(url, *, hook=None)` keeps `Blobs`, one with `open_outputs(url)` the `Outputs` of tasks.
"""

from collections.abc import Callable, Sequence
from typing import TypeGuard

from noetl.ports import Append, Conflict
from noetl_ir.records import NamedTuple


class Head(NamedTuple):
    """Where the log of an execution ends, as a store saw it last: the number of its row, and what its events come to.

    Only appends move it, so it can be too old but never wrong: an append behind it meets the primary key.
    """

    number: int
    position: int
    chain: int
    status: str
    ended: int | None


def is_end(head: Head | None, append: Append) -> TypeGuard[Head]:
    """Whether an append goes behind a head, as far as that is known without reading the log."""
    return head is not None and head.position == append.expected and bool(append.records)


def missing(
    expected: int,
    last: int,
    records: Sequence[tuple[str, bytes]],
    stored: Callable[[str], tuple[int, bytes] | None],
) -> list[tuple[str, bytes]]:
    """The records of an append that the log does not have yet, in order: the rule of repeats.

    The log ends at `last`, and `stored` gives position and body of an event id. A batch whose first part is
    there already, right behind `expected`, goes on where that part ends: it is an append whose
    acknowledgement was lost. Raises Conflict for another body under a known id and for a log that ends
    elsewhere.
    """
    fresh: dict[str, bytes] = {}
    resent = 0
    for event_id, body in records:
        known = stored(event_id)
        there = fresh.get(event_id) if known is None else known[1]
        if there is None:
            fresh[event_id] = body
        elif there != body:
            raise Conflict(f"event {event_id!r} is there already, with another body")
        # Known ids count as a repeat only in one run right behind `expected`. Elsewhere in the log they are another
        # writer's, and going on behind them would skip what that one wrote.
        elif known is not None and not fresh and known[0] == expected + resent + 1:
            resent += 1
    # A batch that is there whole is no conflict, wherever the log ends now: others may have written since its
    # acknowledgement was lost.
    if expected > last or (fresh and expected + resent != last):
        raise Conflict(f"the log ends at position {last}, the writer expected {expected}")
    return list(fresh.items())


def cut_off(execution_id: str, position: int, count: int) -> str:
    """The fault of a log that ends at `position` where its row says that there are `count` events."""
    return f"the end of the log of {execution_id!r} is missing: it has {position} events, and had {count}"


SELECT_EXECUTIONS = (
    "SELECT execution_id, playbook, plan_digest, status, parent_execution_id, started, ended, rerun_of, error"
    " FROM executions"
)


def seal_name_of(digest: str) -> str:
    """The name under which a store keeps, among its keys, that a plan has passed the checks."""
    return f"verified {digest}"


def seal_of(key: bytes, digest: str, verifier: str) -> bytes:
    """The seal that is kept there: made with the key of claims, which only the store's servers know, so that
    nobody else makes a seal and none of another store, plan or version passes for one.
    """
    from hmac import digest as mac

    return mac(key, f"verified {digest} {verifier}".encode("utf-8", "surrogatepass"), "sha256")


def is_sealed(found: object, key: bytes, digest: str, verifier: str) -> bool:
    """Whether what was found under the name of a seal is the one of these checks."""
    from hmac import compare_digest

    return isinstance(found, bytes) and bool(verifier) and compare_digest(found, seal_of(key, digest, verifier))
