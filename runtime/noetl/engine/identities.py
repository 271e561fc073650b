"""The ids of executions: decimal text of a positive number of 63 bits that grows with time (LANGUAGE §8).

The number is a time in milliseconds since 1970, then `CHANCE_BITS` bits that tell ids of one millisecond apart. As text
it is safe in JSON, where readers keep no more than 53 bits of a number. Logs from before it have ids of another form,
20 hex digits (a child's: `c` and 23 of them): those stay as they are, and so do the children that they call.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetl_ir.digests import sha256

if TYPE_CHECKING:
    from noetl.engine.execution import Region

CHANCE_BITS = 21
_CHANCES = 1 << CHANCE_BITS
_MOST_DIGITS = 19  # of 2 ** 63 - 1


def execution_id_of(milliseconds: int, chance: int) -> str:
    """The id of an execution of that time; `chance` is below 2 to the power of `CHANCE_BITS`."""
    return str(milliseconds << CHANCE_BITS | chance)


def milliseconds_of(execution_id: str) -> int | None:
    """When an id was drawn, in milliseconds since the epoch; None for one that was not drawn so."""
    return int(execution_id) >> CHANCE_BITS if is_numeric(execution_id) else None


def is_numeric(execution_id: str) -> bool:
    """Whether an id has the form that ids are made in now."""
    return execution_id.isascii() and execution_id.isdecimal() and len(execution_id) <= _MOST_DIGITS


def child_ids(execution_id: str, call: str, since: int) -> Iterator[str]:
    """The ids that the child of a call may have, the first one first; the next where one is taken by another execution.

    They are fixed: after a crash the caller finds the child that it started. `call` names the attempt at the `playbook`
    task in its execution, `since` is when it was parked (microseconds; a virtual clock may be behind the caller's id).
    """
    name = f"{execution_id}:{call}".encode()
    if not is_numeric(execution_id):
        yield "c" + _hashed(name).hex()[:23]
        return
    chance = int.from_bytes(_hashed(name)[:4]) % _CHANCES
    milliseconds = max(since // 1000, int(execution_id) >> CHANCE_BITS)
    for number in range(_CHANCES):
        yield execution_id_of(milliseconds, (chance + number) % _CHANCES)


def _hashed(name: bytes) -> bytes:
    digest = sha256()
    digest.update(name)
    return digest.digest()


def call_name(region: "Region", key: str) -> str:
    """The name of the attempt at a task that a pipeline stands at, in its execution: of a call, or of a wait."""
    # The claim is no part of it: after a lost claim the next worker must find the child that the one before it started.
    return f"{key}:{region.task}:{region.visits[region.task]}:{region.attempt}"
